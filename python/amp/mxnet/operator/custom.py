"""Operators that programs write in Python: `mx.operator.CustomOp`, and `mx.nd.Custom`, which calls them."""

import contextlib

import numpy as np

from ... import _backward, _core, _recording, _trace
from ..._alternate import phase_of_operators
from ..._core import NDArray
from ...base import ArgumentError, MXNetError, did_you_mean
from ..context import cpu

_registered = {}


class CustomOp:
    """What an operator computes. Subclasses define `forward`, and `backward` where it has gradients.

    Results go to `out_data` and `in_grad` by `assign`; `req` has a request for each: 'null', 'write' or 'add'.
    What the methods do is not recorded. See `register`.

    >>> source, target = amp.nd.ones((2,)), amp.nd.ones((2,))
    >>> mx.operator.CustomOp().assign(target, "add", source)
    >>> target.asnumpy()
    array([2., 2.], dtype=float32)
    """

    def forward(self, is_train, req, in_data, out_data, aux):
        """Writes the outputs to `out_data`, and may write to the states `aux`. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        """Writes the gradients of inputs to `in_grad`. Subclasses define it; without it they are zero."""

    def assign(self, dst, req, src):
        """Writes `src` to the array `dst` as the request says."""
        if req == "add":
            dst[...] = dst + src
        elif req != "null":
            dst[...] = src


class CustomOpProp:
    """What is known of an operator before it runs. Subclasses of it are registered; see `register`.

    >>> mx.operator.CustomOpProp().infer_shape([[2, 3]])
    ([[2, 3]], [[2, 3]], [])
    """

    def __init__(self, need_top_grad=True):
        self.need_top_grad_ = need_top_grad

    def list_arguments(self):
        """Names of the inputs."""
        return ["data"]

    def list_outputs(self):
        """Names of the outputs."""
        return ["output"]

    def list_auxiliary_states(self):
        """Names of the states, which follow the inputs in calls."""
        return []

    def infer_shape(self, in_shape):
        """(shapes of inputs, of outputs, of states): by default outputs have that of the first input."""
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type):
        """(dtypes of inputs, of outputs, of states): by default all have that of the first input."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def declare_backward_dependency(self, out_grad, in_data, out_data):
        """Has no effect: `backward` gets all arrays."""
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def create_operator(self, ctx, in_shapes, in_dtypes):
        """The `CustomOp` for inputs of these types. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no create_operator")


def register(reg_name):
    """A decorator that makes a subclass of `CustomOpProp` the operator `reg_name`, for `mx.nd.Custom`.

    >>> class Double(mx.operator.CustomOp):
    ...     def forward(self, is_train, req, in_data, out_data, aux):
    ...         self.assign(out_data[0], req[0], in_data[0] * 2)
    ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
    ...         self.assign(in_grad[0], req[0], out_grad[0] * 2)
    >>> @mx.operator.register("double")
    ... class DoubleProp(mx.operator.CustomOpProp):
    ...     def create_operator(self, ctx, in_shapes, in_dtypes):
    ...         return Double()
    >>> mx.nd.Custom(amp.nd.array([1, 2]), op_type="double")
    [2. 4.]
    <NDArray float32[2]>
    """

    def keep(prop_cls):
        if not (isinstance(prop_cls, type) and issubclass(prop_cls, CustomOpProp)):
            raise ArgumentError(f"register: expected a subclass of CustomOpProp, got {prop_cls!r}")
        _registered[reg_name] = prop_cls
        return prop_cls

    return keep


def custom(*args, op_type=None, name=None, **kwargs):
    """Runs the operator that `mx.operator.register(op_type)` made: an array, or a list where it has several outputs.

    Inputs and states are given by position or by name; other keywords go to the operator's class as text. Raises
    ArgumentError for an unknown operator and for wrong inputs, MXNetError where its methods raise.
    """
    settings = {key: str(value) for key, value in kwargs.items() if not isinstance(value, NDArray)}
    call = _Call(op_type, settings)
    inputs = call.inputs(args, {key: value for key, value in kwargs.items() if isinstance(value, NDArray)})
    trace = _trace.current()
    # What the operator does is no part of a graph.
    with _trace.rehearsal() if trace is not None else contextlib.nullcontext():
        outputs = call.forward(inputs)
    arrays = inputs[: len(call.arguments)]
    if any(map(_recording.is_recorded, arrays)):
        _CallNode(call, arrays, outputs).mark(outputs, arrays)
    if trace is not None:
        states = [trace.symbol_of(state) for state in inputs[len(arrays) :]]
        if any(state.list_inputs() != [state.name] for state in states):
            _trace.refuse(f"the operator {op_type!r} with a state that is no parameter or input")
        trace.record("Custom", {**settings, "op_type": op_type}, inputs, {}, outputs)
    return outputs[0] if len(outputs) == 1 else outputs


def prop_of(op_type, settings):
    """A new object of the class that was registered. Raises ArgumentError for an unknown name."""
    if op_type not in _registered:
        raise ArgumentError(f"Custom: no operator {op_type!r} is registered{did_you_mean(str(op_type), _registered)}")
    return running(op_type, "__init__", _registered[op_type], **{key: str(value) for key, value in settings.items()})


def running(name, what, method, *args, **kwargs):
    """Runs a method of an operator in Python, unrecorded. Raises MXNetError for what it raises."""
    with _recording.scope(is_recording=False):
        try:
            return method(*args, **kwargs)
        except MXNetError:
            raise
        except Exception as error:
            raise MXNetError(f"{name}: {what} raised {type(error).__name__}: {error}") from error


class _Call:
    """One run of an operator, and the arrays that its gradients need."""

    def __init__(self, op_type, settings):
        self.name = op_type
        self._prop = prop_of(op_type, settings)
        self.arguments = list(self._prop.list_arguments())
        self._states = list(self._prop.list_auxiliary_states())

    def inputs(self, positional, by_name):
        """Arguments and states in the operator's order."""
        names = [*self.arguments, *self._states]
        given = dict(zip(names, positional))
        unknown = [name for name in by_name if name not in names or name in given]
        given.update(by_name)
        if len(positional) > len(names) or unknown or len(given) < len(names):
            raise ArgumentError(
                f"{self.name}: expected the inputs {names}, got {len(positional)} by position and {sorted(by_name)}"
            )
        wrong = [name for name in names if not isinstance(given[name], NDArray)]
        if wrong:
            raise ArgumentError(f"{self.name}: input {wrong[0]}: expected an array, got {given[wrong[0]]!r:.40}")
        return [given[name] for name in names]

    def forward(self, inputs):
        self._class = type(inputs[0]) if inputs else NDArray
        arrays = [_backward.detached(array) for array in inputs]
        self._data, self._aux = arrays[: len(self.arguments)], arrays[len(self.arguments) :]
        shapes, dtypes = [list(array.shape) for array in self._data], [array.dtype for array in self._data]
        out_shapes = self._run("infer_shape", self._prop.infer_shape, shapes)[1]
        out_dtypes = self._run("infer_type", self._prop.infer_type, dtypes)[1]
        self._outputs = [self._zeros(shape, dtype) for shape, dtype in zip(out_shapes, out_dtypes)]
        self._operator = self._run("create_operator", self._prop.create_operator, cpu(), shapes, dtypes)
        requests = ["write"] * len(self._outputs)
        is_train = _recording.modes.is_training
        self._run("forward", self._operator.forward, is_train, requests, self._data, self._outputs, self._aux)
        return [_backward.detached(output) for output in self._outputs]

    def backward(self, heads, is_asked):
        heads = [
            self._zeros(output.shape, output.dtype) if head is None else self._class(head)
            for output, head in zip(self._outputs, heads)
        ]
        gradients = [self._zeros(array.shape, array.dtype) for array in self._data]
        requests = ["write" if asked else "null" for asked in is_asked]
        method = self._operator.backward
        with phase_of_operators(is_backward=True):
            self._run("backward", method, requests, heads, self._data, self._outputs, gradients, self._aux)
        return gradients

    def _zeros(self, shape, dtype):
        return self._class(np.zeros(tuple(shape), _core.numpy_dtype(dtype)))

    def _run(self, what, method, *args, **kwargs):
        return running(self.name, what, method, *args, **kwargs)


class _CallNode(_recording.Node):
    describe = None

    def __init__(self, call, inputs, outputs):
        super().__init__(call.name, [array._place for array in inputs], outputs)
        self._call = call

    def gradients(self, heads, is_asked, create_graph):
        return self._call.backward(heads, is_asked)

    def free(self):
        super().free()
        self._call = None
