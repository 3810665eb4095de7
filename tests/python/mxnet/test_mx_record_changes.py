"""Changes of pictures by ImageRecordIter: pixels of MXNet 1.9.1 where nothing is random, ranges where it is."""

import colorsys

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.io import record_colours

pytest.importorskip("PIL")

Y, X = np.mgrid[:13, :17]
PICTURE = np.stack([(X * 15 + Y * 3) % 256, (X * X + Y * Y * 2) % 256, (X * 37 + Y * 61) % 256], -1).astype("uint8")


def record(folder, pixels=PICTURE, count=1):
    writer = mx.recordio.MXRecordIO(folder / "a.rec", "w")
    for i in range(count):
        writer.write(mx.recordio.pack_img((0, float(i), i, 0), pixels[:, :, ::-1], quality=3, img_fmt=".png"))
    writer.close()
    return folder / "a.rec"


def changed(path, shape=(3, 8, 10), **options):
    return next(mx.io.ImageRecordIter(path, data_shape=shape, batch_size=1, **options)).data[0].asnumpy()[0]


# Options, and the sum of the pixels of the result times their numbers, as the wheel 1.9.1 gives them.
OF_MXNET = [
    ({"rotate": 30}, 3637557),
    ({"rotate": 45, "fill_value": 7}, 3521339),
    ({"rotate": 10, "inter_method": 2}, 3657474),
    ({"rotate": 100, "inter_method": 4}, 3739460),
    ({"max_random_scale": 1.5, "min_random_scale": 1.5}, 3810103),
    ({"max_random_scale": 0.8, "min_random_scale": 0.8, "inter_method": 3}, 3638996),
    ({"min_img_size": 20.0}, 3765424),
    ({"max_img_size": 9.0}, 3818041),
    ({"min_aspect_ratio": 0.8, "max_aspect_ratio": 0.8, "rotate": 40}, 3657823),
    ({"pad": 3}, 3674888),
    ({"pad": 2, "fill_value": 0, "mirror": True}, 3642000),
    ({"min_crop_size": 9, "max_crop_size": 9}, 3753567),
    ({"min_crop_size": 11, "max_crop_size": 11, "inter_method": 9}, 3630794),
    ({"resize": 11}, 3695421),
    ({"resize": 21, "inter_method": 4}, 3859758),
    ({"random_l": 1}, 3678719),
    ({"random_h": 1, "rotate": 15}, 3658475),
    ({"random_resized_crop": True}, 3674888),
]


@pytest.mark.parametrize("options, expected", OF_MXNET, ids=[" ".join(row[0]) for row in OF_MXNET])
def test_pixels_of_mxnet(tmp_path, options, expected):
    pixels = changed(record(tmp_path), **options)
    assert (pixels.ravel().astype(int) * np.arange(1, 241)).sum() == expected


def test_a_quarter_turn(tmp_path):
    square = PICTURE[:13, :13]
    turned = changed(record(tmp_path, square), (3, 13, 13), rotate=90, fill_value=9).astype(int)
    # OpenCV turns around the corner of the middle pixel: one line of the colour `fill_value` comes in.
    assert (turned.transpose(1, 2, 0)[1:] == np.rot90(square)[:-1]).all() and (turned[:, 0] == 9).all()


@pytest.mark.parametrize(
    "name, value",
    [
        ("max_rotate_angle", 40),
        ("max_shear_ratio", 0.5),
        ("max_aspect_ratio", 0.4),
        ("max_random_scale", 1.7),
        ("brightness", 0.5),
        ("contrast", 0.5),
        ("saturation", 0.9),
        ("pca_noise", 0.5),
        ("random_h", 40),
        ("random_s", 60),
        ("random_l", 60),
        ("max_random_contrast", 0.5),
        ("max_random_illumination", 20.0),
    ],
)
def test_random_changes(tmp_path, name, value):
    """Pictures differ from each other and from round to round; `seed_aug` repeats them."""

    def drawn(seed):
        path = record(tmp_path, count=4)
        iterator = mx.io.ImageRecordIter(path, (3, 8, 10), 4, seed_aug=seed, **{name: value})
        first = next(iterator).data[0].asnumpy()
        iterator.reset()
        return np.concatenate([first, next(iterator).data[0].asnumpy()])

    pictures = drawn(3)
    assert len({picture.tobytes() for picture in pictures}) >= 7
    assert (drawn(3) == pictures).all() and (drawn(4) != pictures).any()


def test_parts_of_random_size(tmp_path):
    """Pixels tell where they are: the share of the area and the ratio lie between their limits."""
    pixels = np.stack([np.mgrid[:100, :100][1] * 2, np.mgrid[:100, :100][0] * 2, np.zeros((100, 100))], -1)
    options = {"min_random_area": 0.2, "max_random_area": 0.4, "min_aspect_ratio": 0.75, "max_aspect_ratio": 1.34}
    path = record(tmp_path, pixels.astype("uint8"), count=10)
    batches = mx.io.ImageRecordIter(path, (3, 40, 40), 10, random_resized_crop=True, inter_method=0, **options)
    for picture in next(batches).data[0].asnumpy():
        width, height = np.ptp(picture[0]) / 2 + 1, np.ptp(picture[1]) / 2 + 1
        assert 0.15 < width * height / 10000 < 0.45 and 0.7 < width / height < 1.45


def test_crops_of_random_size(tmp_path):
    pixels = np.stack([np.mgrid[:100, :100][1] * 2] * 3, -1).astype("uint8")
    path = record(tmp_path, pixels, count=10)
    options = {"min_crop_size": 30, "max_crop_size": 60, "rand_crop": True, "inter_method": 0}
    pictures = next(mx.io.ImageRecordIter(path, (3, 20, 20), 10, **options)).data[0].asnumpy()
    widths = [np.ptp(picture) / 2 for picture in pictures]
    assert 25 < min(widths) < max(widths) < 61 and len(set(widths)) > 3


def test_brightness_of_a_grey_picture(tmp_path):
    path = record(tmp_path, np.full((8, 10, 3), 100, "uint8"), count=8)
    found = next(mx.io.ImageRecordIter(path, (3, 8, 10), 8, brightness=0.5)).data[0].asnumpy()
    levels = found[:, 0, 0, 0]
    assert (found == levels[:, None, None, None]).all() and levels.min() >= 50 and levels.max() <= 150
    for name in ("contrast", "saturation"):  # which grey has no part in
        assert (next(mx.io.ImageRecordIter(path, (3, 8, 10), 8, **{name: 0.5})).data[0].asnumpy() == 100).all()


def test_colours_as_hues():
    pixels = np.random.default_rng(1).integers(0, 256, (1, 200, 3), dtype=np.uint8)
    found = np.stack(record_colours.to_hls(pixels), -1)[0]
    expected = np.array([colorsys.rgb_to_hls(*(pixel / 255)) for pixel in pixels[0]]) * (180, 255, 255)
    assert (np.abs(found - expected) <= 0.501).all()
    back = record_colours.from_hls(*record_colours.to_hls(pixels)).astype(int)
    assert np.abs(back - pixels).max() <= 6 and np.abs(back - pixels).mean() < 1


def test_pictures_of_one_channel_keep_their_colours(tmp_path):
    path = record(tmp_path)
    plain = changed(path, (1, 8, 10))
    assert (changed(path, (1, 8, 10), saturation=0.5, random_h=20, pca_noise=1.0) == plain).all()
    assert (changed(path, (1, 8, 10), rotate=30) != plain).any()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"random_resized_crop": True, "rand_crop": True}, "does not go with rand_crop"),
        ({"random_resized_crop": True, "min_random_area": 0.9, "max_random_area": 0.1}, "above max_random_area"),
        ({"random_resized_crop": True, "min_random_area": 0.5, "max_aspect_ratio": 1.5}, "ratios of width and height"),
        ({"min_crop_size": 30, "max_crop_size": 30}, "smaller than max_crop_size"),
        ({"min_crop_size": 9, "max_crop_size": 5}, "above max_crop_size"),
        ({"inter_method": 7, "rotate": 20}, "inter_method"),
        ({"max_rotate_angel": 20}, "unknown arguments max_rotate_angel"),
    ],
)
def test_errors(tmp_path, options, message):
    with pytest.raises(amp.ArgumentError, match=message):
        changed(record(tmp_path), **options)
