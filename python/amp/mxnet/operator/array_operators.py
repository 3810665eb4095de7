"""Operators of MXNet that are functions of arrays here: in graphs and files they are nodes that run in Python.

A row of the table is a function: its positional arguments are the inputs, its keywords the attributes, by MXNet's
names. A node runs it on arrays, forwards and, recorded, backwards: it has the gradients that the function has. Graphs
with such nodes run where `amp.mxnet` is imported.
"""

import ast
import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _backward, _core, _recording
from ..._alternate import phase_of_operators
from ...base import ArgumentError
from ...sym.operators import forget_names
from .. import autograd
from ..np.array_class import ndarray
from . import kl_regularization

ROWS = {}
_LONGEST_ERROR = 500  # of which an operator says what is wrong with an attribute


@dataclasses.dataclass
class Row:
    """An operator: what runs, and what is known before it runs.

    `count` is the number of results, or a function of the attributes that gives it.
    `shapes(*shapes, **attributes)` gives those of the results, `dtypes(dtypes, attributes)` their dtypes, None those of
    the first input. `without(attributes)` names inputs that a node with these attributes does not have. Where
    `is_dynamic`, shapes of the results depend on values (`gluon.dynamic_graphs`).
    """

    name: str
    function: Callable
    count: Any = 1
    shapes: Callable | None = None
    dtypes: Callable | None = None
    is_dynamic: bool = False
    without: Callable = lambda attributes: ()

    def __post_init__(self):
        code = self.function.__code__  # inspect.signature takes long where so many are made
        self.inputs = list(code.co_varnames[: code.co_argcount])
        self.settings = list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])
        self._needed = [key for key in self.settings if key not in (self.function.__kwdefaults__ or {})]

    def values_of(self, attributes):
        """{name: value} of a node's attributes, which are text. Raises ArgumentError for one that is not known."""
        given = {key: _value(text) for key, text in attributes.items() if not key.startswith("__")}
        unknown = sorted(set(given) - set(self.settings) - {"ctx"})
        missing = [key for key in self._needed if key not in given]
        if unknown or missing:
            text = f"unknown attribute {unknown[0]!r}" if unknown else f"attribute {missing[0]!r} is missing"
            raise ArgumentError(f"{self.name}: {text}")
        return {key: value for key, value in given.items() if key in self.settings}


def operator(*names, **facts):
    """A decorator: the function is the operator of these names. For `facts` see `Row`."""

    def keep(function):
        ROWS.update({name: Row(name, function, **facts) for name in names})
        return function

    return keep


def _value(text):
    if text in ("true", "false"):
        return text == "true"
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


class ArrayOperator:
    """What a node computes; csrc/custom.cc calls it."""

    states: Any = ()

    def __init__(self, row, attributes):
        self._row, self._attributes = row, row.values_of(attributes)
        absent = row.without(self._attributes)
        self.arguments = [name for name in row.inputs if name not in absent]
        self._count = row.count(self._attributes) if callable(row.count) else row.count
        self.outputs = ["output"] if self._count == 1 else [f"output{i}" for i in range(self._count)]

    def infer_shape(self, shapes):
        """Those of inputs and outputs; unknown ones are None."""
        if self._row.is_dynamic or None in shapes:
            return [*shapes, *[None] * self._count]
        return [*shapes, *self._named(functools.partial(self._row.shapes, *shapes, **self._attributes))]

    def infer_type(self, dtypes):
        """Those of inputs and outputs; unknown ones are taken for that of the first input."""
        dtypes = [dtypes[0] if dtype is None else dtype for dtype in dtypes]
        known = list(map(_core.numpy_dtype, dtypes))
        if self._row.dtypes is None:
            return [*dtypes, *known[:1] * self._count]
        return [*dtypes, *self._named(self._row.dtypes, known, self._attributes)]

    def forward(self, is_train, inputs):
        """The results, of the dtypes that were inferred."""
        dtypes = self.infer_type([array.dtype for array in inputs])[len(inputs) :]
        results = self._named(self.results, [ndarray(array) for array in inputs])
        return [_backward.detached(result.astype(dtype, copy=False)) for result, dtype in zip(results, dtypes)]

    def backward(self, output_gradients, inputs, results):
        """The gradients of the inputs; those of integers are zero."""
        arrays = [ndarray(_backward.detached(array)) for array in inputs]
        varied = [array for array in arrays if array.dtype.kind not in "iub"]
        with phase_of_operators(is_backward=True):
            for array in varied:
                array.attach_grad()
            with autograd.record():
                found = zip(self.results(arrays), output_gradients)
                pairs = [(y, ndarray(dy)) for y, dy in found if _recording.is_recorded(y)]
            if pairs:
                autograd.backward(*map(list, zip(*pairs)))
        return [_backward.detached(_zeros_like(a) if a.dtype.kind in "iub" else a.grad) for a in arrays]

    def _named(self, method, *args):
        """Runs it unrecorded; its errors, whatever they are, begin with the operator."""
        with _recording.scope(is_recording=False):
            try:
                return method(*args)
            except Exception as error:
                raise ArgumentError(f"{self._row.name}: {str(error)[:_LONGEST_ERROR]}") from error

    def results(self, arrays):
        """What the function gives for arrays of `mx.np`, a list."""
        results = self._row.function(**dict(zip(self.arguments, arrays)), **self._attributes)
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        if any(result.dtype.kind == "c" for result in results):
            raise ArgumentError("a result is not real")
        return results


def _zeros_like(array):
    return ndarray(np.zeros(array.shape, array.dtype))


def made(attributes):
    """The operator of a node whose `op_type` is a name of the table; None for another one."""
    attributes = dict(attributes)
    name = attributes.pop("op_type", None)
    if name == kl_regularization.NAME:
        return kl_regularization.KLSparseRegularization(attributes)
    return ArrayOperator(ROWS[name], attributes) if name in ROWS else None


def register_with_graphs():
    """Lets graphs have nodes of the table."""
    docs = {name: inspect.getdoc(row.function) or name for name, row in ROWS.items()}
    docs[kl_regularization.NAME] = "Data; its gradient is drawn to rare activations."
    for name, doc in docs.items():
        if name not in _core.operator_names():
            _core.register_custom_name(name, doc, made)
    forget_names()
