"""Boxes drawn on pictures: NumPy arrays (height, width, 3) of uint8, blue first."""

import numpy as np

from .. import _pictures
from .augmenters import IMAGENET_MEAN, IMAGENET_STD


def draw_box(pixels, box, colour, thickness, text=None):
    """Draws a rectangle (left, top, right, bottom in pixels) whose lines are so thick, and a text inside of it."""
    left, top, right, bottom = box
    low, high = thickness // 2, thickness - thickness // 2
    for x in (left, right):
        pixels[max(top - low, 0) : bottom + high, max(x - low, 0) : max(x + high, 0)] = colour
    for y in (top, bottom):
        pixels[max(y - low, 0) : max(y + high, 0), max(left - low, 0) : right + high] = colour
    if text:
        _pictures.write_text(pixels, left + 5, top + 5, text)


def restored(pixels, mean, std, clip):
    """Pixels, red first, as they were before ColorNormalizeAug; as blue first, uint8."""
    for value, of_imagenet, undo in ((std, _STD, np.multiply), (mean, _MEAN, np.add)):
        if value is not None:
            pixels = undo(pixels, of_imagenet if value is True else value)
    pixels = np.clip(pixels, 0, 255) if clip else pixels
    return np.ascontiguousarray(pixels[:, :, ::-1].astype(np.uint8))


def show(pixels, milliseconds, window_name):
    """OpenCV shows a picture so long; 0: until a key is pressed."""
    import cv2

    cv2.imshow(window_name, pixels)
    cv2.waitKey(milliseconds)


_MEAN, _STD = np.array(IMAGENET_MEAN), np.array(IMAGENET_STD)
