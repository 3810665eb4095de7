"""What MXNet keeps in `gluon.contrib`: `estimator`, a loop of training that event handlers hook into, and layers."""

from ..._missing import getter
from . import cnn, data, estimator, nn, rnn

__all__ = ["cnn", "data", "estimator", "nn", "rnn"]

__getattr__ = getter(__name__)
