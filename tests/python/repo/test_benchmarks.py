"""The comparison with other engines: its statistics, its ONNX models and its reports. Nothing here measures.

What needs ONNX or torch is skipped in the usual environment; `make bench` makes one that has them:
`.venv-bench/bin/python -m pytest tests/python/repo/test_benchmarks.py` runs everything.
"""

import json
import math
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

import amp

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from benchmarks import page, slow_steps  # noqa: E402
from benchmarks.compare import __main__ as command  # noqa: E402
from benchmarks.compare import bert, networks, plot, processes, published, stats, table, verdicts  # noqa: E402


def test_slow_steps_are_far_above_arithmetic_and_traffic():
    step = {"flops": 0.0, "bytes": 1 << 22, "dtype": "float32", "min_seconds": 1e-4}
    product = {**step, "flops": 2e9, "min_seconds": 1e-2}
    peaks, bandwidth = slow_steps._speeds([product, step, step])
    assert peaks == {"float32": 2e11} and bandwidth == (1 << 22) / 1e-4
    assert slow_steps._times(step, peaks, bandwidth) < 1 < slow_steps._times(product, peaks, bandwidth) * 1.02
    assert slow_steps._times({**step, "min_seconds": 1e-2}, peaks, bandwidth) > 90
    assert slow_steps._speeds([step]) is None and slow_steps._speeds([product]) is None


def test_interval_of_known_data():
    # Of 25 medians of fair coins, less than 8 are below in 2.2 % of all cases, less than 9 in 5.4 %.
    assert stats.ratio_interval(list(range(25, 0, -1))) == (13, 8, 18)
    assert stats.ratio_interval([1.1, 0.9, 1.0, 5.0, 0.8, 1.2]) == (1.05, 0.8, 5.0)  # P(6 on one side) = 1.6 %


def test_interval_of_equal_ratios_is_a_point_and_five_rounds_have_none():
    assert stats.ratio_interval([1.5] * 6) == (1.5, 1.5, 1.5)
    assert stats.ratio_interval([1.5] * 5) == (1.5, None, None)
    assert stats.ratio_interval([1.5]) == (1.5, None, None)


@pytest.mark.parametrize("rounds, coverage", [(6, 0.969), (12, 0.961), (25, 0.957)])
def test_interval_covers_the_median_as_often_as_it_says(rounds, coverage):
    random = np.random.default_rng(1)
    logs = random.normal(0.3, 0.05, (4000, rounds))
    logs = np.where(random.random(logs.shape) < 0.2, 0.3 + 20 * (logs - 0.3), logs)  # some rounds are disturbed
    intervals = [stats.ratio_interval(ratios)[1:] for ratios in np.exp(logs)]
    covered = np.mean([low <= math.exp(0.3) <= high for low, high in intervals])
    assert covered == pytest.approx(coverage, abs=0.01)


def test_errors_are_relative_to_the_expected_output_and_the_worst_counts():
    expected = [np.full(4, 2.0), np.full(4, 10.0)]
    outputs = [np.array([2.0, 2.0, 2.0, 2.4]), np.full(4, 10.1)]
    assert stats.relative_max(outputs, expected) == pytest.approx(0.2)
    assert stats.relative_rms(outputs, expected) == pytest.approx(0.1)


def rounds(*medians):
    return [{"min": m * 0.9, "median": m, "calls": 5} for m in medians]


def result(name, precision, *medians, **more):
    error = {"error_max": 1e-6, "error_rms": 4e-3}
    return {"name": name, "contestant": name, "precision": precision, "rounds": rounds(*medians), **error, **more}


PROBE = {"fp32_gflops": 227.0, "bf16_gflops": 468.0, "triad_gbs": 30.0, "round_trip_ns": 60.0}


def cell(*results, network="resnet50_v1", batch=1, probe=PROBE, busy="0"):
    made = {"network": network, "batch": batch, "threads": 2, "busy": busy, "probes": [probe, probe]}
    return verdicts.judge({**made, "results": list(results)})


def test_ratios_are_taken_round_by_round():
    judged = cell(result("ours", "fp32", 30, 60, 30), result("openvino", "fp32", 20, 40, 20))
    assert judged["results"][1]["ratio"] == (1.5, None, None)
    assert "ratio" not in judged["results"][0]


def test_bf16_is_compared_with_our_own_fp32():
    judged = cell(result("ours", "fp32", 40, 40), result("ours", "bf16", 20, 20))
    assert judged["results"][1]["gain"] == (2, None, None)


@pytest.mark.parametrize(
    "precision, wrong",
    [("fp32", {"error_max": 2e-3}), ("bf16", {"error_rms": 0.2}), ("bf16", {"error_rms": math.nan})],
)
def test_a_mismatch_voids_the_comparison(precision, wrong):
    judged = cell(result("ours", precision, 18, 18), result("openvino", precision, 18, 18, **wrong))
    assert "outputs differ" in judged["results"][1]["void"]
    judged = cell(result("ours", precision, 18, 18, **wrong), result("openvino", precision, 18, 18))
    assert judged["results"][1]["void"].startswith("ours: outputs differ")


def test_a_peer_below_its_earlier_figure_is_void_unless_the_machine_is():
    earlier = published.published_ms("resnet50_v1", 1, 2, "openvino", "fp32")
    fine, slow = earlier * 1.09, earlier * 1.12
    assert cell(result("ours", "fp32", 1, 1), result("openvino", "fp32", fine, fine))["results"][1]["void"] == ""
    assert "earlier" in cell(result("ours", "fp32", 1, 1), result("openvino", "fp32", slow, slow))["results"][1]["void"]
    halved = {**PROBE, "fp32_gflops": PROBE["fp32_gflops"] / 2}
    assert not cell(result("openvino", "fp32", slow * 1.9, slow * 1.9), probe=halved)["results"][0]["void"]


def test_ours_is_never_void_for_being_slow():
    assert cell(result("ours", "fp32", 1000, 1000))["results"][0]["void"] == ""


def test_summary_without_openvino_is_no_result():
    with_it = cell(result("ours", "fp32", *[30] * 6), result("openvino", "fp32", *[32] * 6))
    without = cell(result("ours", "fp32", 30, 30))
    (line,) = verdicts.summary([with_it])
    assert line["geometric_mean"] == pytest.approx(30 / 32) and line["worst_upper_end"] == pytest.approx(30 / 32)
    (line,) = verdicts.summary([with_it, without])
    assert "1 of 2" in line["no_result"] and "geometric_mean" not in line


@pytest.fixture
def run():
    """As the JSON file holds it: a full comparison, a void one, a failure."""
    loaded = {"load_s": 0.5, "first_s": 0.6, "start_s": 0.7, "peak_mb": 300.0, "version": "1.2", "settings": "best <>"}
    cells = [
        cell(
            result("ours", "fp32", 28, 29, 30, 31, 32, 33, **loaded),
            result("openvino", "fp32", *[32] * 6, **loaded),
            result("torch", "fp32", *[90] * 6, **loaded),
            {"name": "mxnet", "contestant": "mxnet", "precision": "fp32", "rounds": [], "failed": "Error: no\nmore"},
        ),
        cell(result("ours", "bf16", 18), result("openvino", "bf16", 17), batch=16),
    ]
    settings = {"rounds": 2, "seconds": 1, "calls": 5}
    made = {"started": "now", "machine": "a CPU & more", "settings": settings, "cells": cells, "void": []}
    return json.loads(json.dumps(made))


def test_a_loaded_machine_is_told_apart():
    """Beside busy programs a peer is not compared with its figures on a quiet machine, and has lines of its own."""
    slow = result("openvino", "fp32", *[300] * 6)
    slow["times"] = [float(i) for i in range(1, 101)]
    loaded = cell(result("ours", "fp32", *[200] * 6), slow, busy="2low")
    assert loaded["results"][1]["void"] == "" and loaded["results"][1]["p95_ms"] == 95
    quiet = cell(result("ours", "fp32", *[30] * 6), result("openvino", "fp32", *[32] * 6))
    lines = verdicts.summary([quiet, loaded])
    assert [(line["busy"], round(line["geometric_mean"], 3)) for line in lines] == [("0", 0.938), ("2low", 0.667)]
    assert verdicts.cell_name(loaded) == "resnet50_v1 batch 1, 2 threads, 2 low busy"


def test_loads_are_checked():
    options = command._options(["--busy", "1,2,1low"])
    assert options.busy == ["1", "2", "1low"]
    cells = list(command._cells(command._options(["--busy", "2", "--networks", "vgg16", "--batches", "1"])))
    assert [cell["busy"] for cell in cells] == ["0", "2"]
    for wrong in ("0", "two", "1high", "-1"):
        with pytest.raises(SystemExit):
            command._options([f"--busy={wrong}"])


def test_busy_programs_end():
    from benchmarks.compare.rounds import busy_programs

    with busy_programs("2low", sorted(os.sched_getaffinity(0))[:1]):
        children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
        assert len(children) >= 2
        busy = [child for child in children if b"while True" in Path(f"/proc/{child}/cmdline").read_bytes()]
        assert [os.getpriority(os.PRIO_PROCESS, int(child)) for child in busy] == [19, 19]
    assert not any(Path(f"/proc/{child}").exists() for child in busy)


def test_table_shows_figures_failures_and_what_is_void(run):
    text = table.render(run)
    rows = [line.split() for line in text.splitlines() if line.startswith("resnet50_v1 ")]
    assert [row[5] for row in rows[:4]] == ["ours", "openvino", "torch", "mxnet"]
    assert "0.953 [0.875, 1.031]" in text  # 28/32, ... 33/32
    assert "failed: Error: no" in text and "more" not in text.split("failed: Error: no")[1].splitlines()[0]
    assert "void: 2.24 x its earlier" in text
    assert "[too few rounds]" in text and "openvino fp32: 1.2; best <>" in text


def test_plot_is_an_svg_with_a_mark_per_comparison(run):
    root = ElementTree.fromstring(plot.render(run))
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert [title.split(":")[0] for title in titles] == ["openvino", "torch", "openvino"]
    assert "void" in titles[1]


def test_show_writes_the_plot_of_an_earlier_run(run, tmp_path, capsys):
    path = tmp_path / "earlier.json"
    path.write_text(json.dumps(run))
    command.main(["--show", str(path)])
    assert "resnet50_v1" in capsys.readouterr().out
    ElementTree.parse(tmp_path / "earlier.svg")


def test_unknown_choices_are_refused(capsys):
    with pytest.raises(SystemExit):
        command.main(["--peers", "openvino,caffe"])
    assert "unknown: caffe" in capsys.readouterr().err


def test_ablation_names_the_passes_of_the_library(monkeypatch):
    symbol = amp.sym.Activation(amp.sym.Variable("data"), act_type="relu")
    monkeypatch.setenv("AMP_DISABLE_PASSES", ",".join(command.PASSES))
    amp.Executor(symbol, {}, {}, {"data": (1, 2)})  # raises for a name that is none
    options = SimpleNamespace(ablation=True, precisions=["bf16"])
    switches = [entry["environment"]["AMP_DISABLE_PASSES"] for entry in command._entries(options)]
    assert switches == ["", *command.PASSES, ",".join(command.PASSES)]


# ---- the models ----


def run_ours(symbol, args, aux, inputs):
    executor = amp.Executor(symbol, args, aux, {name: array.shape for name, array in inputs.items()})
    return [array.asnumpy() for array in executor(inputs)]


def run_onnx(model, inputs):
    onnxruntime = pytest.importorskip("onnxruntime", reason="compares with ONNX Runtime, which is not installed")
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)


@pytest.fixture
def exporter():
    pytest.importorskip("onnx", reason="writes ONNX models; the package onnx is not installed (make bench installs it)")
    from benchmarks.compare import onnx_export

    return onnx_export


def test_every_exported_operator_computes_what_ours_does(exporter):
    sym = amp.sym
    data = sym.Variable("data")
    x = sym.Convolution(data, kernel=(3, 3), num_filter=8, pad=(1, 1), stride=(2, 2), name="conv")
    x = sym.BatchNorm(x, fix_gamma=True, eps=1e-3, name="fixed")
    x = sym.Activation(sym.BatchNorm(x, fix_gamma=False, name="free"), act_type="relu")
    y = sym.Convolution(
        x, kernel=(3, 3), num_filter=8, num_group=4, pad=(2, 2), dilate=(2, 2), no_bias=True, name="group"
    )
    x = sym.elemwise_add(sym.clip(y, a_min=0, a_max=6), sym.LeakyReLU(x, act_type="leaky", slope=0.1))
    x = sym.broadcast_mul(x, sym.Pooling(sym.Activation(x, act_type="sigmoid"), global_pool=True, pool_type="avg"))
    window = {"kernel": (3, 3), "stride": (2, 2)}
    pools = [
        sym.Pooling(x, pool_type="max", pooling_convention="valid", pad=(1, 1), **window),
        sym.Pooling(x, pool_type="avg", count_include_pad=True, pad=(1, 1), **window),
        sym.Pooling(x, pool_type="avg", count_include_pad=False, pad=(1, 1), **window),
    ]
    x = sym.Dropout(sym.Flatten(sym.Concat(*pools, dim=1)))
    x = sym.softmax(sym.FullyConnected(x, num_hidden=5, name="fc"))
    args, aux = amp.model_zoo.seeded_params(x, {"data": (2, 3, 18, 18)})
    inputs = {"data": np.random.default_rng(0).standard_normal((2, 3, 18, 18), dtype=np.float32)}
    params = {name: array.asnumpy() for name, array in {**args, **aux}.items()}
    model = exporter.export(json.loads(x.tojson()), params, {"data": (2, 3, 18, 18)})
    (ours,), (theirs,) = run_ours(x, args, aux, inputs), run_onnx(model, inputs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_an_operator_without_exporter_is_named(exporter):
    symbol = amp.sym.argsort(amp.sym.Variable("data"), name="sorted")
    with pytest.raises(ValueError, match="argsort 'sorted'"):
        exporter.export(json.loads(symbol.tojson()), {}, {"data": (1, 4)})


@pytest.mark.parametrize("network", networks.IMAGE_SIZES)
def test_networks_can_be_exported(exporter, network):
    symbol = networks.symbol_of(network)
    size = networks.IMAGE_SIZES[network]
    arg_shapes, _, aux_shapes = symbol.infer_shape(data=(1, 3, size, size))
    shapes = {
        **dict(zip(symbol.list_arguments(), arg_shapes)),
        **dict(zip(symbol.list_auxiliary_states(), aux_shapes)),
    }
    inputs = {"data": shapes.pop("data")}
    params = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    model = exporter.export(json.loads(symbol.tojson()), params, inputs)
    assert {tensor.name for tensor in model.graph.initializer} >= set(params)


SMALL_BERT = {"layers": 2, "heads": 4}


def small_bert():
    symbol = bert.symbol(**SMALL_BERT, units=32, hidden=64, vocabulary=bert.VOCABULARY)
    inputs = bert.inputs(np.random.default_rng(0), 3)
    shapes = {name: array.shape for name, array in inputs.items()}
    args, aux = amp.model_zoo.seeded_params(symbol, shapes)
    return symbol, args, aux, inputs


def test_bert_behind_its_length_is_zero_and_does_not_matter():
    symbol, args, aux, inputs = small_bert()
    sequence, pooled = run_ours(symbol, args, aux, inputs)
    assert sequence.shape == (3, bert.TOKENS, 32) and pooled.shape == (3, 32)
    length = int(inputs["data2"][2])
    assert length < bert.TOKENS and not sequence[2, length:].any() and sequence[2, :length].all()
    inputs["data0"][2, length:] = 7
    np.testing.assert_array_equal(run_ours(symbol, args, aux, inputs)[0], sequence)


def test_bert_in_onnx_computes_what_ours_does(exporter):
    from benchmarks.compare import bert_onnx

    symbol, args, aux, inputs = small_bert()
    model = bert_onnx.export({name: array.asnumpy() for name, array in args.items()}, **SMALL_BERT)
    for ours, theirs in zip(run_ours(symbol, args, aux, inputs), run_onnx(model, inputs)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-4)


def test_bert_in_torch_computes_what_onnx_does(exporter, tmp_path):
    torch = pytest.importorskip("torch", reason="reads the model into torch, which is not installed")
    import onnx
    from benchmarks.compare import bert_onnx, torch_graph

    _, args, _, inputs = small_bert()
    model = bert_onnx.export({name: array.asnumpy() for name, array in args.items()}, **SMALL_BERT)
    onnx.save(model, str(tmp_path / "model.onnx"))
    module = torch_graph.read(str(tmp_path / "model.onnx"))
    outputs = module(*(torch.from_numpy(array) for array in inputs.values()))
    for ours, theirs in zip(outputs, run_onnx(model, inputs)):
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-3, atol=1e-4)


# ---- the processes ----


def prepared(tmp_path):
    symbol = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=4, name="fc")
    args, aux = amp.model_zoo.seeded_params(symbol, {"data": (2, 3)})
    amp.save_checkpoint(str(tmp_path / "model"), 0, symbol, args, aux)
    inputs = {"data": np.ones((2, 3), np.float32)}
    np.savez(tmp_path / "inputs.npz", **inputs)
    cpus = sorted(command.os.sched_getaffinity(0))[:1]
    files = {"model": str(tmp_path), "inputs": str(tmp_path / "inputs.npz")}
    return {"contestant": "ours", "precision": "fp32", "cpus": cpus, **files}, run_ours(symbol, args, aux, inputs)


def test_a_worker_loads_runs_and_answers(tmp_path):
    specification, expected = prepared(tmp_path)
    with processes.Worker(specification) as worker:
        loaded = worker.load()
        assert {"load_s", "first_s", "start_s", "peak_mb", "version", "settings"} <= set(loaded)
        worker.ask("save", path=str(tmp_path / "outputs.npz"))
        assert len(worker.ask("measure", seconds=0, calls=3)["times"]) == 3
    with np.load(tmp_path / "outputs.npz") as outputs:
        np.testing.assert_array_equal(outputs["out0"], expected[0])


def test_a_failing_contestant_says_why(tmp_path):
    specification, _ = prepared(tmp_path)
    (tmp_path / "model-symbol.json").write_text("{")
    with processes.Worker(specification) as worker, pytest.raises(processes.WorkerError, match="Error"):
        worker.load()


# ---- the page ----


def test_pages_and_plot_are_those_of_the_results():
    for path in page.PAGES:
        assert page.page(path.read_text()) == path.read_text(), "python -m benchmarks.page writes it anew"
        assert page.MARKED.search(path.read_text())
    assert page.plot() == page.PLOT.read_text()
    ElementTree.fromstring(page.plot())


def test_results_are_complete():
    """Six networks, two batch sizes, the facts that the page names, and speeds that follow from the times."""
    runs = page.load("networks")
    assert len(runs) >= 5
    for run in runs:
        assert {"machine", "cpu", "class", "date", "commit", "versions", "command", *page.FACTS} <= run.keys()
        assert [row["network"] for row in run["rows"]] == [name for name in page.NETWORKS for _ in range(2)]
        for row in run["rows"]:
            for key in ("float32", "automatic"):
                assert 0.1 < row[key]["ratio"] < 2
                if "best_ms" in row[key]:
                    own, peer = row[key]["best_ms"]
                    assert own / peer == pytest.approx(row[key]["ratio"], rel=0.1)
    assert all(run["date"] and len(run["rows"]) == 34 for run in page.load("zoo"))


def test_a_run_of_the_comparison_becomes_a_result_file(tmp_path, monkeypatch):
    """The faster precision of OpenVINO counts for automatic precision."""
    made = [
        cell(
            result("ours", "fp32", 20, 40, 20, version="0.1, oneDNN 3.2"),
            result("ours", "bf16", 10, 10, 10, version="0.1, oneDNN 3.2"),
            result("openvino", "fp32", 25, 50, 25, version="2026.4"),
            result("openvino", "bf16", 30, 30, 30, version="2026.4"),
            network=network,
            batch=batch,
        )
        for network in page.NETWORKS
        for batch in (1, 8)
    ]
    run = {"started": "2026-12-24 10:00:00", "settings": {"rounds": 3, "seconds": 0.1, "calls": 1}, "cells": made}
    (tmp_path / "run.json").write_text(json.dumps({**run, "machine": "", "void": []}))
    for name, value in {"RESULTS": tmp_path / "results", "PLOT": tmp_path / "plot.svg", "PAGES": ()}.items():
        monkeypatch.setattr(page, name, value)
    page.RESULTS.mkdir()
    page.main(["--add", str(tmp_path / "run.json"), "--name", "2026-12-24-new", "--machine", "A new CPU"])
    (found,) = page.load("networks")
    assert found["date"] == "2026-12-24" and found["versions"] == {"nnvm-amp": "0.1, oneDNN 3.2", "openvino": "2026.4"}
    assert found["rows"][0]["float32"] == {"ratio": 0.8, "best_ms": [18, 22.5]}
    assert found["rows"][0]["automatic"] == {"ratio": 0.4, "best_ms": [9, 22.5]}
    assert "A new CPU" in page.machines() and "| 1.25 x | 2.50 x |" in page.overview()
