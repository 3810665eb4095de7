"""Which functions of `mx.np` run operators, by name.

An argument that is an array of NumPy, a list or a number becomes an `ndarray`. `out=` is an array to write to.
"""

import functools

from . import elementwise, products, reductions, shapes
from .elementwise import BINARY, UNARY, UNARY_SYNONYMS
from .examples import with_example

_NAMED = {
    elementwise: "around clip where",
    products: "einsum tensordot",
    reductions: "argsort cumsum dot matmul max min take",
    shapes: "array_split atleast_1d atleast_2d atleast_3d broadcast_to column_stack concatenate copy dstack "
    "expand_dims flip hstack moveaxis ravel repeat reshape split squeeze stack swapaxes tile transpose vstack",
}
FUNCTIONS = {name: getattr(module, name) for module, names in _NAMED.items() for name in names.split()}
FUNCTIONS.update(concat=shapes.concatenate, row_stack=shapes.vstack, round=elementwise.around)
FUNCTIONS.update(amax=reductions.max, amin=reductions.min, **reductions.MADE)
# Made when they are asked for.
_MAKERS = {
    **dict.fromkeys([*UNARY, *UNARY_SYNONYMS], elementwise.unary),
    **dict.fromkeys(BINARY, elementwise.binary),
    **dict.fromkeys(("maximum", "minimum"), elementwise.extreme),
}


@functools.cache
def find(name):
    """The function `mx.np.<name>`; None where no operator stands behind that name."""
    if name not in _MAKERS:
        return FUNCTIONS.get(name)
    function = _MAKERS[name](name)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = with_example(
        name,
        f"NumPy's `{name}`, element by element, on `ndarray`s; `out` is an array to write to.\n\n    "
        "Shapes broadcast. Raises ArgumentError for what is no array of numbers, GraphError for shapes and dtypes\n"
        "    that the operator does not take.",
    )
    return function


def names():
    """All names that `find` knows."""
    return [*FUNCTIONS, *_MAKERS]
