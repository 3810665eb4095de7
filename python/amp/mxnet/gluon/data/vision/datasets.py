"""Datasets of pictures in files. Nothing is downloaded: a missing file is an error that says where it belongs."""

import os
import tarfile
import warnings

import numpy as np

from ..... import nd
from .....base import ArgumentError
from .... import image, recordio, util
from .... import np as mx_np
from ...._missing import getter
from ....io.files import read_idx
from ..dataset import Dataset, RecordFileDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageListDataset",
    "ImageRecordDataset",
]

_FOLDER = os.path.join(os.environ.get("MXNET_HOME", "~/.mxnet"), "datasets")


class _FromFiles(Dataset):
    """Pictures (uint8, height, width, channels) and labels that are read at once from files in a folder."""

    def __init__(self, root, transform):
        self._root, self._transform = os.path.expanduser(root), transform
        pixels, labels = self._read()
        self._data = (mx_np.ndarray if util.is_np_array() else nd.NDArray)(pixels)
        self._label = labels.astype(np.int32)

    def __getitem__(self, idx):
        sample = self._data[idx], self._label[idx]
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self):
        return len(self._label)

    def _found(self, *names):
        """The first of these files that is there."""
        for name in names:
            if os.path.isfile(os.path.join(self._root, name)):
                return os.path.join(self._root, name)
        raise ArgumentError(
            f"{type(self).__name__}: nothing is downloaded; put {' or '.join(names)} into the folder {self._root}"
        )


class MNIST(_FromFiles):
    """MNIST(root, train=True, transform=None): handwritten digits, (28, 28, 1) of uint8, and labels.

    `root` has the files `train-images-idx3-ubyte`, `train-labels-idx1-ubyte`, `t10k-...`, packed (.gz) or not. Raises
    ArgumentError for missing files.

    >>> import struct
    >>> with open("train-images-idx3-ubyte", "wb") as file:
    ...     size = file.write(struct.pack(">4I", 2051, 2, 28, 28) + bytes(2 * 784))
    >>> with open("train-labels-idx1-ubyte", "wb") as file:
    ...     size = file.write(struct.pack(">2I", 2049, 2) + bytes([7, 1]))
    >>> digits = mx.gluon.data.vision.MNIST(".")
    >>> digits[0][0].shape, int(digits[0][1])
    ((28, 28, 1), 7)
    """

    def __init__(self, root=f"{_FOLDER}/mnist", train=True, transform=None):
        self._train = train
        super().__init__(root, transform)

    def _read(self):
        kind = "train" if self._train else "t10k"
        pixels, labels = (self._numbers(f"{kind}-{what}-ubyte") for what in ("images-idx3", "labels-idx1"))
        if len(pixels) != len(labels):
            raise ArgumentError(f"{self._root}: {len(pixels)} pictures do not fit {len(labels)} labels")
        return pixels[..., None], labels

    def _numbers(self, name):
        return read_idx(self._found(f"{name}.gz", name))


class FashionMNIST(MNIST):
    """FashionMNIST(root, train=True, transform=None): pictures of clothes, in files as those of MNIST.

    >>> mx.gluon.data.vision.FashionMNIST("nowhere")
    Traceback (most recent call last):
    amp.ArgumentError: FashionMNIST: nothing is downloaded; put train-images-idx3-ubyte.gz or train-images-idx3-ubyte into the folder nowhere
    """  # noqa: E501

    def __init__(self, root=f"{_FOLDER}/fashion-mnist", train=True, transform=None):
        super().__init__(root, train, transform)


class CIFAR10(_FromFiles):
    """CIFAR10(root, train=True, transform=None): pictures of 10 kinds of things, (32, 32, 3) of uint8, and labels.

    `root` has the binary version: `data_batch_1.bin` to `data_batch_5.bin` and `test_batch.bin`, or the archive
    `cifar-10-binary.tar.gz`. Raises ArgumentError for missing files.

    >>> with open("test_batch.bin", "wb") as file:
    ...     size = file.write((bytes([7]) + bytes(3072)) * 2)
    >>> things = mx.gluon.data.vision.CIFAR10(".", train=False)
    >>> len(things), things[0][0].shape, int(things[0][1])
    (2, (32, 32, 3), 7)
    """

    _archive, _label_bytes, _label_at = "cifar-10-binary.tar.gz", 1, 0
    _train_files, _test_files = [f"data_batch_{i}.bin" for i in range(1, 6)], ["test_batch.bin"]

    def __init__(self, root=f"{_FOLDER}/cifar10", train=True, transform=None):
        self._train = train
        super().__init__(root, transform)

    def _read(self):
        rows = [self._rows(name) for name in (self._train_files if self._train else self._test_files)]
        rows = np.concatenate(rows)
        pixels = rows[:, self._label_bytes :].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        return np.ascontiguousarray(pixels), rows[:, self._label_at]

    def _rows(self, name):
        path = self._found(name, self._archive)
        data = _from_archive(path, name) if path.endswith(".gz") else np.fromfile(path, np.uint8)
        size = self._label_bytes + 3072
        if len(data) % size:
            raise ArgumentError(f"{path}: {name} has {len(data)} bytes, no multiple of {size}")
        return data.reshape(-1, size)


def _from_archive(path, name):
    with tarfile.open(path) as archive:
        for member in archive:
            if os.path.basename(member.name) == name:
                return np.frombuffer(archive.extractfile(member).read(), np.uint8)
    raise ArgumentError(f"{path} has no {name}")


class CIFAR100(CIFAR10):
    """CIFAR100(root, fine_label=False, train=True, transform=None): pictures of 20 kinds of things, or of 100.

    `root` has `train.bin` and `test.bin`, or the archive `cifar-100-binary.tar.gz`.

    >>> with open("train.bin", "wb") as file:
    ...     size = file.write(bytes([7, 42]) + bytes(3072))
    >>> vision = mx.gluon.data.vision
    >>> int(vision.CIFAR100(".")[0][1]), int(vision.CIFAR100(".", fine_label=True)[0][1])
    (7, 42)
    """

    _archive, _label_bytes = "cifar-100-binary.tar.gz", 2
    _train_files, _test_files = ["train.bin"], ["test.bin"]

    def __init__(self, root=f"{_FOLDER}/cifar100", fine_label=False, train=True, transform=None):
        self._label_at = int(fine_label)
        super().__init__(root, train, transform)


class ImageRecordDataset(RecordFileDataset):
    """ImageRecordDataset(filename, flag=1, transform=None): pictures and labels in a file of records.

    `flag`: 1 for colours, 0 for grey levels. Its index lies beside it; see `RecordFileDataset`.

    >>> writer = mx.recordio.MXIndexedRecordIO("pictures.idx", "pictures.rec", "w")
    >>> picture = np.zeros((4, 5, 3), "uint8")
    >>> writer.write_idx(0, mx.recordio.pack_img((0, 7.0, 0, 0), picture, img_fmt=".png", quality=3))
    >>> writer.close()
    >>> data, label = mx.gluon.data.vision.ImageRecordDataset("pictures.rec")[0]
    >>> data.shape, label
    ((4, 5, 3), 7.0)
    """

    def __init__(self, filename, flag=1, transform=None):
        super().__init__(filename)
        self._flag, self._transform = flag, transform

    def __getitem__(self, idx):
        header, data = recordio.unpack(super().__getitem__(idx))
        sample = image.imdecode(data, self._flag), header.label
        return sample if self._transform is None else self._transform(*sample)


class ImageFolderDataset(Dataset):
    """ImageFolderDataset(root, flag=1, transform=None): pictures in folders, one folder for each label.

    `synsets` are the names of the folders, in order, and `items` the pairs (file, label).

    >>> import os
    >>> os.makedirs("pictures/cat")
    >>> with open("pictures/cat/1.png", "wb") as file:
    ...     size = file.write(mx.image.imencode(np.zeros((4, 5, 3), "uint8")))
    >>> pictures = mx.gluon.data.vision.ImageFolderDataset("pictures")
    >>> pictures.synsets, pictures.items, pictures[0][0].shape
    (['cat'], [('pictures/cat/1.png', 0)], (4, 5, 3))
    """

    def __init__(self, root, flag=1, transform=None):
        self._root, self._flag, self._transform = os.path.expanduser(root), flag, transform
        self.synsets, self.items = [], []
        for folder in sorted(os.listdir(self._root)):
            path = os.path.join(self._root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"{path} is no folder: it is left out", stacklevel=2)
                continue
            self.synsets.append(folder)
            for name in sorted(os.listdir(path)):
                if not name.lower().endswith((".jpg", ".jpeg", ".png", ".bmp")):
                    warnings.warn(f"{os.path.join(path, name)} is no picture: it is left out", stacklevel=2)
                    continue
                self.items.append((os.path.join(path, name), len(self.synsets) - 1))

    def __getitem__(self, idx):
        path, label = self.items[idx]
        sample = image.imread(path, self._flag), label
        return sample if self._transform is None else self._transform(*sample)

    def __len__(self):
        return len(self.items)


class ImageListDataset(Dataset):
    """ImageListDataset(root='.', imglist=None, flag=1): pictures of a list of (label, ..., path).

    `imglist` is a list, or the name of a file with lines `number<tab>label<tab>...<tab>path`. Paths begin at `root`.
    Several labels are an array.

    >>> with open("black.png", "wb") as file:
    ...     size = file.write(mx.image.imencode(np.zeros((4, 5, 3), "uint8")))
    >>> data, label = mx.gluon.data.vision.ImageListDataset(".", [(7, "black.png")])[0]
    >>> data.shape, label
    ((4, 5, 3), 7.0)
    """

    def __init__(self, root=".", imglist=None, flag=1):
        self._root, self._flag = os.path.expanduser(root), flag
        if isinstance(imglist, (str, os.PathLike)):
            with open(imglist) as file:
                imglist = [line.rstrip("\n").split("\t")[1:] for line in file if line.strip()]
        if not isinstance(imglist, (list, tuple)):
            raise ArgumentError(f"imglist: expected a list or the name of a file, got {type(imglist).__name__}")
        self._items = [(os.path.join(self._root, path), _labels(labels)) for *labels, path in imglist]

    def __getitem__(self, idx):
        path, label = self._items[idx]
        return image.imread(path, self._flag), label

    def __len__(self):
        return len(self._items)


def _labels(values):
    numbers = np.asarray(values, np.float32).ravel()
    return float(numbers[0]) if numbers.size == 1 else numbers


__getattr__ = getter(__name__)
