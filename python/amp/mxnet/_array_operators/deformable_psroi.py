"""The operator _contrib_DeformablePSROIPooling: samples of regions, whose bins are moved by learned offsets."""

import numpy as np

from ...base import ArgumentError
from .. import np as mx_np
from ..operator.array_operators import operator


def _rounded(x):
    """Half away from zero."""
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def _no_offsets(attributes):
    return ["trans"] * bool(attributes.get("no_trans", False))


def _shapes(data, rois, *others, output_dim, group_size, pooled_size, **attributes):
    if len(data) != 4 or len(rois) != 2 or rois[1] != 5 or (others and len(others[0]) != 4):
        raise ArgumentError(f"expected data (N, C, H, W) and rois (R, 5), got shapes {data} and {rois}")
    if data[1] != output_dim * group_size**2 or min(group_size, pooled_size, output_dim, *data[2:]) < 1:
        raise ArgumentError(f"expected data of output_dim * group_size ^ 2 channels, got shape {data}")
    return [(rois[0], output_dim, pooled_size, pooled_size)]


@operator("_contrib_DeformablePSROIPooling", without=_no_offsets, shapes=_shapes)
def _pooled(
    data,
    rois,
    trans=None,
    *,
    spatial_scale,
    output_dim,
    group_size,
    pooled_size,
    part_size=0,
    sample_per_part=1,
    trans_std=0.0,
    no_trans=False,
):
    """Averages of samples in the bins of regions, each bin of channels of its own and moved by an offset."""
    boxes = rois.asnumpy().astype(np.float64)
    start = _rounded(boxes[:, 1:3]) * spatial_scale - 0.5
    size = np.maximum((_rounded(boxes[:, 3:5]) + 1) * spatial_scale - 0.5 - start, 0.1)
    moved = _offsets(trans, output_dim, pooled_size, part_size or pooled_size) if trans is not None else (0, 0)
    columns, rows = (
        _places(start[:, axis], size[:, axis], moved[axis] * trans_std, pooled_size, sample_per_part, axis)
        for axis in (0, 1)
    )
    return _averages(data, _planes(boxes[:, 0], data.shape, output_dim, group_size, pooled_size), rows, columns)


def _offsets(trans, channels, pooled, part):
    """Of columns and of rows: a number for each region, channel and bin."""
    regions, pairs, rows, columns = trans.shape
    if pairs < 2 or pairs % 2 or channels % (pairs // 2) or (rows, columns) != (part, part):
        raise ArgumentError(f"expected offsets (R, 2 * classes, {part}, {part}), got shape {trans.shape}")
    kind = np.arange(channels) // (channels // (pairs // 2)) * 2
    place = np.arange(pooled) * part // pooled
    first = np.arange(regions)[:, None, None, None] * pairs + kind[:, None, None]
    return [
        mx_np.take(trans.reshape(-1), ((first + i) * part + place[:, None]) * part + place, mode="clip") for i in (0, 1)
    ]


def _places(start, size, moved, pooled, samples, axis):
    """Where bins are sampled along an axis, (region, channel, row, column, sample)."""
    bins = np.arange(pooled)[:, None] + np.arange(samples) / samples
    bins = bins[None, :] if axis == 0 else bins[:, None]
    fixed = start[:, None, None, None] + size[:, None, None, None] / pooled * bins
    fixed = mx_np.array(fixed[:, None], dtype="float64")
    if isinstance(moved, (int, float)):
        return fixed
    size = mx_np.array(size[:, None, None, None, None], dtype="float64")
    return fixed + mx_np.expand_dims(moved.astype("float64"), -1) * size


def _planes(images, shape, channels, group, pooled):
    """Which plane of the data each bin is sampled from, (region, channel, row, column)."""
    if ((images < 0) | (images >= shape[0])).any():
        raise ArgumentError(f"a region is of none of the {shape[0]} images")
    place = np.clip(np.arange(pooled) * group // pooled, 0, group - 1)
    channel = (np.arange(channels)[:, None, None] * group + place[:, None]) * group + place
    return images.astype(np.int64)[:, None, None, None] * shape[1] + channel


def _corners(places, size):
    """Which samples lie in a map, the neighbours of each, and how far it is from the first one."""
    at = places.asnumpy()
    inside = np.clip(at, 0, size - 1)
    low = np.floor(inside)
    distance = places + mx_np.array(inside - at - low, dtype="float64")
    return (at >= -0.5) & (at <= size - 0.5), low.astype(np.int64), np.ceil(inside).astype(np.int64), distance


def _averages(data, planes, rows, columns):
    height, width = data.shape[2:]
    row_ok, top, bottom, down = _corners(rows, height)
    column_ok, left, right, across = _corners(columns, width)
    counted = row_ok[..., :, None] & column_ok[..., None, :]
    down, across = mx_np.expand_dims(down, -1), mx_np.expand_dims(across, -2)
    values, flat = 0, data.reshape(-1).astype("float64")
    for row, by_row in ((top, 1 - down), (bottom, down)):
        for column, by_column in ((left, 1 - across), (right, across)):
            places = (planes[..., None, None] * height + row[..., :, None]) * width + column[..., None, :]
            values = values + mx_np.take(flat, places, mode="clip") * by_row * by_column
    shares = counted / np.maximum(counted.sum((-2, -1), keepdims=True), 1)
    return (values * mx_np.array(shares, dtype="float64")).sum((-2, -1)).astype(data.dtype)
