"""What a public repository needs beside code: fragments of the changelog, hooks, forms and a citation."""

import re
import shutil
import subprocess
import sys

import pytest


def towncrier(folder):
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9", "--dir", str(folder)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def project(repository, tmp_path):
    """A folder with what towncrier reads."""
    for name in ("pyproject.toml", "CHANGELOG.md"):
        shutil.copy(repository / name, tmp_path / name)
    shutil.copytree(repository / "changes", tmp_path / "changes")
    return tmp_path


def test_fragments_parse(project):
    """Those that are there, and one of each kind that changes/README.md lists."""
    pytest.importorskip("towncrier", reason="needs towncrier, which `make test` installs")
    kinds = re.findall(r"^\| `(\w+)` \|", (project / "changes" / "README.md").read_text(), re.MULTILINE)
    assert len(kinds) == 5
    for kind in kinds:
        (project / "changes" / f"+test.{kind}.md").write_text(f"A sentence about {kind}.")
    done = towncrier(project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("## 9.9.9\n") and all(f"- A sentence about {kind}." in done.stdout for kind in kinds)


def test_a_misspelt_fragment_is_an_error(project):
    pytest.importorskip("towncrier", reason="needs towncrier, which `make test` installs")
    (project / "changes" / "63.featur.md").write_text("A sentence.")
    done = towncrier(project)
    assert done.returncode != 0 and "63.featur.md" in done.stderr


def test_hooks_have_the_versions_of_the_lint(repository):
    pinned = dict(re.findall(r'"(ruff|clang-format)==([\d.]+)"', (repository / "pyproject.toml").read_text()))
    hooks = (repository / ".pre-commit-config.yaml").read_text()
    revisions = dict(re.findall(r"repo: \S*/(?:mirrors-)?(ruff|clang-format)\S*\n    rev: v([\d.]+)", hooks))
    assert revisions == pinned and len(pinned) == 2


def test_hooks_see_the_files_of_the_lint(repository):
    """What `make lint` formats, and no other file that git knows."""
    hooks = (repository / ".pre-commit-config.yaml").read_text()
    patterns = re.findall(r"files: (?:&python )?(\^\S+)", hooks)
    listed = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("needs a clone: git lists the files")
    files = listed.stdout.split()
    makefile = (repository / "Makefile").read_text()
    folders = re.search(r"^CXX_FOLDERS := (.*)", makefile, re.MULTILINE)[1].split()
    python = re.search(r"^PY_FOLDERS := \$\(wildcard (.*) docs/\*\.py\)", makefile, re.MULTILINE)[1].split()
    formatted = [
        {
            file
            for file in files
            if file.endswith(".py") and (file.split("/")[0] in python or re.match("docs/[^/]*$", file))
        },
        {file for file in files if file.endswith((".cc", ".h")) and file.startswith(tuple(f"{f}/" for f in folders))},
    ]
    assert [{file for file in files if re.match(pattern, file)} for pattern in patterns] == formatted
    assert all(len(each) > 100 for each in formatted)


def test_forms_and_citation_are_complete(repository):
    yaml = pytest.importorskip("yaml", reason="needs PyYAML, which `make docs` installs")
    citation = yaml.safe_load((repository / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0" and citation["license"] == "Apache-2.0"
    assert {"message", "title", "authors", "repository-code"} <= citation.keys()
    for name in ("bug", "feature"):
        form = yaml.safe_load((repository / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text())
        fields = [field for field in form["body"] if field["type"] != "markdown"]
        assert form["name"] and form["description"] and len({field["id"] for field in fields}) == len(fields) >= 3
        assert all(field["attributes"]["label"] for field in fields)
