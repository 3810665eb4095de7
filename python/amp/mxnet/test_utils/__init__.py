"""What tests of MXNet programs compare and make arrays with. NumPy's arrays and ours may be mixed.

Checks of outputs, gradients, blocks and optimizers are in files of their own; they import all of `amp.mxnet`, and
nothing imports them.
"""

import importlib
import logging
import sys
from collections import OrderedDict
from contextlib import contextmanager

import numpy as np
from numpy import random as rnd

from ... import nd
from .._missing import missing, refusing
from ..context import Context, current_context
from ..util import use_np
from .comparison import (
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
from .consistency import check_consistency
from .forward_checks import check_symbolic_forward, simple_forward
from .gluon_checks import check_gluon_hybridize_consistency
from .gradient_checks import check_numeric_gradient, check_symbolic_backward, numeric_grad
from .matrices import (
    new_matrix_with_real_eigvals_2d,
    new_matrix_with_real_eigvals_nd,
    new_orthonormal_matrix_2d,
    new_sym_matrix_with_real_eigvals_2d,
    new_sym_matrix_with_real_eigvals_nd,
)
from .random_inputs import (
    rand_ndarray,
    rand_shape_2d,
    rand_shape_3d,
    rand_shape_nd,
    random_arrays,
    random_uniform_arrays,
)
from .surroundings import (
    default_context,
    default_device,
    default_dtype,
    discard_stderr,
    environment,
    is_aarch64_run,
    is_cd_run,
    list_gpus,
    set_default_context,
    set_default_device,
)
from .tools import (
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

mx, array = sys.modules[__package__.rpartition(".")[0]], nd.array  # MXNet's tests take these, and np, from here

_NO_NETWORK = "nothing is downloaded from a network; get the file by other means"

download = refusing("test_utils.download", _NO_NETWORK)
download_model = refusing("test_utils.download_model", f"{_NO_NETWORK}, and use amp.load_checkpoint")

# ---- what `from mxnet.test_utils import *` gives, too ----

_MODULES = {
    name: name for name in "bz2 ctypes errno gzip json numbers os platform struct time traceback zipfile".split()
}
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
