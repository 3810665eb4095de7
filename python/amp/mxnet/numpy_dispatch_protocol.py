"""Which functions of NumPy run functions of `mx.np` on its arrays, and decorators of tests of them.

`mx.np.protocols` has the dispatch, which covers more than these lists: they are MXNet's, for each version.
"""

import functools

import numpy as _numpy

from . import _generation
from ._missing import missing

_FUNCTIONS = """
all any sometrue argmin argmax around round round_ argsort sort append broadcast_arrays broadcast_to clip concatenate
copy cumsum diag diagonal diagflat dot expand_dims fix flip flipud fliplr inner insert max amax mean min amin nonzero
ones_like atleast_1d atleast_2d atleast_3d prod product ravel repeat reshape roll split array_split hsplit vsplit dsplit
squeeze stack std sum swapaxes take tensordot tile transpose unique unravel_index diag_indices_from delete var vdot
vstack column_stack hstack dstack zeros_like linalg.norm linalg.cholesky linalg.inv linalg.solve linalg.tensorinv
linalg.tensorsolve linalg.pinv linalg.eigvals linalg.eig linalg.eigvalsh linalg.eigh shape trace tril meshgrid outer
einsum polyval shares_memory may_share_memory quantile percentile diff ediff1d resize where full_like bincount
empty_like nan_to_num isnan isfinite isposinf isneginf isinf pad
""".split()
_FUNCTIONS_OF_2 = "cross flatnonzero interp kron linalg.lstsq linalg.matrix_rank linalg.qr median triu".split()

_UFUNCS = """
abs fabs add arctan2 copysign degrees hypot lcm subtract multiply true_divide negative power mod matmul absolute rint
sign exp log log2 log10 expm1 sqrt square cbrt reciprocal invert bitwise_not remainder sin cos tan sinh cosh tanh arcsin
arccos arctan arcsinh arccosh arctanh maximum minimum ceil trunc floor bitwise_and bitwise_xor bitwise_or logical_not
equal not_equal less less_equal greater greater_equal
""".split()
_UFUNCS_OF_2 = "floor_divide fmax fmin fmod gcd logaddexp logical_and logical_or logical_xor".split()

_LISTS = {
    "_NUMPY_ARRAY_FUNCTION_LIST": (_FUNCTIONS, _FUNCTIONS_OF_2),
    "_NUMPY_ARRAY_UFUNC_LIST": (_UFUNCS, _UFUNCS_OF_2),
}


def _is_in_numpy(dotted_name):
    module, _, name = dotted_name.rpartition(".")
    return hasattr(getattr(_numpy, module) if module else _numpy, name)


def _reporting(protocol):
    def decorator(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            try:
                function(*args, **kwargs)
            except Exception as error:
                raise RuntimeError(f"{function.__name__} failed with NumPy's {protocol} protocol: {error}") from error

        return run

    return decorator


def with_array_function_protocol(func):
    """A decorator: what the function raises comes as a RuntimeError; nothing is returned."""
    return _reporting("array function")(func)


def with_array_ufunc_protocol(func):
    """A decorator: what the function raises comes as a RuntimeError; nothing is returned."""
    return _reporting("array ufunc")(func)


def __getattr__(name):
    if name not in _LISTS:
        raise missing(__name__, name, _LISTS)
    common, of_2 = _LISTS[name]
    names = common if _generation.default().number == 1 else common + of_2
    return [each for each in names if _is_in_numpy(each)]
