"""Runs libraries for MXNet on this package, in an environment of their own: `make clients`.

usage: run.py VENV BUILD [--sources FOLDER] [--only NAME ...] [--page PAGE]

The environment has the package as a wheel lays it out, and the wheel of the name mxnet: what runs says `import mxnet`.
Tests come from source trees in FOLDER; what is not there is counted as not run. What ran is a row of the table in PAGE.
"""

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from environment_of_mxnet import rows_of, set_up, write_table  # noqa: E402
from table import CLIENTS  # noqa: E402

VERSION = "1.9.1"
COMMAND = "make clients"
MINUTES = 30  # for the tests of a client


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("venv", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--sources", default="")
    parser.add_argument("--only", nargs="*", choices=CLIENTS, default=[])
    parser.add_argument("--page", type=Path)
    options = parser.parse_args(argv)
    packages = ["--no-deps", "--no-build-isolation", *(client.requirement for client in CLIENTS.values())]
    requirements = ["-r", HERE / "requirements.txt"], packages
    python = set_up(options.venv.resolve(), options.build.resolve(), VERSION, *requirements)
    sources = Path(options.sources).resolve() if options.sources else None
    rows = []
    for name in options.only or CLIENTS:
        rows.append(Run(name, CLIENTS[name], python, sources).row())
        print(" | ".join(rows[-1]), flush=True)
        if options.page:
            write_rows(options.page, rows[-1:])
    return any(row[-1] == "no" for row in rows)


# ---- one client ----


class Run:
    """What one client does: its row of the table."""

    def __init__(self, name, client, python, sources):
        self.name, self.client, self.python, self.sources = name, client, python, sources
        self.is_good = True

    def row(self):
        parts = self.imports(), self.tests(), self.program()
        return [self.name, self.client.requirement.partition("==")[2], *parts, "yes" if self.is_good else "no"]

    def imports(self):
        done = self.python_call("-W", "ignore", "-c", f"import {self.client.imports}")
        self.is_good &= done.returncode == 0
        return (
            "yes" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no"])[-1][:80].replace("|", "/")
        )

    def tests(self):
        if not self.client.tests:
            return ""
        folder, arguments = self.client.tests
        if self.sources is None or not (self.sources / folder).is_dir():
            return "not run"
        report = self.python.parents[1] / f"{self.name}.xml"
        report.unlink(missing_ok=True)
        options = ["-q", "-p", "no:cacheprovider", "--timeout=300", f"--junitxml={report}"]
        options += [word for warning in self.client.ignored or ("",) for word in ("-W", f"ignore::{warning}")]
        options.append("--continue-on-collection-errors")  # of files whose own requirements are missing
        self.python_call("-m", "pytest", *options, *arguments, cwd=self.sources / folder)
        passed, failed = counted(report)
        self.is_good &= passed >= self.client.needed
        return f"{passed} of {passed + failed}"

    def program(self):
        if not self.client.program:
            return ""
        lines = self.python_call(HERE / self.client.program).stdout.splitlines()
        succeeded = [line for line in lines if line.startswith("ok ")]
        failed = [line for line in lines if line.startswith("failed ")]
        for line in failed:
            print(f"    {line}", flush=True)
        self.is_good &= len(succeeded) >= self.client.cases
        return f"{len(succeeded)} of {len(succeeded) + len(failed)}"

    def python_call(self, *arguments, cwd=None):
        environment = {**os.environ, **dict(self.client.environment)}
        command = ["timeout", f"{MINUTES}m", str(self.python), *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def counted(report):
    """(passed, failed) tests of a report; skipped ones are neither."""
    if not report.exists():
        return 0, 0
    suite = xml.etree.ElementTree.parse(report).getroot().find("testsuite")
    numbers = {key: int(suite.get(key)) for key in ("tests", "errors", "failures", "skipped")}
    failed = numbers["errors"] + numbers["failures"]
    return numbers["tests"] - failed - numbers["skipped"], failed


# ---- the page ----


def write_rows(page, rows):
    """Writes rows to the table of the page; those of other clients stay."""
    head = ["client", "version", "imported", "its tests that pass", "cases of its program", "as it should be"]
    known = {row[0]: row for row in (*rows_of(page.read_text(), COMMAND), *rows)}
    ordered = [known[name] for name in (*CLIENTS, *(name for name in known if name not in CLIENTS)) if name in known]
    write_table(page, COMMAND, head, ordered)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
