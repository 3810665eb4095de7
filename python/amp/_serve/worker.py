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
from .._execution.parameter_files import WatchedFile
from .._execution.plan_files import PlanOrigin, note_of_file, source_of
from ..base import Error, one_line
from ..executor import Executor
from ..pool import Pool
from ..pool._sessions import default_sessions
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
    """Serves until a signal ends it. Calls `ready(sessions, executor)` before the first request.

    `watched` is a pipe whose other end the supervisor holds: it closes when the supervisor dies, and so ends this.
    """
    executor = Executor.load(settings.plan)
    sessions = settings.sessions
    if sessions is None:
        sessions = default_sessions(executor, settings.workers)
    with Pool(executor, sessions=sessions, waiting=settings.queue, batch=settings.batch, delay=settings.delay) as pool:
        service = Service(settings, executor, pool, __version__)
        server = _Server(_config(settings, service.limited_app()), service, watched is not None)
        ready(sessions, executor)
        asyncio.run(_serve(server, listener, watched))
        if server.force_exit:
            raise KeyboardInterrupt  # waiting requests are dropped


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
    """A worker of a supervisor. All load what the supervisor opened, whatever has the plan's name since.

    Arguments: settings as JSON; file descriptors of the socket, the supervisor's pipe and the plan; what the first
    worker said of its executor, or ''.
    """
    named, listener, watched = Settings(**json.loads(arguments[0])), int(arguments[1]), int(arguments[2])
    settings = named._replace(plan=f"/proc/self/fd/{arguments[3]}")

    def tell(kind, what):
        print(f"amp: {kind}: {what}".replace(settings.plan, named.plan), file=sys.stderr)

    def ready(sessions, executor):
        origin = _origin_of(executor, settings.plan)
        if arguments[4] not in ("", origin):
            raise Error("the model files of the plan have changed since the service began; start it again")
        os.write(watched, f"{sessions} {origin}".encode())

    warnings.showwarning = lambda message, *_: tell("note", message)
    try:
        serve(settings, socket.socket(fileno=listener), ready, watched)
    except KeyboardInterrupt:
        return 130
    except (Error, OSError, MemoryError) as error:
        tell("error", one_line(error))
        return 2
    return 0


def _origin_of(executor, plan):
    """'plan', or checksums of the model files that an executor was made from where the plan did not fit."""
    if isinstance(executor._origin, PlanOrigin):
        return "plan"
    source = source_of(note_of_file(plan))
    return ",".join(WatchedFile(path).facts()["sha256"] for path in (source.symbol, source.params))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
