"""Measuring one cell: all contestants on one network, batch size and number of threads."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from .prepare import batch_folder, load_outputs
from .processes import Worker, WorkerError
from .stats import relative_max, relative_rms

ROUNDS_PER_PROBE = 5


def measure_cell(cell, entries, settings):
    """`cell` (network, batch, threads, busy) with probes, and per entry what its worker told.

    entries: dicts with name, contestant, precision, environment, python. settings: folder, probe, rounds, seconds,
    calls.
    A contestant that fails is kept with its error; the others go on.
    """
    cell = {**cell, "probes": [], "results": []}
    cpus = sorted(os.sched_getaffinity(0))[: cell["threads"]]
    folder = Path(settings.folder) / cell["network"]
    inputs = batch_folder(folder, cell["batch"]) / "inputs.npz"
    with ExitStack() as stack:
        running = []
        for entry in entries:
            specification = {
                "contestant": entry["contestant"],
                "precision": entry["precision"],
                "cpus": cpus,
                "model": str(folder),
                "inputs": str(inputs),
            }
            worker = stack.enter_context(Worker(specification, entry["environment"], entry["python"]))
            result = {key: entry[key] for key in ("name", "contestant", "precision")}
            cell["results"].append({**result, "rounds": []})
            running.append((worker, cell["results"][-1]))
            _guarded(*running[-1], _load, batch_folder(folder, cell["batch"]) / "expected.npz")
        stack.enter_context(busy_programs(cell["busy"], cpus))
        for i in range(settings.rounds):
            if i % ROUNDS_PER_PROBE == 0:
                cell["probes"].append(probe(settings.probe, cpus))
            # Each begins a round in turn: who follows whom must not decide.
            start = i % len(running)
            for worker, result in running[start:] + running[:start]:
                _guarded(worker, result, _measure, settings.seconds, settings.calls)
    cell["probes"].append(probe(settings.probe, cpus))
    return cell


@contextmanager
def busy_programs(load, cpus):
    """Keeps "2" or "2low" other programs running on these CPUs, the latter with the lowest priority."""
    count, low = int(load.removesuffix("low")), load.endswith("low")

    def prepare():
        os.sched_setaffinity(0, cpus)
        os.nice(19 if low else 0)

    command = [sys.executable, "-c", "while True: pass"]
    programs = [subprocess.Popen(command, preexec_fn=prepare) for _ in range(count)]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def _guarded(worker, result, action, *arguments):
    if "failed" in result:
        return
    try:
        action(worker, result, *arguments)
    except WorkerError as error:
        result["failed"] = str(error)


def _load(worker, result, expected):
    result.update(worker.load())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "outputs.npz"
        worker.ask("save", path=str(path))
        outputs, wanted = load_outputs(path), load_outputs(expected)
    if [array.shape for array in outputs] != [array.shape for array in wanted]:
        raise WorkerError(f"shapes {[a.shape for a in outputs]} instead of {[a.shape for a in wanted]}")
    result["error_rms"], result["error_max"] = relative_rms(outputs, wanted), relative_max(outputs, wanted)


def _measure(worker, result, seconds, calls):
    answer = worker.ask("measure", seconds=seconds, calls=calls)
    times = answer["times"]
    result["peak_mb"] = answer["peak_mb"]
    result["rounds"].append({"min": min(times), "median": median(times), "calls": len(times)})
    result.setdefault("times", []).extend(round(time, 4) for time in times)


def probe(program, cpus):
    """What the machine can do now, on these CPUs: see machine_probe.cc."""
    command = [program, str(len(cpus))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    return json.loads(done.stdout)
