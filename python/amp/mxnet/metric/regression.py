"""Metrics of how far numbers are from what they should be."""

import numpy as np

from .eval_metric import EvalMetric, alias, check_label_shapes, register


class _Regression(EvalMetric):
    """The mean over batches of a mean over elements; a label of one dimension is a column."""

    def _measure(self, label, pred):
        label, pred = (array.reshape(len(array), 1) if array.ndim == 1 else array for array in (label, pred))
        return float(self._mean(label - pred)), 1


@register
class MAE(_Regression):
    """The mean of absolute errors.

    >>> metric = mx.metric.MAE()
    >>> metric.update([amp.nd.array([1.0, 3.0])], [amp.nd.array([[2.0], [1.0]])])
    >>> round(metric.get()[1], 4)
    1.5
    """

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _mean(self, errors):
        return np.abs(errors).mean()


@register
class MSE(_Regression):
    """The mean of squared errors.

    >>> metric = mx.metric.MSE()
    >>> metric.update([amp.nd.array([1.0, 3.0])], [amp.nd.array([[2.0], [1.0]])])
    >>> round(metric.get()[1], 4)
    2.5
    """

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _mean(self, errors):
        return (errors**2.0).mean()


@register
class RMSE(_Regression):
    """The root of the mean of squared errors, by batch.

    >>> metric = mx.metric.RMSE()
    >>> metric.update([amp.nd.array([1.0, 3.0])], [amp.nd.array([[2.0], [1.0]])])
    >>> round(metric.get()[1], 4)
    1.5811
    """

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def _mean(self, errors):
        return np.sqrt((errors**2.0).mean())


@register
@alias("pearsonr")
class PearsonCorrelation(EvalMetric):
    """Pearson's correlation. 'macro': the mean over batches. 'micro': of all elements together.

    >>> metric = mx.metric.PearsonCorrelation()
    >>> metric.update([amp.nd.array([1.0, 2.0, 4.0])], [amp.nd.array([1.0, 3.0, 2.0])])
    >>> round(metric.get()[1], 4)
    0.3273
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None, average="macro"):
        self.average = average
        super().__init__(name, output_names, label_names, average=average, has_global_stats=True)

    def reset_local(self):
        self._pairs = []  # of arrays, where all count together
        super().reset_local()

    def _measure(self, label, pred):
        check_label_shapes(label, pred, False, True)
        label, pred = label.ravel().astype("float64"), pred.ravel().astype("float64")
        if self.average == "macro":
            return float(np.corrcoef(pred, label)[0, 1]), 1
        self._pairs.append((label, pred))
        return 0.0, 1

    def get(self):
        if self.average == "macro" or not self.num_inst:
            return super().get()
        label, pred = (np.concatenate(arrays) for arrays in zip(*self._pairs))
        return self.name, float(np.corrcoef(pred, label)[0, 1])

    def get_global(self):
        return super().get_global() if self.average == "macro" else self.get()
