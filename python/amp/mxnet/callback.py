"""Functions that `Module.fit` calls after batches and epochs: progress, checkpoints and logs."""

import collections
import logging
import time

import numpy as np

from ..base import ArgumentError
from ..checkpoint import save_checkpoint
from ._missing import getter
from .curves import CSVCurves

__all__ = [
    "BatchEndParam",
    "CSVCallback",
    "FiniteOutputs",
    "LogValidationMetricsCallback",
    "ProgressBar",
    "Speedometer",
    "do_checkpoint",
    "log_train_metric",
    "module_checkpoint",
]

BatchEndParam = collections.namedtuple("BatchEndParam", ["epoch", "nbatch", "eval_metric", "locals"])
BatchEndParam.__doc__ = """What callbacks of batches get: numbers of epoch and batch, the metric, variables of the loop.

>>> mx.callback.BatchEndParam(0, 3, None, {}).nbatch
3
"""


def do_checkpoint(prefix, period=1):
    """For the end of epochs: writes `<prefix>-symbol.json` and `<prefix>-<epoch>.params` every `period` epochs.

    >>> save = mx.callback.do_checkpoint('copy', period=5)
    >>> save(4, *amp.load_checkpoint('model', 0))
    >>> amp.load_checkpoint('copy', 5)[0].list_outputs()
    ['relu_output']
    """
    period = max(1, int(period))

    def callback(iter_no, sym, arg, aux):
        if (iter_no + 1) % period == 0:
            save_checkpoint(prefix, iter_no + 1, sym, arg, aux)

    return callback


def module_checkpoint(mod, prefix, period=1, save_optimizer_states=False):
    """As `do_checkpoint`, of a Module, whose optimizer's states can be written, too.

    >>> mod = mx.mod.Module.load('model', 0, label_names=None)
    >>> mx.callback.module_checkpoint(mod, 'copy')(0)
    >>> amp.load_checkpoint('copy', 1)[0].list_outputs()
    ['relu_output']
    """
    period = max(1, int(period))

    def callback(iter_no, sym=None, arg=None, aux=None):
        if (iter_no + 1) % period == 0:
            mod.save_checkpoint(prefix, iter_no + 1, save_optimizer_states)

    return callback


def log_train_metric(period, auto_reset=False):
    """For the end of batches: logs the metric every `period` batches.

    >>> mx.callback.log_train_metric(10)(mx.callback.BatchEndParam(0, 10, mx.metric.create('acc'), {}))
    """

    def callback(param):
        if param.nbatch % period or param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            logging.info("Iter[%d] Batch[%d] Train-%s=%f", param.epoch, param.nbatch, name, value)
        if auto_reset:
            param.eval_metric.reset_local()

    return callback


class Speedometer:
    """For the end of batches: logs samples per second, and the metric, every `frequent` batches.

    >>> speed = mx.callback.Speedometer(batch_size=32, frequent=10)
    >>> speed(mx.callback.BatchEndParam(0, 1, None, {}))
    """

    def __init__(self, batch_size, frequent=50, auto_reset=True):
        self.batch_size, self.frequent, self.auto_reset = batch_size, frequent, auto_reset
        self._begin = None  # of the batches that are measured
        self._last = 0

    def __call__(self, param):
        if self._begin is None or param.nbatch < self._last:
            self._begin = time.perf_counter()
        elif param.nbatch % self.frequent == 0:
            self._log(param, self.frequent * self.batch_size / max(time.perf_counter() - self._begin, 1e-9))
            self._begin = time.perf_counter()
        self._last = param.nbatch

    def _log(self, param, speed):
        if param.eval_metric is None:
            logging.info("Iter[%d] Batch [%d]\tSpeed: %.2f samples/sec", param.epoch, param.nbatch, speed)
            return
        values = "".join(f"\t{name}={value:f}" for name, value in param.eval_metric.get_name_value())
        first = param.nbatch - self.frequent if self.auto_reset else 0
        logging.info(
            "Epoch[%d] Batch [%d-%d]\tSpeed: %.2f samples/sec%s", param.epoch, first, param.nbatch, speed, values
        )
        if self.auto_reset:
            param.eval_metric.reset_local()


class ProgressBar:
    """For the end of batches: logs a bar of `length` characters for `total` batches.

    >>> bar = mx.callback.ProgressBar(total=10)
    >>> bar(mx.callback.BatchEndParam(0, 1, None, {}))
    """

    def __init__(self, total, length=80):
        self.total, self.bar_len = total, length

    def __call__(self, param):
        done = min(1.0, param.nbatch / self.total)
        filled = round(self.bar_len * done)
        logging.info("[%s%s] %d%%\r", "=" * filled, "-" * (self.bar_len - filled), -int(-100 * done // 1))


class LogValidationMetricsCallback:
    """For the end of an evaluation: logs its metric.

    >>> mx.callback.LogValidationMetricsCallback()(mx.callback.BatchEndParam(0, 1, None, {}))
    """

    def __call__(self, param):
        for name, value in param.eval_metric.get_name_value() if param.eval_metric else ():
            logging.info("Epoch[%d] Validation-%s=%f", param.epoch, name, value)


class CSVCallback:
    """CSVCallback(path): for the end of batches or evaluations, adds the metric's values to a table, see mx.curves.

    >>> metric = mx.metric.create("acc")
    >>> mx.callback.CSVCallback("curves.csv")(mx.callback.BatchEndParam(0, 10, metric, {}))
    >>> print(open("curves.csv").read().rstrip())
    epoch,batch,accuracy
    0,10,nan
    """

    def __init__(self, path):
        self._curves = CSVCurves(path)

    def __call__(self, param):
        if param.eval_metric is not None:
            self._curves.write(param.epoch, param.nbatch, dict(param.eval_metric.get_name_value()))


class FiniteOutputs:
    """For the end of batches: raises ArgumentError, with epoch and batch, where an output of the Module is not finite.

    Without it `Module.fit` warns once.

    >>> check = mx.callback.FiniteOutputs()
    >>> mod = mx.mod.Module.load("model", 0, label_names=None)
    >>> mod.bind(data_shapes=[("data", (2, 4))])
    >>> mod.forward(mx.io.DataBatch([amp.nd.ones((2, 4))]))
    >>> check(mx.callback.BatchEndParam(0, 10, None, {"self": mod}))
    """

    def __call__(self, param):
        if not are_finite(param.locals["self"].get_outputs()):
            raise ArgumentError(f"an output is not finite in epoch {param.epoch}, batch {param.nbatch}")


def are_finite(arrays):
    """Whether all elements of a list of arrays of floats are finite numbers."""
    return all(np.isfinite(np.asarray(array).astype("float32", copy=False)).all() for array in arrays)


__getattr__ = getter(__name__)
