"""Operators whose names begin with an underscore; any other operator is found here as well."""

from .._missing import missing
from . import operators as _operators


def __getattr__(name):
    function = _operators.find_function(name)
    if function is None:
        raise missing(__name__, name, _operators.function_names())
    globals()[name] = function
    return function


def __dir__():
    return sorted({*globals(), *(name for name in _operators.function_names() if name.startswith("_"))})
