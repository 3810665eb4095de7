"""Names of MXNet that this package does not support, and why."""

import re

from . import _unregistered
from .base import MissingNameError, UnsupportedError, did_you_mean

_SPARSE = "sparse arrays are not supported"
_INT8 = "int8 quantization is not supported; amp.convert_model converts to bfloat16"

# Dotted name below `amp` -> reason.
_REASONS = {
    "nd.random": "random arrays are MXNet's surface; import amp.mxnet",
    "sym._contrib_dequantize": _INT8,
    "sym._contrib_quantize": _INT8,
    "sym._contrib_quantize_v2": _INT8,
    "sym._contrib_requantize": _INT8,
    "sym.contrib.dequantize": _INT8,
    "sym.contrib.quantize": _INT8,
    "sym.contrib.quantize_v2": _INT8,
    "sym.contrib.requantize": _INT8,
}

# Names of operators below `amp`, as regular expressions, and reasons.
_FAMILIES = {
    r"(nd|sym|mxnet\.npx?)\.(\w+\.)*(contrib_)?((de|re)?quantize|quantized_|calibrate_|intgemm_)": _INT8,
    r"(nd|sym)\.(\w+\.)*(dgl_\w+|edge_id|getnnz|retain|cast_storage|_square_sum|SparseEmbedding)$": _SPARSE,
    r"(nd|sym)\.(\w+\.)*(i?fft|count_sketch)$": "MXNet has this operator for GPUs alone",
    r"(nd|sym|mxnet\.npx)\.(\w+\.)*(DeformablePSROIPooling|IdentityAttachKLSparseReg|hawkesll|dynamic_reshape|"
    r"sldwin_atten_\w+|_?backward_\w+)$": "the operator is not supported",
    r"sym\.(\w+\.)*(\w+_update(_phase[12])?|multi_lars|multi_sum_sq|reset_arrays|preloaded_\w+)$": (
        "updates change arrays in place; use mx.nd"
    ),
    r"sym\.(npx\.)?image\.": "pictures are prepared as arrays; use mx.nd.image or mx.npx.image",
    r"sym\.np\.(linalg\.|_internal\.)?(bincount|delete|diag_indices_from|ediff1d|flatnonzero|gcd|histogram|insert|"
    r"interp|lcm|may_share_memory|polyval|resize|rollaxis|shares_memory|tri|tril_indices|unique|unravel_index)$": (
        "NumPy computes it, for arrays of mx.np; graphs have no such operator"
    ),
}


def _reason(dotted_name):
    if dotted_name in _REASONS or dotted_name.rpartition(".")[2].startswith("__"):
        return _REASONS.get(dotted_name)
    found = next((reason for pattern, reason in _FAMILIES.items() if re.match(pattern, dotted_name)), None)
    place, _, name = dotted_name.rpartition(".")
    return found or (_unregistered.reason(name) if place in ("sym", "sym._internal") else None)


def refusing(name, reason):
    """A function in the place of MXNet's that raises UnsupportedError; its attribute `refused` is the reason."""

    def function(*args, **kwargs):
        raise UnsupportedError(f"{name}: {reason}")

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Raises UnsupportedError: {reason}."
    function.refused = reason
    return function


def missing(module, name, candidates=(), reason=None):
    """The error for a module's `__getattr__` to raise: MissingNameError with the reason, else AttributeError."""
    reason = reason or _reason(f"{module}.{name}".partition(".")[2])
    if reason:
        return MissingNameError(f"{module}.{name} is not supported: {reason}")
    hint = "" if name.startswith("__") else did_you_mean(name, [c for c in candidates if not c.startswith("__")])
    return AttributeError(f"module '{module}' has no attribute {name!r}{hint}")


class OfMXNet:
    """Stands in a class for a method that `import amp.mxnet` installs: an AttributeError says so."""

    def __init__(self, name):
        self._name = name

    def __get__(self, instance, owner):
        raise AttributeError(f"{self._name} is part of MXNet's surface; import amp.mxnet")
