"""What operators there are."""

from .. import _core
from ._missing import getter

__all__ = ["get_all_registered_operators", "get_all_registered_operators_grouped"]


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


__getattr__ = getter(__name__)
