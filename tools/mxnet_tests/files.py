"""Runs one file of tests in processes of its own: a crash costs one test, a time-out the rest of the file."""

import json
import os
import subprocess
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
OPTIONS = ("-q", "-p", "no:cacheprovider", "-p", "plugin", "-c", "/dev/null", "-p", "no:warnings")
TIMEOUT = ("--timeout",)  # of the plugin pytest-timeout


def run_file(python, folder, file, scratch, sample=0, seconds_of_test=120, seconds_of_file=1800):
    """{test: (outcome, last line of the error)} of a file below the folder `tests/python`.

    A file that cannot be imported has one result under its own name.
    """
    report, skip = scratch / "results.jsonl", scratch / "done.txt"
    report.write_text(""), skip.write_text("")
    environment = {
        **os.environ,
        "RESULTS": str(report),
        "SKIP": str(skip),
        "SAMPLE": str(sample),
        "PYTHONPATH": str(HERE),
        "MXNET_TEST_SEED": "1234",
        "MXNET_MODULE_SEED": "1234",
        "HOME": str(scratch),
    }
    limit = [f"{option}={seconds_of_test}" for option in TIMEOUT]
    command = [python, "-m", "pytest", *OPTIONS, f"--rootdir={folder}", *limit, Path(file).name]
    end = time.monotonic() + seconds_of_file
    while True:
        log, why = scratch / (file.replace("/", "-") + ".log"), "the process ended"
        try:
            with open(log, "w") as out:
                where = (folder / file).parent
                left = max(1, end - time.monotonic())
                subprocess.run(command, cwd=where, env=environment, stdout=out, stderr=subprocess.STDOUT, timeout=left)
        except subprocess.TimeoutExpired:
            return finished(read_results(report), "time-out of the file")
        results = read_results(report)
        if results.pop("", None) or "started" not in {outcome for outcome, _ in results.values()}:
            return finished(results, why)
        before = len(skip.read_text().splitlines())
        append_crash(report, finished(results, why))
        skip.write_text("\n".join(results) + "\n")
        if len(results) <= before:
            return finished(results, why)


def finished(results, why):
    """Tests that began and did not end have failed."""
    results.pop("", None)
    return {test: ("failed", why) if result[0] == "started" else result for test, result in results.items()}


def append_crash(report, results):
    """What a process that ended was at gets its result written, for the next process begins anew."""
    lines = [json.dumps([test, *result]) + "\n" for test, result in results.items()]
    report.write_text("".join(lines))


def read_results(report):
    """{test: (outcome, error)} of a file of lines; of several lines for one test the worst counts."""
    order = ("started", "passed", "skipped", "failed", "ended")
    results = {}
    for line in report.read_text().splitlines():
        try:
            test, outcome, error = json.loads(line)
        except ValueError:  # half a line
            continue
        if test not in results or order.index(outcome) > order.index(results[test][0]):
            results[test] = outcome, error
    return results
