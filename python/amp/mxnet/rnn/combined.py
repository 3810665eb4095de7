"""Cells that are made of others."""

from ... import sym
from ...base import ArgumentError
from .._missing import getter
from .base import BaseRNNCell, merged, steps_of

__all__ = ["BidirectionalCell", "DropoutCell", "ModifierCell", "ResidualCell", "SequentialRNNCell", "ZoneoutCell"]


class _OfCells(BaseRNNCell):
    """Cells whose states follow each other in one list."""

    def __init__(self, cells, prefix="", params=None):
        self._cells = list(cells)
        super().__init__(prefix, params)
        for cell in self._cells:
            self._own(cell)

    def _own(self, cell):
        cell._modified = False
        self._params._params.update(cell.params._params)

    def _inner(self):
        return self._cells

    @property
    def state_info(self):
        """Those of all cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs):
        """Symbols of the states of all cells before the first step."""
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def _by_cell(self, states):
        """[(cell, its states)]"""
        found, begin = [], 0
        for cell in self._cells:
            count = len(cell.state_info)
            found.append((cell, states[begin : begin + count]))
            begin += count
        return found

    def _parts(self):
        return ()


class SequentialRNNCell(_OfCells):
    """Cells one on top of another.

    >>> stack = mx.rnn.SequentialRNNCell()
    >>> stack.add(mx.rnn.LSTMCell(5, prefix="l0_"))
    >>> stack.add(mx.rnn.GRUCell(3, prefix="l1_"))
    >>> stack.state_shape
    [(0, 5), (0, 5), (0, 3)]
    """

    def __init__(self, params=None):
        super().__init__([], "", params)

    def add(self, cell):
        """Puts a cell on top."""
        self._cells.append(cell)
        self._own(cell)

    def __call__(self, inputs, states):
        """(output of the uppermost cell, states of all) of a step."""
        following = []
        for cell, own in self._by_cell(states):
            inputs, own = cell(inputs, own)
            following += own
        return inputs, following

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """(outputs, states) of `length` steps; cells are unrolled one after another."""
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        following = []
        for number, (cell, own) in enumerate(self._by_cell(states)):
            is_last = number == len(self._cells) - 1
            inputs, own = cell.unroll(length, inputs, own, layout, merge_outputs if is_last else None)
            following += own
        return inputs, following


class BidirectionalCell(_OfCells):
    """BidirectionalCell(l_cell, r_cell, params=None, output_prefix='bi_'): one cell forwards, one backwards.

    Outputs of both are concatenated. It can be unrolled, not stepped.

    >>> cell = mx.rnn.BidirectionalCell(mx.rnn.GRUCell(5, prefix="l_"), mx.rnn.GRUCell(5, prefix="r_"))
    >>> outputs, _ = cell.unroll(3, mx.sym.Variable("data"), merge_outputs=True)
    >>> outputs.infer_shape(data=(2, 3, 4))[1]
    [(2, 3, 10)]
    """

    def __init__(self, l_cell, r_cell, params=None, output_prefix="bi_"):
        super().__init__([l_cell, r_cell], "", params)
        self._output_prefix = output_prefix

    def __call__(self, inputs, states):
        """Raises ArgumentError: the backward cell begins at the end."""
        raise ArgumentError("BidirectionalCell: there are no single steps; use unroll")

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """(outputs, states) of `length` steps."""
        self.reset()
        steps, axis = steps_of(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        (forwards, ahead), (backwards, behind) = (
            cell.unroll(length, steps[::way], own, layout, False)
            for (cell, own), way in zip(self._by_cell(states), (1, -1))
        )
        outputs = [
            sym.Concat(left, right, dim=1, name=f"{self._output_prefix}t{i}")
            for i, (left, right) in enumerate(zip(forwards, reversed(backwards)))
        ]
        return merged(outputs, axis, merge_outputs), [*ahead, *behind]


class DropoutCell(BaseRNNCell):
    """DropoutCell(dropout, prefix='dropout_', params=None): drops inputs in training; it has no state.

    >>> mx.rnn.DropoutCell(0.5)(mx.sym.Variable("data"), [])[1]
    []
    """

    def __init__(self, dropout, prefix="dropout_", params=None):
        super().__init__(prefix, params)
        self._dropout = dropout

    @property
    def state_info(self):
        """There are none."""
        return []

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        return (sym.Dropout(inputs, p=self._dropout) if self._dropout > 0 else inputs), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """(outputs, states); a symbol of all steps is dropped from at once."""
        if isinstance(inputs, sym.Symbol) and merge_outputs is not False:
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """ModifierCell(base_cell): the base class of cells that change another one, which has the parameters.

    >>> mx.rnn.ResidualCell(mx.rnn.GRUCell(5)).state_shape
    [(0, 5)]
    """

    def __init__(self, base_cell):
        self.base_cell = base_cell
        super().__init__()
        base_cell._modified = True

    @property
    def params(self):
        """Those of the other cell."""
        return self.base_cell.params

    @property
    def state_info(self):
        """Those of the other cell."""
        return self.base_cell.state_info

    def begin_state(self, func=sym.zeros, **kwargs):
        """Those of the other cell."""
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)
        finally:
            self.base_cell._modified = True

    def _inner(self):
        return (self.base_cell,)

    def _parts(self):
        return ()


class ZoneoutCell(ModifierCell):
    """ZoneoutCell(base_cell, zoneout_outputs=0.0, zoneout_states=0.0): in training some elements stay as they were.

    >>> mx.rnn.ZoneoutCell(mx.rnn.GRUCell(5), 0.1, 0.2).unroll(2, mx.sym.Variable("data"))[0][1].list_arguments()[:1]
    ['data']
    """

    def __init__(self, base_cell, zoneout_outputs=0.0, zoneout_states=0.0):
        super().__init__(base_cell)
        self._outputs, self._states = zoneout_outputs, zoneout_states

    def reset(self):
        """Begins to count steps and states again."""
        super().reset()
        self._previous = None

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        output, following = self.base_cell(inputs, states)
        previous = sym.zeros_like(output) if self._previous is None else self._previous
        mixed = _zoned(self._outputs, output, previous)
        self._previous = mixed
        return mixed, [_zoned(self._states, new, old) for new, old in zip(following, states)]


def _zoned(probability, new, old):
    return sym.where(sym.Dropout(sym.ones_like(new), p=probability), new, old) if probability else new


class ResidualCell(ModifierCell):
    """ResidualCell(base_cell): the input is added to the output.

    >>> output, _ = mx.rnn.ResidualCell(mx.rnn.GRUCell(5))(mx.sym.Variable("data"), [mx.sym.Variable("state")])
    >>> output.infer_shape(data=(2, 5))[1]
    [(2, 5)]
    """

    def __call__(self, inputs, states):
        """(output, states) of a step."""
        output, states = self.base_cell(inputs, states)
        return sym.elemwise_add(output, inputs), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None):
        """(outputs, states) of `length` steps."""
        self.reset()
        steps, axis = steps_of(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs, states = self.base_cell.unroll(length, steps, states, layout, False)
        outputs = [sym.elemwise_add(output, step) for output, step in zip(outputs, steps)]
        return merged(outputs, axis, merge_outputs), states


__getattr__ = getter(__name__)
