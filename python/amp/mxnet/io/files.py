"""Batches of rows of files."""

import gzip
import os
import struct

import numpy as np

from ... import nd
from ..._core import numpy_dtype
from ...base import ArgumentError, dtype_name
from .data_iter import DataBatch, DataDesc, DataIter


class RowsOfFile(DataIter):
    """Batches of numbered rows. Subclasses define `rows(numbers, is_first)`, which gives (data, labels).

    The last batch is filled with rows from the beginning; with `round_batch` the next round begins behind them.
    """

    def __init__(
        self, count, shapes, batch_size, round_batch=True, dtype="float32", num_parts=1, part_index=0, **names
    ):
        super().__init__(batch_size)
        if not 0 <= part_index < num_parts:
            raise ArgumentError(f"part_index: expected a number below {num_parts}, got {part_index}")
        if batch_size < 1 or count < 1:
            raise ArgumentError(f"batch_size {batch_size} does not fit {count} rows")
        self._order = np.array_split(np.arange(count), num_parts)[part_index]
        self._round_batch = round_batch
        data_shape, label_shape = shapes
        label_shape = () if tuple(label_shape) == (1,) else tuple(label_shape)
        data_name, label_name = names.pop("data_name", "data"), names.pop("label_name", "softmax_label")
        self.provide_data = [DataDesc(data_name, (batch_size, *data_shape), numpy_dtype(dtype_name(dtype)).type)]
        self.provide_label = [DataDesc(label_name, (batch_size, *label_shape))]
        self._position, self._taken = -batch_size, 0
        self._refuse(names)

    def _refuse(self, options):
        """Those that only make MXNet faster, or say where it runs, have no effect."""
        harmless = ("ctx", "device", "prefetch_buffer", "preprocess_threads", "silent", "verbose", "input_flat")
        unknown = [name for name in options if name not in harmless]
        if unknown:
            raise ArgumentError(f"{type(self).__name__}: unknown arguments {', '.join(unknown)}")

    def reset(self):
        """Begins again."""
        ended = self._position + self.batch_size >= len(self._order)
        self._position = (self._taken if self._round_batch and ended else 0) - self.batch_size
        self._taken = 0

    def iter_next(self):
        """Goes to the next batch; False at the end."""
        self._position += self.batch_size
        if self._position >= len(self._order):
            return False
        own = self._order[self._position : self._position + self.batch_size]
        self._taken = self.batch_size - len(own)
        self._numbers = np.concatenate([own, np.resize(self._order, self._taken)])
        self._data, self._label = self.rows(self._numbers)
        return True

    def next(self):
        """The next DataBatch; raises StopIteration at the end."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch([self.getdata()], [self.getlabel()], self.getpad(), self.getindex())

    def getdata(self):
        """The NDArray of the current batch."""
        return _array(self._data, self.provide_data[0])

    def getlabel(self):
        """The labels of the current batch."""
        return _array(self._label, self.provide_label[0])

    def getindex(self):
        """Numbers of the current batch's rows, a NumPy array."""
        return self._numbers

    def getpad(self):
        """How many rows at the end of the current batch come from the beginning."""
        return self._taken


def _array(values, desc):
    return nd.NDArray(np.ascontiguousarray(values.reshape(desc.shape), desc.dtype))


class _FromArrays(RowsOfFile):
    """Files that are read at once."""

    def __init__(self, data, label, shapes, *args, **kwargs):
        super().__init__(len(data), shapes, *args, **kwargs)
        label_shape = self.provide_label[0].shape[1:]
        for what, values, shape in (("data", data, shapes[0]), ("labels", label, label_shape)):
            if values[0].size != int(np.prod(shape)) or len(values) != len(data):
                raise ArgumentError(f"{what}: {values.shape} does not fit {len(data)} rows of shape {tuple(shape)}")
        self._all = data, label

    def rows(self, numbers):
        return tuple(values[numbers] for values in self._all)


class CSVIter(_FromArrays):
    """CSVIter(data_csv, data_shape, label_csv=None, label_shape=(1,), batch_size=1, round_batch=True, dtype='float32').

    Batches of the lines of a file of numbers with commas; without `label_csv` labels are 0. Raises ArgumentError where
    the lines do not fit the shapes.

    >>> with open("rows.csv", "w") as file:
    ...     length = file.write("1,2\\n3,4\\n5,6\\n")
    >>> batches = mx.io.CSVIter("rows.csv", data_shape=(2,), batch_size=2)
    >>> [batch.data[0].shape for batch in batches], batches.getpad()
    ([(2, 2), (2, 2)], 1)
    """

    def __init__(
        self,
        data_csv,
        data_shape,
        label_csv=None,
        label_shape=(1,),
        batch_size=1,
        round_batch=True,
        dtype="float32",
        **kwargs,
    ):
        data = _lines_of_numbers(data_csv, numpy_dtype(dtype_name(dtype)))
        label = np.zeros((len(data), int(np.prod(label_shape))), np.float32)
        if label_csv is not None and label_csv != "NULL":
            label = _lines_of_numbers(label_csv, np.float32)
        super().__init__(data, label, (data_shape, label_shape), batch_size, round_batch, dtype, **kwargs)


def _lines_of_numbers(path, dtype):
    try:
        return np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2)
    except ValueError as error:
        raise ArgumentError(f"{path}: {error}") from None


class LibSVMIter(_FromArrays):
    """LibSVMIter(data_libsvm, data_shape, label_libsvm=None, label_shape=(1,), batch_size=1, round_batch=True).

    Batches of lines `label position:value ...`; positions begin at 0. Arrays are dense here. `label_libsvm` is such a
    file, too, whose positions and values are the labels. Raises ArgumentError for other lines.

    >>> with open("rows.txt", "w") as file:
    ...     length = file.write("1 0:0.5 2:1.5\\n-1 1:2\\n")
    >>> batch = next(mx.io.LibSVMIter("rows.txt", data_shape=(3,), batch_size=2))
    >>> batch.data[0].asnumpy().tolist(), batch.label[0].asnumpy().tolist()
    ([[0.5, 0.0, 1.5], [0.0, 2.0, 0.0]], [1.0, -1.0])
    """

    def __init__(
        self, data_libsvm, data_shape, label_libsvm=None, label_shape=(1,), batch_size=1, round_batch=True, **kwargs
    ):
        data, label = _positions_and_values(data_libsvm, int(np.prod(data_shape)))
        if label_libsvm is not None and label_libsvm != "NULL":
            label, _ = _positions_and_values(label_libsvm, int(np.prod(label_shape)))
        super().__init__(data, label, (data_shape, label_shape), batch_size, round_batch, **kwargs)


def _positions_and_values(path, size):
    """(dense rows, first numbers of the lines)"""
    with open(path) as file:
        lines = [line.split() for line in file if line.strip()]
    rows = np.zeros((len(lines), size), np.float32)
    for row, (_, *pairs) in zip(rows, lines):
        for pair in pairs:
            position, colon, value = pair.partition(":")
            if not colon or not position.isdigit() or int(position) >= size:
                raise ArgumentError(f"{path}: expected position:value with positions below {size}, got {pair!r}")
            row[int(position)] = float(value)
    return rows, np.array([[float(first)] for first, *_ in lines], np.float32)


class MNISTIter(_FromArrays):
    """MNISTIter(image, label, batch_size=128, shuffle=True, flat=False, seed=0): batches of handwritten digits.

    Pixels are from 0 to below 1, (batch, 1, 28, 28) or with `flat` (batch, 784). Files may be packed (.gz). `seed`
    gives the order; a smaller last batch is left out.

    >>> import struct
    >>> with open("images", "wb") as file:
    ...     size = file.write(struct.pack(">4I", 2051, 2, 28, 28) + bytes(2 * 784))
    >>> with open("labels", "wb") as file:
    ...     size = file.write(struct.pack(">2I", 2049, 2) + bytes([7, 1]))
    >>> next(mx.io.MNISTIter("images", "labels", batch_size=2)).data[0].shape
    (2, 1, 28, 28)
    """

    def __init__(
        self, image, label, batch_size=128, shuffle=True, flat=False, seed=0, data_shape=None, silent=False, **kwargs
    ):
        pixels, labels = read_idx(image), read_idx(label)
        if len(pixels) != len(labels):
            raise ArgumentError(f"{len(pixels)} pictures do not fit {len(labels)} labels")
        order = np.random.default_rng(seed).permutation(len(labels)) if shuffle else np.arange(len(labels))
        order = order[: len(order) - len(order) % batch_size]
        shape = (pixels[0].size,) if flat else (1, *pixels.shape[1:])
        data = pixels[order].astype(np.float32) / 256
        super().__init__(data, labels[order][:, None], (shape, (1,)), batch_size, **kwargs)


def read_idx(path):
    """The array of a file of MNIST's kind, which may be packed. Raises ArgumentError for others."""
    with gzip.open(path) if os.fspath(path).endswith(".gz") else open(path, "rb") as file:
        data = file.read()
    axes = data[3] if len(data) > 3 else 0
    if data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * axes:
        raise ArgumentError(f"{path} is no file of MNIST's kind")
    shape = struct.unpack(f">{axes}I", data[4 : 4 + 4 * axes])
    if len(data) - 4 - 4 * axes != np.prod(shape, dtype=np.int64):
        raise ArgumentError(f"{path} has {len(data) - 4 - 4 * axes} bytes for the shape {shape}")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape).copy()
