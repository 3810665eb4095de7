"""Conversion of models to low precision.

What each argument may be is checked here, what it means to a model is decided by the extension.
"""

from __future__ import annotations

import resource
import time
import warnings
from typing import TYPE_CHECKING

from ._conversion.calls import add_parameter_facts, converted_model, converted_symbol, report_of
from ._options.conversion import OF_MODELS, problems_of_models
from ._options.signatures import MXNETS, with_options
from .sym import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ._trust.data import OnFailure
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
    given = [name for name in OF_MODELS if options.pop(name) is not None]
    problems = [f"{name}: a symbol has no values to run; use convert_model" for name in given]
    if options["fold_batch_norm"]:
        options["fold_batch_norm"] = None
        problems.append("fold_batch_norm: a symbol has no values to fold; use convert_model")
    options = {**options, "input_shapes": input_shapes, "report": return_report, "problems": problems}
    model = converted_symbol(sym, input_dtypes, param_dtypes, **options)
    converted = Symbol(model["symbol"])
    return (converted, report_of(model)) if return_report else converted


@with_options(
    f"sym arg_params aux_params input_dtypes {MXNETS} cast_params_offline * others input_shapes verify on_failure "
    "return_report"
)
def convert_model(
    sym: Symbol,
    arg_params: Arrays | None,
    aux_params: Arrays | None,
    input_dtypes: DType | Mapping[str, DType] | Sequence[DType] | None = "float32",
    *,
    input_shapes: Shapes | None = None,
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
    begin, first = _Begin(), (sym, arg_params, aux_params)
    of_models = {name: options.pop(name) for name in OF_MODELS}
    options = {**options, "input_dtypes": input_dtypes, "input_shapes": input_shapes}
    problems = problems_of_models(of_models)
    if verify:
        from ._trust.verify import problems_of_request, verified

        problems += problems_of_request(of_models["data"], on_failure)
    if problems:
        converted_model(*first, problems=problems, **options)  # raises, with what else is wrong
    if all(given is None for given in of_models.values()):
        model, data = converted_model(*first, report=return_report, **options), None
        report = report_of(model) if return_report else None
    else:
        model, report, data = _converted_on_data(first, of_models, options, return_report)
    converted = Symbol(model["symbol"]), model["arguments"], model["auxiliary_states"]
    if verify:
        converted, facts = verified(first, converted, data, on_failure)
        if return_report:
            report._facts["verified"] = facts
    if return_report:
        if arg_params is not None:
            add_parameter_facts(report, model, arg_params)
        report._took = begin.until_now()
    return (*converted, report) if return_report else converted


def _converted_on_data(first, of_models, options, return_report):
    """(what `converted_model` returns, its report, data that may be read once more)."""
    accuracy, limits, data, sensitivity = (of_models[name] for name in OF_MODELS)
    ranges = None
    if data is not None:
        from ._trust.data import Reruns, inputs_of_model

        data = Reruns(data, inputs_of_model(first))
    if limits is not None:
        from ._trust.limits import over_limits

        options["over_limit"], ranges = over_limits(first, limits, data, options)
    if accuracy is not None:
        from ._trust.accuracy import convert_to_target  # which most conversions do without

        model, report = convert_to_target(first, accuracy, data, sensitivity, **options)
    elif data is None and sensitivity is None:
        model = converted_model(*first, report=True, **options)
        report = report_of(model)
    else:
        from ._trust.folding import convert_with_better_rounding

        model, report = convert_with_better_rounding(first, data, sensitivity, **options)
    was_interrupted = report.accuracy is not None and report.accuracy["interrupted"]
    if return_report and data is not None and not was_interrupted:
        _add_ranges(report, ranges, first, data)
    return model, report, data


def _add_ranges(report, ranges, first, data):
    from ._trust.ranges import Ranges, facts_of_ranges, kept_batch_norms

    try:
        ranges = ranges or Ranges(first, data, kept_batch_norms(report))
    except KeyboardInterrupt:
        warnings.warn("interrupted: the report has no ranges", stacklevel=4)
        return
    report._facts["ranges"] = facts_of_ranges(ranges, report)


class _Begin:
    """A point in time, and the most memory that the process had until then."""

    def __init__(self):
        self._time, self._bytes = time.perf_counter(), _peak_bytes()

    def until_now(self):
        """What `ConversionReport.took` returns."""
        return {"seconds": time.perf_counter() - self._time, "peak_bytes": _peak_bytes() - self._bytes}


def _peak_bytes():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # which Linux counts in KiB
