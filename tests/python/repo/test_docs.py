"""The pages in docs/ and the README keep their promises: Python blocks run, links lead somewhere, named tests exist."""

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

import messages
import pytest

import amp
from amp import commands

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "docs"))
import conf  # noqa: E402

PAGES = [
    "README.md",
    "CHANGELOG.md",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "api"),
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


@pytest.mark.parametrize("page", ["migrating_from_mxnet", "convert", "audit"])
def test_page_runs(repository, tmp_path, monkeypatch, page):
    """Block by block in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    path = repository / "docs" / f"{page}.md"
    names = {}
    for line, code in python_blocks(path.read_text()):
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)


def test_quick_start_runs_and_prints_what_it_shows(repository, tmp_path, monkeypatch, capsys):
    """In a folder with the examples of a clone."""
    (tmp_path / "examples").symlink_to(repository / "examples")
    monkeypatch.chdir(tmp_path)
    path = repository / "docs" / "quick_start.md"
    names = {}
    for line, code in python_blocks(path.read_text()):
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)
    printed = capsys.readouterr().out
    shown = re.findall(r"^```text\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE)
    assert len(shown) == 2 and [text for text in shown if text not in printed] == []


def test_trust_runs(repository, tmp_path, monkeypatch, capsys):
    """In a folder with the examples of a clone."""
    (tmp_path / "examples").symlink_to(repository / "examples")
    monkeypatch.chdir(tmp_path)
    path = repository / "docs" / "trust.md"
    names = {}
    for line, code in python_blocks(path.read_text()):
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)
    assert "outputs differ by" in capsys.readouterr().out


def test_serving_runs(repository, tmp_path, monkeypatch):
    """In a folder with the examples of a clone."""
    (tmp_path / "examples").symlink_to(repository / "examples")
    monkeypatch.chdir(tmp_path)
    path = repository / "docs" / "serving.md"
    names = {}
    for line, code in python_blocks(path.read_text()):
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)
    assert len(names["answers"]) == 360


def test_the_service_of_the_page_answers(repository, tmp_path):
    """Its commands, on any port, and the request that it shows."""
    pytest.importorskip("uvicorn")
    (tmp_path / "examples").symlink_to(repository / "examples")
    page = (repository / "docs" / "serving.md").read_text()
    compiling, serving = (re.search(rf"^amp ({name} .*)$", page, re.M)[1].split() for name in ("compile", "serve"))
    subprocess.run([sys.executable, "-m", "amp", *compiling], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    url, request = re.search(r"^curl (\S+) --data-binary @- << END\n(.*?)^END$", page, re.M | re.S).groups()
    line = re.search(r"^serving (\S+) ", page, re.M)[1]
    assert url == f"{line}/infer"
    command = [sys.executable, "-m", "amp", *serving, "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        try:
            address = process.stdout.readline().split()[1]
            assert re.sub(r":\d+/", ":8000/", address) == line
            with urllib.request.urlopen(f"{address}/infer", request.encode(), timeout=60) as answer:
                scores = json.load(answer)["outputs"][0]["data"]
        finally:
            process.terminate()
    assert len(scores) == 10 and scores.index(max(scores)) == 1


def test_distributed_runs(repository):
    """Each block is a program of its own."""
    path = repository / "docs" / "distributed.md"
    for line, code in python_blocks(path.read_text()):
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), {})


def test_machines_runs(repository, tmp_path, monkeypatch):
    """In a folder with a machine file, here a copy of a class."""
    machines = repository / "src" / "program" / "machines"
    (tmp_path / "machine.json").write_bytes((machines / "avx512_core.json").read_bytes())
    monkeypatch.chdir(tmp_path)
    path = repository / "docs" / "machines.md"
    names = {}
    for line, code in python_blocks(path.read_text()):
        exec(compile("\n" * (line - 1) + code, str(path), "exec"), names)


def test_precision_explains_every_option(repository):
    from amp._options.conversion import OPTIONS

    page = (repository / "docs" / "precision.md").read_text()
    code = "".join(code for _, code in python_blocks(page))
    assert [option for option in OPTIONS if f"{option}=" not in code and f"{option}:" not in code] == []


POLICIES_OF_THE_TABLE = [
    {},
    {"policy": "mxnet"},
    {"policy": "graphamp", "preset": "mp1"},
    {"policy": "graphamp", "preset": "mp2"},
    {"policy": "optimal", "minimize": "casts"},
    *({"policy": "optimal", "machine": machine} for machine in ("avx512_bf16_fast", "avx512_amx", "avx512_bf16_slow")),
]


def rows_of_policies(names):
    """The rows of the table of policies: what each node of the page's block writes, and the casts."""
    options = {"input_shapes": names["block_shapes"], "cast_params_offline": True, "return_report": True}
    reports = [
        names["amp"].convert_model(names["block"], names["block_params"], {}, **options, **policy)[-1]
        for policy in POLICIES_OF_THE_TABLE
    ]
    written = [{t["node"]: t["dtype"] for t in report.tensors if t["kind"] == "result"} for report in reports]
    for node in written[0]:
        yield [node, *("bf" if dtypes[node] == "bfloat16" else "" for dtypes in written)]
    yield ["casts", *(str(report.totals["casts"]["run_time"]) for report in reports)]


def test_the_table_of_policies_is_what_they_decide(repository):
    page = (repository / "docs" / "precision.md").read_text()
    names = {}
    code = next(code for _, code in python_blocks(page) if "block_shapes =" in code)
    exec(f"import amp\n{code}", names)
    table = page[page.index("| node | `default`") :].split("\n\n")[0].splitlines()[2:]
    shown = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    assert shown == list(rows_of_policies(names))


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
    python = (repository / "tests/python/amp/test_mxnet_differences.py").read_text()
    cpp = "".join(path.read_text() for path in (repository / "tests/cpp/passes").glob("*.cc"))
    for name, tests in rows:
        for test in re.findall(r"`([^`]*)`", tests):
            if test.endswith(".py"):
                assert (repository / "tests" / "python" / "amp" / test).is_file()
            elif "." in test.removesuffix("..."):
                assert f"TEST({test.replace('.', ', ')})" in cpp, test
            else:
                assert test == f"{name.lower()}_..." and f"def test_{name.lower()}_" in python, test


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(repository, page):
    """Those of README are absolute, because package indices show it, too."""
    path = repository / page
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        if page == "README.md":
            assert target.startswith("https://"), target
            target = target.replace(conf.REPOSITORY, "")
        generated = (path.parent / target).parent == repository / "docs" / "api"
        assert "://" in target or generated or (path.parent / target).exists(), target


def test_every_page_is_in_the_table_of_documents_and_in_the_site(repository):
    readme = (repository / "README.md").read_text()
    index = (repository / "docs" / "index.md").read_text().split()
    experiments = (repository / "docs" / "experiments" / "index.md").read_text()
    for page in PAGES[1:]:
        path = Path(page)
        if path.parent.name == "experiments" and path.name != "index.md":
            assert re.match(r"\d{4}-\d\d-\d\d-", path.name) and f"]({path.name})" in experiments, page
        elif page not in ("docs/index.md", *(f"docs/{name}.md" for name in conf.ROOT_PAGES.values())):
            name = conf.ROOT_PAGES.get(page) or str(path.relative_to("docs").with_suffix(""))
            assert f"]({conf.REPOSITORY}{page})" in readme and name in index, page


# Words of this project's own that readers do not know, and what is said instead.
WORDS = {
    r"\bours?\b": "nnvm-amp, or its name",
    r"\bas decided\b": "automatic precision",
    r"fixed-point numbers": "fixed-point values",
    r"(?<!pooling )\bwindows?\b(?!, macOS)": "kernel, or tile",
    r"\bgaps?\b": "dilation",
    r"\.\./shared": "a folder of networks (only CONTRIBUTING.md says where)",
    r"\bTODO\b": "a sentence",
}


@pytest.mark.parametrize("page", [*PAGES, "Makefile"])
def test_pages_are_in_the_terms_of_the_field(repository, page):
    text = (repository / page).read_text()
    found = [f"{word}: say {say}" for word, say in WORDS.items() if re.search(word, text, re.IGNORECASE)]
    if page == "CONTRIBUTING.md":
        found = [line for line in found if "shared" not in line]
    assert found == []


# ---- troubleshooting ----


def test_troubleshooting_quotes_texts_that_exist(repository):
    """Each heading is an error's text or a warning's, with … for what is put in."""
    page = (repository / "docs" / "troubleshooting.md").read_text()
    quoted = re.findall(r"^### (.*)$", page, re.MULTILINE)
    errors = re.sub(r"\\'", "'", messages.LIST.read_text())
    sources = re.sub(r'"\s*\n\s*"', "", (repository / "src" / "runtime" / "bind.cc").read_text())
    assert len(quoted) > 15
    for text in quoted:
        where = sources if text.startswith("Warning: ") else errors
        assert text.removeprefix("Warning: ").replace("…", "{}") in where, text


# ---- pages that are made ----


def test_reference_pages_have_every_command_option_and_header(repository):
    import reference_pages

    from amp._options import conversion, executor

    pages = reference_pages.pages()
    parser = commands.parser()
    for name, command in parser._subparsers._group_actions[0].choices.items():
        assert f"\namp {name}\n---" in pages["command_line"]
        flags = [flag for action in command._actions if action.help != "==SUPPRESS==" for flag in action.option_strings]
        section = pages["command_line"].partition(f"\namp {name}\n---")[2].partition("\namp ")[0]
        assert [flag for flag in flags if flag not in ("-h", "--help") and flag not in section] == []
    options = [*conversion.OPTIONS, *(name for name, option in executor.OPTIONS.items() if option.doc)]
    assert [name for name in options if f"``{name}``" not in pages["options"]] == []
    assert all(
        text in pages["cpp"] for text in ("class Executor {", "struct BindOptions {", "RingForward(", "RegisterOp")
    )
    assert "private:" not in pages["cpp"]


# ---- README ----


def test_readme_runs(repository, tmp_path, monkeypatch, capsys):
    """Its Python blocks run one after the other. A clone has no file that the first of them could need."""
    monkeypatch.chdir(tmp_path)
    names = {}
    for line, code in python_blocks((repository / "README.md").read_text()):
        exec(compile("\n" * (line - 1) + code, "README.md", "exec"), names)
    float32, bfloat16 = capsys.readouterr().out.split("\n")[0].split()
    assert float32 == bfloat16
    assert (tmp_path / "resnet50-bf16-symbol.json").is_file()


def test_what_readme_shows_is_what_diff_prints(repository, tmp_path, capsys):
    net = amp.sym.Convolution(amp.sym.Variable("data"), kernel=(3, 3), num_filter=8, name="conv")
    net = amp.sym.Activation(amp.sym.BatchNorm(net, fix_gamma=False, name="bn"), act_type="relu", name="relu")
    net = amp.sym.softmax(amp.sym.FullyConnected(net, num_hidden=10, name="fc"), name="softmax")
    params = amp.model_zoo.seeded_params(net, {"data": (1, 3, 8, 8)})
    amp.save_checkpoint(str(tmp_path / "before"), 0, net, *params)
    low = amp.convert_model(net, *params, "float32", "bfloat16", cast_params_offline=True)
    amp.save_checkpoint(str(tmp_path / "after"), 0, *low)
    assert commands.run(commands.parse(["diff", str(tmp_path / "before"), str(tmp_path / "after")])) == 0
    readme = (repository / "README.md").read_text()
    shown = re.search(r"^```text\n(casts added.*?)^```", readme, re.DOTALL | re.MULTILINE)[1]
    assert capsys.readouterr().out.startswith(shown)


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_known(repository, page):
    """A line of a shell block that calls make or `amp` has a target, or a command with options that it has."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (repository / page).read_text(), re.DOTALL | re.MULTILINE)
    lines = [line.partition("#")[0].split() for block in blocks for line in block.splitlines()]
    makefile = (repository / "Makefile").read_text()
    for program, *arguments in filter(None, lines):
        if program == "make":
            assert f"\n{arguments[0]}:" in makefile
        elif program == "amp" and arguments != ["--version"]:
            commands.parse(arguments)
    assert page != "README.md" or len(lines) > 5


# ---- environment variables ----


def variables_read(repository):
    """Names of environment variables in the sources of the library and the package."""
    names = set()
    for path in [*(repository / "src").rglob("*.cc"), *(repository / "src").rglob("*.h")]:
        names.update(re.findall(r'\b(?:getenv|EnvValue|EnvFlag)\("(\w+)"', path.read_text()))
    for path in (repository / "python" / "amp").rglob("*.py"):
        code = "\n".join(line for line in path.read_text().splitlines() if not re.match(r" *(>>>|\.\.\.) ", line))
        names.update(re.findall(r'\b(?:getenv|environ\.get|environ\.setdefault)\("(\w+)"|\benviron\["(\w+)"\]', code))
    return {name if isinstance(name, str) else "".join(name) for name in names}


def test_the_page_of_environment_variables_has_what_is_read(repository):
    page = (repository / "docs" / "environment_variables.md").read_text()
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    read = variables_read(repository)
    assert {"AMP_BACKEND", "AMP_VERBOSE", "AMP_MAX_ISA", "OMP_NUM_THREADS"} <= read
    assert read - listed == set()
    paths = [*(repository / "tests").rglob("*.*"), *(repository / "benchmarks").rglob("*.*")]
    others = "".join(path.read_text() for path in paths if path.suffix in (".py", ".cc", ".h"))
    assert [name for name in listed - read if f'"{name}"' not in others] == []
