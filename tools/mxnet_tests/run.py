"""Runs MXNet's own tests on this package: `make mxnet-tests MXNET_SOURCE=folder`.

usage: run.py VENV BUILD SOURCE [--version 1.9.1 master] [--only FILE ...] [--sample N] [--timeout SECONDS]
              [--file-timeout SECONDS] [--update] [--page PAGE]

SOURCE has a folder for each version, `1.9.1` and `master`, with MXNet's `tests` and `tools`. Tests run in copies of
them, in an environment for each version with the package as a wheel lays it out and the wheel of the name mxnet.
Results are compared with expected-VERSION.txt: a test that fails and is not there, or is there and passes, is an error.
"""

import argparse
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import expected  # noqa: E402
from environment_of_mxnet import rows_of, set_up, write_table  # noqa: E402
from files import run_file  # noqa: E402

COMMAND = "make mxnet-tests"
NAMES = {"1.9.1": "1.9.1", "master": "2.0.0"}  # folder of SOURCE -> version of the name mxnet
HEAD = ["version", "parameter sets", "passed", "failed", "out of scope", "skipped", "share", "files out of scope"]


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name in ("venv", "build", "source"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--version", nargs="*", choices=NAMES, default=list(NAMES))
    parser.add_argument("--only", nargs="*", default=[], metavar="FILE", help="such as unittest/test_ndarray.py")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="parameter sets of each function; 0: all")
    parser.add_argument("--timeout", type=int, default=300, help="seconds for a test")
    parser.add_argument("--file-timeout", type=int, default=3600, help="seconds for a file")
    parser.add_argument("--update", action="store_true", help="write the lists of expected failures anew")
    parser.add_argument("--page", type=Path, help="write the totals to its table")
    options = parser.parse_args(argv)
    is_good = True
    for version in options.version:
        is_good &= Version(version, options).run()
    return 0 if is_good else 1


class Version:
    """The tests of one version."""

    def __init__(self, version, options):
        self.version, self.options = version, options
        self.path = HERE / f"expected-{version}.txt"
        self.known = expected.List(expected.read(self.path.read_text()) if self.path.exists() else [])
        self.results, self.left_out, self.ran = {}, {}, []

    def run(self):
        """Whether everything is as the list says."""
        venv = (self.options.venv / self.version).resolve()
        requirements = ["-r", HERE / "requirements.txt"]
        python = set_up(venv, self.options.build.resolve(), NAMES[self.version], requirements)
        folder = copied(self.options.source.resolve() / self.version, venv / "source")
        for file in self.options.only or files_of(folder):
            self.run_one(python, folder, file, venv / "source")
        self.report_outcome()
        if self.options.update:
            entries = expected.updated(self.known, self.results, bool(self.options.sample))
            self.path.write_text(expected.text_of(entries, HEAD_OF_LISTS.format(self.version)))
        if self.options.page and not self.options.only:
            self.write_row()
        return self.options.update or not expected.surprises(self.known, self.results)

    def run_one(self, python, folder, file, scratch):
        """One line for a file."""
        entry = self.known.leaves_out(file)
        if entry:
            self.left_out[file] = entry
            return self.say(f"{file}: out of scope: {entry.kind}: {entry.reason}")
        if not (folder / file).is_file():
            return self.say(f"{file}: not run: there is no such file")
        begin, options = time.monotonic(), self.options
        limits = options.sample, options.timeout, options.file_timeout
        results = run_file(python, folder, file, scratch, *limits)
        self.results.update(results), self.ran.append(file)
        numbers = ", ".join(f"{count} {kind}" for kind, count in counts(self.known, results).items() if count)
        self.say(f"{file}: {numbers or 'no tests'} ({time.monotonic() - begin:.0f} s)")
        for line in expected.surprises(self.known, results):
            self.say(f"    {line}")

    def say(self, text):
        print(f"{self.version} {text}", flush=True)

    def report_outcome(self):
        """Totals."""
        numbers = counts(self.known, self.results)
        self.say("total: " + ", ".join(f"{count} {kind}" for kind, count in numbers.items() if count))
        self.say(f"passed of what is in scope: {share(numbers)}; {len(self.left_out)} files out of scope")
        if not self.options.sample:
            for entry in expected.idle(self.known, self.results, self.ran):
                self.say(f"no test is meant by: {entry}")

    def write_row(self):
        """The row of this version in the page's table; others stay."""
        numbers = counts(self.known, self.results)
        scope = sum(numbers[kind] for kind in expected.OUT_OF_SCOPE)
        failed = sum(numbers[kind] for kind in (*expected.IN_SCOPE, "failed"))
        ran = numbers["passed"], failed, scope, numbers["skipped"]
        row = [self.version, self.options.sample or "all", *ran, share(numbers), len(self.left_out)]
        known = {row[0]: row for row in rows_of(self.options.page.read_text(), COMMAND)}
        known[self.version] = [str(cell) for cell in row]
        write_table(self.options.page, COMMAND, HEAD, [known[name] for name in NAMES if name in known])


HEAD_OF_LISTS = """\
# Tests of MXNet {} that fail on this package, and why: `pattern  # class: reason`; see expected.py.
# `make mxnet-tests MXNET_ARGS=--update` writes it anew; reasons stay.
"""


def copied(source, scratch):
    """The folder `tests/python` of a copy of MXNet's tests, without MXNet's own modules."""
    shutil.rmtree(scratch, ignore_errors=True)
    for name in ("tests/python", "tools"):
        if (source / name).is_dir():
            shutil.copytree(source / name, scratch / name)
    return scratch / "tests" / "python"


def files_of(folder):
    """All files of tests below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("test_*.py"))


def counts(known, results):
    """{"passed", "failed", "skipped", class of an expected failure: number of tests}"""
    numbers = dict.fromkeys(("passed", "failed", "skipped", *expected.CLASSES), 0)
    for test, (outcome, _) in results.items():
        entry = known.entry_of(test)
        numbers[entry.kind if outcome == "failed" and entry else outcome] += 1
    return numbers


def share(numbers):
    """Of tests that ran and are in scope, those that passed."""
    failed = numbers["failed"] + sum(numbers[kind] for kind in expected.IN_SCOPE)
    return f"{100 * numbers['passed'] / max(1, numbers['passed'] + failed):.2f} %"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
