"""Names of MXNet that this package does not support, and why."""

from .base import MissingNameError, UnsupportedError, did_you_mean

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
    reason = reason or _REASONS.get(f"{module}.{name}".partition(".")[2])
    if reason:
        return MissingNameError(f"{module}.{name} is left out: {reason}")
    hint = "" if name.startswith("__") else did_you_mean(name, [c for c in candidates if not c.startswith("__")])
    return AttributeError(f"module '{module}' has no attribute {name!r}{hint}")


class OfMXNet:
    """Stands in a class for a method that `import amp.mxnet` installs: an AttributeError says so."""

    def __init__(self, name):
        self._name = name

    def __get__(self, instance, owner):
        raise AttributeError(f"{self._name} is part of MXNet's surface; import amp.mxnet")
