"""Where samples are in tensors, and random head gradients for each of them."""

import numpy as np

from ..base import GraphError


def batch_size(inputs):
    """The number of samples of a batch, {input: array}: the size of axis 0 of the first input that has one."""
    return next((array.shape[0] for array in inputs.values() if array.ndim), 1)


def batch_axes(graph, entries, known, inputs):
    """{entry: the axis along which samples lie, or None}; None for all of them where that cannot be told.

    Shapes are inferred for one sample more: the axis that grows is the one. Where two grow none is.
    """
    size = batch_size(inputs)
    grown = dict(known)
    for name, array in inputs.items():
        shape = tuple(array.shape)
        grown[name] = array.dtype, (size + 1, *shape[1:]) if shape[:1] == (size,) else shape
    try:
        pairs = zip(entries, graph.types(entries, known), graph.types(entries, grown))
        return {entry: _axis(before, after, size) for entry, (_, before), (_, after) in pairs}
    except GraphError:  # a model of one batch size
        return dict.fromkeys(entries)


def _axis(before, after, size):
    """Folded axes (heads times samples, say) are batch-major: they hold a multiple of the samples."""
    if before is None or after is None or len(before) != len(after):
        return None
    changed = [i for i, (a, b) in enumerate(zip(before, after)) if a != b]
    grows = len(changed) == 1 and before[changed[0]] * (size + 1) == after[changed[0]] * size
    return changed[0] if grows else None


def per_sample(product, axis, size):
    """Sums of an array over each sample, float64 of shape (size,).

    Without an axis each gets the same number, whose square is its part of that of the whole sum.
    """
    if axis is None:
        return np.full(size, product.sum(dtype=np.float64) / np.sqrt(size))
    moved = np.moveaxis(product, axis, 0)
    return moved.reshape(size, -1).sum(axis=1, dtype=np.float64)


def hadamard_row(number, columns):
    """Elements of row `number` of a Hadamard matrix: 1 or -1 for each of `columns`."""
    bits = columns & number
    parity = np.zeros(len(columns), np.int64)
    while bits.any():
        parity ^= bits & 1
        bits = bits >> 1
    return 1.0 - 2.0 * parity


class HeadGradients:
    """Random gradients of the outputs, such that the mean square of what they give is the mean square of the error.

    Number j of sample n has sign(n, j) H(k, j mod K) in pass k of K, divided by the output's rms. With as many passes
    as numbers of a sample the mean square is exact.
    """

    def __init__(self, outputs, axes, size, passes, generator):
        self._parts = []
        first = 0
        for array, axis in zip(outputs, axes):
            signs = generator.choice(np.array([-1.0, 1.0]), size=array.shape)
            rms = np.sqrt(np.mean(np.square(array, dtype=np.float64)))
            if axis is None:
                columns, count = np.arange(array.size).reshape(array.shape), array.size / size
            else:
                columns, count = _numbers_of_samples(array.shape, axis, size)
            self._parts.append((signs / (rms if rms > 0 else 1.0), (columns + int(first)) % passes))
            first += count
        self.numbers = first  # of one sample

    def of_pass(self, k):
        """The gradient of each output."""
        for scaled_signs, columns in self._parts:
            row = hadamard_row(k, columns.reshape(-1)).reshape(columns.shape)
            yield (scaled_signs * row).astype(np.float32)


def _numbers_of_samples(shape, axis, size):
    """(for each element its number within its sample, how many a sample has)"""
    moved = (shape[axis], *shape[:axis], *shape[axis + 1 :])
    total = int(np.prod(shape))
    count = total // size
    numbers = np.tile(np.arange(count), size).reshape(moved)
    return np.moveaxis(numbers, 0, axis), count
