"""Dropout that is the same in every step, and sequences as long as the data."""

from .....base import ArgumentError
from .....sym import Symbol
from .... import control_flow, symbol_control_flow
from ...nn.layer import functions_of
from ...recurrent.base import merged, merges, steps_of
from ...recurrent.modifiers import ModifierCell
from ...recurrent.projected import LSTMPCell

__all__ = ["LSTMPCell", "VariationalDropoutCell", "dynamic_unroll"]


class VariationalDropoutCell(ModifierCell):
    """VariationalDropoutCell(base_cell, drop_inputs=0.0, drop_states=0.0, drop_outputs=0.0): dropout by sequences.

    In training the same elements of inputs, of the first state and of outputs are dropped in all steps, until `reset`.

    >>> cell = mx.gluon.contrib.rnn.VariationalDropoutCell(mx.gluon.rnn.GRUCell(5), drop_inputs=0.5)
    >>> cell.initialize()
    >>> cell.unroll(3, amp.nd.ones((2, 3, 4)), merge_outputs=True)[0].shape
    (2, 3, 5)
    """

    def __init__(self, base_cell, drop_inputs=0.0, drop_states=0.0, drop_outputs=0.0):
        if drop_states and type(base_cell).__name__ == "BidirectionalCell":
            raise ArgumentError("drop_states: a BidirectionalCell has no steps; wrap its cells")
        super().__init__(base_cell)
        self.drop_inputs, self.drop_states, self.drop_outputs = drop_inputs, drop_states, drop_outputs

    def reset(self):
        """Forgets what is dropped."""
        super().reset()
        self._masks = {}

    def _dropped(self, what, rate, data):
        if not rate:
            return data
        module = functions_of(data)
        if what not in self._masks:
            self._masks[what] = module.Dropout(module.ones_like(data), p=rate)
        return data * self._masks[what]

    def hybrid_forward(self, F, inputs, states):  # noqa: N803 - MXNet's name
        """(output, states) of a step."""
        if self.drop_states:
            states = [self._dropped("states", self.drop_states, states[0]), *states[1:]]
        output, states = self.base_cell(self._dropped("inputs", self.drop_inputs, inputs), states)
        return self._dropped("outputs", self.drop_outputs, output), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """(outputs, states) of `length` steps."""
        if self.drop_states:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        with self._names_for(inputs):
            steps, axis = steps_of(length, inputs, layout)
            steps = [self._dropped("inputs", self.drop_inputs, step) for step in steps]
            outputs, states = self.base_cell.unroll(length, steps, begin_state, layout, False, valid_length)
            outputs = [self._dropped("outputs", self.drop_outputs, output) for output in outputs]
        return merged(outputs, axis, merges(merge_outputs, valid_length)), states


def dynamic_unroll(cell, inputs, begin_state, drop_inputs=0, drop_outputs=0, layout="TNC", valid_length=None):
    """(outputs, states) of a cell over as many steps as `inputs`, an array or a symbol, has: a `foreach`.

    `drop_inputs` and `drop_outputs` are rates of dropout; the rest is as for `unroll`.

    >>> cell = mx.gluon.rnn.GRUCell(5)
    >>> cell.initialize()
    >>> outputs, _ = mx.gluon.contrib.rnn.dynamic_unroll(cell, amp.nd.ones((3, 2, 4)), cell.begin_state(2))
    >>> outputs.shape
    (3, 2, 5)
    """
    module, time = functions_of(inputs), layout.find("T")
    loops = symbol_control_flow if isinstance(inputs, Symbol) else control_flow
    if drop_inputs:
        inputs = module.Dropout(inputs, p=drop_inputs, axes=(time,))
    is_single = not isinstance(begin_state, (list, tuple))
    states = [begin_state] if is_single else list(begin_state)

    def step(data, states):
        output, new = cell(data, states[: len(states) - (valid_length is not None)])
        if valid_length is None:
            return output, list(new)
        number, runs = states[-1], module.broadcast_greater(valid_length, states[-1])
        return output, [*(module.where(runs, *pair) for pair in zip(new, states)), number + 1]

    start = [] if valid_length is None else [module.zeros_like(module.slice_axis(valid_length, axis=0, begin=0, end=1))]
    outputs, states = loops.foreach(step, module.swapaxes(inputs, 0, time) if time else inputs, [*states, *start])
    outputs = module.swapaxes(outputs, 0, time) if time else outputs
    if drop_outputs:
        outputs = module.Dropout(outputs, p=drop_outputs, axes=(time,))
    if valid_length is not None:
        outputs = module.SequenceMask(outputs, sequence_length=valid_length, use_sequence_length=True, axis=time)
        states = states[:-1]
    return outputs, states[0] if is_single else states
