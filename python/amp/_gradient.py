"""Gradients as graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _core
from .base import ArgumentError
from .sym import Group, Symbol, Variable

if TYPE_CHECKING:
    from collections.abc import Sequence


def gradient(
    sym: Symbol,
    wrt: str | Sequence[str] | None = None,
    *,
    head_gradients: Sequence[Symbol | None] | None = None,
    is_train: bool = True,
) -> Symbol:
    """The graph of the gradients of `sym`: a Symbol with one output for each name.

    The gradients are those of the sum of all outputs, each times its head gradient.

    - `wrt`: names of variables, in the order of the gradients; None: all arguments. The gradient of `x` is called
      `x_grad`.
    - `head_gradients`: one Symbol for each output; where one is None or missing, ones. Without the list they are
      variables, `<output>_head_grad`. Losses such as SoftmaxOutput ignore theirs.
    - `is_train`: batch norms use the statistics of the batch and dropout drops. Dropout reads the variable
      `__random_key__`, two numbers of int64: a seed, and the number of the run.

    The result is a Symbol like any other: it runs, is saved, and can be differentiated again. Raises ArgumentError for
    a name that the outputs do not depend on, UnsupportedError for an operator that has no gradient.

    >>> x = amp.sym.Variable("x")
    >>> square = amp.sym.square(x, name="square")
    >>> sorted(amp.gradient(square).list_arguments())
    ['square_output_head_grad', 'x']
    >>> amp.gradient(square, ["x"], head_gradients=[None]).eval(x=amp.nd.array([3.0]))[0].asnumpy()
    array([6.], dtype=float32)
    """
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"sym: expected a Symbol, got {type(sym).__name__}")
    names = sym.list_arguments() if wrt is None else [wrt] if isinstance(wrt, str) else list(wrt)
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(f"wrt: expected names of variables, got {name!r}")
    outputs = sym.list_outputs()
    if head_gradients is None:
        head_gradients = [Variable(f"{output}_head_grad") for output in outputs]
    heads = [None if head is None else head._handle for head in head_gradients]
    both = Symbol(_core.gradient(sym._handle, names, heads, bool(is_train)))
    return Group([both[i] for i in range(len(outputs), len(outputs) + len(names))])
