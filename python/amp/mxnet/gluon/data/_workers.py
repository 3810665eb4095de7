"""Processes and threads that make batches ahead of time. Both kinds of pools have the same methods."""

import concurrent.futures
import itertools
import multiprocessing
import multiprocessing.connection
import os
import pickle
import queue
import signal
import threading
import time
import traceback
import warnings
import weakref

from ....base import Error
from . import _shared_batches

_LOOK = 2.0  # seconds between two looks at whether the parent still lives
_parents_ends = weakref.WeakSet()  # of all connections to workers: a worker closes those that it inherits


class WorkerError(Error):
    """A worker of a DataLoader ended, or raised an error that cannot be sent."""


class WorkerTimeout(WorkerError, multiprocessing.TimeoutError, TimeoutError):
    """A batch took longer than the DataLoader's `timeout`."""


class WorkerTraceback(Exception):
    """Where an error was raised in a worker: the cause of the error that the caller sees."""

    def __init__(self, text):
        super().__init__(text)
        self.text = text

    def __str__(self):
        return f"\n\n{self.text}"


class ThreadPool:
    """Threads that call `make(task)`."""

    def __init__(self, count, make):
        self._make, self._owner = make, os.getpid()
        self._threads = concurrent.futures.ThreadPoolExecutor(count, "amp-loader")

    def is_usable(self):
        """A forked child has no threads of its parent's."""
        return os.getpid() == self._owner

    def submit(self, task):
        return self._threads.submit(self._make, task)

    def result(self, future, timeout):
        try:
            return future.result(timeout)
        except concurrent.futures.TimeoutError:
            if future.done():
                raise
            raise WorkerTimeout(_late(timeout)) from None

    def forget(self, futures):
        for future in futures:
            future.cancel()

    def close(self):
        self._threads.shutdown(wait=False, cancel_futures=True)


class ProcessPool:
    """Forked processes that call `make(task)`: what `make` refers to is that of the parent at the time of the fork.

    A process that ends, for whatever reason, is an error of the next `result`, and closes the pool.
    """

    def __init__(self, count, make):
        self._owner, self._lock = os.getpid(), threading.RLock()
        self._tickets = itertools.count()
        self._results, self._forgotten = {}, set()  # by ticket
        self._workers = [_Worker(number, make) for number in range(count)]
        self.is_open = True

    def is_usable(self):
        """Whether there are workers, and they are those of this process: a forked child inherits its parent's."""
        return self.is_open and os.getpid() == self._owner

    def submit(self, task):
        """A ticket for `result`."""
        with self._lock:
            worker = min(self._workers, key=lambda worker: len(worker.at_work))
            ticket = next(self._tickets)
            worker.at_work.add(ticket)
            try:
                worker.connection.send((ticket, task))
            except OSError:
                self._fail(worker)
            return ticket

    def result(self, ticket, timeout):
        """What `make` gave or raised for the task."""
        with self._lock:
            end = time.monotonic() + timeout
            while ticket not in self._results:
                self._await_some(end, timeout)
            is_error, value = self._results.pop(ticket)
        if is_error:
            raise _restored(*value)
        return value

    def _await_some(self, end, timeout):
        sources = {worker.connection: worker for worker in self._workers}
        sentinels = {worker.process.sentinel: worker for worker in self._workers}
        left = max(0.0, end - time.monotonic())
        ready = multiprocessing.connection.wait([*sources, *sentinels], left)
        if not ready:
            self.close()
            raise WorkerTimeout(_late(timeout))
        readable = [sources[source] for source in ready if source in sources]
        for worker in readable:
            self._read(worker)
        if not readable:
            self._fail(sentinels[ready[0]])

    def _read(self, worker):
        try:
            ticket, *result = _shared_batches.receive(worker.connection)
        except (EOFError, OSError):
            self._fail(worker)
        worker.at_work.discard(ticket)
        if ticket in self._forgotten:
            self._forgotten.discard(ticket)
        else:
            self._results[ticket] = result

    def _fail(self, worker):
        worker.process.join(1)
        code = worker.process.exitcode
        self.close()
        raise WorkerError(
            f"DataLoader: worker {worker.number} (process {worker.process.pid}) {_end(code)}"
            f"{' while it made a batch' if worker.at_work else ''}; the next iteration starts new workers"
        )

    def forget(self, tickets):
        """These results are not wanted any more."""
        with self._lock:
            for ticket in tickets:
                if self._results.pop(ticket, None) is None:
                    self._forgotten.add(ticket)

    def close(self):
        """Ends the processes."""
        if os.getpid() != self._owner or not self.is_open:
            return  # in a forked child they are not its own
        self.is_open = False
        for worker in self._workers:
            worker.connection.close()
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(2)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()


class _Worker:
    def __init__(self, number, make):
        self.number, self.at_work = number, set()
        self.connection, childs_end = multiprocessing.Pipe()
        _parents_ends.add(self.connection)
        self.process = multiprocessing.get_context("fork").Process(
            target=_serve, args=(childs_end, make, os.getpid()), name=f"amp-loader-{number}", daemon=True
        )
        with warnings.catch_warnings():
            # Python warns of locks that other threads may hold; a worker uses none of theirs.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.process.start()
        childs_end.close()


# ---- in the worker ----


def _serve(connection, make, parent):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it, too, and ends its workers
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for end in list(_parents_ends):
        end.close()
    tasks = queue.SimpleQueue()
    threading.Thread(target=_receive_tasks, args=(connection, parent, tasks), daemon=True).start()
    while True:
        ticket, task = tasks.get()
        try:
            packed = _shared_batches.pack((ticket, False, make(task)))
        except BaseException as error:
            packed = _shared_batches.pack((ticket, True, _described(error)))
        _shared_batches.send(connection, parent, packed)


def _receive_tasks(connection, parent, tasks):
    """Takes tasks as they come, so that the parent never waits here. The process ends with its parent."""
    try:
        while True:
            if connection.poll(_LOOK):
                tasks.put(connection.recv())
            elif os.getppid() != parent:
                break
    except (EOFError, OSError):
        pass
    os._exit(0)


def _described(error):
    """The arguments of `_restored`."""
    return _pickled(error), "".join(traceback.format_exception(type(error), error, error.__traceback__))


def _pickled(error):
    """None for an error that cannot be sent, or must not be raised elsewhere."""
    try:
        pickled = pickle.dumps(error)
        pickle.loads(pickled)
    except Exception:
        return None
    return pickled if isinstance(error, Exception) else None


# ---- in the parent ----


def _restored(pickled, text):
    if pickled is None:
        return WorkerError(f"DataLoader: a worker raised an error:\n{text}")
    error = pickle.loads(pickled)
    error.__cause__ = WorkerTraceback(text)
    return error


def _late(timeout):
    return (
        f"DataLoader: a batch took longer than {timeout} seconds. A larger `timeout` waits longer; num_workers=0 shows "
        "where the time goes"
    )


def _end(code):
    if code is None:
        return "does not answer"
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by signal {-code} ({signal.Signals(-code).name})"
