"""What an estimator does with one batch."""

from .... import autograd
from ...._missing import getter
from ...utils import split_and_load

__all__ = ["BatchProcessor"]


class BatchProcessor:
    """Forward and backward of a batch. Subclasses change what a batch is, or how it is computed.

    >>> class Doubled(mx.gluon.contrib.estimator.BatchProcessor):
    ...     def fit_batch(self, estimator, train_batch, batch_axis=0):
    ...         data, label = train_batch
    ...         return super().fit_batch(estimator, (2 * data, label), batch_axis)
    """

    def _get_data_and_label(self, batch, ctx, batch_axis=0):
        """([data], [label]), each with an array for every device."""
        return tuple(split_and_load(part, ctx, batch_axis=batch_axis) for part in (batch[0], batch[1]))

    def evaluate_batch(self, estimator, val_batch, batch_axis=0):
        """(data, label, pred, loss) of a batch, lists of arrays: the network that validates, not in training."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        return data, label, pred, [estimator.val_loss(*pair) for pair in zip(pred, label)]

    def fit_batch(self, estimator, train_batch, batch_axis=0):
        """(data, label, pred, loss) of a batch, lists of arrays, after the gradients are computed."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(*pair) for pair in zip(pred, label)]
            scaled = estimator.trainer.scaled(loss)
        autograd.backward(scaled)
        return data, label, pred, loss


__getattr__ = getter(__name__)
