"""Which functions of `mx.np` run operators, by name.

An argument that is an array of NumPy, a list or a number becomes an `ndarray`. `out=` is an array to write to.
"""

import functools

from . import binary, elementwise, matrices, products, rearrange, reductions, sets, shapes, statistics
from .elementwise import BINARY, UNARY, UNARY_SYNONYMS
from .examples import with_example
from .numpy_fallback import otherwise

_NAMED = {
    elementwise: "around clip result_type where",
    matrices: "cross diag diagflat diagonal inner kron outer trace tril triu vdot",
    rearrange: "append broadcast_arrays delete diff dsplit ediff1d fliplr flipud hsplit insert meshgrid nan_to_num "
    "ndim pad polyval roll rollaxis rot90 shape size take_along_axis vsplit",
    products: "einsum tensordot",
    reductions: "cumsum dot matmul max min take",
    sets: "unique_all unique_counts unique_inverse unique_values",
    shapes: "array_split atleast_1d atleast_2d atleast_3d broadcast_to column_stack concatenate copy dstack "
    "expand_dims flip hstack moveaxis ravel repeat reshape split squeeze stack swapaxes tile transpose vstack",
    statistics: "argsort average count_nonzero median percentile ptp quantile sort",
}
FUNCTIONS = {name: getattr(module, name) for module, names in _NAMED.items() for name in names.split()}
FUNCTIONS.update(concat=shapes.concatenate, permute_dims=shapes.transpose, row_stack=shapes.vstack)
FUNCTIONS.update(round=elementwise.around, round_=elementwise.around)
FUNCTIONS.update(amax=reductions.max, amin=reductions.min, **reductions.MADE)
FUNCTIONS.update(alltrue=FUNCTIONS["all"], sometrue=FUNCTIONS["any"], product=FUNCTIONS["prod"])  # NumPy 1's
# Made when they are asked for.
_MAKERS = {
    **dict.fromkeys([*UNARY, *UNARY_SYNONYMS], elementwise.unary),
    **dict.fromkeys(BINARY, elementwise.binary),
    **dict.fromkeys(("maximum", "minimum"), elementwise.extreme),
    **dict.fromkeys(binary.NAMES, lambda name: otherwise(binary.pair(name))),
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
