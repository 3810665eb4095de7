"""The loops of a Module over batches and epochs."""

import logging
import time

from ...base import ArgumentError
from .. import metric as metrics
from .._class_labels import warn_of_class_labels
from ..callback import BatchEndParam, are_finite


class LoopsOfModule:
    """What Module inherits: training and scoring by iterators."""

    def score(
        self,
        eval_data,
        eval_metric,
        num_batch=None,
        batch_end_callback=None,
        score_end_callback=None,
        reset=True,
        epoch=0,
        sparse_row_id_fn=None,
    ):
        """[(name, value)] of a metric over an iterator's batches."""
        if reset:
            eval_data.reset()
        eval_metric = metrics.create(eval_metric)
        eval_metric.reset()
        seen = 0
        for number, batch in enumerate(eval_data):
            if number == num_batch:
                break
            self.forward(batch, is_train=False)
            self.update_metric(eval_metric, batch.label)
            _call(batch_end_callback, BatchEndParam(epoch, number, eval_metric, locals()))
            seen = number + 1
        _call(score_end_callback, BatchEndParam(epoch, seen, eval_metric, locals()))
        return eval_metric.get_name_value()

    def fit(
        self,
        train_data,
        eval_data=None,
        eval_metric="acc",
        epoch_end_callback=None,
        batch_end_callback=None,
        kvstore="local",
        optimizer="sgd",
        optimizer_params=(("learning_rate", 0.01),),
        eval_end_callback=None,
        eval_batch_end_callback=None,
        initializer=None,
        arg_params=None,
        aux_params=None,
        allow_missing=False,
        force_rebind=False,
        force_init=False,
        begin_epoch=0,
        num_epoch=None,
        validation_metric=None,
        monitor=None,
        sparse_row_id_fn=None,
    ):
        """Binds, initialises and trains: `num_epoch` times over the batches of `train_data`.

        After each epoch `eval_data` is scored. Callbacks get what MXNet's get, see `mx.callback`; metrics are reset by
        epoch. `monitor`, a Monitor, watches the batches of `train_data`. Outputs that are not finite are warned of
        once, see `mx.callback.FiniteOutputs`. Raises ArgumentError without `num_epoch`, and for labels of a
        SoftmaxOutput that are no classes.
        """
        if num_epoch is None:
            raise ArgumentError("num_epoch: say how many epochs")
        self.bind(train_data.provide_data, train_data.provide_label, for_training=True, force_rebind=force_rebind)
        if monitor is not None:
            self.install_monitor(monitor)
        self.init_params(initializer, arg_params, aux_params, allow_missing, force_init)
        self.init_optimizer(kvstore, optimizer, optimizer_params)
        validation_metric = validation_metric or eval_metric
        eval_metric = metrics.create(eval_metric)
        self._class_labels = self._find_class_labels()
        self._is_watching = True
        for epoch in range(begin_epoch, num_epoch):
            self._train_epoch(epoch, train_data, eval_metric, batch_end_callback, monitor)
            arguments, states = self.get_params()
            for callback in _list(epoch_end_callback):
                callback(epoch, self.symbol, arguments, states)
            if eval_data is not None:
                found = self.score(
                    eval_data,
                    validation_metric,
                    batch_end_callback=eval_batch_end_callback,
                    score_end_callback=eval_end_callback,
                    epoch=epoch,
                )
                for name, value in found:
                    self._logger.info("Epoch[%d] Validation-%s=%f", epoch, name, value)
            train_data.reset()

    _logger = logging
    _class_labels = ()
    _is_watching = False  # the outputs, until the first warning

    def _find_class_labels(self):
        """What `class_labels_of` says of the SoftmaxOutputs; modules without a symbol of their own know of none."""
        return ()

    def _train_epoch(self, epoch, train_data, eval_metric, callbacks, monitor):
        begin = time.perf_counter()
        eval_metric.reset()
        values = []
        for number, batch in enumerate(train_data):
            self._check_labels(epoch, number, batch)
            if monitor is not None:
                monitor.tic()
            self.forward_backward(batch)
            self._watch(epoch, number)
            self.update()
            self.update_metric(eval_metric, batch.label)
            if monitor is not None:
                monitor.toc_print()
            values = eval_metric.get_global_name_value()
            _call(callbacks, BatchEndParam(epoch, number, eval_metric, locals()))
        for name, value in values:
            self._logger.info("Epoch[%d] Train-%s=%f", epoch, name, value)
        self._logger.info("Epoch[%d] Time cost=%.3f", epoch, time.perf_counter() - begin)

    def _check_labels(self, epoch, number, batch):
        if not self._class_labels:
            return
        labels = dict(zip(self._label_names, batch.label or []))
        for name, classes, ignored in self._class_labels:
            if name in labels:
                what = f"epoch {epoch}, batch {number}, {name}"
                warn_of_class_labels(self, what, labels[name], classes, ignored=ignored)

    def _watch(self, epoch, number):
        if not self._is_watching:
            return
        try:
            outputs = self.get_outputs()
        except NotImplementedError:  # a module of a program's own need not have any
            self._is_watching = False
            return
        if not are_finite(outputs):
            self._is_watching = False
            self._logger.warning("an output is not finite in epoch %d, batch %d", epoch, number)


def _list(callbacks):
    return [] if callbacks is None else callbacks if isinstance(callbacks, (list, tuple)) else [callbacks]


def _call(callbacks, parameter):
    for callback in _list(callbacks):
        callback(parameter)
