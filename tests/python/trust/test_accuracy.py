"""The option `accuracy` of conversions: goals are met as measured, in few evaluations."""

import math
import warnings

import numpy as np
import pytest
import trust_networks

import amp
from amp import sym

FAST = "avx512_bf16_fast"  # a class of machines whose times are known


def residual_network(seed=0, blocks=4, width=48):
    """(Symbol, arguments, {}) of dense layers with sums around them; the second block is scaled up: it is sensitive."""
    generator = np.random.default_rng(seed)
    x, args = sym.Variable("data"), {}
    for i in range(blocks):
        size = width if i else width // 2
        args[f"a{i}_weight"] = generator.standard_normal((width, size), "float32") / np.float32(size**0.5)
        args[f"b{i}_weight"] = generator.standard_normal((width, width), "float32") * np.float32(3 if i == 1 else 0.1)
        dense = sym.relu(sym.FullyConnected(x, num_hidden=width, no_bias=True, name=f"a{i}"), name=f"relu{i}")
        b = sym.FullyConnected(dense, num_hidden=width, no_bias=True, name=f"b{i}")
        x = sym.elemwise_add(dense if i == 0 else x, b, name=f"sum{i}")
    args["out_weight"] = generator.standard_normal((5, width), "float32")
    return sym.FullyConnected(x, num_hidden=5, no_bias=True, name="out"), args, {}


DATA = np.random.default_rng(1).standard_normal((64, 24), dtype="float32")


def outputs_of(model, data=DATA):
    executor = amp.Executor(*model, {"data": data.shape}, mode="exact", machine="any")
    return np.asarray(executor(data)[0].astype("float32")).astype("float64")


def error_of(low, model, data=DATA):
    """Root mean square of errors over that of the float32 outputs, in NumPy."""
    before = outputs_of(model, data)
    return math.sqrt(np.square(outputs_of(low, data) - before).mean() / np.square(before).mean())


def converted(model, data=DATA, **options):
    if options.get("machine"):
        options["input_shapes"] = {"data": data.shape}
    return amp.convert_model(*model, data=data, return_report=True, **options)


@pytest.fixture(scope="module")
def model():
    return residual_network()


@pytest.fixture(scope="module")
def full_error(model):
    return error_of(amp.convert_model(*model), model)


@pytest.mark.parametrize("machine", [None, FAST])
def test_goals_are_met_as_measured(model, full_error, machine):
    evaluations, times = [], []
    options = {"machine": machine} if machine else {}
    table = amp.sensitivity(*model, DATA)
    for part in (2, 0.7, 0.5, 0.25, 0.1):
        goal = part * full_error
        *low, report = converted(model, accuracy={"error": goal}, sensitivity=table, **options)
        facts = report.accuracy
        error = error_of(low, model)
        assert facts["goal"] == {"error": goal}
        assert error <= goal
        assert facts["evaluations"] <= 4
        if facts["reached"]:
            assert facts["measured_error"] == pytest.approx(error, rel=1e-3)
            assert 0.5 * error < facts["predicted_error"] < 2 * error
        else:
            assert error == 0
        evaluations.append(facts["evaluations"])
        times.append(report.predicted["as_decided"])
    assert evaluations[0] == 1
    assert np.mean(evaluations) <= 3
    if machine:  # accuracy costs time
        assert times[0] == min(times) < max(times) == times[-1]


def test_the_report_says_what_was_kept_and_why(model, full_error):
    *_, report = converted(model, accuracy={"error": full_error / 3})
    kept = report.accuracy["kept"]
    assert {node["node"] for node in kept} == {
        tensor["node"] for tensor in report.tensors if tensor["reason"]["kind"] == "too_sensitive"
    }
    assert kept and all("% of the squared error" in node["why"] for node in kept)
    curve = report.accuracy["curve"]
    assert len(curve) > 3 and curve == sorted(curve, key=lambda point: point["predicted_error"])
    measured = [point for point in curve if point["measured_error"] is not None]
    assert len(measured) == report.accuracy["evaluations"]
    assert report.certificate is None
    text = str(report)
    assert "accuracy" in text and f"{len(kept)} nodes kept" in text


def test_a_goal_that_cannot_be_met_leaves_float32(model):
    with pytest.warns(UserWarning, match="no conversion meets error 1e-07"):
        *low, report = converted(model, accuracy={"error": 1e-7})
    assert not report.accuracy["reached"] and report.accuracy["measured_error"] is None
    assert report.casts == []
    assert np.array_equal(outputs_of(low), outputs_of(model))
    assert "no conversion meets" in str(report)


@pytest.mark.parametrize("goal", [{"error": 0.1}, {"metric": lambda run: 1.0, "drop": 0.1}])
def test_float32_meets_a_goal_where_nothing_may_be_rounded(model, goal):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        *low, report = converted(model, accuracy=goal, excluded_sym_names=["*"])
    assert report.accuracy["reached"] and report.casts == []
    assert report.accuracy.get("measured_error", 0) == 0 and "no conversion" not in str(report)
    assert np.array_equal(outputs_of(low), outputs_of(model))


def measured_as(monkeypatch, measured):
    """Conversions measure these pairs (error, samples), one after the other; ctrl-C ends what has fewer than 64."""

    class Measure:
        interrupted = False

        def __init__(self, *_):
            self._measured = iter(measured)

        def __call__(self, low):
            error, samples = next(self._measured)
            self.interrupted = samples < len(DATA)
            return error, samples

    monkeypatch.setattr("amp._trust.accuracy.Measure", Measure)


def test_an_error_of_0_ends_the_search(model, monkeypatch):
    """The second conversion measures 0 though its prediction is larger: there is no next limit to compute."""
    measured_as(monkeypatch, [(1.0, 64), (0.0, 64)])
    *_, report = converted(model, accuracy={"error": 0.5})
    facts = report.accuracy
    assert facts["reached"] and facts["measured_error"] == 0
    assert facts["evaluations"] == 2 and facts["predicted_error"] > 0


@pytest.mark.parametrize("whole", [0.3, 0.9])
def test_what_was_measured_on_all_data_wins(model, monkeypatch, whole):
    """The third conversion costs less or meets the goal alone, and was measured on a part of the data."""
    measured_as(monkeypatch, [(1.0, 64), (whole, 64), (0.4, 16)])
    with pytest.warns(UserWarning):
        *_, report = converted(model, accuracy={"error": 0.5})
    facts = report.accuracy
    assert facts["reached"] and facts["interrupted"] and facts["evaluations"] == 3
    assert (facts["measured_error"], facts["samples"]) == ((0.3, 64) if whole == 0.3 else (0.4, 16))


def test_force_and_exclusion_are_stronger(model, full_error):
    options = {"force": {"b1": "bfloat16"}, "excluded_sym_names": ["a3"]}
    *_, report = converted(model, accuracy={"error": 1e-7}, **options)
    assert not report.accuracy["reached"]
    assert {cast["readers"][0]["node"] for cast in report.casts if cast["to"] == "bfloat16"} == {"b1"}
    *_, report = converted(model, accuracy={"error": 2 * full_error}, **options)
    assert report.tensor("a3_output")["reason"]["kind"] == "user"


@pytest.mark.parametrize("machine", [None, FAST])
def test_a_metric_of_the_caller_is_called_seldom(model, machine):
    wanted = outputs_of(model)
    scale = np.abs(outputs_of(amp.convert_model(*model)) - wanted).mean()
    calls = []

    def nearness(run):
        """1 for float32, about 0 for what is converted without a goal."""
        calls.append(1)
        logits = np.concatenate([run(DATA[:32])[0], run({"data": DATA[32:]})[0]])
        return 1 - np.abs(logits - wanted).mean() / scale

    options = {"machine": machine} if machine else {}
    *low, report = converted(model, accuracy={"metric": nearness, "drop": 0.6}, **options)
    facts = report.accuracy
    assert facts["evaluations"] == len(calls) <= 2 + math.ceil(math.log2(len(facts["curve"])))
    assert facts["goal"] == {"drop": 0.6} and facts["reached"] and facts["kept"]
    found = nearness(lambda data: [outputs_of(low, data["data"] if isinstance(data, dict) else data)])
    assert 0.4 <= facts["metric"] < 1 and found == pytest.approx(facts["metric"], abs=1e-3)


def test_data_may_be_batches_of_an_iterator(model, full_error):
    goal = {"error": full_error / 2}
    batches = ({"data": DATA[i : i + 24]} for i in range(0, len(DATA), 24))  # the last one is smaller
    *low, report = amp.convert_model(*model, accuracy=goal, data=batches, return_report=True)
    assert report.accuracy["measured_error"] == pytest.approx(error_of(low, model), rel=1e-3)


def test_an_exact_tensor_costs_nothing():
    """What low precision represents exactly is rounded whatever the goal."""
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=4, no_bias=True, name="fc")
    args = {"fc_weight": np.arange(16, dtype="float32").reshape(4, 4)}
    *low, report = converted((net, args, {}), np.eye(4, dtype="float32"), accuracy={"error": 1e-9})
    assert report.accuracy["reached"] and report.accuracy["measured_error"] == 0
    assert low[0].list_outputs() == ["fc_output"] and report.casts


def test_data_choose_how_folded_weights_are_rounded():
    """A loss with a label that inference ignores, two outputs, and batch norms."""
    model, data = trust_networks.residual()
    options = {"data": data, "cast_params_offline": True, "return_report": True}
    *low, report = amp.convert_model(*model, accuracy={"error": 1.0}, **options)
    _, float32, _, _ = amp.convert_model(*model, accuracy={"error": 1e-9}, **options)
    assert report.accuracy["reached"] and report.folded
    for fold in report.folded:
        to_nearest = float32[fold["weight"]].astype("bfloat16").asnumpy()
        stored = low[1][fold["weight"]].asnumpy()
        assert fold["rounding"] == ("nearest" if fold["error_nearest"] <= fold["error_compensated"] else "compensated")
        assert np.array_equal(stored, to_nearest) == (fold["rounding"] == "nearest")
    assert report.accuracy["predicted_error"] == pytest.approx(report.accuracy["measured_error"], rel=0.5)


@pytest.mark.parametrize("given", ["data", "sensitivity", "verify"])
def test_data_without_a_goal_choose_the_better_rounding(given):
    model, data = trust_networks.residual()
    options = {"cast_params_offline": True, "return_report": True}
    _, bet, _, before = amp.convert_model(*model, **options)
    assert {fold["rounding"] for fold in before.folded} == {"compensated"}
    assert f"rounded on a bet          {len(before.folded)} of their weights" in str(before)
    table = amp.sensitivity(*model, data)
    more = {"data": {"data": data}, "sensitivity": {"sensitivity": table}, "verify": {"data": data, "verify": True}}
    _, low, _, report = amp.convert_model(*model, **more[given], **options)
    assert "rounded on a bet" not in str(report) and len(report.folded) == len(before.folded) == 2
    for fold in report.folded:
        nearest, compensated = fold["error_nearest"], fold["error_compensated"]
        assert fold["rounding"] == ("nearest" if nearest <= compensated else "compensated")
        is_same = np.array_equal(low[fold["weight"]].asnumpy(), bet[fold["weight"]].asnumpy())
        assert is_same == (fold["rounding"] == "compensated")


def refusals(model):
    good = {"error": 1e-3}
    yield {"accuracy": {"errors": 1e-3}, "data": DATA}
    yield {"accuracy": {"error": 1e-3, "drop": 0.1}, "data": DATA}
    yield {"accuracy": {"metric": len}, "data": DATA}
    yield {"accuracy": 1e-3, "data": DATA}
    for number in (0, -1e-3, math.nan, math.inf, "1e-3", True):
        yield {"accuracy": {"error": number}, "data": DATA}
        yield {"accuracy": {"metric": len, "drop": number}, "data": DATA}
    yield {"accuracy": {"metric": 0.7, "drop": 0.1}, "data": DATA}
    yield {"accuracy": {"metric": lambda run: None, "drop": 0.1}, "data": DATA}
    yield {"accuracy": {"metric": lambda run: math.nan, "drop": 0.1}, "data": DATA}
    yield {"accuracy": good}
    yield {"accuracy": good, "data": DATA, "sensitivity": {"a": 1}}
    yield {"accuracy": good, "data": DATA, "sensitivity": amp.sensitivity(*residual_network(blocks=5), DATA)}
    yield {"accuracy": good, "data": DATA, "target_dtype": "float16", "sensitivity": amp.sensitivity(*model, DATA)}
    yield {"accuracy": good, "data": []}
    yield {"accuracy": good, "data": {"images": DATA}}
    yield {"accuracy": good, "data": "data.npz"}
    yield {"accuracy": good, "data": DATA, "training": True}
    yield {"accuracy": good, "data": DATA, "policy": "mxnet"}
    yield {"accuracy": good, "data": DATA, "policy": "graphamp"}


def test_a_batch_norm_that_is_not_folded_stays_in_sensitivities():
    """Each of the goals, and roundings without one: what the conversion folds is what is looked at."""
    model, data = trust_networks.residual()
    kept = {"excluded_sym_names": ["bn1"], "return_report": True, "cast_params_offline": True}
    *low, report = amp.convert_model(*model, accuracy={"error": 1e-2}, data=data, **kept)
    assert report.accuracy["reached"] and [fold["batch_norm"] for fold in report.folded] == ["bn0"]
    error = trust_networks.error_of(trust_networks.run(model, data), trust_networks.run(low, data))
    assert report.accuracy["measured_error"] == pytest.approx(error, rel=0.02)
    assert report.accuracy["predicted_error"] == pytest.approx(error, rel=0.5)
    *_, report = amp.convert_model(*model, data=data, **kept)
    assert all("error_nearest" in fold for fold in report.folded)
    metric = {"metric": lambda run: float(run(data)[0].mean()), "drop": 10.0}
    assert amp.convert_model(*model, accuracy=metric, data=data, **kept)[-1].accuracy["reached"]


@pytest.mark.parametrize("goal", [{}, {"accuracy": {"error": 1.0}}])
def test_a_sensitivity_has_to_fit_the_conversion(goal):
    model, data = trust_networks.residual()
    other, data_of_other = trust_networks.dense()
    options = {"data": data, **goal}
    table = amp.sensitivity(*model, data)
    for name, given in {
        "float16": {"sensitivity": table, "target_dtype": "float16"},
        "'bn1'": {"sensitivity": table, "excluded_sym_names": ["bn1"]},
        "norm 'bn0'": {"sensitivity": amp.sensitivity(*model, data, fold_batch_norm=False)},
        "'bn0'": {"sensitivity": amp.sensitivity(*other, data_of_other)},
    }.items():
        with pytest.raises(amp.ArgumentError) as raised:
            amp.convert_model(*model, **options, **given)
        assert name in str(raised.value)
    amp.convert_model(*model, **options, sensitivity=table)


@pytest.mark.parametrize("blocks", [3, 5])
def test_a_sensitivity_of_another_model_is_refused(model, blocks):
    """It knows more tensors, or fewer: of those any rounding would be taken for free."""
    table = amp.sensitivity(*residual_network(blocks=blocks), DATA)
    with pytest.raises(amp.ArgumentError) as raised:
        amp.convert_model(*model, accuracy={"error": 1.0}, data=DATA, sensitivity=table)
    assert f"'a{min(blocks, 4)}_output'" in str(raised.value)


def test_a_model_without_sensitivities_converts_on_data():
    """No output depends on integers through gradients: the bet on compensation stays."""
    net = sym.Embedding(sym.Variable("data"), input_dim=5, output_dim=8, name="table")
    net = sym.Convolution(sym.expand_dims(net, axis=1), kernel=(1, 1), num_filter=6, name="conv")
    net = sym.BatchNorm(net, name="bn", fix_gamma=False)
    data = np.arange(8, dtype="int32").reshape(4, 2) % 5
    model = net, *trust_networks.parameters_of(net, {"data": data})
    with pytest.raises(amp.UnsupportedError):
        amp.sensitivity(*model, data)
    options = {"cast_params_offline": True, "return_report": True, "input_dtypes": {"data": "int32"}}
    _, bet, _, before = amp.convert_model(*model, **options)
    _, low, _, report = amp.convert_model(*model, data=data, **options)
    assert [fold["rounding"] for fold in before.folded] == ["compensated"]
    assert np.array_equal(low["conv_weight"].asnumpy(), bet["conv_weight"].asnumpy())
    (fold,) = report.folded
    assert fold["rounding"] == "compensated" and "no output of the model depends" in fold["why_bet"]
    assert "no output of the model depends" in str(report) and report.ranges


def test_a_model_with_low_parts_converts_on_data():
    """There is no float32 model to compute a sensitivity from: the bet on compensation stays."""
    model, data = trust_networks.residual()
    front = ["conv0", "bn0", "relu0", "conv1", "bn1", "relu1", "sum"]
    low = amp.convert_model(*model, policy="optimal", fold_batch_norm=False, excluded_sym_names=front)
    *bet, _ = amp.convert_model(*low, cast_params_offline=True, return_report=True)
    *found, report = amp.convert_model(*low, data=data, cast_params_offline=True, return_report=True)
    assert all("has casts to low precision" in fold["why_bet"] for fold in report.folded) and len(report.folded) == 2
    for name in ("conv0_weight", "conv1_weight"):
        assert np.array_equal(found[1][name].asnumpy(), bet[1][name].asnumpy())
    with pytest.raises(amp.ArgumentError):
        amp.convert_model(*low, data=data, accuracy={"error": 1.0})


def test_what_nothing_reads_is_no_error(model):
    plain = amp.convert_model(*model)
    for given in ({"data": DATA}, {"sensitivity": amp.sensitivity(*model, DATA)}):
        *low, report = amp.convert_model(*model, **given, return_report=True)
        assert report.folded == []
        for found in (low, amp.convert_model(*model, **given)):
            assert found[0].tojson() == plain[0].tojson()


def test_trials_do_not_read_parameters_for_the_report(model, full_error, monkeypatch):
    from amp._conversion import parameter_errors

    calls, errors = [], parameter_errors.parameter_errors
    monkeypatch.setattr(parameter_errors, "parameter_errors", lambda *args: calls.append(1) or errors(*args))
    *_, report = converted(model, accuracy={"error": full_error / 2})
    assert report.accuracy["evaluations"] > 1 and calls == [1] and len(report.parameters) == 9
    residual, data = trust_networks.residual()
    amp.convert_model(*residual, data=data, return_report=True)
    assert len(calls) == 2
    amp.convert_model(*residual, data=data)
    assert len(calls) == 2


def test_what_makes_no_sense_is_refused(model):
    for options in refusals(model):
        with pytest.raises(amp.ArgumentError):
            amp.convert_model(*model, **options)
    with pytest.raises(amp.ArgumentError, match="convert_model"):
        amp.convert_symbol(model[0], None, None, accuracy={"error": 1e-3})
    with pytest.raises(amp.ArgumentError, match="convert_model"):
        amp.Executor(*model, {"data": (1, 24)}, reduce_precision={"accuracy": {"error": 1e-3}})


# ---- data of any length, and ctrl-C ----


class Shards:
    """Batches that can be read again; `reads` counts them. `interrupts` holds numbers of reads that ctrl-C ends."""

    def __init__(self, interrupts=(), size=16):
        self.reads, self._interrupts, self._size = 0, interrupts, size

    def __iter__(self):
        for i in range(0, len(DATA), self._size):
            self.reads += 1
            if self.reads in self._interrupts:
                raise KeyboardInterrupt
            yield DATA[i : i + self._size]


def test_what_can_be_read_again_is(model, full_error):
    """One batch is read to know its types, all of them by the sensitivity and by each evaluation."""
    shards = Shards()
    *low, report = converted(model, shards, accuracy={"error": full_error / 2})
    assert shards.reads >= 4 * (1 + report.accuracy["evaluations"])
    assert report.accuracy["samples"] == len(DATA) and not report.accuracy["interrupted"]
    assert report.accuracy["measured_error"] == pytest.approx(error_of(low, model), rel=1e-3)


def test_of_an_iterator_the_first_batches_are_kept(model, full_error, monkeypatch):
    """An endless one, whose batches are one array that it writes again and again."""
    monkeypatch.setattr("amp._trust.data.KEPT_BYTES", 5 * 8 * DATA[0].nbytes)
    buffer, read = np.empty_like(DATA[:8]), []

    def endless():
        while True:
            first = 8 * (len(read) % 8)
            buffer[:] = DATA[first : first + 8]
            read.append(first)
            yield buffer

    *low, report = converted(model, endless(), accuracy={"error": full_error / 2})
    assert len(read) == 6 and report.accuracy["samples"] == 40
    assert report.accuracy["measured_error"] == pytest.approx(error_of(low, model, DATA[:40]), rel=1e-3)


@pytest.mark.parametrize("batches_of_evaluation", [0, 1, 3])
def test_ctrl_c_gives_the_best_conversion_so_far(model, full_error, batches_of_evaluation):
    """The third evaluation of this goal is interrupted: what it measured of its batches counts."""
    shards, table = Shards(), amp.sensitivity(*model, DATA)
    goal = {"error": full_error / 2}
    *_, whole = converted(model, shards, accuracy=goal, sensitivity=table)
    evaluations = whole.accuracy["evaluations"]
    assert evaluations > 1
    last = shards.reads - 8 + batches_of_evaluation + 1  # four reads of the last evaluation, four for the ranges
    with pytest.warns(UserWarning):
        *low, report = converted(model, Shards([last]), accuracy=goal, sensitivity=table)
    facts = report.accuracy
    assert facts["interrupted"] and facts["evaluations"] == evaluations - (batches_of_evaluation == 0)
    assert facts["samples"] == (16 * batches_of_evaluation if facts["reached"] else None)  # float32 is not measured
    if facts["reached"]:
        met = [p["measured_error"] for p in facts["curve"] if p["measured_error"] is not None]
        assert facts["measured_error"] in met and facts["measured_error"] <= goal["error"]
    else:
        assert np.array_equal(outputs_of(low), outputs_of(model))


def test_ctrl_c_while_ranges_are_met_keeps_the_conversion(model, full_error):
    shards, table = Shards(), amp.sensitivity(*model, DATA)
    *whole, _ = converted(model, shards, accuracy={"error": full_error / 2}, sensitivity=table)
    with pytest.warns(UserWarning):
        *low, report = converted(
            model, Shards([shards.reads - 3]), accuracy={"error": full_error / 2}, sensitivity=table
        )
    assert np.array_equal(outputs_of(low), outputs_of(whole)) and not report.accuracy["interrupted"]
    assert not report.ranges


def test_ctrl_c_before_anything_was_measured_ends_the_conversion(model, full_error):
    table = amp.sensitivity(*model, DATA)
    with pytest.raises(KeyboardInterrupt):
        converted(model, Shards([2]), accuracy={"error": full_error}, sensitivity=table)


def test_ctrl_c_in_a_metric_gives_the_best_so_far(model):
    calls = []

    def metric(run):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return -float(np.abs(run(DATA)[0]).mean() > 0) - len(calls)

    with pytest.warns(UserWarning):
        *_, report = converted(model, accuracy={"metric": metric, "drop": 0.5})
    assert report.accuracy["interrupted"] and report.accuracy["evaluations"] == 2


def test_a_watcher_sees_the_work_grow(model, full_error):
    from amp._trust.progress import watched

    seen = []
    with watched(seen.append):
        converted(model, Shards(), accuracy={"error": full_error / 2})
    assert seen == sorted(seen) and seen[-1] == 1.0 and len(set(seen)) > 4
    assert 0 < seen[0] < 0.5
