"""Rows about sizes that calls choose."""

import time

import numpy as np
from trust.report import Row

import amp

from .networks import checkpoint, inputs_of


def rows(_options):
    """What a call of a shape costs that has a plan, beside one that has none."""
    for network in ("mobilenetv2_1.0", "resnet50_v1"):
        run = amp.Executor.open(*checkpoint(network), {"data": (None, 3, None, None)}, num_threads=1, plans=4)
        image = inputs_of(network, 1)["data"]
        sizes = (160, 192, 224)
        images = [np.ascontiguousarray(image[:, :, :size, :size]) for size in sizes]
        new, known = ([_cpu(run, one) for one in images] for _ in range(2))
        ratio = max(second / first for first, second in zip(new, known))
        seen = f"{ratio:.2f} at most, sizes {sizes}"
        yield Row(f"shapes: {network}, CPU of a call of a known shape to a new one's", "<= 0.5", seen, ratio <= 0.5)


def _cpu(run, image):
    begin = time.process_time()
    run(image)
    return time.process_time() - begin
