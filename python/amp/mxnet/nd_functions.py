"""Functions of `mx.nd` that are no operators here: random arrays, updates of weights, loops."""

from .. import nd
from . import control_flow, random
from .optimizer.updates import FUNCTIONS as UPDATES

__all__ = ["reset_arrays", "split_v2"]

_SAMPLERS = ("uniform", "normal", "poisson", "exponential", "negative_binomial", "generalized_negative_binomial")


def reset_arrays(*arrays, num_arrays=None):
    """Writes zeros to arrays.

    >>> gradient = amp.nd.ones((2,))
    >>> mx.nd.reset_arrays(gradient, num_arrays=1)
    >>> gradient.asnumpy()
    array([0., 0.], dtype=float32)
    """
    for array in arrays:
        array[...] = 0


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Splits an array into a number of equal parts, or at the indices of a tuple: a list, or the array of one part.

    >>> [part.shape for part in mx.nd.split_v2(amp.nd.zeros((5, 2)), (1, 3))]
    [(1, 2), (2, 2), (2, 2)]
    """
    return nd.op._split_v2(ary, axis=axis, squeeze_axis=squeeze_axis, indices_or_sections=indices_or_sections)


def install():
    """Puts them there."""
    for name in _SAMPLERS:  # under both names of MXNet's operators
        setattr(nd, name, getattr(random, name))
        setattr(nd, f"random_{name}", getattr(random, name))
    nd.random_gamma, nd.random_randint = random.gamma, random.randint
    for name, function in UPDATES.items():
        setattr(nd, name, function)
    nd.reset_arrays, nd.split_v2 = reset_arrays, split_v2
    for name in control_flow.__all__:
        setattr(nd.contrib, name, getattr(control_flow, name))
