"""Iterators over arrays; MXNet's module of this name has the others, too."""

import numpy as np

from ... import nd
from ..._arrays import native, readable
from ...base import ArgumentError
from .data_iter import DataDesc, DataIter
from .files import CSVIter, LibSVMIter, MNISTIter  # noqa: F401
from .files import RowsOfFile as MXDataIter  # noqa: F401 - MXNet's name for what reads files
from .pictures import ImageRecordIter, ImageRecordUInt8Iter
from .prefetch import PrefetchingIter  # noqa: F401

ImageRecordIter_v1, ImageRecordUInt8Iter_v1 = ImageRecordIter, ImageRecordUInt8Iter  # MXNet's old names


class ResizeIter(DataIter):
    """`size` batches of another iterator, which begins again where it ends.

    >>> len(list(mx.io.ResizeIter(mx.io.NDArrayIter(np.ones((4, 2)), batch_size=2), 5)))
    5
    """

    def __init__(self, data_iter, size, reset_internal=True):
        super().__init__(data_iter.batch_size)
        self.data_iter, self.size, self.reset_internal = data_iter, size, reset_internal
        self.provide_data, self.provide_label = data_iter.provide_data, data_iter.provide_label
        self.cur = 0

    def reset(self):
        """Begins to count again."""
        self.cur = 0
        if self.reset_internal:
            self.data_iter.reset()

    def next(self):
        """The next DataBatch; raises StopIteration after `size` of them."""
        if self.cur >= self.size:
            raise StopIteration
        self.cur += 1
        try:
            return self.data_iter.next()
        except StopIteration:
            self.data_iter.reset()
            return self.data_iter.next()


class NDArrayIter(DataIter):
    """Batches of rows of arrays.

    `data` and `label` are an array, a list of them or {name: array}, all with the same number of rows. What is left
    for the last batch: 'pad' fills it with rows from the beginning (`getpad` says how many), 'discard' leaves it out,
    'roll_over' keeps it for the beginning of the next round. Raises ArgumentError for other values, and for fewer rows
    than one batch unless they are padded.

    >>> batches = mx.io.NDArrayIter(np.ones((5, 4)), batch_size=2)
    >>> [(batch.data[0].shape, batch.pad) for batch in batches]
    [((2, 4), 0), ((2, 4), 0), ((2, 4), 1)]
    """

    def __init__(
        self,
        data,
        label=None,
        batch_size=1,
        shuffle=False,
        last_batch_handle="pad",
        data_name="data",
        label_name="softmax_label",
        layout="NCHW",
    ):
        super().__init__(batch_size)
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            raise ArgumentError(f"last_batch_handle: expected pad, discard or roll_over, got {last_batch_handle!r}")
        self.data = _named(data, data_name, "data")
        has_labels = label is not None and not (isinstance(label, (list, tuple)) and not label)
        self.label = _named(label, label_name, "label") if has_labels else []
        self.num_data = _common_rows([*self.data, *self.label])
        if not isinstance(batch_size, (int, np.integer)) or batch_size < 1:
            raise ArgumentError(f"batch_size: expected a number from 1, got {batch_size!r}")
        if self.num_data < batch_size and last_batch_handle != "pad":
            raise ArgumentError(f"batch_size {batch_size} is larger than the number of rows, {self.num_data}")
        self.shuffle, self.last_batch_handle, self.layout = shuffle, last_batch_handle, layout
        self._leftover = np.empty(0, "i8")
        self._begin()

    @property
    def provide_data(self):
        """[DataDesc] of the inputs."""
        return self._descriptions(self.data)

    @property
    def provide_label(self):
        """[DataDesc] of the labels."""
        return self._descriptions(self.label)

    def _descriptions(self, named):
        return [DataDesc(n, (self.batch_size, *a.shape[1:]), a.dtype, self.layout) for n, a in named]

    def reset(self):
        """Begins again, in another order where `shuffle` says so."""
        left = max(self._order.size - max(self.cursor, 0), 0) if self.last_batch_handle == "roll_over" else 0
        self._leftover = self._order[self._order.size - left :] if 0 < left < self.batch_size else self._leftover[:0]
        self._begin()

    def hard_reset(self):
        """Begins again and forgets what was kept for this round."""
        self._leftover = self._leftover[:0]
        self._begin()

    def _begin(self):
        order = np.arange(self.num_data)
        if self.shuffle:
            np.random.shuffle(order)  # as MXNet does
        self.idx = order
        self._order = np.concatenate([self._leftover, order])
        self.cursor = -self.batch_size

    def iter_next(self):
        """Goes to the next batch; False at the end."""
        self.cursor += self.batch_size
        rest = self._order.size - self.cursor
        return rest > 0 and (rest >= self.batch_size or self.last_batch_handle == "pad")

    def getindex(self):
        """Row numbers of the current batch, a NumPy array."""
        rows = self._order[self.cursor : self.cursor + self.batch_size]
        return np.concatenate([rows, np.resize(self._order, self.getpad())])

    def getdata(self):
        """NDArrays of the current batch."""
        return self._rows(self.data)

    def getlabel(self):
        """NDArrays of the current batch's labels."""
        return self._rows(self.label)

    def getpad(self):
        """How many rows at the end of the current batch come from the beginning."""
        return max(0, self.cursor + self.batch_size - self._order.size)

    def _rows(self, named):
        index = self.getindex()
        return [nd.NDArray(native(array[index])) for _, array in named]


def _named(arrays, default_name, what):
    """[(name, NumPy array)]; like `amp.nd.array`, what is no NDArray becomes float32."""
    if hasattr(arrays, "items"):
        pairs = sorted(arrays.items())
    elif isinstance(arrays, (list, tuple)):
        names = [default_name] if len(arrays) == 1 else [f"_{i}_{default_name}" for i in range(len(arrays))]
        pairs = list(zip(names, arrays))
    else:
        pairs = [(default_name, arrays)]
    named = [(name, np.asarray(nd.array(readable(array, f"{what} '{name}'")))) for name, array in pairs]
    if not named or any(not array.ndim for _, array in named):
        raise ArgumentError(f"{what}: expected arrays with rows")
    return named


def _common_rows(named):
    counts = {name: array.shape[0] for name, array in named}
    rows = next(iter(counts.values()))
    if min(counts.values()) < rows:
        raise ArgumentError(f"arrays have different numbers of rows: {counts}")
    return rows
