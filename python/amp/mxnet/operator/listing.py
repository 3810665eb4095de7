"""What operators there are, and what they take."""

from typing import NamedTuple

from ... import _core
from ...base import ArgumentError, did_you_mean


def get_all_registered_operators():
    """Names of all operators, aliases included.

    >>> "Convolution" in mx.operator.get_all_registered_operators()
    True
    """
    return list(_core.operator_names())


def get_all_registered_operators_grouped():
    """{registered name: [that name, and the operator's aliases]}

    >>> mx.operator.get_all_registered_operators_grouped()["Convolution"]
    ['Convolution', 'Convolution_v1', '_npx_convolution']
    """
    groups = {}
    for alias, name in _core.operator_names().items():
        groups.setdefault(name, [name])
        if alias != name:
            groups[name].append(alias)
    return groups


class OperatorArguments(NamedTuple):
    """What an operator takes: inputs first, then attributes.

    >>> mx.operator.OperatorArguments(1, ["data"], ["NDArray-or-Symbol"]).narg
    1
    """

    narg: int
    names: list
    types: list


def get_operator_arguments(op_name):
    """Names and types of an operator's inputs and attributes, as `OperatorArguments`.

    Raises ArgumentError for an unknown operator.

    >>> mx.operator.get_operator_arguments("Activation").names
    ['data', 'act_type']
    """
    if op_name not in _core.operator_names():
        raise ArgumentError(f"there is no operator {op_name!r}{did_you_mean(op_name, _core.operator_names())}")
    info = _core.operator_info(op_name)
    names = [*info["inputs"], *(field["name"] for field in info["fields"])]
    types = ["NDArray-or-Symbol"] * len(info["inputs"]) + [_type_text(field) for field in info["fields"]]
    return OperatorArguments(len(names), names, types)


def _type_text(field):
    """As MXNet writes it: {'relu', 'tanh'}, required."""
    kind = field["type"]
    if kind.startswith("one of "):
        kind = "{" + ", ".join(map(repr, sorted(kind[len("one of ") :].split(", ")))) + "}"
    return f"{kind}, " + ("required" if field["default"] is None else f"optional, default={field['default']}")
