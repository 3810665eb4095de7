"""Gradients of what runs on arrays: MXNet's `autograd`.

Inside of `record()` every operator on arrays with `attach_grad()`, and on what was computed from them, is recorded;
`backward()` then writes gradients. Modes belong to the thread. In-place writes to recorded arrays are errors.
"""

import itertools

import numpy as np

from .. import _backward, _recording, _trace
from .._alternate import phase_of_operators
from .._core import NDArray
from ..base import ArgumentError, UnsupportedError
from ..sym import Variable
from ._missing import getter

__all__ = [
    "NDArray",
    "Function",
    "backward",
    "get_symbol",
    "grad",
    "is_recording",
    "is_training",
    "mark_variables",
    "pause",
    "predict_mode",
    "record",
    "set_recording",
    "set_training",
    "train_mode",
]


def record(train_mode=True):
    """A `with` block that is recorded, in training mode unless `train_mode` is False.

    >>> x = amp.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    [2. 4.]
    <NDArray float32[2]>
    """
    return _recording.scope(True, bool(train_mode))


def pause(train_mode=False):
    """A `with` block that is not recorded: what is computed in it is a constant.

    >>> with mx.autograd.record(), mx.autograd.pause():
    ...     print(mx.autograd.is_recording())
    False
    """
    return _recording.scope(False, bool(train_mode))


def train_mode():
    """A `with` block in training mode: dropout drops, batch norms use the statistics of the batch.

    >>> with mx.autograd.train_mode():
    ...     print(mx.autograd.is_training())
    True
    """
    return _recording.scope(is_training=True)


def predict_mode():
    """A `with` block in which operators behave as at inference, recorded or not.

    >>> with mx.autograd.record(), mx.autograd.predict_mode():
    ...     print(mx.autograd.is_training(), mx.autograd.is_recording())
    False True
    """
    return _recording.scope(is_training=False)


def is_training():
    """Whether this thread is in training mode.

    >>> mx.autograd.is_training()
    False
    """
    return _trace.mode("is_training")


def is_recording():
    """Whether this thread records.

    >>> mx.autograd.is_recording()
    False
    """
    return _trace.mode("is_recording")


def set_training(train_mode):
    """Sets the training mode of this thread; returns what it was.

    >>> mx.autograd.set_training(False)
    False
    """
    before, _recording.modes.is_training = _recording.modes.is_training, bool(train_mode)
    return before


def set_recording(is_recording):
    """Sets whether this thread records; returns what it was.

    >>> mx.autograd.set_recording(False)
    False
    """
    before, _recording.modes.is_recording = _recording.modes.is_recording, bool(is_recording)
    return before


def mark_variables(variables, gradients, grad_reqs="write"):
    """Attaches arrays to write gradients to; see `NDArray.attach_grad`. `grad_reqs` is one request, or one each.

    Raises ArgumentError for arrays of integers and for gradients of another shape.

    >>> x, gradient = amp.nd.array([3]), amp.nd.zeros((1,))
    >>> mx.autograd.mark_variables([x], [gradient], "add")
    >>> x.grad is gradient
    True
    """
    variables, gradients = _list(variables), _list(gradients)
    requests = [grad_reqs] * len(variables) if isinstance(grad_reqs, str) else list(grad_reqs)
    if not len(variables) == len(gradients) == len(requests):
        raise ArgumentError(
            f"mark_variables: {len(variables)} variables, {len(gradients)} gradients and {len(requests)} requests"
        )
    for variable, gradient, request in zip(variables, gradients, requests):
        _backward.attach_buffer(variable, gradient, request)


def backward(heads, head_grads=None, retain_graph=False, train_mode=True):
    """Writes the gradients of the sum of all heads to the arrays with `attach_grad()` that they depend on.

    Heads of any shape are summed, each element times that of its head gradient; None stands for ones. The graph is
    freed unless `retain_graph` is True. Raises ArgumentError for heads that were not recorded and for a graph that was
    freed, UnsupportedError for an operator without a gradient.

    >>> x = amp.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y, z = x * 2, x * x
    >>> mx.autograd.backward([y, z], [None, amp.nd.array([1, 0])])
    >>> x.grad
    [4. 2.]
    <NDArray float32[2]>
    """
    heads = _list(heads)
    _backward.backward(heads, _head_gradients(heads, head_grads), retain_graph, train_mode)


def grad(heads, variables, head_grads=None, retain_graph=None, create_graph=False, train_mode=True):
    """The gradients of the sum of all heads with respect to variables, as new arrays; `.grad` of no array changes.

    With `create_graph` they are recorded and can be differentiated again, where the backward operators have gradients
    themselves; the graph is then kept. Returns a list. Errors are those of `backward`, and ArgumentError for a variable
    that the heads do not depend on.

    >>> x = amp.nd.array([3])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     first = mx.autograd.grad(x * x * x, [x], create_graph=True)[0]
    >>> first.backward()
    >>> x.grad
    [18.]
    <NDArray float32[1]>
    """
    heads, arrays = _list(heads), _list(variables)
    if not arrays:
        raise ArgumentError("grad: no variable is given")
    retain_graph = create_graph if retain_graph is None else retain_graph
    gradients = _head_gradients(heads, head_grads)
    return _backward.gradients_of(heads, arrays, gradients, retain_graph, create_graph, train_mode)


def get_symbol(x):
    """What was recorded of an array as a Symbol; variables are arrays that came from nowhere.

    Raises ArgumentError for an array that was not recorded, UnsupportedError where a Function takes part.

    >>> x = amp.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = x.exp()
    >>> mx.autograd.get_symbol(y).list_arguments()
    ['var0']
    """
    names = (f"var{i}" for i in itertools.count())
    known = {}

    def symbol_of(place):
        key = _backward.key_of(place) if place is not None else object()
        if key not in known:
            known[key] = Variable(next(names))
        return known[key]

    for number, node in enumerate(_backward.Graph([x]).nodes):
        if node.is_spent:
            raise ArgumentError(f"get_symbol: the graph behind {node.name} was freed by backward()")
        if node.describe is None:
            raise UnsupportedError(f"get_symbol: {node.name} has no symbol")
        outputs = node.describe([symbol_of(place) for place in node.places], f"{node.name.lower()}{number}")
        known.update(((id(node), i), outputs[i]) for i in range(len(node.types)))
    return symbol_of(x._place)


def _list(arrays):
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]


def _head_gradients(heads, given):
    if given is None:
        return [None] * len(heads)
    given = _list(given)
    if len(given) != len(heads):
        raise ArgumentError(f"backward: {len(heads)} heads and {len(given)} head gradients")
    return given


class Function:
    """A function on arrays with a gradient that is written by hand.

    Subclasses define `forward(self, *inputs)` and `backward(self, *output_gradients)`, which gives one gradient for
    each input (None: zero). What `forward` does is not recorded. An object is called once.

    >>> class Doubled(mx.autograd.Function):
    ...     def forward(self, x):
    ...         return 2 * x
    ...     def backward(self, dy):
    ...         return 2 * dy
    >>> x = amp.nd.array([1, 2])
    >>> x.attach_grad()
    >>> with mx.autograd.record():
    ...     y = Doubled()(x)
    >>> y.backward()
    >>> x.grad
    [2. 2.]
    <NDArray float32[2]>
    """

    def __init__(self):
        self._used = False
        self.saved_tensors = ()

    def save_for_backward(self, *args):
        """Keeps arrays as `saved_tensors` for `backward`."""
        self.saved_tensors = args

    def __call__(self, *inputs):
        """The result of `forward`, as it is."""
        name = type(self).__name__
        if "_used" not in self.__dict__:
            raise ArgumentError(f"{name}: call super().__init__() first")
        if self._used:
            raise ArgumentError(f"{name}: an object is called once; make another one")
        self._used = True
        with _recording.scope(is_recording=False):
            results = self.forward(*inputs)
        arrays = [array for array in inputs if isinstance(array, NDArray)]
        if not any(map(_recording.is_recorded, arrays)):
            return results
        outputs = [_backward.detached(output) for output in _list(results)]
        _FunctionNode(self, inputs, outputs).mark(outputs, arrays)
        return outputs if isinstance(results, (list, tuple)) else outputs[0]

    def forward(self, *inputs):
        """What the function computes. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def backward(self, *output_grads):
        """The gradients of the inputs. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no backward")


class _FunctionNode(_recording.Node):
    describe = None

    def __init__(self, function, inputs, outputs):
        super().__init__(type(function).__name__, [getattr(array, "_place", None) for array in inputs], outputs)
        self.function = function
        self.shapes = [getattr(array, "shape", None) for array in inputs]

    def gradients(self, heads, is_asked, create_graph):
        given = [self._array(i, head) for i, head in enumerate(heads)]
        with phase_of_operators(is_backward=True):
            found = _list(self.function.backward(*given))
        if len(found) != len(is_asked):
            raise ArgumentError(f"{self.name}.backward returned {len(found)} gradients for {len(is_asked)} inputs")
        for gradient, shape, asked in zip(found, self.shapes, is_asked):
            if gradient is not None and not isinstance(gradient, NDArray):
                raise ArgumentError(f"{self.name}.backward returned {type(gradient).__name__} among gradients")
            if asked and gradient is not None and gradient.shape != shape:
                raise ArgumentError(
                    f"{self.name}.backward returned a gradient of shape {gradient.shape} for an input of shape {shape}"
                )
        return found

    def _array(self, i, head):
        cls, shape, dtype = self.types[i]
        return cls(np.zeros(shape, dtype) if head is None else head)

    def free(self):
        super().free()
        self.function = None


__getattr__ = getter(__name__)
