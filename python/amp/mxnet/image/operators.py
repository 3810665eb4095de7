"""Operators on pictures: `mx.nd.image` and `mx.npx.image` have them, too.

Pictures are (height, width, channels), those of a batch (N, height, width, channels); dtypes stay, but for `to_tensor`.
Random numbers are those of `mx.random`.
"""

import numbers
import sys

import numpy as np

from ... import _recording, _trace, nd, sym
from ..._core import NDArray
from ...base import ArgumentError
from ...sym import Symbol
from .. import _resize, npx, random
from .._missing import getter

__all__ = [
    "adjust_lighting",
    "crop",
    "flip_left_right",
    "flip_top_bottom",
    "normalize",
    "random_brightness",
    "random_color_jitter",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_top_bottom",
    "random_hue",
    "random_lighting",
    "random_resized_crop",
    "random_saturation",
    "resize",
    "to_tensor",
]

_GREY = np.array([0.299, 0.587, 0.114], np.float32)
# Principal components of the colours of ImageNet's pictures, times their sizes.
_COLOUR_AXES = np.array(
    [
        [55.46 * -0.5675, 4.794 * 0.7192, 1.148 * 0.4009],
        [55.46 * -0.5808, 4.794 * -0.0045, 1.148 * -0.8140],
        [55.46 * -0.5836, 4.794 * -0.6948, 1.148 * 0.4203],
    ],
    np.float32,
)


# ---- what is composed of operators: it has gradients, and becomes part of graphs ----


def to_tensor(data):
    """float32 in [0, 1] of pixels from 0 to 255, channels first.

    Raises ArgumentError for other numbers of axes.

    >>> mx.nd.image.to_tensor(mx.nd.ones((4, 6, 3), dtype="uint8")).shape
    (3, 4, 6)
    """
    _require_axes("to_tensor", data, 3, 4)
    order = (0, 3, 1, 2) if _axes(data) == 4 else (2, 0, 1)
    if _is_computed(data):
        return _like(data, np.transpose(np.asarray(data).astype(np.float32) / np.float32(255), order))
    functions = _module_of(data)
    return functions.transpose(functions.cast(data, dtype="float32"), axes=order) / 255.0


def normalize(data, mean=0.0, std=1.0):
    """(data - mean) / std of tensors (channels, height, width) or batches of them; a number, or one for each channel.

    Raises ArgumentError for other numbers of axes and for other than 1 or 3 channels.

    >>> float(mx.nd.image.normalize(mx.nd.ones((3, 4, 6)), mean=(1, 1, 1), std=2).max().asscalar())
    0.0
    """
    _require_axes("normalize", data, 3, 4)
    channels = data.shape[-3] if isinstance(data, NDArray) else None
    if channels not in (None, 1, 3):
        raise ArgumentError(f"normalize: expected 1 or 3 channels in front of height and width, got {data.shape}")
    mean, std = (np.reshape(np.asarray(value, np.float32), (-1, 1, 1)) for value in (mean, std))
    if _is_computed(data):
        values = (np.asarray(data) - mean) / std
        return _like(data, values.astype(data.dtype))
    if isinstance(data, Symbol):
        return sym.broadcast_div(sym.broadcast_sub(data, _by_channel(mean)), _by_channel(std))
    mean, std = (type(data)(value.astype(data.dtype)) for value in (mean, std))
    return nd.broadcast_div(nd.broadcast_sub(data, mean), std)


def _by_channel(values):
    """A symbol of shape (channels, 1, 1)."""
    parts = [sym.full((1, 1, 1), float(value)) for value in values.ravel()]
    return sym.concat(*parts, dim=0)


def crop(data, x, y, width, height, name=None):
    """The part of a picture that begins at column `x` and row `y`.

    Raises ArgumentError where the picture does not have it.

    >>> mx.nd.image.crop(mx.nd.ones((4, 6, 3)), 1, 0, 5, 2).shape
    (2, 5, 3)
    """
    if isinstance(data, NDArray):
        _require_axes("crop", data, 3, 4)
        own_height, own_width = data.shape[-3:-1]
        if min(x, y) < 0 or min(width, height) < 1 or x + width > own_width or y + height > own_height:
            part = f"{width} x {height} pixels from ({x}, {y})"
            raise ArgumentError(f"crop: a picture of {own_width} x {own_height} pixels has no {part}")
    if _is_computed(data):
        return _like(data, np.asarray(data)[..., y : y + height, x : x + width, :])
    functions = _module_of(data)
    rows = functions.slice_axis(data, axis=-3, begin=y, end=y + height)
    return functions.slice_axis(rows, axis=-2, begin=x, end=x + width, **({"name": name} if name else {}))


def flip_left_right(data):
    """The mirrored picture.

    >>> mx.nd.image.flip_left_right(mx.nd.array([[[1], [2]]])).asnumpy().ravel()
    array([2., 1.], dtype=float32)
    """
    return _flipped(data, -2)


def flip_top_bottom(data):
    """The picture upside down.

    >>> mx.nd.image.flip_top_bottom(mx.nd.array([[[1]], [[2]]])).asnumpy().ravel()
    array([2., 1.], dtype=float32)
    """
    return _flipped(data, -3)


def _flipped(data, axis):
    if _is_computed(data):
        return _like(data, np.flip(np.asarray(data), axis))
    return _module_of(data).flip(data, axis=axis + _axes(data))


# ---- what NumPy computes ----


def resize(data, size, keep_ratio=False, interp=1):
    """Pictures of another size: a number or (width, height). Numbers are those of MXNet, and so of OpenCV.

    With `keep_ratio` a number is the size of the shorter side. `interp`: 0 nearest, 1 linear, 2 cubic, 3 area, 4
    Lanczos. Raises ArgumentError for sizes below 1.

    >>> mx.nd.image.resize(mx.nd.ones((4, 6, 3)), size=(3, 2)).shape
    (2, 3, 3)
    """
    width, height = _size("resize", size, data, keep_ratio)
    return _on_host("resize", data, lambda pixels: _resize.resize(pixels, height, width, interp))


def _size(what, size, data, keep_ratio=False):
    sizes = (size,) if isinstance(size, numbers.Number) else tuple(size)
    if len(sizes) not in (1, 2) or min(sizes) < 1:
        raise ArgumentError(f"{what}: expected a size from 1 or (width, height), got {size}")
    if len(sizes) == 2:
        return sizes
    height, width = data.shape[-3:-1]
    if not keep_ratio:
        return sizes * 2
    short = sizes[0]
    return (short, height * short // width) if height > width else (width * short // height, short)


def random_flip_left_right(data, p=0.5):
    """The mirrored picture, with probability `p`.

    >>> mx.nd.image.random_flip_left_right(mx.nd.array([[[1], [2]]]), p=1).asnumpy().ravel()
    array([2., 1.], dtype=float32)
    """
    return flip_left_right(data) if _happens("random_flip_left_right", p) else data


def random_flip_top_bottom(data, p=0.5):
    """The picture upside down, with probability `p`.

    >>> mx.nd.image.random_flip_top_bottom(mx.nd.array([[[1]], [[2]]]), p=1).asnumpy().ravel()
    array([2., 1.], dtype=float32)
    """
    return flip_top_bottom(data) if _happens("random_flip_top_bottom", p) else data


def _happens(what, p):
    _trace.refuse(what)
    return bool(random.generator().random() < p)


def random_crop(data, xrange=(0.0, 1.0), yrange=(0.0, 1.0), width=1, height=1, interp=1):
    """A part of `width` times `height` pixels; a picture that is smaller is made larger first.

    `xrange` and `yrange`: where the part may lie, as shares of the room for it.

    >>> mx.nd.image.random_crop(mx.nd.ones((4, 6, 3)), width=3, height=2).shape
    (2, 3, 3)
    """
    _trace.refuse("random_crop")
    own_height, own_width = data.shape[-3:-1]
    if own_height < height or own_width < width:
        data = resize(data, (max(own_width, width), max(own_height, height)), interp=interp)
        own_height, own_width = data.shape[-3:-1]
    x, y = (
        int(random.generator().uniform(*share) * (room + 1))
        for share, room in ((xrange, own_width - width), (yrange, own_height - height))
    )
    return crop(data, min(x, own_width - width), min(y, own_height - height), width, height)


def random_resized_crop(data, width, height, area=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interp=1, max_trial=10):
    """A part of random area and ratio of width to height, resized.

    `area` is a share of the picture's. Where `max_trial` parts do not fit, the middle is taken.

    >>> mx.nd.image.random_resized_crop(mx.nd.ones((8, 9, 3)), width=3, height=2).shape
    (2, 3, 3)
    """
    _trace.refuse("random_resized_crop")
    own_height, own_width = data.shape[-3:-1]
    place = random_part(own_width, own_height, area, ratio, max_trial) or middle(own_width, own_height, width, height)
    return resize(crop(data, *place), (width, height), interp=interp)


def random_part(own_width, own_height, area, ratio, max_trial=10):
    """(x, y, width, height) of a random part of a picture, or None. `area` is a smallest share or a range."""
    smallest, largest = (area, 1.0) if isinstance(area, numbers.Number) else area
    draw = random.generator()
    for _ in range(max_trial):
        wanted = draw.uniform(smallest, largest) * own_width * own_height
        shape = np.exp(draw.uniform(*np.log(ratio)))
        width, height = int(round(np.sqrt(wanted * shape))), int(round(np.sqrt(wanted / shape)))
        if 0 < width <= own_width and 0 < height <= own_height:
            x, y = int(draw.integers(own_width - width + 1)), int(draw.integers(own_height - height + 1))
            return x, y, width, height
    return None


def middle(own_width, own_height, width, height):
    """(x, y, width, height) of the largest part with that ratio, in the middle of a picture."""
    scale = min(1.0, own_width / width, own_height / height)
    width, height = int(width * scale), int(height * scale)
    return (own_width - width) // 2, (own_height - height) // 2, width, height


# ---- colours ----


def random_brightness(data, min_factor, max_factor):
    """Pixels times a random factor.

    >>> mx.nd.image.random_brightness(mx.nd.array([[[1, 2, 3]]]), 2, 2).asnumpy().ravel()
    array([2., 4., 6.], dtype=float32)
    """
    return _with_factor("random_brightness", data, min_factor, max_factor, brightened)


def random_contrast(data, min_factor, max_factor):
    """Differences from the mean grey level times a random factor.

    >>> mx.nd.image.random_contrast(mx.nd.array([[[10], [30]]]), 0.5, 0.5).asnumpy().ravel()
    array([15., 25.], dtype=float32)
    """
    return _with_factor("random_contrast", data, min_factor, max_factor, contrasted)


def random_saturation(data, min_factor, max_factor):
    """Differences from each pixel's grey level times a random factor.

    >>> mx.nd.image.random_saturation(mx.nd.array([[[10, 10, 10]]]), 0.5, 0.5).asnumpy().ravel().round(2)
    array([10., 10., 10.], dtype=float32)
    """
    return _with_factor("random_saturation", data, min_factor, max_factor, saturated)


def random_hue(data, min_factor, max_factor):
    """Hues are turned: by 360 degrees times a random factor.

    >>> mx.nd.image.random_hue(mx.nd.array([[[10, 10, 10]]]), 0, 0.5).asnumpy().ravel().round(2)
    array([10., 10., 10.], dtype=float32)
    """
    return _with_factor("random_hue", data, min_factor, max_factor, turned)


def random_color_jitter(data, brightness=0.0, contrast=0.0, saturation=0.0, hue=0.0):
    """The four others in random order, each with factors from 1 - x to 1 + x (hue: from -x to x); 0 leaves it out.

    >>> mx.nd.image.random_color_jitter(mx.nd.ones((4, 6, 3)), 0.1, 0.1, 0.1, 0.1).shape
    (4, 6, 3)
    """
    changes = [
        (random_brightness, brightness, 1.0),
        (random_contrast, contrast, 1.0),
        (random_saturation, saturation, 1.0),
        (random_hue, hue, 1.0),
    ]
    for i in random.generator().permutation(len(changes)):
        function, spread, middle_factor = changes[i]
        if spread > 0:
            data = function(data, max(0.0, middle_factor - spread), middle_factor + spread)
    return data


def adjust_lighting(data, alpha):
    """Adds the principal components of colours, `alpha` times each.

    >>> mx.nd.image.adjust_lighting(mx.nd.ones((4, 6, 3)), (0, 0, 0)).shape
    (4, 6, 3)
    """
    shift = _COLOUR_AXES @ np.asarray(alpha, np.float32)
    return _on_host("adjust_lighting", data, lambda pixels: pixels + shift)


def random_lighting(data, alpha_std=0.05):
    """`adjust_lighting` by normally distributed numbers.

    >>> mx.nd.image.random_lighting(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """
    return adjust_lighting(data, random.generator().normal(0, alpha_std, 3))


def _with_factor(what, data, least, most, change):
    if not 0 <= least <= most:
        raise ArgumentError(f"{what}: expected 0 <= min_factor <= max_factor, got {least} and {most}")
    factor = np.float32(random.generator().uniform(least, most))
    return _on_host(what, data, lambda pixels: change(pixels, factor))


def grey(data):
    """Grey levels in all three channels; weights are those of MXNet's RandomGray, whose sum is a little below 1."""
    weights = np.array([0.2989, 0.587, 0.114], np.float32)
    return _on_host("grey", data, lambda pixels: np.repeat((pixels @ weights)[..., None], 3, axis=-1))


def brightened(pixels, factor):
    """Pixels times a factor."""
    return pixels * factor


def contrasted(pixels, factor):
    """Pixels between their mean grey level (factor 0) and themselves (1)."""
    return pixels * factor + (1 - factor) * _grey(pixels).mean(dtype=np.float32)


def saturated(pixels, factor):
    """Pixels between their grey levels (factor 0) and themselves (1)."""
    if pixels.shape[-1] == 1:
        return pixels
    return pixels * factor + (1 - factor) * _grey(pixels)[..., None]


def turned(pixels, factor):
    """Pixels whose hues are turned by 360 degrees times a factor."""
    if pixels.shape[-1] == 1:
        return pixels
    return _from_hue(*_to_hue(np.asarray(pixels, np.float32) / 255, factor * 360)) * 255


def _grey(pixels):
    return pixels[..., 0] if pixels.shape[-1] == 1 else pixels @ _GREY


def _to_hue(pixels, turn):
    """(hue in sixths of a circle, lightness, saturation)"""
    red, green, blue = np.moveaxis(pixels, -1, 0)
    most, least = pixels.max(-1), pixels.min(-1)
    difference, both = most - least, most + least
    lightness = both / 2
    is_grey = difference < 1e-7
    divisor = np.where(is_grey, 1, difference)
    share = np.where(is_grey, 0, difference / np.where(is_grey, 1, np.where(lightness < 0.5, both, 2 - both)))
    hue = np.where(
        most == red,
        (green - blue) / divisor,
        np.where(most == green, (blue - red) / divisor + 2, (red - green) / divisor + 4),
    )
    return (np.where(is_grey, 0, hue) + turn / 60) % 6, lightness, share


def _from_hue(hue, lightness, share):
    high = np.where(lightness <= 0.5, lightness * (1 + share), lightness + share - lightness * share)
    low = 2 * lightness - high
    channels = []
    for offset in (2, 0, -2):
        place = (hue + offset) % 6
        rising, falling = low + (high - low) * place, low + (high - low) * (4 - place)
        channels.append(np.select([place < 1, place < 3, place < 4], [rising, high, falling], low))
    return np.stack(channels, axis=-1)


# ---- what the functions share ----


def _axes(data):
    return data.ndim if isinstance(data, NDArray) else 3


def _require_axes(what, data, *allowed):
    if _axes(data) not in allowed:
        raise ArgumentError(f"{what}: expected a picture of 3 axes or a batch of 4, got shape {tuple(data.shape)}")


def _module_of(data):
    return sym if isinstance(data, Symbol) else nd


def _is_computed(data):
    """Whether NumPy may compute it: no graph and no gradient is made of it."""
    return isinstance(data, NDArray) and _trace.current() is None and not _recording.is_active()


def _like(data, values):
    return type(data)(np.ascontiguousarray(values))


def _on_host(what, data, function):
    """An array of the dtype of `data`; uint8 keeps to its range."""
    _trace.refuse(what)
    _recording.refuse(what, data)
    _require_axes(what, data, 3, 4)
    pixels = np.asarray(data)
    values = function(pixels)
    if values.dtype != pixels.dtype and pixels.dtype.kind in "iu":
        limits = np.iinfo(pixels.dtype)
        values = np.clip(values, limits.min, limits.max)
    return _like(data, values.astype(pixels.dtype))


def install():
    """Makes the functions those of `nd.image` and `npx.image`, and what symbols can do those of `sym.image`."""
    npx.image = sys.modules[__name__]
    for name in __all__:
        setattr(nd.image, name, globals()[name])
    for function in (to_tensor, normalize, crop, flip_left_right, flip_top_bottom):
        setattr(sym.image, function.__name__, function)


__getattr__ = getter(__name__)
