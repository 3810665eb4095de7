"""Layers without windows: dense, embedding, dropout, functions as layers."""

import inspect
import math

from ....base import ArgumentError
from ... import np, npx
from ..block import Block, HybridBlock
from .activations import activation_of
from .layer import Layer, functions_of


class Dense(Layer):
    """Dense(units, activation=None, use_bias=True, flatten=True, in_units=0): x * weight^T + bias, then the activation.

    The input is (N, ...), seen as (N, in_units), and the output (N, units); with flatten=False the product is over the
    last axis alone. `weight` has shape (units, in_units). A call raises GraphError for another in_units, ArgumentError
    before the parameters are initialized.

    >>> block = mx.gluon.nn.Dense(3)
    >>> block.initialize("ones")
    >>> block(amp.nd.ones((2, 4)))
    [[4. 4. 4.]
     [4. 4. 4.]]
    <NDArray float32[2,3]>
    """

    def __init__(
        self,
        units,
        activation=None,
        use_bias=True,
        flatten=True,
        dtype="float32",
        weight_initializer=None,
        bias_initializer="zeros",
        in_units=0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self._units, self._flatten = int(units), bool(flatten)
        self.parameter("weight", (self._units, in_units), weight_initializer, dtype)
        self.bias = None
        if use_bias:
            self.parameter("bias", (self._units,), bias_initializer, dtype)
        self.act = activation_of(self, activation)

    def infer_shape(self, x, *args):
        """Learns in_units."""
        self.weight.shape = (self._units, math.prod(x.shape[1:]) if self._flatten else x.shape[-1])

    def hybrid_forward(self, F, x, weight, bias=None):  # noqa: N803 - MXNet's name
        """`x` is (N, ...), or (..., in_units) with flatten=False."""
        settings = {"num_hidden": self._units, "flatten": self._flatten, "no_bias": bias is None}
        out = F.FullyConnected(x, weight, bias, **settings, name="fwd")
        return out if self.act is None else self.act(out)

    def __repr__(self):
        return f"Dense({self.weight.shape[1] or None} -> {self._units}, {self.act or 'linear'})"


class Embedding(Layer):
    """Embedding(input_dim, output_dim): row i of `weight` (input_dim, output_dim) for every index i of the input.

    The output has the shape of the input and output_dim behind it. Indices beyond the table are moved to its ends.

    >>> block = mx.gluon.nn.Embedding(10, 4)
    >>> block.initialize()
    >>> block(amp.nd.array([[1, 2, 3]])).shape
    (1, 3, 4)
    """

    def __init__(self, input_dim, output_dim, dtype="float32", weight_initializer=None, sparse_grad=False, **kwargs):
        super().__init__(**kwargs)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype}
        self.parameter("weight", (input_dim, output_dim), weight_initializer, dtype)

    def _settings_text(self):
        return "{input_dim} -> {output_dim}, {dtype}".format(**self._kwargs)

    def hybrid_forward(self, F, x, weight):  # noqa: N803 - MXNet's name
        """`x` holds indices, integers or floats of any shape; the output has one more axis."""
        return F.Embedding(x, weight, **self._kwargs, name="fwd")


class Flatten(Layer):
    """(N, a, b, ...) as (N, a * b * ...).

    >>> mx.gluon.nn.Flatten()(amp.nd.ones((2, 3, 4))).shape
    (2, 12)
    """

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` has two axes at least."""
        return F.flatten(x)


class Dropout(Layer):
    """Dropout(rate, axes=()): nothing at inference.

    >>> mx.gluon.nn.Dropout(0.5)(amp.nd.array([1, 2]))
    [1. 2.]
    <NDArray float32[2]>
    """

    def __init__(self, rate, axes=(), **kwargs):
        super().__init__(**kwargs)
        if not 0 <= rate <= 1:
            raise ArgumentError(f"Dropout: the rate lies in [0, 1], got {rate}")
        self._rate, self._axes = rate, axes

    def _settings_text(self):
        return f"p = {self._rate}, axes={self._axes}"

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x` as it is; a graph has a node for it."""
        return F.Dropout(x, p=self._rate, axes=tuple(self._axes), name="fwd") if self._rate > 0 else F.identity(x)


class Identity(HybridBlock):
    """The input as it is.

    >>> mx.gluon.nn.Identity()(amp.nd.array([1, 2]))
    [1. 2.]
    <NDArray float32[2]>
    """

    def hybrid_forward(self, F, x):  # noqa: N803 - MXNet's name
        """`x`."""
        return x


class Lambda(Block):
    """Lambda(function): a function of arrays, or the name of one in `mx.np` or `amp.nd`, as a block.

    Raises ArgumentError for anything else.

    >>> mx.gluon.nn.Lambda("relu")(amp.nd.array([-1, 2]))
    [0. 2.]
    <NDArray float32[2]>
    """

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self._function = _named_function(function)

    def _settings_text(self):
        return getattr(self._function, "__name__", repr(self._function))

    def forward(self, *args):
        """The function's result."""
        return self._function(*args)


class HybridLambda(HybridBlock):
    """HybridLambda(function): as `Lambda`; a function of MXNet 1.x takes F first: `lambda F, x: F.relu(x)`.

    F is passed to every callable that takes one argument more than there are inputs, whatever it is called: functions,
    methods, class methods, objects. A block of 2.x passes it only to those that call it F.
    Raises ArgumentError for what is neither a function nor a name.

    >>> mx.gluon.nn.HybridLambda(lambda F, x: F.relu(x))(amp.nd.array([-1, 2]))
    [0. 2.]
    <NDArray float32[2]>
    """

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self._function, self._is_named = _named_function(function), isinstance(function, str)
        self._takes_module = {}  # by number of inputs and generation

    def _settings_text(self):
        return getattr(self._function, "__name__", repr(self._function))

    def hybrid_forward(self, F, x, *args):  # noqa: N803 - MXNet's name
        """The function's result."""
        key = len(args), self._generation.number
        if key not in self._takes_module:
            self._takes_module[key] = not self._is_named and _takes_module(self._function, (x, *args), key[1] > 1)
        return self._function(F, x, *args) if self._takes_module[key] else self._function(x, *args)


def _takes_module(function, inputs, is_of_2x):
    """Whether a function takes F in front of its inputs."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # a function that does not say what it takes
        return False
    if next(iter(signature.parameters), None) == "F":
        return True
    if is_of_2x or str(getattr(function, "__module__", "")).startswith("amp."):
        return False  # those of this package take arrays
    try:
        signature.bind(None, *inputs)
    except TypeError:
        return False
    return True


def _named_function(function):
    if callable(function):
        return function
    if not isinstance(function, str):
        raise ArgumentError(f"expected a function or its name, got {type(function).__name__}")

    def call(x, *args, **kwargs):
        for module in (functions_of(x), npx, np):
            found = getattr(module, function, None)
            if found is not None:
                return found(x, *args, **kwargs)
        raise ArgumentError(f"there is no function {function!r} in amp.nd, mx.np or mx.npx")

    call.__name__ = function
    return call
