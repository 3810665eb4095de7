"""Checks of what an estimator and its handlers are given."""

import warnings

import numpy as np

from .....base import ArgumentError
from ....metric import Accuracy, CompositeEvalMetric, EvalMetric
from ...loss import SoftmaxCrossEntropyLoss


def _check_metrics(metrics):
    """A list of metrics; what a CompositeEvalMetric consists of. Raises ArgumentError."""
    if isinstance(metrics, CompositeEvalMetric):
        return [inner for metric in metrics.metrics for inner in _check_metrics(metric)]
    metrics = [metrics] if isinstance(metrics, EvalMetric) else metrics or []
    if not isinstance(metrics, (list, tuple)) or not all(isinstance(metric, EvalMetric) for metric in metrics):
        raise ArgumentError(f"metrics: expected an EvalMetric or a list of them, got {metrics!r}")
    return list(metrics)


def _check_handler_metric_ref(handler, known_metrics):
    """Raises ArgumentError for a handler that reads metrics which nothing updates."""
    for name in (name for name in dir(handler) if "metric" in name):
        value = getattr(handler, name)
        for metric in value if isinstance(value, list) else [value]:
            if isinstance(metric, EvalMetric) and not any(metric is known for known in known_metrics):
                raise ArgumentError(
                    f"{type(handler).__name__}: {metric.name!r} is none of the estimator's metrics; pass those of "
                    "estimator.train_metrics and estimator.val_metrics"
                )


def _suggest_metric_for_loss(loss):
    """The metric that goes with a loss, or None."""
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None


def _better_by(mode, monitor):
    """(np.less or np.greater, the worst value) for a metric. Raises ArgumentError for what is no simple metric."""
    if not isinstance(monitor, EvalMetric) or isinstance(monitor, CompositeEvalMetric):
        raise ArgumentError(f"monitor: expected one metric of the estimator, got {monitor!r}")
    if mode not in ("auto", "min", "max"):
        text = f"mode: expected 'auto', 'min' or 'max', got {mode!r}; 'auto' is used"
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    if mode not in ("min", "max"):
        name = monitor.get()[0].lower()
        mode = "max" if "acc" in name or "f1" in name else "min"
    return (np.less, np.inf) if mode == "min" else (np.greater, -np.inf)
