"""Pictures: sizes, parts, colours, files. Expected numbers without a formula are those of MXNet 1.9.1."""

import colorsys
import io
import sys

import numpy as np
import pytest

import amp
import amp.mxnet as mx

PICTURE = (np.arange(30) * 37 % 256).astype("uint8").reshape(6, 5, 1)

# (width, height, interpolation): pixels
RESIZED = {
    (3, 4, 0): "0 37 111 185 222 40 43 80 154 228 9 83",
    (3, 4, 1): "59 56 118 144 142 75 80 99 161 166 185 54",
    (3, 4, 2): "58 51 122 157 151 61 68 87 179 168 187 42",
    (3, 4, 3): "76 67 110 152 143 83 85 93 153 161 135 58",
    (3, 4, 4): "58 45 128 171 145 58 74 73 183 166 189 30",
    (7, 9, 0): (
        "0 0 37 74 74 111 148 0 0 37 74 74 111 148 185 185 222 3 3 40 77 114 114 151 188 188 225 6 114 114 "
        "151 188 188 225 6 43 43 80 117 117 154 191 228 228 9 46 46 83 120 228 228 9 46 46 83 120 157 157 194 "
        "231 231 12 49"
    ),
    (7, 9, 1): (
        "0 21 47 74 100 127 148 93 114 103 39 65 91 113 173 194 160 34 60 68 65 126 147 161 157 183 119 18 79 "
        "100 126 153 179 150 99 74 70 79 105 132 158 179 197 96 31 58 84 111 132 193 140 112 139 73 63 85 157 "
        "178 205 231 74 28 49"
    ),
    (7, 9, 2): (
        "0 0 39 80 106 137 157 96 133 108 21 37 88 124 189 235 178 25 43 64 57 131 155 172 166 216 121 0 50 "
        "83 137 177 219 169 89 65 58 68 97 123 168 203 222 84 0 39 80 122 143 219 139 96 132 62 47 81 146 181 "
        "237 247 67 0 46"
    ),
    (7, 9, 3): (
        "0 22 44 74 104 126 148 93 115 111 39 68 90 113 185 207 178 3 33 55 77 114 136 158 188 218 137 6 79 "
        "101 123 153 182 153 99 43 65 87 117 147 169 191 228 97 16 46 76 98 120 193 138 109 139 66 62 85 157 "
        "179 201 231 56 27 49"
    ),
    (7, 9, 4): (
        "0 0 39 87 115 137 152 88 135 109 14 22 95 134 189 244 178 23 36 72 48 141 165 162 162 215 122 0 32 "
        "75 140 195 231 170 89 70 63 65 87 117 167 206 224 85 0 33 80 117 148 228 136 99 136 72 39 71 143 167 "
        "248 249 65 0 57"
    ),
    (4, 8, 0): (
        "0 37 74 111 0 37 74 111 185 222 3 40 114 151 188 225 43 80 117 154 43 80 117 154 228 9 46 83 157 194 231 12"
    ),
    (4, 8, 1): (
        "5 51 97 143 120 106 53 99 163 149 95 58 110 156 202 52 56 103 149 167 143 49 96 142 186 92 78 89 161 208 94 44"
    ),
    (4, 8, 2): (
        "0 45 102 150 132 109 15 104 190 167 88 39 103 161 245 43 42 110 157 176 148 2 85 161 206 68 68 82 "
        "157 242 91 38"
    ),
    (4, 8, 3): (
        "7 52 96 141 130 107 49 93 168 145 87 63 121 166 210 50 50 95 139 184 139 47 92 136 177 85 78 89 164 209 100 42"
    ),
    (4, 8, 4): (
        "0 47 109 147 131 111 0 116 206 162 81 34 95 156 253 43 35 114 162 175 153 0 78 169 211 68 82 71 148 253 88 36"
    ),
}


def nd(values):
    return mx.nd.array(values, dtype=values.dtype)


def numbers(text):
    return list(map(float, text.split()))


def naive_linear(pixels, height, width):
    """Between pixels it is linear, and pixels are squares."""
    old_height, old_width, channels = pixels.shape
    result = np.zeros((height, width, channels))
    for i in range(height):
        for j in range(width):
            y, x = (i + 0.5) * old_height / height - 0.5, (j + 0.5) * old_width / width - 0.5
            top, left = int(np.floor(y)), int(np.floor(x))
            for row, row_weight in ((top, 1 - (y - top)), (top + 1, y - top)):
                for column, column_weight in ((left, 1 - (x - left)), (left + 1, x - left)):
                    value = pixels[np.clip(row, 0, old_height - 1), np.clip(column, 0, old_width - 1)]
                    result[i, j] += row_weight * column_weight * value
    return result


@pytest.mark.parametrize("case", RESIZED, ids=str)
def test_bytes_are_resized_as_in_mxnet(case):
    width, height, method = case
    for resized in (
        mx.image.imresize(nd(PICTURE), width, height, method),
        mx.nd.image.resize(nd(PICTURE), (width, height), interp=method),
    ):
        assert resized.dtype == np.uint8 and resized.shape == (height, width, 1)
        assert resized.asnumpy().ravel().tolist() == numbers(RESIZED[case])


@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int32"])
@pytest.mark.parametrize("size", [(9, 4), (5, 13), (17, 11)])
def test_linear_resizing(dtype, size):
    pixels = (np.random.default_rng(1).random((6, 8, 3)) * 255).astype(dtype)
    found = mx.image.imresize(nd(pixels), *size).asnumpy()
    assert found.dtype == dtype
    np.testing.assert_allclose(found, naive_linear(pixels, *size[::-1]), atol=1.0 if found.dtype.kind in "iu" else 1e-3)


def test_shrinking_by_area_gives_means():
    pixels = np.random.default_rng(1).random((6, 9, 3)).astype("float32")
    means = pixels.reshape(2, 3, 3, 3, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(mx.image.imresize(nd(pixels), 3, 2, 3).asnumpy(), means, rtol=1e-5)
    assert mx.image.imresize(nd(PICTURE), 5, 6, 4).asnumpy().tolist() == PICTURE.tolist()


def test_the_method_may_depend_on_the_sizes():
    for size, method in (((10, 12), 2), ((3, 3), 3), ((3, 12), 1)):
        expected = mx.image.imresize(nd(PICTURE), *size, interp=method).asnumpy()
        assert (mx.image.imresize(nd(PICTURE), *size, interp=9).asnumpy() == expected).all()
    mx.random.seed(1)
    drawn = {mx.image.imresize(nd(PICTURE), 7, 9, interp=10).asnumpy().tobytes() for _ in range(100)}
    assert len(drawn) == 5


def test_batches_are_resized_one_by_one():
    batch = (np.random.default_rng(1).random((3, 6, 8, 3)) * 255).astype("uint8")
    found = mx.nd.image.resize(nd(batch), 4).asnumpy()
    for each, expected in zip(found, batch):
        assert (each == mx.image.imresize(nd(expected), 4, 4).asnumpy()).all()


# ---- colours ----

COLOURS = (np.arange(24) * 11 % 256).astype("uint8").reshape(2, 4, 3)
CHANGED = {  # by 1.9.1
    ("random_hue", 0.3, 0.3): "22 0 15 55 33 48 87 66 81 121 99 114 154 132 147 187 165 180 219 198 213 252 231 246",
    (
        "random_contrast",
        0.3,
        0.3,
    ): "87 90 93 97 100 103 106 110 113 116 120 123 126 130 133 136 139 143 146 149 153 156 159 163",
    ("random_brightness", 1.7, 1.7): "0 18 37 56 74 93 112 130 149 168 187 205 224 243" + 10 * " 255",
    ("adjust_lighting", (0.5, 0.2, -0.3)): "0 0 5 17 28 38 50 61 71 83 94 104 116 127 137 149 160 170 182 193 203 215 "
    "226 236",
}


@pytest.mark.parametrize("case", CHANGED, ids=str)
def test_colours_are_those_of_mxnet(case):
    name, *args = case
    found = getattr(mx.nd.image, name)(nd(COLOURS), *args).asnumpy().ravel()
    np.testing.assert_allclose(found, numbers(CHANGED[case]), atol=name == "random_hue")


def test_saturation():
    pixels = COLOURS.astype("float32")
    grey = (pixels * [0.299, 0.587, 0.114]).sum(-1, keepdims=True)
    for factor in (0.0, 0.4, 1.6):
        found = mx.nd.image.random_saturation(nd(pixels), factor, factor).asnumpy()
        np.testing.assert_allclose(found, grey + factor * (pixels - grey), atol=1e-3)


@pytest.mark.parametrize("turn", [0.0, 0.2, 0.7, 1.0])
def test_hues_turn_as_pythons(turn):
    pixels = np.random.default_rng(2).random((5, 4, 3)).astype("float32") * 255
    pixels[0, 0] = 77  # grey
    found = mx.nd.image.random_hue(nd(pixels), turn, turn).asnumpy()
    for before, after in zip(pixels.reshape(-1, 3) / 255, found.reshape(-1, 3) / 255):
        hue, lightness, saturation = colorsys.rgb_to_hls(*before)
        np.testing.assert_allclose(after, colorsys.hls_to_rgb((hue + turn) % 1, lightness, saturation), atol=1e-3)


def test_random_factors_stay_in_their_range():
    mx.random.seed(1)
    ones = mx.nd.ones((2, 2, 3))
    factors = [mx.nd.image.random_brightness(ones, 0.5, 1.5).asnumpy()[0, 0, 0] for _ in range(200)]
    assert 0.5 <= min(factors) < 0.6 and 1.4 < max(factors) <= 1.5
    drawn = {mx.nd.image.random_color_jitter(nd(COLOURS), 0.2, 0.2, 0.2, 0.2).asnumpy().tobytes() for _ in range(9)}
    assert len(drawn) == 9
    assert (mx.nd.image.random_color_jitter(nd(COLOURS)).asnumpy() == COLOURS).all()
    assert mx.nd.image.random_lighting(ones, 0.5).asnumpy().std() > 0


# ---- parts ----


def test_parts():
    pixels = np.arange(60).reshape(5, 4, 3).astype("float32")
    assert (mx.image.fixed_crop(nd(pixels), 1, 2, 3, 2).asnumpy() == pixels[2:4, 1:4]).all()
    part, place = mx.image.center_crop(nd(pixels), (2, 2))
    assert place == (1, 1, 2, 2) and (part.asnumpy() == pixels[1:3, 1:3]).all()
    larger, place = mx.image.center_crop(nd(pixels), (8, 4))
    assert larger.shape == (4, 8, 3) and place == (0, 1, 4, 2)
    assert mx.image.scale_down((360, 1000), (480, 500)) == (360, 375)
    assert mx.image.resize_short(nd(pixels), 2).shape == (2, 2, 3)
    assert mx.image.resize_short(nd(pixels), 8).shape == (10, 8, 3)


def test_random_parts():
    mx.random.seed(2)
    pixels = np.arange(120 * 3).reshape(12, 10, 3).astype("float32")
    places = set()
    for _ in range(50):
        part, (x, y, width, height) = mx.image.random_crop(nd(pixels), (3, 2))
        assert (part.asnumpy() == pixels[y : y + 2, x : x + 3]).all() and (width, height) == (3, 2)
        places.add((x, y))
    assert len(places) > 20
    for _ in range(50):
        part, (x, y, width, height) = mx.image.random_size_crop(nd(pixels), (5, 5), (0.3, 0.6), (0.5, 2))
        assert part.shape == (5, 5, 3) and 0 <= x <= 10 - width and 0 <= y <= 12 - height
        assert 0.2 < width * height / 120 < 0.75 and 0.4 < width / height < 2.6
    assert mx.nd.image.random_crop(nd(pixels), width=20, height=4).shape == (4, 20, 3)
    assert mx.nd.image.random_resized_crop(nd(pixels), 4, 3, (0.1, 0.2), (50, 60)).shape == (3, 4, 3)  # none fits
    corner = mx.nd.image.random_crop(nd(pixels), (1, 1), (0, 0), 3, 2).asnumpy()
    assert (corner == pixels[:2, 7:]).all()


@pytest.mark.parametrize("kind, mode", [(1, "edge"), (2, "symmetric"), (3, "wrap"), (4, "reflect")])
def test_borders(kind, mode):
    found = mx.image.copyMakeBorder(nd(PICTURE), 1, 2, 3, 4, kind).asnumpy()
    assert (found == np.pad(PICTURE, ((1, 2), (3, 4), (0, 0)), mode)).all()
    bordered = mx.image.copyMakeBorder(nd(COLOURS), 1, 1, 1, 1, values=[1, 2, 3]).asnumpy()
    assert bordered[0, 0].tolist() == [1, 2, 3] and (bordered[1:-1, 1:-1] == COLOURS).all()


# ---- tensors ----


@pytest.mark.parametrize("functions", [mx.nd.image, mx.npx.image, mx.image], ids=["nd", "npx", "image"])
def test_operators_of_tensors(functions):
    array = mx.np.array if functions is mx.npx.image else mx.nd.array
    pixels = array(COLOURS, dtype="uint8")
    tensor = functions.to_tensor(pixels)
    assert type(tensor) is type(pixels) and tensor.dtype == np.float32
    np.testing.assert_array_equal(tensor.asnumpy(), COLOURS.transpose(2, 0, 1).astype("float32") / np.float32(255))
    normal = functions.normalize(tensor, (0.1, 0.2, 0.3), (0.5, 0.6, 0.7)).asnumpy()
    np.testing.assert_allclose(normal[1], (tensor.asnumpy()[1] - 0.2) / 0.6, rtol=1e-6)
    assert (functions.flip_left_right(pixels).asnumpy() == COLOURS[:, ::-1]).all()
    assert (functions.flip_top_bottom(pixels).asnumpy() == COLOURS[::-1]).all()
    assert (functions.crop(pixels, 1, 0, 2, 1).asnumpy() == COLOURS[:1, 1:3]).all()


class Prepare(mx.gluon.HybridBlock):
    def forward(self, x):
        tensor = mx.image.to_tensor(mx.image.flip_left_right(mx.image.crop(x, 1, 0, 2, 2)))
        return mx.image.normalize(mx.image.flip_top_bottom(tensor), (0.1, 0.2, 0.3), 0.5)


@pytest.mark.usefixtures("mxnet_2")
def test_tensors_become_part_of_graphs():
    plain, graph = Prepare(), Prepare()
    graph.hybridize()
    mx.test_utils.assert_almost_equal(graph(nd(COLOURS)), plain(nd(COLOURS)), rtol=1e-5, atol=1e-6)
    symbol = mx.sym.image.normalize(mx.sym.image.to_tensor(mx.sym.Variable("x")), 0.5, 0.25)
    (found,) = symbol.eval(x=nd(COLOURS))
    np.testing.assert_allclose(found.asnumpy(), (COLOURS.transpose(2, 0, 1) / 255 - 0.5) / 0.25, rtol=1e-4, atol=1e-6)
    tensor = mx.nd.image.to_tensor(nd(COLOURS))
    for mean, std in (((0.1, 0.2, 0.3), (0.5, 0.6, 0.7)), ((0.1, 0.2, 0.3), 0.5), (0.5, (0.5, 0.6, 0.7))):
        (found,) = mx.sym.image.normalize(mx.sym.Variable("x"), mean, std).eval(x=tensor)
        expected = mx.nd.image.normalize(tensor, mean, std).asnumpy()
        np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)

    class Smaller(mx.gluon.HybridBlock):
        def forward(self, x):
            return mx.image.resize(x, 2)

    block = Smaller()
    block.hybridize()
    with pytest.warns(RuntimeWarning, match="cannot become part of a graph"):
        assert block(nd(COLOURS)).shape == mx.image.resize(nd(COLOURS), 2).shape


def test_tensors_have_gradients():
    x = mx.nd.array(COLOURS)
    x.attach_grad()
    with mx.autograd.record():
        y = Prepare()(x)
    y.backward()
    expected = np.zeros(COLOURS.shape)
    expected[:, 1:3] = 1 / 255 / 0.5
    np.testing.assert_allclose(x.grad.asnumpy(), expected, rtol=1e-5)
    with mx.autograd.record(), pytest.raises(amp.UnsupportedError, match="has no gradient"):
        mx.image.resize(x, 2)


def test_rotation():
    tensor = nd(COLOURS.astype("float32").transpose(2, 0, 1))
    for zooms, values in (
        ((False, False), "4.717 35.507 113.882 196.699 22.973 117.118 153.217 68.507"),
        ((True, False), "26.802 63.948 114.633 165.317 65.683 116.367 167.052 173.25"),
        ((False, True), "0 8.62 112.48 0 0 118.52 43.466 0"),
    ):
        found = mx.image.imrotate(tensor, 30, *zooms).asnumpy()[0].ravel()
        np.testing.assert_allclose(found, numbers(values), atol=1e-3)
    both = mx.nd.stack(tensor, tensor)
    turned = mx.image.imrotate(both, mx.nd.array([30.0, 180.0])).asnumpy()
    np.testing.assert_allclose(turned[0].ravel()[:1], [4.717], atol=1e-3)
    np.testing.assert_allclose(turned[1], tensor.asnumpy()[:, ::-1, ::-1], atol=1e-3)
    mx.random.seed(1)
    assert len(np.unique(mx.image.random_rotate(both, (-40, 40)).asnumpy()[:, 0, 0, 1])) == 2


# ---- files ----


def test_files(tmp_path):
    pil = pytest.importorskip("PIL.Image")
    smooth = np.add.outer(np.arange(16), np.arange(24))[..., None] * np.array([2, 4, 5])
    pixels = smooth.astype("uint8")
    pil.fromarray(pixels).save(tmp_path / "a.png")
    pil.fromarray(pixels).save(tmp_path / "a.jpg", quality=95)
    assert (mx.image.imread(tmp_path / "a.png").asnumpy() == pixels).all()
    assert (mx.image.imread(tmp_path / "a.png", to_rgb=0).asnumpy() == pixels[..., ::-1]).all()
    grey = mx.image.imread(str(tmp_path / "a.png"), flag=0)
    np.testing.assert_allclose(grey.asnumpy()[..., 0], pixels @ [0.299, 0.587, 0.114], atol=1)
    jpeg = mx.image.imdecode((tmp_path / "a.jpg").read_bytes())
    np.testing.assert_array_equal(jpeg.asnumpy(), np.asarray(pil.open(tmp_path / "a.jpg")))
    out = mx.nd.zeros((16, 24, 3), dtype="uint8")
    assert mx.image.imread(tmp_path / "a.png", out=out) is out and (out.asnumpy() == pixels).all()
    again = pil.open(io.BytesIO(mx.image.imencode(nd(pixels))))
    assert (np.asarray(again) == pixels).all()


@pytest.mark.parametrize("extension", [".png", ".bmp", ".jpg"])
def test_grey_levels_of_files(extension):
    """libpng drops places, OpenCV rounds, and JPEG holds grey levels."""
    pixels = np.random.default_rng(3).integers(90, 160, (9, 8, 3), dtype=np.uint8).repeat(8, 0).repeat(8, 1)
    data = mx.image.imencode(pixels, img_fmt=extension, quality=90 if extension == ".jpg" else 3)
    grey = mx.image.imdecode(data, flag=0).asnumpy()[:, :, 0].astype(int)
    red, green, blue = np.moveaxis(mx.image.imdecode(data).asnumpy().astype(int), -1, 0)
    exact = 0.299 * red + 0.587 * green + 0.114 * blue
    if extension == ".png":
        assert (grey == (9797 * red + 19234 * green + 3737 * blue) // 32768).all()
    assert np.abs(grey - exact).max() < {".png": 1.02, ".bmp": 0.51, ".jpg": 2.5}[extension]


def test_pictures_in_records():
    pytest.importorskip("PIL")
    for fmt, quality in ((".png", 9), (".bmp", 0), (".jpg", 100)):
        record = mx.recordio.pack_img((0, 4.0, 1, 0), COLOURS, quality, fmt)
        header, found = mx.recordio.unpack_img(record)
        assert header.label == 4 and found.shape == COLOURS.shape
        if fmt != ".jpg":
            assert (found == COLOURS).all()  # blue comes first on both ways
    assert mx.recordio.unpack_img(record, 0)[1].shape == (2, 4)


ONE = mx.nd.ones((4, 6, 3))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mx.image.imread("/nowhere/a.jpg"), amp.ArgumentError, "there is no file '/nowhere/a.jpg'"),
        (lambda: mx.image.imdecode(b""), amp.ArgumentError, "has no bytes"),
        (lambda: mx.image.imdecode(b"some text"), amp.ArgumentError, "no picture that Pillow reads"),
        (lambda: mx.image.imencode(ONE), amp.ArgumentError, "expected a picture of uint8"),
        (lambda: mx.image.imencode(ONE, img_fmt=".x"), amp.ArgumentError, "expected one of .jpg"),
        (lambda: mx.image.imresize(ONE, 0, 3), amp.ArgumentError, "cannot have size 0 x 3"),
        (lambda: mx.image.imresize(ONE, 2, 3, 7), amp.ArgumentError, "interpolation: expected one of"),
        (lambda: mx.image.imresize(ONE[0], 2, 3), amp.ArgumentError, "expected a picture of 3 axes"),
        (lambda: mx.image.crop(ONE, 5, 0, 3, 2), amp.ArgumentError, r"has no 3 x 2 pixels from \(5, 0\)"),
        (lambda: mx.image.crop(ONE, 0, 0, -3, 2), amp.ArgumentError, "has no -3 x 2"),
        (lambda: mx.image.resize(ONE, (1, 2, 3)), amp.ArgumentError, "expected a size from 1"),
        (lambda: mx.image.resize(ONE, -1), amp.ArgumentError, "expected a size from 1"),
        (lambda: mx.image.to_tensor(ONE[0]), amp.ArgumentError, "expected a picture of 3 axes or a batch of 4"),
        (lambda: mx.image.normalize(mx.nd.ones((4, 2, 2))), amp.ArgumentError, "expected 1 or 3 channels"),
        (lambda: mx.image.random_brightness(ONE, 2, 1), amp.ArgumentError, "0 <= min_factor <= max_factor"),
        (lambda: mx.image.copyMakeBorder(ONE, 1, 1, 1, 1, 9), amp.ArgumentError, "expected type 0 to 4"),
        (lambda: mx.image.random_size_crop(ONE, (2, 2), 1, (1, 1), x=1), amp.ArgumentError, "unknown arguments x"),
        (lambda: mx.image.imrotate(ONE, 3, True, True), amp.ArgumentError, "zoom_in excludes zoom_out"),
        (lambda: mx.image.imrotate(ONE.astype("uint8"), 3), TypeError, "expected float32"),
        (lambda: mx.image.imrotate(ONE[0], 3), amp.ArgumentError, "expected 3 axes, or 4"),
        (lambda: mx.image.imrotate(ONE, mx.nd.array([1, 2])), TypeError, "one picture has one angle, got 2"),
        (
            lambda: mx.image.imrotate(mx.nd.stack(ONE, ONE), mx.nd.array([1, 2, 3])),
            amp.ArgumentError,
            "3 angles do not fit 2",
        ),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_without_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(amp.UnsupportedError, match="pip install pillow"):
        mx.image.imdecode(b"some bytes")


@pytest.mark.parametrize(("old", "new"), [((250, 500), (264, 605)), ((49, 7), (98, 100)), ((6, 10), (3, 5))])
def test_nearest_pixels_are_opencvs_where_ratios_meet_whole_ones(old, new):
    """OpenCV's ratio is 1 / (new / old), which rounds in another way than old / new."""
    picture = np.arange(old[0] * old[1], dtype="f4").reshape(*old, 1)
    rows, columns = (np.floor(np.arange(n) * (1 / (n / o))).astype(int) for o, n in zip(old, new))
    found = mx.image.imresize(mx.nd.array(picture), new[1], new[0], interp=0).asnumpy()
    np.testing.assert_array_equal(found, picture[rows][:, columns])


def test_batches_that_begin_with_what_was_left_say_how_many_they_lacked(tmp_path):
    path = tmp_path / "black.png"
    path.write_bytes(mx.image.imencode(np.zeros((4, 4, 3), "uint8")))
    pictures = [[i, "black.png"] for i in range(7)]
    batches = mx.image.ImageIter(3, (3, 4, 4), imglist=pictures, path_root=str(tmp_path), last_batch_handle="roll_over")
    seen = []
    for _ in range(3):
        seen.append([(batch.pad, batch.label[0].asnumpy().tolist()) for batch in batches])
        batches.reset()
    assert seen[0] == [(0, [0, 1, 2]), (0, [3, 4, 5])]
    assert seen[1] == [(2, [6, 0, 1]), (0, [2, 3, 4])]
    assert seen[2] == [(1, [5, 6, 0]), (0, [1, 2, 3]), (0, [4, 5, 6])]
