"""Operators in Python as nodes of graphs: `mx.sym.Custom`."""

import functools

import numpy as np

from ... import _backward, _core
from ..._alternate import phase_of_operators
from ..._core import NDArray
from ...attribute import AttrScope
from ...base import ArgumentError
from ...name import NameManager
from ...sym import Symbol, Variable
from ...sym.operators import forget_names
from ..context import cpu
from . import array_operators
from .custom import prop_of, running

_NODE = "__custom_node__"  # src/ops/elementwise/custom.h


class _NodeOperator:
    """What a node `Custom` computes; csrc/custom.cc calls it."""

    def __init__(self, attributes):
        self._settings = {key: value for key, value in attributes.items() if not key.startswith("__")}
        self._node = attributes.get(_NODE)
        self._name = self._settings.pop("op_type", None)
        self._prop = prop_of(self._name, self._settings)
        self.arguments = [str(name) for name in self._prop.list_arguments()]
        self.states = [str(name) for name in self._prop.list_auxiliary_states()]
        self.outputs = [str(name) for name in self._prop.list_outputs()]

    def infer_shape(self, shapes):
        """Those of arguments, outputs and states; unknown ones are None, and [] for the operator."""
        known = [[] if shape is None else list(shape) for shape in shapes]
        found = running(self._name, "infer_shape", self._prop.infer_shape, known)
        # An operator that says nothing of an argument hands its [] on.
        arguments = [old if new == [] else new for new, old in zip(map(_as_list, found[0]), shapes)]
        return [*arguments, *self._rest("infer_shape", found)]

    def infer_type(self, dtypes):
        """Those of arguments, outputs and states; unknown ones are taken for that of the first argument."""
        known = [dtypes[0] if dtype is None else dtype for dtype in dtypes]
        found = running(self._name, "infer_type", self._prop.infer_type, known)
        return [*found[0], *self._rest("infer_type", found)]

    def _rest(self, what, found):
        outputs, states = found[1], found[2] if len(found) > 2 else []
        if len(outputs) != len(self.outputs) or len(states) != len(self.states):
            raise ArgumentError(
                f"{self._name}: {what} gave {len(outputs)} outputs and {len(states)} states, expected "
                f"{len(self.outputs)} and {len(self.states)}"
            )
        return [*outputs, *states]

    def forward(self, is_train, inputs):
        """Outputs, and what the states become."""
        data, states = inputs[: len(self.arguments)], inputs[len(self.arguments) :]
        operator, types = self._instance(data)
        outputs = [_zeros(*each) for each in types]
        requests = ["write"] * len(outputs)
        running(self._name, "forward", operator.forward, is_train, requests, data, outputs, states)
        return [*map(_backward.detached, outputs), *map(_backward.detached, states)]

    def backward(self, output_gradients, inputs, results):
        """The gradients of the arguments."""
        data = inputs[: len(self.arguments)]
        outputs, states = results[: len(self.outputs)], results[len(self.outputs) :]
        gradients = [_zeros(array.shape, array.dtype) for array in data]
        operator, _ = self._instance(data)
        with phase_of_operators(is_backward=True):
            requests = ["write"] * len(data)
            arrays = output_gradients, data, outputs, gradients, states
            running(self._name, "backward", operator.backward, requests, *arrays)
        return [_backward.detached(gradient) for gradient in gradients]

    def _instance(self, data):
        """The CustomOp for these arguments, and the types of its outputs."""
        return _instance(self, tuple((tuple(array.shape), array.dtype) for array in data))

    def _key(self):
        return type(self._prop), self._name, self._node, tuple(sorted(self._settings.items()))

    def __eq__(self, other):
        return isinstance(other, _NodeOperator) and self._key() == other._key()

    def __hash__(self):
        return hash(self._key())

    def made(self, types):
        """A new CustomOp, and the types of its outputs, for arguments of these types."""
        shapes, dtypes = [list(shape) for shape, _ in types], [dtype for _, dtype in types]
        end = len(types) + len(self.outputs)
        outputs = list(zip(self.infer_shape(shapes), self.infer_type(dtypes)))[len(types) : end]
        return running(self._name, "create_operator", self._prop.create_operator, cpu(), shapes, dtypes), outputs


@functools.lru_cache(maxsize=1024)
def _instance(operator, types):
    """The same for a node forwards and backwards: what `forward` leaves in it, `backward` finds."""
    return operator.made(types)


def _as_list(shape):
    return list(shape)


def _zeros(shape, dtype):
    return NDArray(np.zeros(tuple(shape), _core.numpy_dtype(dtype)))


def custom_symbol(*args, op_type=None, name=None, attr=None, **kwargs):
    """A node of the operator that `mx.operator.register(op_type)` made.

    Inputs and states are given by position or by name; those that are not become variables `<name>_<input>`. Other
    keywords go to the operator's class as text. States move in training alone. Raises ArgumentError for an unknown
    operator and for wrong inputs; what its methods raise is an MXNetError of the call that runs or infers.
    """
    symbols = {key: value for key, value in kwargs.items() if isinstance(value, Symbol)}
    settings = {key: str(value) for key, value in kwargs.items() if key not in symbols}
    prop = prop_of(op_type, settings)
    names = [*prop.list_arguments(), *prop.list_auxiliary_states()]
    given = dict(zip(names, args))
    unknown = [key for key in symbols if key not in names or key in given]
    given.update(symbols)
    wrong = [key for key, value in given.items() if not isinstance(value, Symbol)]
    if len(args) > len(names) or unknown or wrong:
        raise ArgumentError(
            f"{op_type}: expected symbols for {names}, got {len(args)} by position and {sorted(symbols)}"
        )
    name = NameManager.current().get(name, "custom")
    inputs = [given[key] if key in given else Variable(f"{name}_{key}") for key in names]
    scope = AttrScope.current()
    attributes = scope.constrain({**scope.get(attr), **settings, "op_type": op_type})
    return Symbol(_core.apply("Custom", name, attributes, [symbol._handle for symbol in inputs], {}))


custom_symbol.__name__ = custom_symbol.__qualname__ = "Custom"  # as MXNet's


def _operator_of(attributes):
    """What a node computes: an operator of the program, or one of `array_operators`."""
    return array_operators.made(attributes) or _NodeOperator(attributes)


def register_with_graphs():
    """Lets graphs have nodes of operators in Python."""
    if "Custom" not in _core.operator_names():
        _core.register_custom_operators(_operator_of)
        forget_names()
