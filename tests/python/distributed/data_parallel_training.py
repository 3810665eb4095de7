"""A training of one rank's part of the data.

As a program under mpiexec, `data_parallel_training.py FOLDER [norm]` writes the results to FOLDER/<rank>.npz.
"""

import sys

import numpy as np

import amp.mxnet as mx
from amp import distributed
from amp.mxnet import gluon


def network(norm):
    """Two layers, with a batch norm over all ranks between them where `norm` says so."""
    net = gluon.nn.HybridSequential()
    if norm:
        net.add(gluon.nn.Dense(16, in_units=6, use_bias=False), gluon.nn.SyncBatchNorm(in_channels=16))
        net.add(gluon.nn.Activation("tanh"))
    else:
        net.add(gluon.nn.Dense(16, activation="tanh", in_units=6))
    net.add(gluon.nn.Dense(1, in_units=16))
    return net


def train(rank, size, batch, kvstore=None, hybridize=True, weight_grad_reduce="fp32", epochs=4, norm=False):
    """(losses of this rank by step, {place in the network: weight})."""
    draws = np.random.default_rng(0)
    data = draws.standard_normal((128, 6)).astype(np.float32)
    label = data[:, :1] * data[:, 1:2]
    net = network(norm)
    net.initialize()
    for parameter in net.collect_params().values():
        values = 0.3 * draws.standard_normal(parameter.shape) + (rank > 0)  # all begin with those of rank 0
        parameter.set_data(values.astype(np.float32))
    if hybridize:
        net.hybridize()
    options = {"kvstore": kvstore, "weight_grad_reduce": weight_grad_reduce}
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.03}, **options)
    part = gluon.data.SplitSampler(len(data), size, rank)
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(data, label), batch_size=batch, sampler=part)
    loss_of, losses = gluon.loss.L2Loss(), []
    for _ in range(epochs):
        for x, y in loader:
            with mx.autograd.record():
                loss = loss_of(net(x), y)
            loss.backward()
            trainer.step(batch)
            losses.append(loss.mean().asnumpy())
    return losses, {name: parameter.data().asnumpy() for name, parameter in net._collect_params_with_prefix().items()}


if __name__ == "__main__":
    comm = distributed.mpi()
    with distributed.group(comm):
        losses, weights = train(comm.rank, comm.size, 32 // comm.size, kvstore="mpi", norm="norm" in sys.argv)
    np.savez(f"{sys.argv[1]}/{comm.rank}.npz", losses=losses, **weights)
