"""Datasets, samplers, batches and files of records."""

import pickle
import struct

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.gluon import data
from amp.mxnet.gluon.data import batchify

NUMBERS = data.SimpleDataset(list(range(10)))


# ---- datasets ----


def test_parts_of_a_dataset():
    assert list(NUMBERS.filter(lambda x: x % 3 == 0)) == [0, 3, 6, 9]
    assert [list(NUMBERS.shard(3, i)) for i in range(3)] == [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert list(NUMBERS.take(2)) == [0, 1] and len(NUMBERS.take(None)) == len(NUMBERS.take(99)) == 10
    assert list(NUMBERS.sample(data.SequentialSampler(2, 5))) == [5, 6]
    assert NUMBERS.take(2).__mx_handle__()[1] == 1


def test_transforms_are_lazy_or_not():
    calls = []

    def square(x):
        calls.append(x)
        return x * x

    lazy = NUMBERS.transform(square)
    assert not calls and lazy[3] == 9 and calls == [3]
    assert list(NUMBERS.transform(square, lazy=False).filter(lambda x: x > 50)) == [64, 81] and len(calls) == 11
    pairs = data.ArrayDataset([1, 2], [3, 4])
    assert pairs.transform(lambda x, y: x + y)[1] == 6 and pairs.transform_first(lambda x: -x)[1] == (-2, 4)


def test_labels_in_an_ndarray_are_numbers():
    sample = data.ArrayDataset(mx.nd.ones((2, 3)), mx.nd.array([5, 6]))[1]
    assert isinstance(sample[0], mx.nd.NDArray) and isinstance(sample[1], np.float32) and sample[1] == 6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: data.ArrayDataset(), "expected arrays of one length"),
        (lambda: data.ArrayDataset([1], [1, 2]), "expected arrays of one length"),
        (lambda: NUMBERS.shard(3, 3), "expected an index below 3, got 3"),
        (lambda: NUMBERS.take(-1), "expected a number from 0"),
        (lambda: NUMBERS.sample([1]), "expected a Sampler, got list"),
        (lambda: data.BatchSampler(NUMBERS, 2, "some"), "expected 'keep', 'discard' or 'rollover'"),
        (lambda: data.IntervalSampler(3, 4), "expected 1 to the length, 3, got 4"),
        (lambda: data.DataLoader(NUMBERS), "batch_size is needed"),
        (lambda: data.DataLoader(NUMBERS, 2, True, data.SequentialSampler(2)), "sampler excludes shuffle"),
        (lambda: data.DataLoader(NUMBERS, 2, batch_sampler=[[1]]), "batch_sampler excludes batch_size"),
        (lambda: data.DataLoader(NUMBERS, 2, timeout=0), "timeout: expected a number of seconds above 0"),
        (lambda: data.RecordFileDataset("none.rec"), "has no index none.idx"),
        (lambda: batchify.Pad()([1, 2]), "Pad: expected arrays or lists, got int"),
        (lambda: batchify.Pad()([[1], [[2]]]), "different numbers of axes"),
        (lambda: batchify.Group(batchify.Stack())([(1, 2)]), "samples have 2 places, and there are 1"),
        (lambda: batchify.Group(5), "expected functions"),
        (lambda: mx.recordio.MXRecordIO("x", "a"), "expected 'r' or 'w', got 'a'"),
        (lambda: mx.recordio.unpack(b"short"), "at least 24 bytes, got 5"),
        (lambda: mx.recordio.unpack(struct.pack("IfQQ", 9, 0, 0, 0) + b"1234"), "9 labels do not fit into 4 bytes"),
        (lambda: mx.random.set_state({}), "set_state: expected what get_state gave: KeyError"),
        (lambda: mx.random.set_state(5), "set_state: expected what get_state gave: TypeError"),
    ],
)
def test_errors(call, message):
    with pytest.raises(amp.ArgumentError, match=message):
        call()


# ---- samplers ----


def test_batch_samplers():
    def two_rounds(last):
        sampler = data.BatchSampler(data.SequentialSampler(5), 3, last)
        return [(len(sampler), list(sampler)) for _ in range(2)]

    assert two_rounds("keep") == [(2, [[0, 1, 2], [3, 4]])] * 2
    assert two_rounds("discard") == [(1, [[0, 1, 2]])] * 2
    assert two_rounds("rollover") == [(1, [[0, 1, 2]]), (2, [[3, 4, 0], [1, 2, 3]])]


def test_samplers():
    assert list(data.IntervalSampler(7, 3)) == [0, 3, 6, 1, 4, 2, 5]
    assert list(data.IntervalSampler(7, 3, rollover=False)) == [0, 3, 6]
    assert list(data.FilterSampler(lambda x: x > 7, NUMBERS)) == [8, 9]


def test_numpys_seed_shuffles_as_in_mxnet():
    np.random.seed(0)
    expected = np.arange(8)
    np.random.shuffle(expected)
    np.random.seed(0)
    assert list(data.RandomSampler(8)) == expected.tolist() == [6, 2, 1, 7, 3, 0, 5, 4]  # 1.9.1's


def test_all_random_numbers_come_back():
    import random

    def draw():
        with mx.autograd.record():
            dropped = mx.nd.Dropout(mx.nd.ones((50,))).asnumpy().tolist()
        return (
            mx.random.uniform(shape=(3,)).asnumpy().tolist(),
            dropped,
            list(data.RandomSampler(20)),
            random.random(),
            mx.random.spawn_seed(),
        )

    for seed in (lambda: mx.random.seed(3), lambda: None):
        seed()
        draw()
        state = pickle.loads(pickle.dumps(mx.random.get_state()))
        first, second = draw(), draw()
        assert first[:4] != second[:4]
        mx.random.set_state(state)
        assert (draw(), draw()) == (first, second)


# ---- batches ----


def test_batches_have_the_dtype_of_samples():
    for samples in (np.ones((3, 2)), np.ones((3, 2), "float32"), np.arange(3), mx.nd.ones((3, 2), dtype="float16")):
        (batch,) = data.DataLoader(samples, 3)
        assert type(batch) is mx.nd.NDArray and batch.dtype == samples.dtype and batch.shape == samples.shape
    with mx.util.np_array():
        (batch,) = data.DataLoader(np.ones((3, 2)), 3)
    assert type(batch) is mx.np.ndarray
    (batch,) = data.DataLoader(mx.np.ones((3, 2), dtype="bfloat16"), 3)
    assert type(batch) is mx.np.ndarray and batch.dtype.name == "bfloat16"


def test_batchify():
    rows = [np.array([[1, 2], [3, 4]]), np.array([[5, 6], [7, 8]])]
    assert batchify.Stack()(rows).asnumpy().tolist() == np.stack(rows).tolist()
    assert [part.shape for part in batchify.Stack()([(1, [2, 3]), (4, [5, 6])])] == [(2,), (2, 2)]
    padded = batchify.Pad(val=-1, round_to=4, dtype="float32")([[1, 2, 3], [4, 5]])
    assert padded.dtype == np.float32 and padded.asnumpy().tolist() == [[1, 2, 3, -1], [4, 5, -1, -1]]
    assert batchify.Pad()([np.ones((2, 1)), np.ones((1, 3))]).asnumpy().sum(axis=0).tolist() == [[2, 1, 1], [1, 0, 0]]
    assert [x.shape for x in batchify.Append(expand=False)([[1, 2], [3]])] == [(2,), (1,)]
    both = batchify.Group([batchify.Pad(), batchify.AsList()])([([1], "a"), ([2, 3], "b")])
    assert both[0].asnumpy().tolist() == [[1, 0], [2, 3]] and both[1] == ["a", "b"]


# ---- records ----


def test_a_record_may_contain_the_magic_number(tmp_path):
    magic = struct.pack("<I", 0xCED7230A)
    records = [b"", b"a" * 3, magic, magic * 3 + b"x", b"abcd" + magic + b"efg" + magic, b"ab" + magic, magic[:3]]
    writer = mx.recordio.MXRecordIO(str(tmp_path / "records"), "w")
    positions = []
    for record in records:
        positions.append(writer.tell())
        writer.write(record)
    writer.close()
    assert positions[:3] == [0, 8, 20]
    reader = mx.recordio.MXRecordIO(str(tmp_path / "records"), "r")
    assert [reader.read() for _ in records] == records and reader.read() is None
    reader.reset()
    assert reader.read() == records[0]


def test_the_format_is_mxnets(tmp_path):
    (tmp_path / "written-by-1.9.1").write_bytes(  # MXRecordIO.write of b"abc", then of the magic number and b"x"
        bytes.fromhex("0a23d7ce03000000616263000a23d7ce000000200a23d7ce0100006078000000")
    )
    reader = mx.recordio.MXRecordIO(tmp_path / "written-by-1.9.1", "r")
    assert reader.read() == b"abc" and reader.read() == struct.pack("<I", 0xCED7230A) + b"x"
    expected = bytes.fromhex("000000000000204007000000000000000100000000000000") + b"z"
    assert mx.recordio.pack((0, 2.5, 7, 1), b"z") == expected


def test_damaged_files_are_errors(tmp_path):
    path = tmp_path / "records"
    writer = mx.recordio.MXRecordIO(path, "w")
    writer.write(b"the record: ")
    writer.close()
    good = path.read_bytes()
    for bad, message in ((good[:-1], "ends inside"), (b"x" + good[1:], "no record begins at byte 0")):
        path.write_bytes(bad)
        with pytest.raises(amp.Error, match=message):
            mx.recordio.MXRecordIO(path, "r").read()


def test_records_by_key(tmp_path):
    files = tmp_path / "a.idx", tmp_path / "a.rec"
    writer = mx.recordio.MXIndexedRecordIO(*files, "w")
    for key in (5, 3, 4):
        writer.write_idx(key, b"%d" % key)
    with pytest.raises(amp.ArgumentError, match="cannot be pickled"):
        pickle.dumps(writer)
    writer.close()
    reader = pickle.loads(pickle.dumps(mx.recordio.MXIndexedRecordIO(*files, "r")))
    assert reader.keys == [5, 3, 4] and [reader.read_idx(key) for key in (4, 5, 3)] == [b"4", b"5", b"3"]
    reader.seek(3)
    assert reader.read() == b"3" and reader.read() == b"4" and reader.read() is None
    with pytest.raises(amp.ArgumentError, match="has no key 9"):
        reader.read_idx(9)
    assert list(data.RecordFileDataset(files[1])) == [b"5", b"3", b"4"]


@pytest.mark.parametrize("label", [3.0, [1.0, 2.0, 3.0], np.array([4.0], "float32")])
def test_labels_of_records(label):
    header, rest = mx.recordio.unpack(mx.recordio.pack(mx.recordio.IRHeader(0, label, 2**40, 1), b"rest"))
    np.testing.assert_array_equal(header.label, label)
    assert (header.id, header.id2, rest) == (2**40, 1, b"rest")


def test_arrays_can_be_pickled():
    for array in (mx.nd.array([[1, 2]]), mx.np.array(2.5), mx.np.ones((2,), dtype="bfloat16")):
        same = pickle.loads(pickle.dumps(array))
        assert type(same) is type(array) and same.dtype == array.dtype and same.shape == array.shape
        np.testing.assert_array_equal(same.asnumpy(), array.asnumpy())
