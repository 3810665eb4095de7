"""Options that contradict each other or the model: one ArgumentError lists them all."""

import re

import numpy as np
import pytest

import amp
from amp import sym


@pytest.fixture(scope="module")
def model():
    net = sym.FullyConnected(sym.Variable("data"), num_hidden=8, no_bias=True, name="fc1")
    net = sym.BatchNorm(net, name="bn", axis=1)
    net = sym.FullyConnected(net, num_hidden=8, no_bias=True, name="fc2")
    net = sym.argmax(net, axis=1, name="best")
    return (net, *amp.model_zoo.seeded_params(net, {"data": (2, 8)}))


def mistakes(model, **options):
    with pytest.raises(amp.ArgumentError) as raised:
        amp.convert_model(*model, **options)
    return str(raised.value)


def test_everything_is_told_at_once(model):
    text = mistakes(
        model,
        force={"fc1": "bfloat16", "fc*": "float32", "best": "bfloat16", re.compile("bn|fc2"): "bfloat16"},
        fp32_ops=["FullyConnected", "softmx"],
        target_dtype_ops=["FullyConnected"],
        excluded_sym_names=["nothing"],
        minimize="casts",
        preset="mp1",
        output_dtypes={"best_output": "bfloat16", "other": "float32"},
        training=True,
        cast_params_offline=True,
        accuracy={"error": 1e-3},
        sensitivity="none",
        limits={"depth": 0},
        on_failure="stop",
        verify=True,
    )
    for told in (
        "force: 'fc1' is forced both to",
        "force: 'best' cannot be bfloat16",
        "FullyConnected is both in target_dtype_ops and in fp32_ops",
        "there is no operator 'softmx'",
        "excluded_sym_names: the model has no operator node 'nothing'",
        "minimize: expected policy 'optimal'",
        "preset: of policy graphamp, not of default",
        "output_dtypes: the model has no output 'other'",
        "cast_params_offline: the parameters of a model for training stay float32",
        "sensitivity: expected what amp.sensitivity returns",
        "limits: depth: expected a number above 0",
        "verify: pass data",
        "on_failure: expected",
    ):
        assert told in text, told


def test_missing_times_are_told_with_the_rest(model):
    text = mistakes(model, policy="optimal", minimize="time", categories={"fc1": "deny"}, fp32_ops=["softmx"])
    for told in ("minimize='time' needs a machine", "categories: of policy graphamp", "no operator 'softmx'"):
        assert told in text, told


def test_outputs_that_are_no_floats_are_told_with_the_rest():
    net = sym.Group([sym.shape_array(sym.Variable("x"), name="shape"), sym.relu(sym.Variable("x"), name="relu")])
    text = mistakes((net, {}, {}), output_dtypes={"shape_output": "bfloat16"}, fp32_ops=["softmx"])
    assert "output_dtypes: 'shape_output' is int64, which is no float" in text and "no operator 'softmx'" in text


def test_two_dtypes_of_several_nodes_are_all_told(model):
    patterns = {re.compile("fc[12]"): "bfloat16", re.compile("f.[12]"): "float32"}
    text = mistakes(model, force=patterns)
    assert "force: 'fc1' is to be both" in text and "force: 'fc2' is to be both" in text
    categories = {re.compile("fc[12]"): "deny", re.compile("f.[12]"): "allow"}
    text = mistakes(model, policy="graphamp", categories=categories)
    assert "categories: 'fc1' is to be both" in text and "categories: 'fc2' is to be both" in text


def test_symbols_tell_everything_too(model):
    with pytest.raises(amp.ArgumentError) as raised:
        amp.convert_symbol(
            model[0],
            {"data": "float32"},
            {name: "float32" for name in {**model[1], **model[2]}},
            limits={"depth": 1},
            data=np.ones((2, 8)),
            fold_batch_norm=True,
            fp32_ops=["softmx"],
        )
    text = str(raised.value)
    for told in ("limits: a symbol has no values", "data: a symbol has no values", "fold_batch_norm", "softmx"):
        assert told in text, told


def test_force_is_stronger_than_exclusion_and_no_contradiction(model):
    report = amp.convert_model(
        *model, excluded_sym_names=["fc1"], force={"fc1": "bfloat16"}, fold_batch_norm=False, return_report=True
    )[-1]
    assert any(reader["node"] == "fc1" for cast in report.casts for reader in cast["readers"])
