"""Metrics of what is classified right."""

import math

import numpy as np

from ...base import ArgumentError
from .eval_metric import EvalMetric, alias, check_label_shapes, host, register


@register
@alias("acc")
class Accuracy(EvalMetric):
    """The share of right labels; predictions with one more dimension are argmaxed along `axis`.

    >>> accuracy = mx.metric.Accuracy()
    >>> accuracy.update([amp.nd.array([0, 1])], [amp.nd.array([[0.9, 0.1], [0.8, 0.2]])])
    >>> accuracy.get()
    ('accuracy', 0.5)
    """

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, axis=axis, has_global_stats=True)
        self.axis = axis

    def _measure(self, label, pred):
        if pred.shape != label.shape:
            pred = pred.argmax(axis=self.axis)
        label, pred = label.astype("int32").ravel(), pred.astype("int32").ravel()
        check_label_shapes(label, pred)
        return int((pred == label).sum()), len(pred)


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(EvalMetric):
    """The share of labels among the `top_k` best classes.

    >>> metric = mx.metric.TopKAccuracy(2)
    >>> metric.update([amp.nd.array([0, 1])], [amp.nd.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    1.0
    """

    def __init__(self, top_k=1, name="top_k_accuracy", output_names=None, label_names=None):
        if top_k <= 1:
            raise ArgumentError(f"top_k: expected 2 or more, got {top_k}; Accuracy is for the best class")
        name = name if name.endswith(f"_{top_k}") else f"{name}_{top_k}"
        super().__init__(name, output_names, label_names, top_k=top_k, has_global_stats=True)
        self.top_k = top_k

    def _measure(self, label, pred):
        label = label.astype("int32").ravel()
        check_label_shapes(label, pred)
        if pred.ndim == 1:
            return int((pred.argsort() == label).sum()), len(pred)
        best = np.argsort(pred.astype("float32"), axis=1)[:, -self.top_k :]
        return int((best == label[:, None]).sum()), len(pred)


class _Confusion:
    """Counts of a binary classification."""

    def __init__(self):
        self.counts = np.zeros((2, 2))  # by label and by prediction

    def add(self, label, pred, name):
        label, pred = label.astype("int32").ravel(), pred.argmax(axis=1)
        check_label_shapes(label, pred)
        if len(np.unique(label)) > 2:
            raise ArgumentError(f"{name} is for two classes")
        for true in (0, 1):
            for found in (0, 1):
                self.counts[true, found] += ((label == 1) == true)[(pred == 1) == found].sum()

    @property
    def total(self):
        return int(self.counts.sum())

    def f1(self):
        hits = self.counts[1, 1]
        precision, recall = (hits / n if n > 0 else 0.0 for n in (self.counts[:, 1].sum(), self.counts[1].sum()))
        return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0

    def matthews(self):
        if not self.total:
            return 0.0
        (tn, fp), (fn, tp) = self.counts
        terms = [term for term in (tp + fp, tp + fn, tn + fp, tn + fn) if term != 0]
        return (tp * tn - fp * fn) / math.sqrt(math.prod(terms))


class _BinaryMetric(EvalMetric):
    """'macro': the mean over batches. 'micro': of all examples together."""

    def __init__(self, name, output_names, label_names, average):
        self.average = average
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)

    def reset(self):
        self._all = _Confusion()
        super().reset()

    def reset_local(self):
        self._local = _Confusion()
        super().reset_local()

    def update(self, labels, preds):
        labels, preds = check_label_shapes(labels, preds, True)
        batch = _Confusion()
        for label, pred in zip(labels, preds):
            for counts in (batch, self._local, self._all):
                counts.add(host(label), host(pred), self.name)
        if self.average == "macro":
            self._add(self._of(batch), 1)
        else:
            self.sum_metric, self.num_inst = self._of(self._local) * self._local.total, self._local.total
            self.global_sum_metric, self.global_num_inst = self._of(self._all) * self._all.total, self._all.total


@register
class F1(_BinaryMetric):
    """The harmonic mean of precision and recall of class 1, of two.

    >>> metric = mx.metric.F1()
    >>> metric.update([amp.nd.array([0, 1])], [amp.nd.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    1.0
    """

    def __init__(self, name="f1", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    def _of(self, counts):
        return float(counts.f1())


@register
class MCC(_BinaryMetric):
    """Matthews' correlation of labels and predictions, of two classes.

    >>> metric = mx.metric.MCC()
    >>> metric.update([amp.nd.array([0, 1])], [amp.nd.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    1.0
    """

    def __init__(self, name="mcc", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    def _of(self, counts):
        return float(counts.matthews())


@register
class PCC(EvalMetric):
    """Matthews' correlation of any number of classes, of all examples together.

    >>> metric = mx.metric.PCC()
    >>> metric.update([amp.nd.array([0, 1])], [amp.nd.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    1.0
    """

    def __init__(self, name="pcc", output_names=None, label_names=None, has_global_stats=True):
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    def reset(self):
        self._all = np.zeros((2, 2))
        super().reset()

    def reset_local(self):
        self._local = np.zeros((2, 2))
        super().reset_local()

    def update(self, labels, preds):
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds):
            label, pred = host(label), host(pred)
            pred = (pred.argmax(axis=1) if pred.shape != label.shape else pred).astype("int64").ravel()
            label = label.astype("int64").ravel()
            self._local, self._all = (_counted(counts, pred, label) for counts in (self._local, self._all))
        self._add(0.0, 1)

    def get(self):
        return self.name, _correlation(self._local) if self.num_inst else math.nan

    def get_global(self):
        return self.name, _correlation(self._all) if self.global_num_inst else math.nan


def _counted(counts, pred, label):
    missing = max(pred.max(initial=0), label.max(initial=0)) + 1 - len(counts)
    counts = np.pad(counts, ((0, max(0, missing)),) * 2)
    np.add.at(counts, (pred, label), 1)
    return counts


def _correlation(counts):
    n, rows, columns = counts.sum(), counts.sum(axis=1), counts.sum(axis=0)
    of_rows, of_columns = (float((x * (n - x)).sum()) for x in (rows, columns))
    if of_rows == 0 or of_columns == 0:
        return math.nan
    return float((counts.diagonal() * n - rows * columns).sum() / math.sqrt(of_rows * of_columns))
