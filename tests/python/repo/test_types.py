"""Type checkers: a user's program passes, and a misspelt name is found. Both checkers come with `make`."""

import inspect
import json
import os
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import amp
from amp import _core
from amp._options import checks, conversion, typed

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import write_types  # noqa: E402

QUICK_START = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
PROGRAM = (ROOT / "tests" / "data" / "typed_program.py").read_text()

# Every line behind `net` has one mistake.
MISTAKES = """import amp

net = amp.sym.Variable("x")
amp.convert_model(net, {}, {}, polcy="mxnet")
amp.convert_model(net, {}, {}, policy="mxnt")
amp.convert_symbol(net, "float32", {}, machin="this")
amp.Executor(net, {}, {}, {"x": (1,)}, num_thread=1)
amp.Executor(net, {}, {}, {"x": (1,)}, grad_req="write")
amp.Executor(net, {}, {}, {"x": (1,)}, reduce_precision={"polcy": "mxnet"})
amp.Executor(net, {}, {}, {"x": (1,)}).backward()
amp.TrainingExecutor(net, {}, {}, {"x": (1,)}, monitor=True)
options: amp.ConversionOptions = {"polcy": "mxnet"}
amp.Executor(net, {}, {}, {"x": (1,)})(x=[1.0])[0].asnumpi()
amp.convert_modl(net, {}, {})
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder with the programs."""
    folder = tmp_path_factory.mktemp("programs")
    for name, text in (("program.py", PROGRAM), ("quick_start.py", QUICK_START), ("mistakes.py", MISTAKES)):
        (folder / name).write_text(text)
    settings = {"extraPaths": [str(ROOT / "python")], "typeCheckingMode": "strict", "pythonVersion": "3.10"}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    return folder


def mypy(folder):
    """(output, {(file, line)} with an error)"""
    pytest.importorskip("mypy")
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", f"--cache-dir={ROOT / '.mypy_cache'}"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *sorted(map(str, folder.glob("*.py")))],
        env={**os.environ, "MYPYPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = re.findall(r"^(\S+):(\d+): error: ", done.stdout, re.M)
    return done.stdout, {(Path(file).name, int(line)) for file, line in found}


def pyright(folder):
    """The same of pyright, which reads a configuration in the folder."""
    pytest.importorskip("pyright")
    command = [sys.executable, "-m", "pyright", "--project", str(folder), "--outputjson", "--pythonpath"]
    done = subprocess.run([*command, sys.executable], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    errors = [each for each in json.loads(done.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    return done.stdout, {(Path(each["file"]).name, each["range"]["start"]["line"] + 1) for each in errors}


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_programs_are_checked(checker, programs):
    text, found = checker(programs)
    lines = MISTAKES.splitlines()
    first = lines.index('net = amp.sym.Variable("x")') + 2
    assert found == {("mistakes.py", number) for number in range(first, len(lines) + 1)}, text


def test_files_for_type_checkers_are_those_of_the_tables():
    stale = write_types.out_of_date()
    assert not stale, f"python tools/write_types.py writes them anew: {', '.join(map(str, stale))}"


def test_types_of_options_are_those_of_the_checks():
    hints = typing.get_type_hints(typed.ConversionOptions)
    assert set(hints) == set(conversion.OPTIONS)
    assert typing.get_args(hints["policy"]) == checks.POLICIES
    assert literals(hints["minimize"]) == checks.MINIMIZED
    assert literals(hints["preset"]) == checks.PRESETS
    assert literals(hints["categories"]) == checks.CATEGORIES


def literals(hint):
    """The values of the one Literal in a type."""
    if typing.get_origin(hint) is typing.Literal:
        return typing.get_args(hint)
    return next(filter(None, map(literals, typing.get_args(hint))), ())


def members(text, cls):
    """Names that a class has in a stub."""
    body = re.search(rf"^class {cls}\b.*?(?=^\S|\Z)", text, re.S | re.M)[0]
    return set(re.findall(r"^    def (\w+)\(", body, re.M))


def test_stubs_of_the_extension_are_those_of_its_classes():
    stub = (ROOT / "python" / "amp" / "_core.pyi").read_text()
    fluent = (ROOT / "python" / "amp" / "nd" / "_fluent.pyi").read_text()
    listed = members(stub, "NDArray") | members(fluent, "FluentArrayMethods")
    assert listed <= set(dir(amp.NDArray))
    assert {name for name in dir(amp.NDArray) if name[0] != "_"} == {name for name in listed if name[0] != "_"}
    for name in ("PlanStep", "PlanSummary"):
        assert {each for each in dir(getattr(_core, name)) if each[0] != "_"} == members(stub, name)


def test_public_functions_are_annotated():
    """All that `amp.__all__` names, and the methods of its classes."""
    bare = []
    for name in set(amp.__all__) - {"convert_hybrid_block"}:
        value = getattr(amp, name)
        functions = [value] if inspect.isfunction(value) else []
        if isinstance(value, type) and value.__module__ != "amp":  # the extension's have a stub
            own = [each for name, each in vars(value).items() if inspect.isfunction(each) and name[0] != "_"]
            functions = [each for each in own if each.__module__ == value.__module__]
        bare += [each.__qualname__ for each in functions if "return" not in each.__annotations__]
    assert set(bare) <= {"convert_model", "convert_symbol"}  # they have a stub, too
