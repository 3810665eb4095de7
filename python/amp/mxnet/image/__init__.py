"""Pictures: reading, parts, sizes, changes for training, and iterators over files of them."""

from .._missing import getter
from . import image, operators
from .image import *  # noqa: F403
from .operators import *  # noqa: F403

__all__ = ["image", "operators", *dict.fromkeys(operators.__all__ + image.__all__)]
# Both modules have a function of this name; here it is the one that returns the place, too.
random_crop = image.random_crop

__getattr__ = getter(__name__)
