"""Turned pictures."""

import math

import numpy as np


def rotated(tensor, angle, zoom_in, zoom_out):
    """A tensor (channels, height, width) turned by an angle around its middle; between pixels it is linear."""
    height, width = tensor.shape[1:]
    half_height, half_width = (height - 1) / 2, (width - 1) / 2
    y, x = np.mgrid[:height, :width].astype(np.float64)
    y, x = y - half_height, x - half_width
    scale = _scale(angle, width, height, zoom_in, zoom_out)
    cosine, sine = math.cos(angle) * scale, math.sin(angle) * scale
    return _sampled(tensor, x * sine + y * cosine + half_height, x * cosine - y * sine + half_width)


def _scale(angle, width, height, zoom_in, zoom_out):
    """By how much the picture shrinks: what a turned rectangle covers along both axes, compared with itself."""
    if not (zoom_in or zoom_out):
        return 1.0
    cosine, sine = abs(math.cos(angle)), abs(math.sin(angle))
    covered_width = width * cosine + height * sine
    covered_height = width * sine + height * cosine
    if zoom_out:
        return max(covered_width / width, covered_height / height)
    return min(width / covered_width, height / covered_height)


def _sampled(tensor, y, x):
    """Values at places between pixels; 0 outside."""
    height, width = tensor.shape[1:]
    top, left = np.floor(y).astype(np.int64), np.floor(x).astype(np.int64)
    below, right = y - top, x - left
    result = np.zeros((tensor.shape[0], *y.shape))
    for row, row_weight in ((top, 1 - below), (top + 1, below)):
        for column, column_weight in ((left, 1 - right), (left + 1, right)):
            is_inside = (0 <= row) & (row < height) & (0 <= column) & (column < width)
            values = tensor[:, np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)]
            result += values * (row_weight * column_weight * is_inside)
    return result.astype(tensor.dtype)
