"""Arrays of tests, by name or in the order of a symbol's variables."""

from .. import nd
from .._arrays import readable


def arrays_of(names, values, dtype):
    """{name: NDArray}"""
    pairs = values.items() if hasattr(values, "items") else zip(names, values)
    return {name: nd.array(readable(value, name), dtype=getattr(value, "dtype", dtype)) for name, value in pairs}


def states_of(sym, values, dtype):
    """The same of auxiliary states; None where there are none."""
    return None if values is None else arrays_of(sym.list_auxiliary_states(), values, dtype)
