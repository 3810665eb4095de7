"""Batches, and what all iterators over them have."""

from collections import namedtuple

import numpy as np

from ...base import ArgumentError


class DataDesc(namedtuple("DataDesc", ["name", "shape"])):
    """The name, shape, dtype and layout of an input; a tuple (name, shape).

    >>> desc = mx.io.DataDesc("data", (1, 3, 8, 8))
    >>> desc.name, desc.shape, desc.layout
    ('data', (1, 3, 8, 8), 'NCHW')
    """

    def __new__(cls, name, shape, dtype=np.float32, layout="NCHW"):
        desc = super().__new__(cls, name, shape)
        desc.dtype, desc.layout = dtype, layout
        return desc

    def __repr__(self):
        return f"DataDesc[{self.name},{self.shape},{self.dtype},{self.layout}]"

    @staticmethod
    def get_batch_axis(layout):
        """The position of N in a layout; 0 without a layout."""
        return 0 if layout is None else layout.find("N")

    @staticmethod
    def get_list(shapes, types):
        """Descriptions of [(name, shape)], with the dtypes of [(name, dtype)] unless that is None."""
        dtypes = dict(types or [(name, np.float32) for name, _ in shapes])
        return [DataDesc(name, shape, dtypes[name]) for name, shape in shapes]


class DataBatch:
    """Arrays of one batch: `data` and `label` are lists, `pad` is how many rows at the end do not count.

    Raises ArgumentError for what is no list.

    >>> batch = mx.io.DataBatch([amp.nd.ones((2, 4))], pad=1)
    >>> batch.data[0].shape, batch.pad
    ((2, 4), 1)
    """

    def __init__(self, data, label=None, pad=None, index=None, bucket_key=None, provide_data=None, provide_label=None):
        for what, arrays in (("data", data), ("label", label)):
            if arrays is not None and not isinstance(arrays, (list, tuple)):
                raise ArgumentError(f"{what}: expected a list of arrays, got {type(arrays).__name__}")
        self.data, self.label, self.pad, self.index = data, label, pad, index
        self.bucket_key, self.provide_data, self.provide_label = bucket_key, provide_data, provide_label

    def __str__(self):
        labels = None if self.label is None else [tuple(array.shape) for array in self.label]
        return f"DataBatch: data shapes: {[tuple(a.shape) for a in self.data]} label shapes: {labels}"


class DataIter:
    """The base class of iterators over DataBatches: subclasses define `next`, or the methods that it calls.

    >>> class Once(mx.io.DataIter):
    ...     done = False
    ...     def next(self):
    ...         if self.done:
    ...             raise StopIteration
    ...         self.done = True
    ...         return mx.io.DataBatch([amp.nd.ones((2, 4))])
    >>> len(list(Once()))
    1
    """

    def __init__(self, batch_size=0):
        self.batch_size = batch_size

    def __iter__(self):
        return self

    def __next__(self):
        return self.next()

    def reset(self):
        """Begins again."""

    def next(self):
        """The next DataBatch; raises StopIteration at the end."""
        if not self.iter_next():
            raise StopIteration
        return DataBatch(self.getdata(), self.getlabel(), self.getpad(), self.getindex())

    def iter_next(self):
        """Goes to the next batch; False at the end."""
        return False

    def getdata(self):
        """Arrays of the current batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define getdata")

    def getlabel(self):
        """Labels of the current batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define getlabel")

    def getindex(self):
        """Indices of the current batch's rows, or None."""

    def getpad(self):
        """How many rows at the end of the current batch do not count."""
        return 0
