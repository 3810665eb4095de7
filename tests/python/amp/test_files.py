"""Files: parameters, symbols and checkpoints, whole and damaged."""

import json
import os
import struct
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import amp

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = [np.dtype(n) for n in "f4 f8 f2 u1 i4 i1 i8 ? i2 u2 u4 u8".split()] + [BF16]


def small_net():
    data = amp.sym.Variable("data")
    net = amp.sym.FullyConnected(data, num_hidden=3, name="fc1")
    return amp.sym.BatchNorm(net, name="bn")


def small_params():
    args = {"fc1_weight": (3, 4), "fc1_bias": (3,), "bn_gamma": (3,), "bn_beta": (3,)}
    aux = {"bn_moving_mean": (3,), "bn_moving_var": (3,)}
    random = np.random.default_rng(0)
    return tuple({k: random.random(s, dtype=np.float32) for k, s in group.items()} for group in (args, aux))


# ---- parameter files ----


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_arrays_of_all_dtypes_come_back(tmp_path, dtype):
    values = np.arange(6).reshape(1, 2, 3).astype(dtype)
    amp.nd.save(tmp_path / "x.params", {"a": values, "b": amp.NDArray(values[0])})
    loaded = amp.nd.load(str(tmp_path / "x.params"))
    assert list(loaded) == ["a", "b"] and all(isinstance(value, amp.NDArray) for value in loaded.values())
    assert loaded["a"].dtype == dtype
    np.testing.assert_array_equal(loaded["a"].asnumpy(), values)
    np.testing.assert_array_equal(loaded["b"].asnumpy(), values[0])


def test_lists_and_single_arrays(tmp_path):
    path = tmp_path / "x.params"
    amp.nd.save(path, [np.ones(2, "f4"), np.zeros((1, 3), "i4")])
    loaded = amp.nd.load(path)
    assert isinstance(loaded, list) and [array.shape for array in loaded] == [(2,), (1, 3)]
    amp.nd.save(path, amp.NDArray(np.ones(2, "f4")))
    assert [array.shape for array in amp.nd.load(path)] == [(2,)]
    amp.nd.save(path, {})
    assert amp.nd.load(path) == {}


def test_bytes_are_those_of_mxnet(tmp_path):
    amp.nd.save(tmp_path / "x.params", {"arg:w": np.array([[1.5, -2]], "f4")})
    record = struct.pack("<IiiqqiiiI", 0xF993FAC9, 0, 2, 1, 2, 1, 0, 0, 0)[:-4] + struct.pack("<ff", 1.5, -2)
    expected = struct.pack("<QQQ", 0x112, 0, 1) + record + struct.pack("<QQ", 1, 5) + b"arg:w"
    assert (tmp_path / "x.params").read_bytes() == expected


def test_what_the_format_cannot_hold(tmp_path):
    for array in (np.float32(1), np.zeros((0, 3), "f4")):
        with pytest.raises(amp.ArgumentError, match="V3 and npz do"):
            amp.nd.save(tmp_path / "x.params", {"a": array}, format="V2")
    with pytest.raises(amp.ArgumentError, match="expected V2, V3 or npz"):
        amp.nd.save(tmp_path / "x.params", {"a": array}, format="zip")
    with pytest.raises(amp.ArgumentError, match="text"):
        amp.nd.save(tmp_path / "x.params", {1: np.ones(2, "f4")})
    with pytest.raises(amp.ArgumentError, match="complex"):
        amp.nd.save(tmp_path / "x.params", {"a": np.ones(2, "c8")})
    assert not (tmp_path / "x.params").exists()


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "x.params"
    amp.nd.save(path, {"a": np.ones(2, "f4")})
    before = path.read_bytes()
    with pytest.raises(amp.ArgumentError):
        amp.nd.save(path, {"a": np.ones(2, "f4"), "b": np.float32(1)}, format="V2")
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.params"]


def test_missing_files_are_named(tmp_path):
    for load in (amp.nd.load, amp.sym.load):
        with pytest.raises(amp.Error, match="nothing-here"):
            load(tmp_path / "nothing-here")
    with pytest.raises(amp.Error):
        amp.nd.load(tmp_path)


@pytest.fixture
def params_bytes(tmp_path):
    path = tmp_path / "whole.params"
    amp.nd.save(path, {"arg:a": np.ones((2, 3), "f4"), "aux:b": np.ones(3, BF16)})
    return path.read_bytes()


def test_every_cut_file_is_refused(tmp_path, params_bytes):
    path = tmp_path / "cut.params"
    for length in range(len(params_bytes)):
        path.write_bytes(params_bytes[:length])
        with pytest.raises(amp.GraphError, match="cut.params"):
            amp.nd.load(path)
    path.write_bytes(params_bytes + b"\0")
    with pytest.raises(amp.GraphError, match="follow"):
        amp.nd.load(path)


@pytest.mark.parametrize("offset", [16, 28, 32, 36, 40, 48, 60])
def test_absurd_numbers_in_a_file(tmp_path, params_bytes, offset):
    for value in (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000):
        path = tmp_path / "odd.params"
        path.write_bytes(params_bytes[:offset] + struct.pack("<I", value) + params_bytes[offset + 4 :])
        with pytest.raises(amp.Error, match="odd.params"):
            amp.nd.load(path)


def test_flipped_bytes_never_crash(tmp_path, params_bytes):
    path = tmp_path / "odd.params"
    for offset in range(len(params_bytes)):
        path.write_bytes(params_bytes[:offset] + bytes([params_bytes[offset] ^ 0xFF]) + params_bytes[offset + 1 :])
        try:
            amp.nd.load(path)
        except amp.Error as error:
            assert "odd.params" in str(error)


@pytest.mark.parametrize("name", ["föö", b"f\xffo", "a b"], ids=ascii)
def test_unusual_file_names(tmp_path, name):
    path = os.path.join(os.fsencode(tmp_path), os.fsencode(name))
    for spelling in (path, os.fsdecode(path)):
        amp.nd.save(spelling, {"a": np.ones(2, "f4")})
        assert list(amp.nd.load(spelling)) == ["a"]
        small_net().save(spelling)
        assert amp.sym.load(spelling).name == "bn"
    with pytest.raises(amp.Error, match="missing"):
        amp.nd.load(path + b"missing")
    for wrong in ("a\0b", 3):
        with pytest.raises(amp.ArgumentError, match="file name"):
            amp.nd.load(wrong)


def test_names_that_are_no_text(tmp_path):
    amp.nd.save(tmp_path / "x.params", {"arg:weight": np.ones(2, "f4")})
    content = (tmp_path / "x.params").read_bytes().replace(b"weight", b"w\xffight")
    (tmp_path / "x.params").write_bytes(content)
    small_net().save(tmp_path / "s.json")
    for load in (amp.nd.load, lambda path: amp.load(tmp_path / "s.json", path)):
        with pytest.raises(amp.GraphError, match="not UTF-8"):
            load(tmp_path / "x.params")


def test_keys_of_a_model_need_a_role(tmp_path):
    small_net().save(tmp_path / "s.json")
    amp.nd.save(tmp_path / "p.params", {"fc1_weight": np.ones((3, 4), "f4")})
    assert list(amp.load(tmp_path / "s.json", tmp_path / "p.params")[1]) == ["fc1_weight"]
    amp.nd.save(tmp_path / "p.params", {"fc1_wieght": np.ones((3, 4), "f4")})
    with pytest.raises(amp.GraphError, match="fc1_wieght.*did you mean 'fc1_weight'"):
        amp.load(tmp_path / "s.json", tmp_path / "p.params")


# ---- checkpoints ----


def test_checkpoint_round_trip(tmp_path):
    net = small_net()
    args, aux = small_params()
    args["fc1_weight"] = args["fc1_weight"].astype(BF16)
    amp.save_checkpoint(tmp_path / "net", 7, net, args, aux)
    assert sorted(os.listdir(tmp_path)) == ["net-0007.params", "net-symbol.json"]
    loaded, loaded_args, loaded_aux = amp.load_checkpoint(str(tmp_path / "net"), 7)
    assert loaded.tojson() == net.tojson()
    for before, after in ((args, loaded_args), (aux, loaded_aux)):
        assert before.keys() == after.keys()
        for name, array in before.items():
            assert after[name].dtype == array.dtype
            np.testing.assert_array_equal(after[name].asnumpy(), array)
    again, *_ = amp.load(tmp_path / "net-symbol.json", tmp_path / "net-0007.params")
    assert again.list_arguments() == net.list_arguments()


def test_casts_are_kept_unless_asked_otherwise(tmp_path):
    net = amp.sym.amp_cast(amp.sym.Variable("data"), dtype="bfloat16", name="cast")
    amp.save_checkpoint(tmp_path / "net", 0, net, {}, None)
    assert "amp_cast" in (tmp_path / "net-symbol.json").read_text()
    amp.save_checkpoint(tmp_path / "net", 0, net, {}, {}, remove_amp_cast=True)
    net.save(tmp_path / "x.json", remove_amp_cast=True)
    for path in ("net-symbol.json", "x.json"):
        assert (tmp_path / path).read_text() == net.tojson(remove_amp_cast=True)
        assert "amp_cast" not in (tmp_path / path).read_text()


# ---- symbol files ----


def document(*nodes, heads=((0, 0, 0),)):
    return {"nodes": list(nodes), "arg_nodes": [], "heads": [list(head) for head in heads]}


def variable(name="data"):
    return {"op": "null", "name": name, "inputs": []}


def flatten(name, *inputs):
    return {"op": "Flatten", "name": name, "inputs": [list(entry) for entry in inputs]}


HOSTILE = {
    "no JSON": ("{", "not valid JSON"),
    "no object": ("[1, 2]", "expected a JSON object"),
    "no nodes": ({"heads": [[0, 0, 0]]}, "'nodes' is missing"),
    "no heads": (document(variable(), heads=()), "no heads"),
    "cycle": (document(flatten("a", (1, 0, 0)), flatten("b", (0, 0, 0))), "cycle: 'a', 'b'"),
    "self loop": (document(flatten("a", (0, 0, 0))), "cycle"),
    "dangling input": (document(variable(), flatten("a", (9, 0, 0)), heads=[(1, 0, 0)]), "below 2, got 9"),
    "negative input": (document(variable(), flatten("a", (-1, 0, 0)), heads=[(1, 0, 0)]), "got -1"),
    "fractional input": (document(variable(), flatten("a", (0.5, 0, 0)), heads=[(1, 0, 0)]), "got 0.5"),
    "no such output": (document(variable(), flatten("a", (0, 3, 0)), heads=[(1, 0, 0)]), "output 3"),
    "dangling head": (document(variable(), heads=[(5, 0, 0)]), "heads"),
    "too few inputs": (
        {**document(variable(), flatten("a"), heads=[(1, 0, 0)]), "attrs": {"mxnet_version": ["int", 10901]}},
        "Flatten 'a'.*expected 1 input",
    ),
    "variable with inputs": (document({**variable(), "inputs": [[0, 0, 0]]}), "cannot have inputs"),
    "number as attribute": (document({**variable(), "attrs": {"a": 1}}), "should be a string"),
    "name missing": (document({"op": "null", "inputs": []}), "'name' is missing"),
    "duplicate keys": ('{"nodes": [], "nodes": [], "heads": []}', "occurs twice"),
    "deep nesting": ("[" * 100_000 + "]" * 100_000, "nested"),
    "deep object": ('{"a":' * 5000 + "1" + "}" * 5000, "nested"),
    "unknown attribute": (
        document(
            variable(), {"op": "softmax", "name": "a", "attrs": {"axix": "1"}, "inputs": [[0, 0, 0]]}, heads=[(1, 0, 0)]
        ),
        "unknown attribute 'axix'",
    ),
    "huge number": ('{"nodes": [], "heads": [[1e400, 0, 0]]}', "heads|valid JSON"),
}


@pytest.mark.parametrize("case", HOSTILE, ids=str)
def test_hostile_symbol_files(tmp_path, case):
    content, text = HOSTILE[case]
    path = tmp_path / "bad.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(amp.GraphError, match=text) as error:
        amp.sym.load(path)
    assert "bad.json" in str(error.value) and len(str(error.value)) < 2000


def test_unknown_operators_are_all_named():
    nodes = [variable(), *({"op": op, "name": op, "inputs": [[0, 0, 0]]} for op in ("NoSuchOp", "OrThisOne"))]
    with pytest.raises(amp.UnsupportedError, match="NoSuchOp, OrThisOne"):
        amp.sym.load_json(json.dumps(document(*nodes, heads=[(1, 0, 0), (2, 0, 0)])))


def test_node_order_in_the_file_does_not_matter():
    text = json.dumps(document(flatten("b", (2, 0, 0)), variable(), flatten("a", (1, 0, 0))))
    assert amp.sym.fromjson(text).get_internals().list_outputs() == ["data", "a_output", "b_output"]


def test_long_chains(tmp_path):
    """As deep as no recursion could follow, in a process whose stack is its own."""
    script = """
import amp
net = amp.sym.Variable("data")
for _ in range(100_000):
    net = amp.sym.Flatten(net)
again = amp.sym.load_json(net.tojson())
assert len(again.get_internals()) == 100_001
del net, again
print("done")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.stdout == "done\n", done.stderr
