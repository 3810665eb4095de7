"""What operators there are, and operators in Python.

`custom` runs classes of programs on arrays, `custom_nodes` in graphs, `python_ops` has MXNet's older classes;
`array_operators` makes nodes of functions of arrays. They import `np` and devices, never blocks or modules.
"""

from .._missing import getter
from .custom import CustomOp, CustomOpProp, register
from .listing import (
    OperatorArguments,
    get_all_registered_operators,
    get_all_registered_operators_grouped,
    get_operator_arguments,
)
from .python_ops import NDArrayOp, NumpyOp, PythonOp  # noqa: F401 - their base class

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "get_all_registered_operators",
    "get_all_registered_operators_grouped",
    "get_operator_arguments",
    "register",
]

__getattr__ = getter(__name__)
