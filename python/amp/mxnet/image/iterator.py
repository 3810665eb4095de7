"""Batches of pictures in files, changed by augmenters."""

import functools
import logging
import os

import numpy as np

from ... import nd
from ..._core import numpy_dtype
from ...base import ArgumentError, dtype_name
from .. import np as mx_np
from .. import recordio, util
from .._missing import getter
from ..io.data_iter import DataBatch, DataDesc, DataIter
from . import image
from .augmenters import CreateAugmenter

__all__ = ["ImageIter"]


class ImageIter(DataIter):
    """ImageIter(batch_size, data_shape, ...): batches of pictures of a file of records, or of a list.

    `path_imgrec` is a file of records, `path_imgidx` its index; `path_imglist`
    a file with lines `number<tab>label<tab>...<tab>path`; `imglist` a list of [label, ..., path]. Paths begin at
    `path_root`. `aug_list` are augmenters; without it those of CreateAugmenter, which gets the other arguments.
    `last_batch_handle` is 'pad', 'discard' or 'roll_over'. `numpy.random` shuffles.

    >>> with open("black.png", "wb") as file:
    ...     size = file.write(mx.image.imencode(np.zeros((8, 9, 3), "uint8")))
    >>> batches = mx.image.ImageIter(2, (3, 4, 4), imglist=[[0, "black.png"], [1, "black.png"]], path_root=".")
    >>> batch = next(batches)
    >>> batch.data[0].shape, batch.label[0].asnumpy().tolist()
    ((2, 3, 4, 4), [0.0, 1.0])
    """

    def __init__(
        self,
        batch_size,
        data_shape,
        label_width=1,
        path_imgrec=None,
        path_imglist=None,
        path_root=None,
        path_imgidx=None,
        shuffle=False,
        part_index=0,
        num_parts=1,
        aug_list=None,
        imglist=None,
        data_name="data",
        label_name="softmax_label",
        dtype="float32",
        last_batch_handle="pad",
        **kwargs,
    ):
        super().__init__(batch_size)
        if last_batch_handle not in ("pad", "discard", "roll_over"):
            raise ArgumentError(f"last_batch_handle: expected pad, discard or roll_over, got {last_batch_handle!r}")
        self.check_data_shape(data_shape)
        if not path_imgrec and not path_imglist and not isinstance(imglist, list):
            raise ArgumentError("ImageIter: path_imgrec, path_imglist or imglist is needed")
        self._root, self._dtype = path_root or "", numpy_dtype(dtype_name(dtype))
        self._items = _items(path_imgrec, path_imgidx, path_imglist, imglist)
        if part_index >= num_parts:
            raise ArgumentError(f"part_index: expected a number below num_parts, {num_parts}, got {part_index}")
        count = len(self._items) // num_parts  # parts are of one size: what is left over belongs to none, as in MXNet
        numbers = range(part_index * count, (part_index + 1) * count)
        self.seq, self.shuffle, self.last_batch_handle = list(numbers), shuffle, last_batch_handle
        self.data_shape, self.label_width = tuple(data_shape), label_width
        self.auglist = CreateAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        label_shape = (batch_size,) if label_width == 1 else (batch_size, label_width)
        self.provide_data = [DataDesc(data_name, (batch_size, *self.data_shape), self._dtype.type)]
        self.provide_label = [DataDesc(label_name, label_shape, self._dtype.type)]
        self._left = []  # samples for the first batch of the next epoch
        self.hard_reset()

    def reset(self):
        """Begins again; 'roll_over' begins with what was left."""
        if self.shuffle:
            np.random.shuffle(self.seq)
        self.cur, self._allow_read = 0, True

    def hard_reset(self):
        """Begins again and forgets what was left."""
        self._left = []
        self.reset()

    def next_sample(self):
        """(labels, bytes of the file) of the next picture; raises StopIteration at the end."""
        if not self._allow_read:
            raise StopIteration
        if self.cur >= len(self.seq):
            self.cur = self.cur if self.last_batch_handle == "discard" else 0
            raise StopIteration
        self.cur += 1
        return self._entry(self.seq[self.cur - 1])

    def _entry(self, number):
        label, item = self._items[number]
        if not callable(item):
            return label, self.read_image(item)
        header, data = recordio.unpack(item())
        return header.label if label is None else label, data

    def read_image(self, fname):
        """The bytes of a file below `path_root`."""
        with open(os.path.join(self._root, fname), "rb") as file:
            return file.read()

    def imdecode(self, s):
        """The pixels of a file's bytes."""
        return image.imdecode(s)

    def check_data_shape(self, data_shape):
        """Raises ArgumentError for another shape than (3, height, width)."""
        if len(data_shape) != 3 or data_shape[0] != 3:
            raise ArgumentError(f"data_shape: expected (3, height, width), got {tuple(data_shape)}")

    def check_valid_image(self, data):
        """Raises RuntimeError for a picture without axes."""
        if not data[0].shape:
            raise RuntimeError("a picture has no axes")

    def augmentation_transform(self, data):
        """A picture changed by the augmenters."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum):
        """A picture as it stands in a batch: channels first."""
        return nd.transpose(datum, axes=(2, 0, 1))

    def _prepared(self, label, data):
        """(picture, label) as they stand in a batch, or None where the picture is left out."""
        picture = self.imdecode(data)
        try:
            self.check_valid_image([picture])
        except RuntimeError as error:
            logging.debug("a picture is left out: %s", error)
            return None
        return self.postprocess_data(self.augmentation_transform(picture)), label

    def _fill(self, samples):
        """Appends samples up to the size of a batch, or to the end of the data."""
        while len(samples) < self.batch_size:
            try:
                found = self._prepared(*self.next_sample())
            except StopIteration:
                return
            if found is not None:
                samples.append(found)

    def next(self):
        """The next DataBatch; raises StopIteration at the end.

        `pad` of a batch that begins with what an epoch left is how many samples of the next epoch it has.
        """
        samples, self._left = self._left, []
        pad = self.batch_size - len(samples) if samples else None
        self._fill(samples)
        if pad is None:
            pad = self.batch_size - len(samples)
            self._end_epoch(samples, pad)
        pictures, labels = zip(*samples)
        data = np.empty((len(pictures), *self.data_shape), self._dtype)
        for place, picture in zip(data, pictures):
            place[...] = np.asarray(picture)
        return DataBatch([_array(data)], [_array(self._labels(labels))], pad, provide_data=self.provide_data)

    def _end_epoch(self, samples, pad):
        """Fills the last batch from the beginning of the data, unless it is kept or dropped."""
        if not pad:
            return
        if not samples or self.last_batch_handle != "pad":
            self._left = samples if self.last_batch_handle == "roll_over" else []
            raise StopIteration
        while len(samples) < self.batch_size:
            self._fill(samples)
        self._allow_read = False

    def _labels(self, labels):
        """Those of a batch, as one array."""
        return np.asarray(np.stack(labels), self._dtype).reshape(self.provide_label[0].shape)


def _array(values):
    return (mx_np.ndarray if util.is_np_array() else nd.NDArray)(values)


def _items(path_imgrec, path_imgidx, path_imglist, imglist):
    """[(labels or None, path or function that reads a record)]"""
    listed = None
    if path_imglist:
        with open(path_imglist) as file:
            lines = [line.rstrip("\n").split("\t") for line in file if line.strip()]
        listed = {int(line[0]): (np.array(line[1:-1], np.float32), line[-1]) for line in lines}
    elif imglist is not None:
        listed = {i: (np.array(labels, np.float32).ravel(), path) for i, (*labels, path) in enumerate(imglist)}
    if not path_imgrec:
        return list(listed.values())
    index = path_imgidx or os.path.splitext(os.fspath(path_imgrec))[0] + ".idx"
    if not os.path.isfile(index):
        if path_imgidx or listed is not None:
            raise ArgumentError(f"{path_imgrec} has no index {index}; MXIndexedRecordIO writes one")
        reader = recordio.MXRecordIO(path_imgrec, "r")
        return [(None, functools.partial(reader.record_at, position)) for position in reader.positions()]
    reader = recordio.MXIndexedRecordIO(index, path_imgrec, "r")
    keys = reader.keys if listed is None else [key for key in reader.keys if key in listed]
    return [(listed[key][0] if listed else None, functools.partial(reader.read_idx, key)) for key in keys]


__getattr__ = getter(__name__)
