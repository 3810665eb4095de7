"""Runs programs under `mpiexec`; tests that need it are skipped where mpi4py and an MPI are not installed."""

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@functools.cache
def launcher():
    """The path of mpiexec. Skips the test, with the reason, where there is none."""
    beside = Path(sys.executable).parent / "mpiexec"
    path = str(beside) if beside.is_file() else shutil.which("mpiexec")
    if path is None:
        pytest.skip("needs an MPI: pip install mpi4py mpich")
    probe = subprocess.run([sys.executable, "-c", "from mpi4py import MPI"], capture_output=True, text=True)
    if probe.returncode:
        pytest.skip("needs mpi4py: pip install mpi4py mpich")
    return path


def command(size, script, *arguments):
    """What starts a program (a path, or its text) as `size` ranks."""
    program = [str(script)] if Path(str(script)).suffix == ".py" else ["-c", script]
    return [launcher(), "-n", str(size), sys.executable, *program, *map(str, arguments)]


def environment(**variables):
    """As OpenMPI wants it for root on few CPUs; mpich reads none of it."""
    openmpi = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    return {**os.environ, "OMP_NUM_THREADS": "1", **openmpi, **variables}


def run(size, script, *arguments, timeout=60, cwd=None):
    """The finished process, with its output as text."""
    started = command(size, script, *arguments)
    return subprocess.run(started, capture_output=True, text=True, timeout=timeout, cwd=cwd, env=environment())
