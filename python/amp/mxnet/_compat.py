"""What the interfaces of MXNet's versions have in common: their strict lists and their lenient names."""

import warnings

from .. import _core, lists
from .._options.checks import target_name
from ..base import ArgumentError
from ..sym.operators import near_matches

LISTS = ("target_dtype_ops", "fp32_ops", "widest_dtype_ops")


class ListError(ArgumentError, AssertionError):
    """The operator lists of a call contradict each other, MXNet's rules or the registry."""


def strict_options(given):
    """The options of a conversion by MXNet's rules. `given` is {option: value}.

    Raises ListError for lists that MXNet refuses: other types than list, operators in two lists or in none of MXNet's,
    and operators of its widest list in another one, unless `widest_dtype_ops` says that they are no longer in that.
    """
    given = {key: value for key, value in given.items() if value is not None}
    problems = _wrong_types(given)
    if not problems:
        members = _members(given, problems)
        problems += _overlaps(members)
        problems += _widest_in_others(given, members)
    if problems:
        raise ListError("\n".join(problems))
    return {**given, "policy": "mxnet", "ignore_unknown_names": True}


def warn_of_unknown_names(model, stacklevel=4):
    """Says which excluded names a model lacks; `model` is what the extension returned."""
    if model["unknown_names"]:
        names = ", ".join(map(repr, model["unknown_names"]))
        warnings.warn(f"excluded_sym_names: the model has no operators named {names}", stacklevel=stacklevel)


def _wrong_types(given):
    problems = []
    for key in (*LISTS, "conditional_fp32_ops", "excluded_sym_names"):
        value = given.get(key, [])
        if not isinstance(value, list):
            problems.append(f"{key}: expected a list, got {type(value).__name__}")
            continue
        for item in value:
            if key == "conditional_fp32_ops" and not _is_condition(item):
                problems.append(f"{key}: expected (operator, attribute, [values]), got {item!r}")
            elif key in LISTS and not isinstance(item, str):
                problems.append(f"{key}: expected names of operators, got {item!r}")
    return problems


def _is_condition(entry):
    if not isinstance(entry, (list, tuple)) or len(entry) != 3 or not isinstance(entry[2], list):
        return False
    return all(isinstance(text, str) for text in (*entry[:2], *entry[2]))


def _members(given, problems):
    """{list: registered names of its operators} of the lists of the call."""
    registered = _core.operator_names()
    members = {}
    for key in (*LISTS, "conditional_fp32_ops"):
        if key not in given:
            continue
        names = [item if isinstance(item, str) else item[0] for item in given[key]]
        problems += [
            f"{key}: there is no operator {name!r}{near_matches(name)}" for name in names if name not in registered
        ]
        members[key] = dict.fromkeys(registered[name] for name in names if name in registered)
    return members


def _overlaps(members):
    keys = list(members)
    pairs = [(left, right) for i, left in enumerate(keys) for right in keys[i + 1 :]]
    common = {pair: [name for name in members[pair[0]] if name in members[pair[1]]] for pair in pairs}
    return [f"{', '.join(names)}: both in {left} and in {right}" for (left, right), names in common.items() if names]


def _widest_in_others(given, members):
    if "widest_dtype_ops" in members:
        return []
    widest = set(lists.list_widest_type_cast(target_name(given["target_dtype"])))
    return [
        f"{key}: {name} is in MXNet's list of operators that run in the widest dtype of their inputs; "
        "pass widest_dtype_ops without it to move it"
        for key, names in members.items()
        for name in names
        if name in widest
    ]
