"""The events of a training, as base classes of handlers."""


class EventHandler:
    """What all handlers inherit from.

    `continued` names attributes, numbers and arrays, that checkpoints keep: a training that is resumed goes on with
    them after `train_begin`.

    >>> class Counter(mx.gluon.contrib.estimator.BatchEnd):
    ...     continued, seen = ("seen",), 0
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         self.seen += 1
    >>> isinstance(Counter(), mx.gluon.contrib.estimator.EventHandler)
    True
    """

    continued = ()


class TrainBegin(EventHandler):
    """A handler with `train_begin`.

    >>> class Hello(mx.gluon.contrib.estimator.TrainBegin):
    ...     def train_begin(self, estimator, *args, **kwargs):
    ...         print("training", type(estimator.net).__name__)
    """

    def train_begin(self, estimator, *args, **kwargs):
        """Called once, before all epochs."""


class TrainEnd(EventHandler):
    """A handler with `train_end`.

    >>> class Bye(mx.gluon.contrib.estimator.TrainEnd):
    ...     def train_end(self, estimator, *args, **kwargs):
    ...         estimator.net.save_parameters("trained.params")
    """

    def train_end(self, estimator, *args, **kwargs):
        """Called once, after all epochs."""


class EpochBegin(EventHandler):
    """A handler with `epoch_begin`.

    >>> class Slower(mx.gluon.contrib.estimator.EpochBegin):
    ...     def epoch_begin(self, estimator, *args, **kwargs):
    ...         estimator.trainer.set_learning_rate(0.9 * estimator.trainer.learning_rate)
    """

    def epoch_begin(self, estimator, *args, **kwargs):
        """Called before the batches of an epoch."""


class EpochEnd(EventHandler):
    """A handler with `epoch_end`, whose result says whether to stop.

    >>> class Once(mx.gluon.contrib.estimator.EpochEnd):
    ...     def epoch_end(self, estimator, *args, **kwargs):
    ...         return True
    """

    def epoch_end(self, estimator, *args, **kwargs):
        """Called after the batches of an epoch."""
        return False


class BatchBegin(EventHandler):
    """A handler with `batch_begin`.

    >>> class Shapes(mx.gluon.contrib.estimator.BatchBegin):
    ...     def batch_begin(self, estimator, *args, **kwargs):
    ...         print(kwargs["batch"][0].shape)
    """

    def batch_begin(self, estimator, *args, **kwargs):
        """Called with `batch`, before it is computed."""


class BatchEnd(EventHandler):
    """A handler with `batch_end`, whose result says whether to stop.

    >>> class UntilSmall(mx.gluon.contrib.estimator.BatchEnd):
    ...     def batch_end(self, estimator, *args, **kwargs):
    ...         return kwargs["loss"][0].mean().asscalar() < 0.1
    """

    def batch_end(self, estimator, *args, **kwargs):
        """Called with `batch`, `pred`, `label` and `loss`, lists of arrays, after the gradients were computed."""
        return False
