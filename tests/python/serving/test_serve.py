"""`amp serve`: the protocol by a plain client, and what is wrong, slow, endless, too much, or ends."""

import asyncio
import contextlib
import functools
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest

import amp
from amp import commands

sys.path.insert(0, str(Path(__file__).parent))
from services import (  # noqa: E402
    DATA,
    INFER,
    MASK,
    PATIENCE,
    SLOW,
    ask,
    quick_plan,
    request,
    serving,
    slow_plan,
    tensor,
)

for name in ("starlette", "uvicorn", "orjson", "prometheus_client"):
    pytest.importorskip(name)
from uvicorn.protocols.http.flow_control import FlowControl  # noqa: E402

from amp._serve import connections, protocol, supervisor  # noqa: E402
from amp._serve.app import Service  # noqa: E402
from amp._serve.connections import TimedConnection  # noqa: E402
from amp._serve.memory import Memory  # noqa: E402
from amp._serve.settings import Settings  # noqa: E402

READ_TIMEOUT, LIMIT = 1.5, 300_000


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plans")
    (folder / "slow").mkdir()
    slow_plan(folder / "slow" / "net.plan")
    return folder, quick_plan(folder / "net.plan")


@pytest.fixture(scope="module")
def service(plans):
    options = ["--read-timeout", str(READ_TIMEOUT), "--limit-bytes", str(LIMIT)]
    with serving(plans[0] / "net.plan", *options) as running:
        yield running


def outputs_of(body):
    return {
        each["name"]: np.array(each["data"], "float32").reshape(each["shape"]) for each in json.loads(body)["outputs"]
    }


# ---- the protocol ----


def test_health_and_metadata(service):
    assert service.line.startswith("serving http://127.0.0.1:") and "/v2/models/net (" in service.line
    expected = {
        "/v2/health/live": {"live": True},
        "/v2/health/ready": {"ready": True},
        "/v2/models/net/ready": {"name": "net", "ready": True},
    }
    for path, message in expected.items():
        status, headers, body = service.ask("GET", path)
        assert (status, json.loads(body), headers["content-type"]) == (200, message, "application/json")
    status, _, body = service.ask("GET", "/v2")
    assert json.loads(body)["extensions"] == ["binary_tensor_data"] and json.loads(body)["version"] == amp.__version__
    model = json.loads(service.ask("GET", "/v2/models/net")[2])
    assert model["inputs"] == [
        {"name": "data", "datatype": "FP32", "shape": [1, 4]},
        {"name": "mask", "datatype": "INT32", "shape": [1, 4]},
    ]
    assert model["outputs"] == [{"name": "fc_output", "datatype": "FP32", "shape": [1, 3]}]


def test_inference(plans, service):
    expected = plans[1](DATA, MASK)[0].asnumpy()
    status, headers, body = service.ask("POST", INFER, request(id="a", outputs=[{"name": "fc_output"}]))
    assert status == 200 and json.loads(body)["id"] == "a"
    np.testing.assert_array_equal(outputs_of(body)["fc_output"], expected)
    size = {"binary_data_size": 16}
    inputs = [{**tensor(name, array), "parameters": size} for name, array in (("data", DATA), ("mask", MASK))]
    for each in inputs:
        del each["data"]
    head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
    status, headers, body = service.ask(
        "POST", INFER, head + DATA.tobytes() + MASK.tobytes(), {"Inference-Header-Content-Length": str(len(head))}
    )
    assert status == 200 and headers["content-type"] == "application/octet-stream"
    size = int(headers["inference-header-content-length"])
    assert json.loads(body[:size])["outputs"][0]["parameters"] == {"binary_data_size": 12}
    np.testing.assert_array_equal(np.frombuffer(body[size:], "float32").reshape(1, 3), expected)


def test_chunked_requests(plans, service):
    chunks = [request()[i : i + 7] for i in range(0, len(request()), 7)]
    status, _, body = service.ask("POST", INFER, iter(chunks))  # which are sent as such
    assert status == 200
    np.testing.assert_array_equal(outputs_of(body)["fc_output"], plans[1](DATA, MASK)[0].asnumpy())


def changed(index, **changes):
    """A good request with an input that is changed; a key of None is left out."""
    message = json.loads(request())
    entry = message["inputs"][index]
    entry.update(changes)
    message["inputs"][index] = {key: value for key, value in entry.items() if value is not None}
    return json.dumps(message).encode()


BINARY = changed(0, data=None, parameters={"binary_data_size": 16})
MALFORMED = {
    "empty": (b"", {}),
    "no JSON": (b"hello", {}),
    "half": (request()[:-5], {}),
    "no UTF-8": (b'{"inputs": "\xff"}', {}),
    "NaN": (request().replace(b"1.0", b"NaN"), {}),
    "a list": (b"[]", {}),
    "a number": (b"1", {}),
    "deep": (b"[" * 100_000, {}),
    "no inputs": (b"{}", {}),
    "inputs of another kind": (b'{"inputs": {}}', {}),
    "no input": (b'{"inputs": []}', {}),
    "an input of another kind": (b'{"inputs": [1]}', {}),
    "an input without a name": (changed(0, name=None), {}),
    "a name of another kind": (changed(0, name=[]), {}),
    "an unknown input": (changed(0, name="dat"), {}),
    "an input twice": (changed(1, name="data"), {}),
    "an input is missing": (json.dumps({"inputs": [tensor("data", DATA)]}).encode(), {}),
    "no datatype": (changed(0, datatype=None), {}),
    "an unknown datatype": (changed(0, datatype="FP4"), {}),
    "BYTES": (changed(0, datatype="BYTES"), {}),
    "another datatype": (changed(0, datatype="FP64"), {}),
    "no shape": (changed(0, shape=None), {}),
    "a shape of another kind": (changed(0, shape="1,4"), {}),
    "a negative size": (changed(0, shape=[-1, 4]), {}),
    "a fraction as a size": (changed(0, shape=[1.0, 4]), {}),
    "a huge size": (changed(0, shape=[2**40, 4]), {}),
    "another shape": (changed(0, shape=[4, 1]), {}),
    "no data": (changed(0, data=None), {}),
    "data of another kind": (changed(0, data="1234"), {}),
    "too few numbers": (changed(0, data=[1, 2]), {}),
    "ragged lists": (changed(0, data=[[1, 2], [3]]), {}),
    "texts": (changed(0, data=["1", "2", "3", "4"]), {}),
    "fractions as integers": (changed(1, data=[0.5, 1, 1, 1]), {}),
    "a number out of range": (changed(1, data=[2**31, 1, 1, 1]), {}),
    "bytes that are missing": (BINARY, {}),
    "too many bytes": (BINARY + bytes(17), {"Inference-Header-Content-Length": str(len(BINARY))}),
    "a length that is none": (request(), {"Inference-Header-Content-Length": "-1"}),
    "a length that is too large": (request(), {"Inference-Header-Content-Length": "100000"}),
    "data and bytes": (changed(0, parameters={"binary_data_size": 16}), {}),
    "an unknown output": (request(outputs=[{"name": "x"}]), {}),
    "a classification": (request(outputs=[{"name": "fc_output", "parameters": {"classification": 3}}]), {}),
    "an id of another kind": (request(id=1), {}),
    "compressed": (request(), {"Content-Encoding": "gzip"}),
}


def test_malformed_requests_are_told_why_and_the_connection_lives(service):
    assert len(MALFORMED) >= 35
    connection = service.connection()
    for kind, (body, headers) in MALFORMED.items():
        status, _, answer = ask(connection, "POST", INFER, body, headers)
        assert status in (400, 415), (kind, status, answer)
        assert len(json.loads(answer)["error"]) > 10, kind
        sock = connection.sock
        assert ask(connection, "POST", INFER, request())[0] == 200 and connection.sock is sock, kind
    for method, path, expected in (
        ("GET", "/nothing", 404),
        ("GET", "/v2/models/other", 404),
        ("POST", "/v2/models/other/infer", 404),
        ("GET", INFER, 405),
        ("POST", "/v2/health/live", 405),
        ("DELETE", "/v2/models/net", 405),
    ):
        status, _, answer = ask(connection, method, path, request() if method == "POST" else None)
        assert status == expected and json.loads(answer)["error"], path
    assert ask(connection, "POST", INFER, request())[0] == 200 and connection.sock is sock


def test_what_is_no_http_is_refused(service):
    for text in (b"\x16\x03\x01\x00\xa5\x01\x00\x00", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nbad header\r\n\r\n",
                 b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -5\r\n\r\n", b"A" * 100_000):  # fmt: skip
        assert b"400" in answer_to(service, text + b"\r\n\r\n").split(b"\r\n")[0]
    assert service.ask("GET", "/v2/health/live")[0] == 200


def answer_to(service, text):
    """What comes until the connection is closed."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as sock:
        with contextlib.suppress(ConnectionError):
            sock.sendall(text)
        return rest_of(sock)


def rest_of(sock):
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := sock.recv(65536):
            found += part
    return found


# ---- too long, endless, slow ----

HEAD = f"POST {INFER} HTTP/1.1\r\nhost: x\r\n".encode()


def test_long_and_endless_bodies(service):
    for length in (LIMIT + 1, 10 << 30, 10**19):
        answer = answer_to(service, HEAD + b"content-length: %d\r\n\r\n" % length)
        assert answer.startswith(b"HTTP/1.1 413 ") and b"--limit-bytes" in answer
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as sock:
        sock.sendall(HEAD + b"transfer-encoding: chunked\r\n\r\n")
        with contextlib.suppress(ConnectionError):  # the service takes some, and closes
            for _ in range(100_000):
                sock.sendall(b"10000\r\n" + bytes(0x10000) + b"\r\n")
        assert rest_of(sock).startswith(b"HTTP/1.1 413 ")
    body = bytes(LIMIT + 1)
    status, headers, _ = service.ask("POST", INFER, body)  # a client that reads when it has sent everything
    assert status == 413 and headers["connection"] == "close"
    # a body that is not used is thrown away
    connection = service.connection()
    assert ask(connection, "POST", "/nothing", bytes(LIMIT))[0] == 404
    assert ask(connection, "POST", INFER, request())[0] == 200


def test_clients_that_dribble_are_closed_and_others_are_answered(service):
    begin = HEAD + b"content-length: 100\r\n\r\n"
    texts = [b"", b"PO", HEAD, HEAD + b"x: 1\r\n", begin, begin + b"{", begin + b"{", begin]
    socks = [socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) for _ in texts]
    for sock, text in zip(socks, texts):
        sock.sendall(text)
    ended = threading.Event()

    def dribble():
        while not ended.wait(0.2):
            for sock in socks[6:]:
                with contextlib.suppress(OSError):
                    sock.sendall(b" ")

    thread = threading.Thread(target=dribble)
    thread.start()
    try:
        for _ in range(20):
            assert service.ask("POST", INFER, request())[0] == 200
        answers = [rest_of(sock) for sock in socks]
    finally:
        ended.set()
        thread.join()
    assert answers[0] == b"" and all(answer.startswith(b"HTTP/1.1 408 ") for answer in answers[1:])
    for sock in socks:
        sock.close()


def test_long_bodies_at_once_have_a_limit(service):
    """Four of the longest: the service holds no more, and says so to the next one."""
    body = bytes(LIMIT)
    socks = []
    for _ in range(4):
        sock = socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE)
        sock.sendall(HEAD + b"content-length: %d\r\n\r\n" % len(body) + body[: LIMIT - 100])
        socks.append(sock)
    time.sleep(1)  # until they have arrived: a body in between would take the room of the last one
    wait_until(lambda: service.ask("POST", INFER, body[:1000])[0] == 503)
    assert service.ask("GET", "/v2/health/ready")[0] == 200
    answers = []
    for sock in socks:
        answers.append(rest_of(sock).split()[1])
        sock.close()
    assert b"408" in answers and set(answers) <= {b"408", b"503"}  # one may have come while another was asked for
    assert service.ask("POST", INFER, request())[0] == 200


class Clock:
    """An event loop and a transport, as far as connections that write know them."""

    def __init__(self, unsent, sock):
        self.timers, self.unsent, self.sock, self.is_aborted = [], unsent, sock, False

    def call_later(self, _seconds, function, *args):
        self.timers.append(lambda: function(*args))
        return self

    def cancel(self):
        self.timers.clear()

    def get_write_buffer_size(self):
        return self.unsent

    def get_extra_info(self, _name):
        return self.sock

    def abort(self):
        self.is_aborted = True

    def connection(self):
        connection = TimedConnection.__new__(TimedConnection)
        connection.loop = connection.transport = self
        connection.flow, connection._seconds, connection._writing = FlowControl(None), 1.0, None
        return connection


@pytest.fixture
def ends():
    """Both ends of a TCP connection, which never block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as ours, listener.accept()[0] as peers:
            ours.setblocking(False)
            peers.setblocking(False)
            yield ours, peers


def test_readers_are_closed_that_take_nothing(ends):
    for taken, is_closed in ((1, False), (0, True)):
        clock = Clock(100, ends[0])
        connection = clock.connection()
        connection.pause_writing()
        for _ in range(20):
            clock.unsent -= taken
            clock.timers.pop()()
            if clock.is_aborted:
                break
        assert clock.is_aborted == is_closed and len(clock.timers) == (not is_closed)
        connection.resume_writing()
        assert not clock.timers


def test_readers_that_take_what_the_kernel_holds_stay(ends):
    """The kernel holds megabytes, and asks for no more until many of them are taken."""

    def in_kernel():
        return connections._num_in_kernel(ends[0])

    def take_until(count):
        with contextlib.suppress(BlockingIOError):
            ends[1].recv(65536)
        return in_kernel() < count

    with contextlib.suppress(BlockingIOError):
        while True:
            ends[0].send(bytes(65536))
    clock = Clock(100, ends[0])
    clock.connection().pause_writing()
    for _ in range(3):
        before = in_kernel()
        wait_until(functools.partial(take_until, before))
        clock.timers.pop()()
        assert not clock.is_aborted and len(clock.timers) == 1


# ---- the application by itself ----


def infer(app, body):
    """(status, message) of one call of an ASGI application."""
    sent = []

    async def receive():
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": INFER, "root_path": "", "query_string": b"", "headers": []}
    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], json.loads(b"".join(message["body"] for message in sent[1:]))


@pytest.fixture
def app(plans):
    with amp.Pool(plans[1], sessions=1) as pool:
        settings = Settings(str(plans[0] / "net.plan"), "net")
        yield Service(settings, plans[1], pool, "1").app


def test_requests_without_memory_get_503(app, monkeypatch):
    def fail(*_):
        raise MemoryError

    assert infer(app, request())[0] == 200
    for function in ("read", "answer"):
        with monkeypatch.context() as patched:
            patched.setattr(protocol, function, fail)
            status, message = infer(app, request())
            assert status == 503 and "memory" in message["error"]
    assert infer(app, request())[0] == 200


def test_large_bodies_are_read_beside_the_loop(app, monkeypatch):
    threads, read = [], protocol.read

    def watched(*args):
        threads.append(threading.current_thread() is threading.main_thread())
        return read(*args)

    monkeypatch.setattr(protocol, "read", watched)
    for body in (request(), request() + b" " * 1_000_000):
        assert infer(app, body)[0] == 200
    assert threads == [True, False]


def test_bytes_of_a_run_that_goes_on_are_held():
    memory, run = Memory(10), Future()
    with memory.holding() as held:
        assert held.take(6) and held.take(4) and not held.take(1) and not memory.take(1)
    with memory.holding() as held:
        assert held.take(10)
        held.run = run
    assert not memory.take(1)
    run.set_result(None)
    assert memory.take(10) and not memory.take(1)


# ---- too many, and the end ----


def at_once(service, count, body):
    """Statuses of so many requests at once, each by a connection of its own."""
    statuses = []

    def send():
        statuses.append(service.ask("POST", INFER, body)[0])

    threads = [threading.Thread(target=send) for _ in range(count)]
    for thread in threads:
        thread.start()
    return threads, statuses


def wait_until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def joined(threads):
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_more_than_may_wait_get_503_and_metrics_count_all(plans):
    with serving(plans[0] / "slow" / "net.plan", "--sessions", "1", "--queue", "8") as service:
        threads, statuses = at_once(service, 60, SLOW)
        joined(threads)
        assert set(statuses) == {200, 503} and len(statuses) == 60 and statuses.count(200) >= 9
        metrics = service.metrics()
        for status in (200, 503):
            assert metrics[f'amp_requests_total{{model="net",status="{status}"}}'] == statuses.count(status)
        assert metrics['amp_request_seconds_count{model="net"}'] == 60
        assert metrics['amp_run_seconds_total{model="net"}'] > 0
        assert metrics['amp_waiting_requests{model="net"}'] == metrics['amp_running_requests{model="net"}'] == 0
        assert service.ask("POST", INFER, SLOW)[0] == 200


def test_what_takes_too_long_gets_504(plans):
    with serving(plans[0] / "slow" / "net.plan", "--sessions", "1", "--timeout", "0.001") as service:
        status, _, body = service.ask("POST", INFER, SLOW)
        assert status == 504 and "0.001 s" in json.loads(body)["error"]


def test_requests_that_took_too_long_leave_their_places(tmp_path):
    slow_plan(tmp_path / "net.plan", products=100)
    with serving(tmp_path / "net.plan", "--sessions", "1", "--queue", "3", "--timeout", "0.2") as service:
        threads, statuses = at_once(service, 4, SLOW)
        joined(threads)
        assert statuses == [504] * 4 and service.ask("POST", INFER, SLOW)[0] == 504  # 503 where they keep them
        assert service.metrics()['amp_waiting_requests{model="net"}'] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_service_that_ends_answers_what_waits(plans, number):
    with serving(plans[0] / "slow" / "net.plan", "--sessions", "1") as service:
        idle = service.connection()
        assert ask(idle, "GET", "/v2/health/ready")[0] == 200
        threads, statuses = at_once(service, 9, SLOW)
        wait_until(lambda: service.metrics()['amp_waiting_requests{model="net"}'] >= 4)
        service.process.send_signal(number)
        _, errors = service.process.communicate(timeout=PATIENCE)
        joined(threads)
        assert statuses == [200] * 9 and service.process.returncode == 0 and not errors
        with pytest.raises(ConnectionRefusedError):
            service.ask("GET", "/v2")


def test_the_grace_is_not_endless(plans):
    with serving(plans[0] / "slow" / "net.plan", "--sessions", "1", "--grace", "0") as service:
        threads, statuses = [], []

        def send():
            try:
                statuses.append(service.ask("POST", INFER, SLOW)[0])
            except (ConnectionError, OSError):
                statuses.append(None)

        threads = [threading.Thread(target=send) for _ in range(30)]
        for thread in threads:
            thread.start()
        wait_until(lambda: service.metrics()['amp_waiting_requests{model="net"}'] >= 20)
        service.process.terminate()
        service.process.communicate(timeout=PATIENCE)
        joined(threads)
        assert service.process.returncode == 0 and statuses.count(200) < 30


# ---- workers ----


def children_of(process):
    return [int(text) for text in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def answers(service):
    """A status, or None where a worker was killed with the connection."""
    try:
        return service.ask("POST", INFER, request())[0]
    except (ConnectionError, OSError):
        return None


def test_workers_that_die_are_replaced(plans):
    with serving(plans[0] / "net.plan", "--workers", "2") as service:
        assert "2 workers of" in service.line
        workers = children_of(service.process.pid)
        assert len(workers) == 2
        assert [answers(service) for _ in range(40)] == [200] * 40
        os.kill(workers[0], signal.SIGKILL)
        for _ in range(20):
            assert answers(service) in (200, None)
        wait_until(
            lambda: len(children_of(service.process.pid)) == 2 and workers[0] not in children_of(service.process.pid)
        )
        total = 'amp_requests_total{model="net",status="200"}'
        assert service.metrics()[total] >= 40  # of all workers, those that are gone included
        workers = children_of(service.process.pid)
        service.process.terminate()
        _, errors = service.process.communicate(timeout=PATIENCE)
        assert service.process.returncode == 0 and re.search(r"worker \d+ ended with code -9; another", errors)
        assert not any(Path(f"/proc/{worker}").exists() for worker in workers)


def kill_worker(service, worker):
    """Kills a worker and waits until another one has begun."""
    before = set(children_of(service.process.pid))
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: set(children_of(service.process.pid)) - before)


def test_workers_are_never_made_of_other_model_files(tmp_path):
    shapes = {"data": (1, 4)}
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    prefix, plan = str(tmp_path / "net"), tmp_path / "net.plan"
    amp.save_checkpoint(prefix, 0, net, *amp.model_zoo.seeded_params(net, shapes))
    model = amp.load(f"{prefix}-symbol.json", f"{prefix}-0000.params")
    amp.Executor(*model, shapes, num_threads=1).save(plan, source=prefix)
    with serving(plan, "--workers", "2") as service:
        body = json.dumps({"inputs": [tensor("data", DATA)]}).encode()
        status, _, expected = service.ask("POST", INFER, body)
        assert status == 200
        amp.save_checkpoint(prefix, 0, net, *amp.model_zoo.seeded_params(net, shapes, seed=1))
        first, second = children_of(service.process.pid)
        kill_worker(service, first)
        later = next(each for each in children_of(service.process.pid) if each != second)
        wait_until(lambda: later not in children_of(service.process.pid))  # it is refused
        assert all(service.ask("POST", INFER, body)[2] == expected for _ in range(20))
        service.process.terminate()
        _, errors = service.process.communicate(timeout=PATIENCE)
        assert service.process.returncode == 0 and "changed since the service began" in errors


def test_workers_that_begin_later_load_the_same_plan(tmp_path):
    plan = tmp_path / "net.plan"
    quick_plan(plan)
    with serving(plan, "--workers", "2") as service:
        expected = service.ask("GET", "/v2/models/net")[2]
        slow_plan(plan)  # another model, which takes its name
        for worker in children_of(service.process.pid):
            kill_worker(service, worker)
        for _ in range(20):
            assert service.ask("GET", "/v2/models/net")[2] == expected and answers(service) == 200
        service.process.terminate()
        _, errors = service.process.communicate(timeout=PATIENCE)
        assert service.process.returncode == 0 and "error" not in errors, errors


@pytest.mark.parametrize("has_failed", [False, True])
def test_workers_begin_together_when_the_first_is_ready(has_failed):
    events = []

    class Recorded(supervisor.Supervisor):
        def _start(self):
            events.append("start")
            return self

        def recv(self, _):
            events.append("ready")
            return b"" if has_failed else b"2 plan"

    told = Recorded(Settings("net.plan", "net", workers=3), None, None)._start_all()
    assert told == (b"" if has_failed else b"2")
    assert events == ["start", "ready"] if has_failed else ["start", "ready", "start", "start", "ready", "ready"]


def test_workers_end_with_their_supervisor(plans):
    with serving(plans[0] / "net.plan", "--workers", "2") as service:
        workers = children_of(service.process.pid)
        service.process.kill()
        service.process.wait(PATIENCE)

        def is_running(process):
            with contextlib.suppress(OSError):
                return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
            return False

        wait_until(lambda: not any(map(is_running, workers)))


# ---- what cannot be served ----


def refusal(*arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "amp", "serve", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **environment},
    )
    assert done.returncode == 2 and done.stdout == "" and done.stderr.count("\n") == 1, done
    return done.stderr


def test_what_cannot_be_served_is_told_in_one_line(plans, tmp_path, capsys):
    plan = plans[0] / "net.plan"
    (tmp_path / "text.plan").write_text("text")
    assert "text.plan" in refusal(tmp_path / "text.plan")
    (tmp_path / "cut.plan").write_bytes(plan.read_bytes()[:-5000])  # of which the first worker alone tells
    assert "cut.plan" in refusal(tmp_path / "cut.plan", "--port", "0", "--workers", "2")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert "in use" in refusal(plan, "--port", taken.getsockname()[1])
    wrong = [[flag, "0"] for flag in ("--sessions", "--workers", "--queue", "--batch", "--limit-bytes", "--timeout")]
    wrong += [["--port", "70000"], ["--name", "a/b"], ["--delay", "nan"], ["--grace", "-1"]]
    for flag, value in wrong:
        assert commands.run(commands.parse(["serve", str(plan), flag, value])) == 2
        assert re.fullmatch(f"amp: error: {flag}: .*\n", capsys.readouterr().err)
    for file in ("none.plan", "text.plan"):
        assert commands.run(commands.parse(["serve", str(tmp_path / file), "--port", "0"])) == 2
        assert re.fullmatch(f"amp: error: .*{file}.*\n", capsys.readouterr().err)


def test_the_extra_is_named_where_it_is_missing(plans, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as util\nfind = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'uvicorn' else find(name, *more)\n"
    )
    line = refusal(plans[0] / "net.plan", PYTHONPATH=str(tmp_path))
    assert line == "amp: error: amp serve needs uvicorn: pip install 'nnvm-amp[serve]'\n"
