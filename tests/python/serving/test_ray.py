"""The examples of Ray on a cluster of one machine: `make test-ray` installs Ray (676 MB) and runs this."""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest

import amp

pytest.importorskip("ray", reason="ray is not installed: make test-ray")

sys.path.insert(0, str(Path(__file__).parent))
from services import slow_plan  # noqa: E402

PATIENCE = 240  # seconds until a test fails that hangs


@pytest.fixture
def environment(monkeypatch):
    """Ray asks for a token and writes it into the home folder; tests leave none."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")


def processes(word):
    """The numbers of processes whose title has that word."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if folder.name.isdecimal() and word in (folder / "cmdline").read_bytes().decode(errors="replace"):
                found.append(int(folder.name))
    return found


def kill_one(word, known=()):
    """Kills a process whose title has that word, when there is one that is not known; returns its number."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for number in processes(word):
            if number not in known:
                os.kill(number, signal.SIGKILL)
                return number
        time.sleep(0.05)
    raise AssertionError(f"no process {word}")


@contextlib.contextmanager
def program(repository, name, *arguments):
    """An example that runs; its processes end with the block."""
    command = [sys.executable, str(repository / "examples" / name), *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)


def write_rows(folder, count):
    import pyarrow
    import pyarrow.parquet

    folder.mkdir()
    rows = np.random.default_rng(3).standard_normal((count, 1024), dtype=np.float32)
    for i in range(0, count, count // 4):
        part = slice(i, i + count // 4)
        columns = {"data": list(rows[part]), "key": list(range(count))[part]}
        pyarrow.parquet.write_table(pyarrow.table(columns), folder / f"{i}.parquet")
    return rows


def test_a_batch_survives_killed_workers(repository, tmp_path, environment):
    import pyarrow.parquet

    count = 384
    rows = write_rows(tmp_path / "in", count)
    slow_plan(tmp_path / "net.plan")
    arguments = [tmp_path / "net.plan", "--input", tmp_path / "in", "--output", tmp_path / "out", "--workers", 2]
    with program(repository, "ray_batch.py", *arguments) as process:
        time.sleep(1)
        first = kill_one("PlanRunner")
        time.sleep(1)
        kill_one("PlanRunner", [first])
        out, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors[-3000:]
    assert f"wrote {count} rows" in out
    found = pyarrow.parquet.read_table(tmp_path / "out").to_pydict()
    assert sorted(found["key"]) == list(range(count)) and "data" not in found
    run = amp.Executor.load(tmp_path / "net.plan")
    (name,) = run.output_names
    for key, answer in list(zip(found["key"], found[name]))[:: count // 8]:
        assert np.array_equal(np.ravel(answer), run(rows[key : key + 1])[0].asnumpy().ravel())


def test_pictures_keep_their_paths(repository, tmp_path, environment):
    import pyarrow.parquet
    from PIL import Image

    net = amp.sym.Pooling(amp.sym.Variable("data"), global_pool=True, pool_type="avg", kernel=(1, 1), name="mean")
    amp.Executor(net, {}, {}, {"data": (4, 3, 8, 8)}, num_threads=1).save(tmp_path / "net.plan")
    (tmp_path / "in").mkdir()
    for level in range(10):
        Image.new("RGB", (16, 16), (level, 0, 100)).save(tmp_path / "in" / f"{level}.png")
    arguments = ["--input", tmp_path / "in", "--output", tmp_path / "out", "--workers", 1, "--pictures"]
    scale = ["--mean", 0, 0, 0, "--std", 1, 1, 1]
    with program(repository, "ray_batch.py", tmp_path / "net.plan", *arguments, *scale) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors[-3000:]
    found = pyarrow.parquet.read_table(tmp_path / "out").to_pydict()
    levels = {Path(path).stem: np.ravel(value) * 255 for path, value in zip(found["path"], found["mean_output"])}
    assert len(levels) == 10
    for name, value in levels.items():
        assert np.allclose(value, [int(name), 0, 100], atol=1e-3)


def test_too_many_workers_are_refused(repository, tmp_path, environment, monkeypatch):
    """A cluster that cannot give so many CPUs would wait for ever."""
    monkeypatch.syspath_prepend(str(repository / "examples"))
    import ray_batch

    assert ray_batch.problem_of(2, 1, 3) is None and ray_batch.problem_of(1, 2, 3) is None
    assert ray_batch.problem_of(2, 1, 2) == "--workers 2: 1 CPUs each, and the cluster has 2, of which 1 reads files"
    slow_plan(tmp_path / "net.plan")
    arguments = [tmp_path / "net.plan", "--input", tmp_path, "--output", tmp_path / "out", "--workers", 0]
    with program(repository, "ray_batch.py", *arguments) as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2 and "--workers 0: expected 1 or more" in errors


def ask(port, array):
    """(the answer of a POST, the number of the process that gave it)"""
    body = io.BytesIO()
    np.save(body, array)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", body.getvalue(), timeout=PATIENCE) as response:
        return np.load(io.BytesIO(response.read())), int(response.headers["X-Process"])


def test_a_killed_replica_is_replaced(repository, tmp_path, environment):
    slow_plan(tmp_path / "net.plan", products=1)
    array = np.random.default_rng(4).standard_normal((1, 1024), dtype=np.float32)
    expected = amp.Executor.load(tmp_path / "net.plan")(array)[0].asnumpy()
    with program(repository, "ray_serve.py", tmp_path / "net.plan", "--replicas", 2, "--port", 8765) as process:
        line = process.stdout.readline()
        while line and "serving http" not in line:
            line = process.stdout.readline()
        assert line, process.stderr.read()[-3000:]
        port = int(re.search(r":(\d+)/", line)[1])
        numbers = {ask(port, array)[1] for _ in range(20)}
        assert len(numbers) == 2
        os.kill(numbers.pop(), signal.SIGKILL)
        time.sleep(2)
        answers = [ask(port, array)[0] for _ in range(30)]
        assert all(np.array_equal(answer, expected) for answer in answers)
        with pytest.raises(urllib.error.HTTPError) as refusal:
            ask(port, array[:, :7])
        assert refusal.value.code == 400 and b"data" in refusal.value.read()
