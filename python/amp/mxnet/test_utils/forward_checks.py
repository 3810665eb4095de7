"""Outputs of symbols."""

import numpy as np

from ... import nd
from ..._arrays import readable
from .arrays import arrays_of, states_of
from .comparison import assert_almost_equal


def simple_forward(sym, ctx=None, is_train=False, **inputs):
    """The outputs of a symbol for NumPy arrays by name: a NumPy array, or a list of them.

    Raises ArgumentError for arrays that are missing.

    >>> mx.test_utils.simple_forward(amp.sym.exp(amp.sym.Variable("x")), x=np.zeros(2))
    array([1., 1.], dtype=float32)
    """
    bound = sym.bind(ctx, {name: nd.array(readable(array, name)) for name, array in inputs.items()})
    outputs = [output.asnumpy() for output in bound.forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def check_symbolic_forward(
    sym, location, expected, rtol=None, atol=None, aux_states=None, ctx=None, equal_nan=False, dtype=np.float32
):
    """Asserts that a symbol gives `expected` for `location`; both are lists, or dicts by name. Returns the outputs.

    >>> _ = mx.test_utils.check_symbolic_forward(amp.sym.exp(amp.sym.Variable("x")), [np.zeros(2)], [np.ones(2)])
    """
    bound = sym.bind(
        ctx, arrays_of(sym.list_arguments(), location, dtype), aux_states=states_of(sym, aux_states, dtype)
    )
    outputs = bound.forward()
    if hasattr(expected, "items"):
        expected = [expected[name] for name in sym.list_outputs()]
    for name, output, wanted in zip(sym.list_outputs(), outputs, expected):
        assert_almost_equal(output, wanted, rtol, atol, ("forward of " + name, "expected"), equal_nan)
    return outputs
