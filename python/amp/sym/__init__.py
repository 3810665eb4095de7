"""Symbols: networks as graphs of operators.

Every operator of the registry is a function of this module, under its name and its aliases; they are
made when they are first asked for. Those that begin with an underscore are in `amp.sym._internal`, too, and those of a
family in its own module: `amp.sym.contrib.X` is `_contrib_X` (also `np`, `npx`, `linalg`, `image`, `random`, `sparse`).
"""

import importlib

from .._missing import missing
from ..base import NotImplementedForSymbol
from . import namespaces as _namespaces
from . import operators as _operators
from .fluent import FluentMethods as _FluentMethods
from .functions import (
    arange,
    eye,
    full,
    hypot,
    linspace,
    maximum,
    minimum,
    ones,
    pow,
    power,
    split_v2,
    zeros,
)
from .symbol import Group, NumpySymbol, Symbol, Variable, fromjson, load, load_json, var

__all__ = [
    "Group",
    "NotImplementedForSymbol",
    "NumpySymbol",
    "Symbol",
    "Variable",
    "arange",
    "eye",
    "fromjson",
    "full",
    "hypot",
    "linspace",
    "load",
    "load_json",
    "maximum",
    "minimum",
    "ones",
    "pow",
    "power",
    "split_v2",
    "var",
    "zeros",
]


def __getattr__(name):
    function = _operators.find_function(name)
    if function is None:
        raise missing(__name__, name, _operators.function_names())
    globals()[name] = function
    return function


def __dir__():
    return sorted({*globals(), *_operators.function_names()})


_internal = importlib.import_module("amp.sym._internal")  # `from . import` would look for an operator of that name

globals().update(_namespaces.create_all())


def _find_for_method(name, is_numpy):
    """The function that is the method `name` of a Symbol, or None."""
    own = globals().get(name) or _operators.find_function(name)
    return getattr(np, name, own) if is_numpy else own  # noqa: F821 - one of the namespaces


_FluentMethods._find = staticmethod(_find_for_method)
