"""Changes of pictures with boxes, as blocks: they take a picture (height, width, channels) and boxes (N, 4 or more).

Boxes are left, top, right and bottom in pixels, and what else there is. Random numbers are those of `mx.random`.
"""

import numbers

import numpy as np

from ........ import nd
from ........base import ArgumentError
from ....... import np as mx_np
from ....... import random, util
from .......image import operators
from ......block import Block
from .utils import bbox_crop, bbox_flip, bbox_random_crop_with_constraints, bbox_resize, bbox_translate, check_boxes

__all__ = [
    "ImageBboxCrop",
    "ImageBboxRandomCropWithConstraints",
    "ImageBboxRandomExpand",
    "ImageBboxRandomFlipLeftRight",
    "ImageBboxResize",
]


def _array(values):
    """Boxes as float32, an `mx.np.ndarray` where `mx.util.set_np` says so."""
    array = mx_np.array if util.is_np_array() else nd.array
    return array(np.asarray(values, np.float32), dtype="float32")


def _happens(p):
    return random.generator().random() < p


def _size(img):
    return int(img.shape[-2]), int(img.shape[-3])


class ImageBboxRandomFlipLeftRight(Block):
    """ImageBboxRandomFlipLeftRight(p=0.5): the mirrored picture and boxes, with probability `p`.

    >>> flip = mx.gluon.contrib.data.vision.ImageBboxRandomFlipLeftRight(1)
    >>> flip(mx.nd.ones((4, 8, 3)), mx.nd.array([[1, 0, 3, 4]]))[1].asnumpy().tolist()
    [[5.0, 0.0, 7.0, 4.0]]
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img, bbox):
        """(picture, boxes)"""
        check_boxes(bbox)
        if not _happens(self.p):
            return img, bbox
        return operators.flip_left_right(img), _array(bbox_flip(bbox.asnumpy(), _size(img), flip_x=True))


class ImageBboxCrop(Block):
    """ImageBboxCrop(crop, allow_outside_center=False): the part (left, top, width, height) of a picture.

    A picture that is not larger stays as it is. Boxes outside are dropped, and without `allow_outside_center` those
    with their middle outside. Raises AssertionError for a part that cannot be.

    >>> crop = mx.gluon.contrib.data.vision.ImageBboxCrop((2, 0, 4, 3))
    >>> crop(mx.nd.ones((4, 8, 3)), mx.nd.array([[1, 0, 5, 4]]))[1].asnumpy().tolist()
    [[0.0, 0.0, 3.0, 3.0]]
    """

    def __init__(self, crop, allow_outside_center=False):
        super().__init__()
        if len(crop) != 4 or min(crop[:2]) < 0 or min(crop[2:]) <= 0:
            raise AssertionError(f"crop: expected (left, top, width, height), got {tuple(crop)}")
        self._crop, self._allow_outside_center = tuple(crop), allow_outside_center

    def forward(self, img, bbox):
        """(picture, boxes)"""
        left, top, width, height = self._crop
        if left + width >= img.shape[-2] or top + height >= img.shape[-3]:
            return img, bbox
        boxes = bbox_crop(bbox.asnumpy(), self._crop, self._allow_outside_center)
        return operators.crop(img, *self._crop), _array(boxes)


class ImageBboxRandomCropWithConstraints(Block):
    """ImageBboxRandomCropWithConstraints(p=0.5, min_scale=0.3, max_scale=1, max_aspect_ratio=2, constraints=None, ...)

    A random part, with probability `p`; the other arguments are those of `utils.bbox_random_crop_with_constraints`.

    >>> crop = mx.gluon.contrib.data.vision.ImageBboxRandomCropWithConstraints(p=0)
    >>> crop(mx.nd.ones((4, 8, 3)), mx.nd.array([[1, 0, 5, 4]]))[0].shape
    (4, 8, 3)
    """

    def __init__(self, p=0.5, min_scale=0.3, max_scale=1, max_aspect_ratio=2, constraints=None, max_trial=50):
        super().__init__()
        self.p = p
        self._limits = min_scale, max_scale, max_aspect_ratio, constraints, max_trial

    def forward(self, img, bbox):
        """(picture, boxes)"""
        if not _happens(self.p):
            return img, bbox
        boxes, part = bbox_random_crop_with_constraints(bbox.asnumpy(), _size(img), *self._limits)
        return (img, bbox) if part == (0, 0, *_size(img)) else (operators.crop(img, *part), _array(boxes))


class ImageBboxRandomExpand(Block):
    """ImageBboxRandomExpand(p=0.5, max_ratio=4, fill=0, keep_ratio=True): the picture somewhere in a larger one.

    That is up to `max_ratio` times as wide and high, in one ratio with `keep_ratio`, and has the colour `fill`: a
    number or one for each channel. Raises ArgumentError for other numbers of these, NotImplementedError for batches.

    >>> expand = mx.gluon.contrib.data.vision.ImageBboxRandomExpand(p=1, max_ratio=1)
    >>> expand(mx.nd.ones((4, 8, 3)), mx.nd.array([[1, 0, 5, 4]]))[0].shape
    (4, 8, 3)
    """

    def __init__(self, p=0.5, max_ratio=4, fill=0, keep_ratio=True):
        super().__init__()
        self.p, self._max_ratio, self._fill, self._keep_ratio = p, max_ratio, fill, keep_ratio

    def forward(self, img, bbox):
        """(picture, boxes)"""
        if self._max_ratio <= 1 or not _happens(self.p):
            return img, bbox
        _require_picture(img)
        height, width, channels = img.shape
        if not isinstance(self._fill, numbers.Number) and len(self._fill) != channels:
            raise ArgumentError(f"fill: expected {channels} numbers, got {len(self._fill)}")
        draw = random.generator()
        x_ratio = draw.uniform(1, self._max_ratio)
        y_ratio = x_ratio if self._keep_ratio else draw.uniform(1, self._max_ratio)
        larger = np.empty((int(height * y_ratio), int(width * x_ratio), channels), img.dtype)
        top, left = (int(draw.integers(new - old + 1)) for new, old in zip(larger.shape, (height, width)))
        larger[:] = self._fill
        larger[top : top + height, left : left + width] = img.asnumpy()
        return type(img)(larger), _array(bbox_translate(bbox.asnumpy(), left, top))


class ImageBboxResize(Block):
    """ImageBboxResize(width, height, interp=1): a picture of that size. `interp` is that of `imresize`; -1: any.

    Raises NotImplementedError for batches.

    >>> resize = mx.gluon.contrib.data.vision.ImageBboxResize(4, 4)
    >>> resize(mx.nd.ones((4, 8, 3)), mx.nd.array([[2, 0, 4, 4]]))[1].asnumpy().tolist()
    [[1.0, 0.0, 2.0, 4.0]]
    """

    def __init__(self, width, height, interp=1):
        super().__init__()
        self._size, self._interp = (width, height), interp

    def forward(self, img, bbox):
        """(picture, boxes)"""
        _require_picture(img)
        interp = int(random.generator().integers(5)) if self._interp == -1 else self._interp
        boxes = bbox_resize(bbox.asnumpy(), _size(img), self._size)
        return operators.resize(img, self._size, False, interp), _array(boxes)


def _require_picture(img):
    if img.ndim != 3:
        raise NotImplementedError(f"expected a picture (height, width, channels), got the shape {tuple(img.shape)}")
