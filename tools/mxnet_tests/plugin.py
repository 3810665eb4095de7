"""What pytest does beside running MXNet's tests: writes results as they come, draws samples, gives every test a seed.

Environment: RESULTS is the file that is appended to, SAMPLE the number of parameter sets per function (0: all),
SKIP a file of the tests that are done already.
"""

import json
import os
import random
import sys
import zlib
from collections import defaultdict
from pathlib import Path

import pytest


def pytest_configure(config):
    """Tests of master share functions in a folder of theirs that has the name of this package."""
    if (config.rootpath / "amp" / "common.py").exists():
        import amp

        amp.__path__.append(str(config.rootpath / "amp"))


def pytest_collection_modifyitems(items):
    """Leaves out what is done, and all but a sample of each function's parameter sets."""
    done = set(Path(os.environ["SKIP"]).read_text().splitlines()) if os.environ.get("SKIP") else ()
    chosen = sample([item.nodeid for item in items], int(os.environ.get("SAMPLE", "0")))
    items[:] = [item for item in items if item.nodeid in chosen and item.nodeid not in done]


def sample(names, count):
    """The tests to run: at most `count` of each function, the same ones every time."""
    functions = defaultdict(list)
    for name in names:
        functions[name.partition("[")[0]].append(name)
    chosen = set()
    for function, sets in functions.items():
        draw = random.Random(zlib.crc32(function.encode()))
        chosen.update(draw.sample(sets, count) if 0 < count < len(sets) else sets)
    return chosen


@pytest.fixture(autouse=True)
def _seed(request):
    import mxnet
    import numpy

    seed = zlib.crc32(request.node.nodeid.encode()) % 2**31
    random.seed(seed), numpy.random.seed(seed), mxnet.random.seed(seed)
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid, location):
    write(nodeid, "started")


def pytest_runtest_logreport(report):
    if report.failed:
        write(report.nodeid, "failed", last_line(report))
    elif report.skipped:
        write(report.nodeid, "skipped", last_line(report))
    elif report.when == "call":
        write(report.nodeid, "passed")


def pytest_runtest_logfinish():
    """Forgets the frames of a test that failed: master looks for arrays that nobody frees while the next one runs."""
    for name in ("last_type", "last_value", "last_traceback", "last_exc"):
        if hasattr(sys, name):
            delattr(sys, name)


def pytest_collectreport(report):
    if report.failed:
        write(report.nodeid, "failed", last_line(report))
    elif report.skipped:
        write(report.nodeid, "skipped", last_line(report))


def pytest_sessionfinish():
    write("", "ended")


def last_line(report):
    """The error's own line of a report."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash else str(report.longrepr)
    lines = [line.strip(" E") for line in text.splitlines() if line.strip(" E")] or [""]
    return (lines[0] if crash else lines[-1])[:300]


def write(test, outcome, error=""):
    with open(os.environ["RESULTS"], "a") as file:
        file.write(json.dumps([test, outcome, error]) + "\n")
