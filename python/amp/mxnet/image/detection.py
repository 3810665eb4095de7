"""Pictures with boxes: batches of them, and changes for training."""

from .._missing import getter
from ._det_augmenters import *  # noqa: F403
from ._det_augmenters import __all__ as _augmenters
from ._det_iterator import ImageDetIter
from .augmenters import *  # noqa: F403 - MXNet's module has what it imports, too
from .image import *  # noqa: F403
from .iterator import ImageIter  # noqa: F401

__all__ = [*_augmenters, "ImageDetIter"]

__getattr__ = getter(__name__)
