"""Operators whose names begin with an underscore; any other operator is found here as well."""

from . import operators as _operators


def __getattr__(name):
    function = _operators.find_function(name)
    if function is None:
        raise AttributeError(f"module 'amp.sym._internal' has no attribute {name!r}{_operators.near_matches(name)}")
    globals()[name] = function
    return function


def __dir__():
    return sorted({*globals(), *(name for name in _operators.function_names() if name.startswith("_"))})
