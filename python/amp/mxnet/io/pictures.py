"""Batches of pictures in files of records."""

import concurrent.futures
import os

import numpy as np

from ... import nd
from ...base import ArgumentError
from .. import _pictures, recordio
from .files import RowsOfFile
from .record_augmenter import DEFAULTS, RecordAugmenter

_NO_EFFECT = "and_mirror dtype aug_seq verbose shuffle_chunk_size shuffle_chunk_seed mean_a std_a".split()


class ImageRecordIter(RowsOfFile):
    """ImageRecordIter(path_imgrec, data_shape, batch_size=128, ...): batches of pictures in a file of records.

    `data_shape` is (channels, height, width) with 1 or 3 channels. `path_imgidx`: the index, without which the file is
    read through once. `shuffle` and `seed` give the order of each round. `resize` is the size of the shorter side;
    then the middle is cut out, or with `rand_crop` a random part; `rand_mirror` mirrors half of the pictures, `mirror`
    all. `random_resized_crop` cuts out a part of random area (`min_random_area`, `max_random_area`) and ratio, and
    resizes it. `max_rotate_angle`, `rotate`, `max_shear_ratio`, `max_aspect_ratio`, `max_random_scale`, `pad`,
    `brightness`, `random_h` and the others of MXNet change pictures as there; `seed_aug` is for random numbers. Pixels
    become (pixel - mean) / std * scale: `mean_r`, `mean_g`, `mean_b`, `std_r`, ..., or `mean_img`, a file of arrays,
    which is written where there is none. `preprocess_threads` pictures are read at a time. `label_width` is the number
    of labels. Raises ArgumentError for changes that do not go together.

    >>> writer = mx.recordio.MXIndexedRecordIO("pictures.idx", "pictures.rec", "w")
    >>> for i in range(4):
    ...     picture = np.full((6, 8, 3), i, "uint8")
    ...     writer.write_idx(i, mx.recordio.pack_img((0, i, i, 0), picture, quality=3, img_fmt=".png"))
    >>> writer.close()
    >>> batch = next(mx.io.ImageRecordIter("pictures.rec", data_shape=(3, 4, 4), batch_size=2, scale=0.5))
    >>> batch.data[0].shape, batch.data[0].asnumpy()[1, 0, 0, 0], batch.label[0].asnumpy().tolist()
    ((2, 3, 4, 4), np.float32(0.5), [0.0, 1.0])
    """

    _dtype = "float32"

    def __init__(
        self,
        path_imgrec,
        data_shape,
        batch_size=128,
        path_imgidx=None,
        label_width=1,
        shuffle=False,
        seed=0,
        seed_aug=None,
        preprocess_threads=4,
        round_batch=True,
        rand_mirror=False,
        mirror=False,
        mean_img=None,
        mean_r=0.0,
        mean_g=0.0,
        mean_b=0.0,
        std_r=1.0,
        std_g=1.0,
        std_b=1.0,
        scale=1.0,
        max_random_contrast=0.0,
        max_random_illumination=0.0,
        **kwargs,
    ):
        if len(data_shape) != 3 or data_shape[0] not in (1, 3):
            raise ArgumentError(f"data_shape: expected (1 or 3, height, width), got {tuple(data_shape)}")
        self._path = os.fspath(path_imgrec)
        self._positions = _positions(self._path, path_imgidx)
        options = {key: value for key, value in kwargs.items() if key not in _NO_EFFECT}
        changes = {name: options.pop(name) for name in DEFAULTS if name in options}
        self._change = RecordAugmenter(data_shape, changes)
        shapes = tuple(data_shape), (label_width,)
        super().__init__(len(self._positions), shapes, batch_size, round_batch, self._dtype, **options)
        self._file = recordio.MXRecordIO(self._path, "r")
        self._data_shape, self._label_width, self._shuffle = tuple(data_shape), label_width, shuffle
        self._seed, self._seed_aug, self._round = seed, seed if seed_aug is None else seed_aug, 0
        self._rand_mirror, self._mirror = rand_mirror, mirror
        self._random_contrast, self._random_illumination = max_random_contrast, max_random_illumination
        self._threads = concurrent.futures.ThreadPoolExecutor(max(1, preprocess_threads), "amp-pictures")
        channels = slice(None) if data_shape[0] == 3 else slice(0, 1)
        self._mean = np.array([mean_r, mean_g, mean_b], np.float32)[channels, None, None]
        self._std = np.array([std_r, std_g, std_b], np.float32)[channels, None, None]
        self._scale = np.float32(scale)
        self._sorted = self._order
        self._begin_round()
        if mean_img is not None:
            self._mean = self._mean_picture(mean_img)

    def reset(self):
        """Begins again, in another order where `shuffle` says so."""
        super().reset()
        self._round += 1
        self._begin_round()

    def _begin_round(self):
        if self._shuffle:
            self._order = np.random.default_rng([self._seed, self._round]).permutation(self._sorted)

    def rows(self, numbers):
        pictures = list(self._threads.map(self._picture, numbers))
        return np.stack([pixels for pixels, _ in pictures]), np.stack([label for _, label in pictures])

    def _picture(self, number):
        """(the numbers of a picture, its labels)"""
        draw = np.random.default_rng([self._seed_aug, self._round, int(number)])
        pixels, label = self._pixels(number, draw)
        values = pixels.transpose(2, 0, 1).astype(np.float32) - self._mean
        if self._random_contrast or self._random_illumination:
            factor, shift = draw.uniform(-1, 1, 2) * (self._random_contrast, self._random_illumination)
            values = values * np.float32(1 + factor) + np.float32(shift)
        return values / self._std * self._scale, label

    def _pixels(self, number, draw):
        header, data = recordio.unpack(self._file.record_at(self._positions[number]))
        pixels = self._change(_pictures.decode(data, 1 if self._data_shape[0] == 3 else 0), draw)
        if self._mirror or (self._rand_mirror and draw.random() < 0.5):
            pixels = pixels[:, ::-1]
        labels = np.atleast_1d(np.asarray(header.label, np.float32))
        if labels.size < self._label_width:
            raise ArgumentError(f"{self._path}: record {number} has {labels.size} labels, not {self._label_width}")
        return pixels, labels[: self._label_width]

    def _mean_picture(self, path):
        """That of a file; where there is none, that of all pictures, which is written."""
        if not os.path.isfile(path):
            rounds = ((number, np.random.default_rng([self._seed_aug, 0, int(number)])) for number in self._sorted)
            total = sum(self._pixels(*each)[0].transpose(2, 0, 1).astype(np.float64) for each in rounds)
            nd.save(path, {"mean_img": nd.array(total / len(self._sorted))})
        loaded = nd.load(path)
        return (loaded["mean_img"] if isinstance(loaded, dict) else loaded[0]).asnumpy()


class ImageRecordUInt8Iter(ImageRecordIter):
    """ImageRecordIter of uint8: pixels as they are.

    >>> writer = mx.recordio.MXRecordIO("pictures.rec", "w")
    >>> picture = np.full((6, 8, 3), 7, "uint8")
    >>> writer.write(mx.recordio.pack_img((0, 1, 0, 0), picture, quality=3, img_fmt=".png"))
    >>> writer.close()
    >>> next(mx.io.ImageRecordUInt8Iter("pictures.rec", data_shape=(3, 4, 4), batch_size=1)).data[0].dtype
    dtype('uint8')
    """

    _dtype = "uint8"


def _positions(path, index):
    """Where the records begin: by the index, or by reading the file through."""
    index = index or os.path.splitext(path)[0] + ".idx"
    if os.path.isfile(index):
        reader = recordio.MXIndexedRecordIO(index, path, "r")
        return [reader.idx[key] for key in reader.keys]
    return recordio.MXRecordIO(path, "r").positions()
