"""Pictures with boxes: batches of them, and changes for training."""

from .._missing import getter
from ._det_augmenters import *  # noqa: F403
from ._det_augmenters import __all__ as _augmenters
from ._det_iterator import ImageDetIter

__all__ = [*_augmenters, "ImageDetIter"]

__getattr__ = getter(__name__)
