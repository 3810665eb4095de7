"""How functions run operators."""

from ..._invoke import invoke
from .array_class import ndarray
from .create import asarray


def run(op, arrays, attributes=None, out=None):
    """The operator on arrays, or on what becomes one; a list where it has several outputs."""
    outputs = invoke(op, [asarray(a) for a in arrays], {}, attributes or {}, out, ndarray)
    return outputs[0] if len(outputs) == 1 else outputs


def into(result, out):
    """`result`, or `out` after it was written there."""
    if out is None:
        return result
    out[:] = result
    return out
