"""Functions of arrays with their inverses and the logarithms of the determinants of their Jacobians."""

import weakref

from .... import np, npx
from ...block import HybridBlock
from ..distributions.utils import _clip_prob, cached_property, softplus, sum_right_most

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "TransformBlock",
    "Transformation",
]


class Transformation:
    """A function of arrays. Subclasses define `_forward_compute`, `_inverse_compute` and `log_det_jacobian`.

    `event_dim` is the number of last axes that it takes as one value, `bijective` says whether it has an inverse.

    >>> double = mx.gluon.probability.AffineTransform(0, 2)
    >>> double.inv(double(mx.np.array([3])))
    array([3.])
    """

    bijective = False
    event_dim = 0

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._inv = None

    @property
    def sign(self):
        """1 where the function grows, -1 where it falls."""
        raise NotImplementedError

    @property
    def inv(self):
        """The inverse, a Transformation as well; one object as long as it is in use."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = self._inverted()
            self._inv = weakref.ref(inverse)
        return inverse

    def _inverted(self):
        return _InverseTransformation(self)

    def __call__(self, x):
        """The function of `x`."""
        return self._forward_compute(x)

    def _inv_call(self, y):
        return self._inverse_compute(y)

    def _forward_compute(self, x):
        raise NotImplementedError

    def _inverse_compute(self, y):
        raise NotImplementedError

    def log_det_jacobian(self, x, y):
        """log |dy / dx| for `y`, the function of `x`; one number for the axes that are one value."""
        raise NotImplementedError


class _InverseTransformation(Transformation):
    def __init__(self, forward_transformation):
        super().__init__()
        self._inv = forward_transformation

    @property
    def inv(self):
        return self._inv

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def event_dim(self):
        return self._inv.event_dim

    def _forward_compute(self, x):
        return self._inv._inverse_compute(x)

    def _inverse_compute(self, y):
        return self._inv._forward_compute(y)

    def log_det_jacobian(self, x, y):
        return -self._inv.log_det_jacobian(y, x)


class TransformBlock(Transformation, HybridBlock):
    """A transformation with parameters of its own, such as a normalizing flow.

    >>> mx.gluon.probability.TransformBlock().collect_params().keys()
    dict_keys([])
    """


class ComposeTransform(Transformation):
    """The transformations of a list, one after another.

    >>> parts = [mx.gluon.probability.AffineTransform(1, 2), mx.gluon.probability.ExpTransform()]
    >>> mx.gluon.probability.ComposeTransform(parts).inv(mx.np.array([1]))
    array([-0.5])
    """

    def __init__(self, parts):
        super().__init__()
        self._parts = parts

    @property
    def bijective(self):
        """Whether all parts have inverses."""
        return all(part.bijective for part in self._parts)

    def _forward_compute(self, x):
        for part in self._parts:
            x = part(x)
        return x

    def _inverse_compute(self, y):
        return self.inv(y)

    @cached_property
    def sign(self):
        """The product of the parts' signs."""
        result = 1
        for part in self._parts:
            result = result * part.sign
        return result

    @cached_property
    def event_dim(self):
        """The largest one of the parts."""
        return max((part.event_dim for part in self._parts), default=0)

    def _inverted(self):
        inverse = ComposeTransform([part.inv for part in reversed(self._parts)])
        inverse._inv = weakref.ref(self)
        return inverse

    def log_det_jacobian(self, x, y):
        """The sum over the parts."""
        if not self._parts:
            return np.zeros_like(x)
        values = [x]
        for part in self._parts[:-1]:
            values.append(part(values[-1]))
        ends = [*values[1:], y]
        return sum(
            sum_right_most(part.log_det_jacobian(start, end), self.event_dim - part.event_dim)
            for part, start, end in zip(self._parts, values, ends)
        )


class ExpTransform(Transformation):
    """exp(x).

    >>> mx.gluon.probability.ExpTransform()(mx.np.array([0]))
    array([1.])
    """

    bijective = True
    sign = 1

    def _forward_compute(self, x):
        return np.exp(x)

    def _inverse_compute(self, y):
        return np.log(y)

    def log_det_jacobian(self, x, y):
        """x"""
        return x


class AffineTransform(Transformation):
    """loc + scale * x, element by element. The last `event_dim` axes are one value.

    >>> mx.gluon.probability.AffineTransform(1, 2)(mx.np.array([3]))
    array([7.])
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0):
        super().__init__()
        self._loc, self._scale, self.event_dim = loc, scale, event_dim

    def _forward_compute(self, x):
        return self._loc + self._scale * x

    def _inverse_compute(self, y):
        return (y - self._loc) / self._scale

    def log_det_jacobian(self, x, y):
        """log |scale|, of the shape of `x`."""
        return sum_right_most(np.ones_like(x) * np.log(np.abs(self._scale)), self.event_dim)

    @property
    def sign(self):
        """That of the scale."""
        return np.sign(self._scale)


class PowerTransform(Transformation):
    """x ** exponent of positive numbers.

    >>> mx.gluon.probability.PowerTransform(2)(mx.np.array([3]))
    array([9.])
    """

    bijective = True
    sign = 1

    def __init__(self, exponent):
        super().__init__()
        self._exponent = exponent

    def _forward_compute(self, x):
        return np.power(x, self._exponent)

    def _inverse_compute(self, y):
        return np.power(y, 1 / self._exponent)

    def log_det_jacobian(self, x, y):
        """log |exponent * y / x|"""
        return np.log(np.abs(self._exponent * y / x))


class SigmoidTransform(Transformation):
    """1 / (1 + exp(-x)), kept away from 0 and 1 by 1.2e-7.

    >>> mx.gluon.probability.SigmoidTransform()(mx.np.array([0]))
    array([0.5])
    """

    bijective = True
    sign = 1

    def _forward_compute(self, x):
        return _clip_prob(npx.sigmoid(x))

    def _inverse_compute(self, y):
        prob = _clip_prob(y)
        return np.log(prob) - np.log1p(-prob)

    def log_det_jacobian(self, x, y):
        """The logarithm of sigmoid(x) * sigmoid(-x)."""
        return -softplus(-x) - softplus(x)


class SoftmaxTransform(Transformation):
    """The softmax over the last axis; its inverse is one that adds up to 1 behind exp.

    >>> mx.gluon.probability.SoftmaxTransform()(mx.np.array([0, 0]))
    array([0.5, 0.5])
    """

    event_dim = 1

    def _forward_compute(self, x):
        return npx.softmax(x, axis=-1)

    def _inverse_compute(self, y):
        return np.log(y)


class AbsTransform(Transformation):
    """|x|; what it came from is taken for positive.

    >>> mx.gluon.probability.AbsTransform()(mx.np.array([-2]))
    array([2.])
    """

    def _forward_compute(self, x):
        return np.abs(x)

    def _inverse_compute(self, y):
        return y
