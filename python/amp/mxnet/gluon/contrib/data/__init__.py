"""What MXNet keeps in `gluon.contrib.data`: samplers, and loaders of pictures in `vision`."""

from ...._missing import getter
from ...data.sampler import IntervalSampler

__all__ = ["IntervalSampler"]

__getattr__ = getter(__name__, on_demand=("vision",))
