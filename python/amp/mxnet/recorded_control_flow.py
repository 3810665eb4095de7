"""Loops and branches on arrays inside of a hybridized block: they become nodes that carry subgraphs.

Functions run on arrays first, for the values of the results, and then once more for the graphs of their bodies.
"""

from .. import _trace, nd
from .._arrays import mapped
from ..base import ArgumentError
from . import symbol_control_flow
from ._nested import flattened


def _results(trace, values, symbols):
    """`values`, nested lists of arrays, as new objects that stand for the symbols of the same form."""
    values = mapped(values, lambda array: type(array)(array))
    for array, symbol in zip(flattened(values)[0], flattened(symbols)[0]):
        trace.mark(array, symbol)
    return values


def foreach(trace, on_arrays, body, data, init_states):
    """`on_arrays(body, data, init_states)` as a node of the graph that `trace` records."""
    with _trace.rehearsal():
        values = on_arrays(body, data, init_states)
        arrays, data_form = flattened(data)
        if arrays[0].shape[0] == 0:
            raise ArgumentError("foreach: inside of a hybridized block the first call needs at least one slice")
        slices = [array[0] for array in arrays]
    states, state_form = flattened(init_states)
    step = trace.on_symbols(
        lambda *given: body(data_form(list(given[: len(slices)])), state_form(list(given[len(slices) :]))),
        [*slices, *states],
    )
    inputs = [[trace.symbol_of(array) for array in group] for group in (arrays, states)]
    scalar_parts = [place for place, part in enumerate(slices) if part.ndim == 0]
    symbols = symbol_control_flow.foreach_node(
        lambda parts, old: step(*parts, *old), *inputs, scalar_parts=scalar_parts
    )
    return _results(trace, values, symbols)


def while_loop(trace, on_arrays, cond, func, loop_vars, max_iterations):
    """`on_arrays(cond, func, loop_vars, max_iterations)` as a node of the graph that `trace` records."""
    variables = list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars]

    def step(*given):
        outputs, new = func(*given)
        return [] if outputs is None else outputs, new

    with _trace.rehearsal():
        outputs, last = on_arrays(cond, func, loop_vars, max_iterations)
        if outputs == []:  # not a single step
            outputs = mapped(step(*variables)[0], lambda one: nd.op.stack(*[nd.op.zeros_like(one)] * max_iterations))
    symbols = symbol_control_flow.while_loop(
        trace.on_symbols(cond, variables),
        trace.on_symbols(step, variables),
        mapped(loop_vars, trace.symbol_of),
        max_iterations,
    )
    return _results(trace, (outputs, last), symbols)


def cond(trace, on_arrays, pred, then_func, else_func):
    """`on_arrays(pred, then_func, else_func)` as a node of the graph that `trace` records."""
    with _trace.rehearsal():
        values = on_arrays(pred, then_func, else_func)
    branches = [trace.on_symbols(function, []) for function in (then_func, else_func)]
    return _results(trace, values, symbol_control_flow.cond(trace.symbol_of(pred), *branches))
