"""What `make mxnet-tests` draws, reads, compares and writes, on results that are made up; MXNet's tests run by hand."""

import json
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "tools" / "mxnet_tests"
MODULES = ("expected", "files", "plugin", "run", "environment_of_mxnet")
LIST = """\
# A comment, and an empty line.

unittest/test_sparse.py  # sparse: the whole file
gpu/*  # gpu: all files of a folder
unittest/test_a.py::test_all  # exact: every parameter set
unittest/test_a.py::test_some[*int8*]  # int8: some parameter sets
unittest/test_a.py::test_random  # chance: by the numbers
"""
A = "unittest/test_a.py::test_"


@pytest.fixture
def tool(monkeypatch):
    """The modules of the tool by name, as attributes of one object."""
    saved = {name: sys.modules.pop(name, None) for name in MODULES}
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    modules = type("Tool", (), {name: __import__(name) for name in MODULES})
    yield modules
    for name in MODULES:
        sys.modules.pop(name, None)
        if saved[name]:
            sys.modules[name] = saved[name]


@pytest.fixture
def known(tool):
    return tool.expected.List(tool.expected.read(LIST))


def failed(*tests):
    return {A + test: ("failed", "ValueError: no") for test in tests}


def passed(*tests):
    return {A + test: ("passed", "") for test in tests}


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        ("unittest/test_sparse.py", "sparse"),
        ("unittest/test_sparse.py::test_x[1]", "sparse"),
        ("gpu/test_x.py::test_y", "gpu"),
        (A + "all", "exact"),
        (A + "all[float32-3]", "exact"),
        (A + "some[2-int8]", "int8"),
        (A + "some[2-float32]", None),
        (A + "alles", None),
        ("unittest/test_sparse_more.py::test_x", None),
    ],
)
def test_an_entry_means_a_folder_a_file_a_function_or_parameter_sets(known, test, kind):
    entry = known.entry_of(test)
    assert (entry and entry.kind) == kind


def test_only_whole_files_out_of_scope_are_left_out(known):
    assert known.leaves_out("unittest/test_sparse.py") and known.leaves_out("gpu/test_x.py")
    assert not known.leaves_out("unittest/test_a.py")


@pytest.mark.parametrize("line", ["test_x", "test_x  # because", "test_x  # sparse:", "test_x  # unknown: why"])
def test_a_line_without_a_class_and_a_reason_is_refused(tool, line):
    with pytest.raises(ValueError, match="class"):
        tool.expected.read(line)


def test_what_the_list_does_not_say_is_a_surprise(tool, known):
    results = {**failed("new", "all[1]", "some[int8]", "random"), **passed("good", "some[int32]")}
    assert tool.expected.surprises(known, results) == [f"fails: {A}new: ValueError: no"]
    lines = tool.expected.surprises(known, passed("all[1]", "random", "good"))
    assert len(lines) == 1 and lines[0].startswith(f"passes, and is on the list: {A}all[1]")


def test_entries_that_mean_no_test_are_told(tool, known):
    idle = tool.expected.idle(known, failed("all[1]"), ["unittest/test_a.py"])
    assert [entry.pattern for entry in idle] == [f"{A}random"]


def test_a_list_written_anew_keeps_reasons_and_is_compact(tool, known):
    results = {
        **failed("all[1]", "all[2]", "random", "some[int8]", "new[a]", "new[b]", "part[a]", "part[b]", "crash[a]"),
        **passed("part[c]", "good"),
        A + "crash[b]": ("skipped", ""),
    }
    entries = {entry.pattern: entry for entry in tool.expected.updated(known, results)}
    assert entries[f"{A}all"].kind == "exact" and entries[f"{A}random"].kind == "chance"
    assert str(entries[f"{A}new"]) == f"{A}new  # open: ValueError: no"
    assert {f"{A}part[a]", f"{A}part[b]", f"{A}crash[a]"} < set(entries) and f"{A}part" not in entries
    text = tool.expected.text_of(list(entries.values()), "# Head.\n")
    again = tool.expected.List(tool.expected.read(text))
    assert tool.expected.surprises(again, results) == []


def test_errors_tell_the_class_of_new_entries(tool, known):
    errors = {
        A + "rows": ("failed", "UnsupportedError: storage 'row_sparse' is not supported"),
        A + "bytes": ("failed", "UnsupportedError: int8 quantization"),
        A + "what": ("failed", "assert 1 == 2"),
        "unittest/test_b.py": ("failed", "ImportError: the C interface is not supported"),
    }
    kinds = {entry.pattern: entry.kind for entry in tool.expected.updated(known, errors)}
    assert [kinds[A + name] for name in ("rows", "bytes", "what")] == ["sparse", "int8", "open"]
    assert kinds["unittest/test_b.py"] == "open"  # the file has to run again


def test_a_list_written_anew_forgets_what_passes_and_what_is_gone(tool, known):
    results = {**passed("all[1]"), **failed("all[2]"), **passed("random")}
    patterns = [entry.pattern for entry in tool.expected.updated(known, results)]
    assert f"{A}all[2]" in patterns and f"{A}all" not in patterns
    assert f"{A}some[*int8*]" not in patterns and "gpu/*" in patterns
    patterns = [entry.pattern for entry in tool.expected.updated(known, results, is_sample=True)]
    assert f"{A}some[*int8*]" in patterns
    kept = {entry.pattern: entry.kind for entry in tool.expected.updated(known, results)}
    assert kept[f"{A}all[2]"] == "exact"


def test_a_sample_is_the_same_every_time_and_has_all_of_small_functions(tool):
    names = [f"a.py::test_many[{i}]" for i in range(100)] + ["a.py::test_one", "a.py::test_two[x]", "a.py::test_two[y]"]
    drawn = tool.plugin.sample(names, 5)
    assert len(drawn) == 8 and set(names[-3:]) < drawn
    assert drawn == tool.plugin.sample(names, 5) != tool.plugin.sample([n.replace("many", "more") for n in names], 5)
    assert tool.plugin.sample(names, 0) == set(names)


def test_the_worst_result_of_a_test_counts_and_half_lines_do_not(tool, tmp_path):
    report = tmp_path / "results.jsonl"
    lines = [[*line.split(), ""] for line in ("a started", "a passed", "a failed", "b started", "c skipped")]
    report.write_text("".join(json.dumps(line) + "\n" for line in lines) + '["d", "pas')
    results = tool.files.read_results(report)
    assert results == {"a": ("failed", ""), "b": ("started", ""), "c": ("skipped", "")}
    assert tool.files.finished(results, "time-out")["b"] == ("failed", "time-out")


FILE = """\
import os, time
import pytest

@pytest.mark.parametrize("n", range(9))
def test_many(n):
    pass

def test_bad():
    assert 1 == 2, "no"

def test_crash():
    os._exit(3)

def test_skipped():
    pytest.skip("why")

def test_behind():
    pass
"""


def test_a_crash_costs_one_test(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(tool.files, "OPTIONS", tuple(each.replace("plugin", "seedless") for each in tool.files.OPTIONS))
    (tmp_path / "seedless.py").write_text("from plugin import *\n_seed = None\n")
    monkeypatch.setattr(tool.files, "HERE", f"{FOLDER}:{tmp_path}")
    monkeypatch.setattr(tool.files, "TIMEOUT", ())
    folder = tmp_path / "python"
    folder.mkdir()
    (folder / "test_x.py").write_text(FILE)
    results = tool.files.run_file(sys.executable, folder, "test_x.py", tmp_path, sample=2)
    outcomes = {test.partition("::")[2]: outcome for test, (outcome, _) in results.items()}
    many = {test: outcomes.pop(test) for test in list(outcomes) if test.startswith("test_many[")}
    assert list(many.values()) == ["passed", "passed"]
    bad = dict.fromkeys(("test_bad", "test_crash"), "failed")
    assert outcomes == {**bad, "test_skipped": "skipped", "test_behind": "passed"}
    assert results["test_x.py::test_crash"][1] == "the process ended"
    assert "no" in results["test_x.py::test_bad"][1]


def test_counts_and_share(tool, known):
    results = {**failed("new", "all[1]", "some[int8]"), **passed(*map(str, range(8))), A + "s": ("skipped", "")}
    numbers = tool.run.counts(known, results)
    assert [numbers[kind] for kind in ("passed", "failed", "skipped", "exact", "int8")] == [8, 1, 1, 1, 1]
    assert tool.run.share(numbers) == "80.00 %"


@pytest.mark.parametrize("version", ["1.9.1", "master"])
def test_the_lists_can_be_read_and_are_sorted(tool, version):
    entries = tool.expected.read((FOLDER / f"expected-{version}.txt").read_text())
    assert entries == sorted(set(entries)) and len({entry.pattern for entry in entries}) == len(entries)
