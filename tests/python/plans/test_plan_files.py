"""Plan files: the same bits in another process, errors that say why, and no harm from files that lie."""

import copy
import json
import os
import pickle
import struct
import subprocess
import sys
import textwrap
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest

import amp
from amp.__main__ import main

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[1] / "trust")]
from control_flow_nodes import foreach  # noqa: E402
from hostile import TIMES  # noqa: E402
from trust_networks import attention, dense, residual  # noqa: E402

NETWORKS = {"dense": dense, "residual": residual, "attention": attention}
PREFIX = struct.Struct("<8sIIQ")  # magic, format, checksum of the header, its bytes


def saved(tmp_path, network="residual", source=False, **options):
    """(executor, its plan file, {input: array})"""
    model, data = NETWORKS[network]()
    amp.save_checkpoint(str(tmp_path / "model"), 0, *model)
    model = amp.load(tmp_path / "model-symbol.json", tmp_path / "model-0000.params")
    run = amp.Executor(*model, {name: array.shape for name, array in data.items()}, **options)
    path = tmp_path / "model.plan"
    run.save(path, source=str(tmp_path / "model") if source else None)
    return run, path, data


def results(run, data):
    return [output.asnumpy() for output in run(data)]


def assert_same(run, other, data):
    for mine, its in zip(results(run, data), results(other, data), strict=True):
        np.testing.assert_array_equal(mine, its)


def parts_of(content):
    """(header, what is behind it) of a plan file."""
    _, _, _, size = PREFIX.unpack_from(content)
    return json.loads(content[PREFIX.size : PREFIX.size + size]), content[PREFIX.size + size :]


def with_header(content, change):
    """The plan file with a changed header of the same place for constants, whose checksum is right."""
    header, rest = parts_of(content)
    change(header)
    text = json.dumps(header).encode()
    before = len(content) - len(rest)
    first = -(-before // 4096) * 4096
    gap = -(-(PREFIX.size + len(text)) // 4096) * 4096 - PREFIX.size - len(text)
    return PREFIX.pack(b"amp-plan", 1, zlib.crc32(text), len(text)) + text + bytes(gap) + content[first:]


def forged(path, change):
    """Writes the file anew with a changed header."""
    content = with_header(path.read_bytes(), change)
    path.unlink()
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("options", [{}, {"mode": "exact"}, {"num_threads": 1}, {"backend": "reference"}])
def test_a_loaded_executor_is_the_same(tmp_path, network, options):
    run, path, data = saved(tmp_path, network, **options)
    for again in (amp.Executor.load(path), amp.Executor.load(path, mmap=False, verify=True)):
        assert_same(run, again, data)
        assert (again.input_shapes, again.input_dtypes) == (run.input_shapes, run.input_dtypes)
        assert (again.output_names, again.output_shapes) == (run.output_names, run.output_shapes)
        assert [str(step) for step in again.summary.steps] == [str(step) for step in run.summary.steps]
        assert again.summary.num_threads == run.summary.num_threads
        assert again.symbol.tojson() == run.symbol.tojson()


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("machine", ["any", "avx512_bf16_fast"])
def test_low_precision_is_the_same(tmp_path, network, machine):
    low = {"target_dtype": "bfloat16", "emulate": machine == "any"}
    run, path, data = saved(tmp_path, network, reduce_precision=low, machine=machine)
    again = amp.Executor.load(path)
    assert_same(run, again, data)
    assert [step.why_float32 for step in again.summary.steps] == [step.why_float32 for step in run.summary.steps]


def test_another_process_gets_the_same_bits(tmp_path):
    run, path, data = saved(tmp_path)
    np.savez(tmp_path / "data.npz", **data)
    program = f"""
        import amp, numpy as np
        run = amp.Executor.load({str(path)!r})
        outputs = run(dict(np.load({str(tmp_path / "data.npz")!r})))
        np.savez({str(tmp_path / "out.npz")!r}, *[output.asnumpy() for output in outputs])
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=120)
    with np.load(tmp_path / "out.npz") as theirs:
        for mine, its in zip(results(run, data), theirs.values(), strict=True):
            np.testing.assert_array_equal(mine, its)


def test_constants_stay_in_the_file_that_no_other_user_may_write_to(tmp_path):
    _, path, data = saved(tmp_path)

    def is_mapped():
        run = amp.Executor.load(path)
        results(run, data)
        return str(path) in Path("/proc/self/maps").read_text()

    assert is_mapped()
    for mode in (0o664, 0o646):
        path.chmod(mode)
        assert not is_mapped()
    path.chmod(0o644)
    run = amp.Executor.load(path, mmap=False)
    assert str(path) not in Path("/proc/self/maps").read_text()
    del run


def test_a_file_that_is_replaced_does_not_change_who_uses_it(tmp_path):
    run, path, data = saved(tmp_path)
    again = amp.Executor.load(path)
    (model, _), shapes = dense(), {"data": (16, 32)}
    amp.Executor(*model, shapes).save(path)  # appears under the name; who has the old file open keeps it
    assert_same(run, again, data)
    assert amp.Executor.load(path).input_shapes == shapes


# ---- what does not fit ----


@pytest.mark.parametrize(
    ("group", "key"),
    [("made_by", "version"), ("made_by", "build"), ("made_by", "onednn"), ("made_for", "own_isa")],
)
def test_plans_of_others_do_not_fit(tmp_path, capsys, group, key):
    _, path, _ = saved(tmp_path)
    forged(path, lambda header: header[group].update({key: "another"}))
    with pytest.raises(amp.PlanMismatch) as raised:
        amp.Executor.load(path)
    assert "another" in str(raised.value) and isinstance(raised.value, amp.ArgumentError)
    assert main(["inspect", str(path)]) == 0
    assert f"it does not fit here: {raised.value}\n" in capsys.readouterr().out


def test_a_source_takes_the_place_of_a_plan_that_does_not_fit(tmp_path):
    run, path, data = saved(tmp_path, source=True)
    forged(path, lambda header: header["made_by"].update(build="another"))
    with pytest.warns(UserWarning) as warned:
        again = amp.Executor.load(path)
    assert len(warned) == 1 and "made again from model-0000.params" in str(warned[0].message)
    assert_same(run, again, data)
    _, path, data = saved(tmp_path)  # without a source of its own
    forged(path, lambda header: header["made_by"].update(build="another"))
    with pytest.raises(amp.PlanMismatch):
        amp.Executor.load(path)


def test_a_plan_whose_source_has_changed_is_made_again(tmp_path):
    _, path, data = saved(tmp_path, source=True)
    sym, args, aux = amp.load(tmp_path / "model-symbol.json", tmp_path / "model-0000.params")
    doubled = {name: amp.nd.array(2 * array.asnumpy()) for name, array in args.items()}
    amp.save_checkpoint(str(tmp_path / "model"), 0, sym, doubled, aux)
    with pytest.warns(UserWarning) as warned:
        again = amp.Executor.load(path)
    assert "has changed" in str(warned[0].message)
    fresh = amp.Executor(sym, doubled, aux, {name: array.shape for name, array in data.items()})
    assert_same(fresh, again, data)


def test_a_source_that_is_only_touched_or_gone_changes_nothing(tmp_path):
    run, path, data = saved(tmp_path, source=True)
    os.utime(tmp_path / "model-0000.params", ns=(1, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(run, amp.Executor.load(path), data)
        (tmp_path / "model-0000.params").unlink()
        assert_same(run, amp.Executor.load(path), data)


def test_the_source_has_to_be_what_the_executor_was_made_of(tmp_path):
    model, data = dense()
    amp.save_checkpoint(str(tmp_path / "model"), 0, *model)
    shapes = {name: array.shape for name, array in data.items()}
    changed = {name: amp.nd.array(2 * np.asarray(array)) for name, array in model[1].items()}
    for args in (model[1], changed):
        with pytest.raises(amp.ArgumentError) as raised:
            amp.Executor(model[0], args, model[2], shapes).save(tmp_path / "x.plan", source=str(tmp_path / "model"))
        assert "parameters of this executor are not those" in str(raised.value)
    other = residual()[0]
    with pytest.raises(amp.ArgumentError) as raised:
        saved_other = amp.Executor(*other, {"data": (8, 3, 12, 12)})
        saved_other.save(tmp_path / "x.plan", source=str(tmp_path / "model"))
    assert "graph of this executor" in str(raised.value)
    assert not (tmp_path / "x.plan").exists()


def _lies_of_notes(note):
    """Notes that `save` would not write."""
    yield from ("1", "null", "[1]", "{", '{"symbol": 1}', '{"symbol": "x"}')
    for change in (
        {"files": {}},
        {"files": None},
        {"symbol": "/dev/zero"},
        {"options": {"xyz": 1}},
        {"options": {"sym": 1}},
        {"options": {"input_dtypes": {}}},
        {"options": {"grad_req": "write"}},
        {"options": [1]},
        {"input_types": {"data": ["float33", [1]]}},
        {"input_types": {"data": ["float32", ["x"]]}},
        {"input_types": {"data": 5}},
    ):
        yield json.dumps({**note, **change})
    zero = {"size": 0, "mtime_ns": 0, "sha256": ""}
    yield json.dumps({**note, "symbol": "/dev/zero", "files": {**note["files"], "/dev/zero": zero}})


def test_forged_notes_are_refused(tmp_path):
    """A note names files and options: whoever wrote the plan may have written anything."""
    run, path, _ = saved(tmp_path, "dense", source=True)
    note = json.loads(run.load(path)._handle.note())
    for lie in _lies_of_notes(note):
        run._handle.save(os.fsencode(path), lie)
        with pytest.raises(amp.Error) as raised:
            amp.Executor.load(path)
        assert not isinstance(raised.value, amp.InternalError), lie


def test_other_shapes(tmp_path):
    run, path, data = saved(tmp_path, source=True)
    half = {name: array[:3] for name, array in data.items()}
    shapes = {name: array.shape for name, array in half.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kernels for other sizes may need the source
        again = amp.Executor.load(path).reshape(shapes)
    for mine, its in zip(results(run.reshape(shapes), half), results(again, half), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-5, atol=1e-6)
    assert_same(again, pickle.loads(pickle.dumps(again)), half)


def test_copies(tmp_path):
    run, path, data = saved(tmp_path)
    again = amp.Executor.load(path)
    for other in (pickle.loads(pickle.dumps(again)), copy.deepcopy(again)):
        assert_same(run, other, data)
    again.save(tmp_path / "second.plan")
    assert_same(run, amp.Executor.load(tmp_path / "second.plan"), data)


def loop_with_weight():
    state = amp.sym.FullyConnected(
        amp.sym.Variable("x_i") + amp.sym.Variable("s_i"),
        amp.sym.Variable("w_i"),
        num_hidden=64,
        no_bias=True,
        name="fc",
    )
    names = [amp.sym.Variable(name) for name in ("x", "s", "weight")]
    loop = foreach(amp.sym.Group([state, state]), {"x_i": names[0]}, {"s_i": names[1]}, {"w_i": names[2]})
    return loop, np.random.default_rng(0).standard_normal((64, 64), dtype="float32")


def test_a_loop_without_parameters(tmp_path):
    step = amp.sym.Variable("x_i") + amp.sym.Variable("s_i")
    loop = foreach(amp.sym.Group([step, step]), {"x_i": amp.sym.Variable("x")}, {"s_i": amp.sym.Variable("s")})
    run = amp.Executor(loop, {}, {}, {"x": (3, 2), "s": (2,)})
    run.save(tmp_path / "x.plan")
    data = {"x": np.arange(6, dtype="float32").reshape(3, 2), "s": np.ones(2, "float32")}
    assert_same(run, amp.Executor.load(tmp_path / "x.plan"), data)


def test_what_no_file_holds_is_refused(tmp_path):
    model, data = dense()
    shapes = {name: array.shape for name, array in data.items()}
    loop, weight = loop_with_weight()
    for run in (
        amp.Executor(*model, shapes, monitor=True),
        amp.Executor(*model, shapes, mode="exact", batch_invariant=True),
        amp.Executor(loop, {"weight": weight}, {}, {"x": (3, 1, 64), "s": (1, 64)}),
    ):
        with pytest.raises(amp.UnsupportedError):
            run.save(tmp_path / "x.plan")
    assert not (tmp_path / "x.plan").exists()
    with pytest.raises(amp.ArgumentError):
        amp.Executor(*model, shapes).save(tmp_path / "none" / "x.plan")


# ---- damaged and forged files ----


def outcome(path, data):
    """Runs what a file gives; whatever is wrong with it is an amp.Error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            amp.Executor.load(path)(data)
    except amp.Error as error:
        assert not isinstance(error, amp.InternalError), error
        return error
    return None


def test_cut_files(tmp_path):
    _, path, data = saved(tmp_path)
    content = path.read_bytes()
    for size in [0, 1, 7, 8, 12, 23, 24, 25, 1000, *range(2000, len(content), len(content) // 20), len(content) - 64]:
        path.unlink()
        path.write_bytes(content[:size])
        assert isinstance(outcome(path, data), amp.GraphError), size


def test_verify_finds_every_damaged_constant(tmp_path):
    _, path, _ = saved(tmp_path)
    content = bytearray(path.read_bytes())
    header, rest = parts_of(bytes(content))
    first = -(-(len(content) - len(rest)) // 4096) * 4096
    for constant in header["constants"]:
        damaged = bytearray(content)
        damaged[first + constant["offset"] + constant["bytes"] // 2] ^= 1
        path.unlink()
        path.write_bytes(bytes(damaged))
        with pytest.raises(amp.GraphError) as raised:
            amp.Executor.load(path, verify=True)
        assert constant["name"][:100] in str(raised.value)


def test_flipped_bits_never_crash(tmp_path):
    _, path, data = saved(tmp_path, "dense")
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(160 * TIMES):
        damaged = bytearray(content)
        damaged[int(rng.integers(0, min(len(content), 30_000)))] ^= 1 << int(rng.integers(0, 8))
        path.unlink()
        path.write_bytes(bytes(damaged))
        outcome(path, data)


_CODES = {"float32": 3, "float16": 1}  # of dtypes in keys of layouts


def test_constants_of_another_type_are_refused(tmp_path):
    """A file that says that constants are smaller than the graph does, and is right in all else: nothing reads beyond
    their end."""
    for network in ("dense", "residual", "attention"):
        _, path, data = saved(tmp_path, network, mode="exact")
        content = path.read_bytes()
        for i, constant in enumerate(parts_of(content)[0]["constants"]):
            count = int(np.prod(constant["type"][1]))

            def as_float16(header, i=i, count=count):
                entry = header["constants"][i]
                words = entry["layout"].split(" ")
                words[0], words[-1] = str(_CODES["float16"]), str(2 * count)
                entry.update(type=["float16", entry["type"][1]], layout=" ".join(words), bytes=2 * count)

            def as_one_row(header, i=i):
                entry = header["constants"][i]
                entry.update(type=[entry["type"][0], [1]], layout="3 [1] [1] [0] [1] [] [] 0 4", bytes=4)

            for change in (as_float16, as_one_row):
                path.unlink()
                path.write_bytes(with_header(content, change))
                assert isinstance(outcome(path, data), (amp.GraphError, amp.PlanMismatch)), (network, constant["name"])


def _values(header, at=()):
    """Paths of all values of a JSON document."""
    items = header.items() if isinstance(header, dict) else enumerate(header) if isinstance(header, list) else []
    for key, value in items:
        yield (*at, key)
        yield from _values(value, (*at, key))


_LIES = [None, -1, 0, 1, 2**31, 2**63, 2**64, 1e300, "", "x", "float64", [], [1], [-5, 2**40], {}, {"a": 1}, True]


@pytest.mark.parametrize("network", ["dense", "residual"])
def test_forged_headers_never_crash(tmp_path, network):
    """The header's checksum is right, as whoever forges it would see to."""
    _, path, data = saved(tmp_path, network)
    content = path.read_bytes()
    places = list(_values(parts_of(content)[0]))
    rng = np.random.default_rng(1)
    for _ in range(200 * TIMES):
        *way, last = places[int(rng.integers(0, len(places)))]
        lie = _LIES[int(rng.integers(0, len(_LIES)))]

        def change(header, way=way, last=last, lie=lie):
            for key in way:
                header = header[key]
            header[last] = lie

        path.unlink()
        path.write_bytes(with_header(content, change))
        outcome(path, data)
