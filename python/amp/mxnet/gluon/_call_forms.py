"""What arguments of hybridized blocks may be after `mx.install`: MXNet makes one graph, for arguments of one form.

Without `install` other arguments make another graph. Layers of this package take theirs in several forms.
"""

from ..._core import NDArray
from ...base import ArgumentError
from .. import _generation
from ._nested import leaves_of

_OWN = __name__.partition(".")[0] + "."


def checked(block, args, form):
    """The form of the arguments of a call for which there is no graph yet. `form` is that of the first call, or None.

    Raises ArgumentError, which is a ValueError, for arguments that MXNet refuses: those that are no arrays, arrays of
    several devices, and arrays or None where the first call had something else.
    """
    if not _generation.chosen() or type(block).__module__.startswith(_OWN):
        return form
    name = type(block).__name__
    arrays = [leaf for leaf in leaves_of(args) if leaf is not None]
    for leaf in arrays:
        if not hasattr(leaf, "shape"):
            raise ArgumentError(f"{name}: hybridized blocks take arrays, lists of them and None, got {leaf!r:.80}")
    devices = sorted({leaf._device_id for leaf in arrays if isinstance(leaf, NDArray)})
    if len(devices) > 1:
        raise ArgumentError(f"{name}: hybridized blocks take arrays of one device, got those of {devices}")
    found = _form(args)
    if form not in (None, found):
        raise ArgumentError(f"{name}: the arguments look like {found}, those of the first call like {form}")
    return found


def _form(args):
    """'array', None, or a tuple of such; what is left out at the end is None."""
    if not isinstance(args, (list, tuple)):
        return None if args is None else "array"
    parts = tuple(map(_form, args))
    while parts and parts[-1] is None:
        parts = parts[:-1]
    return parts
