"""Optimizers along the gradient: with and without momentum, and with rates by layer."""

import math

import numpy as np

from .. import random
from .base import Formula, Optimizer, zeros_like
from .of_generations import in_mxnet_2

_f32 = np.float32


@Optimizer.register
@in_mxnet_2("learning_rate", "momentum", "lazy_update", "multi_precision", learning_rate=0.1, lazy_update=False)
class SGD(Formula):
    """w -= lr * (clip(g) + wd * w), with momentum v = momentum * v - lr * (...); w += v.

    A new learning rate acts on new gradients only.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.95], dtype=float32)
    """

    _master_is_last = True

    def __init__(self, momentum=0.0, lazy_update=True, **kwargs):
        super().__init__(**kwargs)
        self.momentum, self.lazy_update = momentum, lazy_update

    @property
    def num_states(self):
        return 1 if self.momentum != 0.0 else 0

    def step(self, index, weight, grad, states):
        self.descend(weight, self.clipped(grad), states, self._get_lr(index), self._get_wd(index), self.momentum)

    @staticmethod
    def descend(weight, grad, states, lr, wd, momentum):
        """The formula itself, in place."""
        if wd:
            grad += _f32(wd) * weight
        grad *= _f32(-lr)
        if not states:
            weight += grad
            return
        states[0] *= _f32(momentum)
        states[0] += grad
        weight += states[0]


@Optimizer.register
@in_mxnet_2("learning_rate", "momentum", "multi_precision", learning_rate=0.1, momentum=0.9)
class NAG(SGD):
    """Nesterov's momentum: w += momentum**2 * v - (momentum + 1) * lr * (clip(g) + wd * w), then
    v = momentum * v - lr * (clip(g) + wd * w): by the new weight as in MXNet 1.x, by the old one as in 2.x.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.NAG(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.95], dtype=float32)
    """

    def step(self, index, weight, grad, states):
        lr, wd = _f32(self._get_lr(index)), _f32(self._get_wd(index))
        self.clipped(grad)
        if not states:
            self.descend(weight, grad, states, lr, wd, 0)
            return
        momentum, step = _f32(self.momentum), lr * (grad + wd * weight)
        states[0] *= momentum
        weight += momentum * states[0] - (momentum + 1) * step
        states[0] -= step if self.decays_by_old_weight() else lr * (grad + wd * weight)

    def decays_by_old_weight(self):
        """Whether the momentum takes the decay of the weight before the step."""
        return self._is_of_2


@Optimizer.register
class Signum(Formula):
    """Steps by the sign of the momentum; `wd_lh` is a decay beside it. Without momentum, by the gradient's sign.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.Signum(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.9], dtype=float32)
    """

    def __init__(self, learning_rate=0.01, momentum=0.9, wd_lh=0.0, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.momentum, self.wd_lh = momentum, wd_lh

    @property
    def num_states(self):
        return 1 if self.momentum != 0.0 else 0

    def step(self, index, weight, grad, states):
        lr, wd = self._get_lr(index), self._get_wd(index)
        self.clipped(grad)
        if not states:
            weight *= _f32(1 - lr * wd)
            weight -= _f32(lr) * np.sign(grad)
            return
        states[0] *= _f32(self.momentum)
        states[0] -= _f32(1 - self.momentum) * (_f32(wd) * weight + grad)
        weight *= _f32(1 - lr * self.wd_lh)
        weight += _f32(lr) * np.sign(states[0])


@Optimizer.register
@in_mxnet_2("learning_rate", learning_rate=0.1)
class SGLD(Formula):
    """Langevin dynamics: half a step of SGD and noise of variance lr, of `mx.random`'s generator.

    >>> mx.optimizer.SGLD(learning_rate=0.1).learning_rate
    0.1
    """

    is_elementwise = False

    def step(self, index, weight, grad, states):
        lr, wd = self._get_lr(index), self._get_wd(index)
        weight -= _f32(lr / 2) * (self.clipped(grad) + _f32(wd) * weight)
        weight += random.generator().normal(0, math.sqrt(lr), weight.shape).astype(np.float32)


@Optimizer.register
@in_mxnet_2("learning_rate", "momentum", "lamda", learning_rate=0.1)
class DCASGD(Formula):
    """SGD that compensates for the delay since the weight was read, with `lamda`.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.DCASGD(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.95], dtype=float32)
    """

    def __init__(self, momentum=0.0, lamda=0.04, **kwargs):
        super().__init__(**kwargs)
        self.momentum, self.lamda = momentum, lamda

    def create_state(self, index, weight):
        return zeros_like(weight), weight.copy()

    def step(self, index, weight, grad, states):
        lr, decay = _f32(self._get_lr(index)), _f32(self._get_wd(index)) * weight
        self.clipped(grad)
        if self._is_of_2:
            grad += decay  # which is compensated, too
            decay = _f32(0)
        moment, previous = states
        moment *= _f32(self.momentum)
        moment -= lr * (grad + decay + _f32(self.lamda) * grad * grad * (weight - previous))
        previous[...] = weight
        weight += moment


@Optimizer.register
@in_mxnet_2("learning_rate", "momentum", "eta", "epsilon", learning_rate=0.1, epsilon=1e-8)
class LARS(SGD):
    """SGD whose learning rate is scaled by |w| / (|g| + wd |w| + eps), but for weights called gamma, beta and bias.

    MXNet 2 names `eps` `epsilon`.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.LARS(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.9999], dtype=float32)
    """

    is_elementwise = False

    def __init__(self, momentum=0.0, lazy_update=True, eta=0.001, eps=0, momentum_correction=True, **kwargs):
        eps = kwargs.pop("epsilon", eps)
        super().__init__(momentum=momentum, lazy_update=lazy_update, **kwargs)
        self.eta, self.eps, self.momentum_correction = eta, eps, momentum_correction
        self.last_lr = self.cur_lr = None

    def set_wd_mult(self, args_wd_mult):
        """As Optimizer.set_wd_mult, but gammas do not decay either."""
        undecayed = {name: 0.0 for name in self.idx2name.values() if not name.endswith("_weight")}
        self.wd_mult = {**undecayed, **self._attributes("__wd_mult__"), **args_wd_mult}

    def step(self, index, weight, grad, states):
        rate = self.learning_rate
        self.last_lr, self.cur_lr = (rate if self.cur_lr is None else self.cur_lr), rate
        lr, wd = self._get_lr(index), self._get_wd(index)
        lr *= self._trust(index, weight, grad, wd)
        corrects = self.momentum_correction and self.last_lr != 0
        momentum = self.momentum * (self.cur_lr / self.last_lr) if corrects else self.momentum
        self.descend(weight, self.clipped(grad), states, lr, wd, momentum)

    def _trust(self, index, weight, grad, wd):
        if self.idx2name.get(index, str(index)).endswith(("gamma", "beta", "bias")):
            return 1.0
        of_weight, of_grad = float(np.linalg.norm(weight)), float(np.linalg.norm(grad))
        if of_weight == 0 or of_grad == 0:
            return 1.0
        return self.eta * of_weight / (of_grad + wd * of_weight + self.eps)


@Optimizer.register
class LBSGD(SGD):
    """SGD for large batches: gradients of `batch_scale` updates are averaged, and the learning rate warms up.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.LBSGD(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.95], dtype=float32)
    """

    is_elementwise = False

    def __init__(
        self,
        momentum=0.0,
        multi_precision=False,
        warmup_strategy="linear",
        warmup_epochs=5,
        batch_scale=1,
        updates_per_epoch=32,
        begin_epoch=0,
        num_epochs=60,
        **kwargs,
    ):
        super().__init__(momentum=momentum, multi_precision=multi_precision, **kwargs)
        self.warmup_strategy, self.warmup_epochs, self.batch_scale = warmup_strategy, warmup_epochs, batch_scale
        self.updates_per_epoch, self.num_epochs = updates_per_epoch, num_epochs
        self.init_updates = begin_epoch * updates_per_epoch
        self._sums = {}  # by index: gradients since the last step, and how many there have been in all

    def step(self, index, weight, grad, states):
        wd = self._get_wd(index)
        total, count = self._sums.get(index, (0, self.init_updates))
        total, count = total + grad, count + 1
        self._sums[index] = (total, count)
        if count % self.batch_scale:
            return
        self._sums[index] = (0, count)
        mean = total / _f32(self.batch_scale)
        lr = self._get_lr(index) * self._multiplier(count, weight, mean, wd)
        self.descend(weight, self.clipped(mean), states, lr, wd, self.momentum)

    def _multiplier(self, count, weight, grad, wd):
        if self.warmup_strategy == "lars":
            of_weight = float(np.vdot(weight, weight))
            of_grad = float(np.vdot(grad, grad)) / self.rescale_grad**2
            return min(100.0, max(0.01, math.sqrt(of_weight / (of_grad + wd * of_weight + 1e-18))))
        warmup = self.warmup_epochs * self.updates_per_epoch
        if count >= warmup:
            return float(self.batch_scale)
        done = count / warmup if warmup > 1 else 0.0
        parts = {"linear": done, "power2": done * done, "sqrt": math.sqrt(done)}
        return 1.0 + (self.batch_scale - 1) * parts.get(self.warmup_strategy, 0.0)


@Optimizer.register
class Test(Formula):
    """w += rescale_grad * g, and the state is the weight: for tests of programs.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.Test()), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([1.5], dtype=float32)
    """

    num_states = 1

    def step(self, index, weight, grad, states):
        weight += grad
        states[0][...] = weight
