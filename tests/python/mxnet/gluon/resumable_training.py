"""A training that resumes where it was killed: resumable_training.py FOLDER RESULT EPOCH_PERIOD BATCH_PERIOD [HOLD].

Periods are those of checkpoints, 0 for never. With HOLD batches are slow, and after that many of them it waits to be
killed. RESULT gets the parameters at the end, and FOLDER/curves.csv the values of metrics.
"""

import sys
import time
import warnings

import numpy as np

import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon.contrib import estimator as estimators

EPOCHS, BATCHES = 4, 7  # of an epoch


class Hold(estimators.BatchEnd):
    priority = 2000  # when the checkpoint of a batch is written

    def __init__(self, batches):
        self.left = batches

    def batch_end(self, estimator, *args, **kwargs):
        if self.left is not None:
            self.left -= 1
            time.sleep(0.01 if self.left else 600)


class Slower(estimators.EpochEnd):
    """Changes the trainer, behind the checkpoint handler in the list."""

    def epoch_end(self, estimator, *args, **kwargs):
        estimator.trainer.set_learning_rate(0.9 * estimator.trainer.learning_rate)


def loader(seed):
    rng = np.random.default_rng(seed)
    data = rng.standard_normal((BATCHES * 8 - 3, 6)).astype("float32")
    label = (data[:, 0] > data[:, 1]).astype("float32")
    noisy = gluon.data.ArrayDataset(data, label).transform_first(
        lambda x: x + 0.01 * np.random.standard_normal(6).astype("float32")
    )
    return gluon.data.DataLoader(noisy, batch_size=8, shuffle=True)


def network():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(16, activation="relu"), gluon.nn.Dropout(0.5), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
    net.hybridize()
    return net


def train(folder, epoch_period, batch_period, hold=None):
    """The trained network and the estimator."""
    mx.random.seed(3)
    np.random.seed(5)
    net = network()
    net.initialize(mx.init.Xavier())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = estimators.Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    estimator.logger.setLevel("ERROR")
    handlers = [
        estimators.CheckpointHandler(
            str(folder),
            monitor=estimator.train_metrics[0],
            save_best=True,
            epoch_period=epoch_period or None,
            batch_period=batch_period or None,
            resume_from_checkpoint=True,
        ),
        estimators.EarlyStoppingHandler(estimator.val_metrics[0], patience=10),
        estimators.CSVHandler(f"{folder}/curves.csv", batch_period=2),
        Hold(hold),
        Slower(),
    ]
    estimator.fit(loader(0), val_data=loader(1), epochs=EPOCHS, event_handlers=handlers)
    return net, estimator


if __name__ == "__main__":
    folder, result, epoch_period, batch_period, *hold = sys.argv[1:]
    net, _ = train(folder, int(epoch_period), int(batch_period), *map(int, hold))
    net.save_parameters(result)
