"""Machines: files, classes, AMP_MACHINE; what conversions and executors decide for them."""

import json
import os
import subprocess
import sys
import warnings

import ml_dtypes
import numpy as np
import pytest
from test_networks import case_class, load_case
from test_optimal import SHARED_CASES, typed_symbol

import amp

__all__ = ["case_class"]  # a fixture

CLASSES = ("avx2", "avx512_core", "avx512_bf16_fast", "avx512_bf16_slow", "avx512_bf16_wide", "avx512_amx")
WITHOUT_BF16 = ("avx512_core",)
BF16 = ml_dtypes.bfloat16
SHAPES = {"data": (32, 64)}

# 1 Gflop/s in float32, eight times that in bfloat16: everything large goes low.
FILE = {
    "format": "amp-machine",
    "version": 2,
    "name": "small",
    "has_bfloat16": True,
    "start_seconds": 1e-7,
    "flops_per_second": {"float32": 1e9, "bfloat16": 8e9},
    "bytes_per_second": [[1 << 30, 1e10]],
    "steps": {},
}


def dense_network(label=False):
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=64, name="one")
    net = amp.sym.FullyConnected(amp.sym.relu(net, name="relu"), num_hidden=64, name="two")
    if not label:
        return amp.sym.softmax(net, name="out")
    return amp.sym.SoftmaxOutput(net, amp.sym.reshape(amp.sym.Variable("label"), shape=(-1,)), name="out")


def dense_model(label=False):
    net = dense_network(label)
    args, aux = amp.model_zoo.seeded_params(dense_network(), SHAPES)
    return net, args, aux


def machine_file(folder, **changes):
    path = folder / "machine.json"
    path.write_text(json.dumps({**FILE, **changes}))
    return path


def bound(model, shapes=None, **options):
    """(executor, warnings)"""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return amp.Executor(*model, shapes or SHAPES, **options), [str(warning.message) for warning in caught]


def casts_of(run):
    return sum(step.work == "cast" for step in run.summary.steps)


def data(shape=(32, 64)):
    return np.random.default_rng(3).standard_normal(shape).astype("float32")


# ---- files and names ----


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '"x"', "{}", "\x00", json.dumps({**FILE, "version": 3}), "[" * 50000]
    + [json.dumps({key: value for key, value in FILE.items() if key != missing}) for missing in FILE if missing],
)
def test_wrong_files_are_named(text, tmp_path):
    path = tmp_path / "machine.json"
    path.write_text(text)
    for call in (
        lambda: amp.convert_model(*dense_model(), input_shapes=SHAPES, machine=path),
        lambda: amp.Executor(*dense_model(), SHAPES, machine=str(path)),
    ):
        with pytest.raises(amp.ArgumentError, match="machine.json"):
            call()


@pytest.mark.parametrize("name", ["avx3", "", ".", "/dev/zero", "\0"])
def test_unknown_names(name):
    classes = "avx2, avx512_amx, avx512_bf16_fast, avx512_bf16_slow, avx512_bf16_wide, avx512_core"
    with pytest.raises(amp.ArgumentError, match="there is no file" if "/" in name else classes):
        amp.convert_model(*dense_model(), input_shapes=SHAPES, machine=name)
    with pytest.raises(amp.ArgumentError, match="expected 'this', 'any', a class of machines or a file"):
        amp.Executor(*dense_model(), SHAPES, machine=7)


def in_new_process(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or done.stderr


def test_this_machine_is_what_the_variable_says_or_the_cache(tmp_path):
    folders = [os.path.dirname(__file__), os.path.dirname(os.path.dirname(__file__))]
    code = f"""import sys; sys.path[:0] = {folders!r}
import amp
from test_machine import SHAPES, dense_model
try:
    report = amp.convert_model(*dense_model(), input_shapes=SHAPES, machine="this", return_report=True)[3]
    print(report.machine and report.machine["name"])
except amp.ArgumentError as error:
    print(error)
print([path.name for path in __import__("pathlib").Path({str(tmp_path)!r}).rglob("*.json")])
"""
    # conftest.py has named a class in this process, and a new one inherits it
    assert in_new_process(code).startswith(os.environ["AMP_MACHINE"])
    cache = {"XDG_CACHE_HOME": str(tmp_path)}
    assert in_new_process(code, AMP_MACHINE="any", **cache).startswith("None\n[]")
    assert in_new_process(code, AMP_MACHINE="avx512_core", **cache).startswith("avx512_core\n[]")
    assert "AMP_MACHINE: expected" in in_new_process(code, AMP_MACHINE="nothing", **cache)
    found = in_new_process(code, AMP_MACHINE="", **cache)
    has_bf16 = amp.cpu_info()["native_bfloat16"]
    assert found.startswith(("avx512_bf16", "avx512_amx", "probed") if has_bf16 else ("avx2", "avx512_core")), found


# ---- conversions ----


@pytest.mark.parametrize("policy", ["default", "optimal", "mxnet", "graphamp"])
def test_reports_name_the_machine(policy, tmp_path):
    options = {"input_shapes": SHAPES, "policy": policy, "return_report": True}
    reports = [
        amp.convert_model(*dense_model(), machine=machine, **options)[3]
        for machine in ("avx512_core", "avx512_core", machine_file(tmp_path))
    ]
    assert [report.machine["name"] for report in reports] == ["avx512_core", "avx512_core", "small"]
    assert reports[0].machine["digest"] == reports[1].machine["digest"] != reports[2].machine["digest"]
    assert reports[0].to_json() == reports[1].to_json()
    for report in reports:
        assert report.predicted["unit"] == "ps" and report.predicted["unchanged"] > 0
        assert (report.certificate is not None) == (policy in ("default", "optimal"))
        assert f"machine                   {report.machine['name']} ({report.machine['digest']})" in str(report)
    if policy in ("default", "optimal"):
        assert reports[2].predicted["as_decided"] < reports[2].predicted["unchanged"]
        assert reports[0].predicted["as_decided"] == reports[0].predicted["unchanged"]


def test_without_a_machine_reports_are_as_before():
    report = amp.convert_model(*dense_model(), input_shapes=SHAPES, return_report=True)[3]
    assert report.machine is None and report.predicted is None and "machine" not in json.loads(report.to_json())


def test_low_precision_where_it_pays(tmp_path):
    path = machine_file(tmp_path)
    for policy in ("default", "optimal"):
        options = {"input_shapes": SHAPES, "cast_params_offline": True, "policy": policy}
        low = [amp.convert_model(*dense_model(), machine=path, **options) for _ in range(2)]
        assert low[0][0].tojson() == low[1][0].tojson()
        assert {array.dtype for name, array in low[0][1].items() if name.endswith("weight")} == {np.dtype(BF16)}
        high = amp.convert_model(*dense_model(), machine="avx512_core", **options)
        assert high[0].tojson() == dense_network().tojson() and "amp_cast" in low[0][0].tojson()


def test_by_definition_policies_only_predict():
    for policy in ("mxnet", "graphamp"):
        symbols = [
            amp.convert_model(*dense_model(), input_shapes=SHAPES, policy=policy, machine=machine)[0].tojson()
            for machine in ("any", *CLASSES)
        ]
        assert len(set(symbols)) == 1 and "amp_cast" in symbols[0]


@pytest.mark.parametrize("policy", ["default", "optimal", "mxnet", "graphamp"])
def test_times_need_shapes(policy):
    with pytest.raises(amp.ArgumentError, match="needs the shapes of all inputs; not known.*data"):
        amp.convert_model(*dense_model(), policy=policy, machine="avx512_core")


def test_labels_need_no_shapes(tmp_path):
    model, path = dense_model(label=True), machine_file(tmp_path)
    low = amp.convert_model(*model, input_shapes=SHAPES, machine=path)
    assert "amp_cast" in low[0].tojson()
    run, _ = bound(model, machine=path, reduce_precision="bfloat16")
    assert "amp_cast" in run.symbol.tojson()
    assert run(data())[0].shape == (32, 64)


def test_nothing_goes_low_without_arithmetic(shared_dir, case_class):
    model = load_case(case_class(str(shared_dir / "cases" / "zoo" / "resnet18_v1")))
    for machine in WITHOUT_BF16:
        for policy in ("default", "optimal"):
            options = {"machine": machine, "input_shapes": {"data": (1, 3, 224, 224)}, "policy": policy}
            symbol, args, aux = amp.convert_model(*model, return_report=False, **options)
            assert "amp_cast" not in symbol.tojson()
            assert all(array.dtype == np.float32 for array in (*args.values(), *aux.values()))


# ---- executors ----


@pytest.mark.parametrize("policy", ["default", "mxnet", "graphamp"])
@pytest.mark.parametrize("target", ["bfloat16", "float16"])
def test_converted_files_run_in_float32_where_that_is_faster(policy, target):
    model = dense_model()
    low = amp.convert_model(*model, target_dtype=target, cast_params_offline=True, policy=policy)
    as_it_is, _ = bound(low, machine="any")
    plain, _ = bound(model)
    expected = plain(data())[0].asnumpy()
    for machine in WITHOUT_BF16:
        run, said = bound(low, machine=machine)
        assert casts_of(run) == 0 < casts_of(as_it_is)
        assert any(f"low precision does not pay on this machine ({machine})" in text for text in said)
        assert run.output_names == as_it_is.output_names and run.output_dtypes == as_it_is.output_dtypes
        errors = [np.abs(each(data())[0].asnumpy() - expected).max() for each in (run, as_it_is)]
        assert 0 < errors[0] < 2 * errors[1]  # it may be larger: test_going_back_to_float32_may_lose_accuracy


def test_going_back_to_float32_may_lose_accuracy():
    """The weight keeps its rounding, and the opposite one of the data is gone: docs/machines.md says so."""
    weight, x = 1 + 0.4 * 2**-7, 1 + 0.6 * 2**-7  # rounded down and up, by the same
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=1, no_bias=True, name="fc")
    low = amp.convert_model(net, {"fc_weight": np.float32([[weight]])}, {}, cast_params_offline=True)

    def error(machine):
        run = amp.Executor(*low, {"data": (1, 1)}, machine=machine)
        return abs(float(run(np.float32([[x]]))[0].asnumpy()[0, 0]) - weight * x)

    assert error("any") < 1e-4 < 2e-3 < error("avx512_core")


def test_files_keep_what_pays(tmp_path):
    low = amp.convert_model(*dense_model(), cast_params_offline=True, policy="mxnet")
    run, _ = bound(low, machine=machine_file(tmp_path))
    for name in ("one_weight", "two_weight"):
        assert run.symbol.attr_dict()[name]["__amp_dtype__"] == "bfloat16"


def test_outputs_keep_low_dtypes():
    low = amp.convert_model(*dense_model(), output_dtypes="bfloat16", cast_params_offline=True)
    run, _ = bound(low, machine="avx512_core")
    assert run.output_dtypes == [np.dtype(BF16)] and run.output_names == ["out_output"]
    assert run(data())[0].dtype == BF16


def test_exact_mode_leaves_dtypes():
    low = amp.convert_model(*dense_model(), cast_params_offline=True)
    run, said = bound(low, machine="avx512_core", mode="exact")
    assert casts_of(run) > 0 and not said
    outputs = [bound(low, machine=machine, mode="exact")[0](data())[0].asnumpy() for machine in ("any", "avx512_core")]
    assert outputs[0].tobytes() == outputs[1].tobytes()


def converts(reduced, machine="avx512_core"):
    return '"amp_cast"' in bound(dense_model(), machine=machine, reduce_precision=reduced)[0].symbol.tojson()


def test_what_the_caller_forces_outranks_the_machine():
    for policy in ("default", "optimal", "mxnet", "graphamp"):
        reduced = {"policy": policy}
        assert not converts(reduced)
        assert converts({**reduced, "force": {"one": "bfloat16"}})
        assert converts({**reduced, "force": {"o*e": "bfloat16"}})
    assert converts({"emulate": True}) and converts({"policy": "mxnet", "emulate": True})


def test_fewest_casts_are_judged_as_files_are():
    assert not converts({"policy": "optimal", "minimize": "casts"})


def test_options_of_a_conversion_may_name_the_machine(tmp_path):
    path = machine_file(tmp_path)
    assert converts({"machine": path}, machine="this") and not converts({"machine": "avx512_core"}, machine="this")
    with pytest.raises(amp.ArgumentError, match="machine: got 'avx2', and 'avx512_core' among the options"):
        converts({"machine": "avx512_core"}, machine="avx2")


def test_a_line_says_that_nothing_pays():
    for reduced in ("bfloat16", {"policy": "mxnet"}):
        _, said = bound(dense_model(), machine="avx512_core", reduce_precision=reduced)
        assert len(said) == 1 and "does not pay on this machine (avx512_core)" in said[0]


def test_reference_backend_runs_what_is_written():
    low = amp.convert_model(*dense_model(), cast_params_offline=True)
    run, said = bound(low, machine="avx512_core", backend="reference")
    assert run.symbol.tojson() == low[0].tojson() and not said


def test_integer_inputs(tmp_path):
    net = amp.sym.Embedding(amp.sym.Variable("data"), input_dim=50, output_dim=64, name="embed")
    net = amp.sym.FullyConnected(net, num_hidden=64, flatten=False, name="fc")
    model = (net, *amp.model_zoo.seeded_params(net, {"data": (8, 16)}))
    tokens = np.arange(128, dtype="int32").reshape(8, 16) % 50
    given = {"input_dtypes": {"data": "int32"}}
    low = amp.convert_model(*model, given["input_dtypes"], cast_params_offline=True)
    expected = bound(model, {"data": (8, 16)}, **given)[0](tokens)[0].asnumpy()
    for machine in ("avx512_core", machine_file(tmp_path)):
        for each, options in ((low, {}), (model, {"reduce_precision": "bfloat16"})):
            run, _ = bound(each, {"data": (8, 16)}, machine=machine, **given, **options)
            assert run.input_dtypes == {"data": np.dtype("int32")}
            assert np.abs(run(tokens)[0].asnumpy() - expected).max() < 0.02 * np.abs(expected).max()


def test_casts_of_the_models_own_stay(tmp_path):
    low = amp.sym.cast(amp.sym.Variable("data"), dtype="bfloat16", name="own")
    net = amp.sym.cast(amp.sym.exp(low, name="e"), dtype="float32", name="back")
    net = amp.sym.FullyConnected(net, num_hidden=64, name="fc")
    model = (net, *amp.model_zoo.seeded_params(net, SHAPES))
    for converted in (model, amp.convert_model(*model, policy="mxnet", cast_params_offline=True)):
        for machine in ("avx512_core", machine_file(tmp_path)):
            run, _ = bound(converted, machine=machine)
            assert run.symbol.attr_dict()["own"]["dtype"] == "bfloat16"
            assert run(data())[0].dtype == np.float32


@pytest.mark.parametrize("name", ["misc/cond_true", "misc/foreach", "lstm/lstm_2l_bi", "amp191/det3_bf16_mkldnn"])
def test_shared_models_on_all_classes(name, shared_dir, case_class):
    case = case_class(str(shared_dir / "cases" / name))
    model, inputs = load_case(case), case.inputs()
    shapes = {key: array.shape for key, array in inputs.items()}
    given = {"input_dtypes": {key: array.dtype for key, array in inputs.items()}}
    converted = amp.convert_model(*model, given["input_dtypes"], cast_params_offline=True, policy="mxnet")
    for machine in CLASSES:
        for each, options in ((converted, {}), (model, {"reduce_precision": "bfloat16"})):
            run, _ = bound(each, shapes, machine=machine, **given, **options)
            outputs = [output.asnumpy().astype(np.float64) for output in run(inputs)]
            assert all(rms <= 0.02 for _, rms in case.errors(outputs)), machine


def test_gradient_graphs_of_converted_models_run_on_all_classes():
    shapes = {"data": (1, 3, 64, 64), "head": (1, 1000)}
    net = amp.model_zoo.get_model("resnet18_v1")
    model = (net, *amp.model_zoo.seeded_params(net, {"data": shapes["data"]}))
    weights = [name for name in net.list_arguments() if name.endswith("weight")][:4]
    inputs = {"data": data(shapes["data"]), "head": np.ones(shapes["head"], np.float32)}

    def gradients(converted, machine):
        graph = amp.gradient(converted[0], weights, head_gradients=[amp.sym.Variable("head")], is_train=False)
        run = amp.Executor(graph, *converted[1:], shapes, machine=machine)
        return [output.asnumpy().astype(np.float64) for output in run(inputs)]

    expected = gradients(model, "any")
    low = amp.convert_model(*model, cast_params_offline=False)
    for machine in ("any", *CLASSES):
        for gradient, exact in zip(gradients(low, machine), expected):
            assert np.linalg.norm(gradient - exact) < 0.4 * np.linalg.norm(exact), machine


def test_what_gradients_in_a_graph_do_not_convert_to_is_said():
    net = amp.model_zoo.get_model("resnet18_v1")
    params = amp.model_zoo.seeded_params(net, {"data": (1, 3, 64, 64)})
    weights = [name for name in net.list_arguments() if name.endswith("weight")]
    graph = amp.gradient(net, weights, head_gradients=[None], is_train=False)
    with pytest.raises(amp.UnsupportedError, match="convert the model before they are taken"):
        amp.convert_model(graph, *params)


# ---- predicted times of policies ----

PREDICTED_FOR = "avx512_bf16_fast"


class Predictions:
    """Predicted times of one case: {as_decided, unchanged}. The values of parameters are not needed."""

    def __init__(self, case):
        self._symbol, inputs, params = typed_symbol(case)
        arrays = case.inputs()
        self._shapes = {name: arrays[name].shape for name in inputs}
        self._types = inputs, params
        if case.name.startswith(("gru_", "lstm_2l")):  # shapes of their parameters are not inferred
            zeros = {name: np.zeros(array.shape, params[name]) for name, array in case.params().items()}
            self._types, self._symbol = None, (self._symbol, zeros, {})
            self._dtypes = inputs

    def of(self, symbol=None, **options):
        options = {"machine": PREDICTED_FOR, "return_report": True, **options}
        return self._convert(symbol, **options)[-1].predicted

    def of_rules(self):
        """What policy default decides without a machine; of the converted symbol, preset mp0 changes nothing."""
        return self.of(self._convert()[0], policy="graphamp", preset="mp0")["unchanged"]

    def _convert(self, symbol=None, **options):
        options["input_shapes"] = self._shapes
        if self._types is not None:
            converted = amp.convert_symbol(self._symbol if symbol is None else symbol, *self._types, **options)
            return converted if isinstance(converted, tuple) else (converted,)
        before, args, aux = self._symbol
        model = before if symbol is None else symbol, args, aux
        return amp.convert_model(*model, self._dtypes, fold_batch_norm=False, **options)


@pytest.mark.parametrize("name", SHARED_CASES or ["none"])
def test_nothing_is_predicted_to_be_faster_than_optimal(name, shared_dir, case_class):
    try:
        predictions = Predictions(case_class(str(shared_dir / "cases" / name)))
    except amp.UnsupportedError as error:
        pytest.skip(str(error).rpartition("/")[2])
    optimal = predictions.of(policy="optimal")
    assert optimal["as_decided"] <= optimal["unchanged"]
    assert predictions.of(policy="default") == optimal
    for preset in ("mp1", "mp2", "mp3"):
        other = predictions.of(policy="graphamp", preset=preset)
        assert optimal["as_decided"] <= other["as_decided"] and optimal["unchanged"] == other["unchanged"], preset
    assert optimal["as_decided"] <= predictions.of_rules()
