"""Operators in Python as MXNet had them before `CustomOp`: an object of a class is the operator, in symbols alone."""

import itertools
import warnings

import numpy as np

from .custom import CustomOp, CustomOpProp, register
from .custom_nodes import custom_symbol

_numbers = itertools.count()


class PythonOp:
    """The base class of `NumpyOp` and `NDArrayOp`; deprecated."""

    def __init__(self, need_top_grad=True):
        self.need_top_grad_ = need_top_grad
        self._op_type = f"_{type(self).__name__}{next(_numbers)}"
        register(self._op_type)(_prop_class(self))
        warnings.warn(f"{type(self).__name__} is deprecated; use CustomOp", stacklevel=2)

    def __call__(self, *args, **kwargs):
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args, **kwargs):
        """A node of the operator; arguments are those of `mx.sym.Custom` but for `op_type`."""
        return custom_symbol(*args, op_type=self._op_type, **kwargs)

    def forward(self, in_data, out_data):
        """Writes the outputs; by default the first one is the first input."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad, in_data, out_data, in_grad):
        """Writes the gradients of the inputs; by default the first one is 1."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape):
        """(shapes of inputs, shapes of outputs): by default there is an output of the first input's shape."""
        return in_shape, [in_shape[0]]

    def list_outputs(self):
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self):
        """Names of the inputs."""
        return ["data"]

    def need_top_grad(self):
        """Whether `backward` reads the gradients of the outputs: a loss does not."""
        return self.need_top_grad_

    def _arrays(self, arrays):
        """What the methods get for NDArrays."""
        return arrays


class NumpyOp(PythonOp):
    """An operator on NumPy arrays, whose methods write to `out_data` and `in_grad`; deprecated.

    >>> class Square(mx.operator.NumpyOp):
    ...     def forward(self, in_data, out_data):
    ...         out_data[0][:] = in_data[0] ** 2
    ...     def backward(self, out_grad, in_data, out_data, in_grad):
    ...         in_grad[0][:] = out_grad[0] * in_data[0] * 2
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     square = Square()
    >>> square(amp.sym.Variable("x"), name="square").eval(x=amp.nd.array([3]))[0].asnumpy()
    array([9.], dtype=float32)
    """

    def _arrays(self, arrays):
        return [np.array(array.asnumpy()) for array in arrays]


class NDArrayOp(PythonOp):
    """An operator on NDArrays; deprecated. See `NumpyOp`.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     same = mx.operator.NDArrayOp()
    >>> same(amp.sym.Variable("x"), name="same").eval(x=amp.nd.array([3]))[0].asnumpy()
    array([3.], dtype=float32)
    """

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        """Has no effect: `backward` gets all arrays."""
        return [*(out_grad if self.need_top_grad() else []), *in_data, *out_data]


class _Operator(CustomOp):
    def __init__(self, operator):
        self._operator = operator

    def forward(self, is_train, req, in_data, out_data, aux):
        results = self._operator._arrays(out_data)
        self._operator.forward(in_data=self._operator._arrays(in_data), out_data=results)
        self._assign(out_data, req, results)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        given = {"out_grad": out_grad, "in_data": in_data, "out_data": out_data}
        results = self._operator._arrays(in_grad)
        self._operator.backward(in_grad=results, **{key: self._operator._arrays(a) for key, a in given.items()})
        self._assign(in_grad, req, results)

    def _assign(self, targets, requests, results):
        for target, request, result in zip(targets, requests, results):
            if result is not target:
                self.assign(target, request, result)


def _prop_class(operator):
    class Prop(CustomOpProp):
        def __init__(self):
            super().__init__(operator.need_top_grad())

        def list_arguments(self):
            return operator.list_arguments()

        def list_outputs(self):
            return operator.list_outputs()

        def infer_shape(self, in_shape):
            return (*operator.infer_shape(in_shape), [])

        def create_operator(self, ctx, in_shapes, in_dtypes):
            return _Operator(operator)

    return Prop
