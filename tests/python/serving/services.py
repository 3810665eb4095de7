"""Services for tests: plans, processes of `amp serve`, and a plain client."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np

import amp

PATIENCE = 60  # seconds until a test fails that hangs
INFER = "/v2/models/net/infer"


def quick_plan(path):
    """A plan of inputs data (1, 4) and mask (1, 4) of integers."""
    data, mask = amp.sym.Variable("data"), amp.sym.Variable("mask")
    net = amp.sym.FullyConnected(data * amp.sym.cast(mask, dtype="float32"), num_hidden=3, name="fc")
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 4), "mask": (1, 4)})
    shapes = {"data": (1, 4), "mask": (1, 4)}
    run = amp.Executor(net, args, aux, shapes, input_dtypes={"mask": "int32"}, num_threads=1)
    run.save(path)
    return run


def slow_plan(path, products=4):
    """A plan of the input data (1, 1024), whose run takes about 20 ms a product."""
    net = amp.sym.broadcast_axis(amp.sym.Variable("data"), axis=0, size=1024)
    for _ in range(products):
        net = amp.sym.dot(net, net * 0.001)
    net = amp.sym.slice(net, begin=(0, 0), end=(1, 4))
    amp.Executor(net, {}, {}, {"data": (1, 1024)}, num_threads=1).save(path)


class Running:
    """A service: its `process`, `port` and `line`, which it printed first."""

    def __init__(self, process):
        self.process = process
        self.line = process.stdout.readline()
        assert self.line, process.stderr.read()
        self.port = int(re.search(r":(\d+)/", self.line)[1])

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, method, path, body=None, headers=None):
        """(status, headers, body) by a connection of its own."""
        connection = self.connection()
        try:
            return ask(connection, method, path, body, headers)
        finally:
            connection.close()

    def metrics(self):
        """{name with labels: number}"""
        _, _, text = self.ask("GET", "/metrics")
        pairs = (line.rpartition(" ") for line in text.decode().splitlines() if line[0] != "#")
        return {name: float(value) for name, _, value in pairs}


def ask(connection, method, path, body=None, headers=None):
    connection.request(method, path, body, headers or {})
    response = connection.getresponse()
    return response.status, response.headers, response.read()


@contextlib.contextmanager
def serving(plan, *options):
    """A Running service, which has to end well when the block ends, unless the test ended it."""
    command = [sys.executable, "-m", "amp", "serve", str(plan), "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            service = Running(process)
            yield service
            if process.poll() is None:
                process.terminate()
                _, errors = process.communicate(timeout=PATIENCE)
                assert process.returncode == 0 and "Traceback" not in errors, errors
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def tensor(name, array, **more):
    """An input of a request, as JSON."""
    datatypes = {"float32": "FP32", "int32": "INT32"}
    return {
        "name": name,
        "shape": list(array.shape),
        "datatype": datatypes[str(array.dtype)],
        "data": array.ravel().tolist(),
        **more,
    }


DATA = np.array([[1, 2, 3, 4]], "float32")
MASK = np.array([[1, 0, 1, 1]], "int32")


def request(**more):
    """The body of a good request of the quick plan."""
    return json.dumps({"inputs": [tensor("data", DATA), tensor("mask", MASK)], **more}).encode()


SLOW = json.dumps({"inputs": [tensor("data", np.ones((1, 1024), "float32"))]}).encode()
