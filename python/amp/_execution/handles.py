"""The extension's executors, and what stands in their place for some options."""

from __future__ import annotations

import warnings

from .. import _core
from .._options.executor import OPTIONS, settings_of_gradients, settings_of_plain_runs
from .._paths import encoded
from ..base import ArgumentError
from ..sym.slots import inputs_of
from .audited_runs import AuditedRuns
from .given_model import only
from .gradient_runs import GradientRuns, array_of
from .row_runs import row_runs
from .shaped_plans import ShapedPlans


def handle_of(symbol, types, options, bind):
    """What runs a model with these options; `bind(types, **options)` makes the extension's executor.

    `types` is {name: (dtype, shape)}; a shape may have None for a size.
    """
    options = dict(options)
    by_rows = OPTIONS["batch_invariant"].check("batch_invariant", options.pop("batch_invariant", False))
    count = OPTIONS["plans"].check("plans", options.pop("plans", OPTIONS["plans"].default))

    def bound(input_types):
        return bind(input_types, **options)

    if any(isinstance(shape, (list, tuple)) and None in shape for _, shape in types.values()):
        if by_rows:
            raise ArgumentError("batch_invariant: expected known sizes of all inputs")
        handle = _shaped_plans(symbol, types, bound, count)
    else:
        handle = row_runs(symbol, types, options, bound) if by_rows else bound(types)
    return AuditedRuns(handle, options["audit"]) if options.get("audit") else handle


def _shaped_plans(symbol, types, bound, count):
    names = [name for name in symbol.list_arguments() if name in types]
    known = {name: (_core.numpy_dtype(types[name][0] or "float32"), types[name][1]) for name in names}
    labels = [name for name in symbol.list_arguments() if name in inputs_of(symbol) and name not in types]

    def bind_for(of_inputs):
        handle = bound({**types, **of_inputs})
        if handle.notice():
            warnings.warn(handle.notice(), stacklevel=6)
        return handle

    return ShapedPlans(known, labels, symbol.list_outputs(), bind_for, count)


def bind(sym, arg_params, aux_params, input_types, source=None, **options):
    """The extension's executor; what `options` may be says the table of options.

    `source` reads (arguments, auxiliary states) again: with it the executor keeps what its steps read alone.
    """
    return _core.Executor(
        sym._handle,
        only(arg_params, sym.list_arguments()),
        only(aux_params, sym.list_auxiliary_states()),
        input_types,
        settings_of_plain_runs(sym, **options),
        source,
    )


def bind_file(sym, params_file, input_types, source, **options):
    """The same of the parameters of a file, which the executor alone has: each is packed and gone."""
    settings = settings_of_plain_runs(sym, **options)
    return _core.open_executor(sym._handle, encoded(params_file), input_types, settings, source)


def gradient_runs(
    sym,
    arg_params,
    aux_params,
    input_types,
    requests,
    *,
    of_integers="error",
    gradients=None,
    is_train=True,
    **options,
):
    """Runs with gradients, see _execution/gradient_runs; `gradients` is {argument: NDArray} of arrays to write to."""
    settings = settings_of_gradients(sym, **options)
    given = {
        **only(arg_params, sym.list_arguments()),
        **only(aux_params, sym.list_auxiliary_states()),
    }
    return GradientRuns(
        sym,
        {name: array_of(array, f"'{name}'") for name, array in given.items()},
        {name: type for name, type in input_types.items() if name not in given},
        requests,
        of_integers=of_integers,
        gradients=gradients or {},
        is_train=is_train,
        settings=settings,
    )
