"""Metrics by name, and several as one."""

from collections import OrderedDict

from ...base import ArgumentError
from .eval_metric import EvalMetric, alias, create_from, pairs, register, registry


def create(metric, *args, **kwargs):
    """A metric by name, by its configuration, of a function (label, pred) -> value, or a composite of a list of these.

    Raises ArgumentError for an unknown name.

    >>> mx.metric.create("acc").name, mx.metric.create(["mse", "ce"]).get_name_value()
    ('accuracy', [('mse', nan), ('cross-entropy', nan)])
    """
    return create_from(registry, metric, *args, **kwargs)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics as one: names and values are lists.

    >>> metric = mx.metric.CompositeEvalMetric(['acc', 'ce'])
    >>> metric.get()
    (['accuracy', 'cross-entropy'], [nan, nan])
    """

    _create = staticmethod(create)

    def __init__(self, metrics=None, name="composite", output_names=None, label_names=None):
        self.metrics = [self._create(metric) for metric in metrics or []]
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def add(self, metric):
        """One more, by whatever `create` takes."""
        self.metrics.append(self._create(metric))

    def get_metric(self, index):
        """The metric at that place."""
        if not 0 <= index < len(self.metrics):
            raise ArgumentError(f"the composite has {len(self.metrics)} metrics, and none at {index}")
        return self.metrics[index]

    def update_dict(self, labels, preds):
        labels = {k: v for k, v in labels.items() if self.label_names is None or k in self.label_names}
        preds = {k: v for k, v in preds.items() if self.output_names is None or k in self.output_names}
        for metric in self.metrics:
            metric.update_dict(OrderedDict(labels), OrderedDict(preds))

    def update(self, labels, preds):
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self):
        for metric in self.metrics:
            metric.reset()

    def reset_local(self):
        for metric in self.metrics:
            metric.reset_local()

    def get(self):
        return self._joined([metric.get() for metric in self.metrics])

    def get_global(self):
        return self._joined([metric.get_global() for metric in self.metrics])

    def _joined(self, found):
        flat = [pair for each in found for pair in pairs(*each)]
        return [name for name, _ in flat], [value for _, value in flat]

    def get_config(self):
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}
