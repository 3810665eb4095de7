"""Steps of LANS for the weights of a list: LAMB with normalised gradients and Nesterov's momentum."""

import numpy as np

from .multi_tensor import _ARRAYS, _by_name, _each, _f32, _written

__all__ = ["FUNCTIONS"]


def _lans(weight, grad, mean, var, exact, t, lr, wd, out, options):
    w, beta1, beta2 = _f32(exact), options["beta1"], options["beta2"]
    g = _f32(grad) * np.float32(options["rescale_grad"])
    g /= np.linalg.norm(g)
    if options["clip_gradient"] >= 0:
        g = np.clip(g, -options["clip_gradient"], options["clip_gradient"])
    m = beta1 * _f32(mean) + (1 - beta1) * g
    v = beta2 * _f32(var) + (1 - beta2) * g * g
    root = np.sqrt(v / (1 - beta2**t)) + options["epsilon"]
    steps = (m / (1 - beta1**t) / root + wd * w, beta1), (g / root + wd * w, 1 - beta1)
    updated = w - lr * sum(share * _ratio(w, step, options) * step for step, share in steps)
    _written(mean, m.astype(np.float32))
    _written(var, v.astype(np.float32))
    if exact is not weight:
        _written(exact, updated.astype(np.float32))
    return _written(out, updated.astype(weight.dtype))


def _ratio(w, step, options):
    norm, of_step = np.linalg.norm(w), np.linalg.norm(step)
    if options["lower_bound"] >= 0:
        norm = max(norm, options["lower_bound"])
    if options["upper_bound"] >= 0:
        norm = min(norm, options["upper_bound"])
    return norm / of_step if norm and of_step else 1


_DEFAULTS = {
    "beta1": 0.9,
    "beta2": 0.999,
    "epsilon": 1e-6,
    "rescale_grad": 1.0,
    "lower_bound": -1.0,
    "upper_bound": -1.0,
    "clip_gradient": -1.0,
}


def _multi(name, arrays):
    columns = (*arrays, "step_count", "lrs", "wds")
    order = (*columns, "out", "num_tensors")

    def update(*args, **kwargs):
        given = _by_name(name, order, args, kwargs)
        parts = list(_each(given, columns))
        unknown = [key for key in given if key not in _DEFAULTS]
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument {unknown[0]!r}")
        options = {**_DEFAULTS, **given}
        return [
            _lans(weight, grad, mean, var, exact[0] if exact else weight, t, lr, wd, target, options)
            for weight, grad, mean, var, *exact, t, lr, wd, target in parts
        ]

    update.__name__ = update.__qualname__ = name
    update.__doc__ = f"A step of LANS for each weight of a list: {name}({', '.join(order)}, ...)."
    return update


FUNCTIONS = {
    "multi_lans_update": _multi("multi_lans_update", _ARRAYS),
    "multi_mp_lans_update": _multi("multi_mp_lans_update", (*_ARRAYS, "weights32")),
}
