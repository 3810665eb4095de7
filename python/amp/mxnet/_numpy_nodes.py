"""Functions of `mx.np` as nodes of graphs where no operator is: `mx.sym.np.linalg.svd` and others.

Such a node is a `Custom` operator that runs the function of arrays, forwards and, recorded, backwards: it has the
gradients that the function has. Graphs with it run where `amp.mxnet` is imported.
"""

import ast
import functools
import operator

import numpy as np

from .. import _core, _recording, sym
from .._operator_names import node_hint
from ..base import ArgumentError
from ..name import NameManager
from ..sym import Symbol
from . import autograd
from . import np as mx_np
from ._custom import CustomOp, CustomOpProp, register
from ._custom_nodes import custom_symbol

_OP_TYPE = "_amp_numpy"

# Function -> names of its arrays, of other arguments, and the number of its results.
_TABLE = {
    "cross": ("a b", "axisa axisb axisc axis", 1),
    "kron": ("a b", "", 1),
    "linalg.eig": ("a", "", 2),
    "linalg.eigvals": ("a", "", 1),
    "linalg.lstsq": ("a b", "rcond", 4),
    "linalg.matrix_rank": ("M", "tol hermitian", 1),
    "linalg.pinv": ("a", "rcond hermitian", 1),
    "linalg.qr": ("a", "mode", 2),
    "linalg.solve": ("a b", "", 1),
    "linalg.svd": ("a", "", 3),
    "linalg.tensorinv": ("a", "ind", 1),
    "linalg.tensorsolve": ("a b", "axes", 1),
}
_OF_INTEGERS = ("cross", "kron")  # also of integers
_COUNTS = {("linalg.lstsq", 2): "int32", ("linalg.matrix_rank", 0): "int64"}  # results of other dtypes


def _results(function, arrays, keywords):
    results = operator.attrgetter(function)(mx_np)(*arrays, **keywords)
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    if any(result.dtype.kind == "c" for result in results):
        raise ArgumentError(f"{function}: a result is not real")
    return results


class _Function(CustomOp):
    def __init__(self, function, keywords):
        self._run = functools.partial(_results, function, keywords=keywords)

    def forward(self, is_train, req, in_data, out_data, aux):
        for target, request, result in zip(out_data, req, self._run([a.as_np_ndarray() for a in in_data])):
            target = target.as_np_ndarray()
            self.assign(target, request, result.reshape(target.shape).astype(target.dtype))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        arrays = [a.as_np_ndarray().copy() for a in in_data]
        for array in arrays:
            array.attach_grad()
        with autograd.record():
            results = self._run(arrays)
            heads = [(result, head) for result, head in zip(results, out_grad) if _recording.is_recorded(result)]
        autograd.backward(*map(list, zip(*heads)))
        for target, request, array in zip(in_grad, req, arrays):
            self.assign(target.as_np_ndarray(), request, array.grad)


@register(_OP_TYPE)
class _FunctionProp(CustomOpProp):
    def __init__(self, function, keywords="{}"):
        super().__init__()
        if function not in _TABLE:
            raise ArgumentError(f"{_OP_TYPE}: no function {function!r:.60}")
        self._function, self._keywords = function, ast.literal_eval(keywords)
        self._names, _, self._count = _TABLE[function]

    def list_arguments(self):
        return self._names.split()

    def list_outputs(self):
        return [f"output{i}" for i in range(self._count)] if self._count > 1 else ["output"]

    def infer_shape(self, in_shape):
        """Those of a run on well-conditioned matrices."""
        if [] in in_shape and self._function not in _OF_INTEGERS:
            raise ArgumentError(f"{self._function}: an array has no axis, or an unknown shape")
        results = _results(self._function, [mx_np.array(_trial(shape)) for shape in in_shape], self._keywords)
        return in_shape, [list(result.shape) for result in results], []

    def infer_type(self, in_type):
        dtype = np.result_type(*map(_core.numpy_dtype, in_type))
        if dtype.kind != "f" and self._function not in _OF_INTEGERS:
            raise ArgumentError(f"{self._function}: expected arrays of floats, got {', '.join(map(str, in_type))}")
        return in_type, [_COUNTS.get((self._function, i), dtype) for i in range(self._count)], []

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return _Function(self._function, self._keywords)


def _trial(shape):
    """Numbers of a shape whose square matrices are symmetric, and far from singular."""
    values = np.random.default_rng(0).uniform(size=shape)
    if len(shape) < 2:
        return values
    if shape[-1] == shape[-2]:
        values = values + np.swapaxes(values, -1, -2)
    return values + 2 * max(shape) * np.eye(*shape[-2:])


def _symbol_function(function):
    arrays, others, count = _TABLE[function]
    last = function.rpartition(".")[2]

    def call(*args, name=None, **kwargs):
        given = {**dict(zip([*arrays.split(), *others.split()], args)), **kwargs}
        keywords = {key: value for key, value in given.items() if not isinstance(value, Symbol)}
        unknown = [key for key in given if key not in (*arrays.split(), *others.split())]
        if len(args) > len(given) or unknown or any(key in keywords for key in arrays.split()):
            raise ArgumentError(f"{last}: expected symbols for {arrays} and {others or 'nothing else'}, got {given}")
        symbols = {key: value for key, value in given.items() if key not in keywords}
        name = NameManager.current().get(name, node_hint(f"_npi_{last}"))
        made = custom_symbol(op_type=_OP_TYPE, name=name, function=function, keywords=repr(keywords), **symbols)
        return made.as_np_ndarray() if count == 1 else tuple(made[i].as_np_ndarray() for i in range(count))

    call.__name__ = call.__qualname__ = last
    call.__doc__ = f"`mx.np.{function}` as a node of a graph, in Python."
    return call


def _of_matrices(op, count, order):
    """An operator of matrices whose results have NumPy's shapes: a matrix alone is a batch of one."""

    def call(a, UPLO="L"):  # noqa: N803 - NumPy's name
        if UPLO == "U":
            a = sym.swapaxes(a, dim1=-1, dim2=-2)
        made = getattr(sym.op, op)(sym.expand_dims(a, axis=0))
        parts = [sym.np.squeeze(made[i], axis=0) for i in range(count)]
        return order(parts)

    return call


_BY_OPERATORS = {
    "det": _of_matrices("_linalg_det", 1, lambda parts: parts[0]),
    "slogdet": _of_matrices("_linalg_slogdet", 2, tuple),
    "eigvalsh": _of_matrices("_linalg_syevd", 2, lambda parts: parts[1]),
    "eigh": _of_matrices("_linalg_syevd", 2, lambda parts: (parts[1], sym.np.swapaxes(parts[0], dim1=-1, dim2=-2))),
}


def install():
    """Puts them into `mx.sym.np` and `mx.sym.np.linalg`."""
    for name, function in _BY_OPERATORS.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"NumPy's `linalg.{name}` of the matrices in the last two axes."
        setattr(sym.np.linalg, name, function)
    for function in _TABLE:
        module, _, name = function.rpartition(".")
        setattr(sym.np.linalg if module else sym.np, name, _symbol_function(function))
