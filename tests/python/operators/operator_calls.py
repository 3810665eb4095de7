"""Calls every function of an MXNet as operator_calls.txt says. Python 3.8, for MXNet's wheels."""

import itertools
import re
from pathlib import Path

import numpy as np

DTYPES = "float16 float32 float64 int8 uint8 int32 int64 bool".split()
TABLE = Path(__file__).with_name("operator_calls.txt")
# Small whole numbers that all dtypes but bool hold; the second have no zeros.
FIRST, SECOND = [1, 2, 3, 1, 2, 3, 2], [2, 1, 1, 3, 2, 3, 1]
# By kind of dtype: numbers of all signs, and numbers to divide by.
SIGNS = {
    "f": ([0.25, -0.5, 0.75, 2.5, -1.25, 0.0, 1.0], [0.5, -1.5, 2.0, 0.75, -0.25, 3.0, 1.25]),
    "i": ([3, -2, 5, 0, -7, 1, 2], [2, -3, 1, 4, 5, -1, 3]),
    "u": ([3, 200, 5, 0, 7, 1, 2], [2, 3, 1, 4, 5, 100, 3]),
    "b": ([1, 0, 1, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1, 1]),
}


def table():
    """({place: {name: [call, ...]}}, {place: {name: reason}}): how functions are called, and why not."""
    calls, reasons, places = {}, {}, []
    for line in TABLE.read_text().splitlines():
        if line.startswith("["):
            places = line.strip("[]").split()
        elif line and not line.startswith("#"):
            for place in places:
                _read_line(line, calls.setdefault(place, {}), reasons.setdefault(place, {}))
    return calls, reasons


def _read_line(line, calls, reasons):
    names, colon, listed = line.partition(": ")
    if colon and " ! " not in names:
        for name in names.split():
            known = calls.setdefault(name, [])
            known += [call for call in listed.split(" | ") if call not in known]
        return
    names, _, reason = line.partition(" ! ")
    reasons.update(dict.fromkeys(names.split(), reason))


def module(mx, place):
    """The module or class of a place such as 'np.linalg'; None where this MXNet has none."""
    found = mx
    for part in place.split("."):
        found = getattr(found, part, None)
    return found


def names(mx, place):
    """The functions of a place; of an array's class everything."""
    found = module(mx, place)
    if isinstance(found, type):
        return [name for name in dir(found) if not name.startswith("_") or name.startswith("__")]
    known = {name: getattr(found, name, None) for name in dir(found) if not name.startswith("_")}
    return sorted(name for name, value in known.items() if callable(value) and not isinstance(value, type))


def cases(place, name, calls):
    """{case: (call, dtype, dtype)} of a function: each call with each dtype that it asks for."""
    found = {}
    for call in calls:
        takes_first, takes_second = re.search(r"\b([ANSK]\(|D\b)", call), re.search(r"\b([BE]\(|D2\b)", call)
        shown = re.sub(r"\bf\(", f"{place}.{name}(", call.lstrip("~-"), count=1)
        for pair in itertools.product(DTYPES if takes_first else [""], DTYPES if takes_second else [""]):
            found[" ".join([shown, *filter(None, pair)])] = (call, *pair)
    return found


class Operands:
    """What a call may name: functions that make arrays of its dtypes; `leaves` are those that may have gradients."""

    def __init__(self, mx, place, first, second):
        self.arrays = (mx.nd if place.startswith("nd") else mx.np).array
        self.first, self.second = first or "float32", second or "float32"
        self.leaves, self.wants_gradients = [], False

    def names(self):
        """{name: value} for `eval`."""
        kinds = [SIGNS[np.dtype(dtype).kind] for dtype in (self.first, self.second)]
        return {
            "A": self._maker(FIRST, self.first),
            "S": self._maker(SECOND, self.first),
            "N": self._maker(kinds[0][0], self.first),
            "B": self._maker(SECOND, self.second),
            "E": self._maker(kinds[1][1], self.second),
            "F": self._maker(FIRST, "float32"),
            "K": lambda values: self.leaf(values, self.first),
            "L": lambda values: self.leaf(values, "float32"),
            "I": lambda values: self.arrays(values, dtype="int32"),
            "J": lambda values: self.arrays(values, dtype="int64"),
            "D": self.first,
            "D2": self.second,
            "onp": np,
        }

    def _maker(self, values, dtype):
        def make(*shape):
            shape = shape or (2, 2)
            return self.leaf(np.resize(np.array(values, dtype), shape).tolist() if 0 in shape else values, dtype, shape)

        return make

    def leaf(self, values, dtype, shape=None):
        """An array of these values, of which the gradient is asked."""
        filled = np.array(values, "float64")
        filled = np.resize(filled, shape) if shape is not None else filled
        array = self.arrays(filled.astype(dtype), dtype=dtype)
        self.leaves.append(array)
        if self.wants_gradients:
            array.attach_grad()
        return array


def outcome(mx, place, name, call, first, second):
    """{'of': [kind, dtype, shape, values] of each result, 'grad': the same of gradients or 'refused'}.

    Or 'refused', or 'absent' for a function that this MXNet lacks.
    """
    operands = Operands(mx, place, first, second)
    function = _function(mx, place, name)
    if function is None:
        return "absent"
    try:
        results = shown_results(mx, eval(call.lstrip("~-"), {**operands.names(), "f": function}), call.startswith("~"))
    except Exception:
        return "refused"
    found = {"of": results}
    if call[0] not in "~-":
        found["grad"] = gradients(mx, Operands(mx, place, first, second), function, call)
    return found


def _function(mx, place, name):
    where = module(mx, place)
    if not isinstance(where, type) or not hasattr(where, name):
        return getattr(where, name, None)
    return lambda array, *args, **options: getattr(array, name)(*args, **options)


def gradients(mx, operands, function, call):
    """Of the sum of all results, weighted 1, 2, 3, 1, ...; 'refused' where there are none."""
    operands.wants_gradients = True
    try:
        with mx.autograd.record():
            results = eval(call, {**operands.names(), "f": function})
        arrays = [each for each in flat(results) if isinstance(each, (mx.nd.NDArray, mx.np.ndarray))]
        if not arrays:
            return "refused"
        heads = [_weights(mx, array) for array in arrays]
        mx.autograd.backward(arrays, heads)
        return [described(mx, array.grad, False) for array in operands.leaves]
    except Exception:
        return "refused"


def _weights(mx, array):
    module_of = mx.np if isinstance(array, mx.np.ndarray) else mx.nd
    values = np.resize([1, 2, 3], array.shape).astype(array.dtype)
    return module_of.array(values, dtype=array.dtype)


def flat(results):
    """The parts of tuples and lists of tuples and lists."""
    if isinstance(results, (list, tuple)):
        return [part for each in results for part in flat(each)]
    return [results]


def shown_results(mx, results, is_random):
    """What each result is."""
    return [described(mx, each, is_random) for each in flat(results)]


def described(mx, value, is_random):
    """[kind, dtype, shape, values] of an array of MXNet ('mx') or NumPy, or a Python object."""
    if isinstance(value, (mx.nd.NDArray, mx.np.ndarray)):
        value, kind = value.asnumpy(), "np" if isinstance(value, mx.np.ndarray) else "nd"
    else:
        kind = "numpy" if isinstance(value, np.ndarray) else "number" if np.isscalar(value) else type(value).__name__
    if isinstance(value, (np.ndarray, np.generic)):
        return [kind, value.dtype.name, list(value.shape), None if is_random else rounded(value)]
    if isinstance(value, (bool, int, float)):
        return [kind, np.array(value).dtype.name, [], None if is_random else rounded(np.array(value))]
    return ["dtype", value.name, [], None] if isinstance(value, np.dtype) else [kind, str(value)[:60], [], None]


def rounded(values):
    """Flat numbers of six digits."""
    if values.dtype.kind == "c":
        values = np.stack([values.real, values.imag])
    if values.dtype.kind not in "fiub":
        return [str(value) for value in values.ravel().tolist()]
    return [float(f"{value:.6g}") if isinstance(value, float) else int(value) for value in values.ravel().tolist()]


def prepare(mx, place):
    """NumPy's semantics for `np`, those of 1.x for `nd`; one seed."""
    mx.npx.reset_np() if place.startswith("nd") else mx.npx.set_np()
    mx.random.seed(1)
