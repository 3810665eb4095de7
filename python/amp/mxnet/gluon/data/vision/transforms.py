"""What is done to pictures before training, as blocks: call them, or pass them to `Dataset.transform_first`.

Pictures are arrays (height, width, channels); batches of them have an axis in front. Further arguments of a call are
handed through, so that a transform takes (picture, label), too. Sizes are a number or (width, height). Random numbers
are those of `mx.random`.
"""

import numbers

import numpy as np

from ..... import nd
from ....._arrays import readable
from ....._core import NDArray
from .....base import ArgumentError
from .... import image, random
from ...._missing import getter
from ....image import operators
from ...block import Block, HybridBlock
from ...nn.containers import HybridSequential, Sequential

__all__ = [
    "Cast",
    "CenterCrop",
    "Compose",
    "CropResize",
    "HybridCompose",
    "HybridRandomApply",
    "Normalize",
    "RandomApply",
    "RandomBrightness",
    "RandomColorJitter",
    "RandomContrast",
    "RandomCrop",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomGray",
    "RandomHue",
    "RandomLighting",
    "RandomResizedCrop",
    "RandomRotation",
    "RandomSaturation",
    "Resize",
    "Rotate",
    "ToTensor",
]


class Compose(Sequential):
    """Compose(transforms): one after the other.

    >>> transforms = mx.gluon.data.vision.transforms
    >>> change = transforms.Compose([transforms.Resize(4), transforms.ToTensor()])
    >>> change(mx.nd.ones((5, 6, 3), dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, transforms):
        super().__init__()
        self.add(*transforms)


class HybridCompose(HybridSequential):
    """HybridCompose(transforms): one after the other; those that are made of operators can run as one graph.

    >>> transforms = mx.gluon.data.vision.transforms
    >>> change = transforms.HybridCompose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])
    >>> change.hybridize()
    >>> change(mx.nd.ones((4, 4, 3), dtype="uint8")).shape
    (3, 4, 4)
    """

    def __init__(self, transforms):
        super().__init__()
        self.add(*transforms)


class _Transform(HybridBlock):
    """A transform made of operators: it may become part of a graph."""

    def forward(self, x, *args):
        """The changed picture, and the other arguments as they came."""
        changed = self._change(x if isinstance(x, NDArray) else nd.NDArray(readable(x)))
        return (changed, *args) if args else changed


class _OnHost(_Transform):
    """A transform that NumPy computes: it is no part of a graph."""

    def hybridize(self, active=True, **kwargs):
        """Has no effect."""


class Cast(_Transform):
    """Cast(dtype='float32'): another dtype.

    >>> mx.gluon.data.vision.transforms.Cast("float32")(mx.nd.ones((4, 6, 3), dtype="uint8")).dtype
    dtype('float32')
    """

    def __init__(self, dtype="float32"):
        super().__init__()
        self._dtype = dtype

    def _change(self, x):
        return x.astype(self._dtype)


class ToTensor(_Transform):
    """float32 in [0, 1] of pixels from 0 to 255, channels first.

    >>> mx.gluon.data.vision.transforms.ToTensor()(mx.nd.ones((4, 6, 3), dtype="uint8")).shape
    (3, 4, 6)
    """

    def _change(self, x):
        return operators.to_tensor(x)


class Normalize(_Transform):
    """Normalize(mean=0.0, std=1.0): (x - mean) / std of tensors; numbers, or one for each channel.

    >>> mx.gluon.data.vision.transforms.Normalize((1, 1, 1), 2)(mx.nd.ones((3, 4, 6))).sum().asscalar()
    np.float32(0.0)
    """

    def __init__(self, mean=0.0, std=1.0):
        super().__init__()
        self._mean, self._std = mean, std

    def _change(self, x):
        return operators.normalize(x, self._mean, self._std)


class Resize(_OnHost):
    """Resize(size, keep_ratio=False, interpolation=1): pictures of another size, with MXNet's numbers.

    With `keep_ratio` a number is the size of the shorter side. `interpolation`: 0 nearest, 1 linear, 2 cubic, 3 area,
    4 Lanczos.

    >>> mx.gluon.data.vision.transforms.Resize((3, 2))(mx.nd.ones((4, 6, 3))).shape
    (2, 3, 3)
    """

    def __init__(self, size, keep_ratio=False, interpolation=1):
        super().__init__()
        self._size, self._keep, self._interpolation = size, keep_ratio, interpolation

    def _change(self, x):
        return operators.resize(x, self._size, self._keep, self._interpolation)


class CenterCrop(_OnHost):
    """CenterCrop(size, interpolation=1): the middle of a picture; small pictures are enlarged.

    >>> mx.gluon.data.vision.transforms.CenterCrop((3, 2))(mx.nd.ones((4, 6, 3))).shape
    (2, 3, 3)
    """

    def __init__(self, size, interpolation=1):
        super().__init__()
        self._size, self._interpolation = _pair(size), interpolation

    def _change(self, x):
        return _each(x, lambda picture: image.center_crop(picture, self._size, self._interpolation)[0])


class CropResize(_Transform):
    """CropResize(x, y, width, height, size=None, interpolation=None): a part, resized where `size` is given.

    >>> mx.gluon.data.vision.transforms.CropResize(1, 0, 4, 2, size=8)(mx.nd.ones((4, 6, 3))).shape
    (8, 8, 3)
    """

    def __init__(self, x, y, width, height, size=None, interpolation=None):
        super().__init__()
        self._place, self._size, self._interpolation = (x, y, width, height), size, interpolation

    def _change(self, x):
        part = operators.crop(x, *self._place)
        return operators.resize(part, self._size, False, self._interpolation or 1) if self._size else part


class RandomCrop(_OnHost):
    """RandomCrop(size, pad=None, pad_value=0, interpolation=1): a random part of a picture.

    `pad` is how many pixels of `pad_value` are put around it first: a number, or ((above, below), (left, right)).
    Small pictures are enlarged.

    >>> mx.gluon.data.vision.transforms.RandomCrop(4, pad=2)(mx.nd.ones((4, 4, 3))).shape
    (4, 4, 3)
    """

    def __init__(self, size, pad=None, pad_value=0, interpolation=1):
        super().__init__()
        self._size, self._pad_value, self._interpolation = _pair(size), pad_value, interpolation
        self._pad = None if pad is None else np.broadcast_to(_pad_widths(pad), (2, 2))

    def _change(self, x):
        width, height = self._size
        if self._pad is not None:
            widths = [(0, 0)] * (x.ndim - 3) + [tuple(pair) for pair in self._pad.tolist()] + [(0, 0)]
            x = type(x)(np.pad(np.asarray(x), widths, constant_values=self._pad_value))
        return operators.random_crop(x, width=width, height=height, interp=self._interpolation)


class RandomResizedCrop(_OnHost):
    """RandomResizedCrop(size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3), interpolation=1): a random part, resized.

    `scale` is the range of its share of the picture's area, `ratio` that of width / height.

    >>> mx.gluon.data.vision.transforms.RandomResizedCrop((3, 2))(mx.nd.ones((8, 9, 3))).shape
    (2, 3, 3)
    """

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation=1):
        super().__init__()
        self._size, self._scale, self._ratio, self._interpolation = _pair(size), scale, ratio, interpolation

    def _change(self, x):
        return operators.random_resized_crop(x, *self._size, self._scale, self._ratio, self._interpolation)


class RandomFlipLeftRight(_OnHost):
    """RandomFlipLeftRight(p=0.5): the mirrored picture, with probability `p`.

    >>> mx.gluon.data.vision.transforms.RandomFlipLeftRight()(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def _change(self, x):
        return operators.random_flip_left_right(x, self.p)


class RandomFlipTopBottom(_OnHost):
    """RandomFlipTopBottom(p=0.5): the picture upside down, with probability `p`.

    >>> mx.gluon.data.vision.transforms.RandomFlipTopBottom()(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def _change(self, x):
        return operators.random_flip_top_bottom(x, self.p)


class _Factor(_OnHost):
    """A random factor from max(0, 1 - spread) to 1 + spread."""

    def __init__(self, spread):
        super().__init__()
        self._range = max(0.0, 1.0 - spread), 1.0 + spread

    def _change(self, x):
        return self._operator(x, *self._range)


class RandomBrightness(_Factor):
    """RandomBrightness(brightness): pixels times a factor from 1 - brightness to 1 + brightness.

    >>> mx.gluon.data.vision.transforms.RandomBrightness(0.1)(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    _operator = staticmethod(operators.random_brightness)

    def __init__(self, brightness):
        super().__init__(brightness)


class RandomContrast(_Factor):
    """RandomContrast(contrast): differences from the mean grey level times a factor near 1.

    >>> mx.gluon.data.vision.transforms.RandomContrast(0.1)(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    _operator = staticmethod(operators.random_contrast)

    def __init__(self, contrast):
        super().__init__(contrast)


class RandomSaturation(_Factor):
    """RandomSaturation(saturation): differences from grey levels times a factor near 1.

    >>> mx.gluon.data.vision.transforms.RandomSaturation(0.1)(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    _operator = staticmethod(operators.random_saturation)

    def __init__(self, saturation):
        super().__init__(saturation)


class RandomHue(_Factor):
    """RandomHue(hue): hues are turned by a share of the circle from -hue to hue.

    >>> mx.gluon.data.vision.transforms.RandomHue(0.1)(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    _operator = staticmethod(operators.random_hue)

    def __init__(self, hue):
        super().__init__(hue)


class RandomColorJitter(_OnHost):
    """RandomColorJitter(brightness=0, contrast=0, saturation=0, hue=0): the four others, in random order.

    >>> mx.gluon.data.vision.transforms.RandomColorJitter(0.1, 0.1, 0.1, 0.1)(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        super().__init__()
        self._spreads = brightness, contrast, saturation, hue

    def _change(self, x):
        return operators.random_color_jitter(x, *self._spreads)


class RandomLighting(_OnHost):
    """RandomLighting(alpha): adds the principal components of ImageNet's colours, times random numbers.

    `alpha` is the standard deviation of these.

    >>> mx.gluon.data.vision.transforms.RandomLighting(0.1)(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    def __init__(self, alpha):
        super().__init__()
        self._alpha = alpha

    def _change(self, x):
        return operators.random_lighting(x, self._alpha)


class RandomGray(_OnHost):
    """RandomGray(p=0.5): grey levels in all channels, with probability `p`.

    >>> mx.gluon.data.vision.transforms.RandomGray(1)(mx.nd.ones((4, 6, 3))).shape
    (4, 6, 3)
    """

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def _change(self, x):
        return operators.grey(x) if random.generator().random() < self.p else x


class Rotate(_OnHost):
    """Rotate(rotation_degrees, zoom_in=False, zoom_out=False): turned tensors; see `mx.image.imrotate`.

    >>> mx.gluon.data.vision.transforms.Rotate(10)(mx.nd.ones((3, 4, 6))).shape
    (3, 4, 6)
    """

    def __init__(self, rotation_degrees, zoom_in=False, zoom_out=False):
        super().__init__()
        self._args = rotation_degrees, zoom_in, zoom_out

    def _change(self, x):
        return image.imrotate(x, *self._args)


class RandomRotation(_OnHost):
    """RandomRotation(angle_limits, zoom_in=False, zoom_out=False, rotate_with_proba=1.0): randomly turned tensors.

    Raises ArgumentError for limits in the wrong order, and for a probability outside of 0 to 1.

    >>> mx.gluon.data.vision.transforms.RandomRotation((-10, 10))(mx.nd.ones((3, 4, 6))).shape
    (3, 4, 6)
    """

    def __init__(self, angle_limits, zoom_in=False, zoom_out=False, rotate_with_proba=1.0):
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ArgumentError(f"angle_limits: expected a smaller and a larger angle, got {angle_limits}")
        if not 0 <= rotate_with_proba <= 1:
            raise ArgumentError(f"rotate_with_proba: expected a probability, got {rotate_with_proba}")
        self._args, self._probability = ((lower, upper), zoom_in, zoom_out), rotate_with_proba

    def _change(self, x):
        if x.dtype != np.float32:
            raise TypeError("RandomRotation: expected float32, as ToTensor makes it")
        return image.random_rotate(x, *self._args) if random.generator().random() < self._probability else x


class RandomApply(Sequential):
    """RandomApply(transforms, p=0.5): a transform (or a list of them), with probability `p`.

    >>> transforms = mx.gluon.data.vision.transforms
    >>> transforms.RandomApply(transforms.Resize(2), p=1)(mx.nd.ones((4, 6, 3))).shape
    (2, 2, 3)
    """

    def __init__(self, transforms, p=0.5):
        super().__init__()
        self.transforms = Compose(transforms) if isinstance(transforms, (list, tuple)) else transforms
        self.p = p

    def forward(self, x, *args):
        """The changed picture or the one that came, and the other arguments."""
        if random.generator().random() < self.p:
            return self.transforms(x, *args)
        return (x, *args) if args else x


class HybridRandomApply(RandomApply, Block):
    """HybridRandomApply(transforms, p=0.5): the same as RandomApply.

    >>> transforms = mx.gluon.data.vision.transforms
    >>> transforms.HybridRandomApply(transforms.Resize(2), p=1)(mx.nd.ones((4, 6, 3))).shape
    (2, 2, 3)
    """


def _pair(size):
    return (int(size),) * 2 if isinstance(size, numbers.Number) else tuple(size)


def _pad_widths(pad):
    """((above, below), (left, right)) of a number or of pairs; of four numbers MXNet takes the order of these."""
    widths = np.asarray(pad)
    return widths.reshape(2, 2) if widths.size == 4 else widths


def _each(pictures, change):
    """`change` of a picture, or of each one of a batch."""
    if pictures.ndim == 3:
        return change(pictures)
    return type(pictures)(np.stack([np.asarray(change(picture)) for picture in pictures]))


__getattr__ = getter(__name__)
