"""Which nodes keep small numbers: the alternate implementation of sums of products."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import _core
from .base import ArgumentError
from .sym import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

MODES = ("auto", "f32", "scaled")


@contextmanager
def alternate(
    forward: bool | None = None, backward: bool | None = None, mode: Literal["auto", "f32", "scaled"] | None = None
) -> Iterator[None]:
    """`with alternate(...):` says which nodes keep numbers below 1.18e-38, which bfloat16 instructions treat as zero.

    It holds for plans that this thread builds inside of the block (executors, bound symbols, hybridized blocks) and for
    operators that it runs on arrays. What is None stays as it is: as an outer block says, then as the environment
    variables AMP_BF16_ALT_IMPL and AMP_BF16_ALT_MODE do, and at last: backward nodes only, in mode 'auto'.

    - `forward`, `backward`: whether nodes of this phase run their alternate implementation. A node with the attribute
      `__alt_impl__` ('0' or '1') follows that.
    - `mode`: 'auto' looks at the operands of each run and uses bfloat16 instructions where they lose nothing that
      matters; 'f32' multiplies in float32; 'scaled' scales the operands by powers of two, where that is exact.

    Raises ArgumentError for other values. See docs/denormals.md.

    >>> import ml_dtypes  # NumPy knows "bfloat16" by it
    >>> x = np.full((1, 1), 2.0**-127, dtype="bfloat16")
    >>> with amp.alternate(forward=True, mode="f32"):
    ...     run = amp.Executor(amp.sym.dot(amp.sym.Variable("x"), amp.sym.Variable("y")), {}, {},
    ...                        {"x": (1, 1), "y": (1, 1)}, input_dtypes="bfloat16", machine="any")
    >>> float(run(x, np.ones((1, 1), dtype="bfloat16"))[0].asnumpy()[0, 0]) == 2.0**-127
    True
    """
    for name, given in (("forward", forward), ("backward", backward)):
        if given is not None and not isinstance(given, bool):
            raise ArgumentError(f"{name}: expected None, True or False, got {given!r}")
    if mode is not None and mode not in MODES:
        raise ArgumentError(f"mode: expected None, 'auto', 'f32' or 'scaled', got {mode!r}")
    scope = _core.AlternateScope(forward, backward, mode)
    try:
        yield
    finally:
        del scope


def mark_backward(sym: Symbol, boundary: str | Collection[str]) -> Symbol:
    """The Symbol whose backward nodes are those that descend from `boundary`, a list of names of nodes.

    Imported training graphs do not say where their backward pass begins. The boundary are the variables that hold the
    gradients of outputs, or the operator that stands between both passes, which is marked itself. What the subgraphs of
    a marked node hold is marked, too. Files keep the mark as the attribute `__backward__`. An empty boundary takes all
    marks away. Raises ArgumentError for a name that the symbol does not have.

    >>> y = amp.sym.exp(amp.sym.Variable("x"), name="y")
    >>> gradient = amp.sym.elemwise_mul(y, amp.sym.Variable("head"), name="dy")
    >>> amp.mark_backward(gradient, ["head"]).attr_dict()
    {'dy': {'__backward__': '1'}}
    """
    if not isinstance(sym, Symbol):
        raise ArgumentError(f"sym: expected a Symbol, got {type(sym).__name__}")
    names = [boundary] if isinstance(boundary, str) else boundary
    if not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"boundary: expected names of nodes, got {boundary!r}")
    return Symbol(_core.mark_backward(sym._handle, list(names)))


@contextmanager
def phase_of_operators(is_backward):
    """Whether operators that the thread runs on arrays inside of the block count as backward ones."""
    guard = _core.BackwardGuard(is_backward)
    try:
        yield
    finally:
        del guard


def added_counts(*counts):
    """Counts of several plans of one model, by node."""
    total = {}
    for plan in counts:
        for node, entry in plan.items():
            known = total.setdefault(node, {**dict.fromkeys(entry, 0), "phase": entry["phase"]})
            for what in entry.keys() - {"phase"}:
                known[what] += entry[what]
    return total
