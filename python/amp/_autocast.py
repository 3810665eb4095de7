"""Casts that operators on arrays get while a program trains in low precision, see mx.amp.init."""

import contextlib
import functools
import threading

from . import _core, lists
from .base import GraphError

_MARK = {"__amp_cast__": "1"}  # in a recorded graph these casts are a conversion's, which plans may take back
_state = threading.local()
_FLOATS = ("float16", "bfloat16", "float32", "float64")
rules = None  # of the process, once there are any


class Rules:
    """Which operators read `target`, float32, or the widest dtype of their inputs.

    Policy 'mxnet' is one of single operators. Others decide about graphs: `options` are those of a conversion.
    """

    def __init__(self, target, target_ops=None, conditional_fp32_ops=None, fp32_ops=None, policy="mxnet", options=None):
        self.target, self.is_of_graphs = target, policy != "mxnet"
        given = {
            "target_dtype_ops": target_ops,
            "conditional_fp32_ops": conditional_fp32_ops,
            "fp32_ops": fp32_ops,
        }
        # The same for a symbol that is bound.
        self.conversion = {
            "target_dtype": target,
            "policy": policy,
            "emulate": True,
            **({"fold_batch_norm": False} if policy in ("default", "optimal") else {}),  # weights change
            **(options or {}),
            **{name: value for name, value in given.items() if value is not None},
        }
        self._target_ops = _registered(lists.list_lp16_ops(target) if target_ops is None else target_ops)
        self._fp32_ops = _registered(lists.list_fp32_ops(target) if fp32_ops is None else fp32_ops)
        given = lists.list_conditional_fp32_ops(target) if conditional_fp32_ops is None else conditional_fp32_ops
        self._conditional = {
            (_names().get(operator, operator), attribute): {str(value) for value in values}
            for operator, attribute, values in given
        }
        self._widest_ops = _registered(lists.list_widest_type_cast(target))

    def dtype_for(self, op, attributes):
        """The dtype that the operator's float inputs get; 'widest', or None where they stay."""
        for (operator, attribute), values in self._conditional.items():
            if op == operator and str(attributes.get(attribute)) in values:
                return "float32"
        if op in self._target_ops:
            return self.target
        if op in self._fp32_ops:
            return "float32"
        return "widest" if op in self._widest_ops else None


@functools.cache
def _names():
    return _core.operator_names()


def _registered(operators):
    return {_names().get(operator, operator) for operator in operators}


def begin(new_rules):
    """From now on operators of the process cast; None ends that."""
    global rules
    rules = new_rules


def conversion():
    """Options of the conversion of symbols that are bound for training; None where there is none."""
    return None if rules is None else rules.conversion


def conversion_of_blocks():
    """As `conversion`, of graphs of hybridized blocks: policy 'mxnet' has cast their operators one by one."""
    return rules.conversion if rules is not None and rules.is_of_graphs else None


def is_active():
    """Whether operators of this thread cast now."""
    return rules is not None and not rules.is_of_graphs and not getattr(_state, "is_casting", False)


@contextlib.contextmanager
def _casting():
    _state.is_casting = True
    try:
        yield
    finally:
        _state.is_casting = False


def cast_arrays(op, attributes, positional, by_name, invoke):
    """The inputs of an operator as it reads them; `invoke` runs the casts."""
    wanted = rules.dtype_for(op, attributes)
    arrays = [*positional, *by_name.values()]
    names = [_core.dtype_name(array.dtype) for array in arrays]
    floats = {name for name in names if name in _FLOATS}
    if not floats or wanted is None and len(set(names)) == 1:
        return positional, by_name
    texts, keys = tuple(sorted(attributes.items())), tuple(by_name)
    if wanted is None and len(floats) > 1 and not _takes(op, texts, tuple(names), keys):
        wanted = "widest"  # as in a loss of low outputs and float32 labels
    if wanted == "widest":
        wanted = _widest(floats)
    if wanted is not None:
        names = [wanted if name in _FLOATS else name for name in names]
    if len(set(names)) > 1 and not floats.issuperset(names) and not _takes(op, texts, tuple(names), keys):
        names = [wanted or _widest(floats)] * len(names)  # integers beside floats: labels

    def cast(array, name):
        if _core.dtype_name(array.dtype) == name:
            return array
        op = "amp_cast" if _core.dtype_name(array.dtype) in _FLOATS else "Cast"
        return invoke(op, [array], {}, {"dtype": name, **_MARK})[0]

    with _casting():
        cast_to = [cast(array, name) for array, name in zip(arrays, names)]
    return cast_to[: len(positional)], dict(zip(keys, cast_to[len(positional) :]))


@functools.lru_cache(4096)
def _takes(op, attributes, dtypes, names):
    """Whether an operator takes inputs of these dtypes as they are; the last ones are given by `names`."""
    known = {f"input{i}": (dtype, None) for i, dtype in enumerate(dtypes)}
    variables = [_core.variable(name, {}) for name in known]
    count = len(dtypes) - len(names)
    symbol = _core.apply(op, "node", dict(attributes), variables[:count], dict(zip(names, variables[count:])))
    try:
        symbol.infer(known)
    except GraphError:
        return False
    return True


def _widest(names):
    if "float64" in names:
        return "float64"
    return next(iter(names)) if len(names) == 1 else "float32"
