"""A data loader of Gluon as an iterator of batches, which modules take."""

import numpy as np

from ... import nd
from .._missing import getter
from ..io.data_iter import DataBatch, DataDesc, DataIter

__all__ = ["DataLoaderIter"]


class DataLoaderIter(DataIter):
    """Batches (data, label) of a `gluon.data.DataLoader`, in `dtype`; the first one says which shapes batches have.

    A smaller batch at the end is padded with zeros.

    >>> points = mx.gluon.data.ArrayDataset(np.ones((5, 2), "float32"), np.arange(5))
    >>> batches = mx.contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(points, 3))
    >>> [(batch.data[0].shape, batch.pad) for batch in batches]
    [((3, 2), 0), ((3, 2), 1)]
    """

    def __init__(self, loader, data_name="data", label_name="softmax_label", dtype="float32"):
        data, label = next(iter(loader))
        super().__init__(data.shape[0])
        self.dtype = dtype
        self.provide_data = [DataDesc(data_name, data.shape, dtype)]
        self.provide_label = [DataDesc(label_name, label.shape, dtype)]
        self._loader = loader
        self.reset()

    def reset(self):
        """Begins again: with the loader's next order."""
        self._batches = iter(self._loader)

    def next(self):
        """The next batch."""
        arrays = next(self._batches)
        pad = self.batch_size - len(arrays[0])
        data, label = ([self._filled(array, pad)] for array in arrays)
        return DataBatch(data, label, pad, None, None, self.provide_data, self.provide_label)

    def _filled(self, array, pad):
        if not pad:
            return array.astype(self.dtype)
        return nd.array(np.pad(array.asnumpy(), [(0, pad)] + [(0, 0)] * (array.ndim - 1)), dtype=self.dtype)


__getattr__ = getter(__name__)
