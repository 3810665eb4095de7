"""Stores of arrays by key, on one machine: `mx.kv.create("local")`.

A value that is pushed replaces what is there, or is the gradient that an optimizer updates it with.
"""

import numpy as np

from .. import nd
from .._arrays import readable
from ..base import ArgumentError, UnsupportedError
from . import optimizer as optimizers
from ._missing import getter

__all__ = ["KVStore", "KVStoreBase", "create"]

_LOCAL = ("local", "device", "local_allreduce_cpu", "local_allreduce_device", "nccl")


class KVStore:
    """A dictionary of arrays that several devices would share.

    >>> kv = mx.kv.create("local")
    >>> kv.init("w", amp.nd.ones((2,)))
    >>> kv.push("w", [amp.nd.ones((2,)), amp.nd.ones((2,))])
    >>> out = amp.nd.zeros((2,))
    >>> kv.pull("w", out=out)
    >>> out.asnumpy()
    array([2., 2.], dtype=float32)
    """

    rank, num_workers = 0, 1

    def __init__(self, type="local"):
        self.type = type
        self._values = {}
        self._updater = None

    def init(self, key, value):
        """Puts values under keys that are new: one of each, or lists."""
        for name, arrays in _pairs(key, value):
            if name in self._values:
                raise ArgumentError(f"the key {name!r} has a value already")
            self._values[name] = _sum(arrays)

    def push(self, key, value, priority=0):
        """Gives values to keys; the arrays of one key are summed first."""
        for name, arrays in _pairs(key, value):
            pushed = _sum(arrays)
            if self._updater is None:
                self._require(name)[...] = pushed
            else:
                self._updater(name, pushed, self._require(name))

    def pull(self, key, out=None, priority=0, ignore_sparse=True):
        """Copies values to the arrays of `out`."""
        if out is None:
            raise ArgumentError("pull: pass the arrays to write to as `out`")
        for name, arrays in _pairs(key, out):
            for array in arrays:
                array[...] = self._require(name)

    def hold(self, key, array):
        """The value of the key is this array itself: what is pushed changes it.

        >>> store, weight = mx.kv.create("local"), amp.nd.zeros((1,))
        >>> store.hold(0, weight)
        >>> store.push(0, amp.nd.ones((1,)))
        >>> weight.asnumpy()
        array([1.], dtype=float32)
        """
        self._values[key] = array

    def pushpull(self, key, value, out=None, priority=0):
        """`push`, then `pull` to `out`, or to `value` where there is none."""
        self.push(key, value, priority)
        self.pull(key, value if out is None else out, priority)

    def broadcast(self, key, value, out, priority=0):
        """`init`, then `pull`."""
        self.init(key, value)
        self.pull(key, out, priority)

    def row_sparse_pull(self, key, out=None, priority=0, row_ids=None):
        """Raises UnsupportedError: arrays are dense."""
        raise UnsupportedError("sparse arrays are not supported")

    def set_optimizer(self, optimizer):
        """From now on what is pushed is a gradient."""
        self._updater = optimizers.get_updater(optimizer)

    def _set_updater(self, updater):
        self._updater = updater

    set_updater = _set_updater

    def set_gradient_compression(self, compression_params):
        """Has no effect: nothing is sent."""

    @staticmethod
    def is_capable(capability):
        """Whether the store can update ('optimizer')."""
        return capability == "optimizer"

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the states of the optimizer to a file."""
        self._require_updater()
        with open(fname, "wb") as file:
            file.write(self._updater.get_states(dump_optimizer))

    def load_optimizer_states(self, fname):
        """Reads what `save_optimizer_states` wrote."""
        self._require_updater()
        with open(fname, "rb") as file:
            self._updater.set_states(file.read())

    def _require_updater(self):
        if self._updater is None:
            raise ArgumentError("the store has no optimizer: call set_optimizer first")

    def _require(self, name):
        if name not in self._values:
            raise ArgumentError(f"the key {name!r} has no value: call init first")
        return self._values[name]


KVStoreBase = KVStore


def create(name="local"):
    """A store of that kind. Raises UnsupportedError for stores of several machines.

    >>> mx.kv.create('local').type
    'local'
    """
    if not isinstance(name, str):
        raise ArgumentError(f"expected the name of a store, got {type(name).__name__}")
    if name not in _LOCAL:
        raise UnsupportedError(f"kvstore {name!r} is not supported: there is 'local', of one machine")
    return KVStore(name)


def _pairs(keys, values):
    """[(key, [NDArray])]"""
    if not isinstance(keys, (list, tuple)):
        keys, values = [keys], [values]
    if len(keys) != len(values):
        raise ArgumentError(f"{len(keys)} keys have {len(values)} values")
    return [(key, list(value) if isinstance(value, (list, tuple)) else [value]) for key, value in zip(keys, values)]


def _sum(arrays):
    numbers = [np.asarray(readable(array)) for array in arrays]
    return nd.NDArray(sum(numbers[1:], numbers[0])).copy()


__getattr__ = getter(__name__)
