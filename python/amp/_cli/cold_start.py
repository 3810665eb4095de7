"""What a process needs until a model has run once: `python -m amp._cli.cold_start` tells `amp bench`.

Reads what to do as JSON from stdin, and writes one JSON object to stdout.
"""

import argparse
import json
import resource
import sys
import time
import warnings

from .bench_subjects import subject_of


def main():
    """Loads, binds and runs a model once."""
    asked = json.load(sys.stdin)
    subject = subject_of(*asked["subject"])
    options = argparse.Namespace(**asked["options"])
    marks = [time.perf_counter()]
    loaded = subject.load()
    marks.append(time.perf_counter())
    arrays = subject.arrays(loaded, options)
    marks.append(time.perf_counter())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the process that asks has told them
        executor = subject.bind(loaded, arrays, options, asked["threads"])
    marks.append(time.perf_counter())
    executor(arrays)
    marks.append(time.perf_counter())
    load, _, bind, first_run = (after - before for before, after in zip(marks, marks[1:]))
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    facts = {"load_seconds": load, "bind_seconds": bind, "first_run_seconds": first_run, "peak_bytes": peak}
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
