"""What conversions of models, symbols and blocks have in common: checked arguments in, the extension's dict out."""

from .. import _core
from .._arrays import readable_dict
from .._options.checks import TARGETS, by_name, declared_dtype, is_float, is_one_dtype
from .._options.conversion import checked_options
from ..base import ArgumentError, GraphError, dtype_name, log
from ..sym import Symbol, Variable, amp_cast


def converted_model(
    sym,
    arg_params,
    aux_params,
    input_dtypes,
    input_shapes=None,
    target=None,
    over_limit=None,
    rounded_to_nearest=(),
    problems=(),
    **options,
):
    """What `convert_model` returns, the number of casts and (with report=True) the report, as the extension's dict.

    `target`, if any, is the accuracy that the extension looks for: {'squared_errors': {tensor: number}, 'parts':
    {tensor: {node that reads it: part of its error, of 1}}, 'limit': number}; `over_limit` is {node: what exceeds a
    limit} of those that stay; `rounded_to_nearest` are weights with folded batch norms that are not rounded with
    compensation; `problems` are texts of mistakes found before.
    """
    check_symbol(sym)
    args, aux = readable_dict(arg_params, "arg_params"), readable_dict(aux_params, "aux_params")
    types = types_of_inputs(sym, args, input_dtypes, input_shapes)
    sym = _with_low_inputs(sym, types, {name: array.dtype for name, array in {**args, **aux}.items()})
    more = {key: value for key, value in (("accuracy", target), ("over_limit", over_limit)) if value is not None}
    more["rounded_to_nearest"] = set(rounded_to_nearest)
    return run_conversion(
        sym, options, lambda checked: _core.convert_model(sym._handle, args, aux, types, {**checked, **more}), problems
    )


def types_of_inputs(sym, arg_params, input_dtypes, input_shapes):
    """{input: (dtype, shape)} of what callers say; None where they say nothing."""
    inputs = [name for name in sym.list_arguments() if name not in (arg_params or {})]
    return _with_shapes(_input_types(sym, input_dtypes, inputs), input_shapes)


def converted_symbol(sym, input_dtypes, param_dtypes, input_shapes=None, problems=(), **options):
    """What `convert_symbol` returns, as the extension's dict; see `converted_model`."""
    check_symbol(sym)
    parameters = _parameter_types(param_dtypes)
    types = _input_types(sym, input_dtypes, [name for name in sym.list_arguments() if name not in parameters])
    types = _with_shapes(types, input_shapes)
    twice = [name for name in types if name in parameters]
    if twice:
        raise ArgumentError(f"input_dtypes and param_dtypes both name {', '.join(twice)}")
    sym = _with_low_inputs(sym, types, parameters)
    return run_conversion(
        sym, options, lambda checked: _core.convert_symbol(sym._handle, types, parameters, checked), problems
    )


def run_conversion(sym, options, convert_with, found_before=()):
    checked, unmatched, problems = checked_options(sym, options)
    problems = [*found_before, *problems]
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


def report_of(model):
    """The ConversionReport of what `converted_model` or `converted_symbol` returned with report=True."""
    from ..report import ConversionReport

    return ConversionReport(model["report"])


def add_parameter_facts(report, model, arg_params):
    """Says in a report what the conversion did to the numbers of parameters, each of which is read for it."""
    from .denormal_parameters import denormal_parameters
    from .parameter_errors import parameter_errors

    given = readable_dict(arg_params, "arg_params")
    cast = {cast["tensor"] for cast in report.casts if cast["run_time"]}
    low = report.options["target_dtype"]
    report._facts["denormal_parameters"] = denormal_parameters(given, model["arguments"], cast, low)
    after = {**model["arguments"], **model["auxiliary_states"]}
    before = {**after, **given, **model["folded"]}
    report._facts["parameters"] = parameter_errors(report, before, after)


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
