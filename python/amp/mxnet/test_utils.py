"""What tests of MXNet programs compare and make arrays with. NumPy's arrays and ours may be mixed."""

import contextlib
import importlib
import logging
import os
import sys
from collections import OrderedDict
from contextlib import contextmanager

import numpy as np
from numpy import random as rnd

from .. import nd
from .._arrays import readable
from ..base import UnsupportedError
from . import random
from ._array_comparison import (
    almost_equal,
    assert_allclose,
    assert_almost_equal,
    assert_almost_equal_ignore_nan,
    assert_almost_equal_with_err,
    assert_exception,
    find_max_violation,
    get_atol,
    get_etol,
    get_rtol,
    same,
    same_array,
    same_symbol_structure,
)
from ._consistency import check_consistency
from ._gluon_checks import check_gluon_hybridize_consistency
from ._gradient_checks import check_numeric_gradient, check_symbolic_backward, numeric_grad
from ._missing import missing, refusing
from ._test_arrays import arrays_of, states_of
from ._test_matrices import (
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
)
from ._test_tools import (
    DummyIter,
    assign_each,
    assign_each2,
    check_speed,
    chi_square_check,
    collapse_sum_like,
    compare_ndarray_tuple,
    compare_optimizer,
    compare_optimizer_noise_seeded,
    create_2d_tensor,
    create_vector,
    default_atols,
    default_numeric_eps,
    default_rtols,
    effective_dtype,
    gen_buckets_probs_with_ppf,
    get_identity_mat,
    get_identity_mat_batch,
    get_tolerance,
    get_tols,
    has_tvm_ops,
    is_op_runnable,
    mean_check,
    np_reduce,
    rand_coord_2d,
    random_sample,
    retry,
    var_check,
    verify_generator,
)
from .context import Context, current_context
from .util import use_np

__all__ = [
    "Context",
    "DummyIter",
    "OrderedDict",
    "almost_equal",
    "array",
    "assert_allclose",
    "assert_almost_equal",
    "assert_almost_equal_ignore_nan",
    "assert_almost_equal_with_err",
    "assert_exception",
    "assign_each",
    "assign_each2",
    "check_consistency",
    "check_gluon_hybridize_consistency",
    "check_numeric_gradient",
    "check_speed",
    "check_symbolic_backward",
    "check_symbolic_forward",
    "chi_square_check",
    "collapse_sum_like",
    "compare_ndarray_tuple",
    "compare_optimizer",
    "compare_optimizer_noise_seeded",
    "contextmanager",
    "create_2d_tensor",
    "create_vector",
    "current_context",
    "default_atols",
    "default_context",
    "default_device",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "discard_stderr",
    "download",
    "download_model",
    "effective_dtype",
    "environment",
    "find_max_violation",
    "gen_buckets_probs_with_ppf",
    "get_atol",
    "get_etol",
    "get_identity_mat",
    "get_identity_mat_batch",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "has_tvm_ops",
    "is_aarch64_run",
    "is_cd_run",
    "is_op_runnable",
    "list_gpus",
    "logging",
    "mean_check",
    "mx",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np",
    "np_reduce",
    "numeric_grad",
    "os",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
    "retry",
    "rnd",
    "same",
    "same_array",
    "same_symbol_structure",
    "set_default_context",
    "set_default_device",
    "simple_forward",
    "sys",
    "use_np",
    "var_check",
    "verify_generator",
]

mx, array = sys.modules[__package__], nd.array  # MXNet's tests take these, and np, from here

# ---- arrays ----


def rand_shape_2d(dim0=10, dim1=10, allow_zero_size=False):
    """A random shape (m, n), with m from 1 (or 0) up to dim0 and n up to dim1.

    >>> len(mx.test_utils.rand_shape_2d())
    2
    """
    return _shape((dim0, dim1), allow_zero_size)


def rand_shape_3d(dim0=10, dim1=10, dim2=10, allow_zero_size=False):
    """A random shape of three dimensions; see `rand_shape_2d`.

    >>> len(mx.test_utils.rand_shape_3d())
    3
    """
    return _shape((dim0, dim1, dim2), allow_zero_size)


def rand_shape_nd(num_dim, dim=10, allow_zero_size=False):
    """A random shape of `num_dim` dimensions up to `dim`.

    >>> len(mx.test_utils.rand_shape_nd(5))
    5
    """
    return _shape((dim,) * num_dim, allow_zero_size)


def _shape(limits, allow_zero_size):
    return tuple(int(random.generator().integers(0 if allow_zero_size else 1, limit + 1)) for limit in limits)


def rand_ndarray(shape, stype="default", density=None, dtype=None, distribution=None, ctx=None, **options):
    """A dense NDArray of normally distributed numbers; raises UnsupportedError for sparse ones.

    >>> mx.test_utils.rand_ndarray((2, 3)).shape
    (2, 3)
    """
    if stype != "default":
        raise UnsupportedError(f"rand_ndarray: arrays are dense, got stype {stype!r}")
    return nd.array(random_arrays(tuple(shape)), dtype=dtype or "float32")


def random_arrays(*shapes):
    """NumPy arrays of normally distributed numbers; one array for one shape, else a list.

    >>> mx.test_utils.random_arrays((2, 3)).shape
    (2, 3)
    """
    arrays = [np.asarray(random.generator().normal(size=shape), dtype=default_dtype()) for shape in shapes]
    return arrays[0] if len(arrays) == 1 else arrays


def random_uniform_arrays(*shapes, low=0.0, high=1.0, dtype=None):
    """NumPy arrays of uniformly distributed numbers, a list.

    >>> [array.shape for array in mx.test_utils.random_uniform_arrays((2, 3), (4,))]
    [(2, 3), (4,)]
    """
    dtype = dtype or default_dtype()
    return [np.asarray(random.generator().uniform(low, high, shape), dtype=dtype) for shape in shapes]


# ---- surroundings ----


def default_context():
    """The device that tests use: the current one.

    >>> mx.test_utils.default_context()
    cpu(0)
    """
    return current_context()


default_device = default_context


def set_default_context(ctx):
    """Makes a device the one outside of `with` blocks.

    >>> mx.test_utils.set_default_context(mx.cpu())
    """
    Context.set_default(ctx)


set_default_device = set_default_context


def default_dtype():
    """numpy.float32

    >>> mx.test_utils.default_dtype()
    <class 'numpy.float32'>
    """
    return np.float32


def list_gpus():
    """[]

    >>> mx.test_utils.list_gpus()
    []
    """
    return []


def is_cd_run():
    """Whether the variable CD_JOB is 1.

    >>> mx.test_utils.is_cd_run() in (True, False)
    True
    """
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run():
    """Whether this is an ARM machine with 64 bits.

    >>> mx.test_utils.is_aarch64_run() in (True, False)
    True
    """
    return os.uname().machine == "aarch64"


@contextlib.contextmanager
def environment(*args):
    """A scope with environment variables: environment(name, value) or environment({name: value}); None removes one.

    >>> with mx.test_utils.environment("AMP_EXAMPLE", "1"):
    ...     print(mx.util.getenv("AMP_EXAMPLE"))
    1
    """
    wanted = dict(args[0]) if len(args) == 1 else dict([args])
    before = {name: os.environ.get(name) for name in wanted}
    try:
        _set_variables(wanted)
        yield
    finally:
        _set_variables(before)


def _set_variables(variables):
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = str(value)


@contextlib.contextmanager
def discard_stderr():
    """A scope without standard error, that of C++ included.

    >>> with mx.test_utils.discard_stderr():
    ...     pass
    """
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
            sys.stderr.flush()
    finally:
        os.dup2(kept, 2)
        os.close(kept)


_NO_NETWORK = "nothing is downloaded from a network; get the file by other means"

download = refusing("test_utils.download", _NO_NETWORK)
download_model = refusing("test_utils.download_model", f"{_NO_NETWORK}, and use amp.load_checkpoint")


# ---- running ----


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


# ---- what `from mxnet.test_utils import *` gives, too ----

_MODULES = {name: name for name in "bz2 ctypes errno gzip json numbers platform struct time traceback zipfile".split()}
_MODULES["npt"] = "numpy.testing"
_NO_DATA = "downloads and data sets are not supported; pass files of your own"
_NO_SPARSE = "sparse arrays are not supported"
_REFUSED = {
    **dict.fromkeys("get_bz2_data get_cifar10 get_mnist get_mnist_iterator get_mnist_pkl".split(), _NO_DATA),
    **dict.fromkeys("get_mnist_ubyte get_zip_data".split(), _NO_DATA),
    **dict.fromkeys("create_sparse_array create_sparse_array_zd rand_sparse_ndarray".split(), _NO_SPARSE),
    **dict.fromkeys("get_im2rec_path shuffle_csr_column_indices".split(), "a tool of MXNet's own sources"),
}
globals().update({name: refusing(f"test_utils.{name}", reason) for name, reason in _REFUSED.items()})
__all__ += [*_MODULES, *_REFUSED]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    raise missing(__name__, name, __all__)
