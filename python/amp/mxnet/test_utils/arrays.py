"""Arrays of tests, by name or in the order of a symbol's variables."""

from ... import nd
from ..._arrays import readable


def arrays_of(names, values, dtype):
    """{name: NDArray}: NDArrays stay what they are, others get `dtype`, or keep theirs where that is 'asnumpy'."""
    pairs = values.items() if hasattr(values, "items") else zip(names, values)
    return {name: _array(readable(value, name), dtype) for name, value in pairs}


def states_of(sym, values, dtype):
    """The same of auxiliary states; None where there are none."""
    return None if values is None else arrays_of(sym.list_auxiliary_states(), values, dtype)


def _array(value, dtype):
    if isinstance(value, nd.NDArray):
        return value
    return nd.array(value, dtype=value.dtype if isinstance(dtype, str) and dtype == "asnumpy" else dtype)
