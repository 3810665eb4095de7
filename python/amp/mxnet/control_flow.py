"""Loops and branches on arrays: `mx.nd.contrib.foreach`, `while_loop` and `cond` run their Python functions at once.

Inside of a hybridized block they become nodes of its graph.
"""

from .. import _trace, nd
from ..base import ArgumentError
from . import recorded_control_flow
from ._nested import flattened

__all__ = ["cond", "foreach", "isfinite", "isinf", "isnan", "while_loop"]


def is_true(condition):
    """The truth of an array of one element."""
    return bool(condition.asscalar())


def _stacked(outputs, form):
    return form([nd.op.stack(*column, axis=0) for column in zip(*outputs)])


def foreach(body, data, init_states, name=None):
    """Calls `body(slice, states)` for each slice of `data` along its first axis: (outputs, states).

    `data` and states are arrays or nested lists of them. Outputs of all calls are stacked. `name` has no effect.

    >>> step = lambda x, states: (x * 2, states + x)
    >>> outputs, states = mx.nd.contrib.foreach(step, amp.nd.array([1, 2, 3]), amp.nd.zeros((1,)))
    >>> outputs.asnumpy().ravel(), states.asnumpy()
    (array([2., 4., 6.], dtype=float32), array([6.], dtype=float32))
    """
    trace = _trace.current()
    if trace is not None:
        return recorded_control_flow.foreach(trace, _unrolled, body, data, init_states)
    return _unrolled(body, data, init_states)


def _unrolled(body, data, init_states):
    arrays, form = flattened(data)
    if not arrays or len({array.shape[0] for array in arrays}) != 1:
        raise ArgumentError("foreach: data are arrays with equally many slices")
    states, outputs, out_form = init_states, [], lambda _: []
    for i in range(arrays[0].shape[0]):
        out, states = body(form([array[i] for array in arrays]), states)
        flat, out_form = flattened(out)
        outputs.append(flat)
    return _stacked(outputs, out_form), states


def while_loop(cond, func, loop_vars, max_iterations=None, name=None):
    """Calls `func(*loop_vars)` as long as `cond(*loop_vars)` is true: (outputs, loop_vars).

    `func` gives (outputs of the step, new loop_vars). Outputs of all steps are stacked and, up to `max_iterations`,
    followed by zeros. Raises ArgumentError where `cond` is false at once: outputs have no shape then.

    >>> step = lambda i: (i, [i + 1])
    >>> outputs, (last,) = mx.nd.contrib.while_loop(lambda i: i < 2, step, [amp.nd.zeros((1,))], max_iterations=3)
    >>> outputs.asnumpy().ravel(), last.asnumpy()
    (array([0., 1., 0.], dtype=float32), array([2.], dtype=float32))
    """
    if max_iterations is None:
        raise ArgumentError("while_loop: max_iterations is missing")
    trace = _trace.current()
    if trace is not None:
        return recorded_control_flow.while_loop(trace, while_loop, cond, func, loop_vars, max_iterations)
    is_list = isinstance(loop_vars, (list, tuple))
    variables = list(loop_vars) if is_list else [loop_vars]
    if not variables:
        raise ArgumentError("while_loop: loop_vars are empty")
    outputs, form = [], lambda _: []
    while len(outputs) < max_iterations and is_true(cond(*variables)):
        out, new = func(*variables)
        new = list(new) if isinstance(new, (list, tuple)) else [new]
        if len(new) != len(variables):
            raise ArgumentError(f"while_loop: func gave {len(new)} loop_vars, expected {len(variables)}")
        variables = new
        flat, form = flattened([] if out is None else out)
        outputs.append(flat)
    if not outputs:
        return [], variables if is_list else variables[0]
    zeros = [nd.op.zeros_like(array) for array in outputs[0]]
    outputs += [zeros] * (max_iterations - len(outputs))
    return _stacked(outputs, form), variables if is_list else variables[0]


def cond(pred, then_func, else_func, name=None):
    """What `then_func()` gives where the array `pred`, of one element, is not 0, else what `else_func()` gives.

    >>> mx.nd.contrib.cond(amp.nd.array([1]), lambda: "yes", lambda: "no")
    'yes'
    """
    trace = _trace.current()
    if trace is not None:
        return recorded_control_flow.cond(trace, cond, pred, then_func, else_func)
    return then_func() if is_true(pred) else else_func()


def isnan(data):
    """1 where an element is a NaN, else 0.

    >>> mx.nd.contrib.isnan(amp.nd.array([1, float("nan")])).asnumpy()
    array([0., 1.], dtype=float32)
    """
    return data != data


def isinf(data):
    """1 where an element is infinite, else 0.

    >>> mx.nd.contrib.isinf(amp.nd.array([1, float("-inf")])).asnumpy()
    array([0., 1.], dtype=float32)
    """
    return abs(data) == float("inf") if data.dtype.kind not in "iub" else data != data


def isfinite(data):
    """1 where an element is neither infinite nor a NaN, else 0.

    >>> mx.nd.contrib.isfinite(amp.nd.array([1, float("nan")])).asnumpy()
    array([1., 0.], dtype=float32)
    """
    return (data == data) * (abs(data) != float("inf")) if data.dtype.kind not in "iub" else data == data
