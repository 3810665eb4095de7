"""`amp.error_bound` on random networks, and `verify=` of conversions."""

import warnings

import numpy as np
import pytest
import trust_networks
from trust_networks import dense, residual, slacks

import amp
from amp._trust import verify as verification


def converted(model, **options):
    return amp.convert_model(*model, cast_params_offline=True, **options)


# ---- the bound ----


def test_no_number_of_random_networks_moves_beyond_its_bound():
    found, suspects = slacks(range(6))  # make trust-report: 1000 of them
    assert len(found) > 10 and found.min() > 1 and np.median(found) < 50
    assert suspects == []


def test_a_linear_network_has_the_bound_of_the_formula():
    model, data = dense(layers=1, width=8)
    low = converted(model)
    row = amp.error_bound(model, low, data, elements=[("fc0_output", (2, 5))], probability=1e-3).bounds[0]
    x, weight = data["data"][2].astype(float), model[1]["fc0_weight"][5].astype(float)
    stored = low[1]["fc0_weight"].asnumpy()[5].astype(float)
    half = 2.0 ** (np.floor(np.log2(np.abs(x))) - 8)
    assert row["parameters"] == pytest.approx(x @ (stored - weight), rel=1e-3)
    assert row["activations"] == pytest.approx(np.sqrt(2 * np.log(2000) * np.sum((weight * half) ** 2)), rel=1e-4)
    assert row["bound"] == abs(row["parameters"]) + row["activations"]
    assert row["value"] == pytest.approx(x @ weight + model[1]["fc0_bias"][5], rel=1e-5)


def test_by_default_the_largest_number_of_each_sample_of_each_output():
    model, data = residual()
    found = amp.error_bound(model, converted(model), ({"data": data["data"][i : i + 4]} for i in (0, 4)))
    assert [row["batch"] for row in found.bounds] == [0] * 8 + [1] * 8
    scores = amp.Executor(*model, {"data": (8, 3, 12, 12)}, mode="exact")(data)[1].asnumpy()
    places = [row["index"][1] for row in found.bounds if row["output"] == "tanh_output"]
    assert places == list(np.abs(scores).argmax(axis=1))


def test_a_rarer_exception_has_a_larger_bound():
    model, data = dense(layers=2)
    low = converted(model)
    rare, common = (amp.error_bound(model, low, data, probability=p).bounds[0] for p in (1e-12, 0.1))
    assert rare["activations"] > common["activations"] and rare["parameters"] == common["parameters"]


def test_exact_inputs_have_no_rounding():
    model, _ = dense(layers=1, width=8)
    found = amp.error_bound(model, converted(model), np.ones((1, 8), "float32"))
    assert found.bounds[0]["activations"] == 0


@pytest.mark.parametrize(
    "options",
    [
        {"probability": 0},
        {"probability": 1},
        {"probability": True},
        {"elements": [("fc2_output", (0, 0))]},
        {"elements": [("fc1_output", (0, 99))]},
        {"elements": [("fc1_output", 0)]},
    ],
)
def test_refusals(options):
    model, data = dense(layers=2)
    with pytest.raises(amp.ArgumentError):
        amp.error_bound(model, converted(model), data, **options)


def test_another_network_is_refused():
    (model, data), (other, _) = dense(layers=2), dense(layers=3)
    with pytest.raises(amp.ArgumentError):
        amp.error_bound(model, converted(other), data)


# ---- verify ----


def test_a_right_conversion_passes():
    model, data = residual()
    *low, report = converted(model, data=data, verify=True, return_report=True)
    assert report.verified["suspects"] == [] and not report.verified["kept"]
    assert "amp_cast" in low[0].tojson()


def planted(monkeypatch):
    """Comparisons see a weight that is wrong."""
    compare = verification.compare

    def with_a_fault(first, low, data, **options):
        weight = low[1]["fc1_weight"].asnumpy().astype("float32")
        weight.flat[np.abs(weight).argmax()] *= 2
        return compare(first, (low[0], {**low[1], "fc1_weight": weight.astype("bfloat16")}, low[2]), data, **options)

    monkeypatch.setattr(verification, "compare", with_a_fault)


def test_a_wrong_conversion_raises(monkeypatch):
    model, data = dense(layers=3)
    planted(monkeypatch)
    with pytest.raises(amp.InternalError, match="fc1_weight"):
        converted(model, data=data, verify=True)


def test_or_the_model_stays_as_it_was(monkeypatch):
    model, data = dense(layers=3)
    planted(monkeypatch)
    with pytest.warns(UserWarning, match="fc1_weight"):
        *kept, report = converted(model, data=data, verify=True, on_failure="keep", return_report=True)
    assert kept[0] is model[0] and report.verified["kept"] and report.verified["suspects"] == ["fc1_weight"]


def test_loops_with_converted_bodies_are_not_judged(any_machine):
    """They round more than once in a step: the report names them."""
    model, inputs = trust_networks.loop()
    *_, report = amp.convert_model(*model, data=inputs, verify=True, return_report=True)
    assert report.bodies[0]["why_not"] is None
    assert report.verified["not_judged"] == ["loop"] and report.verified["suspects"] == []
    assert "but for what loops and branches round: loop" in str(report)
    model, data = dense(layers=2)
    *_, report = converted(model, data=data, verify=True, return_report=True)
    assert report.verified["not_judged"] == [] and "but for" not in str(report)


def test_what_verification_needs():
    model, data = dense(layers=2)
    with pytest.raises(amp.ArgumentError, match="data"):
        converted(model, verify=True)
    with pytest.raises(amp.ArgumentError):
        converted(model, verify=True, data=data, on_failure="ignore")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        converted(model, verify=True, data=data["data"])
