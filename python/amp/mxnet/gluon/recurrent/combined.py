"""Cells that are made of others."""

from ....base import ArgumentError
from ....sym import Symbol
from ..nn.layer import functions_of
from .base import HybridRecurrentCell, RecurrentCell, masked, merged, merges, steps_of

__all__ = ["BidirectionalCell", "HybridSequentialRNNCell", "SequentialRNNCell"]


class _OfCells:
    """Cells whose states follow each other in one list."""

    def state_info(self, batch_size=0):
        """Those of all cells."""
        return [info for cell in self._children.values() for info in cell.state_info(batch_size)]

    def begin_state(self, batch_size=0, **kwargs):
        """The states of all cells before the first step."""
        if self._modified:
            return super().begin_state(batch_size, **kwargs)  # which raises
        return [state for cell in self._children.values() for state in cell.begin_state(batch_size, **kwargs)]

    def _by_cell(self, states):
        """[(cell, its states)]"""
        found, begin = [], 0
        for cell in self._children.values():
            count = len(cell.state_info())
            found.append((cell, None if states is None else states[begin : begin + count]))
            begin += count
        return found


class _Stack(_OfCells):
    def _place_of(self, own, i):
        return own

    def add(self, cell):
        """Puts a cell on top."""
        self.register_child(cell)

    def __len__(self):
        return len(self._children)

    def __iter__(self):
        return iter(self._children.values())

    def __getitem__(self, i):
        return list(self._children.values())[i]

    def _step(self, inputs, states):
        following = []
        for cell, own in self._by_cell(states):
            inputs, own = cell(inputs, own)
            following += own
        return inputs, following

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """(outputs, states) of `length` steps; cells are unrolled one after another."""
        self.reset()
        following = []
        with self._names_for(inputs):
            for number, (cell, own) in enumerate(self._by_cell(begin_state), 1):
                is_last = number == len(self)
                merge = merges(merge_outputs, valid_length) if is_last else False
                inputs, own = cell.unroll(length, inputs, own, layout, merge, valid_length)
                following += own
        return inputs, following


class SequentialRNNCell(_Stack, RecurrentCell):
    """Cells one on top of another.

    >>> stack = mx.gluon.rnn.SequentialRNNCell()
    >>> stack.add(mx.gluon.rnn.LSTMCell(5))
    >>> stack.add(mx.gluon.rnn.GRUCell(3))
    >>> stack.initialize()
    >>> stack.unroll(3, amp.nd.ones((2, 3, 4)), merge_outputs=True)[0].shape
    (2, 3, 3)
    """

    def forward(self, inputs, states):
        """(output of the uppermost cell, states of all) of a step."""
        return self._step(inputs, states)


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Cells one on top of another, which can run as one graph.

    >>> stack = mx.gluon.rnn.HybridSequentialRNNCell()
    >>> stack.add(mx.gluon.rnn.LSTMCell(5))
    >>> stack.initialize()
    >>> stack.unroll(3, amp.nd.ones((2, 3, 4)), merge_outputs=True)[0].shape
    (2, 3, 5)
    """

    def hybrid_forward(self, F, inputs, states):  # noqa: N803 - MXNet's name
        """(output of the uppermost cell, states of all) of a step."""
        return self._step(inputs, states)

    def infer_shape(self, i, x, is_bidirect):
        """As that of other cells; what a cell reads is what one direction gives, unless it is a BidirectionalCell."""
        super().infer_shape(i, x, False)


class BidirectionalCell(_OfCells, HybridRecurrentCell):
    """BidirectionalCell(l_cell, r_cell, output_prefix='bi_'): one cell forwards, one backwards.

    Outputs of both are concatenated. It can be unrolled, not stepped.

    >>> cell = mx.gluon.rnn.BidirectionalCell(mx.gluon.rnn.GRUCell(5), mx.gluon.rnn.GRUCell(5))
    >>> cell.initialize()
    >>> cell.unroll(3, amp.nd.ones((2, 3, 4)), merge_outputs=True)[0].shape
    (2, 3, 10)
    """

    def __init__(self, l_cell, r_cell, prefix=None, params=None, output_prefix="bi_"):
        super().__init__(prefix=prefix, params=params)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def infer_shape(self, i, x, is_bidirect):
        """As that of other cells; behind the first one, both cells read what two directions give."""
        super().infer_shape(i, x, True)

    def __call__(self, inputs, states):
        """Raises ArgumentError: the backward cell begins at the end."""
        raise ArgumentError("BidirectionalCell: there are no single steps; use unroll")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """(outputs, states) of `length` steps; with `valid_length` the way back begins at the ends of sequences."""
        self.reset()
        with self._names_for(inputs):
            steps, axis = steps_of(length, inputs, layout)
            (left, left_states), (right, right_states) = self._by_cell(begin_state)
            ahead, left_states = left.unroll(length, steps, left_states, layout, False, valid_length)
            turned = _reversed(steps, valid_length)
            behind, right_states = right.unroll(length, turned, right_states, layout, False, valid_length)
            outputs = self._joined(ahead, _reversed(behind, valid_length))
            if valid_length is not None:
                outputs = masked(outputs, valid_length)
        return merged(outputs, axis, merges(merge_outputs, valid_length)), [*left_states, *right_states]

    def _joined(self, ahead, behind):
        module = functions_of(ahead[0])
        is_symbolic = isinstance(ahead[0], Symbol)
        return [
            module.concat(*pair, dim=1, **({"name": f"{self._output_prefix}t{i}"} if is_symbolic else {}))
            for i, pair in enumerate(zip(ahead, behind))
        ]


def _reversed(steps, valid_length):
    """The steps from the end of each sequence to its begin."""
    if valid_length is None:
        return list(reversed(steps))
    module = functions_of(steps[0])
    stacked = module.stack(*steps, axis=0)
    turned = module.SequenceReverse(stacked, sequence_length=valid_length, use_sequence_length=True)
    return steps_of(len(steps), turned, "TNC")[0]
