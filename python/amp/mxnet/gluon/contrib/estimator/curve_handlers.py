"""Handlers that show how a training goes: curves in files, and a bar."""

from ...._progress_bar import progress_bar
from ....curves import CSVCurves, TensorBoardCurves
from .events import BatchEnd, EpochBegin, EpochEnd, TrainBegin, TrainEnd


class _CurveHandler(TrainBegin, TrainEnd, BatchEnd, EpochEnd):
    """Writes the values of metrics after each epoch, and every `batch_period` batches."""

    continued = ("written",)

    def __init__(self, path, metrics=None, batch_period=None, priority=900):
        self._path, self.metrics, self._period, self.priority = path, metrics, batch_period, priority
        self._curves = None
        self.written = 0  # how often

    def _opened(self, batches):
        """Where values are written to; what was written until then stays where a training is resumed."""
        raise NotImplementedError

    def train_begin(self, estimator, *args, **kwargs):
        """Begins anew."""
        self._curves, self.written = None, 0

    def batch_end(self, estimator, *args, **kwargs):
        """Writes, if it is time."""
        if self._period and estimator.progress.batches % self._period == 0:
            self._write(estimator, estimator.progress.epoch)

    def epoch_end(self, estimator, *args, **kwargs):
        """Writes the values of the epoch that has ended."""
        self._write(estimator, estimator.progress.epoch - (estimator.progress.batch == 0))

    def train_end(self, estimator, *args, **kwargs):
        """Closes the file."""
        self._curves.close()

    def _write(self, estimator, epoch):
        metrics = [*estimator.train_metrics, *estimator.val_metrics] if self.metrics is None else self.metrics
        if self._curves is None:
            self._curves = self._opened(estimator.progress.batches)
        self._curves.write(epoch, estimator.progress.batches, dict(metric.get() for metric in metrics))
        self.written += 1


class CSVHandler(_CurveHandler):
    """CSVHandler(path, metrics=None, batch_period=None, priority=900): curves as a table, see mx.curves.CSVCurves.

    A row is written after each epoch and every `batch_period` batches; `metrics` are by default all of the estimator.

    >>> mx.gluon.contrib.estimator.CSVHandler("curves.csv", batch_period=100).priority
    900
    """

    def _opened(self, batches):
        return CSVCurves(self._path, keep=self.written)


class TensorBoardHandler(_CurveHandler):
    """TensorBoardHandler(path, metrics=None, batch_period=None, priority=900): curves for TensorBoard, in a folder.

    As CSVHandler. Needs the package tensorboardX: UnsupportedError where it is not installed.

    >>> try:
    ...     handler = mx.gluon.contrib.estimator.TensorBoardHandler("curves", batch_period=100)
    ... except amp.UnsupportedError as error:
    ...     assert "pip install" in str(error)
    """

    def __init__(self, path, metrics=None, batch_period=None, priority=900):
        TensorBoardCurves.required_package()
        super().__init__(path, metrics, batch_period, priority)

    def _opened(self, batches):
        return TensorBoardCurves(self._path, until=batches - 1 if self.written else 0)


class ProgressBarHandler(EpochBegin, BatchEnd, EpochEnd):
    """ProgressBarHandler(total=None, priority=inf): a bar for the batches of each epoch, on the standard error output.

    `total` is how many there are, `len(train_data)`. Needs the package tqdm; without it nothing is shown.

    >>> mx.gluon.contrib.estimator.ProgressBarHandler(total=100).priority
    inf
    """

    def __init__(self, total=None, priority=float("inf")):
        self._total, self.priority = total, priority
        self._bar = None

    def epoch_begin(self, estimator, *args, **kwargs):
        """A new bar."""
        done = estimator.progress.batch
        self._bar = progress_bar(self._total, f"epoch {estimator.progress.epoch}", done)

    def batch_end(self, estimator, *args, **kwargs):
        """One batch more."""
        values = {metric.get()[0]: f"{metric.get()[1]:.4f}" for metric in estimator.train_metrics}
        self._bar.set_postfix(values, refresh=False)
        self._bar.update()

    def epoch_end(self, estimator, *args, **kwargs):
        """The bar stays on the screen."""
        self._bar.close()
