"""Trains each estimator of GluonTS for a few batches, saves its predictor, reads it again and predicts.

One line for each, `ok <name>` or `failed <name>: <why>`; the numbers before and after saving agree.
"""

import tempfile
import warnings
from pathlib import Path

import mxnet as mx
import numpy as np
import pandas as pd

warnings.simplefilter("ignore")

from gluonts.dataset.common import ListDataset  # noqa: E402
from gluonts.model.predictor import Predictor  # noqa: E402
from gluonts.mx import (  # noqa: E402
    DeepAREstimator,
    DeepFactorEstimator,
    DeepStateEstimator,
    DeepVAREstimator,
    GaussianProcessEstimator,
    GPVAREstimator,
    MQCNNEstimator,
    MQRNNEstimator,
    NBEATSEstimator,
    SimpleFeedForwardEstimator,
    TemporalFusionTransformerEstimator,
    Trainer,
    TransformerEstimator,
    WaveNetEstimator,
)
from gluonts.mx.distribution import StudentTOutput  # noqa: E402

FREQUENCY, LENGTH, CONTEXT = "D", 4, 8
START = pd.Period("2021-01-01", FREQUENCY)


def series(count=6, targets=1):
    """Noisy waves; with several targets they are rows of one series."""
    draw = np.random.default_rng(0)
    waves = 10 + np.sin(np.arange(120) / 7)[None] + 0.1 * draw.standard_normal((count, 120))
    if targets > 1:
        return ListDataset([{"start": START, "target": waves[:targets]}], freq=FREQUENCY, one_dim_target=False)
    entries = [{"start": START, "target": wave, "feat_static_cat": [i]} for i, wave in enumerate(waves)]
    return ListDataset(entries, freq=FREQUENCY)


def estimators():
    """{name: (a function that makes it, data)}"""
    trainer = {"trainer": Trainer(epochs=1, num_batches_per_epoch=3, hybridize=True)}
    common = {"freq": FREQUENCY, "prediction_length": LENGTH, **trainer}
    without_frequency = {"prediction_length": LENGTH, **trainer}
    one, several = series(), series(targets=3)
    categories = {"use_feat_static_cat": True, "cardinality": [6]}
    return {
        "DeepAR": (lambda: DeepAREstimator(**common, context_length=CONTEXT, num_parallel_samples=5), one),
        "SimpleFeedForward": (
            lambda: SimpleFeedForwardEstimator(
                **without_frequency, context_length=CONTEXT, distr_output=StudentTOutput()
            ),
            one,
        ),
        "WaveNet": (lambda: WaveNetEstimator(**common, num_parallel_samples=5), one),
        "MQCNN": (lambda: MQCNNEstimator(**common, context_length=CONTEXT), one),
        "MQRNN": (lambda: MQRNNEstimator(**common, context_length=CONTEXT), one),
        "TemporalFusionTransformer": (
            lambda: TemporalFusionTransformerEstimator(**common, context_length=CONTEXT, hidden_dim=8, num_heads=2),
            one,
        ),
        "Transformer": (lambda: TransformerEstimator(**common, context_length=CONTEXT, num_parallel_samples=5), one),
        "NBEATS": (
            lambda: NBEATSEstimator(**common, context_length=CONTEXT, num_stacks=2),
            one,
        ),
        "DeepState": (lambda: DeepStateEstimator(**common, num_parallel_samples=5, **categories), one),
        "DeepFactor": (lambda: DeepFactorEstimator(**without_frequency, freq=FREQUENCY, cardinality=[6]), one),
        "GaussianProcess": (lambda: GaussianProcessEstimator(**common, cardinality=6, num_parallel_samples=5), one),
        "DeepVAR": (lambda: DeepVAREstimator(**common, target_dim=3, num_parallel_samples=5), several),
        "GPVAR": (lambda: GPVAREstimator(**common, target_dim=3, num_parallel_samples=5), several),
    }


def run(make, data):
    """Raises where something fails, or numbers differ."""
    predictor = make().train(data)
    mx.random.seed(1), np.random.seed(1)
    before = [np.asarray(forecast.quantile(0.5)) for forecast in predictor.predict(data)]
    with tempfile.TemporaryDirectory() as folder:
        predictor.serialize(Path(folder))
        again = Predictor.deserialize(Path(folder))
        mx.random.seed(1), np.random.seed(1)
        after = [np.asarray(forecast.quantile(0.5)) for forecast in again.predict(data)]
    assert len(before) == len(after) > 0 and all(np.isfinite(numbers).all() for numbers in before), "no finite numbers"
    for first, second in zip(before, after):
        np.testing.assert_allclose(first, second, rtol=1e-3, atol=1e-3)


if __name__ == "__main__":
    for name, (make, data) in estimators().items():
        try:
            run(make, data)
        except Exception as error:
            print(f"failed {name}: {type(error).__name__}: {' '.join(str(error).split())[:200]}", flush=True)
        else:
            print(f"ok {name}", flush=True)
