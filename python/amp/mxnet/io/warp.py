"""Affine maps of pictures with OpenCV's numbers: places are rounded to 1/32 of a pixel, weights to 1/32768."""

import functools

import numpy as np

from .. import _resize

_PLACES = 10  # binary places of what is added up for a place
_SHARES = 5  # binary places of a place within a pixel
_WEIGHT_ONE = 1 << 15


def warped(pixels, matrix, height, width, method, fill):
    """Pixels (height, width, channels) of uint8, where `matrix` (2, 3) takes (x, y) of the old ones to the new ones.

    What comes from outside of the picture has the colour `fill`. `method` is that of `_resize`.
    """
    x, y = _places(_inverse(np.asarray(matrix, np.float64)), height, width, method)
    if method == _resize.NEAREST:
        return _pixels_at(pixels, y, x, fill).astype(np.uint8)
    table = _weights(method)
    share, first = (1 << _SHARES) - 1, 1 - table.shape[2] // 2
    weights = table[y & share, x & share]
    total = np.full((height, width, pixels.shape[2]), _WEIGHT_ONE // 2, np.int64)
    for j, i in np.ndindex(table.shape[2:]):
        found = _pixels_at(pixels, (y >> _SHARES) + first + j, (x >> _SHARES) + first + i, fill)
        total += weights[:, :, j, i, None] * found
    return np.clip(total // _WEIGHT_ONE, 0, 255).astype(np.uint8)


def _inverse(matrix):
    scale = matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]
    scale = 1 / scale if scale else 0.0
    turn = np.array([[matrix[1, 1], -matrix[0, 1]], [-matrix[1, 0], matrix[0, 0]]]) * scale
    return np.column_stack([turn, -turn @ matrix[:, 2]])


def _places(inverse, height, width, method):
    """Where each pixel comes from, (x, y), with five binary places; whole pixels for the nearest ones."""
    one, left = 1 << _PLACES, 0 if method == _resize.NEAREST else _SHARES
    half = one >> (left + 1)
    return [
        np.rint(row[0] * np.arange(width) * one).astype(np.int64)
        + np.rint((row[1] * np.arange(height) + row[2]) * one).astype(np.int64)[:, None]
        + half
        >> (_PLACES - left)
        for row in inverse
    ]


@functools.lru_cache
def _weights(method):
    """Those of the pixels around a place: (32, 32, n, n) for its rows and columns, integers that add up to one."""
    shares = (np.arange(1 << _SHARES) / (1 << _SHARES)).astype(np.float32)
    kernels = {_resize.CUBIC: _resize.cubic_weights, _resize.LANCZOS: _resize.lanczos_weights}
    line = np.stack(kernels.get(method, lambda share: [1 - share, share])(shares), 1).astype(np.float32)
    products = line[:, None, :, None] * line[None, :, None, :]
    table = np.clip(np.rint(products * np.float32(_WEIGHT_ONE)), -(1 << 15), (1 << 15) - 1).astype(np.int64)
    if method in kernels:
        for weights in table.reshape(-1, *table.shape[2:]):
            _correct(weights)
    return table


def _correct(weights):
    """What the sum lacks goes to the largest of the middle weights, what it has too much comes from the smallest."""
    excess, half = weights.sum() - _WEIGHT_ONE, len(weights) // 2
    middle = weights[half : half + 2, half : half + 2]
    if excess:
        place = np.argmax(middle) if excess < 0 else np.argmin(middle)
        middle[np.unravel_index(place, middle.shape)] -= excess


def _pixels_at(pixels, y, x, fill):
    height, width = pixels.shape[:2]
    is_inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    found = pixels[np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)].astype(np.int64)
    return np.where(is_inside[..., None], found, fill)
