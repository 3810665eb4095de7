"""Stores of one rank and of several."""

import numpy as np

from ... import distributed, nd
from ..._arrays import readable
from ...base import ArgumentError, UnsupportedError
from .. import optimizer as optimizers
from .kvstore_base import KVStoreBase

_OF_RANKS = ("mpi", "dist_sync", "horovod", "dist", "dist_device_sync", "dist_sync_device")
_LOCAL = ("local", "device", "local_allreduce_cpu", "local_allreduce_device", "nccl")


class KVStore(KVStoreBase):
    """A dictionary of arrays that several devices would share.

    >>> kv = mx.kv.create("local")
    >>> kv.init("w", amp.nd.ones((2,)))
    >>> kv.push("w", [amp.nd.ones((2,)), amp.nd.ones((2,))])
    >>> out = amp.nd.zeros((2,))
    >>> kv.pull("w", out=out)
    >>> out.asnumpy()
    array([2., 2.], dtype=float32)
    """

    type, rank, num_workers = "local", 0, 1

    def __init__(self, type="local"):
        self.type = type
        self._values = {}
        self._updater = None

    def init(self, key, value):
        """Puts values under keys that are new: one of each, or lists."""
        for name, arrays in _pairs(key, value):
            if name in self._values:
                raise ArgumentError(f"the key {name!r} has a value already")
            self._values[name] = self._first_value(_sum(arrays))

    def _first_value(self, value):
        return value

    def _total(self, arrays):
        """The sum of what is pushed to one key."""
        return _sum(arrays)

    def barrier(self):
        """Returns when all ranks have called it.

        >>> mx.kv.create("local").barrier()
        """

    def push(self, key, value, priority=0):
        """Gives values to keys; the arrays of one key are summed first."""
        for name, arrays in _pairs(key, value):
            pushed = self._total(arrays)
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


class KVStoreOfRanks(KVStore):
    """KVStoreOfRanks(type, comm): a store that each rank of `comm` has. What ranks push is added in their order.

    All ranks make the same calls, in one order. Values begin as they are on rank 0; an optimizer runs on each rank
    and gives all the same bits.

    >>> def push(comm):
    ...     with amp.distributed.group(comm):
    ...         kv = mx.kv.create("dist_sync")
    ...     kv.init("w", amp.nd.zeros((2,)))
    ...     kv.push("w", amp.nd.ones((2,)) * (kv.rank + 1))
    ...     out = amp.nd.zeros((2,))
    ...     kv.pull("w", out=out)
    ...     return out.asnumpy().tolist(), kv.num_workers
    >>> amp.distributed.run_local(2, push)
    [([3.0, 3.0], 2), ([3.0, 3.0], 2)]
    """

    def __init__(self, type, comm):
        super().__init__(type)
        self.comm = comm
        self.rank, self.num_workers = comm.rank, comm.size

    def _first_value(self, value):
        self.comm.broadcast(value)
        return value

    def _total(self, arrays):
        total = _sum(arrays)
        dtype = "float64" if total.dtype == np.float64 else "float32"
        return self.comm.all_reduce(total, dtype=dtype).astype(total.dtype, copy=False)

    def barrier(self):
        """Returns when all ranks have called it."""
        self.comm.barrier()


class NameOfStoreError(ArgumentError, TypeError):
    """What is no name of a store; MXNet raises a TypeError."""


def has_ranks(name):
    """Whether stores of that name are of several ranks."""
    return name in _OF_RANKS


def create(name="local"):
    """A store: 'local' and 'device' of one rank; 'dist_sync', 'mpi' and 'horovod' of several; or a registered one.

    Their ranks are those of `with amp.distributed.group(comm):`, else those of MPI. Raises UnsupportedError for others:
    there are no servers, so 'dist_async' is none.

    >>> mx.kv.create('local').type
    'local'
    """
    if not isinstance(name, str):
        raise NameOfStoreError(f"expected the name of a store, got {type(name).__name__}")
    if name.lower() in KVStoreBase.kv_registry:
        return KVStoreBase.kv_registry[name.lower()]()
    if name in _OF_RANKS:
        return KVStoreOfRanks(name, distributed.current_comm() or distributed.mpi())
    if name not in _LOCAL:
        raise UnsupportedError(f"kvstore {name!r} is not supported: there are 'local', of one rank, and 'dist_sync'")
    return KVStore(name)


def _pairs(keys, values):
    """[(key, [NDArray])]"""
    if not isinstance(keys, (list, tuple)):
        keys, values = [keys], [values]
    if len(keys) != len(values):
        raise ArgumentError(f"{len(keys)} keys have {len(values)} values")
    pairs = [(key, list(value) if isinstance(value, (list, tuple)) else [value]) for key, value in zip(keys, values)]
    for key, arrays in pairs:
        if not arrays:
            raise ArgumentError(f"the key {key!r} has no arrays")
    return pairs


def _sum(arrays):
    numbers = [np.asarray(readable(array)) for array in arrays]
    return nd.NDArray(sum(numbers[1:], numbers[0])).copy()
