"""The command `amp`: what it prints, what it writes, how it fails."""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import amp
from amp.__main__ import main
from amp._cli.inputs import type_spec
from amp.demo import remarks
from amp.profiling import SystemLoad


@pytest.fixture(scope="session")
def digits(repository):
    folder = repository / "examples" / "digits"
    return str(folder / "digits-symbol.json"), str(folder / "digits-0000.params")


def run(capsys, *arguments):
    """Runs a command in this process; returns (exit code, stdout, stderr)."""
    try:
        code = main(list(map(str, arguments)))
    except SystemExit as stop:
        code = stop.code
    return code, *capsys.readouterr()


def fails(capsys, *arguments):
    """The one line that a failing command prints to stderr."""
    code, _, errors = run(capsys, *arguments)
    assert code == 2 and "Traceback" not in errors
    return errors.strip().splitlines()[-1]


def process(*arguments, **env):
    command = [sys.executable, "-m", "amp", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, **env})


# ---- inspect ----


def test_inspect(capsys, digits):
    code, text, errors = run(capsys, "inspect", *digits, "--shape", "data=5x1x8x8")
    assert (code, errors) == (0, "")
    lines = [line.split() for line in text.splitlines()]
    assert ["data", "5x1x8x8", "float32"] in lines
    assert ["digits_dense0_fwd_output", "5x10", "float32"] in lines
    assert ["Convolution", "3"] in lines and ["operators", "(14)"] in lines
    assert "20,890 values" in text and ["float32", "83.56", "KB"] in lines
    assert "conv0_weight" not in text


def test_inspect_without_parameters_or_shapes(capsys, digits):
    _, text, _ = run(capsys, "inspect", digits[0])
    lines = [line.split() for line in text.splitlines()]
    assert ["digits_conv0_weight", "16x?x3x3", "float32"] in lines
    assert ["digits_dense0_fwd_output", "?x10", "float32"] in lines
    assert "--shape data=SHAPE[:DTYPE]" in text and "digits_conv0_weight=SHAPE" not in text


def inspected(capsys, *arguments):
    code, text, errors = run(capsys, "inspect", *arguments, "--json")
    assert (code, errors) == (0, "")
    return json.loads(text)


def test_inspect_as_json(capsys, digits):
    facts = inspected(capsys, *digits, "--shape", "data=5x1x8x8")
    assert facts["kind"] == "model" and not facts["np_shape"] and facts["unknown"] == []
    assert facts["inputs"] == [{"name": "data", "shape": [5, 1, 8, 8], "dtype": "float32"}]
    assert facts["outputs"] == [{"name": "digits_dense0_fwd_output", "shape": [5, 10], "dtype": "float32"}]
    assert facts["operators"]["Convolution"] == 3
    assert facts["parameters"]["bytes_by_dtype"] == {"float32": 83560}
    assert {"name": "arg:digits_dense0_bias", "shape": [10], "dtype": "float32", "bytes": 40} in facts["parameters"][
        "arrays"
    ]


def test_inspect_says_what_would_settle_the_unknown(capsys, digits):
    facts = inspected(capsys, digits[0])
    assert facts["kind"] == "symbol" and facts["resolve"] == ["data"] and "data" in facts["unknown"]
    settled = inspected(capsys, digits[0], "--shape", "data=1x1x8x8")
    assert settled["resolve"] == [] and settled["unknown"] == []
    weights = {array["name"]: array["shape"] for array in settled["parameters"]["arrays"]}
    assert weights["digits_conv0_weight"] == [16, 1, 3, 3]


def test_inspect_files_of_arrays(capsys, digits, tmp_path):
    facts = inspected(capsys, digits[1])
    assert facts["kind"] == "arrays" and facts["parameters"]["elements"] == 20890
    np.savez(tmp_path / "x.npz", a=np.ones((2, 3), "f8"), b=np.float32(1))
    facts = inspected(capsys, tmp_path / "x.npz")
    assert facts["parameters"]["arrays"][0] == {"name": "a", "shape": [2, 3], "dtype": "float64", "bytes": 48}
    text = run(capsys, "inspect", tmp_path / "x.npz")[1]
    lines = [line.split() for line in text.splitlines()]
    assert ["a", "2x3", "float64"] in lines and ["b", "scalar", "float32"] in lines


def test_inspect_files_with_unknown_operators(capsys, tmp_path):
    document = {
        "nodes": [
            {"op": "null", "name": "x", "inputs": []},
            {"op": "Frobnicate", "name": "f", "attrs": {"what": "7"}, "inputs": [[0, 0, 0]]},
            {"op": "relu", "name": "r", "inputs": [[1, 0, 0]]},
        ],
        "arg_nodes": [0],
        "heads": [[2, 0, 0]],
    }
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    facts = inspected(capsys, path)
    assert facts["unsupported_operators"] == ["Frobnicate"] and facts["operators"] == {"Frobnicate": 1, "relu": 1}
    text = run(capsys, "inspect", path)[1]
    assert "Frobnicate                   1   (not supported)" in text and "cannot be run: " in text


@pytest.mark.parametrize("subgraphs", [7, [7], [{}], [{"nodes": 7}], [{"nodes": [7]}], {"nodes": []}])
def test_inspect_takes_nothing_in_such_a_file_for_granted(capsys, tmp_path, subgraphs):
    node = {"op": "Frobnicate", "name": "f", "inputs": [], "subgraphs": subgraphs}
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"nodes": [node, 7], "heads": []}))
    assert inspected(capsys, path)["operators"] == {"Frobnicate": 1}


def test_inspect_reads_files_with_a_byte_order_mark(capsys, digits, tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b"\xef\xbb\xbf" + open(digits[0], "rb").read())
    assert inspected(capsys, path)["operators"]["Convolution"] == 3


# ---- convert ----


@pytest.mark.parametrize("offline", [False, True])
def test_convert(capsys, digits, tmp_path, offline):
    prefix = tmp_path / "small"
    flags = ["--offline"] if offline else []
    code, text, _ = run(capsys, "convert", *digits, "--shape", "data:float32", "-o", prefix, *flags)
    assert code == 0
    assert "casts in the graph" in text and f"wrote {prefix}-symbol.json" in text
    assert ("83.56 KB -> 41.42 KB" in text) == offline
    symbol, args, _ = amp.load_checkpoint(prefix, 0)
    dtypes = {str(array.dtype) for array in args.values()}
    assert dtypes == ({"float32", "bfloat16"} if offline else {"float32"})
    assert "amp_cast" in symbol.tojson()


def converted(capsys, digits, prefix, *flags):
    """What `amp convert` prints; it has to succeed."""
    code, text, errors = run(capsys, "convert", *digits, "--shape", "data=1x1x8x8:float32", "-o", prefix, *flags)
    assert (code, errors) == (0, "")
    return text


def test_convert_with_every_option(capsys, digits, tmp_path):
    flags = (
        "--to",
        "float16",
        "--policy",
        "mxnet",
        "--no-fold",
        "--exclude",
        "*dense*",
        "--exclude",
        "digits_conv1_fwd",
    )
    text = converted(capsys, digits, tmp_path / "x", *flags, "--offline", "--report", tmp_path / "r.json")
    assert text.splitlines()[-1] == f"wrote {tmp_path / 'r.json'}" and "batch norms" not in text
    assert "stock MXNet" not in text  # which runs what policy mxnet makes
    facts = json.loads((tmp_path / "r.json").read_text())
    assert facts["options"] == {
        "target_dtype": "float16",
        "policy": "mxnet",
        "cast_params_offline": True,
        "fold_batch_norm": False,
    }
    dtypes = {name: str(array.dtype) for name, array in amp.load_checkpoint(tmp_path / "x", 0)[1].items()}
    assert dtypes["digits_conv0_weight"] == "float16"
    assert dtypes["digits_conv1_weight"] == dtypes["digits_dense0_weight"] == "float32"
    reasons = {tensor["node"]: tensor["reason"]["text"] for tensor in facts["tensors"]}
    assert reasons["digits_dense0_fwd"] == "excluded by '*dense*'"


def test_what_convert_says_is_what_the_files_hold(capsys, digits, tmp_path):
    text = converted(capsys, digits, tmp_path / "x", "--offline")
    symbol, args, _ = amp.load_checkpoint(tmp_path / "x", 0)
    casts = [node for node in json.loads(symbol.tojson())["nodes"] if node["op"] == "amp_cast"]
    assert f"casts in the graph:  {len(casts)}\n" in text
    low = [name for name, array in args.items() if amp.dtype_name(array.dtype) == "bfloat16"]
    assert f"parameters cast:     {len(low)} of {len(args)}\n" in text and all("weight" in name for name in low)
    assert "batch norms folded:  3 of 3" in text and "results in bfloat16: 10 of 11" in text
    assert "note: stock MXNet loads the saved model but cannot run it; policy 'mxnet'" in text


# ---- why ----


@pytest.fixture
def models(capsys, digits, tmp_path):
    """Prefixes of the digits model as it is, converted and converted by MXNet's rules; and the report of the second."""
    prefixes = digits[0].removesuffix("-symbol.json"), tmp_path / "low", tmp_path / "mx"
    converted(capsys, digits, prefixes[1], "--offline", "--report", tmp_path / "r.json")
    converted(capsys, digits, prefixes[2], "--policy", "mxnet", "--exclude", "*dense*")
    return (*prefixes, tmp_path / "r.json")


def why(capsys, *arguments):
    code, text, errors = run(capsys, "why", *arguments)
    assert (code, errors) == (0, "")
    return text.splitlines()


def test_why_from_a_report_a_symbol_file_or_a_prefix(capsys, digits, models):
    expected = [
        "digits_relu0_fwd_output (Activation) is bfloat16 (it was float32)",
        "  digits_relu0_fwd_output: digits_conv0_fwd_output is in low precision  [propagation]",
        "  digits_conv0_fwd_output: accumulates in float32 and gains from low-precision operands  [fact]",
    ]
    for model in (models[3], digits[0], models[0]):
        for name in ("digits_relu0_fwd", "digits_relu0_fwd_output"):
            assert why(capsys, model, name) == expected
    assert why(capsys, *digits, "digits_relu0_fwd") == expected


def test_why_of_options(capsys, digits):
    listed = why(capsys, digits[0], "digits_relu0_fwd", "--policy", "mxnet")
    assert listed[-1].endswith("Convolution is in MXNet's target_dtype_ops for bfloat16  [list]") and len(listed) == 4
    kept = why(capsys, digits[0], "digits_dense0_fwd", "--exclude", "*dense*")
    assert kept[0] == "digits_dense0_fwd_output (FullyConnected) is float32" and kept[1].endswith("[user]")
    convolution = "digits_conv0_fwd"
    assert "(Convolution) is bfloat16" in why(capsys, digits[0], convolution)[0]
    neutral = why(capsys, digits[0], convolution, "--neutral", "Convolution", "--neutral", "FullyConnected")
    assert neutral[0].endswith("(Convolution) is float32")


def test_why_of_parameters_inputs_and_results_in_float32(capsys, models):
    weight = why(capsys, models[3], "digits_conv0_weight")
    assert weight[0] == "digits_conv0_weight (parameter) is bfloat16 (it was float32)"
    assert "  it is cast to bfloat16 once, offline, for" in weight
    data = why(capsys, models[3], "data")
    assert data[0] == "data (input) is float32" and "  it is cast to bfloat16 in every run, for" in data
    dense = why(capsys, models[3], "digits_dense0_fwd")
    assert dense[0].endswith("is float32") and "reads bfloat16 and keeps its float32 sums" in dense[1]


def test_why_of_batch_norms(capsys, digits, models):
    folded = why(capsys, models[3], "digits_batchnorm0_fwd")
    assert folded[0] == "the batch norm digits_batchnorm0_fwd was folded into digits_conv0_fwd, in float32"
    assert folded[1].startswith("digits_conv0_fwd_output (Convolution) is bfloat16")
    kept = why(capsys, digits[0], "digits_batchnorm0_fwd", "--exclude", "digits_conv0_fwd")
    assert any("it was not folded: " in line for line in kept)
    assert "3 batch norms were folded" in fails(capsys, "why", models[3], "digits_batchnorm0_gamma")


def test_why_of_a_model_that_has_casts_says_so(capsys, models):
    code, text, errors = run(capsys, "why", models[2], "digits_dense0_fwd")
    assert code == 0 and text.startswith("digits_dense0_fwd_output") and "has casts already" in errors


# ---- diff ----


def diff(capsys, first, second):
    """{title: [rows]}, and the last line."""
    code, text, errors = run(capsys, "diff", first, second)
    assert (code, errors) == (0, "")
    *lines, last = text.splitlines()
    tables, title = {}, None
    for line in lines:
        if line.startswith("  "):
            tables[title].append(line.split())
        else:
            title = line
            tables[title] = []
    return tables, last


def test_diff_with_what_was_converted(capsys, models):
    tables, last = diff(capsys, models[0], models[1])
    assert tables["casts added (1)"] == [["data_0_amp_cast_bfloat16", "to", "bfloat16"]]
    assert ["digits_conv0_fwd_output", "float32", "->", "bfloat16"] in tables["tensors of another dtype (10)"]
    assert ["digits_conv0_weight", "float32", "->", "bfloat16"] in tables["parameters of another dtype (4)"]
    assert ["digits_batchnorm0_gamma"] in tables["parameters only in the first (12)"]
    assert ["digits_conv0_fwd_bias"] in tables["parameters only in the second (3)"]
    assert last == "parameter bytes: 83.56 KB float32 -> 40.99 KB bfloat16 + 424 bytes float32"


def test_diff_the_other_way_round(capsys, models):
    tables, last = diff(capsys, models[1], models[0])
    assert "casts removed (1)" in tables and "casts added (1)" not in tables
    assert ["digits_conv0_fwd_output", "bfloat16", "->", "float32"] in tables["tensors of another dtype (10)"]
    assert last == "parameter bytes: 40.99 KB bfloat16 + 424 bytes float32 -> 83.56 KB float32"


def test_diff_of_policies(capsys, models):
    tables, _ = diff(capsys, models[1], models[2])
    assert ["digits_flatten0_flatten0_output", "bfloat16", "->", "float32"] in tables["tensors of another dtype (2)"]


def test_diff_writes_a_page(capsys, models, tmp_path):
    path = tmp_path / "page.html"
    code, printed, _ = run(capsys, "diff", models[0], models[1], "-o", path)
    assert code == 0 and f"wrote {path}" in printed
    page = path.read_text()
    assert "Casts added" in page and "bfloat16" in page
    assert "http" not in page and "<script" not in page  # no network access
    assert "page.html" in fails(capsys, "diff", models[0], models[1], "-o", path)  # it is there


def test_diff_of_equal_models(capsys, models, tmp_path):
    amp.save_checkpoint(tmp_path / "copy", 0, *amp.load_checkpoint(models[1], 0))
    for first, second in ((models[0], models[0]), (models[1], tmp_path / "copy")):
        tables, last = diff(capsys, first, second)
        assert tables == {"no differences in casts, dtypes and names": []} and last.startswith("parameter bytes: ")


def test_diff_of_unrelated_models(capsys, models, tmp_path):
    net = amp.sym.FullyConnected(amp.sym.Variable("x"), num_hidden=2, no_bias=True, name="other")
    amp.save_checkpoint(tmp_path / "other", 0, net, {"other_weight": amp.nd.array(np.ones((2, 3), "f4"))}, {})
    tables, _ = diff(capsys, models[0], tmp_path / "other")
    assert next(iter(tables)) == "the models have no tensor and no parameter in common"
    assert tables["tensors only in the second (1)"] == [["other_output"]]


@pytest.mark.parametrize("policy", ["default", "mxnet"])
def test_diff_sees_a_result_whose_cast_has_its_name(capsys, tmp_path, policy):
    """The activation is read in bfloat16 and is an output: under policy default the cast bears its name."""
    net = amp.sym.FullyConnected(amp.sym.Variable("x"), num_hidden=2, name="first")
    net = amp.sym.Activation(net, act_type="relu", name="act")
    net = amp.sym.Group([net, amp.sym.FullyConnected(net, num_hidden=2, name="second")])
    model = (net, *amp.model_zoo.seeded_params(net, {"x": (1, 3)}))
    amp.save_checkpoint(tmp_path / "a", 0, *model)
    amp.save_checkpoint(tmp_path / "b", 0, *amp.convert_model(*model, policy=policy))
    tables, _ = diff(capsys, tmp_path / "a", tmp_path / "b")
    changed = next(rows for title, rows in tables.items() if title.startswith("tensors of another dtype"))
    assert ["act_output", "float32", "->", "bfloat16"] in changed
    assert not any(title.startswith("tensors only") for title in tables)


# ---- run ----


def test_run_with_a_file(capsys, digits, repository, tmp_path):
    with np.load(repository / "examples/digits/heldout.npz") as stored:
        images, expected = stored["images"], stored["mxnet_output"]
    np.save(tmp_path / "x.npy", (images[:6].reshape(-1, 1, 8, 8) / 16).astype("f4"))
    out = tmp_path / "out.npz"
    code, text, _ = run(capsys, "run", *digits, "--input", f"data={tmp_path / 'x.npy'}", "--repeat", 2, "-o", out)
    assert code == 0
    assert "digits_dense0_fwd_output: 6x10 float32" in text
    assert "best classes: " in text and "2 more rows" in text and "ms per run (median of 2" in text
    with np.load(out) as stored:
        np.testing.assert_allclose(stored["digits_dense0_fwd_output"], expected[:6], rtol=1e-4, atol=1e-4)


def test_run_with_random_numbers(capsys, digits):
    options = ("--random", "data=2x1x8x8", "--repeat", 0, "--threads", 1)
    for extra in ((), ("--backend", "reference"), ("--mode", "exact"), ("--to", "bfloat16", "--emulate")):
        code, text, _ = run(capsys, "run", *digits, *options, *extra)
        assert code == 0 and "2x10 float32" in text and "ms per run" not in text


def test_notes_are_one_line(digits):
    done = process("run", *digits, "--random", "data=1x1x8x8", "--to", "bfloat16", ONEDNN_MAX_CPU_ISA="AVX2")
    assert done.returncode == 0
    assert done.stderr.startswith("amp: note: ") and len(done.stderr.splitlines()) == 1


# ---- demo ----


def test_demo(capsys, repository):
    code, text, errors = run(capsys, "demo", "--data", repository / "examples/digits", "--quick")
    assert (code, errors) == (0, "")
    for part in ("accuracy in float32       99.44%", "read as", "casts inserted", "83,560 -> 41,416", "%%"):
        assert part in text


def test_the_demo_says_what_its_times_do_not_show():
    assert remarks(0.51, 0.02) == remarks(0.51, None) == ["bfloat16 takes 0.51 times as long as float32."]
    assert any("does not pay" in line for line in remarks(1.4, 0))
    assert any("48% of the CPUs" in line for line in remarks(0.5, 0.48))


def test_the_demo_sees_other_programs():
    load = SystemLoad()
    programs = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    time.sleep(1)
    for program in programs:
        program.kill()
        program.wait()
    assert load.others() > 0.1 / os.cpu_count()


def test_demo_finds_its_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "demo", "--quick")[0] == 0
    assert "--data" in fails(capsys, "demo", "--data", "nowhere")


# ---- mistakes ----


def test_user_errors_are_one_line(capsys, digits, tmp_path):
    symbol, params = digits
    (tmp_path / "cut.params").write_bytes(open(params, "rb").read()[:1000])
    (tmp_path / "bad.npy").write_bytes(b"x")
    bad_json = tmp_path / "bad.json"
    bad_json.write_text("{")
    for arguments, text in [
        (("inspect", "nothing.json"), "nothing.json"),
        (("inspect", params, symbol), "comes first"),
        (("inspect", bad_json), "not valid JSON"),
        (("inspect", symbol, tmp_path / "cut.params"), "cut.params at byte"),
        (("inspect", symbol, "--shape", "dta=1x2"), "did you mean 'data'"),
        (("convert", *digits, "--to", "int8", "-o", tmp_path / "x"), "int8"),
        (("convert", *digits, "-o", tmp_path / "no" / "x"), "no/x"),
        (("convert", params, symbol, "-o", tmp_path / "x"), "the symbol file comes first"),
        (("convert", *digits, "-o", tmp_path / "x", "--policy", "mine"), "'mine'"),
        (("convert", *digits, "-o", tmp_path / "x", "--exclude", "digits_conv0_fw"), "did you mean 'digits_conv0_fwd'"),
        (("convert", *digits, "-o", tmp_path / "x", "--shape", "dta:float32"), "did you mean 'data'"),
        (
            ("convert", *digits, "-o", tmp_path / "x", "--shape", "data=1x3x8x8"),
            "expected weight with 3 input channels",
        ),
        (("convert", *digits, "-o", tmp_path / "x", "--report", tmp_path / "no" / "r.json"), "there is no folder"),
        (("convert", *digits), "-o/--output"),
        (("why", "nothing", "x"), "neither a file nothing nor nothing-symbol.json"),
        (("why", params, "x"), "holds no symbol"),
        (("why", symbol, "digits_relu0_fw"), "did you mean 'digits_relu0_fwd_output'"),
        (("why", symbol, "?"), "no tensor '?'"),
        (("why", bad_json, params, "x"), "not valid JSON"),
        (("diff", symbol, "nothing"), "nothing-symbol.json"),
        (("diff", symbol, params), "expected two models"),
        (("diff",), "MODEL"),
        (("diff", symbol, symbol, symbol), "got 3"),
        (("run", *digits), "--random data=1x3x224x224"),
        (("run", *digits, "--random", "data:float32"), "shape is needed"),
        (("run", *digits, "--random", "data=1x3x8x8"), "digits_conv0"),
        (("run", *digits, "--random", "data=1x1x8x8:float64"), "float64"),
        (("run", *digits, "--input", "data"), "NAME=FILE.npy"),
        (("run", *digits, "--input", "data=nothing.npy"), "nothing.npy"),
        (("run", *digits, "--input", f"data={tmp_path / 'bad.npy'}"), "bad.npy"),
        (("run", *digits, "--random", "data=1x1x8x8", "--repeat", -1), "--repeat"),
        (("run", *digits, "--random", "data=1x1x8x8", "--threads", 0), "num_threads"),
        (("run", *digits, "--random", "data=axb"), "expected a shape"),
        (("run", *digits, "--random", "=1"), "NAME=1x3x224x224"),
        (("run", *digits, "--random", "data=1:float33"), "float33"),
        ((), "COMMAND"),
        (("inspekt",), "inspekt"),
    ]:
        line = fails(capsys, *arguments)
        assert line.startswith("amp") and "error: " in line and text in line, line


def test_verbose_shows_where_it_happened(capsys, monkeypatch):
    monkeypatch.setenv("AMP_VERBOSE", "1")
    with pytest.raises(amp.ArgumentError):
        main(["inspect", "nothing.json"])


@pytest.mark.parametrize(
    "text, spec",
    [
        ("data=1x3:float32", ("data", (1, 3), "float32")),
        ("data=1,3", ("data", (1, 3), None)),
        ("a:b:bf", None),
        ("data=x.npy", None),
        ("data:bfloat16", ("data", None, "bfloat16")),
        ("data", ("data", None, None)),
        ("data=", None),
        ("data=-1x3", None),
    ],
)
def test_type_specs(text, spec):
    if spec is None:
        with pytest.raises(argparse.ArgumentTypeError):
            type_spec(text)
    else:
        assert type_spec(text) == spec


# ---- the process ----


def test_module_and_help():
    done = process("--help")
    assert done.returncode == 0 and all(
        word in done.stdout for word in ("inspect", "convert", "why", "diff", "run", "demo")
    )
    assert process().returncode == 2


def test_closed_output_is_no_error(digits):
    command = f'"{sys.executable}" -m amp inspect "{digits[0]}" | head -1'
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("inputs\n", "")


def test_the_command_runs_in_one_process_and_leaves_the_environment_alone(digits, tmp_path):
    """Threads need no settings: neither does the command start itself again, nor do child processes see any."""
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, os, sys\n"
        "names = lambda: sorted(name for name in os.environ if name.startswith(('GOMP_', 'OMP_', 'KMP_')))\n"
        "before = names()\n"
        "sys.stderr.write('started;')\n"
        "atexit.register(lambda: sys.stderr.write('same' if names() == before else 'changed'))\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = process("run", *digits, "--random", "data=1x1x8x8", "--repeat", 0, PYTHONPATH=path)
    assert (done.returncode, done.stderr) == (0, "started;same")


def test_version():
    done = process("--version")
    expected = f"amp {amp.__version__}, oneDNN {amp.cpu_info()['onednn']}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
