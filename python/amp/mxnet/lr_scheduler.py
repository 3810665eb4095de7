"""Learning rates as functions of the number of updates, which counts from 1.

All begin with a warm-up of `warmup_steps` updates: from `warmup_begin_lr` to `base_lr` where `warmup_mode` is 'linear',
at `warmup_begin_lr` where it is 'constant'. An optimizer with a learning rate of its own overwrites `base_lr`.
"""

import math

from ..base import ArgumentError
from ._missing import getter

__all__ = ["CosineScheduler", "FactorScheduler", "LRScheduler", "MultiFactorScheduler", "PolyScheduler"]


class LRScheduler:
    """What schedulers share: `scheduler(num_update)` is the learning rate of that update.

    >>> mx.lr_scheduler.LRScheduler(base_lr=0.1, warmup_steps=4).get_warmup_lr(2)
    0.05
    """

    def __init__(self, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        if not isinstance(warmup_steps, int) or warmup_steps < 0:
            raise ArgumentError(f"warmup_steps: expected a number from 0, got {warmup_steps!r}")
        if warmup_begin_lr > base_lr:
            raise ArgumentError(f"warmup_begin_lr: {warmup_begin_lr} is above base_lr, {base_lr}")
        if warmup_mode not in ("linear", "constant"):
            raise ArgumentError(f"warmup_mode: expected 'linear' or 'constant', got {warmup_mode!r}")
        self.base_lr = base_lr
        self.warmup_steps = warmup_steps
        self.warmup_begin_lr = warmup_begin_lr
        self.warmup_final_lr = base_lr
        self.warmup_mode = warmup_mode

    def get_warmup_lr(self, num_update):
        """The learning rate of an update during the warm-up."""
        if self.warmup_mode == "constant":
            return self.warmup_begin_lr
        done = num_update / self.warmup_steps
        return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * done

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            return self.get_warmup_lr(num_update)
        return self._after_warmup(num_update)

    def _after_warmup(self, num_update):
        raise NotImplementedError(f"{type(self).__name__} has no learning rate")


class FactorScheduler(LRScheduler):
    """The learning rate times `factor` every `step` updates, but not below `stop_factor_lr`.

    It does not go back: asking for an earlier update gives the last rate.

    >>> halved = mx.lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)
    >>> [halved(update) for update in range(1, 6)]
    [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        step,
        factor=1,
        stop_factor_lr=1e-8,
        base_lr=0.01,
        warmup_steps=0,
        warmup_begin_lr=0,
        warmup_mode="linear",
    ):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if step < 1:
            raise ArgumentError(f"step: expected 1 or more, got {step!r}")
        _check_factor(factor)
        self.step, self.factor, self.stop_factor_lr = step, factor, stop_factor_lr
        self.count = 0

    def _after_warmup(self, num_update):
        while num_update > self.count + self.step:
            self.count += self.step
            self.base_lr = max(self.base_lr * self.factor, self.stop_factor_lr)
        return self.base_lr


class MultiFactorScheduler(LRScheduler):
    """The learning rate times `factor` after each of the updates in `step`, an ascending list.

    >>> steps = mx.lr_scheduler.MultiFactorScheduler([1, 3], 0.1, base_lr=1.0)
    >>> [round(steps(update), 3) for update in range(1, 5)]
    [1.0, 0.1, 0.1, 0.01]
    """

    def __init__(self, step, factor=1, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(step, list) or not step or step[0] < 1 or any(a >= b for a, b in zip(step, step[1:])):
            raise ArgumentError(f"step: expected an ascending list of updates, got {step!r}")
        _check_factor(factor)
        self.step, self.factor = step, factor
        self.cur_step_ind = 0
        self.count = 0

    def _after_warmup(self, num_update):
        while self.cur_step_ind < len(self.step) and num_update > self.step[self.cur_step_ind]:
            self.count = self.step[self.cur_step_ind]
            self.cur_step_ind += 1
            self.base_lr *= self.factor
        return self.base_lr


class _Decay(LRScheduler):
    """From the first learning rate to `final_lr` over `max_update - warmup_steps` updates."""

    def __init__(self, max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode):
        super().__init__(base_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        if not isinstance(max_update, int) or max_update < 1:
            raise ArgumentError(f"max_update: expected a number from 1, got {max_update!r}")
        self.base_lr_orig = base_lr
        self.max_update, self.final_lr = max_update, final_lr
        self.max_steps = max_update - warmup_steps

    def _after_warmup(self, num_update):
        if num_update <= self.max_update:
            done = (num_update - self.warmup_steps) / self.max_steps if self.max_steps else 1.0
            self.base_lr = self.final_lr + (self.base_lr_orig - self.final_lr) * self._left(done)
        return self.base_lr


class PolyScheduler(_Decay):
    """A decay by a power: (1 - part of the updates done) ** `pwr`.

    >>> [round(mx.lr_scheduler.PolyScheduler(4, base_lr=1.0)(update), 4) for update in (1, 2, 4)]
    [0.5625, 0.25, 0.0]
    """

    def __init__(
        self,
        max_update,
        base_lr=0.01,
        pwr=2,
        final_lr=0,
        warmup_steps=0,
        warmup_begin_lr=0,
        warmup_mode="linear",
    ):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)
        self.power = pwr

    def _left(self, done):
        return (1 - done) ** self.power


class CosineScheduler(_Decay):
    """A decay along half a cosine.

    >>> [round(mx.lr_scheduler.CosineScheduler(4, base_lr=1.0)(update), 4) for update in (1, 2, 4)]
    [0.8536, 0.5, 0.0]
    """

    def __init__(self, max_update, base_lr=0.01, final_lr=0, warmup_steps=0, warmup_begin_lr=0, warmup_mode="linear"):
        super().__init__(max_update, base_lr, final_lr, warmup_steps, warmup_begin_lr, warmup_mode)

    def _left(self, done):
        return (1 + math.cos(math.pi * done)) / 2


def _check_factor(factor):
    if factor > 1:
        raise ArgumentError(f"factor: expected 1 or less, so that the learning rate falls, got {factor!r}")


__getattr__ = getter(__name__)
