"""`Comm`, one rank's end of a group of ranks."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from .._arrays import readable
from .._core import NDArray
from ..base import ArgumentError
from ..nd import NDArray as ResultArray
from ._checks import checked_rank

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from numpy.typing import DTypeLike

    from .._types import Array


class Comm:
    """One rank of a group: `run_local` and `mpi` make them. Used by one thread at a time.

    rank, size: which rank this is, and of how many.
    bytes_sent: to other ranks so far. Barriers do not count, nor does what a duplicate sends.

    Where another rank fails, or says nothing for longer than the timeout, methods raise `amp.Error`.

    >>> amp.distributed.run_local(3, lambda comm: f"{comm.rank} of {comm.size}")
    ['0 of 3', '1 of 3', '2 of 3']
    """

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self.rank, self.size = engine.rank, engine.size

    def __repr__(self) -> str:
        return f"<rank {self.rank} of {self.size}>"

    @property
    def bytes_sent(self) -> int:
        """Bytes that this rank has sent to others.

        >>> def send(comm):
        ...     comm.send_recv(np.zeros(10, np.float32), 1 - comm.rank, np.zeros(10, np.float32), 1 - comm.rank)
        ...     return comm.bytes_sent
        >>> amp.distributed.run_local(2, send)
        [40, 40]
        """
        return self._engine.bytes_sent

    def send_recv(self, send: Array, to: int, recv: Array, source: int) -> None:
        """Sends an array to rank `to` while it receives one from rank `source`, which is written to `recv`.

        Both are contiguous arrays of any dtype, NumPy's or NDArrays, that share no memory; what arrives has as many
        bytes as `recv`.

        >>> def hand_on(comm):
        ...     got = np.empty(1, np.int64)
        ...     comm.send_recv(np.array([comm.rank]), (comm.rank + 1) % comm.size, got, (comm.rank - 1) % comm.size)
        ...     return got[0].item()
        >>> amp.distributed.run_local(3, hand_on)
        [2, 0, 1]
        """
        sent, received = _bytes_of("send", send), _writable_bytes_of("recv", recv)
        if np.may_share_memory(sent, received):
            raise ArgumentError("send and recv share memory: what is received would be written while it is sent")
        to, source = checked_rank("to", to, self.size), checked_rank("source", source, self.size)
        self._engine.send_recv(sent, to, received, source)

    def barrier(self) -> None:
        """Returns when all ranks have called it.

        >>> amp.distributed.run_local(2, lambda comm: comm.barrier())
        [None, None]
        """
        self._engine.barrier()

    def all_reduce(self, array: Array, dtype: DTypeLike = "float32") -> NDArray:
        """The sum of all ranks' arrays, which have one shape, as a new NDArray of `dtype`, a float.

        Arrays are converted to `dtype`, and elements added in the order of ranks; in bfloat16 and float16 each sum is
        rounded. The bits depend neither on the engine nor on which rank comes first.

        >>> def total(comm):
        ...     return comm.all_reduce(np.full(3, comm.rank + 0.5, np.float32)).asnumpy()
        >>> amp.distributed.run_local(2, total)[0]
        array([2., 2., 2.], dtype=float32)
        """
        return ResultArray(self._engine.all_reduce(readable(array, "all_reduce"), dtype))

    def broadcast(self, array: Array, root: int = 0) -> None:
        """Writes the contiguous array of rank `root` to those of all ranks.

        >>> def of_the_last(comm):
        ...     array = np.array([comm.rank])
        ...     comm.broadcast(array, root=2)
        ...     return array[0].item()
        >>> amp.distributed.run_local(3, of_the_last)
        [2, 2, 2]
        """
        self._engine.broadcast(_writable_bytes_of("broadcast", array), checked_rank("root", root, self.size))

    def duplicate(self) -> Comm:
        """The same ranks with an order of messages of their own, for another thread. All ranks call it.

        >>> amp.distributed.run_local(2, lambda comm: comm.duplicate().rank)
        [0, 1]
        """
        return Comm(self._engine.duplicate())


def _bytes_of(what, array):
    """The memory of a contiguous array, as bytes."""
    view = np.asarray(array) if isinstance(array, NDArray) else array
    if not isinstance(view, np.ndarray):
        raise ArgumentError(f"{what}: expected an array, got {type(array).__name__}")
    if not view.flags.c_contiguous:
        raise ArgumentError(f"{what}: the array is not contiguous")
    if view.dtype.hasobject:
        raise ArgumentError(f"{what}: objects of Python are not sent")
    return view.reshape(-1).view(np.uint8)


def _writable_bytes_of(what, array):
    view = _bytes_of(what, array)
    if not view.flags.writeable:
        raise ArgumentError(f"{what}: the array is read-only")
    return view


_groups = threading.local()


@contextlib.contextmanager
def group(comm: Comm) -> Iterator[Comm]:
    """`with group(comm):` graphs and trainers of this thread use this communicator.

    >>> def current(comm):
    ...     with amp.distributed.group(comm):
    ...         return amp.distributed.current_comm() is comm
    >>> amp.distributed.run_local(2, current)
    [True, True]
    """
    if not isinstance(comm, Comm):
        raise ArgumentError(f"group: expected a Comm, got {type(comm).__name__}")
    outer = current_comm()
    entered = _core.CommGroup(comm._engine)
    entered.enter()
    _groups.comm = comm
    try:
        yield comm
    finally:
        _groups.comm = outer
        entered.exit()


def current_comm() -> Comm | None:
    """The communicator of the innermost `with group(comm):` of this thread, or None.

    >>> amp.distributed.current_comm() is None
    True
    """
    return getattr(_groups, "comm", None)
