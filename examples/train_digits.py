"""Trains the network of examples/digits from scratch, in seconds.

    python examples/train_digits.py [--precision bfloat16] [--epochs 30] [--seed 7] [--output FOLDER] [--resume]

FOLDER gets checkpoints, curves.csv (and curves.png where matplotlib is installed) and the trained model,
digits-symbol.json and digits-0000.params. With --resume a run that was killed goes on, to the same bits.
"""

import argparse
import csv
from pathlib import Path

import numpy as np

import amp
import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon.contrib import estimator as estimators

DIGITS = Path(__file__).parent / "digits"


def load(name):
    """Images as float32 (N, 1, 8, 8) from 0 to 1, and their labels."""
    with np.load(DIGITS / f"{name}.npz") as stored:
        return stored["images"][:, None].astype(np.float32) / 16, stored["labels"].astype(np.float32)


def network():
    nn = gluon.nn
    net = nn.HybridSequential()
    for channels, pool in ((16, None), (32, nn.MaxPool2D), (48, nn.AvgPool2D)):
        net.add(nn.Conv2D(channels, kernel_size=3, padding=1, use_bias=False))
        net.add(nn.BatchNorm(), nn.Activation("relu"))
        if pool is not None:
            net.add(pool(pool_size=2, strides=2))
    net.add(nn.Dropout(0.3), nn.Flatten(), nn.Dense(10))
    return net


def train(options):
    """The trained network."""
    mx.random.seed(options.seed)
    np.random.seed(options.seed)  # the order of samples
    if options.precision != "float32":
        mx.amp.init(options.precision)
    net = network()
    net.initialize(mx.init.Xavier())
    net.hybridize()
    data = gluon.data.DataLoader(gluon.data.ArrayDataset(*load("training")), batch_size=64, shuffle=True)
    schedule = mx.lr_scheduler.CosineScheduler(max_update=options.epochs * len(data), base_lr=4e-3)
    optimizer = {"learning_rate": 4e-3, "lr_scheduler": schedule, "wd": 1e-4}
    trainer = gluon.Trainer(net.collect_params(), "adam", optimizer)
    estimator = estimators.Estimator(net, gluon.loss.SoftmaxCrossEntropyLoss(), trainer=trainer)
    handlers = [
        estimators.CheckpointHandler(options.output, batch_period=20, resume_from_checkpoint=options.resume),
        estimators.CSVHandler(options.output / "curves.csv"),
        estimators.FiniteLossHandler(),
    ]
    estimator.fit(data, epochs=options.epochs, event_handlers=handlers)
    return net


def plot(folder):
    """curves.png of curves.csv"""
    try:
        import matplotlib.figure
    except ImportError:
        return
    with open(folder / "curves.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    figure = matplotlib.figure.Figure()
    for axes, name in zip(figure.subplots(2, sharex=True), list(rows[0])[2:]):
        axes.plot([int(row["epoch"]) + 1 for row in rows], [float(row[name]) for row in rows])
        axes.set(xlabel="epoch", ylabel=name)
    figure.savefig(folder / "curves.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--output", type=Path, default=Path("trained-digits"))
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()

    train(options).export(str(options.output / "digits"))
    plot(options.output)
    images, labels = load("heldout")
    model = amp.load_checkpoint(options.output / "digits", 0)
    scores = amp.Executor(*model, {"data": images.shape}, machine="any")(images)[0].asnumpy()
    right = int((scores.argmax(axis=1) == labels).sum())
    print(f"{right} of {len(labels)} digits that are new to the network are read right ({right / len(labels):.1%})")


if __name__ == "__main__":
    main()
