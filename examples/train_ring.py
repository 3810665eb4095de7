"""Trains a small causal transformer whose sequence is cut over the ranks of a ring.

    mpiexec -n 4 python examples/train_ring.py [--length 256] [--steps 60] [--output FOLDER] [--resume]
        [--weight-grad-reduce bf16]

The second half of each sequence repeats the first: to know the next token, a row has to look at rows of other ranks.
FOLDER gets checkpoints and ring-0000.params. With --resume a run that was killed goes on, to the same bits.
"""

import argparse
import json
import os
from pathlib import Path

import numpy as np

import amp
import amp.mxnet as mx
from amp import distributed
from amp.mxnet import gluon

TOKENS, UNITS, HEADS = 32, 64, 4


class Layer(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        nn = gluon.nn
        self.norm, self.out_norm = nn.LayerNorm(in_channels=UNITS), nn.LayerNorm(in_channels=UNITS)
        self.qkv = nn.Dense(3 * UNITS, flatten=False, in_units=UNITS)
        self.out = nn.Dense(UNITS, flatten=False, in_units=UNITS)
        self.wide = nn.Dense(4 * UNITS, flatten=False, activation="relu", in_units=UNITS)
        self.narrow = nn.Dense(UNITS, flatten=False, in_units=4 * UNITS)

    def hybrid_forward(self, F, x):
        parts = F.split(self.qkv(self.norm(x)), num_outputs=3, axis=2)
        q, k, v = (part.reshape((0, 0, HEADS, -1)) for part in parts)
        attended, _ = F.contrib.ring_attention(q, k, v)
        x = x + self.out(attended.reshape((0, 0, -1)))
        return x + self.narrow(self.wide(self.out_norm(x)))


class Transformer(gluon.HybridBlock):
    def __init__(self, length):
        super().__init__()
        self.tokens, self.places = gluon.nn.Embedding(TOKENS, UNITS), gluon.nn.Embedding(length, UNITS)
        self.layers = gluon.nn.HybridSequential()
        self.layers.add(Layer(), Layer())
        self.scores = gluon.nn.Dense(TOKENS, flatten=False, in_units=UNITS)

    def hybrid_forward(self, F, tokens, places):
        return self.scores(self.layers(self.tokens(tokens) + self.places(places)))


def batch(options, step, comm):
    """This rank's part of a step's tokens, their places, the tokens that follow, and which of these can be known."""
    half = options.length // 2
    first = np.random.default_rng((options.seed, step)).integers(0, TOKENS, (options.batch, half))
    tokens = np.concatenate([first, first, first[:, :1]], 1).astype(np.float32)
    places = np.broadcast_to(np.arange(options.length, dtype=np.float32), (options.batch, options.length))
    arrays = tokens[:, :-1], places, tokens[:, 1:], (places >= half).astype(np.float32)[..., None]
    return [mx.nd.array(distributed.split_for_ring(array, comm.rank, comm.size, axis=1)) for array in arrays]


def checkpoint(folder, net, trainer, step):
    """Files of a step, and then the note that they are complete."""
    net.save_parameters(str(folder / f"{step}.params"))
    trainer.save_states(str(folder / f"{step}.states"))
    (folder / "latest.new").write_text(json.dumps(step))
    os.replace(folder / "latest.new", folder / "latest")


def train(options, comm):
    mx.random.seed(options.seed)
    net = Transformer(options.length)
    net.initialize(mx.init.Xavier())
    net.hybridize()
    first, latest = 0, options.output / "latest"
    options.output.mkdir(parents=True, exist_ok=True)
    if options.resume and latest.exists():
        first = json.loads(latest.read_text())
        net.load_parameters(str(options.output / f"{first}.params"))
    rate = {"learning_rate": options.rate}
    trainer = gluon.Trainer(
        net.collect_params(), "adam", rate, kvstore="mpi", weight_grad_reduce=options.weight_grad_reduce
    )
    if first:
        trainer.load_states(str(options.output / f"{first}.states"))
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for step in range(first, options.steps):
        tokens, places, following, known = batch(options, step, comm)
        with mx.autograd.record():
            losses = loss_of(net(tokens, places), following, known)
        losses.backward()
        trainer.step(options.batch)
        if (step + 1) % 10 == 0:
            loss = 2 * comm.all_reduce(losses.mean().asnumpy() / comm.size).asscalar()  # half of the rows count
            if comm.rank == 0:
                print(f"step {step + 1}: loss {loss:.4f}", flush=True)
                checkpoint(options.output, net, trainer, step + 1)
    if comm.rank == 0:
        net.save_parameters(str(options.output / "ring-0000.params"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--weight-grad-reduce", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--output", type=Path, default=Path("trained-ring"))
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    with distributed.group(amp.distributed.mpi()) as comm:
        train(options, comm)


if __name__ == "__main__":
    main()
