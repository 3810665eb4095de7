"""`Estimator`: a network, its loss and its trainer, with loops that event handlers hook into."""

import copy
import logging
import sys
import types
import warnings

from .....base import ArgumentError
from ...._missing import getter
from ....context import Context, cpu
from ....metric import Loss as LossMetric
from ...data import DataLoader
from ...loss import Loss
from ...trainer import Trainer
from . import progress as progresses
from .batch_processor import BatchProcessor
from .event_handler import (
    BatchBegin,
    BatchEnd,
    CheckpointHandler,
    EpochBegin,
    EpochEnd,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
    _are_finite,
    _check_event_handlers,
)
from .utils import _check_handler_metric_ref, _check_metrics, _suggest_metric_for_loss

__all__ = ["Estimator"]


class Estimator:
    """Trains and validates a network.

    Estimator(net, loss, train_metrics=None, val_metrics=None, initializer=None, trainer=None, context=None,
    val_net=None, val_loss=None, batch_processor=None): `train_metrics` are a metric or a list, by default the loss, and
    the accuracy where the loss is that of classes; `val_metrics` are copies of them. A network that has no parameters
    yet is initialized. The default trainer is SGD with learning rate 0.001. `val_net` and `val_loss` are what is
    validated, by default `net` and `loss`; `batch_processor` says what is done with a batch. `context` (`device` in
    MXNet 2) has no effect. `logger` is a logging.Logger that writes to the standard output. Raises ArgumentError for
    arguments of other types.

    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> estimator = mx.gluon.contrib.estimator.Estimator(net, mx.gluon.loss.L2Loss(), trainer=trainer)
    >>> estimator.logger.setLevel("WARNING")
    >>> data = mx.gluon.data.ArrayDataset(np.ones((8, 2), "float32"), np.ones((8, 1), "float32"))
    >>> estimator.fit(mx.gluon.data.DataLoader(data, batch_size=4), epochs=20)
    >>> estimator.train_metrics[0].get()[1] < 0.01
    True
    """

    def __init__(
        self,
        net,
        loss,
        train_metrics=None,
        val_metrics=None,
        initializer=None,
        trainer=None,
        context=None,
        val_net=None,
        val_loss=None,
        batch_processor=None,
        *,
        device=None,
    ):
        self.net, self.val_net = net, net if val_net is None else val_net
        self.loss = _checked_loss("loss", loss)
        self.val_loss = self.loss if val_loss is None else _checked_loss("val_loss", val_loss)
        self._train_metrics = _check_metrics(train_metrics) or self._default_metrics()
        self._val_metrics = _check_metrics(val_metrics) or [copy.deepcopy(metric) for metric in self._train_metrics]
        _prefix_names(self._train_metrics, "training", "validation")
        _prefix_names(self._val_metrics, "validation", "training")
        self.logger = logging.Logger("Estimator", logging.INFO)
        self.logger.addHandler(logging.StreamHandler(sys.stdout))
        self.context = self.device = _checked_devices(device if context is None else context)
        self._initialize(initializer)
        self.trainer = self._checked_trainer(trainer)
        self.batch_processor = _checked_processor(batch_processor)
        self.max_epoch = self.max_batch = None
        self.batch_axis = 0
        self.progress = progresses.Progress()
        self._handlers = []
        self._is_watching = True  # the loss, until the first warning

    @property
    def train_metrics(self):
        """The metrics of training, a list."""
        return self._train_metrics

    @property
    def val_metrics(self):
        """The metrics of validation, a list."""
        return self._val_metrics

    def _default_metrics(self):
        suggested = _suggest_metric_for_loss(self.loss)
        return [*([suggested] if suggested else []), LossMetric(self.loss.name.rstrip("0123456789"))]

    def _initialize(self, initializer):
        parameters = self.net.collect_params().values()
        if all(parameter.is_initialized for parameter in parameters):
            if initializer is not None:
                warnings.warn(
                    "Network already fully initialized: the initializer is not used; "
                    "net.initialize(..., force_reinit=True) does it again",
                    stacklevel=3,
                )
        elif initializer is None:
            self.net.initialize()
        else:
            self.net.initialize(init=initializer)

    def _checked_trainer(self, trainer):
        if trainer is None:
            warnings.warn("No trainer specified: SGD with learning rate 0.001 is used", stacklevel=3)
            return Trainer(self.net.collect_params(), "sgd", {"learning_rate": 0.001})
        if not isinstance(trainer, Trainer):
            raise ArgumentError(f"trainer: expected a gluon.Trainer, got {type(trainer).__name__}")
        return trainer

    # ---- loops ----

    def fit_batch(self, train_batch, batch_axis=0):
        """(data, label, pred, loss) of a batch after the batch processor computed its gradients."""
        return self.batch_processor.fit_batch(self, train_batch, batch_axis)

    def evaluate_batch(self, val_batch, batch_axis=0):
        """(data, label, pred, loss) of a batch of validation, by the batch processor."""
        return self.batch_processor.evaluate_batch(self, val_batch, batch_axis)

    def evaluate(self, val_data, batch_axis=0, event_handlers=None):
        """Updates `val_metrics` over the batches of a DataLoader.

        `event_handlers` are told of the epoch and of its batches; a MetricHandler and a LoggingHandler are there where
        they have none. Raises ArgumentError for other data.
        """
        _check_data("val_data", val_data)
        for metric in self.val_metrics:
            metric.reset()
        handlers = self._prepare_default_validation_handlers(event_handlers)
        _, epoch_begin, batch_begin, batch_end, epoch_end, _ = self._categorize_handlers(handlers)
        for handler in epoch_begin:
            handler.epoch_begin(self)
        for batch in val_data:
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.evaluate_batch(batch, batch_axis)
            for handler in batch_end:
                handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss)
        for handler in epoch_end:
            handler.epoch_end(self)

    def fit(self, train_data, val_data=None, epochs=None, event_handlers=None, batches=None, batch_axis=0):
        """Trains with the batches of a DataLoader, for `epochs` or for `batches`, and validates after each epoch.

        Added to `event_handlers` are a StoppingHandler and, where there are none, a GradientUpdateHandler, a
        MetricHandler, a LoggingHandler and (given `val_data`) a ValidationHandler. A loss that is not finite is warned
        of once; see FiniteLossHandler. Raises ArgumentError for other data, without `epochs` and `batches` or with both
        of them, and for handlers that mix metrics of the estimator with others.
        """
        _check_data("train_data", train_data)
        if bool(epochs) == bool(batches):
            raise ArgumentError("fit: say either how many epochs or how many batches")
        self.max_epoch, self.max_batch, self.batch_axis = epochs, batches, batch_axis
        self.progress = progresses.Progress()
        self._is_watching = True
        self._handlers = self._prepare_default_handlers(val_data, event_handlers)
        events = self._categorize_handlers(self._handlers)
        self._begin(events[0])
        while not self._train_epoch(train_data, *events[1:-1]):
            if self.progress.batch:  # a handler ended the epoch
                self.progress.end_epoch()
        for handler in events[-1]:
            handler.train_end(self)
        self._handlers = [_remembered(handler) for handler in self._handlers]  # they may hold this estimator

    def _begin(self, train_begin):
        for handler in self._handlers:
            if isinstance(handler, CheckpointHandler):
                handler.resume(self)
        for handler in train_begin:
            handler.train_begin(self)
        progresses.put_back(self.progress.kept.get("handlers", []), self._handlers)
        self._put_back_metrics()

    def _put_back_metrics(self):
        progresses.put_back(self.progress.kept.get("metrics", []), self._metrics())

    def _train_epoch(self, data, epoch_begin, batch_begin, batch_end, epoch_end):
        """Whether a handler says that it was the last one."""
        for handler in epoch_begin:
            handler.epoch_begin(self)
        if self.progress.batch:
            self._put_back_metrics()
        for batch in self.progress.batches_of(data):
            for handler in batch_begin:
                handler.batch_begin(self, batch=batch)
            _, label, pred, loss = self.fit_batch(batch, self.batch_axis)
            self._watch(loss)
            results = [handler.batch_end(self, batch=batch, pred=pred, label=label, loss=loss) for handler in batch_end]
            if any(results):
                break
        else:
            self.progress.end_epoch()
        return any([handler.epoch_end(self) for handler in epoch_end])

    def _watch(self, loss):
        if self._is_watching and not _are_finite(loss):
            self._is_watching = False
            place = self.progress.place()
            self.logger.warning("the loss is not finite in %s; FiniteLossHandler makes it an error", place)

    # ---- what a checkpoint keeps ----

    def _metrics(self):
        return [*self.train_metrics, *self.val_metrics]

    def progress_state(self):
        """How far the training is, as numbers, lists and dicts."""
        handlers = progresses.kept([{name: getattr(h, name) for name in h.continued} for h in self._handlers])
        kept = {"handlers": handlers, "metrics": progresses.kept([vars(metric) for metric in self._metrics()])}
        return {**self.progress.state(), "kept": kept}

    # ---- handlers ----

    def _prepare_default_handlers(self, val_data, event_handlers):
        """The handlers of `fit` in the order of their priorities."""
        given = _check_event_handlers(event_handlers)
        added = [StoppingHandler(self.max_epoch, self.max_batch)]
        if not _has(given, GradientUpdateHandler):
            added.append(GradientUpdateHandler())
        if not _has(given, MetricHandler):
            added.append(MetricHandler(self.train_metrics))
        if val_data is not None and not _has(given, ValidationHandler):
            added.append(ValidationHandler(val_data, self.evaluate))
        if not _has(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.train_metrics))
        return _merged(given, added, self._metrics())

    def _prepare_default_validation_handlers(self, event_handlers):
        """The handlers of `evaluate` in the order of their priorities."""
        given = _check_event_handlers(event_handlers)
        added = []
        if not _has(given, MetricHandler):
            added.append(MetricHandler(self.val_metrics))
        if not _has(given, LoggingHandler):
            added.append(LoggingHandler(metrics=self.val_metrics))
        return _merged(given, added, self.val_metrics)

    def _categorize_handlers(self, event_handlers):
        """Those of the begin of training, epochs and batches, and of the end of batches, epochs and training."""
        events = TrainBegin, EpochBegin, BatchBegin, BatchEnd, EpochEnd, TrainEnd
        return tuple([handler for handler in event_handlers if isinstance(handler, event)] for event in events)


def _has(handlers, kind):
    return any(isinstance(handler, kind) for handler in handlers)


def _merged(given, added, metrics):
    """All handlers in order. Where both kinds are there they have to share the estimator's metrics."""
    handlers = [*given, *added]
    if given and added:
        for handler in handlers:
            _check_handler_metric_ref(handler, metrics)
    return sorted(handlers, key=lambda handler: getattr(handler, "priority", 0))


def _prefix_names(metrics, prefix, other):
    """Handlers tell metrics of training from those of validation by their names."""
    for metric in metrics:
        if other in metric.name:
            metric.name = metric.name.replace(other, prefix)
        elif not metric.name.startswith(prefix):
            metric.name = f"{prefix} {metric.name}"


def _remembered(handler):
    """What checkpoints keep of a handler."""
    return types.SimpleNamespace(
        continued=handler.continued, **{name: getattr(handler, name) for name in handler.continued}
    )


def _check_data(what, data):
    if not isinstance(data, DataLoader):
        raise ArgumentError(f"{what}: expected a gluon.data.DataLoader, got {type(data).__name__}")


def _checked_loss(what, loss):
    if not isinstance(loss, Loss):
        raise ArgumentError(f"{what}: expected a gluon.loss.Loss, got {type(loss).__name__}")
    return loss


def _checked_devices(devices):
    """[Context], by default the CPU."""
    devices = [devices] if isinstance(devices, Context) else devices or [cpu()]
    if not isinstance(devices, (list, tuple)) or not all(isinstance(device, Context) for device in devices):
        raise ArgumentError(f"context: expected a Context or a list of them, got {devices!r}")
    return list(devices)


def _checked_processor(processor):
    if processor is None:
        return BatchProcessor()
    if not all(callable(getattr(processor, name, None)) for name in ("fit_batch", "evaluate_batch")):
        raise ArgumentError("batch_processor: expected an object with fit_batch() and evaluate_batch()")
    return processor


__getattr__ = getter(__name__)
