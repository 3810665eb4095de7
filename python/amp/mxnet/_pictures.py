"""Pictures as bytes of JPEG, PNG and the like. Pillow reads and writes them; it is imported when it is needed."""

import io

import numpy as np

from ..base import ArgumentError, UnsupportedError

_FORMATS = {".jpg": "JPEG", ".jpeg": "JPEG", ".png": "PNG", ".bmp": "BMP"}


def _pillow():
    try:
        from PIL import Image
    except ImportError:
        raise UnsupportedError("pictures are read and written by Pillow: pip install pillow") from None
    return Image


def decode(data, flag=1, to_rgb=True):
    """Pixels of a picture, uint8 (height, width, channels). `flag`: 1 colours, 0 grey levels, -1 as the picture is.

    Raises ArgumentError for what is no picture.
    """
    if not len(data):
        raise ArgumentError("a picture has no bytes")
    image_module = _pillow()
    try:
        picture = image_module.open(io.BytesIO(data))
        if flag == 0:
            picture.draft("L", None)  # JPEG holds grey levels
        picture.load()
    except OSError as error:
        raise ArgumentError(f"bytes are no picture that Pillow reads: {error}") from None
    if flag == 0 and picture.mode in ("RGB", "RGBA", "P"):
        return _grey_levels(np.array(picture.convert("RGB")), picture.format)[:, :, None]
    picture = picture.convert("L" if flag == 0 or (flag < 0 and picture.mode in ("L", "1")) else "RGB")
    pixels = np.array(picture)
    if pixels.ndim == 2:
        return pixels[:, :, None]
    return pixels if to_rgb else np.ascontiguousarray(pixels[:, :, ::-1])


# Weights of red, green and blue, binary places, and what is added before these are dropped: libpng's and OpenCV's.
_GREY = {"PNG": ((9797, 19234, 3737), 15, 0), None: ((4899, 9617, 1868), 14, 8192)}


def _grey_levels(pixels, file_format):
    """Grey levels (height, width) of colours as MXNet reads them from a file of that format."""
    weights, places, half = _GREY.get(file_format, _GREY[None])
    return (pixels.astype(np.int32) @ np.array(weights, np.int32) + half >> places).astype(np.uint8)


def encode(pixels, quality, extension):
    """Bytes of a picture; pixels are uint8 (height, width) or (height, width, 1 or 3), blue first."""
    if extension.lower() not in _FORMATS:
        raise ArgumentError(f"img_fmt: expected one of {', '.join(_FORMATS)}, got {extension!r}")
    if pixels.dtype != np.uint8 or pixels.ndim not in (2, 3) or (pixels.ndim == 3 and pixels.shape[2] not in (1, 3)):
        raise ArgumentError(f"expected a picture of uint8, got {pixels.dtype} of shape {pixels.shape}")
    if pixels.ndim == 3:
        pixels = pixels[:, :, 0] if pixels.shape[2] == 1 else np.ascontiguousarray(pixels[:, :, ::-1])
    options = {"JPEG": {"quality": quality}, "PNG": {"compress_level": quality}}
    buffer, name = io.BytesIO(), _FORMATS[extension.lower()]
    _pillow().fromarray(pixels).save(buffer, name, **options.get(name, {}))
    return buffer.getvalue()


def write_text(pixels, x, y, text):
    """Writes white letters on a picture (height, width, 3) of uint8."""
    _pillow()
    from PIL import Image, ImageDraw

    picture = Image.fromarray(pixels)
    ImageDraw.Draw(picture).text((x, y), text, fill=(255, 255, 255))
    pixels[:] = np.asarray(picture)
