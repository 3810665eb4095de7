"""Whether training in bfloat16 learns what training in float32 learns: three tasks, every policy, several seeds.

    python -m benchmarks.train_accuracy [--tasks digits resnet20 transformer] [--seeds 3] [--scale 1]

A figure is the mean loss of the last epoch's batches. A policy does well where its mean over the seeds is within 2 % of
float32's, or within the spread of float32's seeds. Everything that a policy may run in bfloat16 runs in bfloat16,
whatever the machine is fast at. SCALE makes epochs shorter: --scale 0.1 takes a look.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("AMP_MACHINE", "any")

import numpy as np

import amp
import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon import nn

NEAR = 0.02
POLICIES = {
    "float32": None,
    "mxnet": {"policy": "mxnet"},
    "default": {"policy": "default"},
    "graphamp mp1": {"policy": "graphamp", "preset": "mp1"},
}
DIGITS = Path(__file__).parents[1] / "examples" / "digits" / "training.npz"


# ---- tasks: a network and, for each epoch, batches (data, label) ----


class Digits:
    """The digits of the demo, in another order in each epoch, moved by up to one pixel."""

    epochs, rate = 12, 2e-3
    dropped = 0.3

    def __init__(self, scale):
        with np.load(DIGITS) as stored:
            count = max(64, int(len(stored["labels"]) * scale))
            self._images = stored["images"][:count, None].astype(np.float32) / 16
            self._labels = stored["labels"][:count].astype(np.float32)

    def network(self):
        net = nn.HybridSequential()
        for channels, pool in ((16, None), (32, nn.MaxPool2D), (48, nn.AvgPool2D)):
            net.add(nn.Conv2D(channels, kernel_size=3, padding=1, use_bias=False), nn.BatchNorm())
            net.add(nn.Activation("relu"))
            if pool is not None:
                net.add(pool(pool_size=2, strides=2))
        net.add(nn.Dropout(self.dropped), nn.Flatten(), nn.Dense(10))
        return net

    def batches(self, rng):
        order = rng.permutation(len(self._labels))
        for rows in np.array_split(order, max(1, len(order) // 64)):
            shift = tuple(rng.integers(-1, 2, 2))
            yield np.roll(self._images[rows], shift, (2, 3)), self._labels[rows]


class ResNet20:
    """Images of 32 x 32 pixels: one of ten patterns, moved, under noise; a fifth of the labels is wrong.

    Every batch is new.
    """

    epochs, rate = 5, 1e-3

    def __init__(self, scale):
        self._count = max(2, int(24 * scale))
        patterns = np.random.default_rng(0).standard_normal((10, 3, 8, 8))
        self._patterns = patterns.repeat(4, 2).repeat(4, 3).astype(np.float32)

    @staticmethod
    def network():
        net = nn.HybridSequential()
        net.add(nn.Conv2D(16, 3, padding=1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        for channels in (16, 32, 64):
            for number in range(3):
                net.add(_Residual(channels, 2 if number == 0 and channels > 16 else 1))
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
        return net

    def batches(self, rng):
        for _ in range(self._count):
            labels = rng.integers(0, 10, 64)
            moves = rng.integers(0, 32, (64, 2))
            moved = np.stack([np.roll(self._patterns[k], move, (1, 2)) for k, move in zip(labels, moves)])
            found = np.where(rng.random(64) < 0.2, rng.integers(0, 10, 64), labels)
            yield moved + 2 * rng.standard_normal(moved.shape, dtype=np.float32), found.astype(np.float32)


class _Residual(nn.HybridSequential):
    """Two convolutions, and a way around them."""

    def __init__(self, channels, stride):
        super().__init__()
        self.body, self.around = nn.HybridSequential(), nn.HybridSequential()
        self.body.add(nn.Conv2D(channels, 3, stride, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
        self.body.add(nn.Conv2D(channels, 3, 1, 1, use_bias=False), nn.BatchNorm())
        if stride > 1:
            self.around.add(nn.Conv2D(channels, 1, stride, use_bias=False), nn.BatchNorm())

    def forward(self, x):
        return mx.nd.relu(self.body(x) + (self.around(x) if len(self.around) else x))


class Transformer:
    """The next of 32 tokens, which depends on the two before it; two layers of attention. Every batch is new."""

    epochs, rate = 6, 3e-3
    tokens, length = 16, 32

    def __init__(self, scale):
        self._count = max(2, int(100 * scale))
        rng = np.random.default_rng(0)
        self._next = rng.integers(0, self.tokens, (self.tokens, self.tokens, 3))  # three ways to go on

    def network(self):
        net = nn.HybridSequential()
        net.add(_Embedding(self.tokens, self.length, 64))
        for _ in range(2):
            net.add(_Attention(64, 4, self.length), _Dense(64, 256))
        net.add(nn.LayerNorm(in_channels=64), nn.Dense(self.tokens, flatten=False, in_units=64))
        return net

    def batches(self, rng):
        for _ in range(self._count):
            text = np.empty((32, self.length + 1), int)
            text[:, :2] = rng.integers(0, self.tokens, (32, 2))
            for i in range(2, self.length + 1):
                text[:, i] = self._next[text[:, i - 2], text[:, i - 1], rng.integers(0, 3, 32)]
            yield text[:, :-1].astype(np.float32), text[:, 1:].astype(np.float32)


class _Embedding(gluon.HybridBlock):
    def __init__(self, tokens, length, units):
        super().__init__()
        self.words = nn.Embedding(tokens, units)
        self.places = gluon.Parameter("places", shape=(1, length, units), init=mx.init.Normal(0.02))

    def forward(self, x):
        return mx.nd.broadcast_add(self.words(x), self.places.data())


class _Attention(gluon.HybridBlock):
    """x + attention(norm(x)) over what stands before."""

    def __init__(self, units, heads, length):
        super().__init__()
        self.norm = nn.LayerNorm(in_channels=units)
        self.inner = nn.Dense(3 * units, flatten=False, in_units=units)
        self.outer = nn.Dense(units, flatten=False, in_units=units)
        self.future = gluon.Constant(np.triu(np.full((1, length, length), -1e4, "float32"), 1))
        self._heads, self._scale = heads, (units // heads) ** -0.5

    def forward(self, x):
        parts = mx.nd.split(self.inner(self.norm(x)), num_outputs=3, axis=2)
        query, key, value = (self._by_head(part) for part in parts)
        scores = mx.nd.batch_dot(query * self._scale, key, transpose_b=True)
        weights = mx.nd.softmax(mx.nd.broadcast_add(scores, self.future.data()))
        mixed = mx.nd.reshape(mx.nd.batch_dot(weights, value), shape=(-4, -1, self._heads, 0, 0), reverse=False)
        return x + self.outer(mx.nd.reshape(mx.nd.transpose(mixed, axes=(0, 2, 1, 3)), shape=(0, 0, -3)))

    def _by_head(self, x):
        """(batch, length, units) -> (batch * heads, length, units / heads)"""
        split = mx.nd.reshape(x, shape=(0, 0, -4, self._heads, -1))
        return mx.nd.reshape(mx.nd.transpose(split, axes=(0, 2, 1, 3)), shape=(-3, 0, 0))


class _Dense(gluon.HybridBlock):
    """x + two dense layers of norm(x)"""

    def __init__(self, units, hidden):
        super().__init__()
        self.body = nn.HybridSequential()
        self.body.add(nn.LayerNorm(in_channels=units))
        self.body.add(nn.Dense(hidden, activation="relu", flatten=False, in_units=units))
        self.body.add(nn.Dense(units, flatten=False, in_units=hidden))

    def forward(self, x):
        return x + self.body(x)


TASKS = {"digits": Digits, "resnet20": ResNet20, "transformer": Transformer}


# ---- measurements ----


def losses_of(task, policy, seed):
    """The mean loss of each epoch. `policy` is options of mx.amp.init, or None."""
    amp._autocast.begin(None)
    if policy is not None:
        mx.amp.init("bfloat16", **policy)
    try:
        mx.random.seed(seed)
        np.random.seed(seed)
        rng = np.random.default_rng(seed)
        net = task.network()
        net.initialize(mx.init.Xavier())
        net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": task.rate})
        return [_train_epoch(net, trainer, task.batches(rng)) for _ in range(task.epochs)]
    finally:
        amp._autocast.begin(None)


def _train_epoch(net, trainer, batches):
    loss, values = gluon.loss.SoftmaxCrossEntropyLoss(), []
    for data, label in batches:
        with mx.autograd.record():
            value = loss(net(mx.nd.array(data)), mx.nd.array(label)).mean()
        value.backward()
        trainer.step(1)
        values.append(value.asscalar())
    return float(np.mean(values))


def verdict(exact, low):
    """(relative difference of the means, whether that is near): losses by seed in float32 and in low precision."""
    difference = np.mean(low) / np.mean(exact) - 1
    return difference, abs(difference) <= NEAR or min(exact) <= np.mean(low) <= max(exact)


def row(cells):
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--scale", type=float, default=1)
    options = parser.parse_args()

    print(row(["task", "policy", "loss of each seed", "mean", "against float32", "near"]))
    print(row(["---"] * 6))
    all_are_near = True
    for name in options.tasks:
        task = TASKS[name](options.scale)
        exact = None
        for policy, choice in POLICIES.items():
            begin = time.perf_counter()
            found = [losses_of(task, choice, seed)[-1] for seed in range(options.seeds)]
            exact = exact or found
            difference, is_near = verdict(exact, found)
            all_are_near &= is_near
            values = ", ".join(f"{value:.4f}" for value in found)
            cells = [name, policy, values, f"{np.mean(found):.4f}", f"{difference:+.2%}", "yes" if is_near else "no"]
            print(row(cells), flush=True)
            if os.isatty(1):
                print(f"({time.perf_counter() - begin:.0f} s)")
    raise SystemExit(0 if all_are_near else 1)


if __name__ == "__main__":
    main()
