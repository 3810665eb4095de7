"""Conversion with the signatures of MXNet 1.9.1 (`mxnet.contrib.amp`) and the decisions of its operator lists.

Dtypes that these signatures have no place for are float32. The graphs are those of the policy 'mxnet': `amp_cast` where
1.9.1 has `amp_multicast`. As there, unknown names among the excluded ones are a warning, and mistakes in operator lists
an AssertionError (which is an amp.ArgumentError, too).
"""

import sys

from ... import _autocast, lists
from ..._conversion import calls
from ..._options.checks import declared_dtype, items_of
from ..._options.signatures import MXNETS, with_options
from ...base import UnsupportedError
from ...lists import (
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
)
from ...sym import Symbol
from .._compat import strict_options, warn_of_unknown_names
from .._missing import getter
from .._training_precision import init, init_trainer, scale_loss, unscale
from ..gluon.conversion import _convert_block

__all__ = [
    "convert_bucketing_module",
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

# MXNet has them in a module `amp` of this one, too.
amp = sys.modules[__name__]
__path__ = []  # so that `from mx.contrib.amp.lists import symbol_fp16` works


@with_options(f"sym {MXNETS} data_names cast_optional_params * widest_dtype_ops", target_dtype="float16")
def convert_symbol(sym, data_names=None, cast_optional_params=False, **options):
    """Converts a symbol; see amp.convert_symbol.

    `data_names` are the inputs; by default all variables that have no `__dtype__`. `cast_optional_params` is
    `cast_params_offline` under its old name, and concerns the other variables. Whatever has no `__dtype__` is float32.

    {options}

    >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    >>> mx.contrib.amp.convert_symbol(net, "bfloat16").list_arguments()
    ['data', 'fc_weight', 'fc_bias']
    """
    options = strict_options({**options, "cast_params_offline": cast_optional_params})
    calls.check_symbol(sym)
    attributes = sym.attr_dict()
    types = {name: declared_dtype(attributes.get(name, {})) for name in sym.list_inputs()}
    if data_names is None:
        data_names = [name for name in sym.list_arguments() if types[name] is None]
    inputs = items_of("data_names", data_names)
    parameters = {name: dtype or "float32" for name, dtype in types.items() if name not in inputs}
    model = calls.converted_symbol(sym, dict.fromkeys(inputs, "float32"), parameters, **options)
    warn_of_unknown_names(model)
    return Symbol(model["symbol"])


@with_options(f"sym arg_params aux_params {MXNETS} cast_optional_params * widest_dtype_ops", target_dtype="float16")
def convert_model(sym, arg_params, aux_params, cast_optional_params=False, **options):
    """Converts a model: (Symbol, arg_params, aux_params); see amp.convert_model. Its inputs are float32.

    `cast_optional_params` is `cast_params_offline` under its old name.

    {options}

    >>> sym, args, aux = amp.load_checkpoint("model", 0)
    >>> low, args, aux = mx.contrib.amp.convert_model(sym, args, aux, "bfloat16")
    >>> low.list_outputs()
    ['relu_output']
    """
    options = strict_options({**options, "cast_params_offline": cast_optional_params})
    model = calls.converted_model(sym, arg_params, aux_params, "float32", **options)
    warn_of_unknown_names(model)
    return Symbol(model["symbol"]), model["arguments"], model["auxiliary_states"]


@with_options(f"block {MXNETS} ctx cast_optional_params * device widest_dtype_ops", target_dtype="float16")
def convert_hybrid_block(block, ctx=None, cast_optional_params=False, *, device=None, **options):
    """Converts a block to an mx.gluon.SymbolBlock; see amp.convert_hybrid_block. Its inputs are float32.

    A block of MXNet has to be hybridized and to have been called once: RuntimeError (and amp.ArgumentError).
    `cast_optional_params` is `cast_params_offline` under its old name.

    {options}

    >>> block = mx.gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0000.params")
    >>> mx.contrib.amp.convert_hybrid_block(block, "bfloat16")(amp.nd.ones((2, 4))).shape
    (2, 3)
    """
    options = strict_options({**options, "cast_params_offline": cast_optional_params})
    calls.check_device(device, ctx)
    converted, model = _convert_block(block, None, **options)
    warn_of_unknown_names(model)
    return converted


def convert_bucketing_module(bucketing_mod, target_dtype="float16", **options):
    """Refused with UnsupportedError: there are no bucketing modules here.

    >>> try:
    ...     mx.contrib.amp.convert_bucketing_module(None)
    ... except amp.UnsupportedError:
    ...     print("refused")
    refused
    """
    raise UnsupportedError("convert_bucketing_module: modules are not supported; use convert_model for each bucket")


def __getattr__(name):
    if name == "_amp_initialized":
        return _autocast.rules is not None
    return _borrowed_or_missing(name)


_borrowed_or_missing = getter(__name__)
