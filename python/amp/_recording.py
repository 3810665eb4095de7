"""What runs on arrays while gradients are recorded.

An array that takes part has a place (`NDArray._place`): it is a `Leaf`, which has a gradient; a
`Result` of a node; or a `Constant` that a node reads. A node is a run whose gradients are known. Nodes refer
to places, not to arrays, so that a graph lives as long as its results do. Modes belong to the thread.
"""

import contextlib
import threading
import weakref

import numpy as np

from . import _core, _random_key
from ._alternate import phase_of_operators
from ._core import NDArray
from ._per_process import per_process
from .base import ArgumentError, UnsupportedError
from .sym import Symbol

_PLANS_KEPT = 4096
write = NDArray.__setitem__  # without the checks of indexing.set_item


class _Modes(threading.local):
    is_recording = False
    is_training = False


modes = _Modes()


@contextlib.contextmanager
def scope(is_recording=None, is_training=None):
    """The modes inside of a `with` block; None leaves one as it is."""
    before = modes.is_recording, modes.is_training
    modes.is_recording = before[0] if is_recording is None else is_recording
    modes.is_training = before[1] if is_training is None else is_training
    try:
        # What is recorded is a forward pass, also inside of an operator's backward pass.
        with phase_of_operators(_core.is_backward() and not modes.is_recording):
            yield
    finally:
        modes.is_recording, modes.is_training = before


def is_active():
    """Whether runs on arrays of this thread are more than inference."""
    return modes.is_recording or modes.is_training


class Leaf:
    """The place of an array to which a gradient is attached: zeros of its class and type until there is one."""

    def __init__(self, array, request, gradient=None):
        self._like = type(array), array.shape, array.dtype, array._device_id
        self.request, self._gradient = request, gradient
        self._is_own = gradient is None  # no program has given the gradient's memory
        self.is_fresh = False  # the gradient was written since the last step of a trainer
        self.on_stored = None  # called once a backward pass has written it: maybe while it goes on

    @property
    def has_gradient(self):
        """Whether there is an array for it, or may be."""
        return self.request != "null" or not self._is_own

    @property
    def gradient(self):
        """The array that gradients are written to."""
        if self._gradient is None:
            cls, shape, dtype, device = self._like
            self._gradient = cls(np.zeros(shape, dtype))
            self._gradient._device_id = device
        return self._gradient

    def store(self, value):
        """Writes an array or a number to the gradient."""
        if self._is_own:
            replace(self.gradient, value)
        else:
            write(self.gradient, ..., value)


class Result:
    """The place of output `index` of a node."""

    __slots__ = ("index", "node")

    def __init__(self, node, index):
        self.node, self.index = node, index


class Retained(Result):
    """The place of an output to which a gradient is attached, too, and which stays part of its graph."""

    __slots__ = ("leaf",)

    def __init__(self, result, leaf):
        super().__init__(result.node, result.index)
        self.leaf = leaf
        self.node.retained = [*self.node.retained, self]

    def drop(self):
        """The plain place, without the gradient."""
        self.node.retained = [other for other in self.node.retained if other is not self]
        return Result(self.node, self.index)


def leaf_of(array):
    """The `Leaf` that holds the gradient attached to an array, or None."""
    place = array._place
    return place.leaf if isinstance(place, Retained) else place if isinstance(place, Leaf) else None


class Constant:
    """The place of an array without gradient that a node reads."""

    __slots__ = ("reader",)

    def __init__(self, node):
        self.reader = weakref.ref(node)


def is_differentiable(place):
    """Whether a gradient may arrive at a place."""
    return isinstance(place, Result) or isinstance(place, Leaf) and place.request != "null"


def is_spent(place):
    """Whether a backward pass has freed the graph behind a place: what is computed from it takes it as a constant."""
    return isinstance(place, Result) and place.node.is_spent


def is_recorded(array):
    """Whether what runs on `array` now is recorded for its gradient."""
    return modes.is_recording and is_differentiable(array._place) and not is_spent(array._place)


def refuse(name, *arrays):
    """Raises UnsupportedError where one of the arrays is recorded: `name` has no operator, and so no gradient."""
    if modes.is_recording and any(isinstance(a, NDArray) and is_differentiable(a._place) for a in arrays):
        raise UnsupportedError(
            f"{name} has no gradient: it is computed by NumPy. Inside of autograd.record() use an operator, "
            "detach() the array, or compute it inside of autograd.pause()"
        )


class Node:
    """A run of which the gradients are known. `places` are those of its inputs."""

    def __init__(self, name, places, outputs):
        self.name, self.places = name, places
        self.types = [(type(output), output.shape, output.dtype) for output in outputs]
        self.is_spent = False
        # By input, once `gradients` has run: does it overwrite what it is to be added to? SoftmaxOutput's does.
        self.replaces = [False] * len(places)
        # Set while `gradients` runs: may be called with (input, gradient) before it returns.
        self.observer = None
        self.retained = ()  # the `Retained` among the places of its outputs

    def mark(self, outputs, inputs):
        """The outputs become results of the node, inputs without place constants of it."""
        for i, output in enumerate(outputs):
            output._place = Result(self, i)
        for array in inputs:
            if array._place is None:
                array._place = Constant(self)

    def owns_gradient(self):
        """Whether there may be gradients where none arrives, as behind a loss."""
        return True

    def gradients(self, heads, is_asked, create_graph):
        """The gradients of the inputs, an array or None (zero) each; `heads` go by output, None where none arrives."""
        raise NotImplementedError

    def free(self):
        """Frees what only gradients need."""
        self.places = self.retained = ()


class RunNode(Node):
    """A run of an operator or a graph in the extension. `describe(symbols of the inputs, name)` gives its symbol."""

    def __init__(self, name, run, inputs, places, outputs, describe=None):
        super().__init__(name, places, outputs)
        self.run, self.inputs, self.describe = run, inputs, describe

    def owns_gradient(self):
        """As for every node."""
        return self.run.owns_gradient()

    def gradients(self, heads, is_asked, create_graph):
        """As for every node. Auxiliary states move with each call."""
        if create_graph:
            return self._recorded_gradients(heads, is_asked)
        gradients, states, self.replaces = self.run.backward(heads, is_asked)
        self._move(states)
        return gradients

    def _recorded_gradients(self, heads, is_asked):
        self._move(self.run.backward(heads, [False] * len(is_asked))[1])
        own = [Result(self, i) for i in range(len(self.types))]
        own += [None] * (self.run.num_kept() - len(own))
        places = [*self.places, *own, *(None if head is None else head._place for head in heads)]
        found, run = self.run.derive(heads, is_asked, [is_differentiable(place) for place in places])
        if run is None:
            return found
        outputs = run.outputs()
        if any(map(is_differentiable, places)):
            RunNode(f"the gradient of {self.name}", run, (), places, outputs).mark(outputs, ())
        return [None if i is None else outputs[i] for i in found]

    def _move(self, states):
        for i, value in states.items():
            replace(self.inputs[i], np.asarray(value))

    def free(self):
        """Frees the arrays."""
        super().free()
        self.run = None
        self.inputs = ()


@per_process
def recorder():
    """The extension's, which runs operators and graphs."""
    return _core.Recorder(_PLANS_KEPT)


def run_operator(op, attributes, positional, by_name, cls):
    """The results of an operator as arrays of a class, in the modes of this thread."""
    names = sorted(by_name)
    inputs = [*positional, *(by_name[name] for name in names)]

    def run(is_asked):
        key = _random_key.draw()
        return recorder().run(op, attributes, positional, by_name, is_asked, modes.is_training, key)

    def describe(symbols, name):
        handles = [symbol._handle for symbol in symbols]
        named = dict(zip(names, handles[len(positional) :]))
        return Symbol(_core.apply(op, name, attributes, handles[: len(positional)], named))

    return _recorded(op, run, inputs, cls, describe)


def run_graph(graph_for, name, inputs, cls, describe):
    """The outputs of a graph. `graph_for(is_asked, is_training)` gives it as a _core.DifferentiableGraph."""

    def run(is_asked):
        return recorder().run_graph(graph_for(tuple(is_asked), modes.is_training), inputs, _random_key.draw())

    return _recorded(name, run, inputs, cls, describe)


def _recorded(name, run, inputs, cls, describe):
    places = [getattr(array, "_place", None) if modes.is_recording else None for array in inputs]
    is_asked = [is_differentiable(place) and not is_spent(place) for place in places]
    finished = run(is_asked)
    outputs = finished.outputs()
    if cls is not NDArray:
        outputs = [cls(output) for output in outputs]
    if any(is_asked):
        places = [place if asked else None for place, asked in zip(places, is_asked)]
        RunNode(name, finished, inputs, places, outputs, describe).mark(outputs, inputs)
    return outputs


# ---- writes ----


def replace(array, value):
    """Writes to an array what training made of it. NumPy's views keep what they show, as copies of MXNet do."""
    array._leave_views()
    write(array, ..., value)


def check_write(array, what):
    """Raises ArgumentError where `array` is part of a graph that is being recorded."""
    if not modes.is_recording:
        return
    place = array._place
    reader = place.reader() if isinstance(place, Constant) else None
    if is_differentiable(place) or reader is not None and not reader.is_spent:
        raise ArgumentError(
            f"{what}: the array is part of a graph that is being recorded; make a new array, or write to it outside of "
            "autograd.record()"
        )


def move_place(target, source):
    """`target` holds the elements of `source` from now on: what is computed from it has the same gradient."""
    if modes.is_recording and is_differentiable(source._place):
        target._place = source._place
