"""gluon.data.vision: datasets of pictures and transforms."""

import gzip
import io
import pickle
import struct
import tarfile

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.gluon.data import DataLoader, vision
from amp.mxnet.gluon.data.vision import transforms

COLOURS = (np.random.default_rng(0).random((12, 9, 3)) * 255).astype("uint8")


def nd(values):
    return mx.nd.array(values, dtype=values.dtype)


SHAPES = {  # of what 12 x 9 pixels become
    "Resize(5)": (5, 5, 3),
    "Resize((5, 7))": (7, 5, 3),
    "Resize(5, keep_ratio=True)": (6, 5, 3),
    "CenterCrop((5, 7))": (7, 5, 3),
    "CenterCrop(20)": (20, 20, 3),
    "CropResize(1, 2, 3, 4)": (4, 3, 3),
    "CropResize(1, 2, 3, 4, (7, 8))": (8, 7, 3),
    "RandomCrop((5, 7), pad=2)": (7, 5, 3),
    "RandomCrop(14, pad=((1, 1), (3, 3)))": (14, 14, 3),
    "RandomResizedCrop((5, 7))": (7, 5, 3),
    "RandomFlipLeftRight()": (12, 9, 3),
    "RandomFlipTopBottom(p=1)": (12, 9, 3),
    "RandomBrightness(0.3)": (12, 9, 3),
    "RandomContrast(0.3)": (12, 9, 3),
    "RandomSaturation(1.3)": (12, 9, 3),
    "RandomHue(0.3)": (12, 9, 3),
    "RandomColorJitter(0.1, 0.1, 0.1, 0.1)": (12, 9, 3),
    "RandomLighting(0.1)": (12, 9, 3),
    "RandomGray(1)": (12, 9, 3),
    "ToTensor()": (3, 12, 9),
    "Cast('float16')": (12, 9, 3),
    "RandomApply([transforms.Resize(5)], 1)": (5, 5, 3),
    "HybridRandomApply(transforms.Resize(5), 0)": (12, 9, 3),
    "Compose([transforms.Resize(5), transforms.ToTensor()])": (3, 5, 5),
    "HybridCompose([transforms.ToTensor(), transforms.Normalize(0.5, 0.5)])": (3, 12, 9),
}


@pytest.mark.parametrize("call", SHAPES)
def test_transforms(call):
    transform = eval(f"transforms.{call}")
    for _ in range(3):
        found = transform(nd(COLOURS))
        assert found.shape == SHAPES[call]
    kept = {"ToTensor": "float32", "Cast": "float16", "Compose": "float32", "HybridCompose": "float32"}
    assert found.dtype == kept.get(call.partition("(")[0], "uint8")
    with mx.util.np_array():
        assert type(transform(mx.np.array(COLOURS, dtype="uint8"))) is mx.np.ndarray
    picture, label = transform(nd(COLOURS), 5)
    assert picture.shape == SHAPES[call] and label == 5
    np_found = transform(COLOURS)
    assert np_found.shape == SHAPES[call]


def test_numbers_of_transforms():
    assert (transforms.RandomFlipLeftRight(1)(nd(COLOURS)).asnumpy() == COLOURS[:, ::-1]).all()
    assert (transforms.RandomFlipTopBottom(1)(nd(COLOURS)).asnumpy() == COLOURS[::-1]).all()
    assert (transforms.CenterCrop((5, 4))(nd(COLOURS)).asnumpy() == COLOURS[4:8, 2:7]).all()
    batch = nd(np.stack([COLOURS, COLOURS[::-1]]))
    assert (transforms.CenterCrop((5, 4))(batch).asnumpy()[1] == COLOURS[::-1][4:8, 2:7]).all()
    padded = transforms.RandomCrop((13, 16), pad=2, pad_value=7)(nd(COLOURS)).asnumpy()
    assert (padded[2:-2, 2:-2] == COLOURS).all() and (padded[:2] == 7).all()
    grey = transforms.RandomGray(1)(nd(COLOURS)).asnumpy()
    np.testing.assert_allclose(grey[..., 1], COLOURS @ [0.299, 0.587, 0.114], atol=1)
    tensor = transforms.ToTensor()(nd(COLOURS))
    turned = transforms.Rotate(180)(tensor).asnumpy()
    np.testing.assert_allclose(turned, tensor.asnumpy()[:, ::-1, ::-1], atol=1e-4)
    same = transforms.RandomRotation((-90, 90), rotate_with_proba=0)(tensor)
    assert (same.asnumpy() == tensor.asnumpy()).all()


def test_random_transforms_follow_the_seed():
    changes = transforms.RandomResizedCrop(6), transforms.RandomFlipLeftRight(), transforms.RandomHue(0.4)
    change = transforms.Compose(changes)

    def drawn(seed):
        mx.random.seed(seed)
        return [change(nd(COLOURS)).asnumpy().tobytes() for _ in range(5)]

    assert drawn(1) == drawn(1) != drawn(2) and len(set(drawn(1))) == 5


def test_a_graph_of_transforms():
    net = transforms.HybridCompose([transforms.ToTensor(), transforms.Normalize((0.1, 0.2, 0.3), 0.5)])
    plain = net(nd(COLOURS)).asnumpy()
    net.hybridize()
    np.testing.assert_allclose(net(nd(COLOURS)).asnumpy(), plain, rtol=1e-5, atol=1e-6)
    mixed = transforms.Compose([transforms.Resize(4), transforms.ToTensor()])
    mixed.hybridize()
    assert mixed(nd(COLOURS)).shape == (3, 4, 4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: transforms.RandomRotation((10, -10)), amp.ArgumentError, "a smaller and a larger angle"),
        (lambda: transforms.RandomRotation((-1, 1), rotate_with_proba=1.1), ValueError, "a probability, got 1.1"),
        (lambda: transforms.RandomRotation((-1, 1))(nd(COLOURS)), TypeError, "expected float32"),
        (lambda: transforms.Rotate(5)(nd(COLOURS)), TypeError, "expected float32"),
        (lambda: transforms.Resize(-1)(nd(COLOURS)), amp.MXNetError, "expected a size from 1"),
        (lambda: transforms.CropResize(5, 5, 90, 1)(nd(COLOURS)), amp.MXNetError, "has no 90 x 1 pixels"),
        (lambda: transforms.ToTensor()(nd(COLOURS[0])), amp.MXNetError, "expected a picture of 3 axes"),
        (lambda: vision.MNIST("/nowhere", train=False), amp.ArgumentError, "put t10k-images-idx3-ubyte.gz or t10k-i"),
        (lambda: vision.CIFAR10("/nowhere"), amp.ArgumentError, "data_batch_1.bin or cifar-10-binary.tar.gz into the"),
        (lambda: vision.ImageListDataset("."), amp.ArgumentError, "expected a list or the name of a file"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- datasets ----


def digits(folder, names, packed, count=5):
    pixels = np.random.default_rng(1).integers(0, 256, (count, 28, 28), dtype=np.uint8)
    labels = np.arange(count, dtype=np.uint8)
    for name, values, magic in zip(names, (pixels, labels), (2051, 2049)):
        data = struct.pack(f">{values.ndim + 1}I", magic, *values.shape) + values.tobytes()
        (folder / (name + ".gz" * packed)).write_bytes(gzip.compress(data) if packed else data)
    return pixels, labels


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("kind", [vision.MNIST, vision.FashionMNIST])
def test_digits(tmp_path, packed, kind):
    pixels, labels = digits(tmp_path, ["t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"], packed)
    found = kind(tmp_path, train=False)
    assert len(found) == 5 and found[3][0].shape == (28, 28, 1) and found[3][0].dtype == np.uint8
    assert (found[3][0].asnumpy()[..., 0] == pixels[3]).all() and [label for _, label in found] == labels.tolist()
    assert kind(tmp_path, False, lambda x, y: -y)[2] == -2
    batches = DataLoader(found.transform_first(transforms.ToTensor()), 2, num_workers=2)
    data, label = next(iter(batches))
    assert data.shape == (2, 1, 28, 28) and label.dtype == np.int32


def test_damaged_digits(tmp_path):
    digits(tmp_path, ["train-images-idx3-ubyte", "train-labels-idx1-ubyte"], False)
    path = tmp_path / "train-labels-idx1-ubyte"
    good = path.read_bytes()
    for bad, message in (
        (good[:-1], r"has 4 bytes for the shape \(5,\)"),
        (b"x" + good[1:], "is no file of MNIST's kind"),
        (b"", "is no file of MNIST's kind"),
        (struct.pack(">2I", 2049, 2) + b"12", "5 pictures do not fit 2 labels"),
    ):
        path.write_bytes(bad)
        with pytest.raises(amp.ArgumentError, match=message):
            vision.MNIST(tmp_path)


def test_cifar(tmp_path):
    rows = np.random.default_rng(1).integers(0, 256, (3, 3074), dtype=np.uint8)
    with tarfile.open(tmp_path / "cifar-100-binary.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("cifar-100-binary/train.bin")
        info.size = rows.size
        archive.addfile(info, io.BytesIO(rows.tobytes()))
    for fine in (False, True):
        found = vision.CIFAR100(tmp_path, fine_label=fine)
        assert found[1][1] == rows[1, int(fine)] and found[1][0].shape == (32, 32, 3)
        assert (found[1][0].asnumpy()[4, 7] == rows[1, 2 + 4 * 32 + 7 :: 1024]).all()
    with pytest.raises(amp.ArgumentError, match="has no test.bin"):
        vision.CIFAR100(tmp_path, train=False)
    for i in range(1, 6):
        rows[:i, 1:].tofile(tmp_path / f"data_batch_{i}.bin")
    assert len(vision.CIFAR10(tmp_path)) == 12
    (tmp_path / "data_batch_2.bin").write_bytes(b"12345")
    with pytest.raises(amp.ArgumentError, match="has 5 bytes, no multiple of 3073"):
        vision.CIFAR10(tmp_path)


@pytest.fixture
def pictures(tmp_path):
    pil = pytest.importorskip("PIL.Image")
    for label, name in enumerate(("cat", "dog")):
        (tmp_path / "all" / name).mkdir(parents=True)
        for i in range(3):
            pil.fromarray(COLOURS[: 4 + i] // (label + 1)).save(tmp_path / "all" / name / f"{i}.png")
    return tmp_path


def test_folders(pictures):
    found = vision.ImageFolderDataset(str(pictures / "all"))
    assert found.synsets == ["cat", "dog"] and len(found) == 6
    picture, label = found[4]
    assert label == 1 and (picture.asnumpy() == COLOURS[:5] // 2).all()
    assert vision.ImageFolderDataset(str(pictures / "all"), 0, lambda x, y: (x.shape, y))[0] == ((4, 9, 1), 0)
    (pictures / "all" / "cat" / "notes.txt").write_text("")
    (pictures / "all" / "readme").write_text("")
    with pytest.warns(UserWarning, match="is left out"):
        assert len(vision.ImageFolderDataset(pictures / "all")) == 6


def test_lists(pictures):
    (pictures / "list").write_text("0\t3\tcat/0.png\n1\t4\tdog/1.png\n")
    found = vision.ImageListDataset(pictures / "all", pictures / "list")
    assert [label for _, label in found] == [3, 4] and found[1][0].shape == (5, 9, 3)
    several = vision.ImageListDataset(pictures / "all", [[1, 2, "cat/0.png"], [[3, 4], "cat/1.png"]])
    assert [label.tolist() for _, label in several] == [[1, 2], [3, 4]]


def test_records(pictures):
    writer = mx.recordio.MXIndexedRecordIO(pictures / "a.idx", pictures / "a.rec", "w")
    for i in range(4):
        writer.write_idx(i, mx.recordio.pack((0, i, i, 0), (pictures / "all" / "dog" / f"{i % 3}.png").read_bytes()))
    writer.close()
    found = vision.ImageRecordDataset(pictures / "a.rec")
    assert found[1][1] == 1 and (found[1][0].asnumpy() == COLOURS[:5] // 2).all()
    same = pickle.loads(pickle.dumps(found))
    assert (same[2][0].asnumpy() == found[2][0].asnumpy()).all()
    labels = [label.asscalar() for _, label in DataLoader(found, 1, num_workers=2)]
    assert labels == [0, 1, 2, 3]
