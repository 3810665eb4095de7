"""Every operator of the bfloat16 lists computes in bfloat16, composed by name as programs do it (contract, part 1.7).

Each use is one node over variables; it runs as a SymbolBlock on bfloat16 inputs and on the same values in float32.
"""

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.base import _NP_EXT_OP_PREFIX, _NP_INTERNAL_OP_PREFIX, _NP_OP_PREFIX, _OP_NAME_PREFIX_LIST, _is_np_op

LISTS = amp.lists.symbol_bf16
LISTED = sorted(
    {*LISTS.BF16_FUNCS, *LISTS.BF16_FP32_FUNCS, *LISTS.WIDEST_TYPE_CASTS, *(c[0] for c in LISTS.CONDITIONAL_FP32_FUNCS)}
)
NAMESPACES = {
    _NP_OP_PREFIX: mx.sym.np,
    _NP_INTERNAL_OP_PREFIX: mx.sym.np._internal,
    _NP_EXT_OP_PREFIX: mx.sym.npx,
    **{prefix: getattr(mx.sym, prefix[1:-1]) for prefix in _OP_NAME_PREFIX_LIST},
}


class Tensor:
    """An input: its shape, None where inference tells it, and what it holds."""

    def __init__(self, *shape, dtype="bfloat16", scale=1.0, integers=0):
        self.shape, self.dtype, self.scale, self.integers = shape or None, dtype, scale, integers

    def draw(self, shape, dtype):
        if self.integers:
            return mx.nd.random.randint(0, self.integers, shape, "int32").astype(self.dtype)
        values = mx.nd.random.normal(0, self.scale, shape, dtype)
        return abs(values) + 0.5 if self.scale > 2 else values


WEIGHT, VARIANCE = Tensor(scale=0.1), Tensor(scale=3)
TWO = {"0": Tensor(8, 8, 8), "1": Tensor(8, 8, 8)}
ONE = {"0": Tensor(8, 8)}
PRODUCT = {"weight": WEIGHT, "bias": WEIGHT}
CONVOLUTIONS = [
    {"data": Tensor(*(8,) * n), "kernel": (3,) * (n - 2), "num_filter": 8, "no_bias": False, **PRODUCT}
    for n in (3, 4, 5)
]
DENSE = {"data": Tensor(8, 8), "num_hidden": 3, **PRODUCT}
NORM = {"data": Tensor(8, 8), "gamma": WEIGHT, "beta": WEIGHT}
BATCH_NORM = {**NORM, "moving_mean": WEIGHT, "moving_var": VARIANCE}
USES = {
    "Convolution": CONVOLUTIONS,
    "Deconvolution": CONVOLUTIONS,
    "FullyConnected": [DENSE],
    "Pooling": [{"data": Tensor(*(8,) * n), "kernel": (3,) * (n - 2)} for n in (3, 4, 5)],
    "_contrib_AdaptiveAvgPooling2D": [{"data": Tensor(8, 8, 8, 8), "output_size": (4, 4)}],
    "Cast": [{"data": Tensor(8, 8), "dtype": "bool"}],
    "Concat": [{"0": Tensor(8, 8), "1": Tensor(8, 8), "dim": 0}],
    "stack": [{"0": Tensor(8, 8), "1": Tensor(8, 8)}],
    "expand_dims": [{"data": Tensor(8, 8), "axis": -1}],
    "take": [{"a": Tensor(8, 8), "indices": Tensor(2, dtype="int32", integers=8), "axis": -1}],
    "_split_v2": [{"ary": Tensor(8, 8), "indices_or_sections": (2, 3)}],
    "slice": [{"data": Tensor(8, 8), "begin": (0, 1), "end": (2, 4)}],
    "space_to_depth": [{"data": Tensor(8, 8, 8, 8), "block_size": 2}],
    "LayerNorm": [NORM],
    "LRN": [{"data": Tensor(2, 8, 4, 4), "nsize": 3}],
    "masked_softmax": [{"data": Tensor(8, 8), "mask": Tensor(8, 8, dtype="bool", integers=2)}],
    "Activation": [
        {"data": Tensor(8, 8), "act_type": act}
        for act in ("sigmoid", "log_sigmoid", "relu", "softrelu", "tanh", "mish")
    ],
    "LeakyReLU": [{"data": Tensor(8, 8), "act_type": act} for act in ("leaky", "elu", "gelu")],
    "_sg_onednn_conv": CONVOLUTIONS[1:],
    "_sg_onednn_fully_connected": [DENSE],
    "_sg_onednn_batch_dot": [TWO],
    "_sg_onednn_selfatt_qk": [{"queries": Tensor(1, 4, 16), "keys": Tensor(1, 4, 16), "heads": 2}],
    "_sg_onednn_selfatt_qk_split": [{"queries_keys_values": Tensor(1, 4, 48), "heads": 2}],
    "_sg_onednn_selfatt_valatt": [
        {"attention": Tensor(1, 2, 4, 4), "queries_keys_values": Tensor(1, 4, 48), "heads": 2}
    ],
    **{name: [{"data": Tensor(8, 8)}] for name in ("Flatten", "_copy")},
    **{name: [{"0": Tensor(8, 8), "1": (-1,)}] for name in ("Reshape", "_npx_reshape")},
    **{name: [ONE] for name in ("transpose", "_npi_transpose", "_npi_exp", "_npi_sqrt", "_npi_square", "_npi_tanh")},
    **{name: [BATCH_NORM] for name in ("BatchNorm", "_sg_onednn_batch_norm")},
    **{
        name: [{"0": Tensor(8, 8), "axis": 0}]
        for name in ("mean", "sum", "_npi_mean", "_npi_sum", "softmax", "log_softmax")
    },
    **{
        name: [{"x": Tensor(8, 8), "y": Tensor(8, 8), "condition": Tensor(8, 8, dtype="int32", integers=2)}]
        for name in ("where", "_npi_where")
    },
    **{
        name: [TWO]
        for name in (
            "dot batch_dot broadcast_add broadcast_sub broadcast_mul broadcast_div elemwise_add add_n _npi_dot "
            "_npi_add _npi_multiply _npi_subtract _npi_true_divide"
        ).split()
    },
}
# Fused nodes are made of these by optimize_for.
MADE_OF = {
    "_sg_onednn_conv": "Convolution",
    "_sg_onednn_fully_connected": "FullyConnected",
    "_sg_onednn_batch_dot": "batch_dot",
}


def function_of(name):
    """The function of amp.mxnet.sym that composes the operator, found as MXNet's programs find it."""
    for prefix, module in NAMESPACES.items():
        if name.startswith(prefix):
            return getattr(module, name[len(prefix) :])
    return getattr(mx.sym, name, None) or getattr(mx.sym, name[1:], None) or getattr(mx.sym._internal, name)


def composed(name, use):
    arguments = {}
    for key, value in use.items():
        if isinstance(value, Tensor):
            value = mx.sym.var(key)
            value = value.as_np_ndarray() if _is_np_op(name) else value
        arguments[key] = value
    positional = [arguments.pop(key) for key in sorted(arguments) if key.isdigit()]
    symbol = function_of(MADE_OF.get(name, name))(*positional, **arguments)
    if name in MADE_OF:
        symbol = mx.sym.relu(symbol).optimize_for("ONEDNN")
    return symbol


def drawn(symbol, use):
    """{variable: array}, in the symbol's order; inference tells shapes and dtypes of parameters."""
    known = {key: value for key, value in use.items() if isinstance(value, Tensor) and value.shape}
    shapes = symbol.infer_shape(**{key: value.shape for key, value in known.items()})
    dtypes = symbol.infer_type(**{key: value.dtype for key, value in known.items()})
    names = [*symbol.list_arguments(), *symbol.list_auxiliary_states()]
    types = zip(names, [*shapes[0], *shapes[2]], [*dtypes[0], *dtypes[2]])
    return {name: use[name].draw(shape, dtype) for name, shape, dtype in types}


def test_every_listed_operator_has_a_use():
    assert LISTED == sorted(set(USES) & set(LISTED)) and len(LISTED) > 45


@pytest.mark.parametrize("name", LISTED)
def test_computes_in_bfloat16(name):
    mx.random.seed(7)
    for use in USES[name]:
        symbol = composed(name, use)
        assert f'"{name}"' in symbol.tojson()
        arrays = drawn(symbol, use)
        variables = [mx.sym.var(key) for key in arrays]
        block = mx.gluon.SymbolBlock(symbol, variables)
        block.initialize()
        assert len(block.collect_params()) == 0
        low = block(*arrays.values())
        is_low = {key: mx.nd.get_dtype_name(array.dtype) == "bfloat16" for key, array in arrays.items()}
        exact = block(*(array.astype("float32") if is_low[key] else array for key, array in arrays.items()))
        outputs = [o if isinstance(o, (list, tuple)) else [o] for o in (low, exact)]
        assert len(outputs[0]) == len(outputs[1])
        assert any(is_low.values())
        for got, expected in zip(*outputs):
            got, expected = got.astype("float32").asnumpy(), expected.astype("float32").asnumpy()
            np.testing.assert_allclose(got, expected, rtol=0.01, atol=1e-2)
