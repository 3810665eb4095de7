"""Iterators over batches."""

import numpy as np
import pytest

import amp
import amp.mxnet as mx

X = np.arange(10).reshape(5, 2)


def rounds(iterator, count=2):
    for _ in range(count):
        yield [(b.data[0].asnumpy()[:, 0].tolist(), b.label[0].asnumpy().tolist(), b.pad) for b in iterator]
        iterator.reset()


FULL = [([0, 2], [0, 1], 0), ([4, 6], [2, 3], 0)]


@pytest.mark.parametrize(
    "handling, first, second",
    [
        ("pad", [*FULL, ([8, 0], [4, 0], 1)], [*FULL, ([8, 0], [4, 0], 1)]),
        ("discard", FULL, FULL),
        ("roll_over", FULL, [([8, 0], [4, 0], 0), ([2, 4], [1, 2], 0), ([6, 8], [3, 4], 0)]),
    ],
)
def test_the_last_batch(handling, first, second):
    iterator = mx.io.NDArrayIter(X, np.arange(5), 2, last_batch_handle=handling)
    assert list(rounds(iterator)) == [first, second]


def test_fewer_rows_than_a_batch():
    iterator = mx.io.NDArrayIter(X[:2], None, 5)
    batch = next(iterator)
    assert batch.data[0].asnumpy()[:, 0].tolist() == [0, 2, 0, 2, 0] and batch.pad == 3 and batch.label == []


def test_shuffle():
    np.random.seed(3)
    iterator = mx.io.NDArrayIter(np.arange(100), np.arange(100), 10, shuffle=True)
    orders = []
    for _ in range(2):
        batches = list(iterator)
        orders.append(np.concatenate([batch.data[0].asnumpy() for batch in batches]).tolist())
        assert iterator.idx.tolist() == orders[-1]
        assert all((b.data[0].asnumpy() == b.label[0].asnumpy()).all() for b in batches)
        iterator.reset()
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1]) == list(range(100))


def test_descriptions():
    iterator = mx.io.NDArrayIter({"b": X, "a": X.astype("f8")}, {"l": np.arange(5)}, 3)
    assert iterator.provide_data == [("a", (3, 2)), ("b", (3, 2))] and iterator.provide_label == [("l", (3,))]
    assert all(desc.dtype == np.float32 for desc in iterator.provide_data)
    assert [d.name for d in mx.io.NDArrayIter([X, X]).provide_data] == ["_0_data", "_1_data"]
    kept = mx.io.NDArrayIter(amp.nd.array(X, dtype="int32"), batch_size=1)
    assert kept.provide_data[0].dtype == np.int32 and next(kept).data[0].dtype == np.int32


def test_list_of_descriptions():
    data, label = mx.io.DataDesc.get_list([("data", (2, 3)), ("y", (2,))], [("y", "int32"), ("data", "float16")])
    assert data == ("data", (2, 3)) and data.dtype == "float16" and label.dtype == "int32"
    assert mx.io.DataDesc.get_list([("data", (2, 3))], None)[0].dtype is np.float32


def test_desc_and_batch():
    desc = mx.io.DataDesc("data", (1, 2))
    name, shape = desc
    assert (name, shape, desc.layout) == ("data", (1, 2), "NCHW") and desc == ("data", (1, 2))
    assert mx.io.DataDesc.get_batch_axis("TNC") == 1 and mx.io.DataDesc.get_batch_axis(None) == 0
    assert str(mx.io.DataBatch([X], [X])) == "DataBatch: data shapes: [(5, 2)] label shapes: [(5, 2)]"


def test_resize():
    iterator = mx.io.ResizeIter(mx.io.NDArrayIter(X, None, 2, last_batch_handle="discard"), 5)
    assert [batch.data[0].asnumpy()[0, 0] for batch in iterator] == [0, 4, 0, 4, 0]
    iterator.reset()
    assert len(list(iterator)) == 5


def test_data_loaders_are_iterators():
    points = mx.gluon.data.ArrayDataset(np.arange(10, dtype="f8").reshape(5, 2), np.arange(5))
    batches = mx.contrib.io.DataLoaderIter(mx.gluon.data.DataLoader(points, 3), label_name="y", dtype="float16")
    assert batches.provide_data[0].shape == (3, 2) and batches.provide_label[0].name == "y" and batches.batch_size == 3
    for _ in range(2):
        first, last = batches
        assert first.pad == 0 and last.pad == 1 and last.data[0].dtype == last.label[0].dtype == np.float16
        assert last.data[0].asnumpy().tolist() == [[6, 7], [8, 9], [0, 0]]
        assert first.label[0].asnumpy().tolist() == [0, 1, 2]
        batches.reset()


def test_own_iterators():
    class Twice(mx.io.DataIter):
        count = 0

        def iter_next(self):
            self.count += 1
            return self.count <= 2

        def getdata(self):
            return [amp.nd.array(X)]

        def getlabel(self):
            return None

    assert [batch.data[0].shape for batch in Twice(5)] == [(5, 2), (5, 2)]


@pytest.mark.parametrize(
    "mistake, message",
    [
        (lambda: mx.io.NDArrayIter(X, last_batch_handle="drop"), "expected pad, discard or roll_over, got 'drop'"),
        (lambda: mx.io.NDArrayIter(X, np.arange(4)), "different numbers of rows: {'data': 5, 'softmax_label': 4}"),
        (lambda: mx.io.NDArrayIter(X, batch_size=6, last_batch_handle="discard"), "larger than the number of rows"),
        (lambda: mx.io.NDArrayIter(X, batch_size=0), "batch_size: expected a number from 1, got 0"),
        (lambda: mx.io.NDArrayIter(np.float32(1)), "expected arrays with rows"),
        (lambda: mx.io.DataBatch(X), "data: expected a list of arrays, got ndarray"),
    ],
)
def test_mistakes(mistake, message):
    with pytest.raises(amp.ArgumentError, match=message):
        mistake()
