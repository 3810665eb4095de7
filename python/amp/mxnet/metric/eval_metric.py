"""What metrics share: the registry of their names, sums and counts."""

import json
import math

import numpy as np

from ...base import ArgumentError, did_you_mean

registry = {}  # of mx.metric


def register(klass):
    """Makes the class known to `create` by its name in lower case; a decorator.

    >>> @mx.metric.register
    ... class Worst(mx.metric.EvalMetric):
    ...     pass
    >>> mx.metric.create('worst', 'worst').name
    'worst'
    """
    registry[klass.__name__.lower()] = klass
    return klass


def alias(*names):
    """A decorator: further names of a metric.

    >>> @mx.metric.register
    ... @mx.metric.alias('least')
    ... class Smallest(mx.metric.EvalMetric):
    ...     pass
    >>> type(mx.metric.create('least', 'least')).__name__
    'Smallest'
    """

    def decorate(klass):
        registry.update({name.lower(): klass for name in names})
        return klass

    return decorate


def create_from(registry, metric, *args, **kwargs):
    """A metric of a registry: by name, by its configuration (a dict, or that as JSON), of a function or of a list."""
    if isinstance(metric, EvalMetric):
        return metric
    if isinstance(metric, (list, tuple)):
        composite = registry["composite"]()
        for child in metric:
            composite.add(create_from(registry, child, *args, **kwargs))
        return composite
    if isinstance(metric, str) and metric.startswith("{"):
        metric = json.loads(metric)
    if isinstance(metric, dict):
        configuration = {**metric, **kwargs}
        return create_from(registry, configuration.pop("metric"), *args, **configuration)
    if callable(metric):
        return registry["custommetric"](metric, *args, **kwargs)
    if not isinstance(metric, str) or metric.lower() not in registry:
        raise ArgumentError(f"unknown metric {metric!r}{did_you_mean(str(metric), registry)}")
    return registry[metric.lower()](*args, **kwargs)


def check_label_shapes(labels, preds, wrap=False, shape=False):
    """(labels, preds), each in a list where `wrap` says so. Raises ArgumentError for other numbers, or shapes.

    >>> labels, preds = mx.metric.check_label_shapes(amp.nd.ones((2,)), amp.nd.ones((2,)), wrap=True)
    >>> len(labels), len(preds)
    (1, 1)
    """
    mine, theirs = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if wrap:
        labels, preds = ([x] if hasattr(x, "shape") else list(x) for x in (labels, preds))
        mine, theirs = len(labels), len(preds)
    if mine != theirs:
        raise ArgumentError(f"labels and predictions do not fit: {mine} and {theirs}")
    return labels, preds


class EvalMetric:
    """What metrics share: a sum and a count since `reset`, and both since `reset_local` (their global forms stay).

    >>> print(mx.metric.create('acc'))
    EvalMetric: {'accuracy': nan}
    """

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        self.name = str(name)
        self.output_names, self.label_names = output_names, label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self):
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self):
        """What `create` needs to make the metric again."""
        own = {"metric": type(self).__name__, "name": self.name}
        return {**self._kwargs, **own, "output_names": self.output_names, "label_names": self.label_names}

    def update_dict(self, label, pred):
        """`update` by names: {name: array} of labels and of outputs."""
        labels = label.values() if self.label_names is None else [label[name] for name in self.label_names]
        preds = pred.values() if self.output_names is None else [pred[name] for name in self.output_names]
        self.update(list(labels), list(preds))

    def update(self, labels, preds):
        """Adds a batch: a list of labels and one of predictions."""
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds):
            self._add(*self._measure(host(label), host(pred)))

    def _measure(self, label, pred):
        """(sum, count) of one pair of NumPy arrays."""
        raise NotImplementedError(f"{type(self).__name__} has no update")

    def _add(self, total, count):
        self.sum_metric += total
        self.num_inst += count
        self.global_sum_metric += total
        self.global_num_inst += count

    def reset(self):
        """Forgets everything."""
        self.global_num_inst, self.global_sum_metric = 0, 0.0
        self.reset_local()

    def reset_local(self):
        """Forgets what the global value keeps."""
        self.num_inst, self.sum_metric = 0, 0.0

    def get(self):
        """(name, value); NaN where nothing was measured."""
        return self.name, self._value(self.sum_metric, self.num_inst)

    def get_global(self):
        """`get` of everything since `reset`."""
        if not self._has_global_stats:
            return self.get()
        return self.name, self._value(self.global_sum_metric, self.global_num_inst)

    def _value(self, total, count):
        return total / count if count else math.nan

    def get_name_value(self):
        """[(name, value)]"""
        return pairs(*self.get())

    def get_global_name_value(self):
        """[(name, value)] of everything since `reset`."""
        return pairs(*self.get_global())


def pairs(names, values):
    names, values = ([x] if not isinstance(x, list) else x for x in (names, values))
    return list(zip(names, values))


def host(array):
    """A NumPy array of an array of any library."""
    return array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)
