"""Conversion with the signatures of MXNet's master branch (`mxnet.amp`) and the decisions of its operator lists.

Calls in the form of 2.0.0b1, without dtypes of inputs, are those of 1.9.1 (`mx.contrib.amp`).

As in MXNet, unknown names among the excluded ones are a warning, and mistakes in operator lists an AssertionError
(which is an amp.ArgumentError, too).
"""

import functools

import numpy as np

from .. import lists
from .._conversion import calls
from .._options.signatures import MXNETS, REQUIRED, with_options
from ..lists import (  # noqa: F401 - below `lists`
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
    symbol_bf16,
    symbol_fp16,
)
from ..sym import Symbol
from ._compat import strict_options, warn_of_unknown_names
from ._missing import getter
from ._training_precision import init, init_trainer, scale_loss, unscale
from .gluon.conversion import _convert_block

__path__ = []  # so that `from mx.amp.lists import symbol_bf16` works

__all__ = [
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "lists",
    "scale_loss",
    "unscale",
]


def _or_of_beta(place, name):
    """Decorates a function of master: calls in the form of 2.0.0b1 run that of 1.9.1, which has it.

    They give the target dtype, or nothing, in the place of master's argument `name`; master's has its own behind.
    """

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            given = args[place : place + 2]
            is_older = not given or _is_dtype(given[0]) and not any(map(_is_dtype, given[1:]))
            if is_older and not {name, "target_dtype"}.intersection(kwargs if given else {name} & set(kwargs)):
                return _of_beta(function.__name__, args, kwargs)
            return function(*args, **kwargs)

        return call

    return decorate


def _is_dtype(value):
    return isinstance(value, (str, type, np.dtype))


def _of_beta(name, args, kwargs):
    from .contrib import amp as older  # noqa: PLC0415 - which imports this package

    if "device" in kwargs:
        kwargs["ctx"] = kwargs.pop("device")
    return getattr(older, name)(*args, **kwargs)


@_or_of_beta(1, "input_dtypes")
@with_options(f"sym input_dtypes param_dtypes {MXNETS} cast_params_offline * widest_dtype_ops", target_dtype=REQUIRED)
def convert_symbol(sym, input_dtypes, param_dtypes, **options):
    """Converts a symbol; see amp.convert_symbol.

    {options}

    >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    >>> types = {"fc_weight": "float32", "fc_bias": "float32"}
    >>> mx.amp.convert_symbol(net, {"data": "float32"}, types, "bfloat16").list_arguments()
    ['data', 'fc_weight', 'fc_bias']
    """
    options = strict_options(options)
    model = calls.converted_symbol(sym, input_dtypes, param_dtypes, **options)
    warn_of_unknown_names(model, stacklevel=5)
    return Symbol(model["symbol"])


@_or_of_beta(3, "input_dtypes")
@with_options(
    f"sym arg_params aux_params input_dtypes {MXNETS} cast_params_offline * widest_dtype_ops", target_dtype=REQUIRED
)
def convert_model(sym, arg_params, aux_params, input_dtypes, **options):
    """Converts a model: (Symbol, arg_params, aux_params); see amp.convert_model.

    {options}

    >>> sym, args, aux = amp.load_checkpoint("model", 0)
    >>> low, args, aux = mx.amp.convert_model(sym, args, aux, {"data": "float32"}, "bfloat16")
    >>> low.list_outputs()
    ['relu_output']
    """
    options = strict_options(options)
    model = calls.converted_model(sym, arg_params, aux_params, input_dtypes, **options)
    warn_of_unknown_names(model, stacklevel=5)
    return Symbol(model["symbol"]), model["arguments"], model["auxiliary_states"]


@_or_of_beta(1, "data_example")
@with_options(f"block data_example {MXNETS} device cast_params_offline * ctx widest_dtype_ops", target_dtype=REQUIRED)
def convert_hybrid_block(block, data_example, device=None, *, ctx=None, **options):
    """Converts a block to an mx.gluon.SymbolBlock; see amp.convert_hybrid_block.

    {options}

    >>> block = mx.gluon.nn.Dense(3, in_units=4)
    >>> block.initialize("ones")
    >>> mx.amp.convert_hybrid_block(block, np.ones((1, 4), "float32"), "bfloat16")(amp.nd.ones((1, 4))).shape
    (1, 3)
    """
    options = strict_options(options)
    calls.check_device(device, ctx)
    converted, model = _convert_block(block, data_example, **options)
    warn_of_unknown_names(model, stacklevel=5)
    return converted


__getattr__ = getter(__name__)
