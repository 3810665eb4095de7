"""Casts that operators on arrays get while a program trains in low precision, see mx.amp.init."""

import contextlib
import functools
import threading

from . import _core, lists

_MARK = {"__amp_cast__": "1"}  # in a recorded graph these casts are a conversion's, which plans may take back
_state = threading.local()
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
    arrays = [array for array in (*positional, *by_name.values()) if _is_float(array.dtype)]
    if wanted is None or not arrays:
        return positional, by_name
    if wanted == "widest":
        wanted = _widest({_core.dtype_name(array.dtype) for array in arrays})

    def cast(array):
        if not _is_float(array.dtype) or _core.dtype_name(array.dtype) == wanted:
            return array
        return invoke("amp_cast", [array], {}, {"dtype": wanted, **_MARK})[0]

    with _casting():
        return [cast(array) for array in positional], {name: cast(array) for name, array in by_name.items()}


def _is_float(dtype):
    return _core.dtype_name(dtype) in ("float16", "bfloat16", "float32", "float64")


def _widest(names):
    if "float64" in names:
        return "float64"
    return next(iter(names)) if len(names) == 1 else "float32"
