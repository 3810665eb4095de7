"""Policy optimal on the shared cases: nobody has fewer casts, and the report proves it."""

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest
from test_report import checked, shared_model

import amp
from amp.__main__ import main

SHARED = Path(os.environ.get("AMP_SHARED") or Path(__file__).parents[4] / "shared") / "cases"
SHARED_CASES = sorted(str(file.parent.relative_to(SHARED)) for file in SHARED.rglob("symbol.json"))
# MXNet's lists leave the products of these in float32, and no operator is low. There is no case where MXNet has fewer
# casts because it runs an operator low that needs float32.
MXNET_HAS_FEWER = {"grad_ops/attention", "grad_ops/dense"}

OPTIMAL = {"policy": "optimal", "minimize": "casts"}


def others():
    """{name: options} of the policies that casts are compared with."""
    found = {"default": {"policy": "default"}, "mxnet": {"policy": "mxnet"}}
    if "graphamp" in amp._options.conversion.POLICIES:
        found.update({preset: {"policy": "graphamp", "preset": preset} for preset in ("mp1", "mp2", "mp3")})
    return found


@pytest.fixture(scope="module")
def case_class(shared_dir):
    spec = importlib.util.spec_from_file_location("case", shared_dir / "cases" / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Case


def typed_symbol(case):
    """(symbol, {input: dtype}, {parameter: dtype}) without the parameters' values."""
    symbol = amp.sym.load(case.symbol_file)
    names = {*symbol.list_arguments(), *symbol.list_auxiliary_states()}
    if case.param_file and not os.path.isdir(case.param_file):
        arrays = amp.load(case.symbol_file, case.param_file)
        params = {name: amp.dtype_name(array.dtype) for group in arrays[1:] for name, array in group.items()}
    else:
        params = {key.split(":", 1)[1]: "float32" for key in case.info.get("params", {})}
        constants = Path(case.folder) / "constants.npz"
        if constants.exists():
            params.update({name: str(array.dtype) for name, array in np.load(constants).items() if name in params})
    params = {name: dtype for name, dtype in params.items() if name in names}
    inputs = {name: str(array.dtype) for name, array in case.inputs().items() if name in names and name not in params}
    return symbol, inputs, params


def casts_of(typed, offline, **options):
    """(casts in every run, report)"""
    symbol, inputs, params = typed
    _, report = amp.convert_symbol(symbol, inputs, params, cast_params_offline=offline, return_report=True, **options)
    return report.totals["casts"]["run_time"], report


@pytest.mark.parametrize("name", SHARED_CASES or ["none"])
def test_nobody_has_fewer_casts(name, shared_dir, case_class):
    case = case_class(str(shared_dir / "cases" / name))
    try:
        typed = typed_symbol(case)
    except amp.UnsupportedError as error:
        pytest.skip(str(error).rpartition("/")[2])
    for offline in (False, True):
        fewest, report = casts_of(typed, offline, **OPTIMAL)
        facts = report._facts
        certificate = facts["certificate"]
        assert certificate["unit"] == "casts" and certificate["cut"] == certificate["flow"]
        bodies = tuple(body["path"] for body in report.bodies)  # they are decided by themselves
        inside = sum(cast["run_time"] and cast["name"].startswith(bodies) for cast in report.casts)
        assert certificate["cut"] + certificate["constant"] == facts["predicted"]["as_decided"] == fewest - inside
        for other, options in others().items():
            has_fewer = casts_of(typed, offline, **options)[0] < fewest
            assert has_fewer == (other == "mxnet" and (name in MXNET_HAS_FEWER or (bool(bodies) and fewest > 0))), other


@pytest.mark.parametrize("name", ["real/det3", "amp191/squeezenet1.1_bf16_mkldnn", "mx2/transformer_block"])
def test_the_report_describes_the_files(shared_dir, name):
    model, dtypes, shapes = shared_model(shared_dir, name)
    dtypes = {name: dtype for name, dtype in dtypes.items() if name in model[0].list_arguments()}
    for offline, given in ((False, None), (True, shapes)):
        checked(model, dtypes, given, cast_params_offline=offline, **OPTIMAL)


def test_a_converted_network_computes_the_same(shared_dir, case_class):
    (symbol, args, aux), dtypes, shapes = shared_model(shared_dir, "real/det3")
    case = case_class(str(shared_dir / "cases" / "real/det3"))
    low = amp.convert_model(symbol, args, aux, dtypes, cast_params_offline=True, **OPTIMAL)
    outputs = [output.asnumpy() for output in amp.Executor(*low, shapes)(**case.inputs())]
    errors = case.errors([output.astype(np.float64) for output in outputs])
    assert all(0 < rms <= 0.02 for _, rms in errors)


def small_model():
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    net = amp.sym.softmax(amp.sym.Activation(net, act_type="relu", name="relu"), name="softmax")
    return net, *amp.model_zoo.seeded_params(net, {"data": (2, 4)})


def test_report_and_reasons():
    *_, report = amp.convert_model(*small_model(), return_report=True, **OPTIMAL)
    assert report.options["minimize"] == "casts"
    assert report.predicted == {"unit": "casts", "as_decided": 2, "unchanged": 0}
    assert report.certificate["cut"] == report.certificate["flow"]
    assert "predicted                 2 casts, as it was 0 casts" in str(report)
    assert "the model has no fewer casts with it in low precision  [fact]" in str(report.why("relu"))
    *_, report = amp.convert_model(*small_model(), return_report=True)
    assert report.certificate is None and report.predicted is None and "minimize" not in report.options


@pytest.mark.parametrize("named", [{}, {"machine": "any"}])
def test_time_needs_a_machine(named):
    shapes = {"data": (2, 4)}
    with pytest.raises(amp.ArgumentError, match="minimize='time' needs a machine: machine='this'"):
        amp.convert_model(*small_model(), policy="optimal", input_shapes=shapes, minimize="time", **named)
    *_, report = amp.convert_model(*small_model(), policy="optimal", return_report=True, **named)
    assert report.options["minimize"] == "casts" and report.machine is None
    timed = {"input_shapes": shapes, "machine": "avx512_core", "return_report": True}
    *_, report = amp.convert_model(*small_model(), policy="optimal", **timed)
    assert report.options["minimize"] == "time" and report.machine["name"] == "avx512_core"


def test_command_line(tmp_path, capsys):
    amp.save_checkpoint(tmp_path / "m", 0, *small_model())
    files = [str(tmp_path / "m-symbol.json"), str(tmp_path / "m-0000.params")]
    flags = ["--policy", "optimal", "--minimize", "casts", "--report", str(tmp_path / "r.json")]
    assert main(["convert", *files, "-o", str(tmp_path / "low"), *flags]) == 0
    assert "casts in the graph:  2\n" in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())["certificate"]["unit"] == "casts"
    assert main(["convert", *files, "-o", str(tmp_path / "other"), "--minimize", "casts"]) != 0
    assert "expected policy 'optimal', got 'default'" in capsys.readouterr().err
