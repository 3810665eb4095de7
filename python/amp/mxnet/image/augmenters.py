"""Changes of pictures for training, as objects: `mx.image.CreateAugmenter` makes a list of them.

Pictures are NDArrays (height, width, channels). Random numbers are those of `mx.random`.
"""

import json

import numpy as np

from ... import nd
from ...base import ArgumentError
from .. import random
from .._missing import getter
from . import image, operators

__all__ = [
    "Augmenter",
    "BrightnessJitterAug",
    "CastAug",
    "CenterCropAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "CreateAugmenter",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "HueJitterAug",
    "LightingAug",
    "RandomCropAug",
    "RandomGrayAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SaturationJitterAug",
    "SequentialAug",
]


class Augmenter:
    """The base class: subclasses define `__call__(src)`, which gives the changed picture.

    >>> mx.image.CastAug("float32").dumps()
    '["castaug", {"type": "float32"}]'
    """

    def __init__(self, **kwargs):
        self._kwargs = {name: plain(value) for name, value in kwargs.items()}

    def dumps(self):
        """The name and the arguments, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src):
        """The changed picture."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


def plain(value):
    """A value as JSON writes it."""
    value = value.asnumpy() if isinstance(value, nd.NDArray) else value
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


class SequentialAug(Augmenter):
    """SequentialAug(ts): augmenters one after another.

    >>> mx.image.SequentialAug([mx.image.ResizeAug(4)])(mx.nd.ones((8, 8, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, ts):
        super().__init__()
        self.ts = ts

    def dumps(self):
        """The name, and what each augmenter's `dumps` gives, a list."""
        return [type(self).__name__.lower(), [each.dumps() for each in self.ts]]

    def __call__(self, src):
        """The changed picture."""
        for each in self.ts:
            src = each(src)
        return src


class RandomOrderAug(SequentialAug):
    """RandomOrderAug(ts): augmenters in random order.

    >>> mx.image.RandomOrderAug([mx.image.ResizeAug(4)])(mx.nd.ones((8, 8, 3))).shape
    (4, 4, 3)
    """

    def __call__(self, src):
        """The changed picture."""
        for number in random.generator().permutation(len(self.ts)):
            src = self.ts[number](src)
        return src


class _Sized(Augmenter):
    def __init__(self, size, interp=2):
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp


class ResizeAug(_Sized):
    """ResizeAug(size, interp=2): the shorter side gets that size.

    >>> mx.image.ResizeAug(4)(mx.nd.ones((8, 16, 3))).shape
    (4, 8, 3)
    """

    def __call__(self, src):
        """The changed picture."""
        return image.resize_short(src, self.size, self.interp)


class ForceResizeAug(_Sized):
    """ForceResizeAug(size, interp=2): (width, height), whatever the ratio was.

    >>> mx.image.ForceResizeAug((5, 4))(mx.nd.ones((8, 16, 3))).shape
    (4, 5, 3)
    """

    def __call__(self, src):
        """The changed picture."""
        return image.imresize(src, *self.size, interp=self.interp)


class RandomCropAug(_Sized):
    """RandomCropAug(size, interp=2): a random part of (width, height).

    >>> mx.image.RandomCropAug((5, 4))(mx.nd.ones((8, 16, 3))).shape
    (4, 5, 3)
    """

    def __call__(self, src):
        """The changed picture."""
        return image.random_crop(src, self.size, self.interp)[0]


class CenterCropAug(_Sized):
    """CenterCropAug(size, interp=2): the middle, of (width, height).

    >>> mx.image.CenterCropAug((5, 4))(mx.nd.ones((8, 16, 3))).shape
    (4, 5, 3)
    """

    def __call__(self, src):
        """The changed picture."""
        return image.center_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """RandomSizedCropAug(size, area, ratio, interp=2): a random part of random size, resized to (width, height).

    >>> mx.image.RandomSizedCropAug((5, 4), (0.1, 1), (0.75, 1.33))(mx.nd.ones((8, 16, 3))).shape
    (4, 5, 3)
    """

    def __init__(self, size, area, ratio, interp=2, **kwargs):
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size, self.area, self.ratio, self.interp = size, kwargs.pop("min_area", area), ratio, interp
        if kwargs:
            raise ArgumentError(f"RandomSizedCropAug: unknown arguments {', '.join(kwargs)}")

    def __call__(self, src):
        """The changed picture."""
        return image.random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class _Jitter(Augmenter):
    """A factor from 1 - spread to 1 + spread."""

    def __init__(self, **spread):
        super().__init__(**spread)
        ((name, self._spread),) = spread.items()
        setattr(self, name, self._spread)

    def __call__(self, src):
        """The changed picture."""
        factor = np.float32(1.0 + random.generator().uniform(-self._spread, self._spread))
        pixels = np.asarray(src)
        return type(src)(np.ascontiguousarray(self._change(pixels.astype(np.float32), factor)))


class BrightnessJitterAug(_Jitter):
    """BrightnessJitterAug(brightness): pixels times a factor near 1.

    >>> mx.image.BrightnessJitterAug(0.1)(mx.nd.ones((8, 16, 3))).shape
    (8, 16, 3)
    """

    _change = staticmethod(operators.brightened)

    def __init__(self, brightness):
        super().__init__(brightness=brightness)


class ContrastJitterAug(_Jitter):
    """ContrastJitterAug(contrast): differences from the mean grey level times a factor near 1.

    >>> mx.image.ContrastJitterAug(0.1)(mx.nd.ones((8, 16, 3))).shape
    (8, 16, 3)
    """

    _change = staticmethod(operators.contrasted)

    def __init__(self, contrast):
        super().__init__(contrast=contrast)


class SaturationJitterAug(_Jitter):
    """SaturationJitterAug(saturation): differences from grey levels times a factor near 1.

    >>> mx.image.SaturationJitterAug(0.1)(mx.nd.ones((8, 16, 3))).shape
    (8, 16, 3)
    """

    _change = staticmethod(operators.saturated)

    def __init__(self, saturation):
        super().__init__(saturation=saturation)


class HueJitterAug(Augmenter):
    """HueJitterAug(hue): colours are turned around the axis of grey levels, by half a turn times -hue to hue.

    >>> mx.image.HueJitterAug(0.1)(mx.nd.ones((8, 16, 3))).shape
    (8, 16, 3)
    """

    # From red, green and blue to lightness and two axes of colour (YIQ).
    _TO_AXES = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
    _FROM_AXES = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __init__(self, hue):
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src):
        """The changed picture."""
        angle = np.pi * random.generator().uniform(-self.hue, self.hue)
        cosine, sine = np.cos(angle), np.sin(angle)
        turn = np.array([[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])
        matrix = (self._FROM_AXES @ turn @ self._TO_AXES).astype(np.float32)
        return type(src)(np.ascontiguousarray(np.asarray(src).astype(np.float32) @ matrix.T))


class ColorJitterAug(RandomOrderAug):
    """ColorJitterAug(brightness, contrast, saturation): the three, in random order; 0 leaves one out.

    >>> mx.image.ColorJitterAug(0.1, 0.1, 0)(mx.nd.ones((8, 16, 3))).shape
    (8, 16, 3)
    """

    def __init__(self, brightness, contrast, saturation):
        kinds = (BrightnessJitterAug, brightness), (ContrastJitterAug, contrast), (SaturationJitterAug, saturation)
        super().__init__([kind(spread) for kind, spread in kinds if spread > 0])


class LightingAug(Augmenter):
    """LightingAug(alphastd, eigval, eigvec): adds principal components of colours, times random numbers.

    >>> mx.image.LightingAug(0.1, np.ones(3), np.eye(3))(mx.nd.ones((8, 16, 3))).shape
    (8, 16, 3)
    """

    def __init__(self, alphastd, eigval, eigvec):
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, np.asarray(eigval), np.asarray(eigvec)

    def __call__(self, src):
        """The changed picture."""
        shift = self.eigvec @ (self.eigval * random.generator().normal(0, self.alphastd, 3))
        return type(src)((np.asarray(src) + shift).astype(np.float32))


class ColorNormalizeAug(Augmenter):
    """ColorNormalizeAug(mean, std): (picture - mean) / std.

    >>> mx.image.ColorNormalizeAug([1, 1, 1], None)(mx.nd.ones((8, 16, 3))).asnumpy().max()
    np.float32(0.0)
    """

    def __init__(self, mean, std):
        super().__init__(mean=mean, std=std)
        self.mean, self.std = mean, std

    def __call__(self, src):
        """The changed picture."""
        return image.color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """RandomGrayAug(p): grey levels in all channels, with probability `p`.

    >>> mx.image.RandomGrayAug(1)(mx.nd.ones((8, 16, 3))).shape
    (8, 16, 3)
    """

    def __init__(self, p):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src):
        """The changed picture."""
        return operators.random_saturation(src, 0, 0) if random.generator().random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """HorizontalFlipAug(p): the mirrored picture, with probability `p`.

    >>> mx.image.HorizontalFlipAug(1)(mx.nd.array([[[1], [2]]])).asnumpy().ravel()
    array([2., 1.], dtype=float32)
    """

    def __init__(self, p):
        super().__init__(p=p)
        self.p = p

    def __call__(self, src):
        """The changed picture."""
        return operators.random_flip_left_right(src, self.p)


class CastAug(Augmenter):
    """CastAug(typ='float32'): another dtype.

    >>> mx.image.CastAug()(mx.nd.ones((8, 16, 3), dtype="uint8")).dtype
    dtype('float32')
    """

    def __init__(self, typ="float32"):
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src):
        """The changed picture."""
        return src.astype(self.typ)


def CreateAugmenter(  # noqa: N802 - MXNet's name
    data_shape,
    resize=0,
    rand_crop=False,
    rand_resize=False,
    rand_mirror=False,
    mean=None,
    std=None,
    brightness=0,
    contrast=0,
    saturation=0,
    hue=0,
    pca_noise=0,
    rand_gray=0,
    inter_method=2,
):
    """A list of augmenters that give pictures of `data_shape` (channels, height, width), float32.

    `resize` is the size of the shorter side; `rand_resize`, with `rand_crop`, cuts out parts of random size. `mean` and
    `std` are numbers for each channel, or True for ImageNet's. The others are those of the augmenters.

    >>> [type(each).__name__ for each in mx.image.CreateAugmenter((3, 4, 4), resize=6, rand_mirror=True)]
    ['ResizeAug', 'CenterCropAug', 'HorizontalFlipAug', 'CastAug']
    """
    size = data_shape[2], data_shape[1]
    augmenters = [ResizeAug(resize, inter_method)] if resize > 0 else []
    if rand_resize and not rand_crop:
        raise ArgumentError("CreateAugmenter: rand_resize needs rand_crop")
    if rand_resize:
        augmenters.append(RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method))
    else:
        augmenters.append((RandomCropAug if rand_crop else CenterCropAug)(size, inter_method))
    if rand_mirror:
        augmenters.append(HorizontalFlipAug(0.5))
    colours = colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
    return [*augmenters, CastAug(), *colours]


def colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std):
    """Those of the arguments of CreateAugmenter that leave pixels where they are."""
    result = []
    if brightness or contrast or saturation:
        result.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        result.append(HueJitterAug(hue))
    if pca_noise > 0:
        result.append(LightingAug(pca_noise, *_IMAGENETS_COLOURS))
    if rand_gray > 0:
        result.append(RandomGrayAug(rand_gray))
    mean = np.array(IMAGENET_MEAN) if mean is True else mean
    std = np.array(IMAGENET_STD) if std is True else std
    if mean is not None or std is not None:
        result.append(ColorNormalizeAug(mean, std))
    return result


IMAGENET_MEAN, IMAGENET_STD = (123.68, 116.28, 103.53), (58.395, 57.12, 57.375)  # of red, green and blue
_IMAGENETS_COLOURS = (
    np.array([55.46, 4.794, 1.148]),
    np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]),
)

__getattr__ = getter(__name__)
