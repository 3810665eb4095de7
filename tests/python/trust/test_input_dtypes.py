"""Inputs in low precision for a model that was written for float32."""

import ml_dtypes
import numpy as np
import pytest

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
