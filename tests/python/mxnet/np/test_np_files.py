"""Files in the form in which MXNet 1.9.1 exports blocks in NumPy mode (npx.set_np): names, attributes, versions."""

import json

import numpy as np
import pytest

import amp.mxnet as mx


@pytest.fixture(autouse=True)
def numpy_mode():
    mx.npx.set_np()
    yield
    mx.npx.reset_np()


def write(folder, *nodes):
    """A symbol of `data` and these nodes: operator, attributes, the nodes that are read. The last one is the output."""
    rows = [{"op": "null", "name": "data", "inputs": []}]
    for i, (op, attrs, inputs) in enumerate(nodes, 1):
        row = {"op": op, "name": f"node{i}", "inputs": [[source, 0, 0] for source in inputs]}
        rows.append({**row, "attrs": attrs} if attrs else row)
    document = {"nodes": rows, "arg_nodes": [0], "node_row_ptr": [*range(len(rows) + 1)]}
    document["heads"] = [[len(rows) - 1, 0, 0]]
    document["attrs"] = {"is_np_shape": ["int", 1], "mxnet_version": ["int", 10901]}
    path = folder / "net-symbol.json"
    path.write_text(json.dumps(document))
    return mx.gluon.SymbolBlock.imports(str(path), ["data"])


def run_with_gradient(net, x):
    """The output, and the gradient of the sum of its squares."""
    data = mx.np.array(x)
    data.attach_grad()
    with mx.autograd.record():
        y = net(data)
        total = (y * y).sum()
    total.backward()
    return y.asnumpy(), data.grad.asnumpy()


X = np.random.default_rng(5).random((2, 3, 4), dtype=np.float32)
TWO = {"num_args": "2"}
# Nodes as MXNet writes them, and what they compute.
FILES = {
    "reshape": ([("_np_reshape", {"newshape": "(2, -1)", "order": "C"}, [0])], lambda x: x.reshape(2, -1)),
    "flatten": ([("_np_reshape", {"newshape": "(-1,)", "order": "C"}, [0])], lambda x: x.reshape(-1)),
    "transpose": ([("_np_transpose", {"axes": "(1, 0, 2)"}, [0])], lambda x: x.transpose(1, 0, 2)),
    "T": ([("_np_transpose", {"axes": "None"}, [0])], lambda x: x.T),
    "concatenate": ([("_npi_concatenate", {**TWO, "axis": "1"}, [0, 0])], lambda x: np.concatenate([x, x], 1)),
    "concatenate_first": ([("_npi_concatenate", TWO, [0, 0])], lambda x: np.concatenate([x, x])),
    "concatenate_flat": (
        [("_npi_concatenate", {**TWO, "axis": "None"}, [0, 0])],
        lambda x: np.concatenate([x, x], None),
    ),
    "tensordot": (
        [("_npi_tensordot", {"a_axes_summed": "[0, 2]", "b_axes_summed": "[0, 2]"}, [0, 0])],
        lambda x: np.tensordot(x, x, ((0, 2), (0, 2))),
    ),
    "outer": (
        [("_np_reshape", {"newshape": "(-1,)"}, [0]), ("_npi_tensordot_int_axes", {"axes": "0"}, [1, 1])],
        lambda x: np.outer(x, x),
    ),
    "vdot": (
        [("_np_reshape", {"newshape": "(-1,)"}, [0]), ("_npi_tensordot_int_axes", {"axes": "1"}, [1, 1])],
        lambda x: np.vdot(x, x),
    ),
    "einsum": (
        [("_npi_einsum", {**TWO, "optimize": "0", "subscripts": "abc,dbc->ad"}, [0, 0])],
        lambda x: np.einsum("abc,dbc->ad", x, x),
    ),
    "einsum_dots": (
        [("_npi_einsum", {**TWO, "subscripts": "...c,...c->..."}, [0, 0])],
        lambda x: np.einsum("...c,...c->...", x, x),
    ),
    "diagonal": ([("_np_diagonal", {}, [0])], lambda x: np.diagonal(x)),
    "trace": ([("_np_trace", {"offset": "1", "axis1": "1", "axis2": "2"}, [0])], lambda x: np.trace(x, 1, 1, 2)),
    "diagflat": ([("_np_diagflat", {"k": "1"}, [0])], lambda x: np.diagflat(x, 1)),
    "nan_to_num": (
        [("_npi_nan_to_num", {"copy": "True", "nan": "0.0", "neginf": "None", "posinf": "None"}, [0])],
        np.nan_to_num,
    ),
    "hsplit": (
        [("_npi_hsplit", {"axis": "1", "indices": "[]", "sections": "3", "squeeze_axis": "False"}, [0])],
        lambda x: np.hsplit(x, 3)[0],
    ),
    "window": (
        [("_npi_hanning", {"M": "4", "ctx": "cpu(0)", "dtype": "float32"}, []), ("_npi_multiply", {}, [0, 1])],
        lambda x: x * np.hanning(4),
    ),
    "indices": (
        [
            ("_npi_indices", {"ctx": "cpu(0)", "dimensions": "(3, 4)", "dtype": "int32"}, []),
            ("Cast", {"dtype": "float32"}, [1]),
            ("_npi_add", {}, [0, 2]),
        ],
        lambda x: x + np.indices((3, 4)),
    ),
}


def differences(function, x):
    """The gradient of the sum of squares of `function`, by central differences in float64."""
    x = x.astype(np.float64)
    gradient = np.zeros_like(x)
    for i in range(x.size):
        step = np.zeros(x.size)
        step[i] = 1e-5
        step = step.reshape(x.shape)
        gradient.flat[i] = (np.sum(function(x + step) ** 2) - np.sum(function(x - step) ** 2)) / 2e-5
    return gradient


@pytest.mark.parametrize("name", FILES)
def test_file_computes_and_differentiates(name, tmp_path):
    nodes, function = FILES[name]
    y, gradient = run_with_gradient(write(tmp_path, *nodes), X)
    expected = np.asarray(function(X), np.float32)
    assert y.shape == expected.shape and y.dtype == np.float32
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient, differences(function, X), rtol=1e-3, atol=1e-3)


def test_pictures_become_tensors(tmp_path):
    mean, std = [0.4, 0.5, 0.6], [0.2, 0.25, 0.5]
    attrs = {"mean": "(0.4, 0.5, 0.6)", "std": "(0.2, 0.25, 0.5)"}
    net = write(tmp_path, ("_image_to_tensor", {}, [0]), ("_image_normalize", attrs, [1]))
    pixels = np.random.default_rng(1).integers(0, 256, (2, 5, 6, 3), dtype=np.uint8)
    expected = ((pixels / 255 - mean) / std).transpose(0, 3, 1, 2)
    np.testing.assert_allclose(net(mx.np.array(pixels, dtype="uint8")).asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_attention_by_einsum_in_bfloat16(tmp_path):
    """bqhd,bkhd->bhqk and back: products in bfloat16, near those in float32."""
    scores = ("_npi_einsum", {**TWO, "subscripts": "bqhd,bkhd->bhqk"}, [0, 0])
    values = ("_npi_einsum", {**TWO, "subscripts": "bhqk,bkhd->bqhd"}, [2, 0])
    net = write(tmp_path, scores, ("softmax", {"axis": "-1"}, [1]), values)
    x = np.random.default_rng(2).standard_normal((2, 5, 4, 8)).astype(np.float32)
    s = np.einsum("bqhd,bkhd->bhqk", x, x)
    weights = np.exp(s - s.max(-1, keepdims=True))
    expected = np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), x)
    np.testing.assert_allclose(net(mx.np.array(x)).asnumpy(), expected, rtol=1e-4, atol=1e-5)
    net.cast("bfloat16")
    low = net(mx.np.array(x).astype("bfloat16")).astype("float32").asnumpy()
    assert np.abs(low - expected).max() < 0.1


@pytest.mark.parametrize("op, function", [("_npi_cholesky", np.linalg.cholesky), ("_npi_inv", np.linalg.inv)])
def test_matrices(op, function, tmp_path):
    root = np.random.default_rng(3).standard_normal((2, 4, 4)).astype(np.float32)
    x = root @ root.transpose(0, 2, 1) + 4 * np.eye(4, dtype=np.float32)
    net = write(tmp_path, (op, {}, [0]))
    np.testing.assert_allclose(net(mx.np.array(x)).asnumpy(), function(x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("version", "name", "is_npy", "kind"),
    [
        (None, "a.npy", True, mx.np.ndarray),
        (None, "a", False, list),
        ("1.9.1", "a.npy", False, list),
        ("2.0.0", "a.params", True, mx.np.ndarray),
    ],
)
def test_files_of_one_array_by_version(monkeypatch, tmp_path, version, name, is_npy, kind):
    from amp.mxnet import _generation

    monkeypatch.setattr(_generation, "_default", _generation.ONE)
    if version:
        _generation.set_default(version)
    path = str(tmp_path / name)
    mx.npx.save(path, mx.np.array([1, 2]))
    loaded = mx.npx.load(path)
    assert open(path, "rb").read(6) == b"\x93NUMPY" if is_npy else isinstance(mx.nd.load(path), list)
    assert isinstance(loaded, kind) and np.array(loaded).ravel().tolist() == [1, 2]
    mx.npx.save(path, {"x": mx.np.array([1, 2])})
    assert mx.npx.load(path)["x"].tolist() == [1, 2]


@pytest.mark.parametrize("active", [False, True])
def test_files_tell_what_shapes_mean(active, tmp_path):
    with mx.util.np_shape(active):
        net = mx.sym.FullyConnected(mx.sym.var("x"), mx.sym.var("w", shape=(3, 4)), num_hidden=3, no_bias=True)
        net.save(str(tmp_path / "net.json"))
        for text in (net.tojson(), (tmp_path / "net.json").read_text()):
            assert ("is_np_shape" in json.loads(text)["attrs"]) == active
