"""Curves of trainings: values of metrics by epoch and batch, in files."""

import csv
import os
from importlib import import_module

from .._paths import write_file
from ..base import UnsupportedError
from ._missing import getter

__all__ = ["CSVCurves", "TensorBoardCurves"]


class CSVCurves:
    """A table with the columns epoch, batch and one for each metric; a row for each `write`.

    CSVCurves(path, keep=0): a file that is there keeps its first `keep` rows. The metrics are those of the first row.

    >>> curves = mx.curves.CSVCurves("curves.csv")
    >>> curves.write(0, 10, {"loss": 0.5})
    >>> curves.close()
    >>> print(open("curves.csv").read().rstrip())
    epoch,batch,loss
    0,10,0.5
    """

    def __init__(self, path, keep=0):
        self._path = os.fspath(path)
        self._names, lines = self._read(keep)
        write_file(self._path, "".join(lines).encode())
        self._file = open(self._path, "a", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")

    def _read(self, keep):
        """(names of metrics or None, the lines that stay)"""
        if not keep or not os.path.exists(self._path):
            return None, []
        with open(self._path, newline="") as file:
            lines = list(file)[: keep + 1]
        return (next(csv.reader(lines[:1]))[2:], lines) if lines else (None, [])

    def write(self, epoch, batch, values):
        """A row; `values` is {metric: number}. Metrics that the first row lacks are left out."""
        if self._names is None:
            self._names = list(values)
            self._writer.writerow(["epoch", "batch", *self._names])
        self._writer.writerow([epoch, batch, *(values.get(name, "") for name in self._names)])
        self._file.flush()

    def close(self):
        """Closes the file."""
        self._file.close()


class TensorBoardCurves:
    """As CSVCurves, for TensorBoard: TensorBoardCurves(folder, until=0) writes a file of events.

    The steps are batches; TensorBoard forgets those behind `until` that are there, unless it is 0. Needs the package
    tensorboardX: UnsupportedError where it is not installed.

    >>> try:
    ...     curves = mx.curves.TensorBoardCurves("curves")
    ...     curves.write(0, 10, {"loss": 0.5})
    ...     curves.close()
    ... except amp.UnsupportedError as error:
    ...     assert "pip install" in str(error)
    """

    def __init__(self, folder, until=0):
        writer = self.required_package().SummaryWriter
        self._writer = writer(os.fspath(folder), purge_step=until + 1 if until else None, flush_secs=1)

    @staticmethod
    def required_package():
        """The module tensorboardX. Raises UnsupportedError where it is not installed."""
        try:
            return import_module("tensorboardX")
        except ImportError:
            raise UnsupportedError(
                "curves for TensorBoard need a package that is not installed: pip install tensorboardX"
            ) from None

    def write(self, epoch, batch, values):
        """The values of metrics, {metric: number}."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, batch)

    def close(self):
        """Closes the file."""
        self._writer.close()


__getattr__ = getter(__name__)
