"""`amp bench`: models, plans and services, one or several calls at once. Nothing here depends on time itself."""

import http.server
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from amp import commands
from amp.__main__ import main
from amp._cli import bench

DATA = ("--random", "data=1x1x8x8")
QUICK = ("--warm-up", "0", "--duration", "0")


@pytest.fixture
def digits(repository):
    return str(repository / "examples" / "digits" / "digits")


@pytest.fixture
def plan(digits, tmp_path):
    path = str(tmp_path / "digits.plan")
    assert main(["compile", digits, "--shape", "data=1x1x8x8", "--threads", "1", "-o", path]) == 0
    return path


def test_percentiles():
    values = sorted(float(number) for number in range(1, 101))
    assert [bench.percentile(values, part) for part in (50, 90, 99)] == [50, 90, 99]
    assert [bench.percentile([7.0], part) for part in (50, 99)] == [7, 7]
    assert bench.percentile([1.0, 2.0, 3.0], 50) == 2


def test_a_ratio_of_medians_has_its_range():
    first, second = [1.0] * 20, [2.0] * 10 + [4.0] * 10
    found = bench.ratio(first, second)
    assert (found["lowest"], found["highest"], found["parts"]) == (2, 4, 10) and found["ratio"] == 2
    second[3] = 1000.0  # one hiccup
    assert bench.ratio(first, second)["highest"] < 1000 or bench.ratio(first, second)["ratio"] <= 4


def test_models_take_turns():
    order = []

    class Fake(bench.Timed):
        def __init__(self, name):
            super().__init__(name, None, 1)

        def run(self):
            order.append(self.label)
            self.turns.append(1.0)

    bench._take_turns([Fake("a"), Fake("b")], 0, 0)
    assert order == list("ab" + "ab" + "ba" + "ab" + "ba" + "ab")


def test_bench_compares_models(digits, tmp_path, capsys):
    assert main(["convert", digits, "-o", str(tmp_path / "low")]) == 0
    capsys.readouterr()
    assert main(["bench", digits, *DATA, *QUICK, "--threads", "1,2", "--against", str(tmp_path / "low"), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    variants = ["digits stored", "low stored"]
    assert [(row["variant"], row["threads"]) for row in facts["latency"]] == [(v, n) for n in (1, 2) for v in variants]
    assert all(row["runs"] >= 5 for row in facts["latency"])
    assert {(row["variant"], row["against"]) for row in facts["ratios"]} == {(v, variants[0]) for v in variants[1:]}
    assert all(row["peak_bytes"] > 1e7 for row in facts["start"])


def test_bench_prints_a_table(digits, capsys):
    assert main(["bench", digits, *DATA, *QUICK]) == 0
    text = capsys.readouterr().out
    assert "p99 ms" in text and "peak memory" in text and len(re.findall("^digits stored ", text, re.M)) == 2


@pytest.mark.parametrize(
    "options, word",
    [
        (("--precision", "bfloat"), "did you mean 'bfloat16'"),
        (("--precision", "stored,stored"), "twice"),
        (("--threads", "1,x"), "--threads"),
        (("--duration", "-1"), "--duration"),
        (("--against", "nothing"), "nothing-symbol.json"),
    ],
)
def test_bench_refuses(digits, capsys, options, word):
    assert main(["bench", digits, *DATA, *options]) == commands.USER_ERROR
    assert word in capsys.readouterr().err


def test_several_callers_have_a_turn_together():
    seen = []
    with ThreadPoolExecutor(3) as workers:
        timed = bench.Timed("a", lambda: seen.append(threading.get_ident()), 1, 3, workers)
        timed.warm_up(0)
        timed.run()
        timed.run()
    facts = timed.facts()
    assert (facts["runs"], facts["callers"], len(timed.turns), len(seen)) == (24, 3, 2, 36)
    assert facts["runs_per_second"] == pytest.approx(2 / sum(timed.turns))


def test_bench_compares_a_plan_and_sessions_with_a_model(digits, plan, capsys):
    capsys.readouterr()
    assert main(["bench", digits, *DATA, *QUICK, "--against", plan, "--sessions", "1,2", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    variants = ["digits stored", "digits stored, 2 at once", "digits.plan", "digits.plan, 2 at once"]
    assert [row["variant"] for row in facts["latency"]] == variants
    assert [row["callers"] for row in facts["latency"]] == [1, 2, 1, 2]
    assert [row["variant"] for row in facts["start"]] == ["digits stored", "digits.plan"]
    assert facts["files"]["digits.plan"] == [plan]
    assert facts["latency"][2]["threads"] == 1


def test_bench_of_a_plan_alone_needs_no_data(plan, capsys):
    assert main(["bench", plan, *QUICK]) == 0
    assert re.search(r"^digits.plan +1 ", capsys.readouterr().out, re.M)


class JsonService(http.server.BaseHTTPRequestHandler):
    """A service of another maker, which knows no bytes and takes batches of any size."""

    protocol_version = "HTTP/1.1"
    bodies = []

    def log_message(self, *_):
        pass

    def answer(self, message, status=200):
        text = json.dumps(message).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def do_GET(self):
        inputs = [{"name": "data", "datatype": "FP32", "shape": [-1, 1, 8, 8]}]
        known = {"/v2": {"name": "other"}, "/v2/models/net": {"name": "net", "inputs": inputs}, "/v2/models/odd": [1]}
        if self.path in known:
            self.answer(known[self.path])
        else:
            self.answer({"error": "unknown model"}, 404)

    def do_POST(self):
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer({"outputs": []})


@pytest.fixture
def address():
    JsonService.bodies.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), JsonService) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_service_that_knows_json_alone_gets_json(digits, address, tmp_path, capsys):
    values = np.arange(64, dtype="float32").reshape(1, 1, 8, 8)
    np.save(tmp_path / "x.npy", values)
    url = f"{address}/v2/models/net"
    assert main(["bench", digits, "--input", f"data={tmp_path}/x.npy", *QUICK, "--url", url, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [row["variant"] for row in facts["latency"]] == ["digits stored", url]
    assert facts["latency"][1]["threads"] is None and facts["ratios"][0]["against"] == "digits stored"
    assert [row["variant"] for row in facts["start"]] == ["digits stored"]
    (sent,) = JsonService.bodies[-1]["inputs"]
    assert (sent["shape"], sent["datatype"], sent["data"]) == ([1, 1, 8, 8], "FP32", values.ravel().tolist())


def test_a_service_alone_gets_random_data(address, capsys):
    assert main(["bench", *QUICK, "--url", f"{address}/v2/models/net"]) == 0
    assert "in a fresh process" not in capsys.readouterr().out
    assert len(JsonService.bodies) > 5 and JsonService.bodies[0]["inputs"][0]["shape"] == [1, 1, 8, 8]


@pytest.mark.parametrize(
    "path, text",
    [
        ("/v2/models/none", 'GET /v2/models/none was answered with 404: {"error": "unknown model"}'),
        ("/v2/models/odd", "its metadata are not those of the Open Inference Protocol"),
        ("/", "--url: expected the address of a model, http://HOST:PORT/v2/models/NAME"),
    ],
)
def test_addresses_of_no_model(address, capsys, path, text):
    assert main(["bench", *QUICK, "--url", address + path]) == commands.USER_ERROR
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments, text",
    [
        ([], "nothing to time"),
        (["--url", "https://127.0.0.1/v2/models/x"], "--url: expected the address"),
        (["--url", "http://127.0.0.1:port/v2/models/x"], "--url: expected the address"),
        (["--url", "http://127.0.0.1:1/v2/models/x"], "Connection refused"),
    ],
)
def test_bench_without_a_model_refuses(capsys, arguments, text):
    assert main(["bench", *QUICK, *arguments]) == commands.USER_ERROR
    assert text in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, text",
    [
        (("--threads", "1"), "leave --threads out"),
        (("--mode", "exact"), "leave --mode out"),
        (("--sessions", "0"), "--sessions: expected numbers"),
        (("--sessions", "2,02"), "twice"),
        (("--random", "dat=1x1x8x8"), "did you mean 'data'"),
    ],
)
def test_bench_of_a_plan_refuses(plan, capsys, options, text):
    assert main(["bench", plan, *QUICK, *options]) == commands.USER_ERROR
    assert text in capsys.readouterr().err
