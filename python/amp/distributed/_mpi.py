"""Ranks that are processes of MPI, through mpi4py."""

import atexit
import contextlib
import functools
import sys
import threading
import time
import traceback

from .. import _core
from ..base import ArgumentError, Error, UnsupportedError
from ._comm import Comm

_SPIN = 0.02  # seconds in which a rank that waits only yields
_BEFORE_LEAVING = 1  # seconds in which threads give up what they wait for when the process ends
_BEFORE_ABORT = 0.5  # seconds in which the launcher forwards what was printed: with the processes it ends its pipes


def mpi(communicator=None, *, timeout=300):
    """The communicator of this process under `mpiexec`; without it the only rank. Needs the package mpi4py.

    `communicator` is one of mpi4py, by default COMM_WORLD. Messages go through a duplicate of it. A rank that waits for
    longer than `timeout` seconds raises Error. An error that a rank does not catch is printed and ends all ranks.

    >>> def rank_of_this_process():
    ...     return amp.distributed.mpi().rank
    """
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError):  # the package, or the MPI that it looks for
        raise UnsupportedError(
            "amp.distributed.mpi needs mpi4py and an MPI: pip install mpi4py mpich (or pip install nnvm-amp[mpi])"
        ) from None
    if not timeout > 0:
        raise ArgumentError(f"timeout: expected seconds above 0, got {timeout!r}")
    _end_all_ranks_on_errors()
    if communicator is None:
        return _world(timeout)
    if not isinstance(communicator, MPI.Comm):
        raise ArgumentError(f"mpi: expected a communicator of mpi4py, got {type(communicator).__name__}")
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

        self._test_all, self._timeout = MPI.Request.Testall, timeout
        self._what = f"rank {communicator.Get_rank()} has waited for rank {source}, or for rank {to} to receive,"
        self._kept = send, recv
        self._requests = [
            communicator.Irecv([recv, MPI.BYTE], source=source),
            communicator.Isend([send, MPI.BYTE], dest=to),
        ]

    def wait(self):
        _poll(lambda: self._test_all(self._requests), self._timeout, self._what)
        self._requests = []

    def cancel(self):
        for request in self._requests:
            request.Cancel()
            request.Free()
        self._requests = []


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
                raise Error(f"{what} for {timeout} seconds")
            time.sleep(0 if waited < _SPIN else 1e-4)


@functools.cache
def _end_all_ranks_on_errors():
    """An uncaught error, in any thread, is printed and ends all ranks: none waits for this one."""

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
