"""The package's second name, and another distribution's package `amp` in its place."""

import os
import shutil
import subprocess
import sys

import pytest

import amp


def python(*arguments, cwd, path=None):
    """Runs an interpreter; with `path` it sees these folders and the standard library."""
    isolated = () if path is None else ("-S",)
    kept = {name: os.environ[name] for name in ("LD_PRELOAD", "ASAN_OPTIONS") if name in os.environ}  # of sanitizers
    environment = {"PATH": "/usr/bin:/bin", **kept} | ({} if path is None else {"PYTHONPATH": str(path)})
    command = [sys.executable, *isolated, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)


def test_modules_are_the_same_objects(tmp_path):
    code = """
import nnvm_amp, amp
import nnvm_amp.mxnet.gluon.nn as nn
import amp.mxnet.gluon.nn
from nnvm_amp import Executor
from nnvm_amp.checkpoint import load
assert nnvm_amp is amp and nn is amp.mxnet.gluon.nn and Executor is amp.Executor and load is amp.load
assert amp.checkpoint.__name__ == amp.checkpoint.__spec__.name == "amp.checkpoint"
"""
    done = python("-c", code, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_module_that_does_not_exist_is_named(tmp_path):
    done = python("-c", "import nnvm_amp.nothing", cwd=tmp_path)
    assert "No module named 'amp.nothing'" in done.stderr


def test_both_commands_are_the_same(tmp_path):
    for module in ("amp", "nnvm_amp"):
        done = python("-m", module, "--version", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, f"amp {amp.__version__}, oneDNN {amp.cpu_info()['onednn']}\n")


@pytest.mark.parametrize("text", ["VERSION = 1\n", "import a_module_that_nobody_has\n", None])
def test_the_package_of_another_distribution_is_one_error(repository, tmp_path, text):
    shutil.copytree(repository / "python" / "nnvm_amp", tmp_path / "nnvm_amp")
    (tmp_path / "amp").mkdir()
    if text is not None:
        (tmp_path / "amp" / "__init__.py").write_text(text)
    for arguments in (("-c", "import nnvm_amp"), ("-m", "nnvm_amp", "--version")):
        done = python(*arguments, cwd=tmp_path, path=tmp_path)
        assert done.returncode == 1
        assert str(tmp_path / "amp") in done.stderr
        assert "of another distribution" in done.stderr
        assert "pip uninstall amp" in done.stderr
        assert "pip install --force-reinstall --no-deps nnvm-amp" in done.stderr


def test_without_amp_the_error_says_so(repository, tmp_path):
    shutil.copytree(repository / "python" / "nnvm_amp", tmp_path / "nnvm_amp")
    done = python("-c", "import nnvm_amp", cwd=tmp_path, path=tmp_path)
    assert "No module named 'amp'" in done.stderr.splitlines()[-1]


def test_an_extension_that_does_not_load_keeps_its_own_error(repository, tmp_path):
    for package in ("amp", "nnvm_amp"):
        (tmp_path / package).mkdir()
        for name in ("__init__.py", "_loader.py"):
            if (repository / "python" / package / name).is_file():
                shutil.copy(repository / "python" / package / name, tmp_path / package / name)
    done = python("-c", "import nnvm_amp", cwd=tmp_path, path=tmp_path)
    assert "No module named 'amp._core'" in done.stderr.splitlines()[-1]
