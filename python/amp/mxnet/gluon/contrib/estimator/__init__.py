"""Training of a Gluon network without a loop of one's own.

`Estimator.fit` runs epochs and batches; event handlers log, validate, save checkpoints and stop. A run that was killed
goes on from its last checkpoint, with the same bits, see `CheckpointHandler`.
"""

from ...._missing import getter
from . import batch_processor, event_handler, utils
from .batch_processor import BatchProcessor
from .curve_handlers import CSVHandler, ProgressBarHandler, TensorBoardHandler
from .estimator import Estimator
from .event_handler import (
    BatchBegin,
    BatchEnd,
    CheckpointHandler,
    EarlyStoppingHandler,
    EpochBegin,
    EpochEnd,
    EventHandler,
    FiniteLossHandler,
    GradientUpdateHandler,
    LoggingHandler,
    MetricHandler,
    StoppingHandler,
    TrainBegin,
    TrainEnd,
    ValidationHandler,
)

__all__ = [
    "BatchBegin",
    "BatchEnd",
    "BatchProcessor",
    "CSVHandler",
    "CheckpointHandler",
    "EarlyStoppingHandler",
    "EpochBegin",
    "EpochEnd",
    "Estimator",
    "EventHandler",
    "FiniteLossHandler",
    "GradientUpdateHandler",
    "LoggingHandler",
    "MetricHandler",
    "ProgressBarHandler",
    "StoppingHandler",
    "TensorBoardHandler",
    "TrainBegin",
    "TrainEnd",
    "ValidationHandler",
    "batch_processor",
    "event_handler",
    "utils",
]

__getattr__ = getter(__name__)
