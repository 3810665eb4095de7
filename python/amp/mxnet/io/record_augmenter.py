"""What ImageRecordIter does to pictures: its arguments, in MXNet's order. Pixels are uint8 (height, width, channels).

Random numbers are drawn anew for each picture and round. Sizes and pixels are MXNet's where nothing is random.
"""

import math

import numpy as np

from ...base import ArgumentError
from .. import _resize
from . import warp
from .record_colours import changed_colours

DEFAULTS = {
    "resize": -1,
    "rand_crop": False,
    "random_resized_crop": False,
    "max_rotate_angle": 0,
    "rotate": -1,
    "max_aspect_ratio": 0.0,
    "min_aspect_ratio": None,
    "max_shear_ratio": 0.0,
    "max_crop_size": -1,
    "min_crop_size": -1,
    "max_random_scale": 1.0,
    "min_random_scale": 1.0,
    "max_random_area": 1.0,
    "min_random_area": 1.0,
    "max_img_size": 1e10,
    "min_img_size": 0.0,
    "brightness": 0.0,
    "contrast": 0.0,
    "saturation": 0.0,
    "pca_noise": 0.0,
    "random_h": 0,
    "random_s": 0,
    "random_l": 0,
    "fill_value": 255,
    "inter_method": 1,
    "pad": 0,
}
_TRIALS = 10  # of a part of random size
_MAY_TURN = """max_rotate_angle max_aspect_ratio min_aspect_ratio max_shear_ratio max_random_scale min_random_scale
max_img_size min_img_size""".split()


class RecordAugmenter:
    """Changes pictures as `options` say, a dict with the keys of DEFAULTS, to the size of `data_shape`."""

    def __init__(self, data_shape, options):
        self._height, self._width = data_shape[1:]
        self._options = options = {**DEFAULTS, **options}
        vars(self).update({f"_{name}": value for name, value in options.items()})
        self._require(self._inter_method in (0, 1, 2, 3, 4, 9, 10), "inter_method: expected 0 to 4, 9 or 10")
        self._check_parts()
        self._max_rotate_angle, self._max_shear_ratio = max(self._max_rotate_angle, 0), max(self._max_shear_ratio, 0)
        self._turns = self._rotate > 0 or any(vars(self)[f"_{name}"] != DEFAULTS[name] for name in _MAY_TURN)

    def _require(self, condition, message):
        if not condition:
            raise ArgumentError(f"ImageRecordIter: {message}")

    def _check_parts(self):
        self._require(self._min_crop_size <= self._max_crop_size, "min_crop_size is above max_crop_size")
        if not self._random_resized_crop:
            return
        others = "rand_crop max_crop_size min_crop_size max_random_scale min_random_scale pad".split()
        clash = [name for name in others if self._options[name] != DEFAULTS[name]]
        self._require(not clash, f"random_resized_crop does not go with {', '.join(clash)}")
        self._require(self._min_random_area <= self._max_random_area, "min_random_area is above max_random_area")
        low, high = self._ratios()
        self._require(0 < low <= high, f"ratios of width and height from {low} to {high} are drawn")

    def _ratios(self):
        if self._min_aspect_ratio is None:
            return 1 - self._max_aspect_ratio, 1 + self._max_aspect_ratio
        return self._min_aspect_ratio, self._max_aspect_ratio

    def __call__(self, pixels, draw):
        """The changed picture; `draw` is its generator of random numbers."""
        if self._resize > 0:
            short, (height, width) = self._resize, pixels.shape[:2]
            size = (short * height // width, short) if height > width else (short, short * width // height)
            pixels = self._resized(pixels, *size, draw)
        part = self._random_part(pixels, draw) if self._random_resized_crop else None
        if part is not None:
            return changed_colours(part, self._options, draw)
        if self._turns and not self._random_resized_crop:
            pixels = self._turned(pixels, draw)
        if self._pad > 0:
            widths = ((self._pad, self._pad), (self._pad, self._pad), (0, 0))
            pixels = np.pad(pixels, widths, constant_values=self._fill_value)
        return changed_colours(self._cropped(pixels, draw), self._options, draw)

    def _resized(self, pixels, height, width, draw):
        method = _resize.chosen(self._inter_method, pixels.shape[:2], (height, width), draw.integers)
        return _resize.resize(pixels, max(1, int(height)), max(1, int(width)), method)

    def _random_part(self, pixels, draw):
        """A part of random area and ratio in the final size, or None where it may be the whole or none fits."""
        limits = self._min_random_area, self._max_random_area, self._max_aspect_ratio, self._min_aspect_ratio
        if limits == (1, 1, 0, None):
            return None
        height, width = pixels.shape[:2]
        for _ in range(_TRIALS):
            area = height * width * draw.uniform(self._min_random_area, self._max_random_area)
            ratio = draw.uniform(*self._ratios())
            w, h = int(math.sqrt(area * ratio) + 0.5), int(math.sqrt(area / ratio) + 0.5)
            if draw.random() > 0.5:
                w, h = h, w
            if 0 < h <= height and 0 < w <= width:
                y, x = draw.integers(height - h + 1), draw.integers(width - w + 1)
                return self._resized(pixels[y : y + h, x : x + w], self._height, self._width, draw)
        return None

    def _turned(self, pixels, draw):
        """Sheared, rotated, and scaled with another ratio."""
        shear = draw.uniform(-1, 1) * self._max_shear_ratio
        angle = self._rotate if self._rotate > 0 else draw.integers(-self._max_rotate_angle, self._max_rotate_angle + 1)
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        scale = draw.uniform(0, 1) * (self._max_random_scale - self._min_random_scale) + self._min_random_scale
        ratio = draw.uniform(*self._ratios())
        y_scale = 2 * scale / (1 + ratio)
        x_scale = ratio * y_scale
        turn = np.array(
            [
                [y_scale * cos - shear * sin * x_scale, y_scale * sin + shear * cos * x_scale],
                [-sin * x_scale, cos * x_scale],
            ],
            np.float32,
        )
        old = np.array(pixels.shape[1::-1], np.float32)
        new = np.maximum(self._min_img_size, np.minimum(self._max_img_size, np.float32(scale) * old)).astype(np.float32)
        matrix = np.column_stack([turn, (new - turn @ old) / 2]).astype(np.float32)
        width, height = (int(size) for size in new)
        method = _resize.chosen(self._inter_method, pixels.shape[:2], (height, width), draw.integers)
        return warp.warped(pixels, matrix, height, width, method, self._fill_value)

    def _cropped(self, pixels, draw):
        if self._max_crop_size != -1:
            self._require(min(pixels.shape[:2]) >= self._max_crop_size, "a picture is smaller than max_crop_size")
            size = int(draw.integers(max(self._min_crop_size, 1), self._max_crop_size + 1))
            return self._resized(self._part(pixels, size, size, draw), self._height, self._width, draw)
        height, width = pixels.shape[:2]
        if height < self._height:
            pixels = self._resized(pixels, self._height, np.float32(self._height) / np.float32(height) * width, draw)
        height, width = pixels.shape[:2]
        if width < self._width:
            pixels = self._resized(pixels, np.float32(self._width) / np.float32(width) * height, self._width, draw)
        return self._part(pixels, self._height, self._width, draw)

    def _part(self, pixels, height, width, draw):
        room = pixels.shape[0] - height, pixels.shape[1] - width
        y, x = (draw.integers(n + 1) for n in room) if self._rand_crop else (n // 2 for n in room)
        return pixels[y : y + height, x : x + width]
