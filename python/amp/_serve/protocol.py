"""The Open Inference Protocol (v2): what a request says as arrays, and arrays as an answer.

Tensors are JSON (flat or nested lists) or, with the header Inference-Header-Content-Length, bytes behind the JSON.
https://github.com/kserve/open-inference-protocol
"""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import orjson

from .datatypes import DTYPES, datatype_of

HEADER_LENGTH = "inference-header-content-length"
_MAX_AXES = 32
_MAX_SIZE = 2**31  # of an axis, exclusive
_MAX_ELEMENTS = 2**48
_MAX_LISTED = 1000  # inputs or outputs of a request

# What would change the meaning of an answer is refused; other parameters are hints.
_REFUSED = ("classification", "shared_memory_region", "sequence_id")


class BadRequest(Exception):
    """What is wrong with a request, for its sender."""


class Inference(NamedTuple):
    """A request: `inputs` are {name: array}; `outputs` are [(name, whether as bytes)], or None for all of them."""

    id: str | None
    inputs: dict[str, Any]
    outputs: list[tuple[str, bool]] | None
    all_binary: bool


# ---- requests ----


def read(body, header_length=None):
    """The Inference of a request's body; `header_length` is the value of its header. Raises BadRequest."""
    head, rest = _split(memoryview(body), header_length)
    try:
        message = orjson.loads(head)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the request is no JSON: {error}") from None
    if not isinstance(message, dict):
        raise BadRequest("expected a JSON object with 'inputs'")
    request_id = message.get("id")
    if request_id is not None and not isinstance(request_id, str):
        raise BadRequest("id: expected a text")
    parameters = _parameters(message, "the request")
    inputs, end = {}, 0
    for entry in _entries(message, "inputs"):
        name, array, end = _input(entry, rest, end)
        if name in inputs:
            raise BadRequest(f"inputs: '{name}' is named twice")
        inputs[name] = array
    if end != len(rest):
        raise BadRequest(f"{len(rest)} bytes are behind the JSON, and inputs have {end} of them")
    all_binary = _flag(parameters, "binary_data_output", False)
    outputs = None
    if message.get("outputs"):
        outputs = [_output(entry, all_binary) for entry in _entries(message, "outputs")]
        if len(dict(outputs)) < len(outputs):
            raise BadRequest("outputs: one is named twice")
    return Inference(request_id, inputs, outputs, all_binary)


def _split(body, header_length):
    """(the JSON, the bytes behind it)"""
    if header_length is None:
        return body, body[len(body) :]
    if not (header_length.isascii() and header_length.isdigit() and len(header_length) < 20):
        raise BadRequest("Inference-Header-Content-Length: expected a number of bytes")
    size = int(header_length)
    if size > len(body):
        raise BadRequest(f"Inference-Header-Content-Length is {size}, and the body has {len(body)} bytes")
    return body[:size], body[size:]


def _entries(message, key):
    entries = message.get(key)
    if not isinstance(entries, list) or not entries or len(entries) > _MAX_LISTED:
        raise BadRequest(f"{key}: expected a list of 1 to {_MAX_LISTED} objects")
    for entry in entries:
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
            raise BadRequest(f"{key}: expected objects with a 'name'")
    return entries


def _parameters(entry, what):
    parameters = entry.get("parameters")
    if parameters is None:
        return {}
    if not isinstance(parameters, dict):
        raise BadRequest(f"parameters of {what}: expected an object")
    for key in _REFUSED:
        if parameters.get(key):
            raise BadRequest(f"{what}: parameter '{key}' is not supported")
    return parameters


def _flag(parameters, key, default):
    value = parameters.get(key, default)
    if not isinstance(value, bool):
        raise BadRequest(f"{key}: expected true or false")
    return value


def _output(entry, all_binary):
    parameters = _parameters(entry, f"output '{entry['name']}'")
    return entry["name"], _flag(parameters, "binary_data", all_binary)


def _input(entry, rest, begin):
    """(name, array, where the next input's bytes begin)"""
    name = entry["name"]
    datatype = entry.get("datatype")
    dtype = DTYPES.get(datatype) if isinstance(datatype, str) else None
    if dtype is None:
        raise BadRequest(f"input '{name}': expected a datatype out of {', '.join(DTYPES)}, got {_shown(datatype)}")
    shape = _shape(entry, name)
    size = _parameters(entry, f"input '{name}'").get("binary_data_size")
    if size is None:
        return name, _from_json(entry.get("data"), dtype, shape, name), begin
    if "data" in entry:
        raise BadRequest(f"input '{name}': expected either 'data' or 'binary_data_size'")
    if not _is_size(size) or size > len(rest) - begin:
        raise BadRequest(
            f"input '{name}': binary_data_size is {_shown(size)}, and {len(rest) - begin} bytes are left; "
            "the header Inference-Header-Content-Length says where the JSON ends"
        )
    return name, _from_bytes(rest[begin : begin + size], dtype, shape, name), begin + size


def _shape(entry, name):
    shape = entry.get("shape")
    if not isinstance(shape, list) or len(shape) > _MAX_AXES or not all(map(_is_size, shape)):
        raise BadRequest(f"input '{name}': expected a shape of sizes from 0 to {_MAX_SIZE - 1}, got {_shown(shape)}")
    if math.prod(max(1, size) for size in shape) > _MAX_ELEMENTS:  # NumPy refuses it, though there may be no elements
        raise BadRequest(f"input '{name}': shape {_shown(shape)} is too large")
    return tuple(shape)


def _is_size(value):
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MAX_SIZE


def _shown(value):
    text = repr(value)
    return text if len(text) < 100 else f"{text[:100]}..."


def _from_bytes(data, dtype, shape, name):
    expected = math.prod(shape) * dtype.itemsize
    if len(data) != expected:
        raise BadRequest(f"input '{name}': {shape} has {expected} bytes, got {len(data)}")
    if dtype.kind == "b" and np.frombuffer(data, np.uint8).max(initial=0) > 1:
        raise BadRequest(f"input '{name}': expected bytes 0 and 1")
    array = np.empty(shape, dtype)  # behind JSON of any length numbers are not where a CPU wants them
    array.reshape(-1).view(np.uint8)[:] = np.frombuffer(data, np.uint8)
    return array


def _from_json(data, dtype, shape, name):
    numbers = _numbers(data, shape, name)
    kinds = {"b": (bool, int), "i": (int,), "u": (int,)}.get(dtype.kind, (int, float))
    if not set(map(type, numbers)).issubset(kinds):
        kind = {"b": "true and false", "i": "integers", "u": "integers"}.get(dtype.kind, "numbers")
        raise BadRequest(f"input '{name}': expected {kind} for {datatype_of(dtype)}")
    return _as_dtype(numbers, dtype, name).reshape(shape)


def _numbers(data, shape, name):
    """What a flat list has, or lists in lists as the shape says: as many as the shape has, of any kind."""
    is_nested = isinstance(data, list) and len(data) > 0 and isinstance(data[0], list)
    lists = [data]
    for size in shape if is_nested else (math.prod(shape),):
        if not all(isinstance(each, list) and len(each) == size for each in lists):
            raise BadRequest(f"input '{name}': expected data of {shape}, as lists in lists or as one flat list")
        lists = lists[0] if len(lists) == 1 else list(chain.from_iterable(lists))
    return lists


def _as_dtype(numbers, dtype, name):
    """The numbers as an array. Raises BadRequest where one is not in the range of the dtype."""
    if dtype.kind in "biu":
        low, high = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        fits = low <= min(numbers, default=0) and max(numbers, default=0) <= high
        converted = np.array(numbers, dtype) if fits else None
    else:
        with np.errstate(over="ignore"):
            taken = dtype if dtype.kind == "f" else np.float64  # bfloat16 takes no large integers itself
            converted = np.array(numbers, taken).astype(dtype, copy=False)
        fits = bool(np.isfinite(converted).all())  # JSON has no infinity
    if not fits:
        raise BadRequest(f"input '{name}': a number is out of the range of {datatype_of(dtype)}")
    return converted


# ---- answers ----


def answer(model, inference, results):
    """(body, headers) of an answer with `results`, {output: array}. Raises BadRequest for unknown outputs.

    In JSON NaN and infinity are null.
    """
    wanted = inference.outputs or [(name, inference.all_binary) for name in results]
    unknown = [name for name, _ in wanted if name not in results]
    if unknown:
        raise BadRequest(f"there is no output '{unknown[0]}'; there are {', '.join(results)}")
    described, parts = [], []
    for name, is_binary in wanted:
        array = np.ascontiguousarray(results[name])
        entry = {"name": name, "datatype": datatype_of(array.dtype), "shape": list(results[name].shape)}
        if is_binary:
            parts.append(array.tobytes())
            entry["parameters"] = {"binary_data_size": array.nbytes}
        else:
            entry["data"] = _for_json(array)
        described.append(entry)
    message = {"model_name": model, "outputs": described}
    if inference.id is not None:
        message["id"] = inference.id
    head = orjson.dumps(message, option=orjson.OPT_SERIALIZE_NUMPY)
    if not parts:
        return head, {"content-type": "application/json"}
    headers = {"content-type": "application/octet-stream", HEADER_LENGTH: str(len(head))}
    return b"".join([head, *parts]), headers


def _for_json(array):
    is_short = array.dtype.itemsize == 2 and array.dtype.kind not in "iu"
    return (array.astype("float32") if is_short else array).reshape(-1)
