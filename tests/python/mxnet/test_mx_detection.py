"""`mx.image.detection`: boxes follow their pictures. Numbers without a formula are those of MXNet 1.9.1."""

import numpy as np
import pytest

import amp.mxnet as mx
from amp.mxnet import image

pytest.importorskip("PIL")

BOXES = np.array([[0, 0.1, 0.2, 0.5, 0.6, 1.0], [1, 0.0, 0.5, 1.0, 0.9, 0.0], [2, 0.9, 0.9, 0.95, 1.0, 3.0]])


def marked(height=40, width=60):
    """A picture whose pixels tell where they are, with a box around its left half."""
    y, x = np.mgrid[:height, :width]
    return mx.nd.array(np.stack([x, y, np.full_like(x, 7)], -1), dtype="uint8"), np.array([[3, 0.0, 0.0, 0.5, 1.0]])


def test_mirrored_boxes():
    picture, boxes = marked()
    mirrored, moved = image.DetHorizontalFlipAug(1)(picture, boxes.copy())
    assert (mirrored.asnumpy() == picture.asnumpy()[:, ::-1]).all() and moved.tolist() == [[3, 0.5, 0, 1, 1]]
    same, stays = image.DetHorizontalFlipAug(0)(picture, boxes)
    assert same is picture and stays is boxes


@pytest.mark.parametrize("seed", range(5))
def test_random_parts(seed):
    mx.random.seed(seed)
    picture, boxes = marked()
    crop = image.DetRandomCropAug(0.3, (0.75, 1.33), (0.2, 0.6), 0.3)
    part, moved = crop(picture, boxes)
    height, width = part.shape[:2]
    assert 0.2 * 2400 <= height * width <= 0.6 * 2400 and 0.7 < width / height < 1.4
    left, top = part.asnumpy()[0, 0, :2].astype(int)
    assert (part.asnumpy() == picture.asnumpy()[top : top + height, left : left + width]).all()
    if len(moved) and moved[0, 3] < 1:  # the box's right edge was at 30
        assert left + moved[0, 3] * width == pytest.approx(30)
    assert ((moved[:, 1:] >= 0) & (moved[:, 1:] <= 1)).all()


def test_parts_without_boxes_are_not_taken():
    picture, boxes = marked()
    crop = image.DetRandomCropAug(min_object_covered=1.5, max_attempts=5)
    assert crop(picture, boxes)[0] is picture
    with pytest.warns(UserWarning, match="area_range"):
        off = image.DetRandomCropAug(area_range=(0.9, 0.1))
    assert not off.enabled and off(picture, boxes)[0] is picture
    with pytest.warns(UserWarning, match="aspect_ratio_range"):
        assert not image.DetRandomPadAug(aspect_ratio_range=(0, 1)).enabled


def test_boxes_of_a_part():
    crop = image.DetRandomCropAug()
    found = crop._update_labels(BOXES, (2, 3, 10, 25), 50, 40)
    np.testing.assert_allclose(found, [[0, 0.2, 0.28, 1, 1, 1.0]], rtol=1e-12)
    assert crop._update_labels(BOXES, (30, 0, 5, 5), 50, 40) is None
    assert crop._check_satisfy_constraints(BOXES, 0, 0, 40, 50, 40, 50)
    assert not crop._check_satisfy_constraints(BOXES, 0, 0, 5, 5, 40, 50)


@pytest.mark.parametrize("pad_val", [9, (1, 2, 3)])
def test_padding(pad_val):
    mx.random.seed(2)
    picture, boxes = marked()
    padded, moved = image.DetRandomPadAug((0.75, 1.5), (1.5, 4.0), pad_val=pad_val)(picture, boxes)
    height, width = padded.shape[:2]
    assert height > 40 and width > 60
    left, top = round(moved[0, 1] * width), round(moved[0, 2] * height)
    pixels = padded.asnumpy()
    assert (pixels[top : top + 40, left : left + 60] == picture.asnumpy()).all()
    assert (pixels[:top] == pad_val).all() and (pixels[top + 40 :] == pad_val).all()
    assert moved[0, 3] * width == pytest.approx(left + 30) and moved[0, 4] * height == pytest.approx(top + 40)


def test_one_of_several_augmenters():
    mx.random.seed(1)
    picture, boxes = marked()
    select = image.DetRandomSelectAug([image.DetHorizontalFlipAug(1)], skip_prob=0.5)
    flipped = sum(select(picture, boxes.copy())[1][0, 1] == 0.5 for _ in range(200))
    assert 60 < flipped < 140
    assert image.DetRandomSelectAug([])(picture, boxes)[0] is picture
    with pytest.raises(ValueError, match="DetAugmenters only"):
        image.DetRandomSelectAug([image.CastAug()])
    with pytest.raises(TypeError, match="expected an Augmenter"):
        image.DetBorrowAug(image.DetHorizontalFlipAug(1))
    with pytest.raises(NotImplementedError):
        image.DetAugmenter()(picture, boxes)


def test_lists_of_augmenters():
    several = image.CreateMultiRandCropAugmenter([0.1, 0.9], area_range=[(0.1, 1.0), (0.5, 1.0)], skip_prob=0.2)
    assert [(a.min_object_covered, a.area_range) for a in several.aug_list] == [(0.1, (0.1, 1.0)), (0.9, (0.5, 1.0))]
    with pytest.raises(AssertionError):
        image.CreateMultiRandCropAugmenter([0.1, 0.9], max_attempts=[1, 2, 3])
    every = image.CreateDetAugmenter(
        (3, 30, 30), 10, 0.5, 0.5, 0.1, True, True, True, 0.1, 0.1, 0.1, 0.05, 0.1, area_range=(0.3, 3.0)
    )
    names = [a.augmenter if isinstance(a, image.DetBorrowAug) else a for a in every]
    assert [type(name).__name__ for name in names] == (
        "ResizeAug DetRandomSelectAug DetHorizontalFlipAug DetRandomSelectAug ForceResizeAug CastAug ColorJitterAug "
        "HueJitterAug LightingAug RandomGrayAug ColorNormalizeAug"
    ).split()
    mx.random.seed(3)
    picture, boxes = marked()
    for augmenter in every:
        picture, boxes = augmenter(picture, boxes)
    assert picture.shape == (30, 30, 3) and picture.dtype == np.float32
    assert image.CreateDetAugmenter((3, 30, 30))[1].dumps() == ["detborrowaug", '["castaug", {"type": "float32"}]']


LABELS = [
    [2, 5, 1, 0.1, 0.2, 0.5, 0.6, 2, 0.3, 0.3, 0.9, 0.8],
    [4, 5, 0, 0, 3, 0.1, 0.2, 0.5, 0.6],  # a longer header
    [2, 5, 1, 0.5, 0.5, 0.2, 0.2, 0, 0.1, 0.1, 0.4, 0.9],  # an empty box
    [2, 5, 7, 0.1, 0.2, 0.5, 0.6, 2, 0.3, 0.3, 0.9, 0.8, 1, 0, 0, 1, 1],
]


@pytest.fixture
def folder(tmp_path):
    for i in range(4):
        pixels = np.random.RandomState(i).randint(0, 255, (20 + i, 30, 3)).astype("uint8")
        (tmp_path / f"{i}.png").write_bytes(image.imencode(pixels))
    return tmp_path


def batches_of(folder, batch_size=3, count=5, **options):
    pictures = [[LABELS[i % 4], f"{i % 4}.png"] for i in range(count)]
    return image.ImageDetIter(batch_size, (3, 12, 14), imglist=pictures, path_root=folder, **options)


@pytest.mark.parametrize(
    "how, pads", [("pad", [[0, 1], [0, 1]]), ("discard", [[0], [0]]), ("roll_over", [[0], [1, 0]])]
)
def test_batches(folder, how, pads):
    batches = batches_of(folder, last_batch_handle=how, mean=True, inter_method=1)
    assert batches.label_shape == (3, 5) and batches.provide_label[0].shape == (3, 3, 5)
    found = []
    for _ in pads:
        found.append(list(batches))
        batches.reset()
    assert [[batch.pad for batch in epoch] for epoch in found] == pads
    first = found[0][0]
    assert first.data[0].shape == (3, 3, 12, 14)
    expected = [[1, 0.1, 0.2, 0.5, 0.6], [2, 0.3, 0.3, 0.9, 0.8], [-1] * 5]
    np.testing.assert_allclose(first.label[0].asnumpy()[0], expected, rtol=1e-6)
    assert first.label[0].asnumpy()[2, 0].tolist() == pytest.approx([0, 0.1, 0.1, 0.4, 0.9])
    plain = batches_of(folder, inter_method=1)
    means = np.array([123.68, 116.28, 103.53]).reshape(3, 1, 1)
    np.testing.assert_allclose(next(plain).data[0].asnumpy() - means, first.data[0].asnumpy(), rtol=1e-4, atol=1e-3)


def test_records_with_boxes(folder):
    writer = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "w")
    for i, label in enumerate(LABELS):
        writer.write_idx(i, mx.recordio.pack((0, label, i, 0), (folder / f"{i}.png").read_bytes()))
    writer.close()
    batches = image.ImageDetIter(2, (3, 12, 14), path_imgrec=str(folder / "a.rec"), shuffle=True)
    assert sum(len(batch.label[0]) for batch in batches) == 4


def test_pictures_whose_boxes_get_lost_are_left_out(folder):
    class Lost(image.DetAugmenter):
        def __call__(self, src, label):
            return src, label[label[:, 0] != 3]

    batches = batches_of(folder, 1, 4, aug_list=[*image.CreateDetAugmenter((3, 12, 14)), Lost()])
    assert len(list(batches)) == 3  # without that of the second label


def test_shapes_of_labels(folder):
    batches, other = batches_of(folder), batches_of(folder, 1, 1)
    assert other.label_shape == (2, 5) and batches.sync_label_shape(other).label_shape == (3, 5)
    assert next(other).label[0].shape == (1, 3, 5)
    for shape in ((1, 5), (9, 6), (5,)):
        with pytest.raises(ValueError, match="label_shape"):
            batches.reshape(label_shape=shape)
    batches.reshape((3, 8, 9), (7, 5))
    assert batches.provide_data == [("data", (3, 3, 8, 9))] and batches.provide_label == [("label", (3, 7, 5))]
    with pytest.raises(ValueError):  # the augmenters make pictures of the old shape
        next(batches)
    with pytest.raises(AssertionError):
        batches.sync_label_shape(None)


@pytest.mark.parametrize(
    "label, message",
    [
        ([1, 2, 3], "7 numbers"),
        ([2, 5, 1, 0.5, 0.5, 0.5, 0.5], "no box"),
        ([2, 6, 1, 0.1, 0.1, 0.5, 0.5], "do not fit"),
    ],
)
def test_bad_labels(folder, label, message):
    with pytest.raises(RuntimeError, match=message):
        image.ImageDetIter(1, (3, 12, 14), imglist=[[label, "0.png"]], path_root=folder)


def test_drawn_boxes(folder):
    batches = batches_of(folder, 1, 4)
    drawn = list(batches.draw_next(color=(255, 0, 10), thickness=1, id2labels={1: "cat"}))
    assert len(drawn) == 4 and drawn[0].shape == (12, 14, 3) and drawn[0].dtype == np.uint8
    assert drawn[0][int(0.2 * 12), int(0.1 * 14)].tolist() == [10, 0, 255]  # blue first


@pytest.mark.parametrize(
    "label",
    [
        [2, 0, 1, 0.1, 0.1, 0.5, 0.5],
        [-1, 5, 1, 0.1, 0.1, 0.5, 0.5],
        [float("nan"), 5, 1, 0.1, 0.1, 0.5, 0.5],
        [2, 9, 1, 0.1, 0.1, 0.5, 0.5],
        [2, 5, 1, 0.1],
        [2, float("inf"), 1, 0.1, 0.1, 0.5, 0.5],
    ],
)
def test_lists_that_are_no_labels(label):
    from amp.mxnet.image._flat_labels import LabelError, boxes_of

    with pytest.raises(LabelError):
        boxes_of(label)
    assert issubclass(LabelError, RuntimeError)
