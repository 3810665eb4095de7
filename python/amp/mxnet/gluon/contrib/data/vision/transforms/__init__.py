"""Changes of pictures with boxes."""

from . import bbox
from .bbox import *  # noqa: F403

__all__ = bbox.__all__
