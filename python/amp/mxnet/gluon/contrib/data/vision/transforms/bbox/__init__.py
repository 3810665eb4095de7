"""Changes of pictures with boxes, as blocks, and functions of boxes in `utils`."""

from . import bbox, utils
from .bbox import *  # noqa: F403

__all__ = ["utils", *bbox.__all__]
