"""States of a Module: inputs that stay from one batch to the next until they are set."""

import numbers

from ... import nd
from ..._arrays import readable
from ...base import ArgumentError
from ..io.data_iter import DataDesc
from .devices import by_device, joined


class ModuleStates:
    """What a Module has for arguments that are states."""

    def set_states(self, states=None, value=None):
        """Sets the states of the next `forward`: arrays in the order of `state_names`, or one number for all.

        The outputs of `get_outputs(merge_multi_context=False)` will do, too. States are zeros where none were set for
        the shapes of the binding. Raises ArgumentError for both or neither, and for arrays that do not fit.

        >>> x, total = mx.sym.Variable("data"), mx.sym.Variable("total")
        >>> mod = mx.mod.Module(x + total, label_names=None, state_names=["total"])
        >>> mod.bind(data_shapes=[("data", (1, 2))], for_training=False)
        >>> mod.init_params()
        >>> mod.set_states(value=3)
        >>> mod.forward(mx.io.DataBatch([amp.nd.ones((1, 2))]))
        >>> mod.set_states(mod.get_outputs())
        >>> mod.get_states()[0].asnumpy()
        array([[4., 4.]], dtype=float32)
        """
        shapes = self._state_shapes()
        if (states is None) == (value is None):
            raise ArgumentError("set_states: expected either states or a value")
        if states is None:
            if not isinstance(value, numbers.Real):
                raise ArgumentError(f"set_states: value: expected a number, got {type(value).__name__}")
            states = [nd.full(shape, value) for shape in shapes.values()]
        arrays = [joined(array) if isinstance(array, (list, tuple)) else array for array in states]
        if len(arrays) != len(shapes):
            raise ArgumentError(f"set_states: {len(arrays)} arrays for {len(shapes)} states ({', '.join(shapes)})")
        self._states = {name: _fitting(name, array, shapes[name]) for name, array in zip(shapes, arrays)}

    def get_states(self, merge_multi_context=True):
        """The states of the next `forward`, a list of NDArrays; without merging each is a list, by device."""
        states = list(self._current_states().values())
        return states if merge_multi_context else by_device(states, [0] * len(states), self._context)

    def _current_states(self):
        """{name: array}; zeros for those that were not set, or were set for other shapes."""
        for name, shape in self._state_shapes().items():
            known = self._states.get(name)
            if known is None or tuple(known.shape) != shape:
                self._states[name] = nd.zeros(shape)
        return {name: self._states[name] for name in self._state_names}

    def _state_shapes(self):
        """{name: shape}, which follow from those of the inputs."""
        self._require(self._data_shapes, "bind")
        if not self._state_names:
            return {}
        known = {desc.name: desc.shape for desc in [*self._data_shapes, *(self._label_shapes or [])]}
        shapes = dict(zip(self._symbol.list_arguments(), self._symbol.infer_shape_partial(**known)[0]))
        for name in self._state_names:
            if shapes[name] is None or not all(dim > 0 for dim in shapes[name]):
                raise ArgumentError(f"the shape of state '{name}' does not follow from those of the data")
        return {name: tuple(shapes[name]) for name in self._state_names}

    def _state_descriptions(self):
        return [DataDesc(name, shape) for name, shape in self._state_shapes().items()]


def _fitting(name, array, shape):
    array = nd.NDArray(readable(array, f"state '{name}'"))
    if tuple(array.shape) != shape:
        raise ArgumentError(f"set_states: '{name}' has shape {shape}, got {tuple(array.shape)}")
    return array.copy()
