"""Invertible functions, and maps from numbers to domains."""

from . import domain_map as _domain_map
from . import transformation
from .domain_map import *  # noqa: F403 - the class takes the module's name here, as in MXNet
from .transformation import *  # noqa: F403

__all__ = [*transformation.__all__, *_domain_map.__all__]
