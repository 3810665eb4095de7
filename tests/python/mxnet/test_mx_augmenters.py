"""mx.image: augmenters, and batches of pictures in files."""

import json

import numpy as np
import pytest

import amp
import amp.mxnet as mx

PIXELS = np.random.default_rng(0).integers(0, 256, (5, 8, 9, 3), dtype=np.uint8)


def nd(values):
    return mx.nd.array(values, dtype=values.dtype)


def test_sizes():
    picture = nd(PIXELS[0])
    assert mx.image.ResizeAug(4)(picture).shape == (4, 4, 3)
    assert mx.image.ForceResizeAug((5, 2))(picture).shape == (2, 5, 3)
    assert (mx.image.CenterCropAug((3, 2))(picture).asnumpy() == PIXELS[0][3:5, 3:6]).all()
    mx.random.seed(1)
    parts = {mx.image.RandomCropAug((3, 2))(picture).asnumpy().tobytes() for _ in range(20)}
    assert len(parts) > 5
    assert mx.image.RandomSizedCropAug((3, 2), 0.1, (0.5, 2))(picture).shape == (2, 3, 3)


def test_colours():
    pixels = PIXELS[0].astype("float32")
    mx.random.seed(3)
    bright = mx.image.BrightnessJitterAug(0.5)(nd(pixels)).asnumpy() / np.maximum(pixels, 1e-3)
    assert np.ptp(bright[pixels > 0]) < 1e-5 and 0.5 <= bright.max() <= 1.5
    grey = pixels @ np.float32([0.299, 0.587, 0.114])
    flat = mx.image.SaturationJitterAug(0.5)(nd(pixels)).asnumpy()
    np.testing.assert_allclose(flat @ np.float32([0.299, 0.587, 0.114]), grey, rtol=1e-3)
    hues = mx.image.HueJitterAug(0.5)(nd(pixels)).asnumpy()
    np.testing.assert_allclose(hues @ np.float32([0.299, 0.587, 0.114]), grey, rtol=0.02, atol=1)
    assert np.abs(hues - pixels).max() > 5
    np.testing.assert_allclose(mx.image.HueJitterAug(0)(nd(pixels)).asnumpy(), pixels, atol=1)
    contrast = mx.image.ContrastJitterAug(0.5)(nd(pixels)).asnumpy()
    np.testing.assert_allclose((contrast @ np.float32([0.299, 0.587, 0.114])).mean(), grey.mean(), rtol=1e-3)
    lit = mx.image.LightingAug(1, np.ones(3), np.eye(3))(nd(pixels)).asnumpy() - pixels
    np.testing.assert_allclose(np.ptp(lit, axis=(0, 1)), 0, atol=1e-4)
    normal = mx.image.ColorNormalizeAug(mx.nd.array([1, 2, 3]), np.array([2, 2, 4]))(nd(pixels)).asnumpy()
    np.testing.assert_allclose(normal, (pixels - [1, 2, 3]) / [2, 2, 4], rtol=1e-5)
    greyed = mx.image.RandomGrayAug(1)(nd(pixels)).asnumpy()
    np.testing.assert_allclose(greyed, np.repeat(grey[..., None], 3, -1), rtol=1e-4)
    assert (mx.image.HorizontalFlipAug(1)(nd(pixels)).asnumpy() == pixels[:, ::-1]).all()


def test_lists_of_augmenters():
    every = mx.image.CreateAugmenter(
        (3, 4, 5), 6, True, True, True, True, True, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2
    )  # fmt: skip
    dumped = [each.dumps() for each in every]
    names = [(each if isinstance(each, list) else json.loads(each))[0] for each in dumped]
    assert names == [
        "resizeaug", "randomsizedcropaug", "horizontalflipaug", "castaug", "colorjitteraug", "huejitteraug",
        "lightingaug", "randomgrayaug", "colornormalizeaug",
    ]  # fmt: skip
    found = mx.image.SequentialAug(every)(nd(PIXELS[0]))
    assert found.shape == (4, 5, 3) and found.dtype == np.float32
    assert every[4].dumps()[1][0] == '["brightnessjitteraug", {"brightness": 0.1}]'


@pytest.fixture
def folder(tmp_path):
    pytest.importorskip("PIL")
    writer = mx.recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w")
    with open(tmp_path / "list", "w") as lines:
        for i, pixels in enumerate(PIXELS):
            data = mx.image.imencode(pixels)
            (tmp_path / f"{i}.png").write_bytes(data)
            writer.write_idx(i, mx.recordio.pack((0, i, i, 0), data))
            lines.write(f"{i}\t{i}\t{i}.png\n")
    writer.close()
    return tmp_path


def sources(folder):
    return [
        {"imglist": [[i, f"{i}.png"] for i in range(5)], "path_root": folder},
        {"path_imglist": folder / "list", "path_root": folder},
        {"path_imgrec": folder / "a.rec"},
        {"path_imgrec": folder / "a.rec", "path_imgidx": folder / "a.idx", "path_imglist": folder / "list"},
    ]


@pytest.mark.parametrize("source", range(4))
def test_batches(folder, source):
    options = sources(folder)[source]
    middle = PIXELS[:, 2:6, 2:7].transpose(0, 3, 1, 2)
    batches = list(mx.image.ImageIter(2, (3, 4, 5), **options))
    assert [batch.pad for batch in batches] == [0, 0, 1]
    assert np.concatenate([batch.label[0].asnumpy() for batch in batches]).tolist() == [0, 1, 2, 3, 4, 0]
    assert (np.concatenate([batch.data[0].asnumpy() for batch in batches])[:5] == middle).all()


def test_what_is_left_of_pictures(folder):
    options = sources(folder)[0]

    def labels(iterator):
        found = [batch.label[0].asnumpy().tolist() for batch in iterator]
        iterator.reset()
        return found

    assert labels(mx.image.ImageIter(2, (3, 4, 4), last_batch_handle="discard", **options)) == [[0, 1], [2, 3]]
    rolling = mx.image.ImageIter(2, (3, 4, 4), last_batch_handle="roll_over", **options)
    assert [labels(rolling), labels(rolling)] == [[[0, 1], [2, 3]], [[4, 0], [1, 2], [3, 4]]]
    parts = [labels(mx.image.ImageIter(2, (3, 4, 4), num_parts=2, part_index=i, **options)) for i in range(2)]
    assert parts == [[[0, 1]], [[2, 3]]]  # of one size, as in MXNet
    np.random.seed(1)
    shuffled = mx.image.ImageIter(5, (3, 4, 4), shuffle=True, dtype="int32", **options)
    orders = [labels(shuffled)[0] for _ in range(3)]
    assert len(set(map(tuple, orders))) > 1 and all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)
    one = mx.image.ImageIter(1, (3, 4, 4), aug_list=[], **options)
    label, data = one.next_sample()
    assert label.tolist() == [0] and (one.imdecode(data).asnumpy() == PIXELS[0]).all()


def test_the_first_batch_tells_how_much_of_it_is_new(folder):
    """As in MXNet: `pad` of a batch that begins with what was left counts the samples of the new epoch."""
    rolling = mx.image.ImageIter(3, (3, 4, 4), last_batch_handle="roll_over", **sources(folder)[0])
    pads = []
    for _ in range(4):
        pads.append([batch.pad for batch in rolling])
        rolling.reset()
    assert pads == [[0], [1, 0], [2, 0], [0]]


def test_records_without_an_index(folder):
    (folder / "a.idx").unlink()
    batches = list(mx.image.ImageIter(2, (3, 4, 5), path_imgrec=folder / "a.rec"))
    assert np.concatenate([batch.label[0].asnumpy() for batch in batches]).tolist() == [0, 1, 2, 3, 4, 0]


@mx.util.use_np
def test_batches_of_numpy_arrays(folder):
    batch = next(mx.image.ImageIter(2, (3, 4, 5), **sources(folder)[0]))
    assert type(batch.data[0]) is type(batch.label[0]) is mx.np.ndarray


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mx.image.CreateAugmenter((3, 4, 4), rand_resize=True), "rand_resize needs rand_crop"),
        (lambda: mx.image.ImageIter(2, (3, 4, 4), imglist=[], num_parts=2, part_index=2), "below num_parts, 2"),
        (lambda: mx.image.ImageIter(2, (3, 4, 4)), "path_imgrec, path_imglist or imglist is needed"),
        (lambda: mx.image.ImageIter(2, (1, 4, 4), imglist=[]), r"expected \(3, height, width\)"),
        (lambda: mx.image.ImageIter(2, (3, 4, 4), imglist=[], last_batch_handle="x"), "expected pad, discard"),
        (lambda: mx.image.ImageIter(2, (3, 4, 4), path_imgrec="none.rec", path_imgidx="none.idx"), "has no index"),
        (lambda: mx.image.RandomSizedCropAug((1, 1), 1, (1, 1), x=2), "unknown arguments x"),
    ],
)
def test_errors(call, message):
    with pytest.raises(amp.ArgumentError, match=message):
        call()
