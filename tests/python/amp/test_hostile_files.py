"""Files that nobody means well with, through every door: a result or an amp.Error with the file's name; no crash, no
hang, no more memory than the file justifies. tests/cpp/ops/op_hostile_test.cc does the same for attributes."""

import importlib.util
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import amp
from amp.__main__ import main

TESTS = Path(__file__).parents[2]
DATA = TESTS / "data"
SANITIZED = "asan" in os.environ.get("LD_PRELOAD", "")
# By how much a process may grow while it loads spoilt files of at most 2 MB each, one after the other.
MOST_GROWTH = (64 << 20) if not SANITIZED else (1 << 30)  # the sanitizer keeps freed memory back


def corpus():
    """Small parameter files of every generation: the seeds of the fuzz targets."""
    spec = importlib.util.spec_from_file_location("make_corpus", TESTS / "fuzz" / "make_corpus.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def spoil(kind, paths):
    """Runs hostile.py on the files in a process of its own."""
    command = [sys.executable, str(TESTS / "python" / "hostile.py"), kind, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stderr[-2000:]}"
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["problems"][:10] == [] and report["tried"] > 100
    assert report["grown"] < MOST_GROWTH


def test_symbols_of_every_generation(tmp_path):
    files = [DATA / "graphs" / "old_style.json", DATA / "graphs" / "batch_norm.json"]
    golden = json.loads((DATA / "golden" / "squeezenet1.1" / "symbol.json").read_text())
    for generation, form in corpus().FORMS.items():
        beginning = {**golden, "nodes": golden["nodes"][:12], "heads": [[11, 0, 0]], "arg_nodes": []}
        for node in beginning["nodes"]:
            node.setdefault("attrs", {})
        path = tmp_path / f"{generation}.json"
        path.write_text(json.dumps(form(beginning)))
        files.append(path)
    spoil("symbols", files)


def test_whole_symbols():
    spoil("symbols", [DATA / "golden" / name / "symbol.json" for name in ("vgg11_bn", "resnet18_v1")])


def test_shared_symbols(shared_dir):
    found = sorted(shared_dir.glob("cases/*/*/symbol.json")) + sorted(shared_dir.glob("models/*/*.json"))
    spoil("symbols", [path for path in found if path.stat().st_size < 60_000])


def test_parameters_of_every_generation(tmp_path):
    for name, content in {**corpus().params(), **corpus().archives()}.items():
        (tmp_path / name).write_bytes(content)
    spoil("params", sorted(tmp_path.iterdir()))


def test_shared_parameters(shared_dir):
    found = sorted(shared_dir.glob("cases/params_formats/*/*.*")) + sorted(shared_dir.glob("models/*/*.params"))
    spoil("params", [path for path in found if path.suffix in (".params", ".npy", ".npz")])


# ---- single cases ----


def test_brackets_of_any_depth(tmp_path):
    for brackets in ("[" * 200_000, '{"a":' * 200_000, "[" * 200_000 + "]" * 200_000, '{"nodes":' + "[" * 200_000):
        (tmp_path / "deep.json").write_text(brackets)
        with pytest.raises(amp.GraphError, match=r"deep.json at byte \d+: brackets are nested more than 64 deep"):
            amp.sym.load(tmp_path / "deep.json")


def test_what_is_no_model_at_all(tmp_path, capsys):
    noise = np.random.default_rng(1).bytes(5000)
    for content in (
        b"",
        b"\0",
        b"\xff" * 100,
        b"PK\3\4" + noise,
        b"\x93NUMPY" + noise,
        noise,
        b"\x12\1" + bytes(22) + noise,
    ):
        path = tmp_path / "noise.bin"
        path.write_bytes(content)
        for load in (amp.sym.load, amp.nd.load):
            with pytest.raises(amp.Error, match="noise.bin"):
                load(path)
        assert main(["inspect", str(path)]) == 2
        assert "noise.bin" in capsys.readouterr().err


def test_inspect_survives_spoilt_models(tmp_path, capsys):
    amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc").save(tmp_path / "s.json")
    amp.nd.save(tmp_path / "p.params", {"arg:fc_weight": np.ones((3, 2), "f4"), "arg:fc_bias": np.ones(3, "f4")})
    whole = (tmp_path / "p.params").read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "cut.params").write_bytes(whole[:length])
        assert main(["inspect", str(tmp_path / "s.json"), str(tmp_path / "cut.params")]) == 2
        assert "cut.params" in capsys.readouterr().err
    text = (tmp_path / "s.json").read_text()
    for attribute in ("0", "-1", "1e400", "9" * 100, "(" * 1000, "4611686018427387904"):
        (tmp_path / "odd.json").write_text(text.replace('"3"', json.dumps(attribute)))
        assert main(["inspect", str(tmp_path / "odd.json")]) == 2
        assert "odd.json: FullyConnected 'fc'" in capsys.readouterr().err


def test_a_name_that_occurs_twice(tmp_path):
    amp.nd.save(tmp_path / "x.params", {"arg:a": np.ones(2, "f4"), "arg:b": np.ones(2, "f4")})
    spoilt = (tmp_path / "x.params").read_bytes().replace(b"arg:b", b"arg:a")
    (tmp_path / "x.params").write_bytes(spoilt)
    with pytest.raises(amp.GraphError, match=r"x.params at byte \d+: the name 'arg:a' occurs twice"):
        amp.nd.load(tmp_path / "x.params")


def test_a_short_file_declares_millions(tmp_path):
    """Inputs and outputs that only an attribute counts."""
    variable = {"op": "null", "name": "x", "inputs": []}
    for op, attr in (("Concat", "num_args"), ("SliceChannel", "num_outputs"), ("stack", "num_args")):
        for count in ("65536", "1048576", "9223372036854775807"):
            nodes = [{"op": op, "name": f"n{i}", "inputs": [[0, 0, 0]], "param": {attr: count}} for i in range(200)]
            document = {"nodes": [variable, *nodes], "arg_nodes": [0], "heads": [[i, 0, 0] for i in range(1, 201)]}
            path = tmp_path / "short.json"
            path.write_text(json.dumps(document))
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            with pytest.raises(amp.GraphError, match=f"short.json: {op} 'n"):
                amp.sym.load(path)
            assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < (200 << 10) * (4 if SANITIZED else 1)


def test_shapes_that_no_memory_holds():
    """Sizes from attributes, from the file and from the caller; binding them is refused as well."""
    x = amp.sym.Variable("x")
    enormous = amp.sym.Variable("x", shape=(1 << 40, 1 << 40))
    with pytest.raises(amp.GraphError, match="variable 'x': shape .* has too many elements"):
        amp.sym.relu(enormous, name="r").infer_shape()
    grown = amp.sym.broadcast_axis(x, axis=(0, 1), size=(1 << 40, 1 << 10), name="b")
    assert grown.infer_shape(x=(1, 1))[1] == [(1 << 40, 1 << 10)]
    with pytest.raises(amp.GraphError, match="broadcast_axis 'b': shape"):
        amp.sym.broadcast_axis(x, axis=(0, 1), size=(1 << 40, 1 << 11), name="b").infer_shape(x=(1, 1))
    with pytest.raises(amp.GraphError, match="Reshape 'r'"):
        amp.sym.Reshape(x, shape=(1 << 62, 1 << 62), name="r").infer_shape(x=(1, 1))
    for backend in ("onednn", "reference"):
        with pytest.raises(amp.Error, match="memory|bytes"):
            amp.Executor(amp.sym.relu(grown), {}, {}, {"x": (1, 1)}, backend=backend)([np.ones((1, 1), "f4")])
