"""Iterators over files, and batches that are made ahead."""

import gzip
import struct
import threading

import numpy as np
import pytest

import amp
import amp.mxnet as mx


def rounds(iterator, count=2):
    for _ in range(count):
        yield [
            (b.data[0].asnumpy().ravel().tolist(), b.label[0].asnumpy().ravel().tolist(), b.pad, b.index.tolist())
            for b in iterator
        ]
        iterator.reset()


@pytest.fixture
def csv(tmp_path):
    np.savetxt(tmp_path / "data.csv", np.arange(10).reshape(5, 2), delimiter=",", fmt="%d")
    np.savetxt(tmp_path / "label.csv", np.arange(5), fmt="%d")
    return {"data_csv": tmp_path / "data.csv", "label_csv": tmp_path / "label.csv", "data_shape": (2,), "batch_size": 2}


FIRST = [([0, 1, 2, 3], [0, 1], 0, [0, 1]), ([4, 5, 6, 7], [2, 3], 0, [2, 3]), ([8, 9, 0, 1], [4, 0], 1, [4, 0])]


def test_rounds_of_csv_files(csv):
    """By 1.9.1."""
    second = [([2, 3, 4, 5], [1, 2], 0, [1, 2]), ([6, 7, 8, 9], [3, 4], 0, [3, 4])]
    assert list(rounds(mx.io.CSVIter(**csv), 3)) == [FIRST, second, FIRST]
    assert list(rounds(mx.io.CSVIter(**csv, round_batch=False))) == [FIRST, FIRST]
    iterator = mx.io.CSVIter(**csv, prefetch_buffer=1)
    next(iterator)
    iterator.reset()
    assert next(iterator).index.tolist() == [0, 1]
    assert iterator.getdata().shape == (2, 2) and iterator.getlabel().shape == (2,)
    assert iterator.provide_data == [("data", (2, 2))] and iterator.provide_label == [("softmax_label", (2,))]


def test_shapes_dtypes_and_parts_of_csv_files(csv):
    csv.pop("label_csv")
    batch = next(mx.io.CSVIter(**{**csv, "data_shape": (2, 1)}, dtype="int64"))
    assert batch.data[0].shape == (2, 2, 1) and batch.data[0].dtype == np.int64
    assert batch.label[0].asnumpy().tolist() == [0, 0]
    parts = [mx.io.CSVIter(**csv, num_parts=2, part_index=i) for i in range(2)]
    assert [[b.index.tolist() for b in part] for part in parts] == [[[0, 1], [2, 0]], [[3, 4]]]


def test_libsvm_files(tmp_path):
    (tmp_path / "data").write_text("1.0 0:0.5 2:1.2\n-2.0\n\n-3.0 0:0.6 1:2.4 2:1.2\n4 2:-1.2\n")
    (tmp_path / "label").write_text("1.0\n-2.0 0:0.125\n-3.0 2:1.2\n4 1:1.0 2:-1.2\n")
    iterator = mx.io.LibSVMIter(tmp_path / "data", (3,), batch_size=3)
    first, second = iterator
    dense = np.array([[0.5, 0, 1.2], [0, 0, 0], [0.6, 2.4, 1.2], [0, 0, -1.2]], "float32")
    assert (first.data[0].asnumpy() == dense[:3]).all() and first.label[0].asnumpy().tolist() == [1, -2, -3]
    assert (second.data[0].asnumpy() == dense[[3, 0, 1]]).all() and second.pad == 2
    labels = mx.io.LibSVMIter(tmp_path / "data", (3,), tmp_path / "label", (3,), batch_size=4)
    expected = [[0, 0, 0], [0.125, 0, 0], [0, 0, 1.2], [0, 1, -1.2]]
    np.testing.assert_allclose(next(labels).label[0].asnumpy(), expected, rtol=1e-6)


def test_digits(tmp_path):
    pixels = np.random.default_rng(1).integers(0, 256, (10, 28, 28), dtype=np.uint8)
    images, labels = tmp_path / "images.gz", tmp_path / "labels"
    images.write_bytes(gzip.compress(struct.pack(">4I", 2051, *pixels.shape) + pixels.tobytes()))
    labels.write_bytes(struct.pack(">2I", 2049, 10) + bytes(range(10)))
    plain = list(mx.io.MNISTIter(images, labels, 4, shuffle=False, silent=True))
    assert len(plain) == 2 and plain[0].data[0].shape == (4, 1, 28, 28) and plain[1].pad == 0
    np.testing.assert_array_equal(plain[1].data[0].asnumpy()[:, 0], pixels[4:8] / 256)
    shuffled = mx.io.MNISTIter(images, labels, 4, seed=3, flat=True)
    orders = []
    for _ in range(2):
        orders.append([b.label[0].asnumpy().tolist() for b in shuffled])
        shuffled.reset()
    assert orders[0] == orders[1] != [[0, 1, 2, 3], [4, 5, 6, 7]] and shuffled.provide_data[0].shape == (4, 784)


# ---- pictures ----

PIXELS = np.random.default_rng(2).integers(0, 256, (5, 6, 8, 3), dtype=np.uint8)


@pytest.fixture
def records(tmp_path):
    pytest.importorskip("PIL")
    writer = mx.recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w")
    for i, pixels in enumerate(PIXELS):
        label = [i, -i] if i else [0.0, 0.0]
        writer.write_idx(i, mx.recordio.pack_img((0, label, i, 0), pixels[:, :, ::-1], 3, ".png"))
    writer.close()
    return {"path_imgrec": tmp_path / "a.rec", "data_shape": (3, 4, 6), "batch_size": 2}


def test_pictures(records, tmp_path):
    middle = PIXELS[:, 1:5, 1:7].transpose(0, 3, 1, 2).astype("float32")
    found = list(mx.io.ImageRecordIter(**records))
    assert [batch.pad for batch in found] == [0, 0, 1] and found[0].label[0].asnumpy().tolist() == [0, 1]
    assert (np.concatenate([b.data[0].asnumpy() for b in found])[:5] == middle).all()
    options = {"mean_r": 1, "mean_g": 2, "mean_b": 3, "std_r": 2, "scale": 0.5, "mirror": True}
    batch = next(mx.io.ImageRecordIter(**records, **options, label_width=2))
    expected = (middle[:2, :, :, ::-1] - [[[1]], [[2]], [[3]]]) / [[[2]], [[1]], [[1]]] * 0.5
    np.testing.assert_allclose(batch.data[0].asnumpy(), expected, rtol=1e-6)
    assert batch.label[0].asnumpy().tolist() == [[0, 0], [1, -1]]
    whole = next(mx.io.ImageRecordUInt8Iter(**{**records, "data_shape": (3, 6, 8)}))
    assert whole.data[0].dtype == np.uint8 and (whole.data[0].asnumpy() == PIXELS[:2].transpose(0, 3, 1, 2)).all()
    assert next(mx.io.ImageRecordIter(**{**records, "data_shape": (1, 9, 9)}, resize=12)).data[0].shape == (2, 1, 9, 9)
    for _ in range(2):  # the mean is computed and written, then read
        batch = next(mx.io.ImageRecordIter(**records, mean_img=str(tmp_path / "mean")))
        np.testing.assert_allclose(batch.data[0].asnumpy(), middle[:2] - middle.mean(0), atol=1e-3)
    (tmp_path / "a.idx").unlink()
    assert len(list(mx.io.ImageRecordIter(**records))) == 3


def test_random_pictures(records):
    def drawn(**options):
        iterator = mx.io.ImageRecordIter(**records, rand_crop=True, rand_mirror=True, **options)
        first = [(b.index.tolist(), b.data[0].asnumpy().tolist()) for b in iterator]
        iterator.reset()
        return first, [(b.index.tolist(), b.data[0].asnumpy().tolist()) for b in iterator]

    assert drawn(seed_aug=3) == drawn(seed_aug=3, preprocess_threads=1) != drawn(seed_aug=4)
    first, second = drawn(shuffle=True, seed=1, round_batch=False)
    orders = [sum((rows for rows, _ in found), [])[:5] for found in (first, second)]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]) == [0, 1, 2, 3, 4]


# ---- ahead of time ----


def test_batches_are_made_ahead():
    asked = threading.Event()

    class Telling(mx.io.NDArrayIter):
        def next(self):
            if self.cursor >= 0:
                asked.set()
            return super().next()

    batches = mx.io.PrefetchingIter(Telling(np.arange(6), np.arange(6), 2))
    first = next(batches)
    assert asked.wait(60) and first.data[0].asnumpy().tolist() == [0, 1]
    assert [b.data[0].asnumpy().tolist() for b in batches] == [[2, 3], [4, 5]]
    batches.reset()
    assert len(list(batches)) == 3


def test_iterators_are_joined():
    both = mx.io.PrefetchingIter(
        [mx.io.NDArrayIter(np.arange(6), np.arange(6), 2), mx.io.NDArrayIter(-np.arange(6), np.arange(6), 2)],
        [{"data": "one"}, {"data": "two"}],
        [{"softmax_label": "first"}, {}],
    )
    assert [desc.name for desc in both.provide_data + both.provide_label] == ["one", "two", "first", "softmax_label"]
    batch = next(both)
    assert [array.asnumpy().tolist() for array in batch.data] == [[0, 1], [0, -1]] and len(batch.label) == 2


def test_errors_of_threads_arrive():
    class Failing(mx.io.NDArrayIter):
        def next(self):
            raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        next(mx.io.PrefetchingIter(Failing(np.ones(4))))
    unequal = [mx.io.NDArrayIter(np.ones(n), batch_size=2) for n in (2, 4)]
    with pytest.raises(amp.ArgumentError, match="ended earlier"):
        list(mx.io.PrefetchingIter(unequal))


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"data_shape": (3,)}, amp.ArgumentError, r"data: \(5, 2\) does not fit 5 rows of shape \(3,\)"),
        ({"batch_size": 0}, amp.ArgumentError, "batch_size 0 does not fit"),
        ({"part_index": 1}, amp.ArgumentError, "part_index: expected a number below 1"),
        ({"colour": 1}, amp.ArgumentError, "CSVIter: unknown arguments colour"),
    ],
)
def test_errors_of_csv_files(csv, change, error, message):
    with pytest.raises(error, match=message):
        mx.io.CSVIter(**{**csv, **change})


def test_lines_that_are_no_numbers(tmp_path):
    (tmp_path / "words").write_text("1,b\n")
    with pytest.raises(amp.ArgumentError, match="words: "):
        mx.io.CSVIter(tmp_path / "words", (2,))
    for line in ("1 -1:0.6", "1 3:1", "1 word"):
        (tmp_path / "words").write_text(line)
        with pytest.raises(amp.ArgumentError, match="positions below 3"):
            mx.io.LibSVMIter(tmp_path / "words", (3,))


def test_errors_of_pictures(records):
    with pytest.raises(amp.ArgumentError, match="data_shape: expected"):
        mx.io.ImageRecordIter(**{**records, "data_shape": (5, 4, 4)})
    with pytest.raises(amp.ArgumentError, match="record 0 has 2 labels, not 3"):
        next(mx.io.ImageRecordIter(**records, label_width=3))
