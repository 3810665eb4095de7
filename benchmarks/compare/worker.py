"""One contestant in a process of its own: `python -m benchmarks.compare.worker SPECIFICATION`.

Reads commands, one JSON object a line, from standard input and answers each with a line; between them it waits.
Runs under any Python that has the contestant's package and NumPy (MXNet's is an old one), so it imports nothing else.
"""

import json
import os
import sys
import time

import numpy as np

from .contestants import CONTESTANTS
from .steps import STEP_CONTESTANTS
from .training import TRAINING_CONTESTANTS


def main(text):
    specification = json.loads(text)
    answers = _private_stdout()
    os.sched_setaffinity(0, specification["cpus"])
    state = State(specification)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = getattr(state, command.pop("do"))(**command)
        except Exception as error:  # whatever a library throws is this contestant's result
            answer = {"error": f"{type(error).__name__}: {error}"[:600]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _private_stdout():
    """Libraries may print: what they write goes to stderr, answers to the pipe."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


class State:
    def __init__(self, specification):
        self.specification = specification
        self.contestant, self.inputs = None, None

    def load(self):
        """Seconds of construction, of construction and the first call, and what was used."""
        spec = self.specification
        with np.load(spec["inputs"]) as stored:
            self.inputs = {name: stored[name] for name in stored.files}
        self.contestant = {**CONTESTANTS, **TRAINING_CONTESTANTS, **STEP_CONTESTANTS}[spec["contestant"]](
            spec["precision"], len(spec["cpus"])
        )
        begin = time.perf_counter()
        self.contestant.load(spec["model"], {name: array.shape for name, array in self.inputs.items()})
        loaded = time.perf_counter()
        self.contestant.run(self.inputs)
        ran = time.perf_counter()
        return {
            "load_s": loaded - begin,
            "first_s": ran - begin,
            "peak_mb": _peak_mb(),
            "version": self.contestant.version,
            "settings": self.contestant.settings,
        }

    def save(self, path):
        """Writes the outputs of a run."""
        outputs = self.contestant.run(self.inputs)
        np.savez(path, **{f"out{i}": np.asarray(array, np.float32) for i, array in enumerate(outputs)})
        return {}

    def measure(self, seconds, calls):
        """Times of single calls in ms: at least so many calls and so many seconds, after one call that warms caches."""
        run, inputs, clock = self.contestant.run, self.inputs, time.perf_counter
        run(inputs)
        times = []
        end = clock() + seconds
        while len(times) < calls or clock() < end:
            begin = clock()
            run(inputs)
            times.append((clock() - begin) * 1e3)
        return {"times": times, "peak_mb": _peak_mb()}


def _peak_mb():
    """Of this program alone: getrusage would count the process that started it, too."""
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


if __name__ == "__main__":
    main(sys.argv[1])
