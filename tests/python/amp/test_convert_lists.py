"""MXNet's published operator lists: rules of its own tests, and the names that programs use."""

import pytest

import amp
import amp.mxnet as mx
from amp.lists import symbol_bf16, symbol_fp16

TARGETS = ["bfloat16", "float16"]
FUNCTIONS = [
    amp.list_lp16_ops,
    amp.list_fp32_ops,
    amp.list_lp16_fp32_ops,
    amp.list_widest_type_cast,
    amp.list_conditional_fp32_ops,
    amp.list_loss_output_functions,
    amp.list_lp16_use_fp32_params,
]
DISJOINT = FUNCTIONS[:5]


def operators(function, target):
    return [entry if isinstance(entry, str) else entry[0] for entry in function(target)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", DISJOINT, ids=lambda function: function.__name__)
def test_no_operator_is_twice_in_a_list(function, target):
    names = operators(function, target)
    assert names and len(set(names)) == len(names)


@pytest.mark.parametrize("target", TARGETS)
def test_no_operator_is_in_two_lists(target):
    seen = {}
    for function in DISJOINT:
        for name in operators(function, target):
            assert seen.setdefault(name, function.__name__) == function.__name__, name


@pytest.mark.parametrize("target", TARGETS)
def test_names_are_those_of_the_registry(target):
    registered = mx.operator.get_all_registered_operators_grouped()
    for function in (*DISJOINT, amp.list_loss_output_functions):
        unknown = [name for name in operators(function, target) if name not in registered or "backward" in name]
        assert not unknown


def test_what_everybody_knows_of_them():
    assert {"Convolution", "Deconvolution", "FullyConnected"} <= set(amp.list_lp16_ops("bfloat16"))
    assert {"BatchNorm", "Pooling", "Reshape"} <= set(amp.list_lp16_fp32_ops("bfloat16"))
    assert {"Concat", "elemwise_add"} <= set(amp.list_widest_type_cast("bfloat16"))
    assert "clip" in amp.list_fp32_ops("bfloat16") and "clip" in amp.list_lp16_fp32_ops("float16")
    assert amp.list_conditional_fp32_ops("bfloat16") == [("LeakyReLU", "act_type", ["selu"])]
    assert ("Activation", "act_type", ["softrelu"]) in amp.list_conditional_fp32_ops("float16")
    assert "SoftmaxOutput" in amp.list_loss_output_functions("bfloat16")
    assert amp.list_lp16_use_fp32_params("bfloat16")["BatchNorm"] == [
        "", "gamma", "beta", "moving_mean", "moving_var",
    ]  # fmt: skip
    assert amp.list_lp16_use_fp32_params("float16") is None


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_dtypes(function):
    import ml_dtypes
    import numpy as np

    for spelling in (ml_dtypes.bfloat16, np.dtype([("bfloat16", np.uint16)])):
        assert function(spelling) == function("bfloat16")
    assert function(np.float16) == function("float16")
    with pytest.raises(amp.ArgumentError, match="target_dtype: expected bfloat16 or float16, got float32"):
        function("float32")
    with pytest.raises(amp.ArgumentError, match="float17"):
        function("float17")


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_callers_get_lists_of_their_own(function):
    first, again = function("bfloat16"), function("bfloat16")
    first.clear()
    assert again and function("bfloat16") == again
    if function is amp.list_conditional_fp32_ops:
        again[0][2].append("elu")
        assert function("bfloat16") != again


@pytest.mark.parametrize(
    "module, prefix, target", [(symbol_bf16, "BF16", "bfloat16"), (symbol_fp16, "FP16", "float16")]
)
def test_modules_of_lists(module, prefix, target):
    names = {
        f"{prefix}_FUNCS": amp.list_lp16_ops,
        f"{prefix}_FP32_FUNCS": amp.list_lp16_fp32_ops,
        "FP32_FUNCS": amp.list_fp32_ops,
        "WIDEST_TYPE_CASTS": amp.list_widest_type_cast,
        "CONDITIONAL_FP32_FUNCS": amp.list_conditional_fp32_ops,
        "LOSS_OUTPUT_FUNCTIONS": amp.list_loss_output_functions,
    }
    for name, function in names.items():
        assert getattr(module, name) == function(target)


def test_all_roads_lead_to_them():
    assert amp.lists.symbol_bf16 is symbol_bf16
    assert mx.contrib.amp.lists is amp.mxnet.amp.lists is amp.mxnet.contrib.amp.lists is amp.lists
    assert symbol_bf16.BF16_USE_FP32_PARAMS == amp.list_lp16_use_fp32_params("bfloat16")
    for namespace in (mx.contrib.amp, amp.mxnet.amp):
        assert all(getattr(namespace, function.__name__) is function for function in FUNCTIONS)
    with pytest.raises(AttributeError, match="no attribute 'symbol_int8'"):
        amp.lists.symbol_int8  # noqa: B018
