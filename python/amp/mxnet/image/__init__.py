"""Pictures: reading, parts, sizes, changes for training, and iterators over files of them.

They import iterators (`io`), records, `np` and `npx`, never blocks.
"""

from .._missing import getter
from . import augmenters, detection, image, iterator, operators
from .augmenters import *  # noqa: F403
from .detection import *  # noqa: F403
from .image import *  # noqa: F403
from .iterator import ImageIter
from .operators import *  # noqa: F403

__all__ = [
    "ImageIter",
    "augmenters",
    "detection",
    "image",
    "iterator",
    "operators",
    *dict.fromkeys(operators.__all__ + image.__all__ + augmenters.__all__ + detection.__all__),
]
# Two modules have a function of this name; here it is the one that returns the place, too.
random_crop, det = image.random_crop, detection

__getattr__ = getter(__name__)
