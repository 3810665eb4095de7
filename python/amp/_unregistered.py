"""Why operators of MXNet are not registered here: by name, for errors and for the table in the documentation."""

import re

from . import _core
from .base import did_you_mean

INT8 = "int8 quantization is not supported; amp.convert_model converts to bfloat16"
SPARSE = "sparse arrays are not supported"
GPU = "MXNet has this operator for GPUs alone"
ENGINE = "a part of MXNet's own engine, which no file holds"
GRADIENT = "a gradient of MXNet's own plans, which no file holds"
BROKEN = "MXNet's own wheels fail in it"
UPDATES = "updates change arrays in place; use mx.nd"
PICTURES = "pictures are prepared as arrays; use mx.nd.image, mx.npx.image or mx.image"

PYTHON = "it runs in Python; import amp.mxnet"

# Registered names as regular expressions, and reasons.
_FAMILIES = {
    r".*backward.*": GRADIENT,
    r"_npx_intgemm_.*|_contrib_intgemm_.*|.*quantize.*|.*_calibrate_entropy": INT8,
    r"_contrib_dgl_.*|_contrib_edge_id|_contrib_getnnz|_contrib_SparseEmbedding|_(sparse_)?square_sum|_sparse_retain|"
    r"_sparse_adagrad_update|(_sparse_)?cast_storage": SPARSE,
    r"_contrib_i?fft|_contrib_count_sketch": GPU,
    r"_CachedOp(ThreadSafe)?|_CrossDeviceCopy|_CustomFunction|_NDArray|_Native|_NoGradient": ENGINE,
    r"(?!_npx).*_update(_phase[12])?|multi_lars|multi_sum_sq|reset_arrays": UPDATES,
    r"_image_.*|_npx__image_.*|(_npi)?_cv(imdecode|imread|imresize|copyMakeBorder)|_npi_cvim\w+": PICTURES,
    r"_imdecode": BROKEN,
    r"_npi_(solve|svd|qr|eig|eigvals|eigh|eigvalsh|pinv|pinv_scalar_rcond|tensorinv|tensorsolve|lstsq|matrix_rank|"
    r"matrix_rank_none_tol)|_npi_(kron|cross|rollaxis|polyval|interp|ediff1d|diag_indices_from|fill_diagonal|tri|"
    r"tril_indices|gcd_scalar|lcm_scalar|share_memory|repeats|advanced_indexing|insert_(scalar|slice|tensor)|nonzero|"
    r"bincount|unique|delete)|_(npi_)?(slice_assign(_scalar)?|scatter_set_nd)|_crop_assign(_scalar)?|"
    r"_npi_boolean_mask(_assign_(scalar|tensor))?|_npx_(constraint_check|nonzero)|_zeros_without_dtype|_onehot_encode|"
    r"fill_element_0index|_contrib_(dynamic_reshape|boolean_mask|DeformablePSROIPooling)|"
    r"IdentityAttachKLSparseReg": PYTHON,
}

_OF_PROGRAMS = (
    ". docs/operators_of_mxnet.md lists all that are; an operator that a program brings is a class of "
    "mx.operator.CustomOp, which graphs have as Custom"
)


def reason(name):
    """Why there is no operator of this name, or None for a name without a reason."""
    return next((why for pattern, why in _FAMILIES.items() if re.fullmatch(pattern, name)), None)


def explained(error):
    """An error that lists the unknown operators of a file, with the reason behind each name."""
    text, mark, names = str(error).partition("operators that are not registered: ")
    if not mark:
        return error
    names = names.split(", ")
    own = "" if all(map(reason, names)) else _OF_PROGRAMS
    return type(error)(text + mark + ", ".join(map(_with_reason, names)) + own)


def _with_reason(name):
    why = reason(name) or did_you_mean(name, _core.operator_names()).removeprefix("; ")
    return f"{name} ({why})" if why else name
