"""What all cells have: states, and the way through a sequence."""

import contextlib

from .... import nd, sym
from ...._arrays import flattened
from ....base import ArgumentError
from ....sym import Symbol
from ..block import Block, HybridBlock
from ..nn.layer import Layer, functions_of

__all__ = ["HybridRecurrentCell", "RecurrentCell"]


class RecurrentCell(Block):
    """The base class of cells: one step of a recurrent network, on arrays or symbols.

    Subclasses define `forward(inputs, states)`, which gives (output, states), and `state_info`. `unroll` makes the
    steps of a sequence.

    >>> cell = mx.gluon.rnn.LSTMCell(5)
    >>> cell.initialize()
    >>> output, states = cell(amp.nd.ones((2, 4)), cell.begin_state(2))
    >>> output.shape, [state.shape for state in states]
    ((2, 5), [(2, 5), (2, 5)])
    """

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self):
        """Forgets what a cell keeps from one step to the next: before another sequence."""
        self._counter = self._init_counter = -1
        for cell in self._children.values():
            if isinstance(cell, RecurrentCell):
                cell.reset()

    def state_info(self, batch_size=0):
        """[{'shape': of a state, '__layout__': ...}] for every state."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_info")

    def infer_shape(self, i, x, is_bidirect):
        """Sets the shapes of the parameters of the cells inside, given the data `x` of a step, as in MXNet 2.

        `i` says at which place this cell is among those that it is stacked with: the first reads `x`, each of the
        others as many numbers as it gives itself, twice as many with `is_bidirect`.

        >>> cell = mx.gluon.rnn.LSTMCell(5)
        >>> cell.infer_shape(0, amp.nd.ones((2, 4)), False)
        >>> cell.i2h_weight.shape
        (20, 4)
        """
        for place, cell in enumerate(self._children.values()):
            cell.infer_shape(self._place_of(place, i), x, is_bidirect)

    def _place_of(self, own, i):
        """The place of a cell inside: cells that this one changes or joins are at its own place."""
        return i

    def begin_state(self, batch_size=0, func=nd.zeros, **kwargs):
        """States of zeros for a batch, or of `func(shape=...)`, or variables by `func=mx.sym.Variable`.

        >>> [state.shape for state in mx.gluon.rnn.GRUCell(6).begin_state(2)]
        [(2, 6)]
        """
        if self._modified:
            raise ArgumentError(f"{type(self).__name__}: the cell is part of another one; call begin_state of that")
        return [self._state(func, info, kwargs) for info in self.state_info(batch_size)]

    def _state(self, func, info, options):
        self._init_counter += 1
        if func is sym.Variable:
            options = {"name": f"{self.prefix}begin_state_{self._init_counter}", **options}
        return func(shape=info["shape"], **options)

    def _named(self, what):
        """The name of an operator, by step."""
        return {"name": f"t{self._counter}_{what}"}

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        self._counter += 1
        return super().__call__(inputs, states)

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """(outputs, states) of `length` steps.

        `inputs` is an array or symbol of that layout, or a list of them, one for each step. With `merge_outputs` the
        outputs are one array, with False a list; None is False, but True with `valid_length`. States begin with zeros
        where none are given. With `valid_length` (N,) sequences end there: later outputs are zeros, and states are
        those of the end.

        >>> cell = mx.gluon.rnn.GRUCell(6)
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(3, amp.nd.ones((2, 3, 4)), merge_outputs=True)
        >>> outputs.shape, states[0].shape
        ((2, 3, 6), (2, 6))
        """
        self.reset()
        with self._names_for(inputs):
            steps, axis = steps_of(length, inputs, layout)
            states = self._first_states(begin_state, steps[0])
            outputs, each = [], []
            for step in steps:
                output, states = self(step, states)
                outputs.append(output)
                each.append(states)
            if valid_length is not None:
                outputs = masked(outputs, valid_length)
                states = [last_of(column, valid_length) for column in zip(*each)]
        return merged(outputs, axis, merges(merge_outputs, valid_length)), states

    def _names_for(self, inputs):
        is_symbolic = any(isinstance(leaf, Symbol) for leaf in flattened([inputs]))
        return self._composition() if is_symbolic else contextlib.nullcontext()

    def _first_states(self, states, step):
        """`states`, or zeros for a batch as large as that of the step, whatever that will be."""
        if states is not None:
            return states
        return [_zeros_like(step, info["shape"][1:]) for info in self.state_info()]


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """The base class of cells whose steps can run as graphs; subclasses may define `hybrid_forward`.

    >>> class Sum(mx.gluon.rnn.HybridRecurrentCell):
    ...     def state_info(self, batch_size=0):
    ...         return [{"shape": (batch_size, 2), "__layout__": "NC"}]
    ...     def hybrid_forward(self, F, inputs, states):
    ...         return inputs + states[0], [inputs + states[0]]
    >>> outputs, states = Sum().unroll(3, amp.nd.ones((1, 3, 2)))
    >>> states[0].asnumpy()
    array([[3., 3.]], dtype=float32)
    """


class OneLayerCell(HybridRecurrentCell, Layer):
    """A cell with weights: those of the input and those of the state, for all gates one below the other."""

    _gates = _num_states = 1

    def __init__(
        self,
        hidden_size,
        i2h_weight_initializer=None,
        h2h_weight_initializer=None,
        i2h_bias_initializer="zeros",
        h2h_bias_initializer="zeros",
        input_size=0,
        prefix=None,
        params=None,
    ):
        super().__init__(prefix=prefix, params=params)
        self._hidden_size, self._input_size = hidden_size, input_size
        rows = self._gates * hidden_size
        self.parameter("i2h_weight", (rows, input_size), i2h_weight_initializer)
        self.parameter("h2h_weight", (rows, self._output_size()), h2h_weight_initializer)
        self.parameter("i2h_bias", (rows,), i2h_bias_initializer)
        self.parameter("h2h_bias", (rows,), h2h_bias_initializer)

    def _output_size(self):
        return self._hidden_size

    def _alias(self):
        return type(self).__name__.lower().removesuffix("cell")

    def infer_shape(self, *args):
        """Learns input_size from the inputs of a step, or from `RecurrentCell.infer_shape`'s arguments."""
        size = args[0].shape[-1] if hasattr(args[0], "shape") else self._inputs_at(*args)
        self.i2h_weight.shape = (self._gates * self._hidden_size, size)

    def _inputs_at(self, place, inputs, is_bidirect):
        return inputs.shape[-1] if place == 0 else self._output_size() * (2 if is_bidirect else 1)

    def state_info(self, batch_size=0):
        """[{'shape': (batch_size, hidden_size), '__layout__': 'NC'}] for every state."""
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"}] * self._num_states

    def _dense(self, F, inputs, state, i2h_weight, h2h_weight, i2h_bias, h2h_bias):  # noqa: N803 - MXNet's name
        """What comes from the input and from the state, for all gates."""
        rows = self._gates * self._hidden_size
        return [
            F.FullyConnected(inputs, i2h_weight, i2h_bias, num_hidden=rows, **self._named("i2h")),
            F.FullyConnected(state, h2h_weight, h2h_bias, num_hidden=rows, **self._named("h2h")),
        ]

    def _activated(self, F, data, activation, what=None):  # noqa: N803 - MXNet's name
        """An activation by name, or by a function."""
        if isinstance(activation, str):
            return F.Activation(data, act_type=activation, **(self._named(what) if what else {}))
        return activation(data)

    def __repr__(self):
        return f"{type(self).__name__}({self.i2h_weight.shape[1] or None} -> {self._hidden_size})"


def steps_of(length, inputs, layout):
    """(arrays or symbols of the steps, the axis of time)"""
    axis = layout.find("T")
    if isinstance(inputs, (list, tuple)):
        if len(inputs) != length:
            raise ArgumentError(f"unroll: {len(inputs)} inputs do not fit {length} steps")
        return list(inputs), axis
    parts = functions_of(inputs).SliceChannel(inputs, num_outputs=length, axis=axis, squeeze_axis=True)
    return ([parts] if length == 1 and not isinstance(parts, list) else list(parts)), axis


def merged(outputs, axis, merge):
    """One array of all steps where `merge` says so."""
    return functions_of(outputs[0]).stack(*outputs, axis=axis) if merge else outputs


def merges(merge_outputs, valid_length):
    """Whether outputs become one array: None leaves it to `valid_length`."""
    return valid_length is not None if merge_outputs is None else merge_outputs


def masked(outputs, valid_length):
    """Outputs of the steps with zeros behind the ends of the sequences."""
    module = functions_of(outputs[0])
    stacked = module.stack(*outputs, axis=0)
    sequence = module.SequenceMask(stacked, sequence_length=valid_length, use_sequence_length=True)
    return steps_of(len(outputs), sequence, "TNC")[0]


def last_of(states, valid_length):
    """One state at the ends of the sequences, given those of all steps."""
    module = functions_of(states[0])
    stacked = module.stack(*states, axis=0)
    return module.SequenceLast(stacked, sequence_length=valid_length, use_sequence_length=True)


def _zeros_like(step, shape):
    """Zeros of (N, *shape) for a step of N."""
    module = functions_of(step)
    first = module.slice_axis(module.reshape(step, shape=(0, -1)), axis=1, begin=0, end=1)
    column = module.reshape(module.zeros_like(first), shape=(0, *[1] * len(shape)))
    return module.broadcast_to(column, shape=(0, *shape))
