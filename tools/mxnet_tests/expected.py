"""The list of expected failures: `pattern  # class: reason` a line, and results compared with it.

A pattern is a file, a function or one parameter set: `unittest/test_image.py`, `...::test_x`, `...::test_x[int8]`;
`*` stands for any text. A function without brackets means all of its parameter sets. What is out of scope by a whole
file is not run.
"""

import re
from typing import NamedTuple

# What a run on a CPU with dense arrays of floats and integers cannot pass: counted apart.
OUT_OF_SCOPE = {
    "c-api": "MXNet's C interface through ctypes",
    "gpu": "GPUs, TensorRT, CUDA",
    "tvm": "operators of TVM",
    "dgl": "graph sampling for DGL",
    "extension": "libraries of operators",
    "sparse": "sparse storage",
    "int8": "int8 quantization",
    "download": "pictures and data sets from the network",
    "onnx": "ONNX files",
    "private": "names of MXNet's own code, texts of its own docstrings and logs",
    "python": "the test fails with this Python, NumPy or pytest on any package, or on MXNet itself",
}
# What is in scope and fails all the same.
IN_SCOPE = {
    "exact": "ours is nearer to the exact value",
    "design": "a difference that docs/mxnet.md explains",
    "chance": "passes or fails by the numbers that are drawn, or by the machine's speed",
    "open": "not done yet",
}
CLASSES = {**OUT_OF_SCOPE, **IN_SCOPE}


# What an error says about the class of a new entry.
_GUESSES = (
    (
        "download",
        "pictures, data sets or models from the network",
        r"download|no parameters come with|README\.md|get_cifar|mnist",
    ),
    ("sparse", "sparse storage", r"row_sparse|csr|[Ss]parse|stype"),
    ("int8", "int8 quantization", r"(?i)int8|quantiz"),
    ("c-api", "MXNet's C interface", r"C interface|mxnet_predict|_ffi|_LIB"),
    ("extension", "libraries of operators", r"librar"),
)


class Entry(NamedTuple):
    """One line of the list."""

    pattern: str
    kind: str
    reason: str

    def matches(self, test):
        return re.fullmatch(_regex(self.pattern), test) is not None

    def __str__(self):
        return f"{self.pattern}  # {self.kind}: {self.reason}"


def _regex(pattern):
    """Files and functions without brackets include what is inside of them."""
    text = ".*".join(map(re.escape, pattern.split("*")))
    if "::" not in pattern:
        return rf"{text}(::.*)?"
    return text if pattern.endswith("]") else rf"{text}(\[.*|::.*)?"


def read(text):
    """The entries of a list. Raises ValueError for a line that is none."""
    entries = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        pattern, _, why = line.partition("  # ")
        kind, _, reason = why.partition(": ")
        if kind not in CLASSES or not reason.strip():
            raise ValueError(f"{line!r} is not `pattern  # class: reason`; classes: {', '.join(CLASSES)}")
        entries.append(Entry(pattern.strip(), kind, reason.strip()))
    return entries


class List:
    """The entries, and where each test is in them: the most exact entry counts."""

    def __init__(self, entries):
        self.entries = sorted(entries, key=lambda entry: (-len(entry.pattern.replace("*", "")), entry))
        self._by_file = {}

    def entry_of(self, test):
        """The entry of a test, or None."""
        file = test.partition("::")[0]
        if file not in self._by_file:
            self._by_file[file] = [entry for entry in self.entries if _may_match(entry.pattern, file)]
        return next((entry for entry in self._by_file[file] if entry.matches(test)), None)

    def leaves_out(self, file):
        """The entry by which a whole file is not run, or None."""
        entry = self.entry_of(file)
        return entry if entry and entry.kind in OUT_OF_SCOPE and "::" not in entry.pattern else None


def _may_match(pattern, file):
    return re.fullmatch(_regex(pattern.partition("::")[0]), file) is not None


def surprises(known, results):
    """Lines: tests that fail and are not on the list, and those on it that pass.

    results: {test: (outcome, error)}
    """
    lines = []
    for test, (outcome, error) in results.items():
        entry = known.entry_of(test)
        if outcome == "failed" and entry is None:
            lines.append(f"fails: {test}: {error}")
        elif outcome == "passed" and entry is not None and entry.kind != "chance":
            lines.append(f"passes, and is on the list: {test}  # {entry.kind}: {entry.reason}")
    return lines


def idle(known, results, files):
    """Entries for the files that ran to which nothing belongs: the test is gone, or is skipped."""
    used = {known.entry_of(test) for test in results}
    return [
        entry
        for entry in known.entries
        if entry not in used and "[" not in entry.pattern and any(_may_match(entry.pattern, file) for file in files)
    ]


# ---- the list, written anew ----


def updated(known, results, is_sample=False):
    """The entries that suit these results. Reasons stay; what is new is `open` with the error as its reason.

    Patterns that hold stay as they are: everything that matched failed, or it is by chance. With a sample, entries for
    parameter sets that did not run stay, too.
    """
    entries = [entry for entry in known.entries if _holds(entry, known, results, is_sample)]
    kept = List(entries)
    failed = {test: error for test, (outcome, error) in results.items() if outcome == "failed"}
    unlisted = {test: error for test, error in failed.items() if kept.entry_of(test) is None}
    for function, sets in _by_function(unlisted).items():
        outcomes = {test: outcome for test, (outcome, _) in results.items() if test.partition("[")[0] == function}
        is_whole = "skipped" not in outcomes.values() and not any(map(kept.entry_of, outcomes))
        if len(sets) == 1 and not is_sample or not is_whole or "passed" in outcomes.values():
            entries += [_new(test, known.entry_of(test), unlisted[test]) for test in sets]
        else:
            entries.append(_new(function, known.entry_of(sets[0]), unlisted[sets[0]]))
    return sorted(entries)


def _holds(entry, known, results, is_sample):
    outcomes = [outcome for test, (outcome, _) in results.items() if known.entry_of(test) == entry]
    if not outcomes:
        ran = {test.partition("::")[0] for test in results}
        return is_sample or not any(_may_match(entry.pattern, file) for file in ran)
    return entry.kind == "chance" or "passed" not in outcomes


def _by_function(tests):
    functions = {}
    for test in tests:
        functions.setdefault(test.partition("[")[0], []).append(test)
    return functions


def _new(pattern, before, error):
    if before:
        return Entry(pattern, before.kind, before.reason)
    for kind, reason, text in _GUESSES if "::" in pattern else ():  # whole files out of scope would not run again
        if re.search(text, error):
            return Entry(pattern, kind, reason)
    return Entry(pattern, "open", " ".join(error.split())[:140] or "no message")


def text_of(entries, head):
    """The file of a list."""
    return head + "".join(f"{entry}\n" for entry in sorted(entries))
