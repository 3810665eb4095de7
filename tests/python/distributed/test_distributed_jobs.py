"""examples/train_ring.py under mpiexec: it learns, a killed rank ends the job, and the job goes on to the same bits."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import mpi_runs
import numpy as np


def processes_of(mark):
    """{pid: command line} of the processes whose environment has the mark."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes():
                found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it has ended
    return found


def wait_until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_a_killed_rank_ends_the_job_and_the_job_goes_on_to_the_same_bits(repository, tmp_path):
    example = repository / "examples" / "train_ring.py"
    mark = f"AMP_TEST_JOB={os.getpid()}-{time.monotonic_ns()}"
    environment = mpi_runs.environment(**dict([mark.split("=")]))

    def start(folder, *more):
        arguments = ["--steps", 60, "--length", 32, "--batch", 4, "--output", tmp_path / folder, *more]
        command = mpi_runs.command(4, example, *arguments)
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    whole = start("whole")
    assert whole.wait(60) == 0, whole.communicate()[1]
    killed = start("killed")
    latest = tmp_path / "killed" / "latest"
    assert wait_until(lambda: latest.exists() or killed.poll() is not None, 30)
    time.sleep(float(np.random.default_rng().uniform(0, 0.05)))
    ranks = [pid for pid, line in processes_of(mark).items() if line.split()[0] == sys.executable]
    assert len(ranks) == 4
    os.kill(ranks[int(np.random.default_rng().integers(4))], signal.SIGKILL)
    killed.communicate(timeout=10)
    assert killed.returncode != 0
    assert wait_until(lambda: not processes_of(mark), 10), processes_of(mark)
    assert json.loads(latest.read_text()) < 60
    resumed = start("killed", "--resume")
    assert resumed.wait(60) == 0, resumed.communicate()[1]
    assert (tmp_path / "killed/ring-0000.params").read_bytes() == (tmp_path / "whole/ring-0000.params").read_bytes()


def test_the_example_learns_to_look_at_other_ranks(repository, tmp_path):
    """Tokens of the second half are known to who looks at the first; log(32) = 3.47 to who does not."""
    example = repository / "examples" / "train_ring.py"
    done = mpi_runs.run(2, example, "--weight-grad-reduce", "bf16", "--output", tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    losses = [float(line.split()[-1]) for line in done.stdout.splitlines()]
    assert losses[0] > 3 and losses[-1] < 0.3
