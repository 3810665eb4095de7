"""Random changes of colours: the last ones of ImageRecordIter. Pictures are uint8 (height, width, 3), red first."""

import numpy as np

_GREY = np.array([0.299, 0.587, 0.114])
_IMAGENET_VALUES = np.array([55.46, 4.794, 1.148])
_IMAGENET_VECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])


def changed_colours(pixels, options, draw):
    """The picture with other colours, as `options` of ImageRecordIter say; pictures of one channel stay as they are."""
    if pixels.shape[2] != 3:
        return pixels
    if any(options[name] > 0 for name in ("brightness", "contrast", "saturation")):
        pixels = _jittered(pixels, options, draw)
    if any(options[name] for name in ("random_h", "random_s", "random_l")):
        pixels = _other_hue(pixels, [options[name] for name in ("random_h", "random_l", "random_s")], draw)
    if options["pca_noise"] > 0:
        shift = _IMAGENET_VECTORS @ (_IMAGENET_VALUES * draw.normal(0, options["pca_noise"], 3))
        pixels = np.clip(pixels + shift, 0, 255).astype(np.uint8)
    return pixels


def _rounded(values):
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def _jittered(pixels, options, draw):
    """Brightness, contrast and saturation in random order."""
    changes = [("brightness", lambda p: 0.0), ("contrast", lambda p: (p @ _GREY).mean()), ("saturation", _grey)]
    for number in draw.permutation(3):
        name, neutral = changes[number]
        factor = 1 + draw.uniform(-1, 1) * options[name]
        pixels = _rounded(pixels * factor + (1 - factor) * neutral(pixels))
    return pixels


def _grey(pixels):
    return (pixels @ _GREY)[..., None]


def _other_hue(pixels, most, draw):
    """Hue (in steps of two degrees), lightness and saturation (0 to 255) moved by whole numbers up to `most`."""
    shifts = [int(draw.uniform(-1, 1) * limit) for limit in most]
    moved = [np.clip(part + by, 0, end) for part, by, end in zip(to_hls(pixels), shifts, (180, 255, 255))]
    return from_hls(*moved)


def to_hls(pixels):
    """Hue, lightness and saturation as OpenCV gives them for bytes: up to 180, 255 and 255."""
    values = pixels.astype(np.float32) * np.float32(1 / 255)  # as OpenCV rounds: it decides about halves
    red, green, blue = np.moveaxis(values, -1, 0)
    high, low = values.max(-1), values.min(-1)
    spread, lightness = high - low, (high + low) / 2
    degrees = np.float32(60) / np.where(spread > 0, spread, 1)
    saturation = spread / np.where(lightness < 0.5, np.maximum(high + low, 1e-12), np.maximum(2 - high - low, 1e-12))
    hue = np.select(
        [high == red, high == green],
        [(green - blue) * degrees, (blue - red) * degrees + 120],
        (red - green) * degrees + 240,
    )
    hue = np.where(hue < 0, hue + 360, hue) / 2
    is_grey = spread <= np.finfo(np.float32).eps
    parts = np.where(is_grey, 0, hue), lightness * 255, np.where(is_grey, 0, saturation) * 255
    return [np.rint(part).astype(np.int64) for part in parts]


def from_hls(hue, lightness, saturation):
    """Pixels, red first, of what `to_hls` gives."""
    lightness, saturation, hue = lightness / 255.0, saturation / 255.0, (hue / 30.0) % 6
    high = np.where(lightness <= 0.5, lightness * (1 + saturation), lightness + saturation - lightness * saturation)
    low, sector = 2 * lightness - high, np.floor(hue).astype(np.int64)
    rising = low + (high - low) * (hue - sector)
    falling = low + (high - low) * (1 - (hue - sector))
    table = np.stack([high, low, rising, falling], -1)
    order = np.array([[0, 2, 1], [3, 0, 1], [1, 0, 2], [1, 3, 0], [2, 1, 0], [0, 1, 3]])  # red, green, blue by sector
    return _rounded(np.take_along_axis(table, order[sector], -1) * 255)
