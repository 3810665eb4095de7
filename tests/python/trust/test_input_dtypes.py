"""Inputs in low precision for a model that was written for float32."""

import ml_dtypes
import numpy as np
import pytest
import trust_networks

import amp


def model():
    x = amp.sym.Variable("data", __lr_mult__="2")
    net = amp.sym.FullyConnected(amp.sym.softmax(x, name="softmax"), num_hidden=5, name="fc")
    net = net + amp.sym.slice_axis(x, axis=1, begin=0, end=5)
    return (net, *amp.model_zoo.seeded_params(net, {"data": (2, 8)}))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("policy", ["default", "mxnet", "optimal"])
def test_the_cast_loses_nothing_and_the_file_says_the_dtype(tmp_path, dtype, policy):
    options = {"target_dtype": dtype, "policy": policy}
    amp.save_checkpoint(str(tmp_path / "low"), 0, *amp.convert_model(*model(), {"data": dtype}, **options))
    low = amp.load_checkpoint(str(tmp_path / "low"), 0)
    wide = amp.convert_model(*model(), {"data": "float32"}, **options)
    data = np.random.default_rng(0).normal(size=(2, 8)).astype(getattr(ml_dtypes, dtype, dtype))
    with_low, with_wide = (
        amp.Executor(*bound, {"data": (2, 8)}, mode="exact", machine="any", backend="reference")
        for bound in (low, wide)
    )
    assert with_low.input_dtypes == {"data": data.dtype} and with_wide.input_dtypes == {"data": np.dtype("float32")}
    results = [run(array)[0].asnumpy() for run, array in ((with_low, data), (with_wide, data.astype("float32")))]
    assert results[0].dtype == results[1].dtype and np.array_equal(*results)
    attributes = low[0].attr_dict()["data"]
    assert attributes["__lr_mult__"] == "2"


def test_products_read_the_input_itself():
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=5, name="fc")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (2, 8)})
    low = amp.convert_model(net, args, aux, {"data": "bfloat16"})[0]
    casts = [name for name in low.get_internals().list_outputs() if "data" in name and "cast" in name]
    assert casts == []


def test_models_that_are_low_already_stay_as_they_are():
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=5, name="fc")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (2, 8)})
    args = {name: array.astype("bfloat16") for name, array in args.items()}
    low = amp.convert_model(net, args, aux, {"data": "bfloat16"})
    assert low[0].list_arguments() == net.list_arguments() and "cast" not in low[0].tojson()


def test_a_symbol_alone():
    net = model()[0]
    low = amp.convert_symbol(net, {"data": "bfloat16"}, {"fc_weight": "float32", "fc_bias": "float32"})
    assert low.attr_dict()["data"]["__dtype__"] == "12"


# ---- data and inputs of two dtypes ----


LOW = ("bfloat16", "float16")


def low_dtype(name):
    return getattr(ml_dtypes, name, name)


def dense_data(dtype):
    (net, args, aux), data = trust_networks.dense(layers=3)
    return (net, args, aux), {"data": data["data"].astype(low_dtype(dtype))}


@pytest.mark.parametrize("mode", ["exact", "fast"])
@pytest.mark.parametrize("given", ["float32", *LOW])
@pytest.mark.parametrize("dtype", LOW)
def test_rounding_an_input_is_a_step_of_comparisons(dtype, given, mode, monkeypatch):
    monkeypatch.setenv("AMP_MACHINE", "avx2")
    model, data = dense_data(given)
    low = amp.convert_model(*model, {"data": dtype}, target_dtype=dtype)
    found = amp.compare(model, low, data, mode=mode)
    wide = {"data": data["data"].astype("float32")}
    taken = {"data": data["data"].astype(low_dtype(dtype))}
    if mode == "exact":
        expected = trust_networks.error_of(trust_networks.run(model, wide), trust_networks.run(low, taken))
        assert found.error == pytest.approx(expected, rel=0.01)
    assert found.suspects == []
    assert found.share_sum == (None if found.error == 0 else pytest.approx(1, abs=0.03))
    row = next(row for row in found.tensors if row["name"] == "data")
    errors = taken["data"].astype(float) - wide["data"]
    assert row["kind"] == "input" and row["dtype"] == dtype and row["own_units"] <= 1
    assert row["own"] == pytest.approx(np.sqrt(np.mean(errors**2) / np.mean(wide["data"].astype(float) ** 2)))


def test_batches_may_have_several_dtypes():
    (net, args, aux), data = dense_data("float32")
    table = np.random.default_rng(5).standard_normal((9, 32), dtype="float32")
    net, args = net(data=amp.sym.Embedding(amp.sym.Variable("ids"), input_dim=9, output_dim=32, name="table")), {**args}
    args["table_weight"] = table
    low = amp.convert_model(net, args, aux)
    ids = np.arange(9)
    mixed, same = (
        amp.compare((net, args, aux), low, [{"ids": ids.astype(dtype)} for dtype in dtypes], shares=False)
        for dtypes in (("int32", "int64", "float32"), ("int32",) * 3)
    )
    assert mixed.error == same.error > 0 and mixed.suspects == []


@pytest.mark.parametrize("given", ["float32", "bfloat16"])
def test_bounds_hold_for_inputs_in_low_precision(given):
    model, data = dense_data(given)
    low = amp.convert_model(*model, {"data": "bfloat16"})
    exact = trust_networks.run(model, {"data": data["data"].astype("float32")})[0]
    moved = trust_networks.run(low, {"data": data["data"].astype(ml_dtypes.bfloat16)})[0]
    for row in amp.error_bound(model, low, data).bounds:
        assert row["value"] == pytest.approx(exact[row["index"]], rel=1e-5)
        assert abs(moved[row["index"]] - exact[row["index"]]) <= row["bound"]


@pytest.mark.parametrize("given", ["float32", "bfloat16"])
def test_goals_and_verification_take_data_of_either_dtype(given):
    model, data = dense_data(given)
    wide = {"data": data["data"].astype("float32")}
    options = {"data": data, "return_report": True}
    *low, report = amp.convert_model(*model, {"data": "bfloat16"}, accuracy={"error": 3e-3}, verify=True, **options)
    taken = {"data": data["data"].astype(ml_dtypes.bfloat16)}
    error = trust_networks.error_of(trust_networks.run(model, wide), trust_networks.run(low, taken))
    assert report.accuracy["reached"] and error <= 3e-3
    assert report.accuracy["measured_error"] == pytest.approx(error, rel=1e-3)
    assert report.verified["suspects"] == [] and report.verified["error"] == pytest.approx(error, rel=1e-3)
    metric = {"metric": lambda run: float(run(data)[0].mean()), "drop": 10.0}
    *_, report = amp.convert_model(*model, {"data": "bfloat16"}, accuracy=metric, **options)
    assert report.accuracy["reached"]


@pytest.mark.parametrize("given", ["float32", "bfloat16"])
def test_sensitivities_are_of_the_float32_model(given):
    model, data = dense_data(given)
    found = amp.sensitivity(*model, data).to_dict()
    assert found == amp.sensitivity(*model, {"data": data["data"].astype("float32")}).to_dict()


def test_a_model_that_is_low_already_is_verified_as_it_is():
    (net, args, aux), data = dense_data("bfloat16")
    args = {name: array.astype(ml_dtypes.bfloat16) for name, array in args.items()}
    *low, report = amp.convert_model(net, args, aux, {"data": "bfloat16"}, verify=True, data=data, return_report=True)
    assert report.verified["error"] == 0 and report.verified["suspects"] == []


def test_data_in_float64_are_taken_as_other_floats():
    model, data = dense_data("float32")
    double = {"data": data["data"].astype("float64")}
    low = amp.convert_model(*model)
    assert amp.compare(model, low, double).to_dict() == amp.compare(model, low, data).to_dict()
    assert amp.sensitivity(*model, double).to_dict() == amp.sensitivity(*model, data).to_dict()
    *_, report = amp.convert_model(*model, data=double, verify=True, accuracy={"error": 0.1}, return_report=True)
    assert report.accuracy["reached"] and report.verified["suspects"] == [] and report.ranges


# ---- options ----


def test_all_contradictions_are_in_one_error():
    with pytest.raises(amp.ArgumentError) as error:
        amp.convert_model(
            *model(),
            policy="none",
            preset={"allowed": []},
            fp32_ops=["FullyConnected"],
            target_dtype_ops=["FullyConnected"],
            excluded_sym_names=["nobody"],
            force={"nobody_else": "float32"},
        )
    text = str(error.value)
    assert all(name in text for name in ("policy", "allowed", "FullyConnected", "nobody", "nobody_else"))
