"""Batches of data."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from .._arrays import readable
from ..base import ArgumentError, dtype_name
from .samples import batch_size

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    from .._types import ArrayLike

    Batch: TypeAlias = ArrayLike | Mapping[str, ArrayLike]
    Data: TypeAlias = Batch | Iterable[Batch]
    OnFailure: TypeAlias = Literal["raise", "keep"]


KEPT_BYTES = 1 << 28  # of an iterator, for several runs


def inputs_of_model(model):
    """Names of the arguments that have no array, in the order of the symbol."""
    symbol, args, _ = model[:3]
    return [name for name in symbol.list_arguments() if name not in (args or {})]


def types_of(batch):
    """{input: (dtype, shape)} of a batch."""
    return {name: (dtype_name(array.dtype), tuple(array.shape)) for name, array in batch.items()}


def widened(array):
    """A NumPy array; bfloat16 and float16 as float32."""
    array = array.asnumpy() if hasattr(array, "asnumpy") else np.asarray(array)
    is_low = array.dtype.name in ("bfloat16", "float16")
    return array.astype(np.float32) if is_low else array


def samples_of(data, model, count):
    """A list of the first batches of `data`, until they have `count` samples; see `batches`."""
    collected, found = [], 0
    for batch in batches(data, inputs_of_model(model)):
        collected.append(batch)
        found += batch_size(batch)
        if found >= count:
            break
    return collected


def first_and_rest(data, inputs):
    """(the first batch, an iterator of all batches, the first included); see `batches`."""
    every = batches(data, inputs)
    first = next(every)
    return first, itertools.chain([first], every)


class Reruns:
    """Batches that several runs read, {input: array} each; see `batches`.

    What can be read again is: nothing of it is kept. Of an iterator, which can be read once, the first batches are
    copied, up to KEPT_BYTES and at least one; the rest is not read, and `is_cut` says that there was more. Ctrl-C ends
    the reading with a warning, and keeps what was read.
    """

    def __init__(self, data, inputs):
        self._data, self._inputs, self.is_cut = data, inputs, False
        if isinstance(data, Iterator):
            self._data = self._first(data)
        self.first = next(iter(self))  # raises for what is no data
        self.count = count_of(self._data)

    def _first(self, data):
        kept, size = [], 0
        try:
            for batch in batches(data, self._inputs):
                size += sum(array.size * array.dtype.itemsize for array in batch.values())
                self.is_cut = bool(kept) and size > KEPT_BYTES
                if self.is_cut:
                    break
                kept.append({name: array.copy() for name, array in batch.items()})  # iterators may use arrays again
        except KeyboardInterrupt:
            if not kept:
                raise
            self.is_cut = True
            warnings.warn(f"interrupted: the data are the {len(kept)} batches until then", stacklevel=5)
        return kept

    def __iter__(self):
        return batches(self._data, self._inputs)


def count_of(data):
    """How many batches `data` has; None where that is not known before they are read."""
    if isinstance(data, Reruns):
        return data.count
    if _is_batch(data):
        return 1
    return len(data) if hasattr(data, "__len__") else None


def batches(data, inputs):
    """Yields {input: NDArray or NumPy array} for each batch.

    `data` is an array (of a model with one input), {input: array}, or an iterable of them; `inputs` are the names of
    the model's inputs. Raises ArgumentError for names that the model lacks, and where there is no batch.
    """
    is_empty = True
    for batch in _each(data):
        is_empty = False
        yield _named(batch, inputs)
    if is_empty:
        raise ArgumentError("data: expected an array, a dict {input: array} or batches of them, got none")


def _each(data):
    if _is_batch(data):
        return [data]
    if isinstance(data, (list, tuple, Iterator)) or hasattr(data, "__iter__") and not isinstance(data, str):
        return data
    raise ArgumentError(f"data: expected an array, a dict {{input: array}} or batches of them, got {_type(data)}")


def _named(batch, inputs):
    if not isinstance(batch, Mapping):
        if not hasattr(batch, "__array__") and not hasattr(batch, "__dlpack__"):
            raise ArgumentError(f"data: expected batches of arrays or dicts {{input: array}}, got {_type(batch)}")
        if len(inputs) != 1:
            raise ArgumentError(f"data: the model has the inputs {', '.join(inputs)}; pass a dict {{input: array}}")
        batch = {inputs[0]: batch}
    unknown = [name for name in batch if name not in inputs]
    if unknown:
        raise ArgumentError(f"data: the model has no input {unknown[0]!r}; its inputs are {', '.join(inputs)}")
    return {name: readable(array, f"data[{name!r}]") for name, array in batch.items()}


def _is_batch(data):
    return isinstance(data, Mapping) or hasattr(data, "__array__") or hasattr(data, "__dlpack__")


def _type(value):
    return type(value).__name__
