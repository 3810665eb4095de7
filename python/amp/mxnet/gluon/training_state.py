"""What a trainer's file holds behind the states of the optimizer: a JSON object, its length, and a mark.

Older versions read the states, a pickle, and do not look behind its end.
"""

import json

from ..._paths import write_file
from ...base import ArgumentError
from .. import random
from . import _state_order

_MARK = b"amp-more"
_LENGTH = 8  # bytes


def joined(states, more):
    """The content of a file."""
    text = json.dumps(more).encode()
    return states + text + len(text).to_bytes(_LENGTH, "little") + _MARK


def divided(content):
    """(states, more) of a file's content; `more` is {} where there is none. Raises ArgumentError for damaged files."""
    if not content.endswith(_MARK):
        return content, {}
    end = len(content) - len(_MARK) - _LENGTH
    length = int.from_bytes(content[end : end + _LENGTH], "little")
    try:
        more = json.loads(content[end - length : end])
    except ValueError as error:
        raise ArgumentError(f"these are no states of a trainer: {error}") from None
    if not isinstance(more, dict):
        raise ArgumentError(f"these are no states of a trainer: expected an object behind them, got {more!r:.40}")
    return content[: end - length], more


class SavedTraining:
    """Files of a trainer's optimizer, its states, and where random numbers are."""

    def save_states(self, fname):
        """Writes the optimizer, its states, and where random numbers are, to a file, which is complete or the old one.

        Training that goes on with these and with the parameters gives the bits of training that was not interrupted.
        """
        self._save(fname, {})

    def load_states(self, fname):
        """Reads what `save_states` wrote. Raises ArgumentError for other files; older ones have no random numbers.

        >>> weight = mx.gluon.Parameter("weight", shape=(1,))
        >>> weight.initialize()
        >>> trainer = mx.gluon.Trainer([weight], "adam")
        >>> trainer.save_states("trainer.states")
        >>> trainer.load_states("trainer.states")
        """
        self._load(fname)

    def _save(self, fname, more):
        """`save_states`, and a dict that `_load` gives back."""
        names = [parameter.name for parameter in self._params]
        extra = {**more, "random": random.get_state(), "parameters": _state_order.renumbered(names)}
        if self.loss_scaler is not None:
            extra["loss_scaler"] = self.loss_scaler.state()
        write_file(fname, joined(self._updater.get_states(dump_optimizer=True), extra))

    def _load(self, fname):
        with open(fname, "rb") as file:
            content, extra = divided(file.read())
        states, optimizer = self._updater.parsed_states(content)
        states = self._in_order(states, optimizer, extra.get("parameters"))
        self._check_states(states, optimizer)
        set_random_state = random.checked_state(extra["random"]) if "random" in extra else None
        if "loss_scaler" in extra and self.loss_scaler is not None:
            self.loss_scaler.set_state(extra["loss_scaler"])  # the last that may be refused
        self._updater.adopt(states, optimizer)
        self._optimizer = optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))
        if set_random_state is not None:
            set_random_state()
        return extra

    def _in_order(self, states, optimizer, saved_names):
        """States, and counts of updates, at the places of their parameters."""
        names = [parameter.name for parameter in self._params]
        places = None if saved_names is None else _state_order.places_by_name(saved_names, names)
        if places is None and saved_names is None and set(states) <= set(range(len(names))):
            places = _state_order.places_in_mxnets_file(names, lambda places: self._fits(states, optimizer, places))
        if places is None or places == list(range(len(names))):
            return states
        places = dict(enumerate(places))
        if optimizer is not self._optimizer:  # it is from the file
            counts = optimizer._index_update_count
            optimizer._index_update_count = {places.get(index, index): count for index, count in counts.items()}
        return {places.get(index, index): state for index, state in states.items()}

    def _fits(self, states, optimizer, places):
        parameters = {index: self._params[places[index]] for index in states}
        return not any(_difference(parameters[index], state, index, optimizer) for index, state in states.items())

    def _check_states(self, states, optimizer):
        """Raises ArgumentError for states that are not those of this optimizer and these parameters."""
        for index, state in states.items():
            if not isinstance(index, int) or not 0 <= index < len(self._params):
                raise ArgumentError(f"the states of parameter {index!r}: there are {len(self._params)} parameters")
            difference = _difference(self._params[index], state, index, optimizer)
            if difference:
                raise ArgumentError(difference)


def _difference(parameter, state, index, optimizer):
    """What is wrong with the state of a parameter, or None."""
    if parameter._array is None:
        return None
    expected, got = _outline(optimizer.create_state_multi_precision(index, parameter._array)), _outline(state)
    return None if got == expected else f"the states of parameter '{parameter.name}': expected {expected}, got {got}"


def _outline(state):
    """What a state consists of: shapes of arrays, in tuples."""
    if isinstance(state, (list, tuple)):
        return tuple(map(_outline, state))
    return list(state.shape) if hasattr(state, "shape") else type(state).__name__
