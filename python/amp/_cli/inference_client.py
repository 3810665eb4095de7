"""A client of the Open Inference Protocol (v2) for measuring: one model, the same request again and again.

https://github.com/kserve/open-inference-protocol
"""

import http.client
import json
import threading
from urllib.parse import urlsplit

import numpy as np

from .._serve.datatypes import DTYPES, datatype_of
from ..base import ArgumentError, dtype_name

_BINARY = "binary_tensor_data"  # the extension by which tensors are bytes behind the JSON
_PATIENCE = 60  # seconds until a service that does not answer is given up
_LONGEST_TEXT = 300  # characters of an answer that a message repeats


class Client:
    """The model at `url`, such as http://127.0.0.1:8000/v2/models/net, asked by as many connections as threads ask.

    `input_shapes`, `input_dtypes`: what the service says of its inputs; -1 as a size is 1. Raises ArgumentError where
    nothing there answers as the protocol says.
    """

    def __init__(self, url):
        self.url = url
        self._host, self._path = _parts(url)
        self._connections = threading.local()
        metadata = self._json(self._path)
        try:
            inputs = {one["name"]: (one["datatype"], one["shape"]) for one in metadata["inputs"]}
            self.input_shapes = {name: _sizes(shape) for name, (_, shape) in inputs.items()}
        except (TypeError, KeyError, ValueError):
            raise ArgumentError(f"{url}: its metadata are not those of the Open Inference Protocol") from None
        unknown = [datatype for datatype, _ in inputs.values() if datatype not in DTYPES]
        if unknown:
            raise ArgumentError(f"{url}: an input has the datatype {unknown[0]}, which amp bench cannot send")
        self.input_dtypes = {name: dtype_name(DTYPES[datatype]) for name, (datatype, _) in inputs.items()}
        server = self._json("/v2")
        self._is_binary = isinstance(server, dict) and _BINARY in (server.get("extensions") or [])

    def request(self, arrays):
        """(body, headers) of a request with these inputs: bytes where the service takes them, else JSON."""
        inputs, parts = [], []
        for name, array in arrays.items():
            entry = {"name": name, "shape": list(array.shape), "datatype": datatype_of(array.dtype)}
            if self._is_binary:
                parts.append(np.ascontiguousarray(array).tobytes())
                entry["parameters"] = {"binary_data_size": len(parts[-1])}
            else:
                entry["data"] = array.ravel().tolist()
            inputs.append(entry)
        message = {"inputs": inputs}
        if not self._is_binary:
            return json.dumps(message).encode(), {"Content-Type": "application/json"}
        head = json.dumps(message | {"parameters": {"binary_data_output": True}}).encode()
        headers = {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(len(head))}
        return b"".join([head, *parts]), headers

    def answer(self, body, headers):
        """The bytes that the service answers. Raises ArgumentError for a refusal and a service that is gone."""
        return self._ask("POST", f"{self._path}/infer", body, headers)

    def _json(self, path):
        text = self._ask("GET", path, None, {})
        try:
            return json.loads(text)
        except ValueError:
            raise ArgumentError(f"{self.url}: {path} answers no JSON, as the Open Inference Protocol would") from None

    def _ask(self, method, path, body, headers):
        connection = getattr(self._connections, "one", None)
        if connection is None:
            connection = self._connections.one = http.client.HTTPConnection(self._host, timeout=_PATIENCE)
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ArgumentError(f"{self.url}: {error or type(error).__name__}") from None
        if response.status != 200:
            said = text[:_LONGEST_TEXT].decode(errors="replace")
            raise ArgumentError(f"{self.url}: {method} {path} was answered with {response.status}: {said}")
        return text


def _sizes(shape):
    return tuple(1 if dim == -1 else int(dim) for dim in shape)


def _parts(url):
    """(host:port, path) of a model's address."""
    try:
        parts = urlsplit(url)
        is_right = parts.scheme == "http" and parts.hostname and (parts.port or True)
    except ValueError:
        is_right = False
    path = parts.path.rstrip("/") if is_right else ""
    if not path.startswith("/v2/models/") or parts.query or parts.fragment:
        raise ArgumentError(f"--url: expected the address of a model, http://HOST:PORT/v2/models/NAME, got {url!r}")
    return parts.netloc, path
