"""What happens at the begin and end of trainings, epochs and batches.

A handler inherits from `TrainBegin`, ..., `BatchEnd`, for the events that it wants. Handlers of one event run in the
order of their `priority`, the lowest first (0 where there is none): gradients are applied, metrics updated, then come
handlers of programs, checkpoints, and logs at last. A true result of `batch_end` or `epoch_end` stops the training.
"""

import time
import warnings

import numpy as np

from .....base import ArgumentError
from ...._missing import getter
from ....callback import are_finite
from ....metric import Loss as LossMetric
from .checkpoint_handler import CheckpointHandler
from .events import BatchBegin, BatchEnd, EpochBegin, EpochEnd, EventHandler, TrainBegin, TrainEnd
from .utils import _better_by, _check_metrics

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "EventHandler",
    "FiniteLossHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "StoppingHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
]


def _check_event_handlers(handlers):
    """A new list of handlers. Raises ArgumentError for anything else."""
    handlers = [handlers] if isinstance(handlers, EventHandler) else handlers or []
    if not isinstance(handlers, (list, tuple)) or not all(isinstance(handler, EventHandler) for handler in handlers):
        raise ArgumentError(f"event_handlers: expected an EventHandler or a list of them, got {handlers!r}")
    return list(handlers)


class StoppingHandler(TrainBegin, BatchEnd, EpochEnd):
    """StoppingHandler(max_epoch=None, max_batch=None): ends a training; every estimator has one.

    >>> handler = mx.gluon.contrib.estimator.StoppingHandler(max_batch=2)
    >>> handler.batch_end(None), handler.batch_end(None)
    (False, True)
    """

    def __init__(self, max_epoch=None, max_batch=None):
        self.max_epoch, self.max_batch = max_epoch, max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator, *args, **kwargs):
        """Counts from 0, up to what `fit` was told."""
        self.max_epoch, self.max_batch = estimator.max_epoch, estimator.max_batch
        self.current_batch = self.current_epoch = 0
        self.stop_training = False

    def batch_end(self, estimator, *args, **kwargs):
        """Whether this was the last batch."""
        self.current_batch += 1
        self.stop_training = self.stop_training or self.current_batch == self.max_batch
        return self.stop_training

    def epoch_end(self, estimator, *args, **kwargs):
        """Whether this was the last epoch."""
        self.current_epoch += 1
        self.stop_training = self.stop_training or self.current_epoch == self.max_epoch
        return self.stop_training


class GradientUpdateHandler(BatchEnd):
    """GradientUpdateHandler(priority=-2000): the trainer's step after each batch.

    >>> mx.gluon.contrib.estimator.GradientUpdateHandler().priority
    -2000
    """

    def __init__(self, priority=-2000):
        self.priority = priority

    def batch_end(self, estimator, *args, **kwargs):
        """Divides gradients by the number of losses, and updates the parameters."""
        loss = kwargs["loss"]
        losses = loss if isinstance(loss, list) else [loss]
        estimator.trainer.step(sum(each.shape[0] for each in losses))


class MetricHandler(EpochBegin, BatchEnd):
    """MetricHandler(metrics, priority=-1000): updates metrics after each batch, and resets them for each epoch.

    >>> metric = mx.metric.Loss()
    >>> handler = mx.gluon.contrib.estimator.MetricHandler(metric)
    >>> handler.batch_end(None, pred=[], label=[], loss=[mx.nd.array([1, 3])])
    >>> metric.get()
    ('loss', 2.0)
    """

    def __init__(self, metrics, priority=-1000):
        self.metrics = _check_metrics(metrics)
        self.priority = priority

    def epoch_begin(self, estimator, *args, **kwargs):
        """Resets the metrics."""
        for metric in self.metrics:
            metric.reset()

    def batch_end(self, estimator, *args, **kwargs):
        """Metrics of losses get the losses, others labels and predictions."""
        for metric in self.metrics:
            if isinstance(metric, LossMetric):
                metric.update(0, kwargs["loss"])
            else:
                metric.update(kwargs["label"], kwargs["pred"])


class ValidationHandler(TrainBegin, BatchEnd, EpochEnd):
    """Validates every `epoch_period` epochs and every `batch_period` batches, None for never.

    ValidationHandler(val_data, eval_fn, epoch_period=1, batch_period=None, priority=-1000, event_handlers=None):
    `eval_fn(val_data=..., batch_axis=..., event_handlers=...)` is an estimator's `evaluate`, or as that.

    >>> evaluate = lambda val_data, batch_axis, event_handlers: print("validating", val_data)
    >>> handler = mx.gluon.contrib.estimator.ValidationHandler("data", evaluate)
    >>> handler.priority
    -1000
    """

    def __init__(self, val_data, eval_fn, epoch_period=1, batch_period=None, priority=-1000, event_handlers=None):
        self.val_data, self.eval_fn, self.event_handlers = val_data, eval_fn, event_handlers
        self.epoch_period, self.batch_period = epoch_period, batch_period
        self.current_batch = self.current_epoch = 0
        self.priority = priority

    def train_begin(self, estimator, *args, **kwargs):
        """Counts from where the training begins."""
        self.current_batch, self.current_epoch = estimator.progress.batches, estimator.progress.epoch

    def batch_end(self, estimator, *args, **kwargs):
        """Validates, if it is time."""
        self.current_batch += 1
        self._validate(estimator, self.current_batch, self.batch_period)

    def epoch_end(self, estimator, *args, **kwargs):
        """Validates, if it is time."""
        self.current_epoch += 1
        self._validate(estimator, self.current_epoch, self.epoch_period)

    def _validate(self, estimator, count, period):
        if period and count % period == 0:
            self.eval_fn(val_data=self.val_data, batch_axis=estimator.batch_axis, event_handlers=self.event_handlers)


class LoggingHandler(TrainBegin, TrainEnd, EpochBegin, EpochEnd, BatchBegin, BatchEnd):
    """LoggingHandler(log_interval='epoch', metrics=None, priority=inf): logs metrics and times.

    With a number as `log_interval` each batch of that number is logged, too. Raises ArgumentError for other intervals.

    >>> mx.gluon.contrib.estimator.LoggingHandler(log_interval=10).batch_index
    0
    """

    def __init__(self, log_interval="epoch", metrics=None, priority=np.inf):
        if not isinstance(log_interval, int) and log_interval != "epoch":
            raise ArgumentError(f"log_interval: expected a number or 'epoch', got {log_interval!r}")
        self.metrics = _check_metrics(metrics)
        self.log_interval, self.priority = log_interval, priority
        self.batch_index = self.current_epoch = self.processed_samples = 0
        self.log_interval_time = 0
        self.train_start = self.epoch_start = self.batch_start = time.perf_counter()

    def _values(self):
        return ", ".join("{}: {:.4f}".format(*metric.get()) for metric in self.metrics)

    def train_begin(self, estimator, *args, **kwargs):
        """Logs what will be done."""
        self.train_start = time.perf_counter()
        trainer, log = estimator.trainer, estimator.logger.info
        log("Training begins: %s, learning rate %.4f", type(trainer.optimizer).__name__, trainer.learning_rate)
        if estimator.max_epoch:
            log("Training for %d epochs", estimator.max_epoch)
        else:
            log("Training for %d batches", estimator.max_batch)
        self.current_epoch, self.batch_index = estimator.progress.epoch, estimator.progress.batch
        self.processed_samples = self.log_interval_time = 0

    def train_end(self, estimator, *args, **kwargs):
        """Logs the final values."""
        seconds = time.perf_counter() - self.train_start
        estimator.logger.info("Training ended: %.0f s, %d epochs. %s", seconds, self.current_epoch, self._values())

    def epoch_begin(self, estimator, *args, **kwargs):
        """Logs which epoch begins."""
        self.epoch_start = time.perf_counter()
        if any("training" in metric.name for metric in self.metrics):
            rate = estimator.trainer.learning_rate
            estimator.logger.info("[Epoch %d] begins, learning rate %.4f", self.current_epoch, rate)
        else:
            estimator.logger.info("Validation begins")

    def epoch_end(self, estimator, *args, **kwargs):
        """Logs the values of an epoch."""
        seconds = time.perf_counter() - self.epoch_start
        estimator.logger.info("[Epoch %d] finished in %.3fs, %s", self.current_epoch, seconds, self._values())
        self.current_epoch += 1
        self.batch_index = 0

    def batch_begin(self, estimator, *args, **kwargs):
        """Looks at the clock."""
        self.batch_start = time.perf_counter()

    def batch_end(self, estimator, *args, **kwargs):
        """Logs the values so far, if it is time."""
        if isinstance(self.log_interval, int):
            self.processed_samples += kwargs["batch"][0].shape[estimator.batch_axis]
            self.log_interval_time += time.perf_counter() - self.batch_start
            if self.batch_index % self.log_interval == 0:
                place = f"[Epoch {self.current_epoch}][Batch {self.batch_index}][Samples {self.processed_samples}]"
                seconds = f"time/interval: {self.log_interval_time:.3f}s"
                estimator.logger.info("%s %s %s", place, seconds, self._values())
                self.log_interval_time = 0
        self.batch_index += 1


class FiniteLossHandler(BatchEnd):
    """FiniteLossHandler(priority=-3000): an error where a loss is not finite, before the parameters are updated.

    Parameters, and the last checkpoint, stay as they were. Without this handler an estimator warns once. Raises
    ArgumentError that names epoch and batch, counted from 0.

    >>> mx.gluon.contrib.estimator.FiniteLossHandler().priority
    -3000
    """

    def __init__(self, priority=-3000):
        self.priority = priority

    def batch_end(self, estimator, *args, **kwargs):
        """Looks at the losses."""
        if not _are_finite(kwargs["loss"]):
            raise ArgumentError(f"the loss is not finite in {estimator.progress.place()}; the parameters were kept")


def _are_finite(losses):
    return are_finite(losses if isinstance(losses, (list, tuple)) else [losses])


class EarlyStoppingHandler(TrainBegin, EpochEnd, TrainEnd):
    """Stops where a metric has not become better for `patience` epochs.

    EarlyStoppingHandler(monitor, min_delta=0, patience=0, mode='auto', baseline=None): `monitor` is a metric of the
    estimator, which has to improve by more than `min_delta`, at first on `baseline`. `mode` is 'max', 'min' or 'auto',
    which takes 'max' for accuracies and F1. Raises ArgumentError for what is no simple metric.

    >>> handler = mx.gluon.contrib.estimator.EarlyStoppingHandler(mx.metric.Accuracy(), patience=2)
    >>> handler.stop_training
    False
    """

    continued = ("best", "wait")

    def __init__(self, monitor, min_delta=0, patience=0, mode="auto", baseline=None):
        self.monitor, self.baseline, self.patience = monitor, baseline, patience
        self.monitor_op, self.best = _better_by(mode, monitor)
        self.min_delta = min_delta if self.monitor_op is np.greater else -min_delta
        self.wait = self.stopped_epoch = self.current_epoch = 0
        self.stop_training = False

    def train_begin(self, estimator, *args, **kwargs):
        """Begins to compare."""
        self.wait = self.stopped_epoch = 0
        self.current_epoch = estimator.progress.epoch
        self.stop_training = False
        worst = np.inf if self.monitor_op is np.less else -np.inf
        self.best = worst if self.baseline is None else self.baseline

    def epoch_end(self, estimator, *args, **kwargs):
        """Whether it was too long without an improvement."""
        name, value = self.monitor.get()
        if np.isnan(value):
            warnings.warn(f"EarlyStoppingHandler: nothing updates {name}; pass a metric of the estimator", stacklevel=2)
        elif self.monitor_op(value - self.min_delta, self.best):
            self.best, self.wait = value, 0
        else:
            self.wait += 1
            if self.wait >= self.patience:
                self.stopped_epoch, self.stop_training = self.current_epoch, True
        self.current_epoch += 1
        return self.stop_training

    def train_end(self, estimator, *args, **kwargs):
        """Logs why it stopped."""
        if self.stop_training:
            name = self.monitor.get()[0]
            estimator.logger.info("[Epoch %d] stopped early: %s no longer improves", self.stopped_epoch, name)


__getattr__ = getter(__name__)
