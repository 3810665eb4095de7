"""Metrics of probabilities, and means of losses."""

import math

import numpy as np

from .eval_metric import EvalMetric, alias, check_label_shapes, host, register


@register
class Perplexity(EvalMetric):
    """exp of the mean of -log of the probability of the label; `ignore_label` does not count.

    >>> metric = mx.metric.Perplexity()
    >>> metric.update([amp.nd.array([0, 1])], [amp.nd.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    1.3608
    """

    def __init__(self, ignore_label=None, axis=-1, name="perplexity", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, ignore_label=ignore_label, axis=axis, has_global_stats=True)
        self.ignore_label, self.axis = ignore_label, axis

    def update(self, labels, preds):
        labels, preds = check_label_shapes(labels, preds, True)
        total, count = 0.0, 0
        for label, pred in zip(labels, preds):
            each = self._measure(host(label), host(pred))
            total, count = total + each[0], count + each[1]
        self._add(total, count)

    def _measure(self, label, pred):
        lines = np.moveaxis(pred, self.axis, -1).reshape(-1, pred.shape[self.axis])
        label = label.astype("int64").ravel()
        check_label_shapes(label, lines)
        chosen = lines[np.arange(len(lines)), np.clip(label, 0, lines.shape[1] - 1)]
        if self.ignore_label is not None:
            chosen = chosen[label != self.ignore_label]
        return float(-np.log(np.maximum(1e-10, chosen)).sum()), len(chosen)

    def _value(self, total, count):
        return math.exp(total / count) if count else math.nan


@register
@alias("ce")
class CrossEntropy(EvalMetric):
    """The mean of -log(probability of the label + eps).

    >>> metric = mx.metric.CrossEntropy()
    >>> metric.update([amp.nd.array([0, 1])], [amp.nd.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    0.3081
    """

    def __init__(self, eps=1e-12, name="cross-entropy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, eps=eps, has_global_stats=True)
        self.eps = eps

    def _measure(self, label, pred):
        label = label.ravel().astype("int64")
        check_label_shapes(label, pred)
        chosen = pred[np.arange(len(label)), label]
        return float(-np.log(chosen + self.eps).sum()), len(label)


@register
@alias("nll_loss")
class NegativeLogLikelihood(CrossEntropy):
    """As CrossEntropy, under another name.

    >>> metric = mx.metric.NegativeLogLikelihood()
    >>> metric.update([amp.nd.array([0, 1])], [amp.nd.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    0.3081
    """

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@register
class Loss(EvalMetric):
    """The mean of all elements of the predictions; labels do not count.

    >>> metric = mx.metric.Loss()
    >>> metric.update(None, [amp.nd.array([1.0, 3.0])])
    >>> metric.get()
    ('loss', 2.0)
    """

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _, preds):
        for pred in [preds] if hasattr(preds, "shape") else preds:
            pred = host(pred)
            self._add(float(pred.sum()), pred.size)


class Torch(Loss):
    """`Loss` under another name, which MXNet had for criterions of Torch.

    >>> mx.metric.Torch().name
    'torch'
    """

    def __init__(self, name="torch", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


class Caffe(Torch):
    """`Loss` under another name, which MXNet had for criterions of Caffe.

    >>> mx.metric.Caffe().name
    'caffe'
    """

    def __init__(self, name="caffe", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)
