"""Runs of a model on batches, and the error of its outputs against float32."""

import copy

import numpy as np

from ..base import GraphError
from ..sym import Group
from .data import types_of
from .intake import Intake
from .progress import told
from .reference import bound, float32_reference
from .samples import batch_size


class Runner:
    """A model as a function of a batch, {input: array}: a list of NumPy arrays. Each node runs as it stands.

    `outputs` are names of tensors to return instead of the model's outputs.
    """

    def __init__(self, symbol, arrays, outputs=None):
        self._symbol = symbol if outputs in (None, symbol.list_outputs()) else _tensors(symbol, outputs)
        self._arrays, self._intake = arrays, Intake(symbol, arrays)
        self._bound = {}

    def __call__(self, batch):
        batch = self._intake(batch)
        types = types_of(batch)
        key = tuple(sorted(types.items()))
        if key not in self._bound:
            self._bound = {key: bound(self._symbol, self._arrays, types)}  # one at a time: it is large
        executor = self._bound[key]
        results = executor({name: array for name, array in batch.items() if name in executor.input_names})
        return [np.asarray(array.astype("float32")) for array in results]


def _tensors(symbol, names):
    internals = symbol.get_internals()
    missing = [name for name in names if name not in internals.list_outputs()]
    if missing:
        raise GraphError(f"the converted model has no tensor {missing[0]!r}, whose error is to be measured")
    return Group([internals[name] for name in names])


class Measure:
    """The error of converted models: a function of (Symbol, arg_params, aux_params).

    It is the root mean square of the errors of the tensors that `table` looks at, each relative to its own root mean
    square, over all their numbers; the reference is the float32 model with its batch norms folded but for those that
    are `kept` (None: all). It is infinite where the conversion has a NaN or an infinity that float32 does not have.
    `batches` are Reruns. A call returns (error, how many samples it was measured on). Ctrl-C ends it with what was
    measured of the batches until then, and `interrupted` says so.
    """

    def __init__(self, model, table, batches, kept):
        self._names, self._batches = table.outputs, batches
        self.interrupted = False
        reference = float32_reference(model, types_of(batches.first), kept)
        self._reference = Runner(reference.symbol, reference.arrays, self._names)

    def __call__(self, low):
        symbol, args, aux = low
        run = Runner(symbol, {**args, **aux}, self._names)
        sums, samples = [_Sums() for _ in self._names], 0
        try:
            for batch in told(self._batches, self._batches.count):
                added = [copy.copy(one) for one in sums]  # an interrupted batch leaves the sums as they were
                for one, before, after in zip(added, self._reference(batch), run(batch)):
                    one.add(before, after)
                sums, samples = added, samples + batch_size(batch)
        except KeyboardInterrupt:
            if not samples:
                raise
            self.interrupted = True
        square = sum(one.relative_square() for one in sums) / sum(one.count for one in sums)
        return float(np.sqrt(square)), samples


class _Sums:
    """Sums of squares of one output."""

    def __init__(self):
        self.count, self._errors, self._values = 0, 0.0, 0.0

    def add(self, before, after):
        before, after = before.astype(np.float64), after.astype(np.float64)
        counted = np.isfinite(before)
        self.count += before.size
        self._values += np.sum(np.square(before[counted]))
        errors = after[counted] - before[counted]
        self._errors += np.sum(np.square(errors)) if np.isfinite(errors).all() else np.inf

    def relative_square(self):
        """The mean square of errors relative to that of values, times the count of values."""
        if self._errors == 0:
            return 0.0
        return self.count * self._errors / self._values if self._values else np.inf
