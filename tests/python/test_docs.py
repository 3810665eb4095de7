"""The pages in docs/ and the README keep their promises: Python blocks run, links lead somewhere, named tests exist."""

import re

import pytest

PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/benchmark.md",
    "docs/design.md",
    "docs/migrating_from_mxnet.md",
    "docs/precision.md",
]


def python_blocks(text):
    """[(number of the first line, code)]"""
    return [
        (text[: match.start(1)].count("\n") + 1, match[1])
        for match in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    ]


def test_precision_runs(repository):
    """The blocks run one after the other in one namespace; tracebacks show the page's own lines."""
    path = repository / "docs" / "precision.md"
    blocks = python_blocks(path.read_text())
    assert len(blocks) >= 5
    names = {}
    for line, code in blocks:
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)


def test_migration_runs(repository, tmp_path, monkeypatch):
    """What a program of MXNet becomes, block by block in one namespace."""
    monkeypatch.chdir(tmp_path)
    path = repository / "docs" / "migrating_from_mxnet.md"
    names = {}
    for line, code in python_blocks(path.read_text()):
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)


def test_precision_explains_every_option(repository):
    from amp._options import OPTIONS

    page = (repository / "docs" / "precision.md").read_text()
    code = "".join(code for _, code in python_blocks(page))
    assert [option for option in OPTIONS if f"{option}=" not in code and f"{option}:" not in code] == []


def test_what_why_prints_is_what_the_page_shows(repository, capsys):
    page = (repository / "docs" / "precision.md").read_text()
    names = {}
    exec("\n".join(code for _, code in python_blocks(page)), names)
    printed = capsys.readouterr().out
    shown = "".join(line[2:] + "\n" for line in page.splitlines() if re.match(r"#( relu_output|   \w+_output)", line))
    assert shown == printed and shown.count("\n") == 3


def test_every_weakness_has_a_row_and_its_tests_exist(repository):
    page = (repository / "docs" / "precision.md").read_text()
    rows = re.findall(r"^\| (W\d+) \|.*\| ([^|]*) \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == [f"W{number}" for number in range(1, 19)]
    python = (repository / "tests/python/test_mxnet_differences.py").read_text()
    cpp = "".join(path.read_text() for path in (repository / "tests/cpp/passes").glob("*.cc"))
    for name, tests in rows:
        for test in re.findall(r"`([^`]*)`", tests):
            if test.endswith(".py"):
                assert (repository / "tests" / "python" / test).is_file()
            elif "." in test.removesuffix("..."):
                assert f"TEST({test.replace('.', ', ')})" in cpp, test
            else:
                assert test == f"{name.lower()}_..." and f"def test_{name.lower()}_" in python, test


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(repository, page):
    path = repository / page
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        assert "://" in target or (path.parent / target).exists(), target


def test_precision_is_linked(repository):
    assert "](docs/precision.md)" in (repository / "README.md").read_text()
