"""Gradients as graphs."""

from . import _core
from .base import ArgumentError
from .sym import Symbol


def gradient(sym, wrt=None, *, head_gradients=None, is_train=True):
    """The graph of `sym` and of its gradients: a Symbol with the outputs of `sym`, then one gradient for each name.

    The gradients are those of the sum of all outputs, each times its head gradient.

    - `wrt`: names of variables, in the order of the gradients; None: all arguments. The gradient of `x` is called
      `x_grad`.
    - `head_gradients`: one Symbol or None for each output (None: ones), for instance a variable. Losses such as
      SoftmaxOutput ignore theirs.
    - `is_train`: batch norms use the statistics of the batch and dropout drops. Dropout reads the variable
      `__random_key__`, two numbers of int64: a seed, and the number of the run.

    The result is a Symbol like any other: it runs, is saved, and can be differentiated again. Raises ArgumentError for
    a name that the outputs do not depend on, UnsupportedError for an operator that has no gradient.

    >>> x = amp.sym.Variable("x")
    >>> amp.gradient(x * x, ["x"]).eval(x=amp.nd.array([3.0]))[1].asnumpy()
    array([6.], dtype=float32)
    """
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"sym: expected a Symbol, got {type(sym).__name__}")
    names = sym.list_arguments() if wrt is None else [wrt] if isinstance(wrt, str) else list(wrt)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(f"wrt: expected names of variables, got {name!r}")
    heads = [None if head is None else head._handle for head in head_gradients or ()]
    return Symbol(_core.gradient(sym._handle, names, heads, bool(is_train)))
