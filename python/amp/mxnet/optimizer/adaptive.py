"""Optimizers that scale each element's step by what its gradients have been."""

import math

import numpy as np

from ...base import ArgumentError
from .base import Formula, Optimizer
from .of_generations import in_mxnet_2

_f32 = np.float32


def _average(state, decay, value):
    """state = decay * state + (1 - decay) * value, in place."""
    state *= _f32(decay)
    state += _f32(1 - decay) * value


@Optimizer.register
@in_mxnet_2("learning_rate", "beta1", "beta2", "epsilon", "lazy_update", lazy_update=False)
class Adam(Formula):
    """Means of gradients and of their squares. The bias is corrected in the learning rate; epsilon is added after.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.9], dtype=float32)
    """

    num_states = 2

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, lazy_update=True, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon, self.lazy_update = beta1, beta2, epsilon, lazy_update

    def step_size(self, index):
        """The learning rate with the bias of both means corrected."""
        t = self.count_of(index)
        return self._get_lr(index) * math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t)

    def step(self, index, weight, grad, states):
        lr = self.step_size(index)
        self.decayed(grad, weight, index)
        mean, square = states
        _average(mean, self.beta1, grad)
        _average(square, self.beta2, grad * grad)
        weight -= _f32(lr) * mean / (np.sqrt(square) + _f32(self.epsilon))


@Optimizer.register
@in_mxnet_2("learning_rate", "beta1", "beta2", "epsilon", "correct_bias")
class AdaBelief(Adam):
    """Adam whose second mean is that of the squares of what the first one did not expect. Of MXNet 2.

    With `correct_bias=False` the learning rate stays as it is.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.AdaBelief(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.8892], dtype=float32)
    """

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, correct_bias=True, **kwargs):
        super().__init__(learning_rate, beta1, beta2, epsilon, **kwargs)
        self.correct_bias = correct_bias

    def step(self, index, weight, grad, states):
        lr = self.step_size(index) if self.correct_bias else self._get_lr(index)
        grad += _f32(self._get_wd(index)) * weight
        self.clipped(grad)
        mean, square = states
        _average(mean, self.beta1, grad)
        surprise = grad - mean
        _average(square, self.beta2, surprise * surprise)
        square += _f32(self.epsilon)
        weight -= _f32(lr) * mean / (np.sqrt(square) + _f32(self.epsilon))


@Optimizer.register
class AdamW(Formula):
    """Adam whose weight decay is beside the gradient: w -= lr * (m / (sqrt(v) + epsilon) + wd * w). Of MXNet 2.

    The bias is corrected in the learning rate, that of the decay, too.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.AdamW(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.9], dtype=float32)
    """

    num_states = 2

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-6, correct_bias=True, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon, self.correct_bias = beta1, beta2, epsilon, correct_bias

    def step(self, index, weight, grad, states):
        lr, wd, t = self._get_lr(index), self._get_wd(index), self.count_of(index)
        rate = lr * math.sqrt(1 - self.beta2**t) / (1 - self.beta1**t) if self.correct_bias else lr
        self.clipped(grad)
        mean, square = states
        _average(mean, self.beta1, grad)
        _average(square, self.beta2, grad * grad)
        weight -= _f32(rate) * mean / (np.sqrt(square) + _f32(self.epsilon)) + _f32(rate * wd) * weight


@Optimizer.register
@in_mxnet_2("learning_rate", "beta1", "beta2", "epsilon", epsilon=1e-8)
class Adamax(Formula):
    """Adam with the largest magnitude, plus `epsilon`, in place of the root of the mean square.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.Adamax(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.9], dtype=float32)
    """

    num_states = 2

    epsilon = 0.0  # of optimizers that were pickled before

    def __init__(self, learning_rate=0.002, beta1=0.9, beta2=0.999, epsilon=0.0, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def step(self, index, weight, grad, states):
        lr = self._get_lr(index) / (1 - self.beta1 ** self.count_of(index))
        self.decayed(grad, weight, index)
        mean, largest = states
        _average(mean, self.beta1, grad)
        np.maximum(_f32(self.beta2) * largest, np.abs(grad), out=largest)
        weight -= _f32(lr) * mean / (largest + _f32(self.epsilon))


@Optimizer.register
class Nadam(Formula):
    """Adam with Nesterov's momentum, whose share follows a schedule. Each update of any weight moves the schedule.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.Nadam(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.8944], dtype=float32)
    """

    num_states = 2

    def __init__(self, learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-8, schedule_decay=0.004, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.beta1, self.beta2, self.epsilon, self.schedule_decay = beta1, beta2, epsilon, schedule_decay
        self.m_schedule = 1.0

    def step(self, index, weight, grad, states):
        t = self.count_of(index)
        self.decayed(grad, weight, index)
        now, following = (self.beta1 * (1 - 0.5 * 0.96 ** (n * self.schedule_decay)) for n in (t, t + 1))
        self.m_schedule *= now
        mean, square = states
        _average(mean, self.beta1, grad)
        _average(square, self.beta2, grad * grad)
        of_grad = _f32((1 - now) / (1 - self.m_schedule))
        of_mean = _f32(following / (1 - self.m_schedule * following))
        root = np.sqrt(square / _f32(1 - self.beta2**t)) + _f32(self.epsilon)
        weight -= _f32(self._get_lr(index)) * (of_grad * grad + of_mean * mean) / root


@Optimizer.register
@in_mxnet_2("learning_rate", "epsilon", epsilon=1e-6)
class AdaGrad(Formula):
    """Steps divided by the root of the sum of all squares. Weight decay is part of the gradient in MXNet 2 alone.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.AdaGrad(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.9], dtype=float32)
    """

    num_states = 1

    def __init__(self, eps=1e-7, **kwargs):
        eps = kwargs.pop("epsilon", eps)  # as MXNet 2 names it
        super().__init__(**kwargs)
        self.float_stable_eps = eps

    def step(self, index, weight, grad, states):
        self.clipped(grad)
        decay = _f32(self._get_wd(index)) * weight
        if self._is_of_2:
            grad += decay
        states[0] += grad * grad
        grad /= self.root(states[0], self.float_stable_eps)
        weight -= _f32(self._get_lr(index)) * (grad if self._is_of_2 else grad + decay)


@Optimizer.register
class RMSProp(Formula):
    """Steps divided by the root of a mean of squares; `centered`: of their variance, with momentum `gamma2`.

    MXNet 2 names `gamma1` `rho`, and `gamma2` `momentum`.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.RMSProp(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.6838], dtype=float32)
    """

    def __init__(
        self,
        learning_rate=0.001,
        gamma1=0.9,
        gamma2=0.9,
        epsilon=1e-8,
        centered=False,
        clip_weights=None,
        *,
        rho=None,
        momentum=None,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.gamma1 = gamma1 if rho is None else rho
        self.gamma2 = gamma2 if momentum is None else momentum
        self.epsilon = epsilon
        self.centered, self.clip_weights = centered, clip_weights

    def create_state(self, index, weight):
        state = super().create_state(index, weight)
        return state if self.centered else (state,)

    @property
    def num_states(self):
        return 3 if self.centered else 1

    def step(self, index, weight, grad, states):
        lr = _f32(self._get_lr(index))
        self.decayed(grad, weight, index)
        _average(states[0], self.gamma1, grad * grad)
        if self.centered:
            _, mean, delta = states
            _average(mean, self.gamma1, grad)
            delta *= _f32(self.gamma2)
            delta -= lr * grad / np.sqrt(states[0] - mean * mean + _f32(self.epsilon))
            weight += delta
        else:
            weight -= lr * grad / self.root(states[0], self.epsilon)
        if self.clip_weights:
            np.clip(weight, -self.clip_weights, self.clip_weights, out=weight)


@Optimizer.register
@in_mxnet_2("learning_rate", "rho", "epsilon", learning_rate=1.0, epsilon=1e-6)
class AdaDelta(Formula):
    """Steps in the proportion of past steps to past gradients: AdaDelta(rho=0.9, epsilon=1e-5) without a learning rate.

    In MXNet 2 AdaDelta(learning_rate=1, rho=0.9, epsilon=1e-6): steps are multiplied with it, and weight decay is part
    of the gradient.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.AdaDelta(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.99], dtype=float32)
    """

    num_states = 2

    def __init__(self, rho=0.9, epsilon=1e-5, **kwargs):
        super().__init__(**kwargs)
        self.rho, self.epsilon = rho, epsilon

    def step(self, index, weight, grad, states):
        self.clipped(grad)
        of_grads, of_steps = states
        decay = _f32(self._get_wd(index)) * weight
        if self._is_of_2:
            grad += decay
        _average(of_grads, self.rho, grad * grad)
        grad *= np.sqrt(of_steps + _f32(self.epsilon)) / np.sqrt(of_grads + _f32(self.epsilon))
        _average(of_steps, self.rho, grad * grad)
        weight -= _f32(self._get_lr(index)) * grad if self._is_of_2 else grad + decay


@Optimizer.register
@in_mxnet_2("learning_rate", "lamda1", "beta")
class Ftrl(Formula):
    """Follow the regularized leader; `lamda1` is the L1 part, and keeps weights at zero.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.Ftrl(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.2993], dtype=float32)
    """

    num_states = 2

    def __init__(self, lamda1=0.01, learning_rate=0.1, beta=1, **kwargs):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.lamda1, self.beta = lamda1, beta

    def step(self, index, weight, grad, states):
        lr, wd = _f32(self._get_lr(index)), _f32(self._get_wd(index))
        self.clipped(grad)
        z, n = states
        z += grad - (np.sqrt(n + grad * grad) - np.sqrt(n)) * weight / lr
        n += grad * grad
        leads = np.abs(z) > _f32(self.lamda1)
        led = (np.sign(z) * _f32(self.lamda1) - z) / ((_f32(self.beta) + np.sqrt(n)) / lr + wd)
        weight[...] = np.where(leads, led, _f32(0))


@Optimizer.register
@in_mxnet_2("learning_rate", "beta1", "beta2", "epsilon", learning_rate=0.0025)
class FTML(Formula):
    """Follow the moving leader.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.FTML(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.9], dtype=float32)
    """

    num_states = 3

    def __init__(self, beta1=0.6, beta2=0.999, epsilon=1e-8, **kwargs):
        super().__init__(**kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon

    def step(self, index, weight, grad, states):
        lr, t = self._get_lr(index), self.count_of(index)
        self.decayed(grad, weight, index)
        d, v, z = states
        _average(v, self.beta2, grad * grad)
        root = np.sqrt(v / _f32(1 - self.beta2**t)) + _f32(self.epsilon)
        leading = _f32((1 - self.beta1**t) / lr) * root
        _average(z, self.beta1, grad)
        z -= (leading - _f32(self.beta1) * d) * weight
        d[...] = leading
        weight[...] = -z / leading


@Optimizer.register
class LAMB(Formula):
    """Adam whose step is scaled to the norm of the weight, layer by layer.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.LAMB(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.9], dtype=float32)
    """

    is_elementwise = False
    num_states = 2

    def __init__(
        self,
        learning_rate=0.001,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-6,
        lower_bound=None,
        upper_bound=None,
        bias_correction=True,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        if lower_bound and upper_bound and lower_bound > upper_bound:
            raise ArgumentError(f"lower_bound: {lower_bound} is above upper_bound, {upper_bound}")
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.lower_bound, self.upper_bound, self.bias_correction = lower_bound, upper_bound, bias_correction

    def step(self, index, weight, grad, states):
        t = self.count_of(index)
        self.clipped(grad)
        mean, square = states
        _average(mean, self.beta1, grad)
        _average(square, self.beta2, grad * grad)
        of_mean, of_square = (1 - self.beta1**t, 1 - self.beta2**t) if self.bias_correction else (1, 1)
        step = mean / _f32(of_mean) / (np.sqrt(square / _f32(of_square)) + _f32(self.epsilon))
        step += _f32(self._get_wd(index)) * weight
        weight -= _f32(self._get_lr(index) * self._trust(weight, step)) * step

    def _trust(self, weight, step):
        return self._ratio(float(np.linalg.norm(weight)), step)

    def _ratio(self, of_weight, step):
        """The norm of the weight, in its bounds, over that of the step; 1 where one of them is 0."""
        of_step = float(np.linalg.norm(step))
        if self.lower_bound:
            of_weight = max(of_weight, self.lower_bound)
        if self.upper_bound:
            of_weight = min(of_weight, self.upper_bound)
        return of_weight / of_step if of_weight > 0 and of_step > 0 else 1.0


@Optimizer.register
class LANS(LAMB):
    """LAMB on gradients of norm 1, with Nesterov's momentum: two steps, by the mean and by the gradient. Of MXNet 2.

    >>> update, weight = mx.optimizer.get_updater(mx.optimizer.LANS(learning_rate=0.1)), amp.nd.array([1.0])
    >>> update(0, amp.nd.array([0.5]), weight)
    >>> weight.asnumpy().round(4)
    array([0.9], dtype=float32)
    """

    def step(self, index, weight, grad, states):
        norm = float(np.linalg.norm(grad))
        grad /= _f32(norm if norm > 0 else 1)
        self.clipped(grad)
        t, of_weight = self.count_of(index), float(np.linalg.norm(weight))
        lr, wd = self._get_lr(index), _f32(self._get_wd(index))
        mean, square = states
        _average(mean, self.beta1, grad)
        _average(square, self.beta2, grad * grad)
        root = np.sqrt(square / _f32(1 - self.beta2**t)) + _f32(self.epsilon)
        for direction, share in ((mean / _f32(1 - self.beta1**t), self.beta1), (grad, 1 - self.beta1)):
            step = direction / root + wd * weight
            weight -= _f32(lr * self._ratio(of_weight, step) * share) * step
