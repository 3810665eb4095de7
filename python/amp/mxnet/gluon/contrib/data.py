"""What MXNet keeps in `gluon.contrib.data`: samplers."""

from ..._missing import getter
from ..data.sampler import IntervalSampler

__all__ = ["IntervalSampler"]

__getattr__ = getter(__name__)
