"""A decision that holds for all batch sizes and machines."""

import numpy as np
import pytest

import amp


@pytest.fixture(scope="module")
def model():
    net = amp.model_zoo.get_model("mobilenetv2_0.25", classes=10)
    return (net, *amp.model_zoo.seeded_params(net, {"data": (1, 3, 32, 32)}))


@pytest.mark.parametrize("machine", ["avx2", "avx512_core", "avx512_bf16_fast"])
def test_low_precision_stays_at_every_batch_size(model, machine, tmp_path):
    converted = amp.convert_model(*model, keep_decision=True, cast_params_offline=True)
    amp.save_checkpoint(str(tmp_path / "low"), 0, *converted)
    low = amp.load_checkpoint(str(tmp_path / "low"), 0)
    casts = low[0].tojson().count('"op": "amp_cast"')
    assert casts > 0
    for batch in (1, 2, 8):
        executor = amp.Executor(*low, {"data": (batch, 3, 32, 32)}, machine=machine)
        assert executor.symbol.tojson().count('"op": "amp_cast"') == casts


def test_without_it_a_machine_may_take_it_back(model, recwarn):
    low = amp.convert_model(*model, cast_params_offline=True)
    executor = amp.Executor(*low, {"data": (1, 3, 32, 32)}, machine="avx512_core")
    assert "amp_cast" not in executor.symbol.tojson()


def test_only_what_is_low_is_marked():
    net = amp.sym.softmax(amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc"), name="softmax")
    args = {"fc_weight": np.ones((3, 4), "float32"), "fc_bias": np.zeros(3, "float32")}
    low, *_ = amp.convert_model(net, args, {}, keep_decision=True)
    marks = {name: attributes.get("__amp_force__") for name, attributes in low.attr_dict().items()}
    assert marks["fc"] == "bfloat16" and marks.get("softmax") is None
