"""What each option of a conversion may be, and the form in which the extension reads it."""

from __future__ import annotations

import functools
import os
import re
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from ..base import ArgumentError, did_you_mean, dtype_name
from ..sym.attributes import attribute_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any, Literal

    from numpy.typing import DTypeLike

TARGETS = ("bfloat16", "float16")
POLICIES = ("default", "mxnet", "graphamp", "optimal")
MINIMIZED = ("time", "casts")
PRESETS = ("mp0", "mp1", "mp2", "mp3", "mp4")
CATEGORIES = ("allow", "infer", "deny")
LIMITS = ("activation", "parameter", "depth")


def target_name(dtype, key="target_dtype"):
    """'bfloat16' or 'float16'"""
    try:
        name = dtype_name(dtype)
    except ArgumentError:
        name = repr(dtype)
    if name not in TARGETS:
        raise ArgumentError(f"{key}: expected {' or '.join(TARGETS)}, got {name}")
    return name


def by_name(what, value, names):
    """{name: dtype} from a dict, from one dtype for all `names` or from a list in their order; None is {}."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return dict(value)
    if is_one_dtype(value):
        return dict.fromkeys(names, value)
    if len(value) != len(names):
        kind = what.split("_")[0]
        raise ArgumentError(
            f"{what} has {len(value)} entries, but the model has {len(names)} {kind}s: {', '.join(names)}"
        )
    return dict(zip(names, value))


def is_one_dtype(value):
    """Whether it is neither a dict nor a list of dtypes. [('bfloat16', numpy.uint16)] is one dtype."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(item, tuple) for item in value)
    return not isinstance(value, dict)


def is_float(dtype):
    """Whether a dtype is one of floating-point numbers."""
    return "float" in dtype_name(dtype)


@functools.cache
def _names_of_codes():
    names = "float32 float64 float16 bfloat16 uint8 int8 int32 int64 bool".split()
    return {str(_core.dtype_code(name)): name for name in names}


def declared_dtype(attributes):
    """The dtype that `__dtype__`, MXNet's number for it, declares among the attributes of a variable, or None."""
    return _names_of_codes().get(attributes.get("__dtype__"))


# ---- one function per kind of option: (key, value, symbol, nodes) -> what the extension reads ----
# The annotation of `value` is the option's type for type checkers: tools/write_types.py.


def target(key, value: DTypeLike, _sym, _nodes):
    return target_name(value, key)


def flag(key, value: bool, _sym, _nodes):
    if value not in (False, True):  # 0 and 1 and NumPy's, too
        raise ArgumentError(f"{key}: expected True or False, got {value!r}")
    return bool(value)


def policy(key, value: Literal["default", "mxnet", "graphamp", "optimal"], _sym, _nodes):
    if value not in POLICIES:
        raise ArgumentError(f"{key}: expected {' or '.join(map(repr, POLICIES))}, got {value!r}")
    return value


def minimize(key, value: Literal["time", "casts"], _sym, _nodes):
    if value not in MINIMIZED:
        raise ArgumentError(f"{key}: expected {' or '.join(map(repr, MINIMIZED))}, got {value!r}")
    return value


def items_of(key, value):
    """The elements of a list, tuple or set. One text, which iterates as well, is a mistake."""
    if not isinstance(value, (list, tuple, set, frozenset)):
        hint = f"; write [{value!r}]" if isinstance(value, (str, re.Pattern)) else ""
        raise ArgumentError(f"{key}: expected a list, got {type(value).__name__}{hint}")
    return list(value)


def operators(key, value: Collection[str], _sym, _nodes):
    operators = items_of(key, value)
    for operator in operators:
        if not isinstance(operator, str):
            raise ArgumentError(f"{key}: expected names of operators, got {operator!r}")
    return operators


def conditional(key, value: Collection[tuple[str, str, Collection[Any]]], _sym, _nodes):
    entries = []
    for entry in items_of(key, value):
        parts = tuple(entry) if isinstance(entry, (list, tuple)) else ()
        if len(parts) != 3 or not isinstance(parts[0], str) or not isinstance(parts[1], str):
            raise ArgumentError(f"{key}: expected (operator, attribute, [values]), got {entry!r}")
        values = items_of(f"{key}: values of {parts[0]}'s {parts[1]}", parts[2])
        entries.append((parts[0], parts[1], [attribute_text(item, what=key) for item in values]))
    return entries


def excluded(key, value: Collection[str | re.Pattern[str]], _sym, nodes):
    return list(dict.fromkeys(name for item in items_of(key, value) for name in nodes.expand(key, item)))


def force(key, value: Mapping[str, DTypeLike], _sym, nodes):
    if not isinstance(value, dict):
        hint = "; emulate=True converts although the CPU lacks the arithmetic" if isinstance(value, bool) else ""
        raise ArgumentError(f"{key}: expected a dict {{node: dtype}}, got {type(value).__name__}{hint}")
    return _by_node(key, {item: dtype_name(dtype) for item, dtype in value.items()}, nodes)


def _by_node(key, value, nodes):
    """{name: what is said of it}. Raises ArgumentError for names of which two things are said."""
    found, problems = {}, []
    for item, said in value.items():
        for name in nodes.expand(key, item):
            if found.setdefault(name, said) != said:
                problems.append(f"{key}: '{name}' is to be both {found[name]} and {said}")
    if problems:
        raise ArgumentError("\n".join(problems))
    return found


def _category(key, value):
    if value not in CATEGORIES:
        raise ArgumentError(f"{key}: expected {', '.join(map(repr, CATEGORIES))}, got {value!r}")
    return value


def preset(key, value: Literal["mp0", "mp1", "mp2", "mp3", "mp4"] | Mapping[str, Any], sym, nodes):
    if isinstance(value, str) and value in PRESETS:
        return value
    if not isinstance(value, dict):
        raise ArgumentError(f"{key}: expected one of {', '.join(PRESETS)} or a dict of categories, got {value!r}")
    unknown = [name for name in value if name not in (*CATEGORIES, "rest")]
    if unknown:
        raise ArgumentError(f"{key}: expected the keys {', '.join(CATEGORIES)} and rest, got {unknown[0]!r}")
    lists = {name: operators(f"{key}: {name}", value[name], sym, nodes) for name in CATEGORIES if name in value}
    return {**lists, "rest": _category(f"{key}: rest", value.get("rest", "deny"))}


def categories(key, value: Mapping[str, Literal["allow", "infer", "deny"]], _sym, nodes):
    if not isinstance(value, dict):
        raise ArgumentError(f"{key}: expected a dict {{node: category}}, got {type(value).__name__}")
    return _by_node(key, {item: _category(f"{key}: '{item}'", category) for item, category in value.items()}, nodes)


def outputs(key, value: DTypeLike | Mapping[str, DTypeLike] | Sequence[DTypeLike], sym, _nodes):
    return {name: dtype_name(dtype) for name, dtype in by_name(key, value, sym.list_outputs()).items()}


def accuracy(key, value: Mapping[str, Any], *_):
    """{"error": number} or {"metric": function, "drop": number}"""
    if not isinstance(value, dict) or set(value) not in ({"error"}, {"metric", "drop"}):
        got = f"the keys {', '.join(map(repr, value))}" if isinstance(value, dict) else repr(value)
        raise ArgumentError(f"{key}: expected {{'error': number}} or {{'metric': function, 'drop': number}}, got {got}")
    goal = "error" if "error" in value else "drop"
    if not _is_positive(value[goal]):
        raise ArgumentError(f"{key}: {goal}: expected a number above 0, got {value[goal]!r}")
    if "metric" in value and not callable(value["metric"]):
        raise ArgumentError(f"{key}: metric: expected a function of `run`, got {value['metric']!r}")
    return value


def _is_positive(number):
    is_number = isinstance(number, (int, float, np.integer, np.floating)) and not isinstance(number, bool)
    return is_number and 0 < number < float("inf")


def limits(key, value: Mapping[str, float], *_):
    """{name of LIMITS: number}"""
    if not isinstance(value, dict) or not value:
        raise ArgumentError(f"{key}: expected a dict with some of {', '.join(LIMITS)}, got {value!r}")
    problems = [
        f"{key}: there is no limit {name!r}{did_you_mean(name, LIMITS) or '; limits are ' + ', '.join(LIMITS)}"
        if name not in LIMITS
        else f"{key}: {name}: expected a number above 0, got {number!r}"
        for name, number in value.items()
        if name not in LIMITS or not _is_positive(number)
    ]
    if problems:
        raise ArgumentError("\n".join(problems))
    return {name: float(number) for name, number in value.items()}


def data(_key, value: Any, *_):
    return value  # what it may be depends on the model: _trust/data.py


def sensitivity(key, value: Any, *_):
    if not hasattr(value, "effects"):
        raise ArgumentError(f"{key}: expected what amp.sensitivity returns, got {value!r}")
    return value


def error_of_outputs(text):
    """'2e-3' of the command line -> {"error": 0.002}"""
    try:
        return accuracy("accuracy", {"error": float(text)})
    except ValueError:
        from argparse import ArgumentTypeError  # the command line alone needs it

        raise ArgumentTypeError(f"{text!r}: expected a number above 0, such as 2e-3") from None


def limits_of_text(text):
    """'activation=512,depth=4096' of the command line -> {"activation": 512.0, "depth": 4096.0}"""
    from argparse import ArgumentTypeError  # the command line alone needs it

    try:
        pairs = [item.split("=") for item in text.split(",")]
        return limits("limits", {name.strip(): float(number) for name, number in pairs})
    except ArgumentError as error:
        raise ArgumentTypeError(str(error)) from None
    except ValueError:
        raise ArgumentTypeError(f"{text!r}: expected limits such as activation=512,depth=4096") from None


def machine_name(key, value: str | os.PathLike[str], *_):
    """A class of machines, 'this', 'any' or the path of a machine file, as text."""
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentError(f"{key}: expected 'this', 'any', a class of machines or a file, got {value!r}")
    return os.fspath(value)
