"""Symbols: networks as graphs of operators.

Every operator of the registry is a function of this module, under its name and its aliases; they are
made when they are first asked for. Those that begin with an underscore are in `amp.sym._internal`, too.
"""

from ..base import NotImplementedForSymbol
from . import operators as _operators
from .symbol import Group, Symbol, Variable, fromjson, load, load_json, var

__all__ = [
    "Group",
    "NotImplementedForSymbol",
    "Symbol",
    "Variable",
    "fromjson",
    "load",
    "load_json",
    "var",
]


def __getattr__(name):
    function = _operators.find_function(name)
    if function is None:
        raise AttributeError(f"module 'amp.sym' has no attribute {name!r}{_operators.near_matches(name)}")
    globals()[name] = function
    return function


def __dir__():
    return sorted({*globals(), *_operators.function_names()})


from . import _internal  # noqa: E402, F401 - it asks this module for its functions
