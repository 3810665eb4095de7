"""Rows about pools: sessions beside one executor of many threads, and calls in great numbers."""

import statistics
import threading
import time

import numpy as np
from trust.report import Row

import amp

from .networks import inputs_of, plan

_CALLS = 40  # of a turn
_ROUNDS = 7


def rows(options):
    """Throughput of a pool, and a pool under many calls."""
    threads = amp.cpu_info()["threads"]
    for network in ("mobilenetv2_1.0", "resnet50_v1"):
        yield throughput_row(network, threads)
    yield many_calls_row(10**6 if options.long else 10**5)


def throughput_row(network, threads):
    """A pool of one thread a session beside one executor of all threads, turn by turn."""
    image = inputs_of(network, 1)["data"]
    one = amp.Executor.load(plan(network, "fp32", threads))
    with amp.Pool(plan(network, "fp32", 1), sessions=threads) as pool:
        ratios = []
        for _ in range(_ROUNDS):
            alone = _seconds(lambda: [one(image) for _ in range(_CALLS)])
            pooled = _seconds(lambda: list(pool.map(image for _ in range(_CALLS))))
            ratios.append(alone / pooled)
    ratio = statistics.median(ratios)
    check = f"pool: {network}, calls a second of {threads} sessions to one executor of {threads} threads"
    return Row(check, ">= 1.03", f"{ratio:.2f} (median of {_ROUNDS} turns)", ratio >= 1.03)


def many_calls_row(count):
    """64 threads that call: all are answered, and memory does not grow."""
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    run = amp.Executor(net, *amp.model_zoo.seeded_params(net, {"data": (1, 4)}), {"data": (1, 4)}, num_threads=1)
    images = [np.full((1, 4), i, "float32") for i in range(64)]
    expected = [run(image)[0].asnumpy() for image in images]
    wrong = []

    def call(number, times):
        for _ in range(times):
            if not np.array_equal(pool.submit(images[number]).result()[0].asnumpy(), expected[number]):
                wrong.append(number)

    with amp.Pool(run, sessions=2) as pool:
        _in_threads(call, count // 64)  # until as many threads as there will be have had their heaps
        before = _resident_mb()
        _in_threads(call, count // 64)
        grown = _resident_mb() / before - 1
        done = pool.stats()["done"]
    holds = not wrong and done == 64 * (count // 64) * 2 and grown <= 0.02
    seen = f"{done} answered, {len(wrong)} of them wrong, memory {grown:+.1%}"
    return Row("pool: calls of 64 threads", "all right, memory +2 % at most", seen, holds)


def _in_threads(call, times):
    threads = [threading.Thread(target=call, args=(number, times)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _resident_mb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def _seconds(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin
