"""Operators that run in Python as nodes of graphs: what MXNet 2.0.0b1 computed with each of them, and its files.

`mxnet_array_operators.json` has a node of each with its inputs, results and gradients; the gradients are those of all
results, each times numbers from 0.5 to 1.5.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp import _unregistered
from amp.mxnet import autograd, gluon
from amp.mxnet.operator.array_operators import ROWS

DATA = Path(__file__).parents[2] / "data"
CASES = json.loads((DATA / "mxnet_array_operators.json").read_text())
# Factors of matrices are unique up to signs.
SIGNS = ("_npi_eig", "_npi_eigh", "_npi_qr")


@pytest.fixture(autouse=True)
def numpy_arrays():
    with mx.np_shape(), mx.np_array():
        yield


def array_of(case):
    dtype, shape, values = case
    return mx.np.array(np.array(values, dtype).reshape(shape), dtype=dtype)


def node(op, attributes, count):
    """A symbol of one node, as a file holds it, over variables x0, x1, ..."""
    nodes = [{"op": "null", "name": f"x{i}", "inputs": []} for i in range(count)]
    nodes.append({"op": op, "name": "node", "attrs": attributes, "inputs": [[i, 0, 0] for i in range(count)]})
    graph = {"nodes": nodes, "arg_nodes": list(range(count)), "heads": [[count, 0, 0]]}
    return mx.sym.load_json(json.dumps(graph))


def whole(symbol):
    """All outputs of its last node."""
    internals = symbol.get_internals()
    return mx.sym.Group([internals[name] for name in internals.list_outputs() if name.startswith("node_")])


def block_of(op, attributes, count):
    return gluon.SymbolBlock(whole(node(op, attributes, count)), [mx.sym.var(f"x{i}") for i in range(count)])


def as_list(outputs):
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def assert_like(op, got, expected):
    dtype, shape, values = expected
    assert str(got.dtype) == dtype and list(got.shape) == shape
    got, expected = got.asnumpy(), np.array(values).reshape(shape)
    if op in SIGNS:
        got, expected = np.abs(got), np.abs(expected)
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("case", CASES, ids=[f"{i}-{case['op']}" for i, case in enumerate(CASES)])
def test_nodes_are_those_of_the_wheel(case):
    arrays = [array_of(each) for each in case["inputs"]]
    block = block_of(case["op"], case["attrs"], len(arrays))
    for array in arrays:
        if array.dtype == np.float32:
            array.attach_grad()
    for got, expected in zip(as_list(block(*arrays)), case["outputs"]):
        assert_like(case["op"], got, expected)
    gradients = {} if case["op"] in SIGNS else case.get("gradients", {})
    if not gradients:
        return
    with autograd.record():
        outputs = as_list(block(*arrays))
    heads = [mx.np.array(np.linspace(0.5, 1.5, y.size).reshape(y.shape), dtype=y.dtype) for y in outputs]
    autograd.backward(outputs, heads)
    for name, expected in gradients.items():
        assert_like("", arrays[int(name[1:])].grad, expected)


@pytest.mark.parametrize("n, m, k", [(3, 4, 0), (4, 3, 1), (4, 2, -1), (2, 5, -3), (5, 2, 9), (3, 3, -9), (0, 2, 0)])
def test_how_many_places_are_below_a_diagonal(n, m, k):
    symbol = node("_npi_tril_indices", {"n": str(n), "m": str(m), "k": str(k)}, 0)
    assert symbol.infer_shape()[1] == [np.tril_indices(n, k, m)[0].shape]


def test_shapes_of_large_arrays_take_no_memory():
    a, b, size = mx.sym.var("a"), mx.sym.var("b"), 10**5
    assert mx.sym.np.linalg.solve(a, b).infer_shape(a=(size, size), b=(size, 3))[1] == [(size, 3)]
    assert mx.sym.np.kron(a, b).infer_shape(a=(size, 1), b=(1, size))[1] == [(size, size)]
    assert mx.sym.np.linalg.svd(a)[1].infer_shape(a=(size, 2 * size))[1] == [(size,)]


def test_every_row_is_registered_and_most_were_compared():
    assert set(ROWS) <= set(amp._core.operator_names())
    assert all(_unregistered.reason(name) == _unregistered.PYTHON for name in ROWS)
    assert len(set(ROWS) - {case["op"] for case in CASES}) < 25


@pytest.mark.parametrize(
    "op, arrays, attributes, expected",
    [
        ("_npi_boolean_mask_assign_scalar", [np.zeros((2, 2)), np.eye(2, dtype=bool)], {"value": 3}, [[3, 0], [0, 3]]),
        (
            "_npi_boolean_mask_assign_scalar",
            [np.zeros((2, 2)), np.array([True, False])],
            {"value": 3, "start_axis": 1},
            [[3, 0]] * 2,
        ),
        (
            "_npi_boolean_mask_assign_tensor",
            [np.zeros(3), np.array([True, False, True]), np.array([5.0, 6.0])],
            {},
            [5, 0, 6],
        ),
        (
            "_scatter_set_nd",
            [np.zeros((2, 2)), np.array([1.0, 2.0]), np.array([[0, 1], [1, 0]])],
            {"shape": (2, 2)},
            [[0, 1], [2, 0]],
        ),
        ("_onehot_encode", [np.array([2.0, 0.0]), np.zeros((2, 3))], {}, [[0, 0, 1], [1, 0, 0]]),
        ("fill_element_0index", [np.zeros((2, 2)), np.array([7.0, 8.0]), np.array([1.0, 0.0])], {}, [[0, 7], [8, 0]]),
        ("_npi_insert_scalar", [np.arange(3.0)], {"val": 9, "int_ind": 1}, [0, 9, 1, 2]),
        ("_npi_insert_slice", [np.arange(3.0)], {"val": 9, "start": 0, "stop": 3, "step": 2}, [9, 0, 1, 9, 2]),
        ("_npi_insert_tensor", [np.arange(3.0), np.array([0, 2])], {"val": 9}, [9, 0, 1, 9, 2]),
        ("_npi_interp", [np.array([0.0, 1.0]), np.array([0.0, 4.0])], {"x_scalar": 0.5, "x_is_scalar": True}, 2),
        ("_npi_fill_diagonal", [np.zeros((2, 3))], {"val": (5.0,)}, [[5, 0, 0], [0, 5, 0]]),
        ("_npi_repeats", [np.arange(3.0)[None]], {"repeats": (1, 2, 0), "axis": 1}, [[0, 1, 1]]),
        ("_npi_interp", [np.array([0.0, 1.0]), np.array([0.0, 4.0]), np.array([-1.0, 0.25])], {"left": -5}, [-5, 1]),
    ],
)
def test_nodes_that_the_wheel_does_not_run(op, arrays, attributes, expected):
    block = block_of(op, {key: str(value) for key, value in attributes.items()}, len(arrays))
    given = [mx.np.array(array, dtype="float32" if array.dtype == float else array.dtype) for array in arrays]
    np.testing.assert_array_equal(block(*given).asnumpy(), expected)


@pytest.mark.parametrize(
    "op, attributes, expected",
    [
        ("_npi_tri", {"N": "2", "M": "3", "k": "1"}, [[1, 1, 0], [1, 1, 1]]),
        ("_npi_tril_indices", {"n": "2", "m": "2"}, [0, 1, 1]),
    ],
)
def test_nodes_without_inputs(op, attributes, expected):
    assert node(op, attributes, 0).infer_shape()[1] == [np.shape(expected)]
    bound = node(op, attributes, 0).bind(mx.cpu(), {})
    np.testing.assert_array_equal(bound.forward()[0].asnumpy(), expected)


@pytest.mark.parametrize("case", json.loads((DATA / "mxnet_deformable_psroi.json").read_text()))
def test_regions_whose_bins_are_moved(case):
    """Results and gradients of MXNet 1.9.1."""
    data, rois, trans = (mx.np.array(case[name], dtype="float32") for name in ("data", "rois", "trans"))
    arrays = [data, rois] if case["attrs"]["no_trans"] else [data, rois, trans]
    attributes = {key: str(value) for key, value in case["attrs"].items()}
    block = block_of("_contrib_DeformablePSROIPooling", attributes, len(arrays))
    for array in arrays:
        array.attach_grad()
    with autograd.record():
        y = block(*arrays)
    y.backward(mx.np.array(np.linspace(0.5, 1.5, y.size).reshape(y.shape), dtype="float32"))
    np.testing.assert_allclose(y.asnumpy(), case["y"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(data.grad.asnumpy(), case["dx"], rtol=1e-4, atol=1e-5)
    if len(arrays) > 2:
        np.testing.assert_allclose(trans.grad.asnumpy(), case["dt"], rtol=1e-3, atol=1e-4)
    names = ("data", "rois", "trans")[: len(arrays)]
    again = mx.nd.contrib.DeformablePSROIPooling(**dict(zip(names, arrays)), **case["attrs"])
    np.testing.assert_allclose(again.asnumpy(), y.asnumpy(), rtol=1e-6)


# ---- results whose shapes depend on values ----


@pytest.mark.parametrize(
    "op, arrays, attributes, expected",
    [
        ("_contrib_boolean_mask", [[[1, 2], [3, 4]], [0, 1]], {}, [[[3, 4]]]),
        ("_npi_boolean_mask", [[[1, 2], [3, 4]], [1, 0]], {"axis": "1"}, [[[1], [3]]]),
        ("_contrib_dynamic_reshape", [[[1, 2], [3, 4]], [-1]], {}, [[1, 2, 3, 4]]),
        ("_npi_nonzero", [[[0, 2], [3, 0]]], {}, [[[0, 1], [1, 0]]]),
        ("_npi_unique", [[3, 1, 3]], {}, [[1, 3]]),
        ("_npi_unique", [[3, 1, 3]], {"return_counts": "True"}, [[1, 3], [1, 2]]),
        ("_npi_delete", [[1, 2, 3], [0, 0, 2]], {}, [[2]]),
        ("_npi_delete", [[1, 2, 3]], {"int_ind": "1"}, [[1, 3]]),
    ],
)
def test_shapes_that_depend_on_values(op, arrays, attributes, expected):
    dtypes = ["float32", "int64" if op != "_npi_boolean_mask" else "bool"]
    given = [mx.np.array(array, dtype=dtype) for array, dtype in zip(arrays, dtypes)]
    outputs = as_list(block_of(op, attributes, len(given))(*given))
    for got, wanted in zip(outputs, expected, strict=True):
        np.testing.assert_array_equal(got.asnumpy(), wanted)


def test_graphs_around_a_mask_are_trained():
    x, mask, w = (mx.sym.var(name) for name in ("x", "mask", "w"))
    chosen = mx.sym.contrib.boolean_mask(x * w, mask)
    net = mx.sym.sum(chosen * chosen)
    arrays = {"x": mx.nd.array([1, 2, 3]), "w": mx.nd.array([1, 2, 3]), "mask": mx.nd.array([1, 0, 1])}
    for request, before in (("write", 7), ("add", 1)):
        gradients = {"w": mx.nd.full((3,), before)}
        bound = net.bind(mx.cpu(), arrays, gradients, request)
        assert bound.forward(is_train=True)[0].asnumpy() == 1 + 81
        bound.backward()
        expected = np.array([2, 0, 54]) + (before if request == "add" else 0)
        np.testing.assert_array_equal(gradients["w"].asnumpy(), expected)
    bound.arg_dict["mask"][:] = mx.nd.array([0, 1, 0])
    assert bound.forward()[0].asnumpy() == 16
    block = gluon.SymbolBlock(net, [x, mask], {"w": arrays["w"]})
    with autograd.record():
        y = block(arrays["x"], arrays["mask"])
    y.backward()
    np.testing.assert_array_equal(block.collect_params()["w"].grad().asnumpy(), [0, 16, 0])
    with pytest.raises(amp.GraphError, match="boolean_mask"):
        amp.Executor(net, arrays, {}, {})


def test_hybrid_forward_with_a_mask_has_a_graph(tmp_path):
    class Chosen(gluon.HybridBlock):
        def hybrid_forward(self, F, x, mask):  # noqa: N803 - MXNet's name
            return F.contrib.boolean_mask(x * 2, mask) * 3

    with mx.np_shape(False), mx.np_array(False):
        block, x, mask = Chosen(), mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([0, 1])
        block.hybridize()
        x.attach_grad()
        with autograd.record():
            y = block(x, mask)
        y.backward()
        assert y.asnumpy().tolist() == [[18, 24]] and x.grad.asnumpy().tolist() == [[0, 0], [6, 6]]
        assert block(x, mx.nd.ones((2,))).shape == (2, 2)
        files = block.export(str(tmp_path / "net"))
        again = gluon.SymbolBlock.imports(files[0], ["data0", "data1"])
        assert again(x, mask).asnumpy().tolist() == [[18, 24]]


# ---- files and graphs of one's own ----


def test_a_file_of_the_wheel_runs_here():
    folder = DATA / "wheel_files" / "2.0.0b1"
    recorded = json.loads((folder / "matrices.json").read_text())
    block = gluon.SymbolBlock.imports(
        str(folder / "matrices-symbol.json"), "data", str(folder / "matrices-0000.params")
    )
    outputs = block(mx.np.array(recorded["x"]))
    for i, (got, expected) in enumerate(zip(outputs, recorded["outputs"], strict=True)):
        assert_like("_npi_qr" if i == 9 else "", got, expected)


@pytest.mark.filterwarnings("ignore:export")
def test_hybridized_blocks_have_graphs_with_them(tmp_path):
    class Net(gluon.HybridBlock):
        def forward(self, x):
            u, s, v = mx.np.linalg.svd(x)
            rank = mx.np.linalg.matrix_rank(x).astype("float32")
            holds = mx.npx.constraint_check(s > 0, "singular values are positive")
            return mx.np.repeat(mx.np.linalg.pinv(x) + v, (1, 0, 2), axis=0), mx.np.linalg.inv(x), s * rank * holds

    x = mx.np.array([[2, 1, 0], [0, 3, 1], [1, 0, 4]], dtype="float32")
    eager, net = Net(), Net()
    net.hybridize()
    found = []
    for block in (eager, net):
        x.attach_grad()
        with autograd.record():
            outputs = block(x)
            total = sum(y.sum() for y in outputs)
        total.backward()
        found.append([*(y.asnumpy() for y in outputs), x.grad.asnumpy()])
    for mine, other in zip(*found):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)
    symbol_file, params = net.export(str(tmp_path / "net"))
    ops = {each["op"] for each in json.loads(Path(symbol_file).read_text())["nodes"]}
    assert {"_npi_svd", "_npi_pinv_scalar_rcond", "_npi_matrix_rank_none_tol", "take"} <= ops
    for got, expected in zip(gluon.SymbolBlock.imports(symbol_file, "data", params)(x), found[0]):
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-5, atol=1e-5)


def test_a_penalty_on_activations():
    net = mx.sym.load_json(
        json.dumps(
            {
                "nodes": [
                    {"op": "null", "name": "x", "inputs": []},
                    {"op": "null", "name": "avg", "inputs": []},
                    {
                        "op": "IdentityAttachKLSparseReg",
                        "name": "node",
                        "attrs": {"penalty": "0.01"},
                        "inputs": [[0, 0, 0], [1, 0, 0]],
                    },
                ],
                "arg_nodes": [0, 1],
                "heads": [[2, 0, 0]],
            }
        )
    )
    assert net.list_auxiliary_states() == ["avg"] and net.infer_shape(x=(4, 2))[2] == [(2,)]
    data = np.array([[0.2, 0.4], [0.4, 0.8]], "float32")
    average, gradient = mx.nd.full((2,), 0.5), mx.nd.zeros((2, 2))
    bound = net.bind(mx.cpu(), {"x": mx.nd.array(data)}, {"x": gradient}, aux_states={"avg": average})
    np.testing.assert_array_equal(bound.forward(is_train=True)[0].asnumpy(), data)
    bound.backward()
    moved = 0.9 * 0.5 + 0.1 * data.mean(0)
    np.testing.assert_allclose(average.asnumpy(), moved, rtol=1e-6)
    np.testing.assert_allclose(
        gradient.asnumpy(), np.ones((2, 1)) + 0.01 * (0.9 / (1 - moved) - 0.1 / moved), rtol=1e-5
    )


@pytest.mark.parametrize(
    "op, attributes, shapes, message",
    [
        ("_npi_svd", {"axis": "1"}, [(2, 2)], "unknown attribute 'axis'"),
        ("_npi_rollaxis", {}, [(2, 2)], "attribute 'axis' is missing"),
        ("_npi_eigh", {}, [(2, 3)], "expected square matrices"),
        ("_npi_qr", {}, [(3,)], "expected matrices"),
        ("_npi_kron", {}, [(2,)], "given for: node_b"),
        ("_npi_solve", {}, [(2, 2), (3,)], "as many rows"),
        ("_npi_cross", {}, [(2, 4), (2, 4)], "two or three elements"),
        ("_npi_cross", {"axisa": "7"}, [(2, 3), (2, 3)], "axis 7 does not exist"),
        ("_npi_tri", {"N": "1000000000000"}, [], "_npi_tri"),
        ("_npi_repeats", {"repeats": "(1, 2)"}, [(3,)], "_npi_repeats: "),
        ("_npi_repeats", {"repeats": "(" * 100000}, [(3,)], "_npi_repeats"),
        ("_npi_tensorinv", {"ind": "x"}, [(2, 2)], "_npi_tensorinv"),
        ("_npi_fill_diagonal", {"val": "1e999"}, [(2, 2)], "_npi_fill_diagonal"),
        ("_slice_assign", {"begin": "(9,)", "end": "(0,)", "step": "(0,)"}, [(2, 2), (1, 2)], "_slice_assign"),
    ],
)
def test_refusals_name_the_operator(op, attributes, shapes, message):
    with pytest.raises(amp.Error, match=message.replace("(", r"\(")) as caught:
        block_of(op, attributes, len(shapes))(*[mx.np.ones(shape) for shape in shapes])
    assert len(str(caught.value)) < 2500
