"""One process that serves, on a socket that listens already."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import signal
import socket
import sys
import warnings

import uvicorn

from .. import __version__
from ..base import Error, cpu_info, one_line
from ..executor import Executor
from ..pool import Pool
from .app import Service
from .connections import TimedConnection
from .settings import Settings

_KEEP_ALIVE = 75  # seconds that an idle connection stays: longer than proxies keep theirs


class _Server(uvicorn.Server):
    """Ends with what is under way when it gets SIGTERM or SIGINT, and at once when it gets a second one."""

    def __init__(self, config, service, has_supervisor):
        super().__init__(config)
        self._service, self._has_supervisor = service, has_supervisor

    @contextlib.contextmanager
    def capture_signals(self):
        handlers = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)

    def handle_exit(self, number=signal.SIGTERM, _frame=None):
        if self._has_supervisor and number == signal.SIGINT:
            return  # a terminal sends it to all; the supervisor says when to end
        self.force_exit = self.should_exit
        self.should_exit = self._service.is_draining = True


def serve(settings, listener, ready, watched=None):
    """Serves until a signal ends it. Calls `ready(sessions)` before the first request.

    `watched` is a pipe whose other end the supervisor holds: it closes when the supervisor dies, and so ends this.
    """
    executor = Executor.load(settings.plan)
    sessions = settings.sessions
    if sessions is None:
        sessions = _default_sessions(executor, settings.workers)
    with Pool(executor, sessions=sessions, waiting=settings.queue, batch=settings.batch, delay=settings.delay) as pool:
        service = Service(settings, executor, pool, __version__)
        server = _Server(_config(settings, service.limited_app()), service, watched is not None)
        ready(sessions)
        asyncio.run(_serve(server, listener, watched))
        if server.force_exit:
            raise KeyboardInterrupt  # nobody waits for what waits


async def _serve(server, listener, watched):
    if watched is not None:
        asyncio.get_running_loop().add_reader(watched, _end, server, watched)
    await server.serve(sockets=[listener])


def _end(server, watched):
    asyncio.get_running_loop().remove_reader(watched)
    server.handle_exit()


def _config(settings, app):
    return uvicorn.Config(
        app,
        http=functools.partial(TimedConnection, read_timeout=settings.read_timeout),
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=settings.grace,
    )


def _default_sessions(executor, workers):
    return max(1, cpu_info()["threads"] // executor.summary.num_threads // workers)


def listening(host, port):
    """A socket that listens."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)  # asyncio sends at once where it sees that this is TCP
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    listener.setblocking(False)
    return listener


def main(arguments):
    """A worker of a supervisor: settings as JSON, and file descriptors of the socket and of the supervisor's pipe."""
    settings, listener, watched = Settings(**json.loads(arguments[0])), int(arguments[1]), int(arguments[2])
    warnings.showwarning = lambda message, *_: print(f"amp: note: {message}", file=sys.stderr)
    try:
        serve(settings, socket.socket(fileno=listener), lambda sessions: os.write(watched, b"%d" % sessions), watched)
    except KeyboardInterrupt:
        return 130
    except (Error, OSError, MemoryError) as error:
        print(f"amp: error: {one_line(error)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
