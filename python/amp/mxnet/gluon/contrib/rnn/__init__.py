"""What MXNet keeps in `gluon.contrib.rnn`: cells of convolutions, with projections, with dropout by sequences."""

from . import conv_rnn_cell, rnn_cell
from .conv_rnn_cell import *  # noqa: F403 - nine cells
from .rnn_cell import *  # noqa: F403

__all__ = [*conv_rnn_cell.__all__, *rnn_cell.__all__]
