"""Forward and backward runs of a symbol on arrays that may change between them."""

import numpy as np

from .. import _core, _random_key
from .._arrays import readable
from .._core import NDArray
from ..base import ArgumentError, did_you_mean
from ..sym import Symbol

REQUESTS = ("write", "add", "null")


def requests_of(sym, grad_req):
    """{argument: 'write', 'add' or 'null'} of all arguments.

    `grad_req` is one request for all, a list in the order of the arguments, or a dict {argument: request}, in which
    those that are missing are 'null'. Raises ArgumentError.
    """
    arguments = sym.list_arguments()
    if isinstance(grad_req, str):
        given = dict.fromkeys(arguments, grad_req)
    elif isinstance(grad_req, (list, tuple)):
        if len(grad_req) != len(arguments):
            raise ArgumentError(f"grad_req: expected {len(arguments)} requests, got {len(grad_req)}")
        given = dict(zip(arguments, grad_req))
    elif isinstance(grad_req, dict):
        unknown = [name for name in grad_req if name not in arguments]
        if unknown:
            raise ArgumentError(
                f"grad_req: the symbol has no argument {unknown[0]!r}{did_you_mean(str(unknown[0]), arguments)}"
            )
        given = {name: grad_req.get(name, "null") for name in arguments}
    else:
        raise ArgumentError(f"grad_req: expected a request, a list or a dict of them, got {type(grad_req).__name__}")
    for name, request in given.items():
        if request not in REQUESTS:
            raise ArgumentError(f"grad_req of '{name}': expected 'write', 'add' or 'null', got {request!r}")
    return given


def array_of(value, what):
    """`value` as an NDArray that shares its memory where that is row-major."""
    value = readable(value, what)
    return value if isinstance(value, NDArray) else NDArray(value)


class GradientRuns:
    """One plan for outputs and gradients.

    `arrays` is {name: NDArray} of arguments and auxiliary states that runs read as they are then; `input_types` is
    {name: (dtype, shape)} of the other variables. `requests` is what `requests_of` gives; `of_integers` says what a
    request for an array of integers is: 'error', 'none', or 'written', as in MXNet. `gradients` ({name: NDArray}) are
    the arrays to write to; those that are missing are new and hold zeros. `settings` are the
    options for the extension's class.
    """

    def __init__(self, sym, arrays, input_types, requests, *, of_integers, gradients, is_train, settings):
        self.arrays = arrays
        types = {name: (array.dtype, array.shape) for name, array in arrays.items()} | input_types
        self._differentiated = _differentiated(requests, types, of_integers)
        self.handle = _core.GradientExecutor(sym._handle, types, self._differentiated, is_train, settings)
        gradient_types = dict(zip(self._differentiated, self.handle.gradient_types()))
        self.gradients = {
            name: gradients.get(name) if gradients.get(name) is not None else NDArray(np.zeros(shape, dtype)).copy()
            for name, (dtype, shape) in gradient_types.items()
        }
        self._adds = [requests[name] == "add" for name in self._differentiated]
        self._states, self._outputs, self._has_moved = [], [], False
        self.last_arrays, self.last_key = {}, None  # of the last forward run: {name: array}, and its random key

    @property
    def symbol(self):
        """The Symbol that runs: converted, where a conversion was asked for."""
        return Symbol(self.handle.symbol())

    @property
    def _watched_symbol(self):
        """What monitors see: low precision as it was converted, also where this machine runs it in float32."""
        return Symbol(self.handle.symbol_as_converted())

    @property
    def differentiated(self):
        """Names of the arguments that have a gradient."""
        return list(self._differentiated)

    def forward(self, inputs, key=None):
        """The outputs for these arrays, {name: array}, with the random numbers of `key` or of a new one."""
        known = {**self.arrays, **inputs}
        missing = [name for name in self.handle.input_names() if known.get(name) is None]
        if missing:
            raise ArgumentError(f"inputs are missing: {', '.join(missing)}")
        key = _random_key.draw() if key is None else key
        outputs = self.handle.forward([known[name] for name in self.handle.input_names()], key)
        self._states = [known[name] for name in self.handle.state_names()]
        self._outputs = list(outputs)
        self._has_moved = False
        self.last_arrays, self.last_key = known, key
        return outputs

    def backward(self, head_gradients, retain):
        """Writes gradients, and moves auxiliary states: once behind each `forward`."""
        moved = [state.copy() for state in self._states] if self._has_moved else []
        gradients = [self.gradients[name] for name in self._differentiated]
        heads = [self._apart_from_outputs(head) for head in _list_of(head_gradients)]
        self.handle.backward(heads, gradients, self._adds, bool(retain), self._states)
        for state, value in zip(self._states, moved):
            state[...] = value
        self._has_moved = True

    def _apart_from_outputs(self, head):
        """Outputs may be head gradients: a copy, because a plan that runs again writes to them."""
        return head.copy() if any(head is output for output in self._outputs) else head

    def profile(self, inputs, runs):
        known = {**self.arrays, **inputs}
        return self.handle.profile([known[name] for name in self.handle.input_names()], runs)


def _differentiated(requests, types, of_integers):
    names = [name for name, request in requests.items() if request != "null"]
    integers = [name for name in names if not _is_float(types.get(name, (None,))[0])]
    if integers and of_integers == "error":
        raise ArgumentError(f"grad_req: '{integers[0]}' is an array of integers; it has no gradient")
    return [name for name in names if of_integers == "written" or name not in integers]


def _is_float(dtype):
    return dtype is None or _core.dtype_name(dtype) in ("float16", "bfloat16", "float32", "float64")


def _list_of(head_gradients):
    """One array or None for each output; [] where nothing is said."""
    if head_gradients is None:
        return []
    if not isinstance(head_gradients, (list, tuple)):
        head_gradients = [head_gradients]
    return [None if head is None else readable(head, f"head_gradients[{i}]") for i, head in enumerate(head_gradients)]
