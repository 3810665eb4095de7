"""Initializers: what arrays of parameters begin with.

`initializer(InitDesc(name), array)` writes to the array, by the end of the name: weights go to `_init_weight`, which
subclasses override, biases and running means are 0, scales and running variances 1.
"""

import json
import re

import numpy as np

from .. import nd
from ..base import ArgumentError, did_you_mean
from . import random
from ._missing import getter

__all__ = [
    "Bilinear",
    "Constant",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "create",
    "register",
]

_registry = {}


def says_purpose(name):
    """Whether the end of a name says what the array is for."""
    return name.endswith(tuple(_ENDINGS))


class InitDesc(str):
    """The name of an array to initialize, with the attributes of its variable (`attrs`).

    >>> mx.init.InitDesc("fc_weight", {"__init__": "zeros"}).attrs
    {'__init__': 'zeros'}
    """

    def __new__(cls, name, attrs=None, global_init=None):
        desc = super().__new__(cls, name)
        desc.attrs, desc.global_init = dict(attrs or {}), global_init
        return desc


def register(klass):
    """A decorator for subclasses of Initializer: `create` finds them by their name in lower case.

    >>> @mx.init.register
    ... class Thirds(mx.init.Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = 1 / 3
    >>> type(mx.init.create("thirds")).__name__
    'Thirds'
    """
    _registry[klass.__name__.lower()] = klass
    return klass


def _also(*names):
    def decorate(klass):
        _registry.update(dict.fromkeys(names, klass))
        return register(klass)

    return decorate


def create(initializer, **kwargs):
    """An Initializer by its name ('xavier', 'zeros'), with its arguments, or from what `dumps` gave.

    Initializers, and None, are given back. Raises ArgumentError for unknown names and other arguments.

    >>> mx.init.create("normal", sigma=0.5).dumps()
    '["normal", {"sigma": 0.5}]'
    """
    if initializer is None or not isinstance(initializer, str):
        return initializer
    name = initializer
    try:
        if name.startswith("["):
            name, kwargs = json.loads(name)
        if name.lower() in _registry:
            return _registry[name.lower()](**kwargs)
    except (TypeError, ValueError, AttributeError) as error:
        raise ArgumentError(f"initializer {initializer!r:.80}: {error}") from None
    raise ArgumentError(f"unknown initializer {name!r}{did_you_mean(name, _registry)}")


# Ends of names -> method.
_ENDINGS = {
    "weight": "_init_weight",
    "bias": "_init_bias",
    "gamma": "_init_gamma",
    "beta": "_init_beta",
    "mean": "_init_zero",
    "moving_avg": "_init_zero",
    "min": "_init_zero",
    "var": "_init_one",
    "max": "_init_one",
}


class Initializer:
    """The base class; keyword arguments of the constructor are what `dumps` writes.

    >>> class Two(mx.init.Initializer):
    ...     def _init_weight(self, name, arr):
    ...         arr[:] = 2
    >>> w = np.zeros(2, "float32")
    >>> Two()("w_weight", w)
    >>> w
    array([2., 2.], dtype=float32)
    """

    def __init__(self, **kwargs):
        self._kwargs = kwargs

    def dumps(self):
        """JSON text of the class's name and its arguments, for `Variable(init=)` and `create`.

        >>> mx.init.Normal(0.5).dumps()
        '["normal", {"sigma": 0.5}]'
        """
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def set_verbosity(self, verbose=False, print_func=None):
        """Has no effect; returns the initializer."""
        return self

    def __call__(self, desc, arr):
        """Writes to `arr`, an NDArray or a NumPy array, by the name `desc` (an InitDesc or text).

        The attribute `__init__` of an InitDesc names another initializer. Raises ArgumentError for names that do
        not say what they are for.
        """
        if not isinstance(desc, str):
            raise ArgumentError(f"expected a name or an InitDesc, got {type(desc).__name__}")
        own = getattr(desc, "attrs", {}).get("__init__")
        if own:
            create(own)._init_weight(InitDesc(desc, desc.attrs, desc.global_init or self), arr)
            return
        for ending, method in _ENDINGS.items():
            if desc.endswith(ending):
                getattr(self, method)(desc, arr)
                return
        self._init_default(desc, arr)

    def init_weight(self, name, arr):
        """Writes to `arr` as to a weight, whatever its name."""
        self._init_weight(name, arr)

    def _init_weight(self, name, arr):
        raise NotImplementedError(f"{type(self).__name__} does not say what weights begin with (_init_weight)")

    def _init_bias(self, name, arr):
        arr[:] = 0

    def _init_gamma(self, name, arr):
        arr[:] = 1

    def _init_beta(self, name, arr):
        arr[:] = 0

    def _init_zero(self, name, arr):
        arr[:] = 0

    def _init_one(self, name, arr):
        arr[:] = 1

    def _init_default(self, name, arr):
        raise ArgumentError(
            f"'{name}': the name does not say what the array is for (known ends: {', '.join(_ENDINGS)}); "
            "use Variable(init=...)"
        )

    def __eq__(self, other):
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = object.__hash__

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._kwargs.items())})"


def _write(arr, values):
    arr[:] = np.asarray(values).reshape(tuple(arr.shape)).astype(arr.dtype)


@_also("zeros")
class Zero(Initializer):
    """0 everywhere.

    >>> w = np.ones(2, "float32")
    >>> mx.init.Zero()("w_weight", w)
    >>> w
    array([0., 0.], dtype=float32)
    """

    def __init__(self):
        super().__init__()

    def _init_weight(self, name, arr):
        arr[:] = 0

    _init_default = _init_weight


@_also("ones")
class One(Initializer):
    """1 everywhere.

    >>> w = np.zeros(2, "float32")
    >>> mx.init.One()("w_weight", w)
    >>> w
    array([1., 1.], dtype=float32)
    """

    def __init__(self):
        super().__init__()

    def _init_weight(self, name, arr):
        arr[:] = 1

    _init_default = _init_weight


@register
class Constant(Initializer):
    """`value`, a number or an array of the shape of the weight.

    >>> w = np.zeros(2, "float32")
    >>> mx.init.Constant(7)("w_weight", w)
    >>> w
    array([7., 7.], dtype=float32)
    """

    def __init__(self, value):
        super().__init__(value=np.asarray(value).tolist())  # an array as nested lists, which JSON knows
        self.value = value

    def _init_weight(self, name, arr):
        _write(arr, np.broadcast_to(np.asarray(self.value), tuple(arr.shape)))

    _init_default = _init_weight


@register
class Uniform(Initializer):
    """Uniformly distributed in [-scale, scale).

    >>> w = np.ones((8, 4), "float32")
    >>> mx.init.Uniform(0.1)("w_weight", w)
    >>> bool(abs(w).max() <= 0.1)
    True
    """

    def __init__(self, scale=0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name, arr):
        _write(arr, random.generator().uniform(-self.scale, self.scale, tuple(arr.shape)))


@register
class Normal(Initializer):
    """Normally distributed with mean 0 and standard deviation `sigma`.

    >>> w = np.zeros((8, 4), "float32")
    >>> mx.init.Normal(0.5)("w_weight", w)
    >>> bool(w.any())
    True
    """

    def __init__(self, sigma=0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name, arr):
        _write(arr, random.generator().normal(0, self.sigma, tuple(arr.shape)))


@register
class Orthogonal(Initializer):
    """Rows (or, where there are more rows than columns, columns) that are orthogonal and of length `scale`.

    Raises ArgumentError for weights with fewer than two axes.

    >>> w = np.zeros((2, 8), "float32")
    >>> mx.init.Orthogonal(scale=1)("w_weight", w)
    >>> np.allclose(w @ w.T, np.eye(2), atol=1e-6)
    True
    """

    def __init__(self, scale=1.414, rand_type="uniform"):
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale, self.rand_type = scale, rand_type

    def _init_weight(self, name, arr):
        if len(arr.shape) < 2:
            raise ArgumentError(f"Orthogonal: expected a weight with two axes or more, '{name}' has {tuple(arr.shape)}")
        rows, columns = arr.shape[0], int(np.prod(arr.shape[1:], dtype="i8"))
        draw = random.generator().normal if self.rand_type == "normal" else _between_minus_one_and_one
        left, _, right = np.linalg.svd(draw(size=(rows, columns)), full_matrices=False)
        _write(arr, self.scale * (left if left.shape == (rows, columns) else right))


def _between_minus_one_and_one(size):
    return random.generator().uniform(-1, 1, size)


@register
class Xavier(Initializer):
    """Scaled by the number of inputs and outputs of a unit, so that activations keep their variance.

    rnd_type: 'uniform' or 'gaussian'; factor_type: 'in', 'out' or 'avg', what the number is that `magnitude` is
    divided by. Raises ArgumentError for weights with fewer than two axes.

    >>> w = np.zeros((8, 4), "float32")
    >>> mx.init.Xavier()("w_weight", w)
    >>> bool(w.any())
    True
    """

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        if rnd_type not in ("uniform", "gaussian"):
            raise ArgumentError(f"rnd_type: expected 'uniform' or 'gaussian', got {rnd_type!r}")
        if factor_type not in ("in", "out", "avg"):
            raise ArgumentError(f"factor_type: expected 'in', 'out' or 'avg', got {factor_type!r}")
        self.rnd_type, self.factor_type, self.magnitude = rnd_type, factor_type, float(magnitude)

    def _init_weight(self, name, arr):
        shape = tuple(arr.shape)
        if len(shape) < 2:
            raise ArgumentError(f"{type(self).__name__}: expected a weight with two axes or more, '{name}' has {shape}")
        area = np.prod(shape[2:], dtype="f8")
        inputs, outputs = shape[1] * area, shape[0] * area
        factor = {"in": inputs, "out": outputs, "avg": (inputs + outputs) / 2}[self.factor_type]
        scale = np.sqrt(self.magnitude / factor)
        rng = random.generator()
        _write(arr, rng.uniform(-scale, scale, shape) if self.rnd_type == "uniform" else rng.normal(0, scale, shape))


@register
class MSRAPrelu(Xavier):
    """Xavier with normally distributed values, for layers before a PReLU of that `slope`.

    >>> w = np.zeros((8, 4), "float32")
    >>> mx.init.MSRAPrelu()("w_weight", w)
    >>> bool(w.any())
    True
    """

    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """Weights of a deconvolution that interpolates bilinearly.

    Raises ArgumentError for weights that do not have four axes.

    >>> w = np.zeros((1, 1, 4, 4), "float32")
    >>> mx.init.Bilinear()("up_weight", w)
    >>> w[0, 0, 1]
    array([0.1875, 0.5625, 0.5625, 0.1875], dtype=float32)
    """

    def __init__(self):
        super().__init__()

    def _init_weight(self, name, arr):
        if len(arr.shape) != 4:
            raise ArgumentError(f"Bilinear: expected a weight with four axes, '{name}' has {tuple(arr.shape)}")
        height, width = arr.shape[2:]
        factor = np.ceil(width / 2)
        center = (2 * factor - 1 - factor % 2) / (2 * factor)
        columns = 1 - np.abs(np.arange(width) / factor - center)
        rows = 1 - np.abs(np.arange(height) / factor - center)
        _write(arr, np.broadcast_to(np.outer(rows, columns), tuple(arr.shape)))


@register
class LSTMBias(Initializer):
    """0, and `forget_bias` for the forget gate, the second quarter.

    >>> bias = np.zeros(8, "float32")
    >>> mx.init.LSTMBias().init_weight("lstm_bias", bias)
    >>> bias
    array([0., 0., 1., 1., 0., 0., 0., 0.], dtype=float32)
    """

    def __init__(self, forget_bias=1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name, arr):
        values = np.zeros(tuple(arr.shape), "f4")
        units = arr.shape[0] // 4
        values[units : 2 * units] = self.forget_bias
        _write(arr, values)

    _init_bias = _init_weight


class Mixed:
    """Regular expressions and the initializers of the names that begin with them; the first one counts.

    Raises ArgumentError for lists of different lengths, and when called for a name that fits no pattern.

    >>> w = np.zeros(2, "float32")
    >>> mx.init.Mixed(["fc", ".*"], ["ones", "zeros"])("fc_weight", w)
    >>> w
    array([1., 1.], dtype=float32)
    """

    def __init__(self, patterns, initializers):
        if len(patterns) != len(initializers):
            raise ArgumentError(f"got {len(patterns)} patterns and {len(initializers)} initializers")
        try:
            self.map = [(re.compile(pattern), create(init)) for pattern, init in zip(patterns, initializers)]
        except re.error as error:
            raise ArgumentError(f"a pattern is no regular expression: {error}") from None

    def __call__(self, name, arr):
        """Writes to `arr`; raises ArgumentError where no pattern fits."""
        for pattern, init in self.map:
            if pattern.match(name):
                return init(name, arr)
        raise ArgumentError(f"'{name}' fits no pattern; consider '.*' as the last one")


class Load:
    """Arrays from a dict or a file of `amp.nd.save`, by name; others from `default_init`.

    Raises ArgumentError for other shapes, and for names without an array where there is no `default_init`.

    >>> w = np.zeros(2, "float32")
    >>> mx.init.Load({"w_weight": np.ones(2, "float32")})("w_weight", w)
    >>> w
    array([1., 1.], dtype=float32)
    """

    def __init__(self, param, default_init=None, verbose=False):
        arrays = nd.load(param) if isinstance(param, str) else param
        if not hasattr(arrays, "items"):
            raise ArgumentError(f"expected a dict {{name: array}} or a file of one, got {type(arrays).__name__}")
        self.param = {name.split(":", 1)[-1] if name[:4] in ("arg:", "aux:") else name: a for name, a in arrays.items()}
        self.default_init = create(default_init)

    def __call__(self, name, arr):
        """Writes to `arr`; raises ArgumentError for other shapes, and for missing names without a default."""
        if name not in self.param:
            if self.default_init is None:
                raise ArgumentError(f"'{name}' is not among the arrays, and there is no default_init")
            return self.default_init(name, arr)
        found = np.asarray(self.param[name].asnumpy() if hasattr(self.param[name], "asnumpy") else self.param[name])
        if found.shape != tuple(arr.shape):
            raise ArgumentError(f"'{name}': expected shape {tuple(arr.shape)}, got {found.shape}")
        _write(arr, found)


__getattr__ = getter(__name__)
