"""Updates of one weight as functions: `mx.nd.sgd_mom_update(weight, grad, mom, lr=0.1, momentum=0.9, out=weight)`.

Each is a step of the optimizer of that name. `out` gets the new weight (None: a new array); states are changed in
place. `clip_gradient` below 0 clips nothing. With `mp_` the weight is of float16 or bfloat16, and the float32 copy
`weight32` is what is updated; the new weight is rounded from it.
"""

import inspect

from ...base import ArgumentError
from .adaptive import FTML, Adam, Ftrl, RMSProp
from .descent import NAG, SGD, Signum

__all__ = ["FUNCTIONS"]


class _PlainAdam(Adam):
    """Whose learning rate is corrected already."""

    def step_size(self, index):
        return self._get_lr(index)


class _CountedFTML(FTML):
    """For a given number of updates."""

    def __init__(self, t, **kwargs):
        super().__init__(**kwargs)
        self.begin_num_update = t - 1


class _Alex(RMSProp):
    def __init__(self, **kwargs):
        super().__init__(centered=True, **kwargs)


class _SignSGD(Signum):
    def __init__(self, **kwargs):
        super().__init__(momentum=0.0, **kwargs)


class _SeparateNAG(NAG):
    """Whose new weight is another array."""

    def decays_by_old_weight(self):
        return True


_REQUIRED = inspect.Parameter.empty
_COMMON = {"wd": 0.0, "rescale_grad": 1.0, "clip_gradient": -1.0}
_LAZY = {**_COMMON, "lazy_update": True}


def _function(name, optimizer, states, options, is_mixed=False):
    """A function of (weight, grad, *states, *options); `options` is {name: default}."""
    names = ["weight", "grad", *states, *(["weight32"] if is_mixed else [])]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(each, kind) for each in names]
    parameters += [inspect.Parameter(key, kind, default=value) for key, value in options.items()]
    parameters += [inspect.Parameter("out", kind, default=None), inspect.Parameter("name", kind, default=None)]
    signature = inspect.Signature(sorted(parameters, key=lambda p: p.default is not _REQUIRED))

    def update(*args, **kwargs):
        try:
            given = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{name}: {error}") from None
        given.apply_defaults()
        return _update(optimizer, given.arguments, states, options, is_mixed)

    update.__name__ = update.__qualname__ = name
    update.__doc__ = f"A step of {optimizer.__name__.lstrip('_')}: see the module's text."
    update.__signature__ = signature
    return update


def _update(optimizer, given, states, options, is_mixed):
    settings = {_RENAMED.get(key, key): given[key] for key in options}
    if settings.get("clip_gradient", 0) < 0:
        settings["clip_gradient"] = None
    if settings.get("clip_weights", 0) < 0:
        settings["clip_weights"] = None
    weight, target = given["weight"], given["out"]
    target = weight.copy() if target is None else target
    updated = given["weight32"] if is_mixed else target
    if not is_mixed and target is not weight:
        target[...] = weight
    kept = tuple(given[each] for each in states)
    for array in (target, updated, *kept):
        array._leave_views()  # what NumPy shows of them stays what it was
    if optimizer is NAG and target is not weight:
        optimizer = _SeparateNAG
    optimizer(**settings).update(0, updated, given["grad"], kept)
    if is_mixed:
        target[...] = updated.astype(target.dtype)
    return target


_RENAMED = {"lr": "learning_rate", "clip_grad": "clip_gradient"}
_RATE = {"lr": _REQUIRED}
_MOMENTUM = {**_RATE, "momentum": 0.0}
_RMS = {**_RATE, "gamma1": 0.95, "epsilon": 1e-8}

# {name: function}
FUNCTIONS = {
    name: _function(name, *arguments)
    for name, *arguments in (
        ("sgd_update", SGD, (), {**_RATE, **_LAZY}),
        ("sgd_mom_update", SGD, ("mom",), {**_MOMENTUM, **_LAZY}),
        ("mp_sgd_update", SGD, (), {**_RATE, **_LAZY}, True),
        ("mp_sgd_mom_update", SGD, ("mom",), {**_MOMENTUM, **_LAZY}, True),
        ("nag_mom_update", NAG, ("mom",), {**_MOMENTUM, **_COMMON}),
        ("mp_nag_mom_update", NAG, ("mom",), {**_MOMENTUM, **_COMMON}, True),
        ("signsgd_update", _SignSGD, (), {**_RATE, **_COMMON}),
        ("signum_update", Signum, ("mom",), {**_MOMENTUM, **_COMMON, "wd_lh": 0.0}),
        ("adam_update", _PlainAdam, ("mean", "var"), {**_RATE, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8} | _LAZY),
        ("rmsprop_update", RMSProp, ("n",), {**_RMS, **_COMMON, "clip_weights": -1.0}),
        (
            "rmspropalex_update",
            _Alex,
            ("n", "g", "delta"),
            {**_RATE, "gamma1": 0.95, "gamma2": 0.9, "epsilon": 1e-8, **_COMMON, "clip_weights": -1.0},
        ),
        ("ftrl_update", Ftrl, ("z", "n"), {**_RATE, "lamda1": 0.01, "beta": 1.0, **_COMMON}),
        (
            "ftml_update",
            _CountedFTML,
            ("d", "v", "z"),
            {**_RATE, "t": _REQUIRED, "beta1": 0.6, "beta2": 0.999, "epsilon": 1e-8, "wd": 0.0, "rescale_grad": 1.0}
            | {"clip_grad": -1.0},
        ),
    )
}
