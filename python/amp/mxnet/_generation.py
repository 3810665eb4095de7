"""The two generations of MXNet, and what differs between them: docs/generations.md explains this table.

A block is of 2.x exactly if `npx.set_np()` is active when it is made, or if 2.x is the default of the process.
"""

from typing import NamedTuple

from .. import _backward
from .util import is_np_array


class Generation(NamedTuple):
    """Rules for blocks. Arrays follow `set_np` and `np_shape` alone."""

    number: int
    version: str  # what `mx.__version__` says
    # Names of parameters in collect_params, graphs and exports: the place in the tree ('0.weight'), or the prefix of
    # the block that made it ('dense0_weight'). Parameter files name places in both.
    names_places: bool
    # What a hybridized block records: what Python does with arrays in `forward`, or `hybrid_forward(F=mx.sym)`; then
    # a class that overrides `forward` has no graph of its own.
    records_arrays: bool
    # Weights of recurrent layers: one vector `rnn_param`, or a matrix for each gate, layer and direction.
    packs_recurrent_weights: bool


ONE = Generation(1, "1.9.1", names_places=False, records_arrays=False, packs_recurrent_weights=False)
TWO = Generation(2, "2.0.0", names_places=True, records_arrays=True, packs_recurrent_weights=True)

_default = ONE


def of_new_block():
    """The generation of a block that is made now."""
    return TWO if is_np_array() else _default


def default():
    """The generation of blocks that are made while `set_np` is not active."""
    return _default


def chosen():
    """The number of the generation that `mx.install` was told, as the wheel of the name mxnet does it, or 0."""
    return 0 if _default is ONE else _default.number


def set_default(version):
    """Makes the generation of a version of MXNet, such as '1.9.1' or '2.0.0b1', the default of the process."""
    global _default
    generation = TWO if version.partition(".")[0] == "2" else ONE
    _default = generation._replace(version=version)
    _backward.let_all_stay(generation.number == 2)
