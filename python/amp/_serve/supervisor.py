"""The process that `amp serve` is: it listens, and serves itself or keeps workers that do."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from . import worker
from .metrics import SHARED_FOLDER, forget_worker

_SHORT_LIFE = 5.0  # seconds; a worker that ends sooner is replaced after a pause
_PAUSE = 1.0
_SPARE = 10  # seconds beyond the grace until workers that do not end are killed


def run(settings):
    """Serves until a signal ends it; returns the exit code."""
    with worker.listening(settings.host, settings.port) as listener:
        host, port = listener.getsockname()[:2]
        address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

        def ready(sessions):
            workers = f"{settings.workers} workers of " if settings.workers > 1 else ""
            count = f"{sessions} session{'' if sessions == 1 else 's'}"
            print(f"serving {address}/v2/models/{settings.name} ({workers}{count})", flush=True)

        if settings.workers == 1:
            worker.serve(settings, listener, ready)
            return 0
        return Supervisor(settings, listener).run(ready)


class Supervisor:
    """Keeps `workers` processes, which share the listening socket and the pages of the plan."""

    def __init__(self, settings, listener):
        self._settings, self._listener = settings, listener
        self._workers = {}  # {process id: (Popen, this end of the worker's socket, when it began)}
        self._is_ending = False
        self._folder = None  # of metrics

    def run(self, ready):
        """Returns the exit code: that of a worker that could not begin, or else 0."""
        self._folder = tempfile.mkdtemp(prefix="amp-serve-")
        handlers = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        handlers[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._kill)
        try:
            told = b"-"
            while told and len(self._workers) < self._settings.workers:  # the first alone says what is wrong
                told = self._start().recv(16)  # how many sessions it has, or the end
            if told:
                ready(int(told))
            return self._keep(has_begun=bool(told))
        finally:
            signal.alarm(0)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            shutil.rmtree(self._folder, ignore_errors=True)

    def _keep(self, has_begun):
        """Replaces workers that end, until they are told to. Returns the exit code."""
        code = 0
        if not has_begun and not self._is_ending:
            self._end()
        while self._workers:
            process, status = os.waitpid(-1, 0)
            if process not in self._workers:
                continue
            ended, end, begin = self._workers.pop(process)
            ended.returncode = os.waitstatus_to_exitcode(status)
            end.close()
            forget_worker(process, self._folder)
            code = code or (0 if has_begun else max(0, ended.returncode))
            if not self._is_ending:
                self._replace(ended, time.monotonic() - begin)
        return code

    def _replace(self, ended, seconds):
        print(f"amp: note: worker {ended.pid} ended with code {ended.returncode}; another one begins", file=sys.stderr)
        if seconds < _SHORT_LIFE:
            time.sleep(_PAUSE)
        if not self._is_ending:
            self._start()

    def _start(self):
        """Starts a worker; returns this end of its socket."""
        ours, theirs = socket.socketpair()
        with theirs:
            given = [json.dumps(self._settings._asdict()), str(self._listener.fileno()), str(theirs.fileno())]
            process = subprocess.Popen(
                [sys.executable, "-m", worker.__name__, *given],
                pass_fds=(self._listener.fileno(), theirs.fileno()),
                env={**os.environ, SHARED_FOLDER: self._folder},
            )
        self._workers[process.pid] = (process, ours, time.monotonic())
        if self._is_ending:  # a signal came in between
            _send(process, signal.SIGTERM)
        return ours

    def _end(self, *_):
        """Passes SIGTERM on; a second signal kills."""
        if self._is_ending:
            return self._kill()
        self._is_ending = True
        signal.alarm(int(self._settings.grace) + _SPARE)
        for process, _, _ in list(self._workers.values()):
            _send(process, signal.SIGTERM)

    def _kill(self, *_):
        for process, _, _ in list(self._workers.values()):
            _send(process, signal.SIGKILL)


def _send(process, number):
    """Sends a signal. Popen's own methods would reap a worker that has ended, for which `_keep` waits."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, number)
