"""Conversion of models to low precision.

What each argument may be is checked here, what it means to a model is decided by the extension.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from ._arrays import readable_dict
from ._options.conversion import TARGETS, by_name, checked_options, declared_dtype, is_float, is_one_dtype
from ._options.signatures import MXNETS, with_options
from .base import ArgumentError, GraphError, dtype_name, log
from .sym import Symbol, Variable, amp_cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._trust.data import Data, OnFailure
    from ._types import Arrays, DType, Shapes

# Type checkers read conversion.pyi, which tools/write_types.py makes from these signatures and the table of options.


@with_options(f"sym input_dtypes param_dtypes {MXNETS} cast_params_offline * others input_shapes return_report")
def convert_symbol(
    sym: Symbol,
    input_dtypes: DType | Mapping[str, DType] | Sequence[DType] | None,
    param_dtypes: Mapping[str, DType] | None,
    *,
    input_shapes: Shapes | None = None,
    return_report: bool = False,
    **options,
):
    """Converts a symbol to low precision.

    `input_dtypes` is {name: dtype}, one dtype for all inputs or a list in their order, `param_dtypes` {name: dtype} of
    the parameters and auxiliary states; variables that neither names are float32 inputs. With
    `cast_params_offline=True` parameters that all readers want in `target_dtype` carry the attribute `__amp_dtype__`
    with its name, and whoever binds the symbol casts their arrays. Batch norms are folded by `convert_model`, which
    has their values: `fold_batch_norm=True` is an error here. Everything else is as for `convert_model`.

    {options}

    >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    >>> types = {"fc_weight": "float32", "fc_bias": "float32"}
    >>> low = amp.convert_symbol(net, {"data": "float32"}, types, cast_params_offline=True)
    >>> low.attr_dict()["fc_weight"]
    {'__amp_dtype__': 'bfloat16', '__dtype__': '12', 'num_hidden': '3'}
    """
    if options["fold_batch_norm"]:
        raise ArgumentError("fold_batch_norm: a symbol has no values to fold; use convert_model")
    model = _convert_types(sym, input_dtypes, param_dtypes, input_shapes=input_shapes, report=return_report, **options)
    converted = Symbol(model["symbol"])
    return (converted, _report(model)) if return_report else converted


@with_options(
    f"sym arg_params aux_params input_dtypes {MXNETS} cast_params_offline * others input_shapes data verify on_failure "
    "return_report"
)
def convert_model(
    sym: Symbol,
    arg_params: Arrays | None,
    aux_params: Arrays | None,
    input_dtypes: DType | Mapping[str, DType] | Sequence[DType] | None = "float32",
    *,
    input_shapes: Shapes | None = None,
    data: Data | None = None,
    verify: bool = False,
    on_failure: OnFailure = "raise",
    return_report: bool = False,
    **options,
):
    """Converts a model to low precision: (Symbol, arg_params, aux_params).

    `input_dtypes` says what the inputs will be: {name: dtype}, one dtype for all of them, or a list in the order of
    the arguments that have no array in `arg_params`. Inputs that are not named are float32. The converted model takes
    the same inputs and gives the same dtypes as before; inside of it, operators that gain from it read `target_dtype`
    ('bfloat16' or 'float16') through `amp_cast` nodes. An input of a float32 model may be in low precision, too:
    {'data': 'bfloat16'}. What needs float32 then reads a cast of it, which loses nothing, and the file says the dtype.

    {options}
    input_shapes: {name: shape} of inputs. With them casts can move to where a tensor is smallest (equal bits), batch
        norms behind reshaped tensors can be folded, and the report knows bytes.
    data: what the model will see: an array (of a model with one input), {input: array}, or an iterable of such batches.
    verify: whether the converted model is run on `data`, and each of its steps compared with its operator in float32:
        none may add more than half a unit in the last place.
    on_failure: what happens where one does: 'raise' raises InternalError, 'keep' returns the model as it was.
    return_report: whether a ConversionReport, which explains every decision, is returned as a fourth element.

    Nothing that is passed in is modified; arrays that did not change are shared. Raises ArgumentError that names
    everything unknown or contradictory among the arguments, GraphError where types in the model contradict each other.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> low, low_args, _ = amp.convert_model(sym, args, aux, cast_params_offline=True)
    >>> low_args["fc_weight"].dtype
    dtype(bfloat16)
    """
    if verify:
        from ._trust.verify import check_request

        check_request(data, on_failure)
    model = _convert(
        sym, arg_params, aux_params, input_dtypes, input_shapes=input_shapes, report=return_report, **options
    )
    converted = Symbol(model["symbol"]), model["arguments"], model["auxiliary_states"]
    report = _report(model, arg_params) if return_report else None
    if verify:
        converted = _verified((sym, arg_params, aux_params), converted, data, on_failure, report)
    return (*converted, report) if return_report else converted


def _verified(first, converted, data, on_failure, report):
    from ._trust.verify import verified

    model, facts = verified(first, converted, data, on_failure)
    if report is not None:
        report._facts["verified"] = facts
    return tuple(model)


def _convert(sym, arg_params, aux_params, input_dtypes, input_shapes=None, **options):
    """What `convert_model` returns, the number of casts and (with report=True) the report, as the extension's dict."""
    check_symbol(sym)
    args, aux = readable_dict(arg_params, "arg_params"), readable_dict(aux_params, "aux_params")
    inputs = [name for name in sym.list_arguments() if name not in args]
    types = _with_shapes(_input_types(sym, input_dtypes, inputs), input_shapes)
    sym = _with_low_inputs(sym, types, {name: array.dtype for name, array in {**args, **aux}.items()})
    return _run(sym, options, lambda checked: _core.convert_model(sym._handle, args, aux, types, checked))


def _convert_types(sym, input_dtypes, param_dtypes, input_shapes=None, **options):
    """What `convert_symbol` returns, as the extension's dict; see `_convert`."""
    check_symbol(sym)
    parameters = _parameter_types(param_dtypes)
    types = _input_types(sym, input_dtypes, [name for name in sym.list_arguments() if name not in parameters])
    types = _with_shapes(types, input_shapes)
    twice = [name for name in types if name in parameters]
    if twice:
        raise ArgumentError(f"input_dtypes and param_dtypes both name {', '.join(twice)}")
    sym = _with_low_inputs(sym, types, parameters)
    return _run(sym, options, lambda checked: _core.convert_symbol(sym._handle, types, parameters, checked))


def _run(sym, options, convert_with):
    checked, unmatched, problems = checked_options(sym, options)
    model = {}
    try:
        model = convert_with(checked)
    except ArgumentError as error:  # what only the extension knows belongs to the same list
        problems.append(str(error))
    except GraphError:
        if not problems:
            raise
    if problems:
        raise ArgumentError("\n".join(problems))
    model["unknown_names"] = [*model["unknown_names"], *unmatched]
    log("converted to %s, policy %s", checked.get("target_dtype", "bfloat16"), checked.get("policy", "default"))
    return model


def _report(model, arg_params=None):
    from ._denormals import denormal_parameters
    from .report import ConversionReport

    report = ConversionReport(model["report"])
    if arg_params is not None:
        given = readable_dict(arg_params, "arg_params")
        cast = {cast["tensor"] for cast in report.casts if cast["run_time"]}
        low = report.options["target_dtype"]
        report._facts["denormal_parameters"] = denormal_parameters(given, model["arguments"], cast, low)
    return report


def check_symbol(sym):
    """Raises ArgumentError for what is no Symbol."""
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"expected a Symbol, got {type(sym).__name__}")


def check_device(device, ctx):
    """Both are accepted, one at a time, and have no effect."""
    if device is not None and ctx is not None:
        raise ArgumentError("device and ctx are two names of one argument; pass one of them")


def _parameter_types(param_dtypes):
    if param_dtypes is not None and not isinstance(param_dtypes, dict):
        raise ArgumentError(f"param_dtypes: expected a dict {{name: dtype}}, got {type(param_dtypes).__name__}")
    return {name: dtype_name(dtype) for name, dtype in (param_dtypes or {}).items()}


def _input_types(sym, input_dtypes, inputs):
    """{name: (dtype, no shape)}. What the symbol declares to be integers is not meant by one float for all inputs."""
    if input_dtypes is not None and is_one_dtype(input_dtypes) and is_float(input_dtypes):
        attributes = sym.attr_dict()
        declared = {name: declared_dtype(attributes.get(name, {})) for name in inputs}
        inputs = [name for name in inputs if declared[name] is None or is_float(declared[name])]
    return {name: (dtype, None) for name, dtype in by_name("input_dtypes", input_dtypes, inputs).items()}


def _with_low_inputs(sym, types, parameters):
    """The symbol with inputs in low precision where the model was written for float32 ones.

    Such an input says its dtype in `__dtype__`, and what read it reads a cast to float32, which loses nothing. Where
    the model fits the inputs as they are it stays as it is.
    """
    low = {name: dtype_name(dtype) for name, (dtype, _) in types.items() if dtype is not None}
    low = {name: dtype for name, dtype in low.items() if dtype in TARGETS and name in sym.list_arguments()}
    known = set(sym.list_arguments())
    given = {name: dtype for name, dtype in {**parameters, **low}.items() if name in known}
    if not low or _infers(sym, given):
        return sym
    casts = {
        name: amp_cast(
            Variable(name, dtype=dtype, attr=_without_dtype(sym, name)),
            dtype="float32",
            name=f"{name}_0_amp_cast_float32",
        )
        for name, dtype in low.items()
    }
    return sym(**casts)


def _without_dtype(sym, name):
    attributes = sym.attr_dict().get(name, {})
    return {key: value for key, value in attributes.items() if key.startswith("__") and key != "__dtype__"}


def _infers(sym, types):
    try:
        sym.infer_type_partial(**types)
    except GraphError:
        return False
    return True


def _with_shapes(types, shapes):
    if shapes is None:
        return types
    if not isinstance(shapes, dict):
        raise ArgumentError(f"input_shapes: expected a dict {{name: shape}}, got {type(shapes).__name__}")
    return {name: (types.get(name, (None, None))[0], shapes.get(name)) for name in {**types, **shapes}}
