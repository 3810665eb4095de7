"""Functions of `mx.npx` that are no operators."""

import io

import numpy as np

from ... import _core, _trace, nd
from ..._core import NDArray
from ..._paths import encoded, write_file
from ...base import ArgumentError
from ...nd.operators import run as run_operator
from ...sym.operators import Operator
from .. import _generation as generations
from .. import control_flow
from ..np.array_class import ndarray
from ..np.create import asarray
from ..np.graph_nodes import as_node

_DECONVOLUTION = Operator("deconvolution", _core.operator_info("Deconvolution"), NDArray)


def from_numpy(array, zero_copy=True):
    """An `ndarray` of a NumPy array's elements; with `zero_copy` it shares memory, and the NumPy array is read-only.

    Raises ArgumentError for what is no array of numbers, and with `zero_copy` for arrays that are not row-major.

    >>> source = np.zeros((2,), "float32")
    >>> mx.npx.from_numpy(source)[:] = 5
    >>> source.tolist()
    [5.0, 5.0]
    """
    return ndarray(nd.from_numpy(array, zero_copy))


def save(file, arr):
    """Writes an array to a .npy file, as MXNet 2 does; under other names what `amp.nd.save` writes, as MXNet 1.x does.

    `arr` is an array, a list or {name: array}; the latter are always written as by `amp.nd.save`. After
    `mx.install(version)` the version decides for all names. Raises ArgumentError for what cannot be written.

    >>> mx.npx.save("own.npy", mx.np.ones((2,)))
    >>> mx.npx.load("own.npy")
    array([1., 1.])
    """
    version = generations.chosen()
    is_npy = version == 2 if version else encoded(file).endswith(b".npy")
    if not is_npy or isinstance(arr, (list, tuple, dict)):
        return nd.save(file, arr)
    content = io.BytesIO()
    np.save(content, asarray(arr).asnumpy())
    return write_file(file, content.getvalue())


def savez(file, *args, **kwds):
    """Writes arrays as an .npz file: those without a name as arr_0, arr_1 and so on.

    Raises ArgumentError for a name that occurs twice and for what cannot be written.

    >>> mx.npx.savez("own.npz", mx.np.ones((2,)), bias=mx.np.zeros((1,)))
    >>> sorted(mx.npx.load("own.npz"))
    ['arr_0', 'bias']
    """
    unnamed = {f"arr_{i}": array for i, array in enumerate(args)}
    twice = sorted(unnamed.keys() & kwds)
    if twice:
        raise ArgumentError(f"savez: {twice[0]} is the name of two arrays")
    nd.save(file, {**unnamed, **kwds}, format="npz")


def nonzero(a):
    """The indices of the elements that are not 0, one row for each, int64; a number counts as an array of one.

    A hybridized block with it runs without a graph: the shape depends on the elements.

    >>> mx.npx.nonzero(mx.np.array([[1, 0], [0, 2]]))
    array([[0, 0],
           [1, 1]])
    """
    _trace.refuse("mx.npx.nonzero")
    return ndarray(np.ascontiguousarray(np.argwhere(np.atleast_1d(asarray(a).asnumpy())), np.int64))


def cond(pred, then_func, else_func, inputs=(), name=None):
    """What `then_func(*inputs)` gives where `pred` is not 0, else what `else_func(*inputs)` gives.

    `pred` is an array of one element, or a function that gives one from the inputs.

    >>> mx.npx.cond(lambda x: x < 3, lambda x: x + 1, lambda x: x - 1, [mx.np.array(2)])
    array(3.)
    """
    inputs = inputs if isinstance(inputs, (list, tuple)) else [inputs]
    pred = pred(*inputs) if callable(pred) else pred
    return control_flow.cond(pred, lambda: then_func(*inputs), lambda: else_func(*inputs))


@as_node("_npx_constraint_check", lambda x, msg="": ([x], {"msg": msg or None}))
def constraint_check(x, msg=""):
    """True as an array, to multiply by; raises ArgumentError with the text `msg` unless all elements are true.

    >>> mx.npx.constraint_check(mx.np.array([1, 2]) > 0, "only positive numbers")
    array(True)
    """
    if not asarray(x).asnumpy().all():
        raise ArgumentError(msg or "constraint_check: a constraint does not hold")
    return ndarray(np.array(True))


def deconvolution(
    data,
    weight,
    bias=None,
    kernel=None,
    stride=None,
    dilate=None,
    pad=None,
    adj=None,
    target_shape=None,
    num_filter=1,
    num_group=1,
    workspace=None,
    no_bias=False,
    **settings,
):
    """The operator `Deconvolution`, which adds `bias` where there is one; see `amp.sym.Deconvolution`.

    Raises GraphError for shapes that do not fit.

    >>> x, weight = mx.np.ones((1, 1, 2)), mx.np.ones((1, 1, 2))
    >>> mx.npx.deconvolution(x, weight, mx.np.array([10]), (2,))
    array([[[11., 12., 11.]]])
    """
    arrays = [data, weight] if bias is None or no_bias else [data, weight, bias]
    given = {"kernel": kernel, "stride": stride, "dilate": dilate, "pad": pad, "adj": adj, "target_shape": target_shape}
    given = {key: value for key, value in given.items() if value is not None}
    settings.update(given, num_filter=num_filter, num_group=num_group, no_bias=len(arrays) == 2)
    return run_operator(_DECONVOLUTION, arrays, settings, ndarray)
