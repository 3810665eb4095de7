"""How far a training is: what a checkpoint has to know besides parameters and the trainer."""

import numpy as np

from .... import random


class Progress:
    """Finished epochs, batches of the current epoch, all batches; and what orders the data of the current epoch."""

    def __init__(self, epoch=0, batch=0, batches=0, epoch_random=None, kept=None):
        self.epoch, self.batch, self.batches = epoch, batch, batches
        self.epoch_random = epoch_random  # of the time before the data were first asked for
        self.kept = kept or {}  # of handlers and metrics

    def batches_of(self, data):
        """The batches of the current epoch that come next; each counts as soon as it is given away."""
        now = random.get_state()
        seen = self.batch
        if seen:
            random.set_state(self.epoch_random)
        else:
            self.epoch_random = now
        batches = iter(data)
        for _ in range(seen):
            next(batches, None)
        if seen:
            random.set_state(now)
        for batch in batches:
            self.batch += 1
            self.batches += 1
            yield batch

    def end_epoch(self):
        """The data of the current epoch have ended."""
        self.epoch += 1
        self.batch, self.epoch_random = 0, None

    def state(self):
        """What `Progress(**state)` takes, for `json`."""
        return dict(vars(self))

    def place(self):
        """The current epoch and batch, counted from 0, as words."""
        return f"epoch {self.epoch}, batch {max(self.batch - 1, 0)}"


def kept(groups):
    """What is kept of dicts {name: value}, for `json`: numbers and arrays, also those in objects of this package."""
    return [_numbers(values) for values in groups]


def put_back(kept_groups, targets):
    """Gives objects the attributes that `kept` made of theirs, where they are as many."""
    if len(kept_groups) == len(targets):
        for values, target in zip(kept_groups, targets):
            _set_numbers(values, target)


def _numbers(values):
    found = {}
    for name, value in values.items():
        if isinstance(value, (np.ndarray, np.generic)):
            found[name] = value.tolist()
        elif isinstance(value, (bool, int, float)):
            found[name] = value
        elif hasattr(value, "__dict__") and type(value).__module__.startswith("amp."):
            found[name] = _numbers(vars(value))
    return found


def _set_numbers(values, target):
    for name, value in values.items():
        old = getattr(target, name, None)
        if isinstance(value, dict):
            _set_numbers(value, old)
        else:
            setattr(target, name, np.asarray(value, old.dtype) if isinstance(old, np.ndarray) else value)
