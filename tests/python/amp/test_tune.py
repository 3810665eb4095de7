"""Kernels that timing chooses (`tune=True`), what is kept of that, and what calibration measures of our kernels. No
test says which kernel is fast."""

import json
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from test_machine import FILE

import amp
from amp import _calibration, _calibration_models, _core, _machine_file, commands
from amp._cli import calibrating, progress

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
import extend_machine  # noqa: E402

SHAPES = {"data": (1, 32, 14, 14)}


def network():
    net = amp.sym.Variable("data")
    for i in range(2):
        net = amp.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=32, name=f"conv{i}")
        net = amp.sym.relu(net, name=f"relu{i}")
    return amp.sym.Convolution(net, kernel=(1, 1), num_filter=48, name="last")


def model():
    net = network()
    return net, *amp.model_zoo.seeded_params(net, SHAPES)


def data():
    return np.random.default_rng(3).standard_normal(SHAPES["data"]).astype("float32")


@pytest.fixture
def machine(tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(FILE))
    return path


def choices(run):
    return {step.node: (step.choice, step.is_tuned) for step in run.summary.steps if step.choice}


def test_a_tuned_executor_computes_the_same_and_is_replayed(machine):
    expected = amp.Executor(*model(), SHAPES, machine="any")(data())[0].asnumpy()
    tuned = amp.Executor(*model(), SHAPES, machine=machine, tune=True)
    found = tuned(data())[0].asnumpy()
    assert np.abs(found - expected).max() <= 2e-5 * np.abs(expected).max()
    assert set(choices(tuned)) == {"conv0", "conv1", "last"}
    assert all(is_tuned for _, is_tuned in choices(tuned).values())
    written = machine.read_bytes()
    for _ in range(2):
        assert str(amp.Executor(*model(), SHAPES, machine=machine).summary) == str(tuned.summary)
    assert machine.read_bytes() == written
    assert json.loads(written)["tuned"]["layers"].keys() != {}


def test_without_tuning_times_are_predicted(machine):
    run = amp.Executor(*model(), SHAPES, machine=machine)
    steps = [step for step in run.summary.steps if step.choice]
    assert steps and not any(step.is_tuned for step in steps)
    assert all(0 < step.predicted_seconds <= step.otherwise_seconds for step in steps)
    assert "tuned" not in json.loads(machine.read_text())


def test_no_machine_no_choice():
    run = amp.Executor(*model(), SHAPES, machine="any")
    assert choices(run) == {}
    assert {step.predicted_seconds or step.otherwise_seconds for step in run.summary.steps} == {None}


def test_the_summary_says_why_and_what_it_costs(machine):
    run = amp.Executor(*model(), SHAPES, machine=machine)
    gained = [step for step in run.summary.steps if step.choice and step.predicted_seconds < step.otherwise_seconds]
    assert len([line for line in str(run.summary).splitlines() if ", otherwise " in line]) == len(gained) > 0
    weights = [step.constant_bytes for step in run.summary.steps if step.work == "convolution"]
    assert all(weights) and sum(weights) <= run.summary.constant_bytes
    assert str(run.summary).count("[constants ") == len([s for s in run.summary.steps if s.constant_bytes])


def test_a_damaged_record_is_named(machine):
    machine.write_text(json.dumps({**FILE, "tuned": {"layers": []}}))
    with pytest.raises(amp.ArgumentError, match="machine.json"):
        amp.Executor(*model(), SHAPES, machine=machine)


def test_the_record_of_another_version_is_left_out_and_replaced(machine):
    amp.Executor(*model(), SHAPES, machine=machine, tune=True)
    file = json.loads(machine.read_text())
    program, file["tuned"]["program"] = file["tuned"]["program"], "0.0.0"
    file["tuned"]["layers"]["old"] = "onednn"
    machine.write_text(json.dumps(file))
    assert not any(is_tuned for _, is_tuned in choices(amp.Executor(*model(), SHAPES, machine=machine)).values())
    amp.Executor(*model(), SHAPES, machine=machine, tune=True)
    tuned = json.loads(machine.read_text())["tuned"]
    assert tuned["program"] == program and "old" not in tuned["layers"]


def test_wrong_uses(machine):
    with pytest.raises(amp.ArgumentError, match="tune: expected True or False"):
        amp.Executor(*model(), SHAPES, tune=1)
    with pytest.raises(amp.ArgumentError, match="'any' has none"):
        amp.Executor(*model(), SHAPES, machine="any", tune=True)
    with pytest.raises(amp.ArgumentError, match="mode 'fast'"):
        amp.Executor(*model(), SHAPES, machine=machine, tune=True, mode="exact")


def test_profiles_name_the_choice(machine):
    profile = amp.Executor(*model(), SHAPES, machine=machine, tune=True).profile(data(), runs=1)
    chosen = [step for step in profile.steps if step["choice"]]
    assert [step["node"] for step in chosen] == ["conv0", "conv1", "last"] and all(step["is_tuned"] for step in chosen)


def test_the_command_line_tunes(machine, tmp_path, capsys):
    amp.save_checkpoint(str(tmp_path / "m"), 0, *model())
    files = [str(tmp_path / "m-symbol.json"), str(tmp_path / "m-0000.params")]
    options = ["--random", "data=1x32x14x14", "--machine", str(machine), "--tune", "--repeat", "1"]
    assert commands.run(commands.parse(["run", *files, *options])) == 0
    assert "ms per run" in capsys.readouterr().out
    assert json.loads(machine.read_text())["tuned"]["layers"]


def test_an_interrupted_tuning_keeps_what_it_measured(machine, tmp_path, capsys, monkeypatch):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    amp.save_checkpoint(str(tmp_path / "m"), 0, *model())
    options = ["run", str(tmp_path / "m"), "--random", "data=1x32x14x14", "--machine", str(machine), "--tune"]
    for when, is_kept in ((0.1, False), (0.5, True)):
        seen = []

        def interrupt(_, done, seen=seen, when=when):
            seen.append(done)
            if done >= when:
                os.kill(os.getpid(), signal.SIGINT)

        monkeypatch.setattr(progress.Progress, "update", interrupt)
        assert commands.run(commands.parse(options)) == commands.INTERRUPTED
        assert seen == sorted(seen) and seen[-1] < 1
        assert bool(json.loads(machine.read_text()).get("tuned", {}).get("layers")) == is_kept
        assert len(capsys.readouterr().err.splitlines()) == 1
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


# ---- calibration ----


def test_calibration_measures_each_kernel():
    """That this CPU has: steps of a named kernel follow laws of their own."""
    model = _calibration_models.Branches(1)
    for kernel in ((3, 3), (1, 7), (3, 1), (5, 5), (2, 2)):
        weight, pad = model.param(32, 32, *kernel), tuple(size // 2 for size in kernel)
        data = model.input(1, 32, 14, 14)
        model.read(amp.sym.Convolution(data, weight, kernel=kernel, pad=pad, num_filter=32, no_bias=True))
    model.read(_calibration_models._scaled_product(model))
    model.read(_calibration_models._deconvolution(model))
    names = [name for name in _core.kernel_names() if name.startswith(("winograd", "scaled"))]
    names = [name for name in names if "bf" not in name and "int16" not in name]
    steps = _calibration.steps_of(model, None, [*names, "winograd_f4x4_int16"])
    kernels_of = {step["group"].split(" ")[0]: step["choice"] for step in steps}
    assert {"convolution_kxk", "convolution_1x1", "deconvolution_kxk"} <= set(kernels_of)
    assert {step: kernel for step, kernel in kernels_of.items() if kernel} == {name: name for name in names}


def test_calibration_measures_layers_of_networks():
    network = _calibration_models._Network("mobilenet0.25", 1, 64)
    steps = _calibration.steps_of(network, None, ["gemm_float32"])
    layers = {step["node"] for step in steps if step["choice"] == ""}
    assert {f"mobilenet0_conv{i}_fwd" for i in range(27)} <= layers
    assert {step["group"] for step in steps if step["choice"]} == {"gemm_float32 float32"}


def test_a_machine_file_has_each_point_once():
    samples = _machine_file._each_point_once({(2.0, 1.0): [0.5, 0.1, 0.2], (1.0, 3.0): [0.7]})
    assert samples == [[1.0, 3.0, 0.7], [2.0, 1.0, 0.2]]


def test_a_machine_file_is_extended_by_the_groups_that_it_lacks(capsys):
    step = {"bytes": 10, "flops": 0, "dtype": "float32", "choice": "", "post_functions": [], "point": [1.0]}
    known = {**step, "group": "known float32", "median_seconds": 3e-7}
    new = {**step, "group": "new float32", "median_seconds": 8e-7}
    machine = {"start_seconds": 2e-7, "flops_per_second": {"float32": 1e9}, "bytes_per_second": [[100, 1e12]]}
    base = {**machine, "name": "base", "steps": {"known float32": [[1.0, 0.2]]}}
    extended = extend_machine.extend(base, [known, new])
    assert extended == {**base, "steps": {"known float32": [[1.0, 0.2]], "new float32": [[1.0, 2.0]]}}
    assert capsys.readouterr().out == (
        "known float32: 1.30 of its time in BASE\nnew float32: 1 samples, new\n"  # 3 of 2, where BASE says 2^0.2
    )


def test_peaks_are_those_of_the_library():
    """What our kernels count as arithmetic is their time."""
    step = {"flops": 2e8, "dtype": "float32", "choice": ""}
    steps = [{**step, "median_seconds": 1.0}, {**step, "median_seconds": 0.1, "choice": "winograd_f4x4_f32"}]
    assert _machine_file._peak(steps, "float32") == 2e8


def test_the_least_time_of_all_rounds_counts(monkeypatch):
    times, parts = iter([[3.0, 5.0], [4.0, 2.0], [6.0, 6.0]]), []

    def measure_once(progress, kept, number):
        progress(1.0)
        return [{"median_seconds": seconds} for seconds in next(times)]

    monkeypatch.setattr(_calibration, "_measure_once", measure_once)
    steps = _calibration.measure(parts.append, rounds=3)
    assert [step["median_seconds"] for step in steps] == [3.0, 2.0]
    assert parts == [1 / 3, 2 / 3, 1.0]


def test_calibration_refuses_no_rounds():
    with pytest.raises(amp.ArgumentError, match="--rounds: expected 1 or more, got 0"):
        calibrating.calibrate(commands.parse(["calibrate", "--rounds", "0"]))


def test_calibration_keeps_what_timing_chose(tmp_path):
    path = tmp_path / "machine.json"
    assert calibrating.tuned_kernels(path) == {}
    path.write_text("{")
    assert calibrating.tuned_kernels(path) == {}
    path.write_text(json.dumps({**FILE, "tuned": {"program": "1", "layers": {}}}))
    assert calibrating.tuned_kernels(path) == {"tuned": {"program": "1", "layers": {}}}
    path.write_text(json.dumps({**FILE, "version": 1, "tuned": {"program": "1", "layers": {}}}))
    assert calibrating.tuned_kernels(path) == {}
