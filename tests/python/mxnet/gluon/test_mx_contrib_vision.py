"""`gluon.contrib.data.vision`: boxes follow their pictures, and loaders give batches of both."""

import numpy as np
import pytest

import amp.mxnet as mx
from amp.mxnet.gluon.contrib.data import vision
from amp.mxnet.gluon.contrib.data.vision.transforms.bbox import utils

pytest.importorskip("PIL")

BOXES = np.array([[2.0, 4, 10, 12, 7], [0, 0, 30, 20, 8], [25, 18, 29, 20, 9]])


# ---- functions of boxes ----


def test_cropped_boxes():
    cropped = utils.bbox_crop(BOXES, (5, 2, 20, 15))
    assert cropped.tolist() == [[0, 2, 5, 10, 7], [0, 0, 20, 15, 8]]
    assert utils.bbox_crop(BOXES, (5, 2, 20, 15), allow_outside_center=False).tolist() == cropped.tolist()
    inside = utils.bbox_crop(BOXES, (8, 2, 20, 15), allow_outside_center=False)
    assert inside.tolist() == [[0, 0, 20, 15, 8]]  # the middle of the first one is outside
    for nothing in (None, (None, None, None, None)):
        assert (utils.bbox_crop(BOXES, nothing) == BOXES).all()
    with pytest.raises(ValueError, match="expected 4 numbers"):
        utils.bbox_crop(BOXES, (1, 2))


def test_moved_boxes():
    assert utils.bbox_flip(BOXES, (30, 20), flip_x=True)[0].tolist() == [20, 4, 28, 12, 7]
    assert utils.bbox_flip(BOXES, (30, 20), flip_y=True)[0].tolist() == [2, 8, 10, 16, 7]
    assert utils.bbox_resize(BOXES, (30, 20), (60, 10))[0].tolist() == [4, 2, 20, 6, 7]
    assert utils.bbox_translate(BOXES, 3, -4)[0].tolist() == [5, 0, 13, 8, 7]
    assert BOXES[0].tolist() == [2, 4, 10, 12, 7]


def test_overlaps():
    found = utils.bbox_iou(np.array([[0.0, 0, 4, 4]]), np.array([[2.0, 2, 6, 6], [0, 0, 4, 4], [5, 5, 6, 6]]))
    np.testing.assert_allclose(found, [[4 / 28, 1, 0]])
    pixels = utils.bbox_iou(np.array([[0, 0, 3, 3]]), np.array([[2, 2, 5, 5]]), offset=1)
    np.testing.assert_allclose(pixels, [[4 / 28]])
    with pytest.raises(IndexError):
        utils.bbox_iou(BOXES[:, :3], BOXES)


@pytest.mark.parametrize("convert", [tuple, list, lambda box: np.array([box])])
def test_forms_of_boxes(convert):
    def plain(boxes):
        return np.ravel(boxes).tolist()

    assert plain(utils.bbox_xywh_to_xyxy(convert((1, 2, 3, 0)))) == [1, 2, 3, 2]
    assert plain(utils.bbox_xyxy_to_xywh(convert((1, 2, 3, 5)))) == [1, 2, 3, 4]
    assert plain(utils.bbox_clip_xyxy(convert((-1, 2, 30, 5)), 10, 4)) == [0, 2, 9, 3]


def test_bad_boxes():
    for function in (utils.bbox_xywh_to_xyxy, utils.bbox_xyxy_to_xywh, lambda b: utils.bbox_clip_xyxy(b, 1, 1)):
        for boxes, error in (([1, 2], IndexError), (np.zeros((3, 3)), IndexError), ("text", TypeError)):
            with pytest.raises(error):
                function(boxes)


def test_random_parts_with_constraints():
    mx.random.seed(1)
    for _ in range(20):
        boxes, (left, top, width, height) = utils.bbox_random_crop_with_constraints(BOXES, (30, 20))
        assert 0 <= left and left + width <= 30 and 0 <= top and top + height <= 20 and len(boxes)
        again = utils.bbox_crop(BOXES, (left, top, width, height), allow_outside_center=False)
        assert (boxes == again).all()
    boxes, part = utils.bbox_random_crop_with_constraints(BOXES[:0], (30, 20), min_scale=0.5, max_scale=0.5)
    assert not len(boxes) and part != (0, 0, 30, 20)
    impossible = utils.bbox_random_crop_with_constraints(BOXES, (30, 20), constraints=[(2, None)], max_trial=3)
    assert impossible[1] == (0, 0, 30, 20)


# ---- blocks ----


@pytest.fixture(params=["nd", "np"])
def picture(request):
    """A picture (20, 30) whose pixels tell where they are, and boxes; arrays of both generations."""
    y, x = np.mgrid[:20, :30]
    pixels = np.stack([x, y, x + y], -1).astype("uint8")
    if request.param == "nd":
        yield mx.nd.array(pixels, dtype="uint8"), mx.nd.array(BOXES)
    else:
        with mx.util.np_shape(), mx.util.np_array():
            yield mx.np.array(pixels, dtype="uint8"), mx.np.array(BOXES, dtype="float32")


def test_blocks(picture):
    image, boxes = picture
    mirrored, moved = vision.ImageBboxRandomFlipLeftRight(1)(image, boxes)
    assert (mirrored.asnumpy() == image.asnumpy()[:, ::-1]).all() and moved.asnumpy()[0].tolist() == [20, 4, 28, 12, 7]
    assert type(moved) is type(boxes) and moved.dtype == np.float32 and boxes.asnumpy()[0, 0] == 2
    assert vision.ImageBboxRandomFlipLeftRight(0)(image, boxes)[1] is boxes
    part, moved = vision.ImageBboxCrop((5, 2, 20, 15))(image, boxes)
    assert (part.asnumpy() == image.asnumpy()[2:17, 5:25]).all() and moved.shape == (2, 5)
    assert vision.ImageBboxCrop((5, 2, 25, 15))(image, boxes)[0] is image
    resized, moved = vision.ImageBboxResize(60, 10)(image, boxes)
    assert resized.shape == (10, 60, 3) and moved.asnumpy()[0].tolist() == [4, 2, 20, 6, 7]
    assert vision.ImageBboxResize(6, 10, interp=-1)(image, boxes)[0].shape == (10, 6, 3)


@pytest.mark.parametrize("fill, keep_ratio", [(9, True), ((1, 2, 3), False)])
def test_expanded_pictures(picture, fill, keep_ratio):
    image, boxes = picture
    mx.random.seed(3)
    larger, moved = vision.ImageBboxRandomExpand(1, 3, fill, keep_ratio)(image, boxes)
    left, top = (moved.asnumpy()[0, :2] - BOXES[0, :2]).astype(int)
    pixels = larger.asnumpy()
    assert (pixels[top : top + 20, left : left + 30] == image.asnumpy()).all() and larger.dtype == np.uint8
    assert (pixels[:top] == fill).all() and (pixels[:, :left] == fill).all() and pixels.shape[0] > 20
    if keep_ratio:
        assert pixels.shape[1] / pixels.shape[0] == pytest.approx(1.5, rel=0.1)
    with pytest.raises(ValueError, match="expected 3 numbers, got 2"):
        vision.ImageBboxRandomExpand(1, 3, (1, 2))(image, boxes)


def test_random_crops(picture):
    image, boxes = picture
    mx.random.seed(4)
    crop = vision.ImageBboxRandomCropWithConstraints(p=1)
    shapes = set()
    for _ in range(10):
        part, moved = crop(image, boxes)
        left, top = part.asnumpy()[0, 0, :2].astype(int)
        height, width = part.shape[:2]
        assert (part.asnumpy() == image.asnumpy()[top : top + height, left : left + width]).all() and len(moved)
        shapes.add(part.shape)
    assert len(shapes) > 1 and vision.ImageBboxRandomCropWithConstraints(p=0)(image, boxes)[0] is image


def test_what_blocks_refuse(picture):
    image, boxes = picture
    with pytest.raises(AssertionError):
        vision.ImageBboxRandomFlipLeftRight(1)(image, boxes[0])
    for crop in ((1, 2, 3), (-1, 0, 3, 3), (0, 0, 0, 3)):
        with pytest.raises(AssertionError):
            vision.ImageBboxCrop(crop)
    with pytest.raises(NotImplementedError):
        vision.ImageBboxResize(3, 3)(image.reshape((1, 20, 30, 3)), boxes)


# ---- loaders ----


@pytest.fixture
def folder(tmp_path):
    for i in range(5):
        (tmp_path / f"{i}.png").write_bytes(mx.image.imencode(np.full((20, 30, 3), 20 * i, "uint8")))
    (tmp_path / "a.lst").write_text("".join(f"{i}\t{i}\t{i}.png\n" for i in range(5)))
    return tmp_path


def test_loaded_pictures(folder):
    for source in ({"imglist": [[i, f"{i}.png"] for i in range(5)]}, {"path_imglist": str(folder / "a.lst")}):
        batches = list(vision.ImageDataLoader(2, (3, 8, 9), path_root=str(folder), last_batch="keep", **source))
        assert [data.shape for data, _ in batches] == [(2, 3, 8, 9), (2, 3, 8, 9), (1, 3, 8, 9)]
        assert np.concatenate([label.asnumpy() for _, label in batches]).tolist() == [0, 1, 2, 3, 4]
        np.testing.assert_allclose(batches[1][0].asnumpy()[1], np.full((3, 8, 9), 60 / 255), rtol=1e-5)
    options = {"path_root": str(folder), "imglist": [[i, f"{i}.png"] for i in range(5)], "last_batch": "discard"}
    assert len(vision.ImageDataLoader(2, (3, 8, 9), **options)) == 2
    part = vision.ImageDataLoader(1, (3, 8, 9), num_parts=2, part_index=1, **options)
    assert [label.asnumpy().item() for _, label in part] == [3, 4]


def test_records_are_loaded(folder):
    writer = mx.recordio.MXIndexedRecordIO(str(folder / "a.idx"), str(folder / "a.rec"), "w")
    for i in range(5):
        writer.write_idx(i, mx.recordio.pack((0, float(i), i, 0), (folder / f"{i}.png").read_bytes()))
    writer.close()
    loader = vision.ImageDataLoader(5, (3, 8, 9), path_imgrec=str(folder / "a.rec"), shuffle=True)
    assert sorted(next(iter(loader))[1].asnumpy().tolist()) == [0, 1, 2, 3, 4]


EVERYTHING = {
    "rand_crop": 1,
    "rand_mirror": True,
    "rand_gray": 0.5,
    "mean": True,
    "std": [1.1, 1.03, 1.05],
    "brightness": 0.1,
    "contrast": 0.1,
    "saturation": 0.1,
    "hue": 0.1,
    "pca_noise": 0.1,
    "inter_method": 10,
}


def test_all_changes(folder):
    mx.random.seed(1)
    options = {"imglist": [[i, f"{i}.png"] for i in range(5)], "path_root": str(folder), **EVERYTHING}
    for data, _ in vision.ImageDataLoader(5, (3, 8, 9), resize=12, rand_resize=True, **options):
        assert data.shape == (5, 3, 8, 9) and data.dtype == np.float32
    own = vision.ImageDataLoader(5, (3, 8, 9), imglist=options["imglist"], path_root=str(folder), aug_list=[Bright()])
    assert next(iter(own))[0].shape == (5, 20, 30, 3)
    with pytest.raises(AssertionError, match="rand_resize needs rand_crop"):
        vision.create_image_augment((3, 8, 9), rand_resize=True)
    with pytest.raises(AssertionError, match="mean"):
        vision.create_image_augment((3, 8, 9), mean=3)


class Bright(mx.gluon.Block):
    def forward(self, x):
        return x + 1


LABELS = [[2, 5, 1, 0.25, 0.25, 0.5, 0.75], [3, 5, 0, 2, 0, 0, 1, 1, 3, 0.5, 0.5, 1, 1]]


@pytest.mark.parametrize("workers", [0, 1])
def test_loaded_boxes(folder, workers):
    pictures = [[*LABELS[i % 2], f"{i}.png"] for i in range(3)]
    loader = vision.ImageBboxDataLoader(2, (3, 10, 15), imglist=pictures, path_root=str(folder), num_workers=workers)
    (data, boxes), (_, last) = loader
    assert data.shape == (2, 3, 10, 15) and boxes.shape == (2, 2, 5) and last.shape == (1, 1, 5)
    np.testing.assert_allclose(boxes.asnumpy()[0], [[3.75, 2.5, 7.5, 7.5, 1], [-1] * 5], rtol=1e-6)
    np.testing.assert_allclose(boxes.asnumpy()[1], [[0, 0, 15, 10, 2], [7.5, 5, 15, 10, 3]], rtol=1e-6)


def test_boxes_in_pixels(folder):
    pictures = [[2, 6, 1, 3, 4, 15, 10, 9, "0.png"]]
    options = {"imglist": pictures, "path_root": str(folder), "coord_normalized": False}
    ((_, boxes),) = vision.ImageBboxDataLoader(1, (3, 10, 15), **options)
    np.testing.assert_allclose(boxes.asnumpy(), [[[1.5, 2, 7.5, 5, 1, 9]]], rtol=1e-6)


@mx.util.use_np
def test_all_changes_of_boxes(folder):
    mx.random.seed(2)
    pictures = [[*LABELS[i % 2], f"{i}.png"] for i in range(5)]
    options = {"rand_pad": 1, "max_aspect_ratio": 5, "area_range": (0.1, 4.0), **EVERYTHING}
    for data, boxes in vision.ImageBboxDataLoader(5, (3, 10, 15), imglist=pictures, path_root=str(folder), **options):
        assert type(data) is type(boxes) is mx.np.ndarray
        assert data.shape == (5, 3, 10, 15) and boxes.dtype == np.float32 and boxes.asnumpy()[..., :4].max() <= 15.01


@pytest.mark.parametrize("label", [[2, 4, 1, 2, 3, 4], [2, 5, 1, 2], [2, 5, 1, 1, 1, 1, 1, 2]])
def test_bad_labels(label):
    with pytest.raises(ValueError):
        vision.dataloader.BboxLabelTransform()(mx.nd.ones((4, 4, 3)), np.array(label, "float32"))


def test_what_loaders_need():
    with pytest.raises(AssertionError, match="is needed"):
        vision.ImageDataLoader(1, (3, 4, 4))
    with pytest.raises(AssertionError, match="labels of int8"):
        vision.ImageBboxDataLoader(1, (3, 4, 4), imglist=[], dtype="int8")
    with pytest.raises(ValueError, match="aug_list"):
        vision.ImageDataLoader(1, (3, 4, 4), imglist=[], aug_list=3)
