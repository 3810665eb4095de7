"""Metrics that are functions of a program."""

from .eval_metric import EvalMetric, check_label_shapes, host, register


@register
class CustomMetric(EvalMetric):
    """The mean of `feval(label, pred)` over batches; it may return (sum, count).

    >>> metric = mx.metric.CustomMetric(lambda label, pred: float(abs(label - pred).max()), name='worst')
    >>> metric.update([amp.nd.array([1.0, 3.0])], [amp.nd.array([2.0, 1.0])])
    >>> metric.get()
    ('worst', 2.0)
    """

    def __init__(self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None):
        if name is None:
            name = getattr(feval, "__name__", type(feval).__name__)
            name = f"custom({name})" if "<" in name else name
        super().__init__(name, output_names, label_names, has_global_stats=True)
        self._feval, self._allow_extra_outputs = feval, allow_extra_outputs

    def update(self, labels, preds):
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds):
            found = self._feval(host(label), host(pred))
            self._add(*(found if isinstance(found, tuple) else (found, 1)))

    def get_config(self):
        raise NotImplementedError("a function cannot be written down")


def np(numpy_feval, name=None, allow_extra_outputs=False):
    """A CustomMetric of a function of NumPy arrays.

    >>> metric = mx.metric.np(lambda label, pred: float((label == pred).mean()), name='same')
    >>> metric.update([amp.nd.array([1])], [amp.nd.array([1])])
    >>> metric.get()
    ('same', 1.0)
    """

    def feval(label, pred):
        return numpy_feval(label, pred)

    feval.__name__ = getattr(numpy_feval, "__name__", "feval")
    return CustomMetric(feval, name, allow_extra_outputs)
