"""How far a long command is, and when it ends, as one line on a terminal."""

import contextlib
import signal
import sys
import time

from .. import _core
from .._trust.progress import watched


class Progress:
    """A line about work that takes minutes. `update` is called with the part that is done, as often as one likes.

    On a terminal the line is renewed; elsewhere a line appears for each tenth of the work.
    """

    def __init__(self, stream=None, clock=time.monotonic):
        self._stream, self._clock = stream or sys.stderr, clock
        self._begin, self._first, self._tenth = None, None, -1
        self._is_terminal = self._stream.isatty()

    def update(self, done):
        """`done` is from 0 to 1; what was done before the first call, in an earlier session, says nothing of speed."""
        if self._first is None:
            self._begin, self._first = self._clock(), done  # earlier sessions took time of their own
        elapsed = self._clock() - self._begin
        text = f"  {100 * done:3.0f} %, {_minutes(elapsed)}{self._rest(done, elapsed)}"
        if self._is_terminal:
            self._stream.write(f"\r{text:<60}")
        elif int(10 * done) > self._tenth:
            self._tenth = int(10 * done)
            self._stream.write(f"{text}\n")
        self._stream.flush()

    def end(self):
        """Ends the line."""
        if self._is_terminal and self._first is not None:
            self._stream.write("\n")

    def _rest(self, done, elapsed):
        part = done - self._first
        if part <= 0:
            return ""
        seconds = elapsed * (1 - done) / part
        at = time.strftime("%H:%M", time.localtime(time.time() + seconds))
        return f", about {_minutes(seconds)} left (until {at})"


def _minutes(seconds):
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d} min"


@contextlib.contextmanager
def measuring():
    """Shows on a terminal how far the measurement inside is. It handles Ctrl-C itself."""
    progress = Progress()
    try:
        with watched(progress.update if sys.stderr.isatty() else None):
            yield
    finally:
        progress.end()


@contextlib.contextmanager
def tuning(is_wanted):
    """Shows how far the tuning inside is. Ctrl-C ends it with what it has measured, then the command."""
    if not is_wanted:
        yield
        return
    progress, interrupts = Progress(), []
    previous = signal.signal(signal.SIGINT, lambda *_: interrupts.append(True))

    def goes_on(done):
        progress.update(done)
        return not interrupts

    _core.set_tune_progress(goes_on)
    try:
        yield
    finally:
        _core.set_tune_progress(None)
        signal.signal(signal.SIGINT, previous)
        progress.end()
    if interrupts:
        print("amp: note: the machine's file keeps what was measured of this model", file=sys.stderr)
        raise KeyboardInterrupt
