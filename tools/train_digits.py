"""Train the small digit classifier in examples/digits/ with MXNet and export it.

Trains a convolutional network (Conv + BatchNorm + relu blocks, max and average pooling, dropout,
one Dense layer that ends in plain logits) on scikit-learn's 8x8 handwritten digits. 360 of the 1797
images form a stratified held-out set that plays no part in training or in choosing when to stop.
The exported files are loaded back, and MXNet's float32 outputs on the held-out images are stored
with the images and labels.

Input: `data`, float32, shape (N, 1, 8, 8), pixels 0..16 scaled to 0..1. Output: float32 (N, 10).

MXNet is needed only here, never by the library. Set up a scratch environment outside the repository
and run from the repository's root:

    python3 -m venv ~/mxenv
    ~/mxenv/bin/pip install mxnet==1.9.1 numpy==1.23.5 scikit-learn==1.2.2
    ~/mxenv/bin/python tools/train_digits.py

MXNet's Linux wheel needs libgfortran, libgomp and libquadmath from the system.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

OUTPUT = Path(__file__).resolve().parent.parent / "examples" / "digits"
SEED = 7
HELD_OUT = 360
EPOCHS = 60
BATCH = 64
LEARNING_RATE = 4e-3


def import_mxnet():
    """Import MXNet 1.9.1 with the type aliases it expects, which newer NumPy removed."""
    for alias, builtin in (("bool", bool), ("int", int), ("float", float), ("object", object)):
        setattr(np, alias, builtin)
    import mxnet

    return mxnet


def load_split() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training images, held-out images (uint8, (n, 8, 8), 0..16) and their labels (uint8, (n,))."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    digits = load_digits()
    images, labels = digits.images.astype(np.uint8), digits.target.astype(np.uint8)
    return train_test_split(images, labels, test_size=HELD_OUT, stratify=labels, random_state=SEED)


def to_input(images: np.ndarray) -> np.ndarray:
    """Scale uint8 images (n, 8, 8) to the network's float32 input (n, 1, 8, 8)."""
    return images[:, np.newaxis].astype(np.float32) / 16


def build_network(mx):
    """The network, without parameters yet: about 21 000 of them."""
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="digits_")
    with net.name_scope():
        for channels, pool in ((16, None), (32, nn.MaxPool2D), (48, nn.AvgPool2D)):
            net.add(nn.Conv2D(channels, kernel_size=3, padding=1, use_bias=False))
            net.add(nn.BatchNorm(), nn.Activation("relu"))
            if pool is not None:
                net.add(pool(pool_size=2, strides=2))
        net.add(nn.Dropout(0.3), nn.Flatten(), nn.Dense(10))
    return net


def train(mx, net, images: np.ndarray, labels: np.ndarray) -> None:
    """Fit the network with Adam and a learning rate that falls along half a cosine."""
    data, target = to_input(images), labels.astype(np.float32)
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    options = {"learning_rate": LEARNING_RATE, "wd": 1e-4}
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", options)
    order = np.random.RandomState(SEED)
    for epoch in range(EPOCHS):
        trainer.set_learning_rate(LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * epoch / EPOCHS)))
        total = 0.0
        for rows in np.array_split(order.permutation(len(data)), math.ceil(len(data) / BATCH)):
            with mx.autograd.record():
                loss = loss_of(net(mx.nd.array(data[rows])), mx.nd.array(target[rows]))
            loss.backward()
            trainer.step(len(rows))
            total += float(loss.sum().asscalar())
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: training loss {total / len(data):.4f}")


def run_exported(mx, images: np.ndarray) -> np.ndarray:
    """Float32 logits (n, 10) of the exported files, loaded back from disk."""
    symbol, params = OUTPUT / "digits-symbol.json", OUTPUT / "digits-0000.params"
    net = mx.gluon.SymbolBlock.imports(str(symbol), ["data"], str(params))
    return net(mx.nd.array(to_input(images))).asnumpy()


def main() -> None:
    """Train, export, and measure the exported files on the held-out images."""
    mx = import_mxnet()
    mx.random.seed(SEED)
    np.random.seed(SEED)
    train_images, held_images, train_labels, held_labels = load_split()
    net = build_network(mx)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    train(mx, net, train_images, train_labels)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    net.export(str(OUTPUT / "digits"))
    logits = run_exported(mx, held_images)
    np.savez_compressed(OUTPUT / "training.npz", images=train_images, labels=train_labels)
    np.savez_compressed(OUTPUT / "heldout.npz", images=held_images, labels=held_labels, mxnet_output=logits)
    correct = int((logits.argmax(axis=1) == held_labels).sum())
    print(f"parameters: {sum(p.data().size for p in net.collect_params().values())}")
    print(f"held-out accuracy: {correct}/{HELD_OUT} = {correct / HELD_OUT:.4f}")


if __name__ == "__main__":
    main()
