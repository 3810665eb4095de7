"""Updates of several weights in one call, and the parts of updates that MXNet 1.x has as functions of their own.

`mx.nd.multi_sgd_update(w0, g0, w1, g1, lrs=..., wds=..., out=[w0, w1])` makes the steps of `sgd_update`, one after the
other. `preloaded_` functions take learning rates and weight decays as two arrays behind the others.
"""

import numpy as np

from ... import nd
from ...base import ArgumentError
from .updates import FUNCTIONS as SINGLE

__all__ = ["CONTRIB", "FUNCTIONS"]


def _written(out, value):
    """`value` in `out`, or as a new array."""
    if out is None:
        return nd.array(value, dtype=value.dtype)
    out._leave_views()
    out[...] = value
    return out


def _f32(array):
    return np.asarray(array).astype(np.float32)


# ---- sgd ----


def _multi(name, single, arrays_each, is_preloaded):
    """The function `name`: steps of `single`, whose first `arrays_each` arguments are arrays."""

    def update(*data, lrs=None, wds=None, num_weights=None, out=None, **options):
        if len(data) == 1 and isinstance(data[0], (list, tuple)):
            data = data[0]
        if is_preloaded:
            *data, lrs, wds = data
            lrs, wds = _f32(lrs).tolist(), _f32(wds).tolist()
        groups = [data[i : i + arrays_each] for i in range(0, len(data), arrays_each)]
        if len(data) % arrays_each or not groups or not len(groups) == len(lrs or ()) == len(wds or ()):
            raise ArgumentError(
                f"{name}: expected {arrays_each} arrays, a learning rate and a weight decay for each weight, got "
                f"{len(data)} arrays, {len(lrs or ())} rates and {len(wds or ())} decays"
            )
        targets = [None] * len(groups) if out is None else out if isinstance(out, (list, tuple)) else [out]
        return [
            SINGLE[single](*group, lr=lr, wd=wd, out=target, **options)
            for group, lr, wd, target in zip(groups, lrs, wds, targets)
        ]

    update.__name__ = update.__qualname__ = name
    update.__doc__ = f"A step of {single} for each of several weights: see the module's text."
    return update


_SGD = {"sgd_update": 2, "sgd_mom_update": 3, "mp_sgd_update": 3, "mp_sgd_mom_update": 4}


# ---- adamw ----


def adamw_update(
    weight,
    grad,
    mean,
    var,
    rescale_grad,
    lr,
    eta,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    wd=0.0,
    clip_gradient=-1.0,
    out=None,
):
    """A step of Adam with decoupled weight decay; nothing happens where `rescale_grad` is 0 or not finite.

    >>> weight, grad, zeros = amp.nd.array([1]), amp.nd.array([0.5]), lambda: amp.nd.zeros((1,))
    >>> mx.nd.contrib.adamw_update(weight, grad, zeros(), zeros(), 1.0, lr=0.1, eta=1.0, wd=0.1).asnumpy().round(4)
    array([0.5838], dtype=float32)
    """
    return _adamw(weight, weight, grad, mean, var, rescale_grad, lr, eta, beta1, beta2, epsilon, wd, clip_gradient, out)


def mp_adamw_update(weight, grad, mean, var, weight32, rescale_grad, lr, eta, out=None, **options):
    """`adamw_update` of a float16 or bfloat16 weight, whose float32 copy `weight32` is what is updated."""
    given = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "wd": 0.0, "clip_gradient": -1.0, **options}
    return _adamw(weight, weight32, grad, mean, var, rescale_grad, lr, eta, out=out, **given)


def adabelief_update(
    weight,
    grad,
    mean,
    var,
    rescale_grad,
    lr,
    eta,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-8,
    wd=0.0,
    clip_gradient=-1.0,
    out=None,
):
    """A step of AdaBelief: `var` is of the distance of the gradient, decay included, from its mean. Of MXNet 2.

    Nothing happens where `rescale_grad` is 0 or not finite.
    """
    options = beta1, beta2, epsilon, wd, clip_gradient
    return _adamw(weight, weight, grad, mean, var, rescale_grad, lr, eta, *options, out, is_belief=True)


def mp_adabelief_update(weight, grad, mean, var, weight32, rescale_grad, lr, eta, out=None, **options):
    """`adabelief_update` of a float16 or bfloat16 weight, whose float32 copy `weight32` is what is updated."""
    given = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "wd": 0.0, "clip_gradient": -1.0, **options}
    return _adamw(weight, weight32, grad, mean, var, rescale_grad, lr, eta, out=out, is_belief=True, **given)


def _adamw(
    weight,
    exact,
    grad,
    mean,
    var,
    rescale_grad,
    lr,
    eta,
    beta1,
    beta2,
    epsilon,
    wd,
    clip_gradient,
    out,
    is_belief=False,
):
    scale = float(rescale_grad.asnumpy().reshape(-1)[0]) if hasattr(rescale_grad, "asnumpy") else float(rescale_grad)
    if not np.isfinite(scale) or scale == 0:
        return _written(out, weight.asnumpy()) if out is not weight else out
    g = _f32(grad) * np.float32(scale)
    if is_belief:
        g += np.float32(wd) * _f32(exact)
    if clip_gradient >= 0:
        g = np.clip(g, -clip_gradient, clip_gradient)
    m = beta1 * _f32(mean) + (1 - beta1) * g
    v = beta2 * _f32(var) + (1 - beta2) * np.square(g - m if is_belief else g) + (epsilon if is_belief else 0)
    decay = 0 if is_belief else wd * _f32(exact)
    updated = _f32(exact) - eta * (lr * m / (np.sqrt(v) + epsilon) + decay)
    _written(mean, m)
    _written(var, v)
    if exact is not weight:
        _written(exact, updated)
    return _written(out, updated if out is not None else updated.astype(weight.dtype))


# ---- of lists ----


def _by_name(name, order, args, kwargs):
    """{argument: value} of a call by position and by name. Raises TypeError as Python does."""
    if len(args) > len(order):
        raise TypeError(f"{name}() takes {len(order)} positional arguments but {len(args)} were given")
    given = dict(zip(order, args))
    for key in kwargs:
        if key in given:
            raise TypeError(f"{name}() got multiple values for argument {key!r}")
    given.update(kwargs)
    missing = [key for key in order if key not in given and key not in _OPTIONAL]
    if missing:
        raise TypeError(f"{name}() missing required arguments: {', '.join(missing)}")
    return given


_OPTIONAL = ("out", "name", "size", "num_tensors")


def _each(given, keys):
    """What each step takes of the lists: its arrays, and the array to write to."""
    columns = [given.pop(key) for key in keys]
    out = given.pop("out", None)
    targets = [None] * len(columns[0]) if out is None else out if isinstance(out, (list, tuple)) else [out]
    for key in (*_OPTIONAL, "num_weights"):
        given.pop(key, None)
    return zip(*columns, targets)


def _multi_adamw(name, single, arrays):
    order = (*arrays, "rescale_grad", "lrs", "wds", "etas", "out", "name", "size")

    def update(*args, **kwargs):
        given = _by_name(name, order, args, kwargs)
        rescale_grad = given.pop("rescale_grad")
        return [
            single(*group, rescale_grad, lr=lr, eta=eta, wd=wd, out=target, **given)
            for *group, lr, wd, eta, target in _each(given, (*arrays, "lrs", "wds", "etas"))
        ]

    update.__name__ = update.__qualname__ = name
    update.__doc__ = (
        f"A step of {single.__name__} for each weight of a list: {name}({', '.join(order)}, ...), where `lrs`, `wds` "
        "and `etas` are lists, too."
    )
    return update


def _multi_lamb(name, arrays):
    columns = (*arrays, "step_count", "lrs", "wds")
    order = (*columns, "out", "num_tensors")

    def update(*args, **kwargs):
        given = _by_name(name, order, args, kwargs)
        bounds = {key: given.pop(key, -1.0) for key in ("lower_bound", "upper_bound")}
        return [
            _lamb(weight, grad, mean, var, exact[0] if exact else weight, t, lr, wd, target, bounds, given)
            for weight, grad, mean, var, *exact, t, lr, wd, target in _each(given, columns)
        ]

    update.__name__ = update.__qualname__ = name
    update.__doc__ = f"A step of LAMB for each weight of a list: {name}({', '.join(order)}, ...)."
    return update


def _lamb(weight, grad, mean, var, exact, t, lr, wd, out, bounds, options):
    step = lamb_update_phase1(exact, grad, mean, var, t=t, wd=wd, **options)
    norms = (nd.array([np.linalg.norm(_f32(array))]) for array in (exact, step))
    updated = lamb_update_phase2(exact, step, *norms, lr=lr, **bounds)
    if exact is not weight:
        _written(exact, _f32(updated))
    return _written(out, updated.asnumpy() if out is not None else updated.asnumpy().astype(weight.dtype))


def group_adagrad_update(weight, grad, history, lr, rescale_grad=1.0, clip_gradient=-1.0, epsilon=1e-5, out=None):
    """A step divided by the root of the sum of the mean squares of each row; `history` (N,) or (N, 1) keeps it.

    >>> weight, history = amp.nd.ones((1, 2)), amp.nd.zeros((1,))
    >>> mx.nd.contrib.group_adagrad_update(weight, amp.nd.ones((1, 2)), history, lr=0.5).asnumpy().round(4)
    array([[0.5, 0.5]], dtype=float32)
    """
    g = _f32(grad) * np.float32(rescale_grad)
    if clip_gradient >= 0:
        g = np.clip(g, -clip_gradient, clip_gradient)
    total = _f32(history) + (g * g).reshape(len(g), -1).mean(1).reshape(history.shape)
    _written(history, total)
    roots = np.sqrt(total + np.float32(epsilon)).reshape((len(g),) + (1,) * (g.ndim - 1))
    return _written(out, _f32(weight) - np.float32(lr) * g / roots)


# ---- lamb and lars ----


def lamb_update_phase1(
    weight,
    grad,
    mean,
    var,
    beta1=0.9,
    beta2=0.999,
    epsilon=1e-6,
    t=1,
    bias_correction=True,
    wd=0.0,
    rescale_grad=1.0,
    clip_gradient=-1.0,
    out=None,
):
    """The step of LAMB before it is scaled: Adam's direction and the decay; `mean` and `var` are changed in place.

    >>> zeros = lambda: amp.nd.zeros((1,))
    >>> mx.nd.lamb_update_phase1(amp.nd.array([1]), amp.nd.array([0.5]), zeros(), zeros(), t=1).asnumpy().round(3)
    array([1.], dtype=float32)
    """
    g = _f32(grad) * np.float32(rescale_grad)
    if clip_gradient >= 0:
        g = np.clip(g, -clip_gradient, clip_gradient)
    m, v = beta1 * _f32(mean) + (1 - beta1) * g, beta2 * _f32(var) + (1 - beta2) * g * g
    _written(mean, m)
    _written(var, v)
    if bias_correction:
        m, v = m / (1 - beta1**t), v / (1 - beta2**t)
    step = m / (np.sqrt(v) + np.float32(epsilon)) + np.float32(wd) * _f32(weight)
    return _written(out, step.astype(weight.dtype))


def lamb_update_phase2(weight, g, r1, r2, lr, lower_bound=-1.0, upper_bound=-1.0, out=None):
    """The step `g` of LAMB scaled by the norm `r1` of the weight over the norm `r2` of the step.

    >>> norms = amp.nd.array([2]), amp.nd.array([4])
    >>> mx.nd.lamb_update_phase2(amp.nd.array([2]), amp.nd.array([4]), *norms, lr=0.1).asnumpy()
    array([1.8], dtype=float32)
    """
    of_weight, of_step = (float(norm.asnumpy().reshape(-1)[0]) for norm in (r1, r2))
    if lower_bound >= 0:
        of_weight = max(of_weight, lower_bound)
    if upper_bound >= 0:
        of_weight = min(of_weight, upper_bound)
    trust = of_weight / of_step if of_weight != 0 and of_step != 0 else 1.0
    return _written(out, (_f32(weight) - np.float32(lr * trust) * _f32(g)).astype(weight.dtype))


def mp_lamb_update_phase1(weight, grad, mean, var, weight32, **options):
    """`lamb_update_phase1` of a float16 or bfloat16 weight, whose float32 copy is `weight32`."""
    return lamb_update_phase1(weight32, grad, mean, var, **options)


def mp_lamb_update_phase2(weight, g, r1, r2, weight32, lr, lower_bound=-1.0, upper_bound=-1.0, out=None):
    """`lamb_update_phase2` of a float16 or bfloat16 weight, whose float32 copy `weight32` is what is updated."""
    updated = lamb_update_phase2(weight32, g, r1, r2, lr, lower_bound, upper_bound).asnumpy()
    _written(weight32, updated)
    return _written(out, updated if out is not None else updated.astype(weight.dtype))


def multi_sum_sq(*arrays, num_arrays=None, out=None):
    """The sums of the squares of arrays, as one array.

    >>> mx.nd.multi_sum_sq(amp.nd.array([1, 2]), amp.nd.array([3]), num_arrays=2)
    [5. 9.]
    <NDArray float32[2]>
    """
    return _written(out, np.array([np.square(_f32(array)).sum() for array in arrays], np.float32))


def multi_lars(lrs, weights_sum_sq, grads_sum_sq, wds, eta, eps, rescale_grad=1.0, out=None):
    """The learning rates of LARS, from the sums of squares of weights and gradients.

    >>> one = lambda value: amp.nd.array([value])
    >>> mx.nd.multi_lars(one(1), one(4), one(1), one(0), eta=0.1, eps=0).asnumpy().round(4)
    array([0.2], dtype=float32)
    """
    of_weights, of_grads = np.sqrt(_f32(weights_sum_sq)), np.sqrt(_f32(grads_sum_sq)) * np.float32(rescale_grad)
    with np.errstate(divide="ignore", invalid="ignore"):
        trust = np.float32(eta) * of_weights / (of_grads + _f32(wds) * of_weights + np.float32(eps))
    return _written(out, _f32(lrs) * np.where((of_weights > 0) & (of_grads > 0), trust, np.float32(1)))


# {name: function}
FUNCTIONS = {
    name: _multi(name, single, count, prefix == "preloaded_")
    for prefix in ("", "preloaded_")
    for single, count in _SGD.items()
    for name in [f"{prefix}multi_{single}"]
}
FUNCTIONS.update(
    (function.__name__, function)
    for function in (
        lamb_update_phase1,
        lamb_update_phase2,
        mp_lamb_update_phase1,
        mp_lamb_update_phase2,
        multi_lars,
        multi_sum_sq,
    )
)
_ARRAYS = ("weights", "grads", "mean", "var")
# Those of `mx.nd.contrib`.
CONTRIB = {
    "adabelief_update": adabelief_update,
    "mp_adabelief_update": mp_adabelief_update,
    "multi_adabelief_update": _multi_adamw("multi_adabelief_update", adabelief_update, _ARRAYS),
    "multi_mp_adabelief_update": _multi_adamw(
        "multi_mp_adabelief_update", mp_adabelief_update, (*_ARRAYS, "weights32")
    ),
    "adamw_update": adamw_update,
    "group_adagrad_update": group_adagrad_update,
    "mp_adamw_update": mp_adamw_update,
    "multi_adamw_update": _multi_adamw("multi_adamw_update", adamw_update, _ARRAYS),
    "multi_lamb_update": _multi_lamb("multi_lamb_update", _ARRAYS),
    "multi_mp_adamw_update": _multi_adamw("multi_mp_adamw_update", mp_adamw_update, (*_ARRAYS, "weights32")),
    "multi_mp_lamb_update": _multi_lamb("multi_mp_lamb_update", (*_ARRAYS, "weights32")),
}
