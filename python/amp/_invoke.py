"""Operators on arrays, one at a time."""

from . import _autocast, _core, _devices, _recording, _trace
from ._core import NDArray
from ._per_process import per_process
from .base import ArgumentError

_PLANS_KEPT = 1024


@per_process
def _runner():
    return _core.OperatorRunner(_PLANS_KEPT)


def invoke(op, positional, by_name, attributes, out=None, result_class=None):
    """The results of a registered operator: a list of arrays.

    `positional` and {input: array} `by_name` are NDArrays, `attributes` is {key: text}. Results are of the first
    array's class unless `result_class` says otherwise. `out` is an array, or a list of as many arrays as there are
    results, to write to; then that is what is returned.
    """
    cls = result_class or _class_of(positional, by_name)
    if _autocast.is_active():
        positional, by_name = _autocast.cast_arrays(op, attributes, positional, by_name, invoke)
    if _recording.is_active() or _core.draws_random_numbers(op, attributes):
        outputs = _recording.run_operator(op, attributes, positional, by_name, cls)
    else:
        outputs = _runner().run(op, attributes, positional, by_name)
        if cls is not NDArray:
            outputs = [cls(output) for output in outputs]
    if _devices.are_used:
        _devices.carry(outputs, (*positional, *by_name.values()))
    trace = _trace.current()
    if trace is not None:
        trace.record(op, attributes, positional, by_name, outputs)
    if out is None:
        return outputs
    return written(op, outputs, out)


def _class_of(positional, by_name):
    for array in (*positional, *by_name.values()):
        return type(array)
    return NDArray


def written(op, outputs, out):
    """The arrays `out`, one or a list, with the outputs in them."""
    _trace.refuse("writing to `out`")
    targets = list(out) if isinstance(out, (list, tuple)) else [out]
    if len(targets) != len(outputs):
        raise ArgumentError(f"{op}: expected {len(outputs)} arrays in `out`, got {len(targets)}")
    for target, output in zip(targets, outputs):
        if not isinstance(target, NDArray):
            raise ArgumentError(f"{op}: `out` must be an NDArray, got {type(target).__name__}")
        if target.shape != output.shape:
            raise ArgumentError(f"{op}: `out` has shape {target.shape}, the result {output.shape}")
        target[...] = output
    return targets
