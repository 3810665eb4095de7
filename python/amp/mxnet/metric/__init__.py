"""Metrics: running averages of what a model gets right. Names and numbers are those of MXNet 1.9.1.

`metric.update(labels, preds)` takes lists of arrays; `metric.get()` is (name, value), NaN before the first update.
Each file has the metrics of a kind; they import `eval_metric`, their base, and nothing else of `amp.mxnet`.
"""

from .._missing import getter
from .classification import F1, MCC, PCC, Accuracy, TopKAccuracy
from .composite import CompositeEvalMetric, create
from .custom import CustomMetric, np
from .eval_metric import EvalMetric, alias, check_label_shapes, register
from .likelihood import Caffe, CrossEntropy, Loss, NegativeLogLikelihood, Perplexity, Torch
from .regression import MAE, MSE, RMSE, PearsonCorrelation

__all__ = [
    "MAE",
    "MCC",
    "MSE",
    "PCC",
    "RMSE",
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "F1",
    "Loss",
    "NegativeLogLikelihood",
    "PearsonCorrelation",
    "Perplexity",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]

__getattr__ = getter(__name__)
