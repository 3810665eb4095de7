"""Pictures of other sizes. Positions and weights are OpenCV's, which MXNet uses; so is its rounding for uint8.

Each axis has taps: for each pixel of the result the pixels that it reads, and their weights.
"""

import numpy as np

from ..base import ArgumentError

NEAREST, LINEAR, CUBIC, AREA, LANCZOS, AUTOMATIC, RANDOM = 0, 1, 2, 3, 4, 9, 10
_WEIGHT_ONE = 2048  # of weights as integers


def resize(pixels, height, width, method):
    """Pixels (..., height, width, channels) in another size. Raises ArgumentError for other methods."""
    if height < 1 or width < 1:
        raise ArgumentError(f"a picture cannot have size {width} x {height}")
    old_height, old_width = pixels.shape[-3:-1]
    if method not in _TAPS:
        raise ArgumentError(f"interpolation: expected one of {sorted(_TAPS)}, 9 or 10, got {method}")
    if (old_height, old_width) == (height, width):
        return pixels.copy()
    shrinks = old_height >= height and old_width >= width
    if method == LINEAR and (old_height, old_width) == (2 * height, 2 * width):
        method = AREA
    taps = _area if method == AREA and shrinks else _TAPS[method]
    rows, columns = taps(old_height, height), taps(old_width, width)
    if taps is _nearest:
        return pixels[..., rows[0], :, :][..., columns[0][:, 0], :][..., :, 0, :, :]
    if pixels.dtype == np.uint8:
        if taps is _area:
            means = _along(_along(pixels.astype(np.float32), -2, *columns), -3, *rows)
            is_halved = (old_height, old_width) == (2 * height, 2 * width)
            return np.floor(means + 0.5).astype(np.uint8) if is_halved else _rounded(means)
        return _resized_bytes(pixels, rows, columns)
    real = pixels.astype(np.float64 if pixels.dtype == np.float64 else np.float32)
    result = _along(_along(real, -2, *columns), -3, *rows)
    return result.astype(pixels.dtype) if pixels.dtype.kind == "f" else _rounded(result, pixels.dtype)


def _rounded(values, dtype=np.uint8):
    limits = np.iinfo(dtype)
    return np.clip(np.rint(values), limits.min, limits.max).astype(dtype)


def _along(values, axis, places, weights):
    """Sums of weighted pixels along an axis, in the dtype of `values`."""
    shape = [1] * values.ndim
    shape[axis] = -1
    return sum(
        np.take(values, places[:, k], axis) * weights[:, k].reshape(shape).astype(values.dtype)
        for k in range(places.shape[1])
    )


def _resized_bytes(pixels, rows, columns):
    """Sums of integers: weights have 11 binary places. OpenCV drops places of sums of two rows."""
    (row_places, row_weights), (column_places, column_weights) = (
        (places, np.rint(np.float32(weights) * _WEIGHT_ONE).astype(np.int32)) for places, weights in (rows, columns)
    )
    lines = _along(pixels.astype(np.int32), -2, column_places, column_weights)
    if row_places.shape[1] == 2:
        parts = (
            np.take(lines, row_places[:, k], -3) // 16 * row_weights[:, k].reshape(-1, 1, 1) >> 16 for k in range(2)
        )
        return np.clip(sum(parts) + 2 >> 2, 0, 255).astype(np.uint8)
    sums = _along(lines.astype(np.int64), -3, row_places, row_weights)
    return np.clip(sums + (1 << 21) >> 22, 0, 255).astype(np.uint8)


# ---- taps: (places, weights), each (size of the result, number of taps) ----


def _nearest(old, new):
    ratio = 1 / (new / old)  # as OpenCV rounds it: it decides where the ratio meets a whole pixel
    return np.minimum(np.floor(np.arange(new) * ratio).astype(np.int64), old - 1)[:, None], np.ones((new, 1))


def _centres(old, new):
    """(pixels that lie left of the centres, how far right of them the centres lie)"""
    positions = ((np.arange(new) + 0.5) * (old / new) - 0.5).astype(np.float32)
    left = np.floor(positions).astype(np.int64)
    return left, positions - left.astype(np.float32)


def _linear(old, new):
    return _pairs(*_centres(old, new), old)


def _pairs(left, right_share, old):
    return _around(left, [1 - right_share, right_share], old)


def _enlarging_area(old, new):
    left = np.floor(np.arange(new) * (old / new)).astype(np.int64)
    right_share = ((np.arange(new) + 1) - (left + 1) * (new / old)).astype(np.float32)
    right_share = np.where(right_share <= 0, 0, right_share - np.floor(right_share))
    return _pairs(left, right_share, old)


def _cubic(old, new):
    left, right_share = _centres(old, new)
    return _around(left, cubic_weights(right_share), old)


def cubic_weights(x):
    """Those of the four pixels around places that lie `x` right of a pixel."""
    a = np.float32(-0.75)
    weights = [
        ((a * (x + 1) - 5 * a) * (x + 1) + 8 * a) * (x + 1) - 4 * a,
        ((a + 2) * x - (a + 3)) * x * x + 1,
        ((a + 2) * (1 - x) - (a + 3)) * (1 - x) * (1 - x) + 1,
    ]
    return [*weights, 1 - sum(weights)]


def _lanczos(old, new):
    left, right_share = _centres(old, new)
    return _around(left, lanczos_weights(right_share), old)


def lanczos_weights(x):
    """Those of the eight pixels around places that lie `x` right of a pixel."""
    distances = np.stack([x.astype(np.float64) + 3 - k for k in range(8)])
    with np.errstate(divide="ignore", invalid="ignore"):
        y = np.pi * distances
        weights = np.where(np.abs(distances) < 1e-6, 1.0, 4 * np.sin(y) * np.sin(y / 4) / (y * y))
    return list((weights / weights.sum(axis=0)).astype(np.float32))


def _around(left, weights, old):
    first = 1 - len(weights) // 2
    places = np.stack([np.clip(left + first + k, 0, old - 1) for k in range(len(weights))], axis=1)
    return places, np.stack(weights, axis=1)


def _area(old, new):
    """Each pixel of the result is the mean of those that it covers, by their shares."""
    begins, ends = np.arange(new) * (old / new), (np.arange(new) + 1) * (old / new)
    first = np.floor(begins + 1e-9).astype(np.int64)
    count = int(np.max(np.ceil(ends - 1e-9) - first))
    places = first[:, None] + np.arange(count)
    shares = np.minimum(places + 1, ends[:, None]) - np.maximum(places, begins[:, None])
    shares = np.clip(shares, 0, None)
    return np.minimum(places, old - 1), shares / shares.sum(axis=1, keepdims=True)


_TAPS = {NEAREST: _nearest, LINEAR: _linear, CUBIC: _cubic, AREA: _enlarging_area, LANCZOS: _lanczos}


def chosen(method, old_size, new_size, draw):
    """The method that 9 (by the sizes, (height, width)) and 10 (any) stand for; `draw(n)` is a number below n."""
    if method == AUTOMATIC:
        if new_size[0] > old_size[0] and new_size[1] > old_size[1]:
            return CUBIC
        return AREA if new_size[0] < old_size[0] and new_size[1] < old_size[1] else LINEAR
    return int(draw(5)) if method == RANDOM else method
