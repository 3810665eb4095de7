"""Reading pictures, parts of them, and other sizes.

Pictures are NDArrays (height, width, channels), or `mx.np.ndarray`s where `mx.util.set_np` says so; sizes are (width,
height). Pillow decodes them. Random numbers are those of `mx.random`.
"""

import math
import numbers
import os

import numpy as np

from ... import nd
from ..._arrays import readable
from ..._core import NDArray
from ...base import ArgumentError
from .. import _pictures, _resize, random, util
from .. import np as mx_np
from .._missing import getter
from .operators import crop, random_part
from .rotation import rotated

__all__ = [
    "center_crop",
    "color_normalize",
    "copyMakeBorder",
    "fixed_crop",
    "imdecode",
    "imencode",
    "imread",
    "imresize",
    "imrotate",
    "random_crop",
    "random_rotate",
    "random_size_crop",
    "resize_short",
    "scale_down",
]


def _array(values):
    return (mx_np.ndarray if util.is_np_array() else nd.NDArray)(np.ascontiguousarray(values))


def _given(result, out):
    if out is None:
        return result
    out[:] = result
    return out


def imread(filename, flag=1, to_rgb=True, out=None):
    """The pixels of a file, uint8. `flag`: 1 for colours, 0 for grey levels; without `to_rgb` blue comes first.

    Raises ArgumentError where there is no such picture.

    >>> with open("black.png", "wb") as file:
    ...     size = file.write(mx.image.imencode(np.zeros((4, 5, 3), "uint8")))
    >>> mx.image.imread("black.png").shape
    (4, 5, 3)
    """
    if not os.path.isfile(filename):
        raise ArgumentError(f"imread: there is no file {os.fspath(filename)!r}")
    with open(filename, "rb") as file:
        return imdecode(file.read(), flag, to_rgb, out)


def imdecode(buf, flag=1, to_rgb=True, out=None):
    """The pixels of a file's bytes; see `imread`.

    >>> mx.image.imdecode(mx.image.imencode(np.zeros((4, 5, 3), "uint8")), flag=0).shape
    (4, 5, 1)
    """
    data = buf.asnumpy().tobytes() if isinstance(buf, NDArray) else bytes(buf)
    return _given(_array(_pictures.decode(data, flag, bool(to_rgb))), out)


def imencode(img, quality=3, img_fmt=".png"):
    """Bytes of a file with these pixels (red first): .png, .jpg or .bmp.

    `quality` is that of JPEG, 1 to 100, or the compression of PNG, 1 to 9.

    >>> mx.image.imencode(np.zeros((4, 5, 3), "uint8"))[1:4]
    b'PNG'
    """
    pixels = np.asarray(readable(img, "imencode"))
    return _pictures.encode(pixels[:, :, ::-1] if pixels.ndim == 3 else pixels, quality, img_fmt)


def imresize(src, w, h, interp=1, out=None):
    """A picture of another size, with MXNet's numbers.

    `interp`: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 what suits the sizes, 10 any of them.

    >>> mx.image.imresize(mx.nd.ones((4, 6, 3)), 3, 2).shape
    (2, 3, 3)
    """
    pixels = _pixels(src, "imresize")
    method = _resize.chosen(interp, pixels.shape[:2], (h, w), random.generator().integers)
    return _given(_like(src, _resize.resize(pixels, int(h), int(w), method)), out)


def _get_interp_method(interp, sizes=()):
    """The method that `interp` means, 0 to 4; `sizes` are old height, old width, new height and new width."""
    if interp not in (0, 1, 2, 3, 4, 9, 10):
        raise ArgumentError(f"interp: expected 0 to 4, 9 or 10, got {interp}")
    old, new = (sizes[:2], sizes[2:]) if len(sizes) else ((1, 1), (2, 2))
    return _resize.chosen(interp, old, new, random.generator().integers)


def copyMakeBorder(src, top, bot, left, right, type=0, value=0.0, values=(), out=None):  # noqa: N802 - MXNet's name
    """A picture with a border. `type`: 0 of `value` (or `values`, one for each channel), 1 of the outermost pixels,
    2 mirrored with them, 3 from the other side, 4 mirrored without them.

    Raises ArgumentError for other types and for negative widths.

    >>> mx.image.copyMakeBorder(mx.nd.ones((4, 6, 3)), 1, 1, 2, 2).shape
    (6, 10, 3)
    """
    pixels, widths = _pixels(src, "copyMakeBorder"), ((top, bot), (left, right))
    if min(top, bot, left, right) < 0:
        raise ArgumentError(f"copyMakeBorder: expected widths from 0, got {(top, bot, left, right)}")
    modes = {1: "edge", 2: "symmetric", 3: "wrap", 4: "reflect"}
    if type == 0:
        height, width, channels = pixels.shape
        bordered = np.empty((top + height + bot, left + width + right, channels), pixels.dtype)
        bordered[:] = np.asarray(values if len(values) else value).astype(pixels.dtype)
        bordered[top : top + height, left : left + width] = pixels
    elif type in modes:
        bordered = np.pad(pixels, (*widths, (0, 0)), modes[type])
    else:
        raise ArgumentError(f"copyMakeBorder: expected type 0 to 4, got {type}")
    return _given(_like(src, bordered), out)


def scale_down(src_size, size):
    """The size (width, height) that fits into a picture of `src_size`, with the same ratio.

    >>> mx.image.scale_down((640, 480), (720, 120))
    (640, 106)
    """
    width, height = size
    own_width, own_height = src_size
    if min(width, height, own_width, own_height) < 0:
        raise ArgumentError(f"scale_down: expected sizes from 0, got {tuple(size)} and {tuple(src_size)}")
    if own_height < height:
        width, height = float(width * own_height) / height, own_height
    if own_width < width:
        width, height = own_width, float(height * own_width) / width
    return int(width), int(height)


def resize_short(src, size, interp=2):
    """A picture whose shorter side has that size.

    >>> mx.image.resize_short(mx.nd.ones((4, 6, 3)), 8).shape
    (8, 12, 3)
    """
    height, width = _pixels(src, "resize_short").shape[:2]
    new = (size, size * height // width) if height > width else (size * width // height, size)
    return imresize(src, *new, interp=interp)


def fixed_crop(src, x0, y0, w, h, size=None, interp=2):
    """The part of a picture that begins at column `x0` and row `y0`, resized where `size` says so.

    >>> mx.image.fixed_crop(mx.nd.ones((4, 6, 3)), 1, 0, 4, 2, size=(8, 8)).shape
    (8, 8, 3)
    """
    part = crop(src if isinstance(src, NDArray) else _array(src), int(x0), int(y0), int(w), int(h))
    return part if size is None or (w, h) == tuple(size) else imresize(part, *size, interp=interp)


def center_crop(src, size, interp=2):
    """(the middle of a picture with that size, (x, y, width, height) of the part). Small pictures are enlarged.

    >>> mx.image.center_crop(mx.nd.ones((4, 6, 3)), (2, 2))[1]
    (2, 1, 2, 2)
    """
    height, width = src.shape[:2]
    new_width, new_height = scale_down((width, height), size)
    place = (width - new_width) // 2, (height - new_height) // 2, new_width, new_height
    return fixed_crop(src, *place, size, interp), place


def random_crop(src, size, interp=2):
    """(a random part of a picture with that size, (x, y, width, height) of the part). Small pictures are enlarged.

    >>> mx.image.random_crop(mx.nd.ones((4, 6, 3)), (2, 2))[0].shape
    (2, 2, 3)
    """
    height, width = src.shape[:2]
    new_width, new_height = scale_down((width, height), size)
    draw = random.generator()
    x, y = int(draw.integers(width - new_width + 1)), int(draw.integers(height - new_height + 1))
    place = x, y, new_width, new_height
    return fixed_crop(src, *place, size, interp), place


def random_size_crop(src, size, area, ratio, interp=2, **kwargs):
    """(a random part of a picture, resized, (x, y, width, height) of the part).

    `area`: the smallest share of the picture, or a range of shares; `ratio`: a range of width / height.

    >>> mx.image.random_size_crop(mx.nd.ones((8, 9, 3)), (2, 2), (0.1, 1), (0.75, 1.33))[0].shape
    (2, 2, 3)
    """
    area = kwargs.pop("min_area", area)
    if kwargs:
        raise ArgumentError(f"random_size_crop: unknown arguments {', '.join(kwargs)}")
    height, width = src.shape[:2]
    place = random_part(width, height, area, ratio)
    return (fixed_crop(src, *place, size, interp), place) if place else center_crop(src, size, interp)


def color_normalize(src, mean, std=None):
    """(src - mean) / std; one of them may be None.

    >>> mx.image.color_normalize(mx.nd.ones((1, 1, 3)), mx.nd.array([1, 1, 1])).asnumpy().ravel()
    array([0., 0., 0.], dtype=float32)
    """
    if mean is not None:
        src = src - _broadcast(mean, src)
    return src if std is None else src / _broadcast(std, src)


def _broadcast(value, src):
    return value if isinstance(value, (numbers.Number, NDArray)) else type(src)(np.asarray(value, src.dtype))


def imrotate(src, rotation_degrees, zoom_in=False, zoom_out=False):
    """Tensors (channels, height, width) or batches of them, turned; what comes from outside is 0.

    Degrees are one number or, for a batch, an array. `zoom_in`: nothing comes from outside; `zoom_out`: nothing is
    lost. Raises TypeError for other dtypes than float32 and for several angles of one picture, and ArgumentError where
    both are asked for.

    >>> mx.image.imrotate(mx.nd.ones((3, 4, 6)), 10).shape
    (3, 4, 6)
    """
    if zoom_in and zoom_out:
        raise ArgumentError("imrotate: zoom_in excludes zoom_out")
    if src.dtype != np.float32:
        raise TypeError("imrotate: expected float32, as ToTensor makes it")
    if src.ndim not in (3, 4):
        raise ArgumentError(f"imrotate: expected 3 axes, or 4 for a batch, got shape {src.shape}")
    degrees = np.asarray(readable(rotation_degrees, "rotation_degrees"), np.float64).ravel()
    count = src.shape[0] if src.ndim == 4 else 1
    if src.ndim == 3 and degrees.size != 1:
        raise TypeError(f"imrotate: one picture has one angle, got {degrees.size}")
    if degrees.size not in (1, count):
        raise ArgumentError(f"imrotate: {degrees.size} angles do not fit {count} pictures")
    batch = np.asarray(src).reshape(count, *src.shape[-3:])
    turned = [
        rotated(pixels, math.radians(angle), zoom_in, zoom_out)
        for pixels, angle in zip(batch, np.broadcast_to(degrees, count))
    ]
    return _like(src, np.reshape(turned, src.shape))


def random_rotate(src, angle_limits, zoom_in=False, zoom_out=False):
    """`imrotate` by random angles, one for each picture of a batch, between two limits.

    >>> mx.image.random_rotate(mx.nd.ones((3, 4, 6)), (-10, 10)).shape
    (3, 4, 6)
    """
    count = src.shape[0] if src.ndim == 4 else 1
    return imrotate(src, random.generator().uniform(*angle_limits, count), zoom_in, zoom_out)


def _pixels(src, what):
    pixels = np.asarray(readable(src, what))
    if pixels.ndim != 3:
        raise ArgumentError(f"{what}: expected a picture of 3 axes, got shape {pixels.shape}")
    if not pixels.size:
        raise ArgumentError(f"{what}: a picture of shape {pixels.shape} has no pixels")
    return pixels


def _like(src, values):
    return type(src)(np.ascontiguousarray(values)) if isinstance(src, NDArray) else _array(values)


__getattr__ = getter(__name__)
