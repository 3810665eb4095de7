"""Loaders of pictures, and of pictures with boxes, with the changes for training that belong to them."""

from . import dataloader, transforms
from .dataloader import *  # noqa: F403
from .transforms import *  # noqa: F403

__all__ = [*dataloader.__all__, *transforms.__all__]
