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

        def ready(sessions, _executor=None):
            workers = f"{settings.workers} workers of " if settings.workers > 1 else ""
            count = f"{sessions} session{'' if sessions == 1 else 's'}"
            print(f"serving {address}/v2/models/{settings.name} ({workers}{count})", flush=True)

        if settings.workers == 1:
            worker.serve(settings, listener, ready)
            return 0
        with open(settings.plan, "rb") as plan:
            return Supervisor(settings, listener, plan).run(ready)


class Supervisor:
    """Keeps `workers` processes, which share the listening socket and the open plan file."""

    def __init__(self, settings, listener, plan):
        self._settings, self._listener, self._plan = settings, listener, plan
        self._workers = {}  # {process id: (Popen, this end of the worker's socket, when it began)}
        self._is_ending = False
        self._folder = None  # of metrics
        self._origin = b""  # what the first worker said of its executor: those of the others have to be the same

    def run(self, ready):
        """Returns the exit code: that of a worker that could not begin, or else 0."""
        self._folder = tempfile.mkdtemp(prefix="amp-serve-")
        handlers = {number: signal.signal(number, self._end) for number in (signal.SIGINT, signal.SIGTERM)}
        handlers[signal.SIGALRM] = signal.signal(signal.SIGALRM, self._kill)
        try:
            sessions = self._start_all()
            if sessions:
                ready(int(sessions))
            return self._keep(has_begun=bool(sessions))
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

    def _start_all(self):
        """Starts all workers; returns how many sessions each has, or nothing where one has ended."""
        sessions, _, self._origin = self._start().recv(256).partition(b" ")  # the first alone says what is wrong
        others = [self._start() for _ in range(self._settings.workers - 1)] if sessions else []
        return sessions if all([each.recv(256) for each in others]) else b""

    def _start(self):
        """Starts a worker; returns this end of its socket."""
        ours, theirs = socket.socketpair()
        with theirs:
            settings = json.dumps(self._settings._asdict())
            descriptors = [self._listener.fileno(), theirs.fileno(), self._plan.fileno()]
            process = subprocess.Popen(
                [sys.executable, "-m", worker.__name__, settings, *map(str, descriptors), self._origin],
                pass_fds=descriptors,
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
