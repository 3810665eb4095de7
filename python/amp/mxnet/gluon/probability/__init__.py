"""Probability distributions, transformations of them, and blocks that collect losses: MXNet 2's `gluon.probability`.

Distributions take and give `mx.np` arrays; numbers serve as parameters, too. `sample(size)` draws an array of shape
`size`, by default that of the parameters, and `sample_n(size)` draws `size` times as much. Gradients reach parameters
through `log_prob`, and through samples where `has_grad` says so.
"""

from .block import *  # noqa: F403
from .distributions import *  # noqa: F403
from .transformation import *  # noqa: F403

from . import block, distributions, transformation  # isort: skip
from .distributions import constraint, utils  # noqa: F401

__all__ = [*block.__all__, *distributions.__all__, *transformation.__all__]
