"""Changes of pictures with boxes for training, as objects."""

import json
import math
import numbers
import warnings

import numpy as np

from .. import random
from .augmenters import Augmenter, CastAug, ForceResizeAug, ResizeAug, colour_augmenters, plain
from .image import copyMakeBorder, fixed_crop
from .operators import flip_left_right

__all__ = [
    "CreateDetAugmenter",
    "CreateMultiRandCropAugmenter",
    "DetAugmenter",
    "DetBorrowAug",
    "DetHorizontalFlipAug",
    "DetRandomCropAug",
    "DetRandomPadAug",
    "DetRandomSelectAug",
]


class DetAugmenter:
    """The base class: subclasses define `__call__(src, label)`, which gives the changed picture and its boxes.

    Boxes are rows of a NumPy array: class, left, top, right and bottom as shares of the picture, then anything.

    >>> mx.image.DetHorizontalFlipAug(0.5).dumps()
    '["dethorizontalflipaug", {"p": 0.5}]'
    """

    def __init__(self, **kwargs):
        self._kwargs = {name: plain(value) for name, value in kwargs.items()}

    def dumps(self):
        """The name and the arguments, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src, label):
        """(the changed picture, its boxes)"""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class DetBorrowAug(DetAugmenter):
    """DetBorrowAug(augmenter): an Augmenter that leaves boxes where they are. Raises TypeError for anything else.

    >>> picture, _ = mx.image.DetBorrowAug(mx.image.ForceResizeAug((5, 4)))(mx.nd.ones((8, 8, 3)), None)
    >>> picture.shape
    (4, 5, 3)
    """

    def __init__(self, augmenter):
        if not isinstance(augmenter, Augmenter):
            raise TypeError(f"DetBorrowAug: expected an Augmenter, got {type(augmenter).__name__}")
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self):
        """The name, and what the augmenter's `dumps` gives, a list."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src, label):
        """(the changed picture, its boxes)"""
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """DetRandomSelectAug(aug_list, skip_prob=0): one of the DetAugmenters, or none with probability `skip_prob`.

    Raises ValueError for what is no DetAugmenter.

    >>> flip = mx.image.DetHorizontalFlipAug(1)
    >>> mx.image.DetRandomSelectAug([flip])(mx.nd.ones((2, 2, 3)), np.array([[0, 0.25, 0, 0.5, 1]]))[1].tolist()
    [[0.0, 0.5, 0.0, 0.75, 1.0]]
    """

    def __init__(self, aug_list, skip_prob=0):
        super().__init__(skip_prob=skip_prob)
        self.aug_list = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        if not all(isinstance(augmenter, DetAugmenter) for augmenter in self.aug_list):
            raise ValueError("DetRandomSelectAug: expected DetAugmenters only")
        self.skip_prob = skip_prob if self.aug_list else 1

    def dumps(self):
        """The name, and what each augmenter's `dumps` gives, a list."""
        return [type(self).__name__.lower(), [augmenter.dumps() for augmenter in self.aug_list]]

    def __call__(self, src, label):
        """(the changed picture, its boxes)"""
        draw = random.generator()
        if draw.random() < self.skip_prob:
            return src, label
        return self.aug_list[draw.integers(len(self.aug_list))](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """DetHorizontalFlipAug(p): the mirrored picture and boxes, with probability `p`.

    >>> picture = mx.nd.ones((2, 2, 3))
    >>> mx.image.DetHorizontalFlipAug(1)(picture, np.array([[0, 0.25, 0, 0.5, 1]]))[1].tolist()
    [[0.0, 0.5, 0.0, 0.75, 1.0]]
    """

    def __init__(self, p):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src, label):
        """(the changed picture, its boxes)"""
        if random.generator().random() < self.p:
            src = flip_left_right(src)
            self._flip_label(label)
        return src, label

    def _flip_label(self, label):
        label[:, (1, 3)] = 1.0 - label[:, (3, 1)]


class _RandomPart(DetAugmenter):
    """An augmenter that draws a rectangle of random ratio and area until one serves."""

    _least_area = 0.0  # areas up to it cannot be drawn

    def _take_ranges(self, aspect_ratio_range, area_range, max_attempts):
        """Sets them, and whether anything can be drawn."""
        self.aspect_ratio_range, self.area_range = _pair(aspect_ratio_range), _pair(area_range)
        self.max_attempts, self.enabled = max_attempts, True
        for name, least in (("area_range", self._least_area), ("aspect_ratio_range", 0.0)):
            low, high = getattr(self, name)
            if low > high or (high if name == "area_range" else low) <= least:
                warnings.warn(f"{type(self).__name__} does nothing: {name} is {(low, high)}", stacklevel=3)
                self.enabled = False

    def _drawn(self, label, height, width):
        """(x, y, width, height, boxes), or () where nothing serves."""
        if not self.enabled or height <= 0 or width <= 0:
            return ()
        areas = [share * height * width for share in self.area_range]
        for _ in range(self.max_attempts):
            ratio = random.generator().uniform(*self.aspect_ratio_range)
            found = self._attempt(label, height, width, ratio, areas) if ratio > 0 else None
            if found:
                return found
        return ()


def _pair(limits):
    """The least and the largest number; a number is both."""
    if isinstance(limits, (tuple, list)):
        return limits
    if not isinstance(limits, numbers.Number):
        raise AssertionError(f"expected a number or two, got {type(limits).__name__}")
    return limits, limits


def _between(low, high):
    """A random integer from `low` to `high`."""
    return int(random.generator().integers(low, high + 1)) if low < high else low


class DetRandomCropAug(_RandomPart):
    """DetRandomCropAug(min_object_covered=0.1, aspect_ratio_range=(0.75, 1.33), area_range=(0.05, 1.0), ...)

    A random part of the picture. Of each box that it touches it has more than the share `min_object_covered`; boxes of
    which no more than `min_eject_coverage` is left are dropped. After `max_attempts` the picture stays as it is.

    >>> picture, boxes = mx.nd.ones((8, 8, 3)), np.array([[0, 0, 0, 1, 1.0]])
    >>> mx.image.DetRandomCropAug(0.1, 1, (0.25, 0.25), 0.1)(picture, boxes)[0].shape
    (4, 4, 3)
    """

    def __init__(
        self,
        min_object_covered=0.1,
        aspect_ratio_range=(0.75, 1.33),
        area_range=(0.05, 1.0),
        min_eject_coverage=0.3,
        max_attempts=50,
    ):
        self._take_ranges(aspect_ratio_range, area_range, max_attempts)
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=self.aspect_ratio_range,
            area_range=self.area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered, self.min_eject_coverage = min_object_covered, min_eject_coverage

    def __call__(self, src, label):
        """(the changed picture, its boxes)"""
        found = self._drawn(label, *src.shape[:2])
        if found:
            *part, label = found
            src = fixed_crop(src, *part, None)
        return src, label

    def _attempt(self, label, height, width, ratio, areas):
        w, h = self._size(height, width, ratio, *areas)
        if not (areas[0] <= w * h <= areas[1] and 0 <= w <= width and 0 <= h <= height):
            return None
        y, x = _between(0, height - h), _between(0, width - w)
        if not self._check_satisfy_constraints(label, x, y, x + w, y + h, width, height):
            return None
        boxes = self._update_labels(label, (x, y, w, h), height, width)
        return None if boxes is None else (x, y, w, h, boxes)

    def _size(self, height, width, ratio, least, most):
        highest = round(math.sqrt(most / ratio))
        if round(highest * ratio) > width:
            highest = int((width + 0.4999999) / ratio)
        highest = min(highest, height)
        h = _between(min(round(math.sqrt(least / ratio)), highest), highest)
        w = round(h * ratio)
        for is_wrong, step in ((w * h < least, 1), (w * h > most, -1)):
            if is_wrong:
                h += step
                w = round(h * ratio)
        return w, h

    def _calculate_areas(self, label):
        return np.maximum(0, label[:, 3] - label[:, 1]) * np.maximum(0, label[:, 2] - label[:, 0])

    def _intersect(self, label, xmin, ymin, xmax, ymax):
        """The parts of boxes inside of a rectangle; 0 where there is none."""
        result = label.copy()
        result[:, :2] = np.maximum(label[:, :2], (xmin, ymin))
        result[:, 2:4] = np.minimum(label[:, 2:4], (xmax, ymax))
        result[(result[:, :2] >= result[:, 2:4]).any(1)] = 0
        return result

    def _check_satisfy_constraints(self, label, xmin, ymin, xmax, ymax, width, height):
        """Whether the part has enough of each box that it touches, and touches one."""
        boxes = label[:, 1:]
        areas = self._calculate_areas(boxes)
        is_seen = areas * width * height > 2
        if (xmax - xmin) * (ymax - ymin) < 2 or not is_seen.any():
            return False
        parts = self._intersect(boxes[is_seen], xmin / width, ymin / height, xmax / width, ymax / height)
        covered = self._calculate_areas(parts) / areas[is_seen]
        covered = covered[covered > 0]
        return covered.size > 0 and covered.min() > self.min_object_covered

    def _update_labels(self, label, crop_box, height, width):
        """Boxes as shares of the part, or None where none is left."""
        x, y, w, h = np.array(crop_box, float) / (width, height, width, height)
        result = label.copy()
        result[:, (1, 3)] = (result[:, (1, 3)] - x) / w
        result[:, (2, 4)] = (result[:, (2, 4)] - y) / h
        result[:, 1:5] = np.clip(result[:, 1:5], 0, 1)
        is_left = (result[:, 3] > result[:, 1]) & (result[:, 4] > result[:, 2])
        with np.errstate(divide="ignore", invalid="ignore"):
            share = self._calculate_areas(result[:, 1:]) * w * h / self._calculate_areas(label[:, 1:])
        is_left &= share > self.min_eject_coverage
        return result[is_left] if is_left.any() else None


class DetRandomPadAug(_RandomPart):
    """DetRandomPadAug(aspect_ratio_range=(0.75, 1.33), area_range=(1.0, 3.0), max_attempts=50, pad_val=(128, 128, 128))

    The picture at a random place of a larger one of the colour `pad_val`.

    >>> picture, boxes = mx.nd.ones((8, 8, 3)), np.array([[0, 0, 0, 1, 1.0]])
    >>> mx.image.DetRandomPadAug(area_range=(4, 4), aspect_ratio_range=1)(picture, boxes)[0].shape
    (16, 16, 3)
    """

    _least_area = 1.0

    def __init__(
        self, aspect_ratio_range=(0.75, 1.33), area_range=(1.0, 3.0), max_attempts=50, pad_val=(128, 128, 128)
    ):
        if not isinstance(pad_val, (list, tuple, numbers.Number)):
            raise AssertionError(f"pad_val: expected a number or a tuple, got {type(pad_val).__name__}")
        self._take_ranges(aspect_ratio_range, area_range, max_attempts)
        super().__init__(
            aspect_ratio_range=self.aspect_ratio_range,
            area_range=self.area_range,
            max_attempts=max_attempts,
            pad_val=pad_val,
        )
        self.pad_val = pad_val

    def __call__(self, src, label):
        """(the changed picture, its boxes)"""
        height, width = src.shape[:2]
        found = self._drawn(label, height, width)
        if found:
            x, y, w, h, label = found
            colour = np.broadcast_to(self.pad_val, src.shape[2:])
            src = copyMakeBorder(src, y, h - y - height, x, w - x - width, 0, values=colour)
        return src, label

    def _attempt(self, label, height, width, ratio, areas):
        least, most = (round(math.sqrt(area / ratio)) for area in areas)
        if round(least * ratio) < width:
            least = int((width + 0.499999) / ratio)
        h = _between(min(max(least, height), most), most)
        w = round(h * ratio)
        if h - height < 2 or w - width < 2:
            return None
        y, x = _between(0, h - height), _between(0, w - width)
        return x, y, w, h, self._update_labels(label, (x, y, w, h), height, width)

    def _update_labels(self, label, pad_box, height, width):
        """Boxes as shares of the larger picture."""
        x, y, w, h = pad_box
        result = label.copy()
        result[:, (1, 3)] = (result[:, (1, 3)] * width + x) / w
        result[:, (2, 4)] = (result[:, (2, 4)] * height + y) / h
        return result


def CreateMultiRandCropAugmenter(  # noqa: N802 - MXNet's name
    min_object_covered=0.1,
    aspect_ratio_range=(0.75, 1.33),
    area_range=(0.05, 1.0),
    min_eject_coverage=0.3,
    max_attempts=50,
    skip_prob=0,
):
    """One of several DetRandomCropAugs at random: arguments that are lists have a value for each of them.

    Raises AssertionError for lists of different lengths.

    >>> len(mx.image.CreateMultiRandCropAugmenter(min_object_covered=[0.1, 0.5, 0.9]).aug_list)
    3
    """
    given = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
    lists = [value if isinstance(value, list) else [value] for value in given]
    count = max(map(len, lists))
    if any(len(values) not in (1, count) for values in lists):
        raise AssertionError(f"lists of different lengths: {', '.join(str(len(values)) for values in lists)}")
    rows = zip(*(values * count if len(values) == 1 else values for values in lists))
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in rows], skip_prob)


def CreateDetAugmenter(  # noqa: N802 - MXNet's name
    data_shape,
    resize=0,
    rand_crop=0,
    rand_pad=0,
    rand_gray=0,
    rand_mirror=False,
    mean=None,
    std=None,
    brightness=0,
    contrast=0,
    saturation=0,
    pca_noise=0,
    hue=0,
    inter_method=2,
    min_object_covered=0.1,
    aspect_ratio_range=(0.75, 1.33),
    area_range=(0.05, 3.0),
    min_eject_coverage=0.3,
    max_attempts=50,
    pad_val=(127, 127, 127),
):
    """A list of DetAugmenters that end with pictures of the shape `data_shape` (3, height, width).

    `rand_crop`, `rand_pad` and `rand_gray` are probabilities. `mean` and `std` are arrays of one or three numbers, or
    True for those of ImageNet.

    >>> [type(augmenter).__name__ for augmenter in mx.image.CreateDetAugmenter((3, 8, 8), rand_mirror=True)]
    ['DetHorizontalFlipAug', 'DetBorrowAug', 'DetBorrowAug']
    """
    result = [DetBorrowAug(ResizeAug(resize, inter_method))] if resize > 0 else []
    if rand_crop > 0:
        limits = (min_object_covered, aspect_ratio_range, area_range, min_eject_coverage, max_attempts)
        result.append(CreateMultiRandCropAugmenter(*limits, skip_prob=1 - rand_crop))
    if rand_mirror > 0:
        result.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        result.append(DetRandomSelectAug([pad], 1 - rand_pad))
    size = data_shape[2], data_shape[1]
    colours = colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
    return result + [DetBorrowAug(augmenter) for augmenter in (ForceResizeAug(size, inter_method), CastAug(), *colours)]
