"""Functions of boxes: NumPy arrays (N, 4 or more) with left, top, right, bottom and what else there is."""

import numpy as np

from ........base import ArgumentError
from ....... import random

__all__ = [
    "bbox_clip_xyxy",
    "bbox_crop",
    "bbox_flip",
    "bbox_iou",
    "bbox_random_crop_with_constraints",
    "bbox_resize",
    "bbox_translate",
    "bbox_xywh_to_xyxy",
    "bbox_xyxy_to_xywh",
]


def check_boxes(bbox):
    """Raises AssertionError, as MXNet does, for another shape than (N, 4 or more)."""
    if len(bbox.shape) != 2 or bbox.shape[1] < 4:
        raise AssertionError(f"boxes have the shape (N, 4 or more), got {tuple(bbox.shape)}")


def _require_length(name, values, length):
    if len(values) != length:
        raise ArgumentError(f"{name}: expected {length} numbers, got {len(values)}")


def bbox_crop(bbox, crop_box=None, allow_outside_center=True):
    """Boxes as they are in a part (left, top, width, height) of the picture; None stands for no limit.

    Boxes outside of it are dropped; without `allow_outside_center` also those with their middle outside. Raises
    ArgumentError for a part of other than four numbers.

    >>> utils = mx.gluon.contrib.data.vision.transforms.bbox.utils
    >>> utils.bbox_crop(np.array([[0, 0, 4, 4], [8, 8, 9, 9]]), (2, 1, 5, 5)).tolist()
    [[0, 0, 2, 3]]
    """
    bbox = bbox.copy()
    if crop_box is None:
        return bbox
    _require_length("crop_box", crop_box, 4)
    left, top, width, height = crop_box
    low = np.array([left or 0, top or 0])
    high = low + (width or np.inf, height or np.inf)
    is_kept = np.ones(len(bbox), bool)
    if not allow_outside_center:
        middles = (bbox[:, :2] + bbox[:, 2:4]) / 2
        is_kept = ((low <= middles) & (middles < high)).all(1)
    bbox[:, :2] = np.maximum(bbox[:, :2], low) - low
    bbox[:, 2:4] = np.minimum(bbox[:, 2:4], high) - low
    return bbox[is_kept & (bbox[:, :2] < bbox[:, 2:4]).all(1)]


def bbox_flip(bbox, size, flip_x=False, flip_y=False):
    """Boxes of the mirrored picture, whose `size` is (width, height).

    >>> mx.gluon.contrib.data.vision.transforms.bbox.utils.bbox_flip(np.array([[1, 2, 3, 4]]), (10, 10), True).tolist()
    [[7, 2, 9, 4]]
    """
    _require_length("size", size, 2)
    bbox = bbox.copy()
    for axis, is_flipped in enumerate((flip_x, flip_y)):
        if is_flipped:
            bbox[:, (axis, axis + 2)] = size[axis] - bbox[:, (axis + 2, axis)]
    return bbox


def bbox_resize(bbox, in_size, out_size):
    """Boxes, float64, of the picture in another size; both are (width, height).

    >>> utils = mx.gluon.contrib.data.vision.transforms.bbox.utils
    >>> utils.bbox_resize(np.array([[1, 2, 3, 4]]), (2, 2), (4, 2)).tolist()
    [[2.0, 2.0, 6.0, 4.0]]
    """
    _require_length("in_size", in_size, 2)
    _require_length("out_size", out_size, 2)
    bbox = bbox.astype(float)
    bbox[:, :4] *= np.tile(np.divide(out_size, in_size), 2)
    return bbox


def bbox_translate(bbox, x_offset=0, y_offset=0):
    """Boxes moved to the right and down.

    >>> mx.gluon.contrib.data.vision.transforms.bbox.utils.bbox_translate(np.array([[1, 2, 3, 4]]), 10).tolist()
    [[11, 2, 13, 4]]
    """
    bbox = bbox.copy()
    bbox[:, :4] += (x_offset, y_offset, x_offset, y_offset)
    return bbox


def bbox_iou(bbox_a, bbox_b, offset=0):
    """The share that each of N and M boxes have in common of what both cover, (N, M).

    `offset` is added to widths and heights: 1 where boxes count pixels. Raises IndexError for fewer than four numbers.

    >>> boxes = np.array([[0, 0, 2, 2], [1, 0, 3, 2]])
    >>> mx.gluon.contrib.data.vision.transforms.bbox.utils.bbox_iou(boxes[:1], boxes).round(3).tolist()
    [[1.0, 0.333]]
    """
    if bbox_a.shape[1] < 4 or bbox_b.shape[1] < 4:
        raise IndexError("boxes have four numbers or more")
    low = np.maximum(bbox_a[:, None, :2], bbox_b[:, :2])
    high = np.minimum(bbox_a[:, None, 2:4], bbox_b[:, 2:4])
    common = np.prod(high - low + offset, axis=2) * (low < high).all(axis=2)
    areas = [np.prod(boxes[:, 2:4] - boxes[:, :2] + offset, axis=1) for boxes in (bbox_a, bbox_b)]
    return common / (areas[0][:, None] + areas[1] - common)


def _of_rows(boxes, function):
    """`function` of the four columns of boxes, or of four numbers. Raises IndexError for other numbers of these."""
    if isinstance(boxes, (tuple, list)):
        if len(boxes) != 4:
            raise IndexError(f"a box has four numbers, got {len(boxes)}")
        return function(*boxes)
    if not isinstance(boxes, np.ndarray):
        raise TypeError(f"expected a list, a tuple or a NumPy array, got {type(boxes).__name__}")
    if boxes.size % 4:
        raise IndexError(f"boxes have four numbers, got an array of shape {boxes.shape}")
    return function(*boxes.T[:4])


def _columns(values):
    return np.stack(values, 1) if isinstance(values[0], np.ndarray) else values


def bbox_xywh_to_xyxy(xywh):
    """(left, top, right, bottom) in pixels of (left, top, width, height): a tuple of a box, or an array of boxes.

    Raises IndexError for other than four numbers, TypeError for what is neither a list, a tuple nor a NumPy array.

    >>> mx.gluon.contrib.data.vision.transforms.bbox.utils.bbox_xywh_to_xyxy(np.array([[1, 2, 3, 4]])).tolist()
    [[1, 2, 3, 5]]
    """
    return _of_rows(xywh, lambda x, y, w, h: _columns((x, y, x + np.maximum(w - 1, 0), y + np.maximum(h - 1, 0))))


def bbox_xyxy_to_xywh(xyxy):
    """(left, top, width, height) of (left, top, right, bottom) in pixels; errors are those of `bbox_xywh_to_xyxy`.

    >>> mx.gluon.contrib.data.vision.transforms.bbox.utils.bbox_xyxy_to_xywh((1, 2, 3, 5))
    (1, 2, 3, 4)
    """
    return _of_rows(xyxy, lambda left, top, right, bottom: _columns((left, top, right - left + 1, bottom - top + 1)))


def bbox_clip_xyxy(xyxy, width, height):
    """Boxes inside of a picture; errors are those of `bbox_xywh_to_xyxy`.

    As in MXNet the result for an array is flat: all left edges, all upper ones, right ones, lower ones.

    >>> mx.gluon.contrib.data.vision.transforms.bbox.utils.bbox_clip_xyxy(np.array([[-1, 2, 30, 5]]), 10, 10).tolist()
    [0, 2, 9, 5]
    """

    def clip(*edges):
        inside = tuple(np.clip(edge, 0, size - 1) for edge, size in zip(edges, (width, height, width, height)))
        return np.hstack(inside) if isinstance(xyxy, np.ndarray) else inside

    return _of_rows(xyxy, clip)


_CONSTRAINTS = ((0.1, None), (0.3, None), (0.5, None), (0.7, None), (0.9, None), (None, 1))


def bbox_random_crop_with_constraints(
    bbox, size, min_scale=0.3, max_scale=1, max_aspect_ratio=2, constraints=None, max_trial=50
):
    """(boxes, (left, top, width, height)) of a random part of a picture of `size` (width, height), as SSD is trained.

    For each of `constraints`, (least, largest) overlap of the part and a box (None: any), a part is drawn, at most
    `max_trial` times; one of these, or the whole picture, is taken. Boxes with their middle outside are dropped.

    >>> utils = mx.gluon.contrib.data.vision.transforms.bbox.utils
    >>> utils.bbox_random_crop_with_constraints(np.array([[0, 0, 4, 4]]), (8, 8), constraints=[])
    (array([[0, 0, 4, 4]]), (0, 0, 8, 8))
    """
    draw, whole = random.generator(), (0, 0, *size)
    parts = [whole]
    for least, most in _CONSTRAINTS if constraints is None else constraints:
        for _ in range(max_trial):
            part = _random_part(draw, size, draw.uniform(min_scale, max_scale), max_aspect_ratio)
            if not len(bbox):
                return bbox, part
            overlap = bbox_iou(bbox, np.array([[*part[:2], part[0] + part[2], part[1] + part[3]]]))
            if (least is None or least <= overlap.min()) and (most is None or overlap.max() <= most):
                parts.append(part)
                break
    for number in draw.permutation(len(parts)):
        found = bbox_crop(bbox, parts[number], allow_outside_center=False)
        if found.size:
            return found, parts[number]
    return bbox, whole


def _random_part(draw, size, scale, max_aspect_ratio):
    width, height = size
    ratio = draw.uniform(max(1 / max_aspect_ratio, scale * scale), min(max_aspect_ratio, 1 / (scale * scale)))
    w, h = int(width * scale * np.sqrt(ratio)), int(height * scale / np.sqrt(ratio))
    top, left = draw.integers(max(height - h, 1)), draw.integers(max(width - w, 1))
    return int(left), int(top), w, h
