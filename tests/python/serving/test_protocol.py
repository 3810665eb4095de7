"""The Open Inference Protocol: every datatype both ways, and what is refused."""

import json
import tracemalloc

import numpy as np
import pytest

from amp.nd import bfloat16

pytest.importorskip("orjson")
from amp._serve import protocol  # noqa: E402

ARRAYS = {
    "BOOL": np.array([[True, False], [False, True]]),
    **{f"INT{8 * size}": np.array([[-128, 127], [0, 5]], f"i{size}") for size in (1, 2, 4, 8)},
    **{f"UINT{8 * size}": np.array([[0, 255], [1, 2]], f"u{size}") for size in (1, 2, 4, 8)},
    **{f"FP{8 * size}": np.array([[-1.5, 0.25], [1e-5, 60000]], f"f{size}") for size in (2, 4, 8)},
    "BF16": np.array([[-1.5, 0.25], [3e38, 1e-38]]).astype(bfloat16),
}


def entry(datatype, shape, **more):
    return {"name": "x", "datatype": datatype, "shape": shape, **more}


def read_json(*entries, **more):
    return protocol.read(json.dumps({"inputs": list(entries), **more}).encode())


def read_binary(entries, data, **more):
    head = json.dumps({"inputs": entries, **more}).encode()
    return protocol.read(head + data, str(len(head)))


@pytest.mark.parametrize("datatype", ARRAYS)
def test_numbers_of_every_datatype_come_and_go(datatype):
    array = ARRAYS[datatype]
    numbers = array.astype("float32") if datatype in ("FP16", "BF16") else array
    of_json = [read_json(entry(datatype, [2, 2], data=data)) for data in (numbers.tolist(), numbers.ravel().tolist())]
    size = {"binary_data_size": array.nbytes}
    of_bytes = read_binary([entry(datatype, [2, 2], parameters=size)], array.tobytes())
    for found in (*of_json, of_bytes):
        assert found.inputs["x"].dtype == array.dtype and found.inputs["x"].flags.aligned
        np.testing.assert_array_equal(found.inputs["x"], array)
    for is_binary in (False, True):
        inference = protocol.Inference("7", {}, [("y", is_binary)], False)
        body, headers = protocol.answer("net", inference, {"y": array})
        size = int(headers.get(protocol.HEADER_LENGTH, len(body)))
        message = json.loads(body[:size])
        described = message["outputs"][0]
        assert (message["id"], message["model_name"], described["datatype"]) == ("7", "net", datatype)
        if is_binary:
            back = np.frombuffer(body[size:], array.dtype)
        else:
            back = np.array(described["data"]).astype(array.dtype)
        np.testing.assert_array_equal(back.reshape(described["shape"]), array)


def test_several_inputs_share_the_bytes():
    first, second = np.arange(3, dtype="int16"), np.arange(4, dtype="float64").reshape(2, 2)
    entries = [
        {"name": "a", "datatype": "INT16", "shape": [3], "parameters": {"binary_data_size": 6}},
        {"name": "b", "datatype": "INT8", "shape": [1], "data": [5]},
        {"name": "c", "datatype": "FP64", "shape": [2, 2], "parameters": {"binary_data_size": 32}},
    ]
    found = read_binary(entries, first.tobytes() + second.tobytes()).inputs
    np.testing.assert_array_equal(found["a"], first)
    np.testing.assert_array_equal(found["b"], [5])
    np.testing.assert_array_equal(found["c"], second)


def test_empty_arrays_and_scalars():
    assert read_json(entry("INT32", [0, 5], data=[])).inputs["x"].shape == (0, 5)
    assert read_json(entry("FP32", [], data=[2.5])).inputs["x"] == 2.5


def test_numbers_that_json_has_not_are_null():
    array = np.array([np.nan, np.inf, 1], "float32")
    body, _ = protocol.answer("net", protocol.Inference(None, {}, None, False), {"y": array})
    assert json.loads(body)["outputs"][0]["data"] == [None, None, 1]
    body, headers = protocol.answer("net", protocol.Inference(None, {}, None, True), {"y": array})
    assert body[int(headers[protocol.HEADER_LENGTH]) :] == array.tobytes()


@pytest.mark.parametrize(
    ("datatype", "data"),
    [
        ("UINT8", [256]),
        ("UINT8", [-1]),
        ("INT64", [2**63]),
        ("INT64", [1e30]),
        ("INT32", [1.5]),
        ("INT32", [1.0]),
        ("FP16", [70000]),
        ("FP32", [1e39]),
        ("BF16", [3.4e38 * 1.01]),
        ("BOOL", [2]),
        ("BOOL", [0.5]),
        ("FP32", [True]),
        ("FP32", [True, 1.5]),
        ("INT32", [True, 1]),
        ("UINT64", [2**64]),
        ("FP32", ["1", 2]),
        ("FP32", [None]),
        ("FP32", [[1], 2]),
        ("FP32", [2, [1]]),
    ],
)
def test_numbers_that_do_not_fit_are_refused(datatype, data):
    with pytest.raises(protocol.BadRequest):
        read_json(entry(datatype, [len(data)], data=data))


def test_numbers_at_the_ends_of_ranges():
    for datatype, numbers in (("UINT64", [2**64 - 1, 2**63, 0]), ("INT64", [-(2**63), 2**63 - 1]), ("BOOL", [1, 0])):
        assert read_json(entry(datatype, [len(numbers)], data=numbers)).inputs["x"].tolist() == numbers
    assert read_json(entry("BF16", [1], data=[2**64 - 1])).inputs["x"].astype("float64") == 2.0**64


def test_texts_take_no_memory():
    """NumPy would make each as long as the longest."""
    tracemalloc.start()
    try:
        for data in (["x" * 100_000] + ["a"] * 999, ["a"] * 999 + ["x" * 100_000], [1] * 999 + ["x" * 100_000]):
            for shape in ([1000], [10, 100], [1]):
                with pytest.raises(protocol.BadRequest):
                    read_json(entry("FP32", shape, data=data))
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()


def test_nested_data_has_the_shape():
    for shape, data in (([2, 3], [[1, 2, 3], [4, 5, 6]]), ([1, 2, 1], [[[1], [2]]]), ([2, 0], [[], []]), ([0], [])):
        assert read_json(entry("INT8", shape, data=data)).inputs["x"].tolist() == data
    for shape, data in (
        ([2, 3], [[1, 2], [3, 4], [5, 6]]),
        ([2, 3], [[1, 2, 3], [4, 5]]),
        ([2, 3], [[1, 2, 3], 4, 5, 6]),
        ([2, 3], [[[1, 2, 3], [4, 5, 6]]]),
        ([6], [[1, 2, 3], [4, 5, 6]]),
        ([1], [[1]]),
        ([], [[1]]),
        ([0, 2], [[], []]),
    ):
        with pytest.raises(protocol.BadRequest):
            read_json(entry("INT8", shape, data=data))


def test_an_output_is_sent_once():
    outputs = [{"name": "y"}, {"name": "z"}, {"name": "y", "parameters": {"binary_data": True}}]
    with pytest.raises(protocol.BadRequest):
        read_json(entry("INT8", [1], data=[1]), outputs=outputs)
    assert len(read_json(entry("INT8", [1], data=[1]), outputs=outputs[:2]).outputs) == 2


@pytest.mark.parametrize("shape", [[2**31], [2**31 - 1, 2**31 - 1, 0], [0] * 33, [2**20, 2**20, 2**20]])
def test_shapes_that_numpy_has_not_are_refused(shape):
    for more in ({"data": []}, {"data": [1]}):
        with pytest.raises(protocol.BadRequest):
            read_json(entry("FP32", shape, **more))
    with pytest.raises(protocol.BadRequest):
        read_binary([entry("FP32", shape, parameters={"binary_data_size": 0})], b"1234")


def test_damaged_requests_are_refused():
    """Whatever stands in a request, BadRequest is what it raises."""
    good = {"id": "1", "inputs": [entry("FP32", [2], data=[1, 2])], "outputs": [{"name": "y"}], "parameters": {}}
    lies = [None, -1, 0, 1.5, 2**31, 2**70, 1e300, "", "x", [], [1], [[1], 2], {}, {"a": 1}, True, ["x"], [None]]
    places = [
        ("id",),
        ("inputs",),
        ("outputs",),
        ("parameters",),
        ("inputs", 0),
        ("outputs", 0),
        ("outputs", 0, "name"),
    ]
    places += [("inputs", 0, key) for key in ("name", "datatype", "shape", "data", "parameters")]
    places += [("inputs", 0, key, 0) for key in ("shape", "data")]
    outcomes = {True: 0, False: 0}
    for place in places:
        for lie in lies:
            message = json.loads(json.dumps(good))
            target = message
            for key in place[:-1]:
                target = target[key]
            target[place[-1]] = lie
            try:
                found = protocol.read(json.dumps(message).encode())
            except protocol.BadRequest as error:
                assert str(error)
                outcomes[False] += 1
            else:
                assert all(isinstance(array, np.ndarray) for array in found.inputs.values())
                outcomes[True] += 1
    assert outcomes[False] > 150 and outcomes[True] > 10
    text = json.dumps(good).encode()
    for size in range(len(text)):
        with pytest.raises(protocol.BadRequest):
            protocol.read(text[:size])
    for deep in (
        b"[" * 5000,
        b'{"inputs":' * 2000,
        b'{"inputs":[{"name":"x","datatype":"FP32","shape":[1],"data":' + b"[" * 100 + b"1" + b"]" * 100 + b"}]}",
    ):
        with pytest.raises(protocol.BadRequest):
            protocol.read(deep)
