"""`FeedForward`: a model that trains on arrays and predicts, from before `Module`, on which it is built."""

import warnings

import numpy as np

from .. import checkpoint, nd
from ..base import ArgumentError
from ..sym import Symbol
from . import init, io, metric
from .base import _as_list as as_list
from .callback import BatchEndParam
from .module import BucketingModule, Module


class FeedForward:
    """A symbol that is trained by `fit` and called by `predict`; deprecated, see `mx.mod.Module`.

    `symbol` may be a function that gives the symbol of a bucket. Arrays are cut into batches of `numpy_batch_size`
    rows. `epoch_size` is a number of batches. `kwargs` are the optimizer's: learning_rate, momentum, ... `ctx` has no
    effect. Parameters that the symbol lacks are left out; those that it has besides are initialized by `fit`.

    >>> import warnings
    >>> warnings.simplefilter("ignore")
    >>> net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2), name="softmax")
    >>> model = mx.model.FeedForward(net, num_epoch=20, learning_rate=1.0, numpy_batch_size=4)
    >>> x = np.array([[0, 1], [1, 0], [0, 2], [2, 0]], "float32")
    >>> model.fit(x, np.array([0, 1, 0, 1]))
    >>> model.predict(x).argmax(axis=1)
    array([0, 1, 0, 1])
    """

    def __init__(
        self,
        symbol,
        ctx=None,
        num_epoch=None,
        epoch_size=None,
        optimizer="sgd",
        initializer=None,
        numpy_batch_size=128,
        arg_params=None,
        aux_params=None,
        allow_extra_params=False,
        begin_epoch=0,
        **kwargs,
    ):
        warnings.warn("FeedForward is deprecated; use mx.mod.Module", DeprecationWarning, stacklevel=2)
        is_symbol = isinstance(symbol, Symbol)
        if not is_symbol and not callable(symbol):
            raise ArgumentError(f"symbol: expected a Symbol or a function, got {type(symbol).__name__}")
        self.symbol, self.sym_gen = (symbol, None) if is_symbol else (None, symbol)
        self.arg_params, self.aux_params, self.allow_extra_params = arg_params, aux_params, allow_extra_params
        self.ctx, self.num_epoch, self.epoch_size, self.begin_epoch = ctx, num_epoch, epoch_size, begin_epoch
        self.optimizer, self.kwargs = optimizer, dict(kwargs)
        self.initializer = initializer or init.Uniform(0.01)
        self.numpy_batch_size = numpy_batch_size
        self._predictor = None  # (arg_params, aux_params, shapes, a Module that is bound to them)

    def fit(
        self,
        X,  # noqa: N803 - MXNet's name
        y=None,
        eval_data=None,
        eval_metric="acc",
        epoch_end_callback=None,
        batch_end_callback=None,
        kvstore="local",
        logger=None,
        work_load_list=None,
        monitor=None,
        eval_end_callback=None,
        eval_batch_end_callback=None,
    ):
        """Trains on an iterator, or on the rows of an array `X` with labels `y`; `arg_params` are those found then.

        `eval_data` is an iterator, or a pair of arrays. The rest is `Module.fit`'s. Raises ArgumentError for rows
        without labels, or with another number of them.
        """
        batches = self._batches(X, y, is_training=True)
        if isinstance(eval_data, (tuple, list)):
            eval_data = self._batches(*eval_data, is_training=True)
        if self.epoch_size is not None:
            batches = io.ResizeIter(batches, self.epoch_size, reset_internal=False)
        module = self._module(batches)
        if logger is not None:
            module._logger = logger
        module.fit(
            batches,
            eval_data,
            eval_metric,
            epoch_end_callback,
            batch_end_callback,
            kvstore,
            self.optimizer,
            tuple(self.kwargs.items()),
            eval_end_callback,
            eval_batch_end_callback,
            self.initializer,
            self._known(self.arg_params, self.symbol.list_arguments()),
            self._known(self.aux_params, self.symbol.list_auxiliary_states()),
            allow_missing=True,
            begin_epoch=self.begin_epoch,
            num_epoch=self.num_epoch,
            monitor=monitor,
        )
        self.arg_params, self.aux_params = module.get_params()

    def predict(self, X, num_batch=None, return_data=False, reset=True):  # noqa: N803
        """The outputs for all rows of an array or of an iterator's batches: a NumPy array, or a list where several.

        With `return_data` a tuple of them, of the data and of the labels.
        """
        batches = self._batches(X)
        module = self._bound(batches)
        outputs, data, labels = [], [], []
        for found, _, batch in module.iter_predict(batches, num_batch, reset):
            outputs.append(found)
            data.append(_without_padding(batch.data, batch))
            labels.append(_without_padding(batch.label, batch))
        joined = _joined(outputs)
        return (joined, _joined(data), _joined(labels)) if return_data else joined

    def score(self, X, eval_metric="acc", num_batch=None, batch_end_callback=None, reset=True):  # noqa: N803
        """The value of a metric over an iterator's batches, padding included; an EvalMetric is not reset."""
        batches = self._batches(X)
        eval_metric = metric.create(eval_metric)
        if reset:
            batches.reset()
        module = self._bound(batches)
        for number, batch in enumerate(batches):
            if number == num_batch:
                break
            module.forward(batch, is_train=False)
            eval_metric.update(batch.label, module.get_outputs())
            for callback in as_list([] if batch_end_callback is None else batch_end_callback):
                callback(BatchEndParam(0, number, eval_metric, locals()))
        return eval_metric.get()[1]

    def save(self, prefix, epoch=None, remove_amp_cast=True):
        """Writes `<prefix>-symbol.json` and `<prefix>-<epoch>.params`; the epoch is `num_epoch` by default."""
        epoch = self.num_epoch if epoch is None else epoch
        if epoch is None:
            raise ArgumentError("epoch: say which, the model has no num_epoch")
        checkpoint.save_checkpoint(prefix, epoch, self.symbol, self.arg_params, self.aux_params, remove_amp_cast)

    @staticmethod
    def load(prefix, epoch, ctx=None, **kwargs):
        """The model of `<prefix>-symbol.json` and `<prefix>-<epoch>.params`; `kwargs` are those of FeedForward."""
        symbol, arg_params, aux_params = checkpoint.load_checkpoint_leniently(prefix, epoch)
        return FeedForward(symbol, ctx, arg_params=arg_params, aux_params=aux_params, begin_epoch=epoch, **kwargs)

    @staticmethod
    def create(
        symbol,
        X,  # noqa: N803
        y=None,
        ctx=None,
        num_epoch=None,
        epoch_size=None,
        optimizer="sgd",
        initializer=None,
        eval_data=None,
        eval_metric="acc",
        epoch_end_callback=None,
        batch_end_callback=None,
        kvstore="local",
        logger=None,
        work_load_list=None,
        eval_end_callback=None,
        eval_batch_end_callback=None,
        **kwargs,
    ):
        """A new model that is trained: arguments of FeedForward and of `fit`."""
        model = FeedForward(symbol, ctx, num_epoch, epoch_size, optimizer, initializer, **kwargs)
        model.fit(
            *(X, y, eval_data, eval_metric, epoch_end_callback, batch_end_callback, kvstore, logger),
            eval_end_callback=eval_end_callback,
            eval_batch_end_callback=eval_batch_end_callback,
        )
        return model

    def __getstate__(self):
        return {**self.__dict__, "_predictor": None}

    # ---- parts ----

    def _batches(self, X, y=None, is_training=False):  # noqa: N803
        """An iterator over rows, in random order and without a rest for training; iterators as they are."""
        if not isinstance(X, (np.ndarray, nd.NDArray, list)):
            if not hasattr(X, "provide_data"):
                raise ArgumentError(f"expected an iterator or an array, got {type(X).__name__}")
            return X
        rows = np.asarray(X)
        if y is None and is_training:
            raise ArgumentError("y: labels are needed beside an array")
        labels = np.zeros(len(rows)) if y is None else np.asarray(y)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels.reshape(-1)
        if labels.ndim != 1 or len(labels) != len(rows):
            raise ArgumentError(f"y: expected {len(rows)} labels, got an array of shape {labels.shape}")
        size = min(len(rows), self.numpy_batch_size)
        return io.NDArrayIter(rows, labels, size, is_training, "roll_over" if is_training else "pad")

    def _module(self, batches):
        """A module for training; makes the symbol where it is that of a bucket."""
        data, labels = ([desc[0] for desc in descs] for descs in (batches.provide_data, batches.provide_label))
        if self.sym_gen is None:
            return Module(self.symbol, data, labels)
        self.symbol = self.sym_gen(batches.default_bucket_key)
        return BucketingModule(lambda key: (self.sym_gen(key), data, labels), batches.default_bucket_key)

    def _bound(self, batches):
        """A module for predictions of batches of these shapes with the parameters at hand."""
        shapes = [tuple(desc) for desc in batches.provide_data]
        arg_params, aux_params, bound_shapes, _ = self._predictor or (None,) * 4
        if arg_params is not self.arg_params or aux_params is not self.aux_params or bound_shapes != shapes:
            module = Module(self.symbol, [desc[0] for desc in batches.provide_data], None)
            module.bind(batches.provide_data, for_training=False)
            module.set_params(self.arg_params, self.aux_params, allow_extra=True)
            self._predictor = (self.arg_params, self.aux_params, shapes, module)
        return self._predictor[-1]

    @staticmethod
    def _known(arrays, names):
        return None if arrays is None else {name: array for name, array in arrays.items() if name in names}


def _without_padding(arrays, batch):
    return [array[: array.shape[0] - (batch.pad or 0)] for array in arrays or []]


def _joined(batches):
    """What batches have in common, as NumPy arrays: one, or a list."""
    columns = [np.concatenate([np.asarray(array) for array in column]) for column in zip(*batches)]
    return columns[0] if len(columns) == 1 else columns
