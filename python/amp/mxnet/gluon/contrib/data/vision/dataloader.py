"""Loaders of pictures in files, with the changes for training that their arguments ask for."""

import numpy as np

from ...... import nd
from ......base import ArgumentError
from ..... import np as mx_np
from ..... import random, util
from .....image._flat_labels import boxes_of
from .....image.augmenters import IMAGENET_MEAN, IMAGENET_STD
from ....block import Block, HybridBlock
from ....data import DataLoader, batchify
from ....data.vision import ImageListDataset, ImageRecordDataset, transforms
from ....nn import HybridSequential, Sequential
from .transforms import bbox

__all__ = ["ImageBboxDataLoader", "ImageDataLoader", "create_bbox_augment", "create_image_augment"]


def create_image_augment(
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
    dtype="float32",
):
    """A block that gives pictures of `data_shape` (channels, height, width), divided by 255.

    `resize` is the size of the shorter side; `rand_resize`, with `rand_crop`, cuts out parts of random size. `mean` and
    `std` are lists of numbers for each channel, or True for ImageNet's, and count behind the division, as in MXNet.
    The others are those of the transforms.

    >>> change = mx.gluon.contrib.data.vision.create_image_augment((3, 4, 4), resize=6, rand_mirror=True)
    >>> change(mx.nd.ones((8, 9, 3), dtype="uint8")).shape
    (3, 4, 4)
    """
    interp, size = _interpolation(inter_method), (data_shape[2], data_shape[1])
    if rand_resize and not rand_crop:
        raise AssertionError("create_image_augment: rand_resize needs rand_crop")
    net = HybridSequential()
    if resize > 0:
        net.add(transforms.Resize(resize, interpolation=interp))
    crop = transforms.RandomCrop if rand_crop else transforms.CenterCrop
    net.add((transforms.RandomResizedCrop if rand_resize else crop)(size, interpolation=interp))
    if rand_mirror:
        net.add(transforms.RandomFlipLeftRight(0.5))
    net.add(transforms.Cast())
    net.add(*_colours(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray, dtype))
    return net


def create_bbox_augment(
    data_shape,
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
    max_aspect_ratio=2,
    area_range=(0.3, 3.0),
    max_attempts=50,
    pad_val=(127, 127, 127),
    dtype="float32",
):
    """A block of pictures and boxes, which gives pictures of `data_shape` (channels, height, width).

    `rand_crop`, `rand_pad` and `rand_gray` are probabilities, `area_range` the least part of a picture that is cut out
    and the largest one that it is put into. The others are those of `create_image_augment`.

    >>> change = mx.gluon.contrib.data.vision.create_bbox_augment((3, 4, 4))
    >>> change(mx.nd.ones((8, 8, 3), dtype="uint8"), mx.nd.array([[2, 0, 4, 4]]))[1].asnumpy().tolist()
    [[1.0, 0.0, 2.0, 2.0]]
    """
    interp, net = _interpolation(inter_method), Sequential()
    if rand_crop > 0:
        limits = {"max_aspect_ratio": max_aspect_ratio, "max_trial": max_attempts}
        net.add(bbox.ImageBboxRandomCropWithConstraints(rand_crop, area_range[0], 1.0, **limits))
    if rand_mirror > 0:
        net.add(bbox.ImageBboxRandomFlipLeftRight(0.5))
    if rand_pad > 0:
        net.add(bbox.ImageBboxRandomExpand(rand_pad, area_range[1], pad_val))
    net.add(bbox.ImageBboxResize(data_shape[2], data_shape[1], interp))
    net.add(*_colours(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray, dtype))
    return net


def _interpolation(method):
    return int(random.generator().integers(5)) if method == 10 else method


def _colours(mean, std, brightness, contrast, saturation, hue, pca_noise, rand_gray, dtype):
    """Transforms that leave pixels where they are, and give tensors."""
    result = []
    if brightness or contrast or saturation or hue:
        result.append(transforms.RandomColorJitter(brightness, contrast, saturation, hue))
    if pca_noise > 0:
        result.append(transforms.RandomLighting(pca_noise))
    if rand_gray > 0:
        result.append(transforms.RandomGray(rand_gray))
    result.append(transforms.ToTensor())
    if mean is not None or std is not None:
        result.append(
            transforms.Normalize(
                _statistic("mean", mean, IMAGENET_MEAN, 0.0), _statistic("std", std, IMAGENET_STD, 1.0)
            )
        )
    return [*result, transforms.Cast(dtype)]


def _statistic(name, value, of_imagenet, default):
    if value is None or value is True:
        return of_imagenet if value else default
    if not isinstance(value, (tuple, list)):
        raise AssertionError(f"{name}: expected True or a list, got {type(value).__name__}")
    return value


class _Loader:
    """A DataLoader of a data set of pictures; `for` gives its batches."""

    def __init__(self, data_set, options):
        self._iter = DataLoader(data_set, **options)

    def __iter__(self):
        return iter(self._iter)

    def __len__(self):
        return len(self._iter)


def _data_set(path_imgrec, path_imglist, path_root, imglist, num_parts, part_index):
    if path_imgrec:
        found = ImageRecordDataset(path_imgrec, flag=1)
    elif path_imglist or isinstance(imglist, list):
        found = ImageListDataset(path_root, path_imglist or imglist, flag=1)
    else:
        raise AssertionError("one of path_imgrec, path_imglist and imglist is needed")
    return found.shard(num_parts, part_index) if num_parts > 1 else found


def _require_dtype(dtype):
    if dtype not in ("int32", "float32", "int64", "float64"):
        raise AssertionError(f"dtype: labels of {dtype} are not supported")


def _augmenter(aug_list, create, data_shape, options):
    if aug_list is None:
        return create(data_shape, **options)
    if isinstance(aug_list, Block):
        return aug_list
    if not isinstance(aug_list, list):
        raise ArgumentError(f"aug_list: expected a block or a list of them, got {type(aug_list).__name__}")
    net = HybridSequential() if all(isinstance(block, HybridBlock) for block in aug_list) else Sequential()
    net.add(*aug_list)
    return net


class ImageDataLoader(_Loader):
    """ImageDataLoader(batch_size, data_shape, ...): batches of pictures of files.

    `path_imgrec` is a file of records with an index beside it; `path_imglist` a file with lines
    `number<tab>label<tab>...<tab>path`; `imglist` a list of [label, ..., path]. Paths begin at `path_root`. `aug_list`
    is a block or a list of blocks; without it `create_image_augment` makes one of the arguments that are not named
    here. The rest is that of `gluon.data.DataLoader`. Raises AssertionError for other dtypes of labels than int32,
    int64, float32 and float64.

    >>> with open("black.png", "wb") as file:
    ...     size = file.write(mx.image.imencode(np.zeros((8, 9, 3), "uint8")))
    >>> pictures = [[0, "black.png"], [1, "black.png"]]
    >>> loader = mx.gluon.contrib.data.vision.ImageDataLoader(2, (3, 4, 4), imglist=pictures)
    >>> [(data.shape, label.asnumpy().tolist()) for data, label in loader]
    [((2, 3, 4, 4), [0.0, 1.0])]
    """

    def __init__(
        self,
        batch_size,
        data_shape,
        path_imgrec=None,
        path_imglist=None,
        path_root=".",
        part_index=0,
        num_parts=1,
        aug_list=None,
        imglist=None,
        dtype="float32",
        **kwargs,
    ):
        _require_dtype(dtype)
        options = _taken(kwargs, batch_size)
        data_set = _data_set(path_imgrec, path_imglist, path_root, imglist, num_parts, part_index)
        change = _augmenter(aug_list, create_image_augment, data_shape, kwargs)
        super().__init__(data_set.transform_first(change), options)


class ImageBboxDataLoader(_Loader):
    """ImageBboxDataLoader(batch_size, data_shape, ...): batches of pictures with boxes.

    Files and other arguments are those of ImageDataLoader. A label is a flat list: the width of its header (2 or more),
    the width of a box (5 or more), the rest of the header, then boxes: class, left, top, right and bottom, as shares of
    the picture with `coord_normalized`, else in pixels. Labels of a batch are left, top, right and bottom in pixels,
    class and what else there is, (pictures, boxes, width of a box), with -1 where a picture has fewer boxes.
    `create_bbox_augment` makes the changes.

    >>> with open("black.png", "wb") as file:
    ...     size = file.write(mx.image.imencode(np.zeros((8, 8, 3), "uint8")))
    >>> pictures = [[2, 5, 7, 0.25, 0.25, 0.5, 0.75, "black.png"]]
    >>> loader = mx.gluon.contrib.data.vision.ImageBboxDataLoader(1, (3, 4, 4), imglist=pictures)
    >>> [label.asnumpy().tolist() for _, label in loader]
    [[[[1.0, 1.0, 2.0, 3.0, 7.0]]]]
    """

    def __init__(
        self,
        batch_size,
        data_shape,
        path_imgrec=None,
        path_imglist=None,
        path_root=".",
        part_index=0,
        num_parts=1,
        aug_list=None,
        imglist=None,
        coord_normalized=True,
        dtype="float32",
        **kwargs,
    ):
        _require_dtype(dtype)
        options = _taken(kwargs, batch_size)
        if options.get("batchify_fn") is None:
            options["batchify_fn"] = batchify.Group(batchify.Stack(), batchify.Pad(val=-1))
        data_set = _data_set(path_imgrec, path_imglist, path_root, imglist, num_parts, part_index)
        net = Sequential()
        net.add(BboxLabelTransform(coord_normalized), _augmenter(aug_list, create_bbox_augment, data_shape, kwargs))
        super().__init__(data_set.transform(net), options)


_OF_LOADERS = """shuffle sampler last_batch batch_sampler batchify_fn num_workers pin_memory pin_device_id prefetch
thread_pool timeout try_nopython""".split()


def _taken(arguments, batch_size):
    """Those of a DataLoader, which are taken out of the arguments."""
    return {"batch_size": batch_size, **{name: arguments.pop(name) for name in _OF_LOADERS if name in arguments}}


class BboxLabelTransform(Block):
    """BboxLabelTransform(coord_normalized=True): a picture and a flat label, which becomes boxes in pixels.

    See ImageBboxDataLoader. Raises ArgumentError for labels that are too short and for boxes that do not fit.
    """

    def __init__(self, coord_normalized=True):
        super().__init__()
        self._coord_normalized = coord_normalized

    def forward(self, img, label):
        """(picture, boxes)"""
        rows = boxes_of(label)
        boxes = np.concatenate([rows[:, 1:5], rows[:, :1], rows[:, 5:]], 1)
        if self._coord_normalized:
            boxes[:, :4] *= np.tile(img.shape[1::-1], 2)
        return img, (mx_np.array if util.is_np_array() else nd.array)(boxes)
