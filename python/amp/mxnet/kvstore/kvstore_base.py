"""Stores that programs write: a subclass of `KVStoreBase`, registered, is made by `mx.kv.create` by its name."""

import warnings


class KVStoreBase:
    """What a store has. Subclasses define `broadcast` and `pushpull`, and `is_capable`, `type`, `rank`, `num_workers`.

    A `gluon.Trainer` with such a store broadcasts parameters by it when they have values, and adds gradients by it
    before it updates.

    >>> @mx.kvstore.KVStoreBase.register
    ... class Doubling(mx.kvstore.KVStoreBase):
    ...     def pushpull(self, key, value, out=None, priority=0):
    ...         for array in value:
    ...             array[:] = array * 2
    >>> gradient = amp.nd.ones((2,))
    >>> mx.kv.create("doubling").pushpull(0, [gradient])
    >>> gradient.asnumpy()
    array([2., 2.], dtype=float32)
    """

    OPTIMIZER = "optimizer"
    kv_registry = {}
    comm = None  # of several ranks
    type = rank = num_workers = property(lambda self: self._undefined("this property"))

    def broadcast(self, key, value, out, priority=0):
        """Copies `value` of the first rank to the arrays of `out`, on all ranks. Subclasses define it."""
        self._undefined("broadcast")

    def pushpull(self, key, value, out=None, priority=0):
        """Writes the sum of `value`, one array or several, over all ranks to `out`, or to `value`. Subclasses do so."""
        self._undefined("pushpull")

    def set_optimizer(self, optimizer):
        """Makes the store update what is pushed. Subclasses define it, if they are capable of it."""
        self._undefined("set_optimizer")

    @staticmethod
    def is_capable(capability):
        """Whether the store can do that: 'optimizer'. Subclasses define it."""
        raise NotImplementedError("this store defines no is_capable")

    def save_optimizer_states(self, fname, dump_optimizer=False):
        """Writes the states of the optimizer to a file. Subclasses define it."""
        self._undefined("save_optimizer_states")

    def load_optimizer_states(self, fname):
        """Reads the states of the optimizer from a file. Subclasses define it."""
        self._undefined("load_optimizer_states")

    def _undefined(self, what):
        raise NotImplementedError(f"{type(self).__name__} does not define {what}")

    @staticmethod
    def register(klass):
        """Makes a class known to `mx.kv.create` by its name in lower case; a decorator."""
        name = klass.__name__.lower()
        if name in KVStoreBase.kv_registry:
            warnings.warn(f"the store {name!r} is registered anew", stacklevel=2)
        KVStoreBase.kv_registry[name] = klass
        return klass


@KVStoreBase.register
class TestStore(KVStoreBase):
    """A store of one rank that keeps nothing: 'teststore'.

    >>> mx.kv.create("teststore").type
    'teststore'
    """

    __test__ = False  # no test of pytest's
    type, rank, num_workers = "teststore", 0, 1

    def broadcast(self, key, value, out, priority=0):
        """Copies `value` to the arrays of `out`."""
        for array in _list(out):
            array[...] = value

    def pushpull(self, key, value, out=None, priority=0):
        """Writes the sum of `value` to `out`, or to `value` itself."""
        total = sum(_list(value)[1:], _list(value)[0].copy())
        for array in _list(value if out is None else out):
            array[...] = total

    @staticmethod
    def is_capable(capability):
        """False: there is no optimizer. Raises ValueError for other capabilities."""
        if capability.lower() != KVStoreBase.OPTIMIZER:
            raise ValueError(f"unknown capability {capability!r}")
        return False


def _list(arrays):
    return list(arrays) if isinstance(arrays, (list, tuple)) else [arrays]
