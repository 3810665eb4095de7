"""`amp.compare`: errors against NumPy, shares that add up, and faults that were planted."""

import itertools
import json
import re

import ml_dtypes
import numpy as np
import pytest
from trust_networks import attention, dense, error_of, parameters_of, residual, run

import amp
from amp._trust.metrics import half_units, own_units

UNIT = 1 + 2.0**-9
NETWORKS = {"dense": dense, "residual": residual, "attention": attention}


def converted(model, **options):
    return amp.convert_model(*model, cast_params_offline=True, **options)


def rows(comparison):
    return {row["name"]: row for row in [*comparison.tensors, *comparison.parameters]}


def rms(array):
    return float(np.sqrt(np.mean(np.square(np.asarray(array, np.float64)))))


# ---- against NumPy ----


def test_errors_of_a_dense_network_are_those_of_numpy():
    model, data = dense(layers=3)
    low = amp.convert_model(*model, policy="mxnet")
    found = rows(amp.compare(model, low, data))
    args, full, x = model[1], data["data"], data["data"]
    bfloat16 = ml_dtypes.bfloat16

    def rounded(array):
        return array.astype(bfloat16).astype("float32")

    x = rounded(x)
    for i in range(3):
        weight, bias = args[f"fc{i}_weight"], args[f"fc{i}_bias"]
        full = full @ weight.T + bias
        exact = x @ rounded(weight).T + rounded(bias)
        x = rounded(exact)
        row = found[f"fc{i}_output"]
        assert row["error"] == pytest.approx(rms(x - full) / rms(full), rel=0.01)
        assert row["own"] == pytest.approx(rms(x - exact) / rms(exact), rel=0.02)
        assert row["largest"] == pytest.approx(np.abs(x - full).max() / np.abs(full).max(), rel=0.01)
        assert row["snr_db"] == pytest.approx(-20 * np.log10(row["error"]))
        full, x = np.maximum(full, 0), np.maximum(x, 0)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_error_of_outputs_is_that_of_two_executors(name):
    model, data = NETWORKS[name]()
    low = converted(model)
    expected = error_of(run(model, data), run(low, data))
    assert amp.compare(model, low, data).error == pytest.approx(expected, rel=0.01)


def test_half_units():
    values = np.float32([1, 1.99, 2, -3, 0, 2.0**-130])
    assert list(half_units(values, "bfloat16")) == [2**-8, 2**-8, 2**-7, 2**-7, 2.0**-134, 2.0**-134]
    assert half_units(np.float32([1]), "float16")[0] == 2**-11
    drawn = np.random.default_rng(0).standard_normal(10000).astype("float32")
    assert own_units(drawn.astype(ml_dtypes.bfloat16).astype("float32"), drawn, "bfloat16") <= 1
    assert own_units(np.float32([np.inf]), np.float32([1e6]), "float16") == 0  # what overflows is infinite
    assert own_units(np.float32([np.inf]), np.float32([1]), "float16") == np.inf


# ---- what must hold of every conversion ----


@pytest.mark.parametrize("policy", ["default", "mxnet", "graphamp"])
@pytest.mark.parametrize("name", NETWORKS)
def test_shares_add_up_and_nothing_is_suspect(name, policy):
    model, data = NETWORKS[name]()
    found = amp.compare(model, converted(model, policy=policy), data)
    assert found.share_sum == pytest.approx(1, abs=0.03)
    assert found.suspects == [] and found.notes == []
    for row in rows(found).values():
        limit = 2 if row.get("is_folded") else 1
        assert row["own_units"] is None or row["own_units"] <= limit * UNIT


def test_run_time_casts_are_compared_as_offline_ones():
    model, data = residual()
    offline, run_time = (
        amp.compare(model, amp.convert_model(*model, cast_params_offline=flag, fold_batch_norm=False), data)
        for flag in (True, False)
    )
    assert offline.error == pytest.approx(run_time.error, rel=1e-5)
    assert amp.compare(model, amp.convert_model(*model), data).suspects == []  # weights with batch norms in them
    assert {row["name"] for row in offline.parameters} == {row["name"] for row in run_time.parameters}


def test_a_model_compared_with_itself_has_no_errors():
    model, data = residual()
    found = amp.compare(model, model, data)
    assert found.error == 0 and found.share_sum is None and found.suspects == []


def test_folded_batch_norms_are_found_under_their_layer():
    model, data = residual()
    *low, report = converted(model, return_report=True)
    found = rows(amp.compare(model, low, data, report))
    assert found["conv0_output"]["batch_norm"] == "bn0" and found["conv0_output"]["error"] < 0.02
    assert "bn0_output" not in found


# ---- planted faults ----


def test_sums_in_bfloat16_are_suspect():
    (symbol, args, aux), data = dense(width=256)
    low, low_args, _ = converted((symbol, args, aux))
    document = json.loads(low.tojson())
    faulty = next(node for node in document["nodes"] if node["name"] == "fc2")
    faulty["attrs"] |= {"__tiling_accum__": "bf16", "__tile_k__": "4"}
    planted = amp.sym.load_json(json.dumps(document)), low_args, {}
    found = amp.compare((symbol, args, aux), planted, data)
    assert found.suspects == ["fc2_output"]
    assert rows(found)["fc2_output"]["own_units"] > 3


def test_a_wrong_weight_is_suspect():
    model, data = dense()
    low, args, aux = converted(model)
    weight = args["fc3_weight"].asnumpy().astype("float32")
    place = np.unravel_index(np.abs(weight).argmax(), weight.shape)
    weight[place] *= 1.01
    planted = {**args, "fc3_weight": weight.astype(ml_dtypes.bfloat16)}
    found = amp.compare(model, (low, planted, aux), data)
    assert found.suspects == ["fc3_weight"]
    assert found.share_sum == pytest.approx(1, abs=0.03)


def test_overflow_of_float16_is_born_and_no_fault():
    model, data = dense(layers=2)
    args = {**model[1], "fc0_weight": model[1]["fc0_weight"] * np.float32(1e5)}
    model = model[0], args, {}
    found = amp.compare(model, converted(model, target_dtype="float16", policy="mxnet"), data)
    assert rows(found)["fc0_output"]["born"] > 0 and found.error == np.inf
    assert found.to_dict()["error"] is None and json.loads(found.to_json())


def test_what_a_step_makes_zero_is_counted():
    x = amp.sym.Variable("data")
    model = amp.sym.FullyConnected(x, num_hidden=2, no_bias=True, name="fc"), {"fc_weight": np.eye(2, dtype="f4")}, {}
    data = np.float32([[1e-9, 1], [2e-9, 70000]])
    found = rows(amp.compare(model, converted(model, target_dtype="float16"), data))
    cast = found["data_0_amp_cast_float16_output"]
    assert (cast["flushed"], cast["saturated"], cast["born"], cast["zeros_changed"]) == (2, 1, 0, 0.5)
    assert cast["own_units"] == pytest.approx(2e-9 * 2**25)  # what is too large is saturated by design


# ---- outputs, data, models ----


def test_outputs_without_gradients_stand_behind_float_tensors():
    (symbol, args, aux), data = dense(layers=2)
    model = amp.sym.argmax(symbol, axis=1, name="best"), args, aux
    found = amp.compare(model, converted(model), data)
    assert found.share_sum == pytest.approx(1, abs=0.03)
    assert "before best_output" in found.notes[0]


def test_batches_add_up_to_the_whole():
    model, data = dense()
    low = converted(model)
    whole = amp.compare(model, low, data)
    parts = amp.compare(model, low, ({"data": data["data"][i : i + 6]} for i in range(0, 16, 6)))
    assert parts.error == pytest.approx(whole.error, rel=1e-6)
    assert [row["sample"] for row in parts.tensors] == [row["sample"] for row in whole.tensors]
    assert parts.share_sum == pytest.approx(whole.share_sum, abs=0.01)


def test_ctrl_c_keeps_what_was_measured():
    model, data = dense()

    def batches():
        yield data
        raise KeyboardInterrupt

    found = amp.compare(model, converted(model), batches())
    assert found.notes == ["interrupted: this is of the first 1 batches"]
    with pytest.raises(KeyboardInterrupt):
        amp.compare(model, converted(model), itertools.islice(batches(), 1, None))


def test_ctrl_c_in_the_middle_of_a_batch_takes_the_batch_back(monkeypatch):
    from amp._trust import compared

    model, data = dense()
    low = converted(model)
    whole = amp.compare(model, low, data)
    add, calls = compared.Bill.add, []

    def interrupted(self, *args):
        calls.append(add(self, *args))
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(compared.Bill, "add", interrupted)
    found = amp.compare(model, low, [data, data])
    assert found.notes and found.to_dict()["tensors"] == whole.to_dict()["tensors"]


def test_an_executor_says_how_its_model_runs():
    model, data = dense()
    low = converted(model)
    bound = amp.Executor(*low, {"data": data["data"].shape}, backend="reference", machine="any")
    assert amp.compare(model, bound, data).error == pytest.approx(amp.compare(model, low, data).error, rel=0.02)
    binds = amp.Executor(*model, {"data": data["data"].shape}, reduce_precision={"emulate": True})
    with pytest.raises(amp.ArgumentError):
        amp.compare(model, binds, data)


def test_models_of_two_structures_are_compared_by_name():
    (symbol, args, aux), data = dense(layers=3)
    other = amp.sym.tanh(symbol, name="more")
    found = amp.compare((symbol, args, aux), converted((other, args, aux)), data)
    assert found.share_sum is None and found.notes[0].startswith("no shares: the first model has no tanh 'more'")
    assert rows(found)["fc2_output"]["error"] > 0


@pytest.mark.parametrize(
    "change",
    [
        lambda model, low, data: (low, model, data),
        lambda model, low, data: (model, low, {"dta": data["data"]}),
        lambda model, low, data: (model, low, []),
        lambda model, low, data: (model, low, "data"),
        lambda model, low, data: (model, low, [3]),
        lambda model, low, data: (model[:2], low, data),
        lambda model, low, data: (model[0], low, data),
        lambda model, low, data: (model, low, None),
    ],
)
def test_refusals(change):
    model, data = dense(layers=2)
    with pytest.raises(amp.ArgumentError):
        amp.compare(*change(model, amp.convert_model(*model), data))


def two_layers(hidden=16, outputs=8, heads=("fc1_output",)):
    x = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=hidden, name="fc0")
    x = amp.sym.FullyConnected(amp.sym.relu(x, name="relu0"), num_hidden=outputs, name="fc1").get_internals()
    net = amp.sym.Group([x[name] for name in heads])
    return (net, *parameters_of(net, {"data": SMALL}))


SMALL = np.random.default_rng(4).standard_normal((4, 6), dtype="float32")


@pytest.mark.parametrize("function", [amp.compare, amp.error_bound])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden": 20}, r"'fc0_weight' has the shape \(20, 6\).* of the first model \(16, 6\)"),
        ({"outputs": 5}, r"'fc1_weight' has the shape \(5, 16\).* of the first model \(8, 16\)"),
        ({"heads": ("fc0_output",)}, r"'fc0_output' has the shape \(4, 16\).*'fc1_output' of the first model \(4, 8\)"),
        ({"heads": ("fc1_output", "fc0_output")}, "as many outputs, got 1 and 2"),
    ],
)
def test_models_of_other_shapes_or_outputs_are_refused(function, change, message):
    with pytest.raises(amp.ArgumentError) as raised:
        function(two_layers(), two_layers(**change), SMALL)
    assert re.search(message, str(raised.value))


# ---- texts ----


def test_the_page_is_one_file_without_network(tmp_path):
    model, data = residual()
    found = amp.compare(model, converted(model), data)
    found.save_html(tmp_path / "c.html", title="<both>")
    text = (tmp_path / "c.html").read_text()
    assert "&lt;both&gt;" in text and "<both>" not in text
    assert text.replace("http://www.w3.org/2000/svg", "").count("http") == 0
    assert all(row["name"] in text for row in found.tensors)
    assert text.count("<circle") == sum((row["snr_db"] or 1000) < 100 for row in found.tensors)


def test_text_and_json_say_the_same():
    model, data = residual()
    found = amp.compare(model, converted(model), data)
    facts = json.loads(found.to_json())
    assert facts["format"] == "amp-comparison" and facts["tensors"] == found.to_dict()["tensors"]
    assert f"explain {100 * found.share_sum:.1f} % of it, no suspects" in str(found)


# ---- as it runs ----


@pytest.mark.parametrize("machine", ["avx2", "avx512_core"])
@pytest.mark.parametrize("name", NETWORKS)
def test_fast_plans_are_compared_as_they_run(name, machine, monkeypatch):
    monkeypatch.setenv("AMP_MACHINE", machine)
    model, data = NETWORKS[name]()
    low = converted(model)
    expected = error_of(run(model, data), run(low, data, mode="fast", machine="this"))
    found = amp.compare(model, low, data, mode="fast")
    assert found.error == pytest.approx(expected, rel=0.01)
    assert found.share_sum == pytest.approx(1, abs=0.03)
    assert found.suspects == []


def test_fast_plans_store_less():
    model, data = residual()
    low = converted(model)
    bound = amp.Executor(*low, {"data": data["data"].shape}, machine="any")
    fast = rows(amp.compare(model, bound, data, mode="fast"))
    exact = rows(amp.compare(model, bound, data))
    assert {"relu0_output", "relu1_output"} <= fast.keys() < exact.keys()
    assert "conv0_output" not in fast and fast["relu0_output"]["own_units"] <= UNIT


def test_a_fault_is_suspect_in_fast_plans(monkeypatch):
    model, data = dense()
    low, args, aux = converted(model)
    weight = args["fc3_weight"].asnumpy().astype("float32")
    weight[0, 0] += 1
    planted = {**args, "fc3_weight": weight.astype(ml_dtypes.bfloat16)}
    monkeypatch.setenv("AMP_MACHINE", "avx2")  # where the weight becomes float32
    assert amp.compare(model, (low, planted, aux), data, mode="fast").suspects == ["fc3_weight"]
