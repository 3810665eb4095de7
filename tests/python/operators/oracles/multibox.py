"""Anchors and detections of single-shot detectors."""

import numpy as np

from .boxes import overlap
from .core import Case, Expected, operator, wide


def multibox_prior(attrs, x):
    height, width = x.shape[2:]
    sizes, ratios = attrs.get("sizes", (1.0,)), attrs.get("ratios", (1.0,))
    shapes = [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]
    steps = [s if s > 0 else 1 / n for s, n in zip(attrs.get("steps", (-1.0, -1.0)), (height, width))]
    offsets = attrs.get("offsets", (0.5, 0.5))
    boxes = []
    for i, j in np.ndindex(height, width):
        down, across = (i + offsets[0]) * steps[0], (j + offsets[1]) * steps[1]
        for size, ratio in shapes:
            half = size / np.sqrt(ratio) / 2, size * height / width * np.sqrt(ratio) / 2
            boxes.append([across - half[1], down - half[0], across + half[1], down + half[0]])
    y = np.array(boxes)[None]
    if attrs.get("clip", False):
        y = np.clip(y, 0, 1)
    return Expected(y, x.dtype, 64.0 * (2.0**29 if x.dtype == np.float64 else 1))


def draw_multibox_prior(d):
    x = d.array((d.int(1, 2), d.int(1, 2), d.int(1, 4), d.int(1, 4)), d.dtype())
    attrs = d.some(sizes=d.of([(0.5,), (0.25, 0.5, 0.75)]), ratios=d.of([(1.0, 2.0, 0.5), (3.0,)]))
    attrs |= d.some(steps=d.of([(0.25, 0.125), (-1.0, -1.0)]), offsets=(0.25, 0.75), clip=d.flag())
    return Case(attrs, [x])


operator("_contrib_MultiBoxPrior", multibox_prior, draw_multibox_prior)


def decoded(attrs, code, anchor):
    variances = np.array(attrs.get("variances", (0.1, 0.1, 0.2, 0.2)))
    size, middle = anchor[2:] - anchor[:2], (anchor[:2] + anchor[2:]) / 2
    at = code[:2] * variances[:2] * size + middle
    half = np.exp(code[2:] * variances[2:]) * size / 2
    box = np.concatenate([at - half, at + half])
    return np.clip(box, 0, 1) if attrs.get("clip", True) else box


def detections(attrs, scores, codes, anchors):
    """Rows of one image."""
    best = scores[1:].max(0)
    rows = [
        [np.argmax(scores[1:, i]), best[i], *decoded(attrs, codes[i], anchors[i])]
        for i in range(len(anchors))
        if best[i] >= attrs.get("threshold", 0.01)
    ]
    limit = attrs.get("nms_threshold", 0.5)
    if not 0 < limit <= 1:
        return rows
    kept = min(attrs["nms_topk"], len(rows)) if attrs.get("nms_topk", -1) > 0 else len(rows)
    rows = sorted(rows, key=lambda row: -row[1])[:kept] + [[-1, *row[1:]] for row in rows[kept:]]
    for i in range(kept):
        for better in rows[:i]:
            rivals = better[0] >= 0 and (attrs.get("force_suppress", False) or better[0] == rows[i][0])
            if rivals and overlap(better[2:], rows[i][2:]) >= limit:
                rows[i][0] = -1
                break
    return rows


def multibox_detection(attrs, scores, codes, anchors):
    images, _, count = scores.shape
    y = np.full((images, count, 6), -1.0)
    for n in range(images):
        rows = detections(attrs, wide(scores[n]), wide(codes[n]).reshape(-1, 4), wide(anchors[0]))
        if rows:
            y[n, : len(rows)] = rows
    return Expected(y, scores.dtype, 64.0)


def draw_multibox_detection(d):
    """Different scores; boxes on a grid, and thresholds that are no fractions of them."""
    images, classes, count = d.int(1, 2), d.int(2, 4), d.int(1, 12)
    scores = d.rng.permutation(images * classes * count).reshape(images, classes, count) / 256 + 0.001
    low = d.rng.integers(0, 6, (1, count, 2)) / 8
    anchors = np.concatenate([low, low + d.rng.integers(1, 5, low.shape) / 8], -1)
    codes = np.zeros((images, count * 4))
    codes.reshape(-1, 4)[:, :2] = d.rng.integers(-2, 3, (images * count, 2))
    attrs = d.some(threshold=0.1, nms_threshold=d.of([0.3001, 0.7001, 0.0, 1.5]), nms_topk=d.of([-1, 3]))
    attrs |= d.some(clip=d.flag(), force_suppress=d.flag(), variances=(0.25, 0.5, 0.25, 0.25), background_id=0)
    if d.chance(0.2):
        attrs["background_id"] = 1
    return Case(attrs, [array.astype(np.float32) for array in (scores, codes, anchors)])


operator("_contrib_MultiBoxDetection", multibox_detection, draw_multibox_detection)
