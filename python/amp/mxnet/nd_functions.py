"""Functions of `mx.nd` that are no operators here: random arrays, updates of weights, loops."""

import numpy as np

from .. import _trace, nd, sym
from .._invoke import invoke, written
from ..base import ArgumentError
from ..nd.files import from_bytes
from . import _random_functions, _unknown_sizes, control_flow
from ._random_functions import rand_zipfian, random_exponential
from .gluon.recorded_graph import RecordedGraph
from .operator.custom import custom
from .operator.custom_nodes import custom_symbol, register_with_graphs
from .optimizer import lans, multi_tensor
from .optimizer.multi_tensor import (
    adamw_update,
    group_adagrad_update,
    lamb_update_phase1,
    lamb_update_phase2,
    multi_lars,
    multi_sum_sq,
)
from .optimizer.updates import FUNCTIONS as UPDATES

__all__ = [
    "CachedOp",
    "adamw_update",
    "boolean_mask",
    "dynamic_reshape",
    "fill_element_0index",
    "group_adagrad_update",
    "histogram",
    "lamb_update_phase1",
    "lamb_update_phase2",
    "load_frombuffer",
    "multi_lars",
    "multi_sum_sq",
    "onehot_encode",
    "rand_zipfian",
    "random_exponential",
    "reset_arrays",
    "split_v2",
]


class CachedOp:
    """A symbol as a function of arrays, in the order of its `list_inputs()`; calls are recorded as those of operators.

    `flags` have no effect. Raises ArgumentError for another number of arrays.

    >>> mx.nd.CachedOp(amp.sym.exp(amp.sym.Variable("x")))(amp.nd.zeros((2,)))
    [1. 1.]
    <NDArray float32[2]>
    """

    def __init__(self, sym, flags=()):
        self._names = sym.list_inputs()
        self._graph = RecordedGraph(sym, "CachedOp")

    def __call__(self, *args, out=None, default_ctx=None, default_device=None):
        args = [array for array in args if array is not None]  # MXNet's programs pass None where there is no input
        if len(args) != len(self._names):
            raise ArgumentError(
                f"CachedOp: expected {len(self._names)} arrays ({', '.join(self._names)}), got {len(args)}"
            )
        outputs = self._graph(dict(zip(self._names, args)))
        if out is not None:
            outputs = written("CachedOp", outputs, out)
        return outputs[0] if len(outputs) == 1 else outputs


def reset_arrays(*arrays, num_arrays=None):
    """Writes zeros to arrays.

    >>> gradient = amp.nd.ones((2,))
    >>> mx.nd.reset_arrays(gradient, num_arrays=1)
    >>> gradient.asnumpy()
    array([0., 0.], dtype=float32)
    """
    for array in arrays:
        array[...] = 0


def split_v2(ary, indices_or_sections, axis=0, squeeze_axis=False):
    """Splits an array into a number of equal parts, or at the indices of a tuple: a list, or the array of one part.

    Raises ArgumentError for an axis that has no such equal parts.

    >>> [part.shape for part in mx.nd.split_v2(amp.nd.zeros((5, 2)), (1, 3))]
    [(1, 2), (2, 2), (2, 2)]
    """
    if hasattr(indices_or_sections, "__index__") and ary.shape[axis] % indices_or_sections:
        raise ArgumentError(f"split_v2: axis {axis} of size {ary.shape[axis]} has no {indices_or_sections} equal parts")
    return nd.op._split_v2(ary, axis=axis, squeeze_axis=squeeze_axis, indices_or_sections=indices_or_sections)


def onehot_encode(indices, out):
    """Writes a row of zeros with a one at the index, for each index, to `out` of shape (N, classes); returns it.

    >>> mx.nd.onehot_encode(amp.nd.array([1, 0]), out=amp.nd.ones((2, 3)))
    [[0. 1. 0.]
     [1. 0. 0.]]
    <NDArray float32[2,3]>
    """
    return nd.op.one_hot(indices, depth=out.shape[1], dtype=out.dtype, out=out)


def fill_element_0index(lhs, mhs, rhs):
    """`lhs` (N, M) with the numbers of `mhs` (N,) in the columns that `rhs` (N,) says, one in each row.

    >>> mx.nd.fill_element_0index(amp.nd.zeros((2, 2)), amp.nd.array([5, 6]), amp.nd.array([1, 0]))
    [[0. 5.]
     [6. 0.]]
    <NDArray float32[2,2]>
    """
    _trace.refuse("fill_element_0index")
    values = lhs.asnumpy()
    values[np.arange(len(values)), rhs.asnumpy().astype(np.int64)] = mhs.asnumpy()
    return nd.array(values, dtype=values.dtype)


def boolean_mask(data, index, axis=0):
    """The slices of `data` along an axis where `index` (size of the axis,) is not 0.

    Gradients go to the slices that were taken. Raises ArgumentError for another shape of `index`. A hybridized
    block that runs on arrays has no graph with it: the shape of the result depends on values.

    >>> mx.nd.contrib.boolean_mask(amp.nd.array([[1, 2], [3, 4], [5, 6]]), amp.nd.array([0, 1, 1]))
    [[3. 4.]
     [5. 6.]]
    <NDArray float32[2,2]>
    """
    _trace.refuse("boolean_mask")
    if not -data.ndim <= axis < data.ndim or index.shape != (data.shape[axis],):
        raise ArgumentError(f"boolean_mask: expected an index for axis {axis} of {data.shape}, got {index.shape}")
    return nd.op.take(data, nd.array(np.flatnonzero(index.asnumpy()), dtype="int64"), axis=axis)


def dynamic_reshape(data, shape):
    """`data` in the shape whose sizes the array `shape` holds, codes of `reshape` among them.

    A hybridized block that runs on arrays has no graph with it: the shape of the result depends on values.

    >>> mx.nd.contrib.dynamic_reshape(amp.nd.ones((2, 6)), amp.nd.array([3, -1])).shape
    (3, 4)
    """
    _trace.refuse("dynamic_reshape")
    sizes = tuple(shape.asnumpy().astype(int).tolist())
    return invoke("Reshape", [data], {}, {"shape": str(sizes)}, None, type(data))[0]


def histogram(a, bins=10, range=None):
    """How many elements lie in each of a number of equal bins, or between the edges that an array has.

    A list: the counts, int64, and the edges. The last bin has its end, the others do not.

    >>> counts, edges = mx.nd.histogram(amp.nd.array([1, 2, 3, 2.5]), bins=2, range=(1, 3))
    >>> counts.asnumpy().tolist(), edges.asnumpy().tolist()
    ([1, 3], [1.0, 2.0, 3.0])
    """
    if isinstance(bins, nd.NDArray):
        return nd.op._histogram(a, bins)
    if range is None:
        values = a.asnumpy()
        low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
        range = (low - 0.5, high + 0.5) if low == high else (low, high)
    return nd.op._histogram(a, bin_cnt=int(bins), range=tuple(map(float, range)))


def load_frombuffer(buf):
    """What `nd.load` gives for a file with these bytes.

    >>> amp.nd.save("arrays.params", {"x": amp.nd.ones((2,))})
    >>> with open("arrays.params", "rb") as file:
    ...     print(list(mx.nd.load_frombuffer(file.read())))
    ['x']
    """
    return from_bytes(buf)


def install():
    """Puts them there."""
    for name, function in {**_random_functions.FUNCTIONS, **UPDATES, **multi_tensor.FUNCTIONS}.items():
        setattr(nd, name, function)
    for name, function in {**multi_tensor.CONTRIB, **lans.FUNCTIONS}.items():
        setattr(nd.contrib, name, function)
    nd.contrib.boolean_mask, nd.contrib.rand_zipfian = boolean_mask, rand_zipfian
    nd.contrib.dynamic_reshape = dynamic_reshape
    _unknown_sizes.install()
    sym.contrib.rand_zipfian = _random_functions.zipfian_symbols
    nd._internal._sample_unique_zipfian = _random_functions.sample_unique_zipfian
    for function in (fill_element_0index, histogram, load_frombuffer, onehot_encode, reset_arrays, split_v2):
        setattr(nd, function.__name__, function)
    nd.NDArray.split_v2 = split_v2
    nd.py_slice, nd._STORAGE_TYPE_STR_TO_ID = slice, {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}
    nd.Custom, nd.CachedOp = custom, CachedOp
    sym.Custom = sym._internal.Custom = custom_symbol
    nd._internal.NDArrayBase, sym._internal.SymbolBase = nd.NDArray, sym.Symbol
    register_with_graphs()
    nd.NDArray.to_dlpack_for_read, nd.NDArray.to_dlpack_for_write = nd.to_dlpack_for_read, nd.to_dlpack_for_write
    for name in control_flow.__all__:
        setattr(nd.contrib, name, getattr(control_flow, name))
    for function in (control_flow.isfinite, control_flow.isinf, control_flow.isnan):
        setattr(sym.contrib, function.__name__, function)
