"""The driver's side of a worker."""

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class WorkerError(RuntimeError):
    """What a contestant said instead of a result."""


class Worker:
    """A contestant that is running. Use it in a with statement."""

    def __init__(self, specification, environment=None, python=sys.executable, timeout=900):
        self.timeout, self._started = timeout, time.perf_counter()
        threads = str(len(specification["cpus"]))
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.compare.worker", json.dumps(specification)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if "AMP_BENCH_STDERR" not in os.environ else None,
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": threads, **(environment or {})},
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def ask(self, do, **arguments):
        """The answer to a command. Raises WorkerError where the contestant fails, dies or does not answer in time."""
        try:
            self._process.stdin.write(json.dumps({"do": do, **arguments}).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise WorkerError(f"the process ended with code {self._process.wait()}") from None
        ready, _, _ = select.select([self._process.stdout], [], [], self.timeout)
        if not ready:
            raise WorkerError(f"no answer within {self.timeout} s")
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError(f"the process ended with code {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(answer["error"])
        return answer

    def load(self):
        """Loads the model; adds the seconds from the start of the process to the first result."""
        return {**self.ask("load"), "start_s": time.perf_counter() - self._started}
