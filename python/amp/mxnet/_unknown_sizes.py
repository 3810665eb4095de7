"""Functions of `mx.nd` after `mx.install`: outside of `np_shape` `()` and sizes of 0 are unknown in MXNet.

It makes no arrays of such shapes there. MXNet 2 begins inside of `np_shape`, until `reset_np()`. Without `install` they
are arrays like others.
"""

import functools

from .. import nd
from .._switches import is_off, is_on
from ..base import ArgumentError
from . import _generation


def _sizes(value):
    return tuple(value) if hasattr(value, "__len__") else (value,)


def _is_unknown(shape):
    return not _sizes(shape) or 0 in _sizes(shape)


def _are_unknown_sizes():
    return {0: False, 1: not is_on("shape"), 2: is_off("shape")}[_generation.chosen()]


def _refusing(function, place, name, is_unknown):
    """`function`, which raises ArgumentError where its argument `name`, the one at `place`, makes no array there."""

    @functools.wraps(function)
    def checked(*args, **kwargs):
        if _are_unknown_sizes():
            value = args[place] if len(args) > place else kwargs.get(name, 1)
            if is_unknown(value):
                what = f"{function.__name__}: {name} {value} makes an array of shape () or without elements"
                raise ArgumentError(f"{what}, which there is in np_shape alone")
        return function(*args, **kwargs)

    return checked


def install():
    """Puts the checks there."""
    nd.zeros, nd.ones = (_refusing(function, 0, "shape", _is_unknown) for function in (nd.zeros, nd.ones))
    nd.full = _refusing(nd.full, 0, "shape", lambda shape: not _sizes(shape))
    nd.tile = _refusing(nd.tile, 1, "reps", lambda reps: 0 in _sizes(reps))
