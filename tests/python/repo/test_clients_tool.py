"""What `make clients` counts and writes; the libraries themselves are run by hand."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[3] / "tools" / "clients" / "run.py"


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("run_clients", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name in ("table", "environment_of_mxnet"):
        sys.modules.pop(name, None)


def test_tests_are_counted_from_a_report(run, tmp_path):
    report = tmp_path / "report.xml"
    suite = '<testsuite tests="10" errors="1" failures="2" skipped="3"/>'
    report.write_text(f"<testsuites>{suite}</testsuites>")
    assert run.counted(report) == (4, 3) and run.counted(tmp_path / "none.xml") == (0, 0)


def test_the_table_of_the_page_is_written_anew(run, tmp_path):
    page = tmp_path / "page.md"
    marks = sys.modules["environment_of_mxnet"].marks
    page.write_text("Text.\n\n{}old\n{}\nMore.\n".format(*marks("make clients")))
    run.write_rows(page, [["mxboard", "0.1.0", "yes", "15 of 15", "", "yes"]])
    text = page.read_text()
    assert "| mxboard | 0.1.0 | yes | 15 of 15 |  | yes |" in text and "old" not in text
    assert text.startswith("Text.\n") and text.endswith("\nMore.\n")


def test_what_is_not_there_is_not_run(run, tmp_path):
    client = run.CLIENTS["mxboard"]._replace(imports="sys")
    row = run.Run("mxboard", client, Path(sys.executable), tmp_path).row()
    assert row == ["mxboard", "0.1.0", "yes", "not run", "", "yes"]
    row = run.Run("mxboard", client._replace(imports="no_such_module"), Path(sys.executable), None).row()
    assert row[2].startswith("ModuleNotFoundError") and row[-1] == "no"


def test_every_client_has_a_pinned_version_and_a_program_that_is_there(run):
    for client in run.CLIENTS.values():
        assert "==" in client.requirement
        assert not client.program or (TOOL.parent / client.program).is_file()
