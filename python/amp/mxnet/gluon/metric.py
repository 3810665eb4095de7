"""Metrics with the names, arguments and numbers of MXNet 2; `mx.metric` has those of 1.9.1.

`metric.update(labels, preds)` takes lists of arrays; `metric.get()` is (name, value), NaN before the first update.
"""

import math

import numpy as np

from ...base import ArgumentError
from .. import metric
from .._missing import getter
from ..metric.eval_metric import EvalMetric, check_label_shapes, create_from, host

__all__ = [
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "BinaryAccuracy",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "F1",
    "Fbeta",
    "Loss",
    "MeanCosineSimilarity",
    "MeanPairwiseDistance",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]

_numpy = np
_registry = {}


def register(klass):
    """Makes the class known to `create` by its name in lower case; a decorator.

    >>> @mx.gluon.metric.register
    ... class Best(mx.gluon.metric.EvalMetric):
    ...     pass
    >>> mx.gluon.metric.create("best", "best").name
    'best'
    """
    _registry[klass.__name__.lower()] = klass
    return klass


def alias(*names):
    """A decorator: further names of a metric.

    >>> @mx.gluon.metric.alias("largest")
    ... class Greatest(mx.gluon.metric.EvalMetric):
    ...     pass
    >>> type(mx.gluon.metric.create("largest", "largest")).__name__
    'Greatest'
    """

    def decorate(klass):
        _registry.update({name.lower(): klass for name in names})
        return klass

    return decorate


def create(metric, *args, **kwargs):
    """A metric by name, by its configuration, of a function (label, pred) -> value, or a composite of a list of these.

    Raises ArgumentError for an unknown name.

    >>> mx.gluon.metric.create("f1", average="macro").get()
    ('f1', nan)
    """
    return create_from(_registry, metric, *args, **kwargs)


Accuracy = alias("acc")(register(metric.Accuracy))
TopKAccuracy = alias("top_k_accuracy", "top_k_acc")(register(metric.TopKAccuracy))
PCC = register(metric.PCC)
Loss = register(metric.Loss)
CustomMetric = register(metric.CustomMetric)
np = metric.np


@register
@alias("composite")
class CompositeEvalMetric(metric.CompositeEvalMetric):
    """Several metrics as one: names and values are lists.

    >>> mx.gluon.metric.CompositeEvalMetric(["acc", "f1"]).get()
    (['accuracy', 'f1'], [nan, nan])
    """

    _create = staticmethod(create)


@register
class Torch(Loss):
    """As Loss, under another name.

    >>> mx.gluon.metric.Torch().name
    'torch'
    """

    def __init__(self, name="torch", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


# ---- right and wrong ----


class _Counts:
    """Of each class: hits, false alarms, misses and right rejections."""

    def __init__(self, class_type, threshold, beta=1):
        if class_type not in ("binary", "multiclass", "multilabel"):
            raise ArgumentError(f"class_type: expected 'binary', 'multiclass' or 'multilabel', got {class_type!r}")
        self.class_type, self.threshold, self.beta = class_type, threshold, beta
        self.clear()

    def clear(self):
        self._counts = None

    def add(self, label, pred):
        label, found = self._classified(label.astype("int32"), pred)
        if label.shape != found.shape:
            raise ArgumentError(f"labels and predictions do not fit: {label.shape} and {found.shape}")
        counts = [((found == is_found) & (label == is_there)).sum(0) for is_found, is_there in _CASES]
        if self._counts is not None and self._counts.shape[1] != len(counts[0]):
            raise ArgumentError(f"the number of classes was {self._counts.shape[1]}, and is {len(counts[0])} now")
        self._counts = _numpy.asarray(counts, "float64") + (0 if self._counts is None else self._counts)

    def _classified(self, label, pred):
        """(labels, predictions) of 0 and 1, by example and class."""
        classes = pred.shape[-1]
        if self.class_type == "multiclass":
            if label.max(initial=0) >= classes:
                raise ArgumentError(f"there are labels above the {classes} classes of the predictions")
            every = _numpy.arange(classes)
            return every == label.reshape(-1, 1), every == pred.argmax(-1).reshape(-1, 1)
        if self.class_type == "multilabel":
            return label.reshape(-1, classes), (pred > self.threshold).reshape(-1, classes)
        if label.max(initial=0) > 1:
            raise ArgumentError("labels of two classes are 0 and 1; see class_type")
        if pred.shape != label.shape and classes > 2:
            raise ArgumentError(f"predictions of shape {pred.shape} are not of two classes; see class_type")
        if pred.shape != label.shape and classes == 2:
            pred = pred.reshape(-1, 2)[:, 1]
        return label.reshape(-1, 1), (pred > self.threshold).reshape(-1, 1)

    @property
    def examples(self):
        return 0 if self._counts is None else int(self._counts[:, 0].sum())

    def score(self, average):
        """F of all classes together ('micro'), its mean over classes ('macro'), or that of each class (None)."""
        if self._counts is None:
            return 0.0
        hits, alarms, misses, _ = self._counts.sum(axis=1, keepdims=True) if average == "micro" else self._counts
        weight = self.beta**2
        scores = (1 + weight) * hits / _numpy.maximum((1 + weight) * hits + weight * misses + alarms, 1e-12)
        return scores if average is None else float(scores.mean())

    def matthews(self):
        if self._counts is None:
            return 0.0
        hits, alarms, misses, rejections = map(float, self._counts[:, 0])
        terms = [hits + alarms, hits + misses, rejections + alarms, rejections + misses]
        return (hits * rejections - alarms * misses) / math.sqrt(math.prod(term for term in terms if term))


_CASES = ((True, True), (True, False), (False, True), (False, False))  # (is found, is there)


class _OfCounts(EvalMetric):
    """A value of all counts since the last reset."""

    def reset(self):
        self._counts.clear()
        super().reset()

    def update(self, labels, preds):
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds):
            self._counts.add(host(label), host(pred))
        self.num_inst = self.global_num_inst = self._counts.examples
        self.sum_metric = self.global_sum_metric = self._of(self._counts) * self.num_inst


@register
class F1(_OfCounts):
    """F1(class_type='binary', threshold=0.5, average='micro'): the harmonic mean of precision and recall.

    `class_type` is 'binary', 'multiclass' (the largest prediction counts) or 'multilabel'. `average`: 'micro' counts
    all classes together, 'macro' is the mean over classes, None gives each.

    >>> metric = mx.gluon.metric.F1()
    >>> metric.update([mx.np.array([0, 1])], [mx.np.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> metric.get()
    ('f1', 1.0)
    """

    def __init__(
        self,
        name="f1",
        output_names=None,
        label_names=None,
        class_type="binary",
        threshold=0.5,
        average="micro",
        **kwargs,
    ):
        self.average = average
        self._counts = _Counts(class_type, threshold, **kwargs)
        options = {"class_type": class_type, "threshold": threshold, "average": average, **kwargs}
        super().__init__(name, output_names, label_names, **options)

    def _of(self, counts):
        return counts.score(self.average)


@register
class Fbeta(F1):
    """Fbeta(class_type='binary', beta=1, threshold=0.5, average='micro'): recall weighs `beta` times as much.

    See F1 for the other arguments.

    >>> metric = mx.gluon.metric.Fbeta(beta=2)
    >>> metric.update([mx.np.array([1, 1])], [mx.np.array([0.9, 0.1])])
    >>> round(metric.get()[1], 4)
    0.5556
    """

    def __init__(
        self,
        name="fbeta",
        output_names=None,
        label_names=None,
        class_type="binary",
        beta=1,
        threshold=0.5,
        average="micro",
    ):
        super().__init__(name, output_names, label_names, class_type, threshold, average, beta=beta)


@register
class MCC(_OfCounts):
    """Matthews' correlation of labels and predictions, of two classes.

    >>> metric = mx.gluon.metric.MCC()
    >>> metric.update([mx.np.array([0, 1])], [mx.np.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> metric.get()
    ('mcc', 1.0)
    """

    def __init__(self, name="mcc", output_names=None, label_names=None):
        self._counts = _Counts("binary", 0.5)
        super().__init__(name, output_names, label_names)

    def _of(self, counts):
        return counts.matthews()


@register
class BinaryAccuracy(EvalMetric):
    """BinaryAccuracy(threshold=0.5): the share of right decisions, element by element.

    >>> metric = mx.gluon.metric.BinaryAccuracy(threshold=0.6)
    >>> metric.update([mx.np.array([[0, 1]])], [mx.np.array([[0.1, 0.55]])])
    >>> metric.get()
    ('binary_accuracy', 0.5)
    """

    def __init__(self, name="binary_accuracy", output_names=None, label_names=None, threshold=0.5):
        self.threshold = threshold
        super().__init__(name, output_names, label_names, threshold=threshold)

    def _measure(self, label, pred):
        label, pred = label.astype("int32").ravel(), pred.ravel() > self.threshold
        check_label_shapes(label, pred)
        return int((label == pred).sum()), label.size


# ---- distances ----


class _ByExample(EvalMetric):
    """The mean over examples."""

    def __init__(self, name, output_names, label_names, **options):
        super().__init__(name, output_names, label_names, **options)

    def _measure(self, label, pred):
        rows = len(label)
        return float(self._distances(label.reshape(rows, -1), pred.reshape(rows, -1)).sum()), rows


@register
class MAE(_ByExample):
    """The mean of absolute errors.

    >>> metric = mx.gluon.metric.MAE()
    >>> metric.update([mx.np.array([1.0, 3.0])], [mx.np.array([2.0, 1.0])])
    >>> metric.get()
    ('mae', 1.5)
    """

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _distances(self, label, pred):
        return _numpy.abs(label - pred).mean(axis=-1)


@register
class MSE(_ByExample):
    """The mean of squared errors.

    >>> metric = mx.gluon.metric.MSE()
    >>> metric.update([mx.np.array([1.0, 3.0])], [mx.np.array([2.0, 1.0])])
    >>> metric.get()
    ('mse', 2.5)
    """

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _distances(self, label, pred):
        return ((label - pred) ** 2.0).mean(axis=-1)


@register
class RMSE(MSE):
    """The root of the mean of squared errors, of all examples.

    >>> metric = mx.gluon.metric.RMSE()
    >>> metric.update([mx.np.array([1.0, 3.0])], [mx.np.array([1.0, 1.0])])
    >>> round(metric.get()[1], 4)
    1.4142
    """

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _value(self, total, count):
        return math.sqrt(total / count) if count else math.nan


@register
class MeanPairwiseDistance(_ByExample):
    """MeanPairwiseDistance(p=2): the mean of p-norms of errors.

    >>> metric = mx.gluon.metric.MeanPairwiseDistance()
    >>> metric.update([mx.np.array([[0.0, 0.0]])], [mx.np.array([[3.0, 4.0]])])
    >>> metric.get()
    ('mpd', 5.0)
    """

    def __init__(self, name="mpd", output_names=None, label_names=None, p=2):
        self.p = p
        super().__init__(name, output_names, label_names, p=p)

    def _distances(self, label, pred):
        return (_numpy.abs(label - pred) ** self.p).sum(axis=-1) ** (1.0 / self.p)


@register
class MeanCosineSimilarity(EvalMetric):
    """MeanCosineSimilarity(eps=1e-8): the mean of cosines between vectors along the last axis.

    >>> metric = mx.gluon.metric.MeanCosineSimilarity()
    >>> metric.update([mx.np.array([[3.0, 4.0]])], [mx.np.array([[4.0, 3.0]])])
    >>> round(metric.get()[1], 4)
    0.96
    """

    def __init__(self, name="cos_sim", output_names=None, label_names=None, eps=1e-8):
        self.eps = eps
        super().__init__(name, output_names, label_names, eps=eps)

    def _measure(self, label, pred):
        label, pred = _numpy.atleast_2d(label), _numpy.atleast_2d(pred)
        lengths = _numpy.linalg.norm(label, axis=-1) * _numpy.linalg.norm(pred, axis=-1)
        cosines = (label * pred).sum(axis=-1) / _numpy.maximum(lengths, self.eps)
        return float(cosines.sum()), cosines.size


# ---- probabilities ----


@register
@alias("ce")
class CrossEntropy(EvalMetric):
    """CrossEntropy(eps=1e-12, ignore_label=None, axis=-1, from_logits=False): the mean of -log of the probability.

    That of the label, at least `eps`; `ignore_label` does not count. `from_logits`: predictions are not probabilities
    yet, a softmax along `axis` makes them so.

    >>> metric = mx.gluon.metric.CrossEntropy()
    >>> metric.update([mx.np.array([0, 1])], [mx.np.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    0.3081
    """

    def __init__(
        self,
        eps=1e-12,
        ignore_label=None,
        axis=-1,
        from_logits=False,
        name="cross-entropy",
        output_names=None,
        label_names=None,
    ):
        self.eps, self.ignore_label, self.axis, self.from_logits = eps, ignore_label, axis, from_logits
        options = {"eps": eps, "ignore_label": ignore_label, "axis": axis, "from_logits": from_logits}
        super().__init__(name, output_names, label_names, **options)

    def _measure(self, label, pred):
        lines = _numpy.moveaxis(pred, self.axis, -1).reshape(-1, pred.shape[self.axis])
        label = label.ravel().astype("int64")
        check_label_shapes(label, lines)
        if self.from_logits:
            lines = _numpy.exp(lines - lines.max(axis=-1, keepdims=True))
            lines /= lines.sum(axis=-1, keepdims=True)
        chosen = lines[_numpy.arange(len(lines)), _numpy.clip(label, 0, lines.shape[1] - 1)]
        if self.ignore_label is not None:
            chosen = chosen[label != self.ignore_label]
        return float(-_numpy.log(_numpy.maximum(self.eps, chosen)).sum()), chosen.size


@register
class Perplexity(CrossEntropy):
    """exp of CrossEntropy, with the same arguments.

    >>> metric = mx.gluon.metric.Perplexity()
    >>> metric.update([mx.np.array([0, 1])], [mx.np.array([[0.9, 0.1], [0.4, 0.6]])])
    >>> round(metric.get()[1], 4)
    1.3608
    """

    def __init__(
        self,
        eps=1e-12,
        ignore_label=None,
        axis=-1,
        from_logits=False,
        name="perplexity",
        output_names=None,
        label_names=None,
    ):
        super().__init__(eps, ignore_label, axis, from_logits, name, output_names, label_names)

    def _value(self, total, count):
        return math.exp(total / count) if count else math.nan


@register
@alias("pearsonr")
class PearsonCorrelation(metric.PearsonCorrelation):
    """Pearson's correlation of all elements.

    >>> metric = mx.gluon.metric.PearsonCorrelation()
    >>> metric.update([mx.np.array([1.0, 2.0, 4.0])], [mx.np.array([1.0, 3.0, 2.0])])
    >>> round(metric.get()[1], 4)
    0.3273
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, average="micro")
        self._kwargs = {}  # it is no argument here


__getattr__ = getter(__name__)
