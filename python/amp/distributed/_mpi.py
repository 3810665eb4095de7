"""Ranks that are processes of MPI, through mpi4py."""

from __future__ import annotations

import atexit
import contextlib
import functools
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING

from .. import _core
from ..base import ArgumentError, Error, UnsupportedError
from ._checks import checked_timeout
from ._comm import Comm

if TYPE_CHECKING:
    from typing import Any

_SPIN = 0.02  # seconds in which a rank that waits only yields
_BEFORE_LEAVING = 1  # seconds in which threads give up what they wait for when the process ends
_BEFORE_ABORT = 0.5  # seconds in which the launcher forwards what was printed: with the processes it ends its pipes


def mpi(communicator: Any = None, *, timeout: float = 300) -> Comm:
    """The communicator of this process under `mpiexec`; without it the only rank. Needs the package mpi4py.

    `communicator` is an Intracomm of mpi4py, by default COMM_WORLD. Messages go through a duplicate of it. A rank that
    waits for longer than `timeout` seconds raises Error. An error that a rank does not catch is printed and ends all
    ranks.

    >>> def rank_of_this_process():
    ...     return amp.distributed.mpi().rank
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):  # the package, or the MPI that it looks for
        raise UnsupportedError(
            "amp.distributed.mpi needs mpi4py and an MPI: pip install mpi4py mpich (or pip install nnvm-amp[mpi])"
        ) from None
    timeout = checked_timeout(timeout)
    _end_all_ranks_on_errors()
    if communicator is None:
        return _world(timeout)
    if not isinstance(communicator, MPI.Intracomm) or communicator == MPI.COMM_NULL:
        raise ArgumentError(f"mpi: expected a communicator of one group of mpi4py, got {communicator!r:.40}")
    return Comm(_MpiEngine(communicator.Dup(), timeout))


@functools.cache
def _world(timeout):
    """One for each process: making it is work of all ranks together."""
    from mpi4py import MPI

    return Comm(_MpiEngine(MPI.COMM_WORLD.Dup(), timeout))


class _MpiEngine(_core.Comm):
    def __init__(self, communicator, timeout):
        super().__init__(communicator.Get_rank(), communicator.Get_size())
        self._communicator, self._timeout = communicator, timeout

    def start(self, send, to, recv, source):
        return _Transfer(self._communicator, self._timeout, send, to, recv, source)

    def barrier(self):
        request = self._communicator.Ibarrier()
        _poll(request.Test, self._timeout, f"rank {self.rank} has waited in a barrier")

    def duplicate(self):
        return _MpiEngine(self._communicator.Dup(), self._timeout)


class _Transfer:
    """A message to a rank and one from a rank, under way."""

    def __init__(self, communicator, timeout, send, to, recv, source):
        from mpi4py import MPI

        self._mpi, self._rank, self._to, self._source = MPI, communicator.Get_rank(), to, source
        self._timeout, self._kept = timeout, (send, recv)
        self._receipt = communicator.Irecv([recv, MPI.BYTE], source=source)
        self._dispatch = communicator.Isend([send, MPI.BYTE], dest=to)

    def wait(self):
        waits = f"rank {self._rank} has waited for rank"
        _poll(self._has_received, self._timeout, f"{waits} {self._source}")
        _poll(self._dispatch.Test, self._timeout, f"{waits} {self._to}")

    def _has_received(self):
        status = self._mpi.Status()
        try:
            if not self._receipt.Test(status):
                return False
            sent = status.Get_count(self._mpi.BYTE)
        except self._mpi.Exception as error:
            if error.Get_error_class() != self._mpi.ERR_TRUNCATE:
                raise Error(f"rank {self._rank} receives from rank {self._source}: {error}") from None
            sent = "more"
        expected = len(self._kept[1])
        if sent != expected:
            raise ArgumentError(f"rank {self._source} sends {sent} bytes where rank {self._rank} expects {expected}")
        return True

    def cancel(self):
        for request in (self._receipt, self._dispatch):
            if request != self._mpi.REQUEST_NULL:  # what is over is null
                request.Cancel()
                request.Free()


class _Waits:
    """The threads of this process that wait for other ranks."""

    def __init__(self):
        self._lock = threading.Lock()
        self._count = 0
        self._is_leaving = False

    @contextlib.contextmanager
    def one_more(self):
        with self._lock:
            self._count += 1
        try:
            yield
        finally:
            with self._lock:
                self._count -= 1

    def check(self):
        if self._is_leaving:
            raise Error("the process ends")

    def leave(self):
        """Ends them all: MPI is finalized next, and would wait for what is under way."""
        self._is_leaving = True
        end = time.monotonic() + _BEFORE_LEAVING
        while self._count > 0 and time.monotonic() < end:
            time.sleep(1e-3)


_waits = _Waits()
atexit.register(_waits.leave)


def _poll(is_done, timeout, what):
    """Returns when `is_done()`. It yields first and sleeps later: ranks may outnumber CPUs."""
    begin = time.monotonic()
    with _waits.one_more():
        while not is_done():
            _waits.check()
            waited = time.monotonic() - begin
            if waited > timeout:
                raise Error(f"{what} for {timeout:g} seconds")
            time.sleep(0 if waited < _SPIN else 1e-4)


@functools.cache
def _end_all_ranks_on_errors():
    """An uncaught error, in any thread, is printed and ends all ranks: none waits for this one.

    A rank that is alone ends as any program does, or goes on where it is interactive.
    """
    from mpi4py import MPI

    if MPI.COMM_WORLD.Get_size() == 1:
        return

    def end_thread(arguments):
        if not issubclass(arguments.exc_type, SystemExit):
            _end(arguments.exc_type, arguments.exc_value, arguments.exc_traceback)

    sys.excepthook, threading.excepthook = _end, end_thread


def _end(kind, error, trace):
    from mpi4py import MPI

    text = "".join(traceback.format_exception(kind, error, trace))
    with contextlib.suppress(OSError, ValueError):  # a closed pipe must not keep other ranks waiting
        sys.stdout.flush()
        sys.stderr.write(f"Rank {MPI.COMM_WORLD.Get_rank()} of {MPI.COMM_WORLD.Get_size()} ends all ranks:\n{text}")
        sys.stderr.flush()
    time.sleep(_BEFORE_ABORT)
    MPI.COMM_WORLD.Abort(1)
