"""Conversion of models to low precision."""

from . import _core
from .base import ArgumentError
from .sym import Symbol


def convert_model(
    sym,
    arg_params,
    aux_params,
    input_dtypes="float32",
    target_dtype="bfloat16",
    *,
    cast_params_offline=False,
):
    """Converts a model to low precision: (Symbol, arg_params, aux_params).

    `input_dtypes` says what the inputs will be: {name: dtype}, one dtype for all of them, or a list
    in the order of the arguments that have no array in `arg_params`. Inputs that are not named are
    float32. The converted model takes the same inputs and gives the same dtypes as before; inside
    of it, operators that gain from it read `target_dtype` ('bfloat16' or 'float16') through
    `amp_cast` nodes.

    With `cast_params_offline=True` the arrays of parameters are cast instead, where all readers
    agree. Nothing that is passed in is modified; arrays that did not change are shared.

    Raises ArgumentError for unknown names and dtypes, GraphError where types contradict each other.
    """
    model = convert(sym, arg_params, aux_params, input_dtypes, target_dtype, cast_params_offline)
    return Symbol(model["symbol"]), model["arguments"], model["auxiliary_states"]


def convert(sym, arg_params, aux_params, input_dtypes, target_dtype, cast_params_offline):
    """What `convert_model` returns and how many casts there are, as the extension's dict."""
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"expected a Symbol, got {type(sym).__name__}")
    arg_params, aux_params = dict(arg_params or {}), dict(aux_params or {})
    inputs = [name for name in sym.list_arguments() if name not in arg_params]
    types = {name: (dtype, None) for name, dtype in _by_name(input_dtypes, inputs).items()}
    options = {"target_dtype": target_dtype, "cast_params_offline": bool(cast_params_offline)}
    return _core.convert_model(sym._handle, arg_params, aux_params, types, options)


def _by_name(input_dtypes, inputs):
    if isinstance(input_dtypes, dict):
        return input_dtypes
    if not _is_list_of_dtypes(input_dtypes):
        return dict.fromkeys(inputs, input_dtypes)
    if len(input_dtypes) != len(inputs):
        raise ArgumentError(
            f"input_dtypes has {len(input_dtypes)} entries, but the model has {len(inputs)} inputs: {', '.join(inputs)}"
        )
    return dict(zip(inputs, input_dtypes))


def _is_list_of_dtypes(value):
    """Not so [('bfloat16', numpy.uint16)], which is one dtype."""
    return isinstance(value, (list, tuple)) and not any(isinstance(item, tuple) for item in value)
