"""Connections of uvicorn with deadlines: by itself it waits for a request, and for readers, as long as they like."""

from __future__ import annotations

import fcntl
import struct
import termios

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_TEXT = b"the request did not arrive in time"
_LATE = (
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: text/plain\r\n"
    b"content-length: %d\r\n\r\n%s" % (len(_TEXT), _TEXT)
)
_SPARE = 1.0  # seconds that the application has to answer before a connection is closed


class TimedConnection(H11Protocol):
    """Closes a connection whose request is incomplete `read_timeout` seconds after its first byte, or whose peer takes
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
        if self._writing is None:
            self._await_reader(None)

    def resume_writing(self):
        self._writing = _cancelled(self._writing)
        super().resume_writing()

    def _await_request(self):
        if self._reading is None:
            self._reading = self.loop.call_later(self._seconds + _SPARE, self._give_up)

    def _await_reader(self, before):
        """Closes the connection where as many bytes are left as `before`: its peer has taken none."""
        left = self.transport.get_write_buffer_size() + _num_in_kernel(self.transport.get_extra_info("socket"))
        if before is not None and left >= before:
            return self.transport.abort()
        self._writing = self.loop.call_later(self._seconds, self._await_reader, left)

    def _give_up(self):
        if self.conn.their_state is h11.IDLE and self.conn.trailing_data[0] and not self.transport.is_closing():
            self.transport.write(_LATE)
        self.transport.close()


def _num_in_kernel(sock):
    """Bytes that were sent and that the peer has not taken. The kernel asks for more after megabytes only."""
    return struct.unpack("i", fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, bytes(4)))[0]


def _cancelled(timer):
    if timer is not None:
        timer.cancel()
