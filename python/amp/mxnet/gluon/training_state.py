"""What a trainer's file holds behind the states of the optimizer: a JSON object, its length, and a mark.

Older versions read the states, a pickle, and do not look behind its end.
"""

import json

from ..._paths import write_file
from ...base import ArgumentError
from .. import random

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
        return content[: end - length], json.loads(content[end - length : end])
    except ValueError as error:
        raise ArgumentError(f"these are no states of a trainer: {error}") from None


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
        extra = {**more, "random": random.get_state()}
        if self.loss_scaler is not None:
            extra["loss_scaler"] = self.loss_scaler.state()
        write_file(fname, joined(self._updater.get_states(dump_optimizer=True), extra))

    def _load(self, fname):
        with open(fname, "rb") as file:
            states, extra = divided(file.read())
        self._updater.set_states(states)
        self._optimizer = self._updater.optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))
        if "random" in extra:
            random.set_state(extra["random"])
        if "loss_scaler" in extra and self.loss_scaler is not None:
            self.loss_scaler.set_state(extra["loss_scaler"])
        return extra
