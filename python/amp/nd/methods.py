"""What arrays can do beyond what the extension gives them: arithmetic, methods that are operators, indexing.

`NDArray` is MXNet's legacy array: arithmetic needs equal dtypes, and there are no arrays without axes. A subclass with
`_is_numpy`, such as `amp.mxnet.np.ndarray`, follows NumPy: dtypes are promoted, comparisons give bools. An operator's
results are of its inputs' class.
"""

import numbers

import numpy as np

from .. import _backward, _core, _devices, _leniency, _recording, _trace
from .._core import NDArray
from .._invoke import invoke
from .._missing import OfMXNet
from .._operator_names import COMPARISONS, FLUENT, FUNCTIONS, OPERATIONS, scalar_operator
from ..base import ArgumentError, UnsupportedError
from ..sym.attributes import attribute_text
from . import indexing
from .one_element import as_number
from .operators import find_function


def scalar_text(value):
    """A Python or NumPy number as an attribute, or None for what is no number."""
    if isinstance(value, (bool, np.bool_)):
        return attribute_text(int(value))
    return attribute_text(value) if isinstance(value, (numbers.Real, np.number)) else None


def is_integer_text(number):
    """What a number is to operators of NumPy's kind, as attribute `is_int`: floats make floats of integers."""
    return str(isinstance(number, (bool, numbers.Integral, np.bool_)))


def binary(name, left, right, reflected=False):
    """left <name> right, where `left` is an array; `reflected`: right <name> left."""
    text = scalar_text(right)
    if text is not None:
        op = scalar_operator(name, left._is_numpy, reflected)
        if op is None:
            return NotImplemented
        attributes = {"scalar": text, "is_int": is_integer_text(right)} if left._is_numpy else {"scalar": text}
        return invoke(op, [left], {}, attributes)[0]
    if isinstance(right, np.ndarray):
        right = type(left)(_leniency.native(right))
    if not isinstance(right, NDArray):
        return NotImplemented
    numpy_like = next((operand for operand in (left, right) if operand._is_numpy), None)
    operation = OPERATIONS[name]
    op = operation.broadcasting if numpy_like is None else f"_npi_{operation.numpy}"
    if op is None:
        return NotImplemented
    operands = [right, left] if reflected else [left, right]
    return invoke(op, operands, {}, {}, result_class=NDArray if numpy_like is None else type(numpy_like))[0]


def _operator(name):
    def method(self, other):
        if other is None and name in ("eq", "ne"):
            return name == "ne"
        return binary(name, self, other)

    return method


def _reflected(name):
    return lambda self, other: binary(name, self, other, reflected=True)


def _in_place(name):
    def method(self, other):
        result = binary(name, self, other)
        if result is NotImplemented or _trace.current() is not None:
            return result  # in a graph the name stands for the new tensor from now on
        if result.shape != self.shape:
            raise ArgumentError(f"an array of shape {self.shape} cannot hold a result of shape {result.shape}")
        if self._is_numpy and _backward.is_float(result) and not _backward.is_float(self):
            raise ArgumentError(f"an array of {self.dtype.name} cannot hold a result of {result.dtype.name}")
        self[...] = result  # which arrays without axes know, too
        return self

    return method


def _fluent(name):
    def method(self, *args, **kwargs):
        is_in_place = kwargs.pop("inplace", False)  # of MXNet's expand_dims, flatten and squeeze
        result = find_function(name)(self, *args, **kwargs)
        return _core_reshape(self, result.shape) if is_in_place and not _needs_operators(self) else result

    method.__name__ = name
    method.__doc__ = f"`amp.nd.{name}` of this array."
    return method


def _number(convert):
    def method(self):
        if self.size != 1:
            raise ArgumentError(f"only an array of one element is a number; this one has shape {self.shape}")
        return convert(self.asnumpy().reshape(-1)[0].item())

    return method


def _truth(self):
    if self.size == 0:
        return False
    return _number(bool)(self)


def _index(self):
    if self.dtype.kind not in "iub":
        raise TypeError(f"an array of {self.dtype.name} is no index")
    return _number(int)(self)


# ---- methods with an implementation of their own ----


def _needs_operators(array):
    """Whether what is made of `array` has to be composed or recorded."""
    return _trace.current() is not None or _recording.is_recorded(array)


def _reshape(self, *shape, **kwargs):
    """The same elements under another shape, which shares memory.

    The shape is a tuple, or given as arguments. Legacy arrays take the codes of `amp.nd.reshape` (0 keeps a size, -1 is
    what remains, -2, -3, -4), also as `shape=` and with `reverse=True`; NumPy-like arrays take one -1.

    >>> amp.nd.ones((2, 3)).reshape((3, -1)).shape
    (3, 2)
    """
    if "shape" in kwargs or "newshape" in kwargs:
        shape = (kwargs.pop("shape", None) or kwargs.pop("newshape", None),)
    order = kwargs.pop("order", "C")
    reverse = kwargs.pop("reverse", False)
    if kwargs or order != "C":
        raise ArgumentError(f"reshape: unexpected arguments {', '.join(kwargs) or f'order={order!r}'}")
    dims = tuple(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    if any(not isinstance(dim, (int, np.integer)) for dim in dims):
        raise ArgumentError(f"the new shape: expected a sequence of integers, got {dims!r:.80}")
    is_eager = not _needs_operators(self)
    if self._is_numpy:
        if is_eager:
            return type(self)(_core_reshape(self, dims))
        return invoke("_npx_reshape", [self], {}, {"newshape": attribute_text(dims)})[0]
    attributes = {"shape": attribute_text(dims), "reverse": str(bool(reverse))}
    if is_eager and not reverse and all(dim > 0 or dim == -1 for dim in dims):
        return _core_reshape(self, dims)
    return invoke("Reshape", [self], {}, attributes)[0]


def _astype(self, dtype, copy=True, order="K", casting="unsafe"):
    """A copy with another dtype. To floats: rounded once, to nearest even.

    With copy=False an array that already has the dtype is returned as it is.

    >>> amp.nd.array([1.5]).astype("int32")
    [1]
    <NDArray int32[1]>
    """
    dtype = "float32" if dtype is None and self._is_numpy else dtype  # MXNet's, not NumPy's
    if not copy and self.dtype == _core.numpy_dtype(dtype):
        return self
    if _needs_operators(self):
        return invoke("Cast", [self], {}, {"dtype": attribute_text(dtype, "dtype")})[0]
    result = _core_astype(self, dtype, copy)
    return result if type(self) is NDArray else type(self)(result)


def _copy(self):
    """A copy in memory of its own."""
    if _needs_operators(self):
        return invoke("_copy", [self], {}, {})[0]
    return type(self)(_core_copy(self))


def _copyto(self, other):
    """Writes the elements to `other`, an array of the same shape, or to a device; returns that array.

    >>> target = amp.nd.zeros((2,))
    >>> _ = amp.nd.ones((2,)).copyto(target)
    >>> target
    [1. 1.]
    <NDArray float32[2]>
    """
    if not isinstance(other, NDArray):
        return _devices.placed(self.copy(), _devices.number_of(other, self._device_id))
    if other.shape != self.shape:
        raise ArgumentError(f"copyto: shape {self.shape} into shape {other.shape}")
    other[:] = self
    return other


def _broadcast_like(self, other, *args, **kwargs):
    """`amp.nd.broadcast_like` of this array, which may have fewer axes: those of `other` are put in front.

    >>> amp.nd.array([1, 2]).broadcast_like(amp.nd.zeros((2, 2)))
    [[1. 2.]
     [1. 2.]]
    <NDArray float32[2,2]>
    """
    if self.ndim < other.ndim and not args and not kwargs:
        self = self.reshape((1,) * (other.ndim - self.ndim) + self.shape)
    return find_function("broadcast_like")(self, other, *args, **kwargs)


def _item(self, *index):
    """One element as a Python number; without an index the array must have one element.

    >>> amp.nd.array([1, 2]).item(1)
    2.0
    """
    return self.asnumpy().item(*index)


def _asscalar(self):
    """The element of an array that has only one, as a NumPy scalar.

    >>> float(amp.nd.array([1.5]).asscalar())
    1.5
    """
    if self.size != 1:
        raise ArgumentError(f"asscalar: expected an array of one element, got shape {self.shape}")
    return self.asnumpy().reshape(-1)[0]


def _in_context(self, context=None, *, ctx=None, device=None):
    """The array itself, or a copy of it where it is on another device."""
    number = _devices.number_of(context or ctx or device, self._device_id)
    return self if number == self._device_id else _devices.placed(self.copy(), number)


def _detach(self):
    """The same elements in shared memory, as a constant: no gradient goes through it.

    >>> x = amp.nd.array([1, 2])
    >>> x.detach()
    [1. 2.]
    <NDArray float32[2]>
    """
    if _trace.current() is not None:
        return invoke("BlockGrad", [self], {}, {})[0]
    return _backward.detached(self)


def _attach_grad(self, grad_req="write", stype=None):
    """Attaches a gradient of zeros, `.grad`, which `backward` writes to; `grad_req` is 'write', 'add' or 'null'.

    With 'null' there is none: `.grad` is None.

    The array forgets where it came from; one of `mx.np`, and with `mx.install("2.0")` any, that was computed while
    recording stays part of its graph, and gets its gradient besides. Gradients of integers are integers.

    >>> x = amp.nd.array([1, 2])
    >>> x.attach_grad()
    >>> x.grad
    [0. 0.]
    <NDArray float32[2]>
    """
    _backward.attach(self, grad_req)


def _drop_grad(self):
    """Takes back `attach_grad`: there is no gradient any more. An array that was computed stays part of its graph.

    >>> x = amp.nd.array([1, 2])
    >>> x.attach_grad()
    >>> x.drop_grad()
    >>> x.grad is None
    True
    """
    _backward.drop(self)


def _run_backward(self, out_grad=None, retain_graph=False, train_mode=True):
    """Writes the gradients of the sum of the elements, each times that of `out_grad`, to all arrays it depends on.

    It has to be computed inside of `mx.autograd.record()`. The graph is freed unless `retain_graph` is True. Raises
    ArgumentError for an array that depends on nothing that was recorded, UnsupportedError for an operator without a
    gradient.
    """
    _backward.backward([self], [out_grad], retain_graph, train_mode)


_UFUNCS = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "truediv",
    np.remainder: "mod",
    np.power: "pow",
    np.equal: "eq",
    np.not_equal: "ne",
}


def _array_ufunc(self, ufunc, method, *inputs, **kwargs):
    """A function of NumPy on arrays of ours.

    numpy.float32(2) * array is an operator of the array; numpy.add(array, 2) gives a NumPy array, and an array of
    NumPy's kind where one takes part.
    """
    if not isinstance(inputs[0], NDArray) and ufunc in _UFUNCS and method == "__call__" and not kwargs:
        name = _UFUNCS[ufunc]
        return binary(name, self, inputs[0], reflected=name not in COMPARISONS)
    outs = kwargs.get("out")
    if outs is not None:
        kwargs["out"] = tuple(np.asarray(o) if isinstance(o, NDArray) else o for o in outs)
    _trace.refuse(f"numpy.{ufunc.__name__}")
    numpy_like = next((value for value in inputs if isinstance(value, NDArray) and value._is_numpy), None)
    if numpy_like is not None:
        _recording.refuse(f"numpy.{ufunc.__name__}", *inputs)
    result = getattr(ufunc, method)(*(np.asarray(v) if isinstance(v, NDArray) else v for v in inputs), **kwargs)
    if outs is not None and all(o is not None for o in outs):
        return outs[0] if len(outs) == 1 else outs
    if isinstance(result, (np.ndarray, np.generic)) and numpy_like is not None:
        return type(numpy_like)(np.asarray(result))
    return result


def _iterate(self):
    return (self[i] for i in range(len(self)))


def _to_sparse(self, stype):
    """The array itself for 'default'; raises UnsupportedError for sparse storage."""
    if stype != "default":
        raise UnsupportedError(f"tostype: storage {stype!r} is not supported; arrays are dense")
    return self


_core_reshape, _core_astype, _core_copy = NDArray.reshape, NDArray.astype, NDArray.copy
_core_asnumpy = NDArray.asnumpy


def _asnumpy(self):
    """A copy of the array as a numpy.ndarray. `np.asarray(array)` gives one that shares its memory and keeps it alive.

    One of a single element is a number, too: `float(array.asnumpy())`, whatever its shape.

    >>> float(amp.nd.array([[1.5]]).asnumpy())
    1.5
    """
    return as_number(_core_asnumpy(self))


def _reduce(self):
    """What pickle writes: the class and the elements."""
    return _restored, (type(self), _core_asnumpy(self))


def _restored(cls, elements):
    return cls(elements)


_EXAMPLE = """

>>> source = np.zeros((2, 2), "float32")
>>> array = amp.nd.NDArray(source)  # shares memory
>>> array[0] = 5
>>> array + source
[[10. 10.]
 [ 0.  0.]]
<NDArray float32[2,2]>
"""


# `amp.mxnet` installs them.
_OF_MXNET = "as_nd_ndarray as_np_ndarray context ctx device".split()


def _install():
    for name in OPERATIONS:
        if name in FUNCTIONS:
            continue
        setattr(NDArray, f"__{name}__", _operator(name))
        if name not in COMPARISONS:
            setattr(NDArray, f"__r{name}__", _reflected(name))
            setattr(NDArray, f"__i{name}__", _in_place(name))
    NDArray._is_numpy = False
    NDArray.asnumpy = _asnumpy
    NDArray.__reduce__ = _reduce
    NDArray.__doc__ += _EXAMPLE
    NDArray.__hash__ = object.__hash__
    NDArray.__neg__ = lambda self: invoke("_npi_negative" if self._is_numpy else "negative", [self], {}, {})[0]
    NDArray.__abs__ = lambda self: invoke("abs", [self], {}, {})[0]
    NDArray.__array_ufunc__ = _array_ufunc
    NDArray.__bool__, NDArray.__index__ = _truth, _index
    NDArray.__float__, NDArray.__int__ = _number(float), _number(int)
    NDArray.__iter__ = _iterate
    NDArray.__getitem__, NDArray.__setitem__ = indexing.get_item, indexing.set_item
    for name in FLUENT:
        setattr(NDArray, name, _fluent(name))
    for name in _OF_MXNET:
        setattr(NDArray, name, OfMXNet(f"NDArray.{name}"))
    NDArray.reshape, NDArray.astype, NDArray.copy, NDArray.copyto = _reshape, _astype, _copy, _copyto
    NDArray.asscalar, NDArray.item = _asscalar, _item
    NDArray.broadcast_like = _broadcast_like
    NDArray.as_in_context = NDArray.as_in_ctx = NDArray.to_device = _in_context
    NDArray.stype = property(lambda self: "default", doc="The storage: always 'default', dense.")
    NDArray.tostype, NDArray.detach = _to_sparse, _detach
    NDArray.T = property(lambda self: self.transpose(), doc="The array with its axes in reverse order.")
    NDArray.attach_grad, NDArray.drop_grad, NDArray.backward = _attach_grad, _drop_grad, _run_backward
    NDArray.grad = property(_backward.gradient_of, doc="The gradient that was attached, or None.")
    NDArray._fresh_grad = property(_backward.is_fresh, _backward.set_fresh)


_install()
