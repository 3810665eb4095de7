"""Rows that tests hold: what is claimed, and the tests that try to break it."""

import os
import re
import subprocess
import sys
from pathlib import Path

from trust.report import Row

ROOT = Path(__file__).resolve().parents[2]
PLANS, SOURCES, OPEN = (f"plans/test_{name}.py" for name in ("plan_files", "sources", "open_shapes"))
POOL, SERVE, PAGE = (f"serving/test_{name}.py" for name in ("pool", "serve", "page"))
# {check: (test file, words of the tests' names)}
CHECKS = {
    "plans: same bits in another process": (PLANS, "another_process or low_precision_is or loaded_executor"),
    "plans: forged and damaged files": (PLANS, "forged or flipped or cut_files or verify_finds or another_type"),
    "plans: another instruction set or build": (PLANS, "of_others or does_not_fit"),
    "plans: made again from the source": (PLANS, "source"),
    "plans: replaced while in use": (PLANS, "replaced"),
    "plans: pages are those of the file": (PLANS, "no_other_user"),
    "start-up: no array is kept": (SOURCES, ""),
    "shapes: right, known ones found, bounded": (OPEN, ""),
    "pool: nothing lost, nothing twice": (POOL, "lose_nothing or results or order"),
    "pool: errors to their caller": (POOL, "error"),
    "pool: asyncio": (POOL, "asyncio"),
    "pool: back pressure": (POOL, "full or refused or taken_back or cancelled"),
    "pool: ctrl-C, fork, end": (POOL, "ctrl_c or forked or interruption or process_ends or close"),
    "service: protocol": (SERVE, "inference or health or chunked"),
    "service: malformed requests": (SERVE, "malformed or no_http"),
    "service: 10 GB, endless chunks": (SERVE, "endless or long_bodies"),
    "service: dribbling clients": (SERVE, "dribble or readers"),
    "service: 480 at once, a queue of 8": (SERVE, "more_than_may_wait"),
    "service: drain": (SERVE, "that_ends or grace"),
    "service: a worker killed": (SERVE, "workers"),
    "service: the page in a browser": (PAGE, ""),
}


def rows(options):
    """One row for each check; `options.long`: 22,400 forged and damaged files in place of 560."""
    environment = {**os.environ, **({"AMP_TEST_ITERATIONS": "40"} if options.long else {})}
    for check, (path, words) in CHECKS.items():
        command = [sys.executable, "-m", "pytest", "-q", "-rs", str(ROOT / "tests" / "python" / path), "-k", words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
        counts = re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout.splitlines()[-1])
        seen = ", ".join(f"{count} tests {what}" for count, what in counts) or done.stderr[-200:]
        yield Row(check, "all tests pass", seen, done.returncode == 0 and any(what == "passed" for _, what in counts))
