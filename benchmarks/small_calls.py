"""Small calls of the front end, one process of `two_builds`: reads names of cases, answers with microseconds a call."""

import json
import sys
import time

import amp.mxnet as mx
from amp.mxnet.gluon import nn


def main():
    cases = _cases()
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        print(_microseconds(cases[line.strip()]), flush=True)


def _microseconds(call, seconds=0.02):
    calls, begin, end = 0, time.perf_counter(), time.perf_counter() + seconds
    while time.perf_counter() < end:
        for _ in range(10):
            call()
        calls += 10
    return (time.perf_counter() - begin) / calls * 1e6


def _cases():
    """{name: a function}: eager, hybridized, training, and single operations."""
    x, label = mx.nd.ones((1, 4)), mx.nd.ones((1, 4))
    dense = nn.Dense(3, in_units=4)
    dense.initialize()
    net = nn.HybridSequential()
    net.add(nn.Dense(4, in_units=4), nn.Dense(3, in_units=4))
    net.initialize()
    net.hybridize()
    loss = mx.gluon.loss.L2Loss()
    cell = mx.gluon.rnn.LSTMCell(4, input_size=4)
    cell.initialize()
    states = cell.begin_state(1)

    def step():
        with mx.autograd.record():
            result = net(x)
        result.backward()

    return {
        "eager dense": lambda: dense(x),
        "hybridized dense twice": lambda: net(x),
        "eager L2 loss": lambda: loss(x, label),
        "hybridized step": step,
        "eager LSTM cell": lambda: cell(x, states),
        "x + x": lambda: x + x,
        "x[0]": lambda: x[0],
        "x.shape": lambda: x.shape,
    }


if __name__ == "__main__":
    main()
