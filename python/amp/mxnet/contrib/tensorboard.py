"""Curves for TensorBoard of `Module.fit`."""

from .._missing import getter
from ..curves import TensorBoardCurves

__all__ = ["LogMetricsCallback"]


class LogMetricsCallback:
    """LogMetricsCallback(logging_dir, prefix=None): for the end of batches or evaluations, writes the metric's values.

    The steps are epochs. `prefix` stands in front of names. Needs the package tensorboardX: UnsupportedError where it
    is not installed.

    >>> try:
    ...     log = mx.contrib.tensorboard.LogMetricsCallback("logs/train")
    ...     log(mx.callback.BatchEndParam(0, 1, mx.metric.create("acc"), {}))
    ... except amp.UnsupportedError as error:
    ...     assert "pip install" in str(error)
    """

    def __init__(self, logging_dir, prefix=None):
        self.prefix = prefix
        self._curves = TensorBoardCurves(logging_dir)

    def __call__(self, param):
        if param.eval_metric is None:
            return
        front = "" if self.prefix is None else f"{self.prefix}-"
        values = {front + name: value for name, value in param.eval_metric.get_name_value()}
        self._curves.write(param.epoch, param.epoch, values)

    def close(self):
        """Writes what is not in the file yet; the end of the program does so, too."""
        self._curves.close()


__getattr__ = getter(__name__)
