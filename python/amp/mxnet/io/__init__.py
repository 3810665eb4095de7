"""Batches of arrays, for `mx.mod.Module`.

`data_iter` has the base classes, each other file iterators of a kind. They import pictures, records and random numbers,
never modules or blocks.
"""

from .._missing import getter
from .data_iter import DataBatch, DataDesc, DataIter
from .files import CSVIter, LibSVMIter, MNISTIter
from .files import RowsOfFile as MXDataIter  # noqa: F401 - MXNet's name for what reads files
from .io import ImageRecordIter_v1, ImageRecordUInt8Iter_v1, NDArrayIter, ResizeIter  # noqa: F401 - old names
from .pictures import ImageRecordIter, ImageRecordUInt8Iter
from .prefetch import PrefetchingIter

__all__ = [
    "CSVIter",
    "DataBatch",
    "DataDesc",
    "DataIter",
    "ImageRecordIter",
    "ImageRecordUInt8Iter",
    "LibSVMIter",
    "MNISTIter",
    "NDArrayIter",
    "PrefetchingIter",
    "ResizeIter",
]

__getattr__ = getter(__name__)
