"""What MXNet keeps in `gluon.contrib`: `estimator`, a loop of training that event handlers hook into."""

from ..._missing import getter
from . import estimator

__all__ = ["estimator"]

__getattr__ = getter(__name__)
