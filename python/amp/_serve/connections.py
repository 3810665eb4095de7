"""Connections of uvicorn with deadlines: by itself it waits for a request, and for readers, as long as they like."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_TEXT = b"the request did not arrive in time"
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: text/plain\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_TEXT), _TEXT)
)
_SPARE = 1.0  # seconds that the application has to answer before a connection is closed


class TimedConnection(H11Protocol):
    """Closes a connection whose request is not there `read_timeout` seconds after its first byte, or whose peer takes
    none of an answer for as long."""

    def __init__(self, *args, read_timeout, **options):
        super().__init__(*args, **options)
        self._seconds = read_timeout
        self._reading = self._writing = None  # timers

    def connection_made(self, transport):
        super().connection_made(transport)
        self._await_request()

    def data_received(self, data):
        super().data_received(data)
        state = self.conn.their_state
        if state is h11.SEND_BODY or (state is h11.IDLE and self.conn.trailing_data[0]):
            self._await_request()
        else:
            self._reading = _cancelled(self._reading)

    def connection_lost(self, exc):
        self._reading, self._writing = _cancelled(self._reading), _cancelled(self._writing)
        super().connection_lost(exc)

    def pause_writing(self):
        super().pause_writing()
        self._writing = self._writing or self.loop.call_later(self._seconds, self.transport.abort)

    def resume_writing(self):
        self._writing = _cancelled(self._writing)
        super().resume_writing()

    def _await_request(self):
        if self._reading is None:
            self._reading = self.loop.call_later(self._seconds + _SPARE, self._give_up)

    def _give_up(self):
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0] and not self.transport.is_closing():
            self.transport.write(_LATE)
        self.transport.close()


def _cancelled(timer):
    if timer is not None:
        timer.cancel()
