"""Training in low precision: what mx.amp and mx.contrib.amp share."""

import contextlib
import logging
import warnings

import numpy as np

from .. import _autocast, _core
from .._options.checks import target_name
from .._options.conversion import check_options
from ..base import ArgumentError
from ..sym import Variable
from .gluon.trainer import Trainer

_FIRST_SCALE, _FACTOR, _GOOD_STEPS = 2.0**16, 2.0, 2000


def init(
    target_dtype="float16",
    target_precision_ops=None,
    conditional_fp32_ops=None,
    fp32_ops=None,
    layout_optimization=False,
    *,
    policy="mxnet",
    **options,
):
    """From now on operators read low precision where MXNet's lists, or these, say so; parameters stay float32.

    `target_dtype` is 'float16' or 'bfloat16', which is the faster one on CPUs and needs no scaling of losses. Concerns
    arrays, and symbols that are bound for training. A CPU without arithmetic for it computes in float32 between
    conversions, which takes longer than float32 alone; a warning says so. A second call has no effect, and a warning
    where it asks for something else; `layout_optimization` has none.

    Another `policy` ('default', 'graphamp', 'optimal') decides about graphs: hybridized blocks, SymbolBlocks and
    symbols that are bound are converted before they are differentiated, with `options` of amp.convert_symbol, such as
    preset='mp2'. What runs operator by operator stays in float32 then. Raises ArgumentError for unknown options.

    >>> mx.amp.init("bfloat16")
    >>> mx.nd.FullyConnected(mx.nd.ones((1, 2)), mx.nd.ones((3, 2)), no_bias=True, num_hidden=3).dtype.name
    'bfloat16'
    >>> amp._autocast.begin(None)  # for the other examples
    """
    target = target_name(target_dtype)
    rules = _autocast.Rules(target, target_precision_ops, conditional_fp32_ops, fp32_ops, policy, options)
    check_options(Variable("data"), {**rules.conversion, "ignore_unknown_names": True})
    if _autocast.rules is not None:
        return _warn_of_other_rules(rules)
    _warn_of_emulation(target)
    _autocast.begin(rules)
    logging.info("training in %s", target)


def _warn_of_other_rules(rules):
    known = _autocast.rules.conversion
    if rules.conversion != known:
        text = f"amp.init has no effect: training in {known['target_dtype']} (policy {known['policy']!r}) goes on"
        warnings.warn(text, stacklevel=3)


def _warn_of_emulation(target):
    if target == "bfloat16" and _core.cpu_info()["native_bfloat16"]:
        return
    text = f"this CPU has no {target} arithmetic: it is computed in float32 between conversions, which is slower"
    warnings.warn(text, stacklevel=3)


class LossScaler:
    """The factor of losses, a power of two: halved where gradients overflow, doubled after many steps without."""

    def __init__(self, scale=_FIRST_SCALE, factor=_FACTOR, window=_GOOD_STEPS):
        self.loss_scale, self._factor, self._window = scale, factor, window
        self._good_steps = 0

    def has_overflow(self, parameters):
        """Whether a gradient holds what is no finite number; the scale follows."""
        gradients = [grad for parameter in parameters if parameter.grad_req != "null" for grad in parameter.list_grad()]
        if not all(np.isfinite(np.asarray(gradient).astype("float32")).all() for gradient in gradients):
            self.loss_scale = max(1.0, self.loss_scale / self._factor)
            self._good_steps = 0
            return True
        self._good_steps += 1
        if self._good_steps == self._window:
            self.loss_scale *= self._factor
            self._good_steps = 0
        return False

    def state(self):
        """[scale, steps without overflow]"""
        return [self.loss_scale, self._good_steps]

    def set_state(self, state):
        """Goes on where `state` was called. Raises ArgumentError for anything else."""
        is_pair = isinstance(state, (list, tuple)) and len(state) == 2
        if not is_pair or not all(isinstance(number, (int, float)) for number in state) or not state[0] > 0:
            raise ArgumentError(f"expected the scale of losses and a number of steps, got {state!r:.40}")
        self.loss_scale, self._good_steps = state


def init_trainer(optimizer_or_trainer):
    """Gives a Trainer a scaler of losses: dynamic for float16, none for bfloat16, which has float32's range.

    Raises ArgumentError before `init` and for anything but a Trainer.

    >>> mx.amp.init("float16")
    >>> weight = mx.gluon.Parameter("weight", shape=(2,))
    >>> weight.initialize()
    >>> trainer = mx.gluon.Trainer([weight], "sgd")
    >>> mx.amp.init_trainer(trainer)
    >>> amp._autocast.begin(None)
    """
    if _autocast.rules is None:
        raise ArgumentError("call amp.init first")
    _require_trainer(optimizer_or_trainer)
    if _autocast.rules.target == "float16":
        optimizer_or_trainer.set_loss_scaler(LossScaler())
    else:
        optimizer_or_trainer.constant_scaler = LossScaler(1.0, factor=1.0)  # for programs that look at it


@contextlib.contextmanager
def scale_loss(loss, optimizer_or_trainer):
    """Inside of record(): the loss, or list of losses, times the trainer's scale, which its next step divides by.

    >>> weight = mx.gluon.Parameter("weight", shape=(1,), init="ones")
    >>> weight.initialize()
    >>> trainer = mx.gluon.Trainer([weight], "sgd", {"learning_rate": 0.5})
    >>> with mx.autograd.record(), mx.amp.scale_loss(weight.data() * 3, trainer) as loss:
    ...     loss.backward()
    >>> trainer.step(1)
    >>> weight.data().asnumpy()
    array([-0.5], dtype=float32)
    """
    _require_trainer(optimizer_or_trainer)
    yield optimizer_or_trainer.scaled(loss)


def unscale(optimizer_or_trainer):
    """Divides the gradients by the scale now, for instance to clip them; the next step does not.

    >>> weight = mx.gluon.Parameter("weight", shape=(1,))
    >>> weight.initialize()
    >>> mx.amp.unscale(mx.gluon.Trainer([weight], "sgd"))
    """
    _require_trainer(optimizer_or_trainer)
    optimizer_or_trainer.unscale_gradients()


def _require_trainer(value):
    if not isinstance(value, Trainer):
        raise ArgumentError(f"expected a gluon.Trainer, got {type(value).__name__}")
