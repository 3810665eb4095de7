"""The paths of a service: health, metadata, inference and metrics."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from urllib.parse import quote

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from .._execution.plan_files import note_of_file
from ..base import ArgumentError, GraphError, PoolFull
from . import page, protocol
from .datatypes import datatype_of
from .memory import Memory
from .metrics import Metrics
from .plan_note import parameters_of

_HELD_BODIES = 4  # of the longest kind, whose bytes a process holds at most
_LARGE = 256 << 10  # bytes that take milliseconds as JSON, longer than another thread takes to begin
_LINGER = 1.0  # seconds in which a body that is too long is thrown away, so that its sender sees the answer
_log = logging.getLogger("amp.serve")


class Service:
    """A model behind the protocol's paths; `app` is the ASGI application."""

    def __init__(self, settings, executor, pool, version):
        self._settings, self._pool, self._version = settings, pool, version
        self._outputs = list(executor.output_names)
        note = executor._handle.note() or note_of_file(settings.plan)  # of a file that does not fit here, too
        parameters = parameters_of(note)
        self._metadata = _metadata(settings.name, executor, parameters)
        self._metrics = Metrics(settings.name, pool.stats)
        self._memory = Memory(_HELD_BODIES * settings.limit_bytes)
        self.is_draining = False
        model = "/v2/models/{name}"
        self.app = Starlette(
            routes=[
                Route("/v2", self._server),
                Route("/v2/health/live", self._live),
                Route("/v2/health/ready", self._ready),
                Route(model, self._model),
                Route(f"{model}/ready", self._model_ready),
                Route(f"{model}/infer", self._infer, methods=["POST"]),
                Route("/metrics", self._text_of_metrics),
                Route("/", self._page),
            ],
            exception_handlers={HTTPException: _refusal, Exception: _failure},
        )
        self.app.router.redirect_slashes = False

    def limited_app(self):
        """The application with a limit of bodies."""
        return LimitedBodies(self.app, self._settings.limit_bytes, lambda: self._metrics.count(413, 0))

    # ---- health and metadata ----

    async def _server(self, _request):
        return _json({"name": "nnvm-amp", "version": self._version, "extensions": ["binary_tensor_data"]})

    async def _live(self, _request):
        return _json({"live": True})

    async def _ready(self, _request):
        return _json({"ready": not self.is_draining}, 503 if self.is_draining else 200)

    async def _model(self, request):
        self._require_name(request)
        return _json(self._metadata)

    async def _model_ready(self, request):
        self._require_name(request)
        return _json({"name": self._settings.name, "ready": not self.is_draining}, 503 if self.is_draining else 200)

    async def _text_of_metrics(self, _request):
        text, media_type = self._metrics.text()
        return Response(text, headers={"content-type": media_type})

    async def _page(self, _request):
        return Response(page.page(quote(self._settings.name, safe="")), headers=page.HEADERS)

    def _require_name(self, request):
        name = request.path_params["name"]
        if name != self._settings.name:
            raise HTTPException(404, f"there is no model '{name[:100]}'; this service has '{self._settings.name}'")

    # ---- inference ----

    async def _infer(self, request):
        begin = time.perf_counter()
        try:
            response = await self._answer(request)
        except HTTPException as error:
            response = await _refusal(request, error)
        except ClientDisconnect:
            response = _json({"error": "the request has no end"}, 400)  # for the metrics: the client has gone
        except Exception as error:
            response = await _failure(request, error)
        self._metrics.count(response.status_code, time.perf_counter() - begin)
        return response

    async def _answer(self, request):
        self._require_name(request)
        if "content-encoding" in request.headers:
            raise HTTPException(415, "compressed requests are not supported")
        if self._pool.stats()["waiting"] >= self._settings.queue:
            raise _full()
        try:
            with self._memory.holding() as held:
                body = await self._body(request, held)
                length = request.headers.get(protocol.HEADER_LENGTH)
                inference = await _beside(len(body), protocol.read, body, length)
                del body
                outputs = await self._results(inference.inputs, held)
                content, headers = await _beside(_num_bytes(outputs), self._written, inference, outputs)
        except (protocol.BadRequest, ArgumentError, GraphError) as error:
            raise HTTPException(400, str(error)) from None
        except MemoryError:
            raise _busy("there is no memory for this request") from None
        return Response(content, headers=headers)

    async def _results(self, inputs, held):
        try:
            future = held.run = self._pool.submit(inputs, timeout=0)
        except PoolFull:
            raise _full() from None
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._settings.timeout)
        except asyncio.TimeoutError:
            raise HTTPException(504, f"there is no result after {self._settings.timeout:g} s") from None

    def _written(self, inference, outputs):
        arrays = [output.asnumpy() for output in outputs]
        return protocol.answer(self._settings.name, inference, dict(zip(self._outputs, arrays)))

    async def _body(self, request, held):
        """The request's body. Raises HTTPException for one that is too long, or slower than it may be."""
        body = bytearray()

        async def receive():
            async for chunk in request.stream():
                if len(body) + len(chunk) > self._settings.limit_bytes:
                    raise too_long(self._settings.limit_bytes)
                if not held.take(len(chunk)):
                    raise _busy("the bodies of other requests take all the memory that they may")
                body.extend(chunk)

        try:
            await asyncio.wait_for(receive(), self._settings.read_timeout)
        except asyncio.TimeoutError:
            text = f"the body did not arrive in {self._settings.read_timeout:g} s"
            raise HTTPException(408, text, {"connection": "close"}) from None
        return body


async def _beside(num_bytes, function, *args):
    """The result of a function that takes long for many bytes: on a thread then, so that other requests go on."""
    return function(*args) if num_bytes < _LARGE else await asyncio.to_thread(function, *args)


def _num_bytes(arrays):
    return sum(math.prod(array.shape) * array.dtype.itemsize for array in arrays)


def _metadata(name, executor, parameters):
    inputs = [
        {"name": each, "datatype": datatype_of(executor.input_dtypes[each]), "shape": list(shape)}
        for each, shape in executor.input_shapes.items()
    ]
    outputs = [
        {"name": each, "datatype": datatype_of(dtype), "shape": list(shape)}
        for each, dtype, shape in zip(executor.output_names, executor.output_dtypes, executor.output_shapes)
    ]
    more = {"parameters": parameters} if parameters else {}
    return {"name": name, "platform": "nnvm_amp", "inputs": inputs, "outputs": outputs, **more}


# ---- refusals ----


class LimitedBodies:
    """An ASGI application that answers 413 to bodies that are too long, and sees to it that their senders read that.

    `count` is called for each that was refused unread.
    """

    def __init__(self, app, limit, count):
        self._app, self._limit, self._count = app, limit, count

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        length = next((value for key, value in scope["headers"] if key == b"content-length"), b"0")
        if int(length) > self._limit:  # h11 has seen that it is a number
            self._count()
            response = await _refusal(None, too_long(self._limit))
            return await response(scope, receive, _lingering(receive, send))
        refused = [False]

        async def watched(message):
            if message["type"] == "http.response.start":
                refused[0] = message["status"] in (408, 413)
            elif refused[0]:
                return await _lingering(receive, send)(message)
            await send(message)

        await self._app(scope, receive, watched)


def _lingering(receive, send):
    """A `send` that takes what still comes, for a while, before an answer ends and the connection is closed.

    A connection that is closed with bytes unread is reset, and its peer may never see the answer.
    """

    async def discard():
        more = True
        while more:
            message = await receive()
            more = message["type"] == "http.request" and message.get("more_body", False)

    async def send_and_wait(message):
        if message["type"] != "http.response.body":
            return await send(message)
        await send({**message, "more_body": True})
        try:
            await asyncio.wait_for(discard(), _LINGER)
        except asyncio.TimeoutError:
            pass
        await send({"type": "http.response.body", "body": b""})

    return send_and_wait


def too_long(limit):
    return HTTPException(413, f"the body is longer than {limit} bytes (--limit-bytes)", {"connection": "close"})


def _full():
    return _busy("as many requests wait as may")


def _busy(why):
    return HTTPException(503, f"{why}; try again later", {"retry-after": "1"})


async def _refusal(_request, error):
    return _json({"error": error.detail}, error.status_code, error.headers)


async def _failure(_request, error):
    _log.error("a request failed", exc_info=error)
    return _json({"error": "the service failed; its log says why"}, 500)


def _json(value, status=200, headers=None):
    return Response(orjson.dumps(value), status, headers=headers, media_type="application/json")
