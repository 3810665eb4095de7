"""Cells that change what others do."""

from ....base import ArgumentError
from ..nn.layer import functions_of
from .base import HybridRecurrentCell, masked, merged, merges, steps_of

__all__ = ["DropoutCell", "ModifierCell", "ResidualCell", "ZoneoutCell"]


class DropoutCell(HybridRecurrentCell):
    """DropoutCell(rate, axes=()): drops inputs in training; it has no state.

    >>> output, states = mx.gluon.rnn.DropoutCell(0.5)(amp.nd.ones((1, 2)), [])
    >>> output
    [[1. 1.]]
    <NDArray float32[1,2]>
    """

    def __init__(self, rate, axes=(), prefix=None, params=None):
        super().__init__(prefix=prefix, params=params)
        self._rate, self._axes = rate, axes

    def state_info(self, batch_size=0):
        """There are none."""
        return []

    def hybrid_forward(self, F, inputs, states):  # noqa: N803 - MXNet's name
        """(output, states) of a step."""
        return F.Dropout(inputs, p=self._rate, axes=self._axes, **self._named("fwd")) if self._rate else inputs, states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """(outputs, states); an array of all steps is dropped from at once."""
        if isinstance(inputs, (list, tuple)) or merge_outputs is False:
            return super().unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        with self._names_for(inputs):
            return self(inputs, [])


class ModifierCell(HybridRecurrentCell):
    """ModifierCell(base_cell): the base class of cells that change another one, which has the parameters.

    A modifier may keep arrays from one step to the next, so that only the other cell becomes a graph.

    >>> mx.gluon.rnn.ResidualCell(mx.gluon.rnn.GRUCell(5)).state_info(2)
    [{'shape': (2, 5), '__layout__': 'NC'}]
    """

    def __init__(self, base_cell):
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self):
        """Those of the other cell."""
        return self.base_cell.params

    def hybridize(self, active=True, **kwargs):
        """Makes the other cell run as a graph (or no longer)."""
        self.base_cell.hybridize(active, **kwargs)

    def state_info(self, batch_size=0):
        """Those of the other cell."""
        return self.base_cell.state_info(batch_size)

    def begin_state(self, *args, **kwargs):
        """Those of the other cell."""
        if self._modified:
            return super().begin_state(*args, **kwargs)  # which raises
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(*args, **kwargs)
        finally:
            self.base_cell._modified = True


class ZoneoutCell(ModifierCell):
    """ZoneoutCell(base_cell, zoneout_outputs=0.0, zoneout_states=0.0): in training some elements stay as they were.

    Raises ArgumentError for a BidirectionalCell, which has no steps: put its cells into ZoneoutCells.

    >>> cell = mx.gluon.rnn.ZoneoutCell(mx.gluon.rnn.GRUCell(5), 0.1, 0.2)
    >>> cell.initialize()
    >>> cell.unroll(3, amp.nd.ones((2, 3, 4)), merge_outputs=True)[0].shape
    (2, 3, 5)
    """

    def __init__(self, base_cell, zoneout_outputs=0.0, zoneout_states=0.0):
        if type(base_cell).__name__ == "BidirectionalCell":
            raise ArgumentError("ZoneoutCell: a BidirectionalCell has no steps; put its cells into ZoneoutCells")
        super().__init__(base_cell)
        self._outputs, self._states = zoneout_outputs, zoneout_states

    def reset(self):
        """Forgets the last output."""
        super().reset()
        self._previous = None

    def hybrid_forward(self, F, inputs, states):  # noqa: N803 - MXNet's name
        """(output, states) of a step."""
        output, following = self.base_cell(inputs, states)
        previous = F.zeros_like(output) if self._previous is None else self._previous
        self._previous = _zoned(self._outputs, output, previous)
        return self._previous, [_zoned(self._states, new, old) for new, old in zip(following, states)]


def _zoned(rate, new, old):
    module = functions_of(new)
    return module.where(module.Dropout(module.ones_like(new), p=rate), new, old) if rate else new


class ResidualCell(ModifierCell):
    """ResidualCell(base_cell): the input is added to the output.

    >>> cell = mx.gluon.rnn.ResidualCell(mx.gluon.rnn.GRUCell(4))
    >>> cell.initialize()
    >>> cell(amp.nd.ones((2, 4)), cell.begin_state(2))[0].shape
    (2, 4)
    """

    def hybrid_forward(self, F, inputs, states):  # noqa: N803 - MXNet's name
        """(output, states) of a step."""
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, **self._named("fwd")), states

    def unroll(self, length, inputs, begin_state=None, layout="NTC", merge_outputs=None, valid_length=None):
        """(outputs, states) of `length` steps."""
        self.reset()
        with self._names_for(inputs):
            steps, axis = steps_of(length, inputs, layout)
            outputs, states = self.base_cell.unroll(length, steps, begin_state, layout, False, valid_length)
            outputs = [functions_of(step).elemwise_add(output, step) for output, step in zip(outputs, steps)]
            if valid_length is not None:
                outputs = masked(outputs, valid_length)
        return merged(outputs, axis, merges(merge_outputs, valid_length)), states
