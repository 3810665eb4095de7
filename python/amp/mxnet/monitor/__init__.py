"""Statistics of what runs compute: `mx.mon.Monitor`.

`runs` and `graph` compute each tensor of a run once more for those who watch: bound symbols, modules and blocks. They
import executors of `amp` and nothing else of `amp.mxnet`.
"""

import logging
import math
import numbers
import re

from ... import nd
from ..._core import NDArray, dtype_name
from ...base import ArgumentError
from .._missing import getter

__all__ = ["Monitor"]


def _size(array):
    """The norm of an array by the square root of its number of elements: float32[1], or a wider dtype."""
    array = array if dtype_name(array.dtype) == "float64" else array.astype("float32", copy=False)
    return nd.norm(array) / math.sqrt(max(1, array.size))


class Monitor:
    """Monitor(interval): statistics of the tensors of every `interval`-th batch.

    `stat_func(NDArray)` gives an NDArray or a list of them; by default the norm by the square root of the size.
    `pattern` is a regular expression that the beginnings of names match; `sort`: by name. `monitor_all`: inputs of
    operators, too. What there is to see, and under which names, says `BoundSymbol.set_monitor_callback`; arguments and
    auxiliary states follow when the batch ends. Between those batches a monitor costs no time. Raises ArgumentError for
    an `interval` that is no positive number.

    >>> bound = amp.sym.exp(amp.sym.Variable("x"), name="e").simple_bind(x=(2,))
    >>> monitor = mx.mon.Monitor(1, stat_func=lambda array: array.max().reshape((1,)))
    >>> monitor.install(bound)
    >>> monitor.tic()
    >>> _ = bound.forward()
    >>> monitor.toc()
    [(1, 'e_output', '1.0\\t'), (1, 'x', '0.0\\t')]
    """

    def __init__(self, interval, stat_func=None, pattern=".*", sort=False, monitor_all=False):
        if isinstance(interval, bool) or not isinstance(interval, numbers.Integral) or interval < 1:
            raise ArgumentError(f"interval: expected a number of batches, got {interval!r}")
        self.interval, self.sort, self.monitor_all = interval, bool(sort), bool(monitor_all)
        self.stat_func = stat_func or _size
        self.re_prog = re.compile(pattern)
        self.activated = False
        self.step = 0  # batches that have begun
        self.queue = []  # [(step, name, result of stat_func)] of this batch
        self.exes = []
        self.stat_helper = _Callback(self)

    def install(self, exe):
        """Watches the runs of a bound symbol, or of what `Module._exec_group.execs` has, from the next `tic` on."""
        exe.set_monitor_callback(self.stat_helper, self.monitor_all)
        self.exes.append(exe)

    def tic(self):
        """A batch begins."""
        if self.step % self.interval == 0:
            self.queue, self.activated = [], True
        self.step += 1

    def toc(self):
        """A batch ends: [(number of the batch, name, statistics)], of which the last one is a str; [] if not watched.

        Raises ArgumentError where `stat_func` gives something else than arrays.
        """
        if not self.activated:
            return []
        for exe in self.exes:
            for name, array in [*exe.arg_dict.items(), *exe.aux_dict.items()]:
                self._add(name, array)
        self.activated = False
        found = sorted(self.queue, key=lambda item: item[1]) if self.sort else self.queue
        self.queue = []
        return [(step, name, _text(statistics)) for step, name, statistics in found]

    def toc_print(self):
        """`toc`, whose results are logged."""
        for step, name, text in self.toc():
            logging.info("Batch: %7d %-30s %s", step, name, text)

    def _add(self, name, array):
        if self.activated and self.re_prog.match(name):
            self.queue.append((self.step, name, self.stat_func(array)))


class _Callback:
    """What is called for each tensor."""

    def __init__(self, monitor):
        self._monitor = monitor

    @property
    def is_idle(self):
        """Whether runs need not be shown."""
        return not self._monitor.activated

    def __call__(self, name, array):
        self._monitor._add(name, array)


def _text(statistics):
    arrays = statistics if isinstance(statistics, list) else [statistics]
    if not all(isinstance(array, NDArray) for array in arrays):
        raise ArgumentError(f"stat_func: expected an NDArray or a list of NDArrays, got {statistics!r:.80}")
    return "".join(f"{array.asnumpy()[0] if array.shape == (1,) else array.asnumpy()}\t" for array in arrays)


__getattr__ = getter(__name__)
