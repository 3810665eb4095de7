"""Environments in which `import mxnet` gives this package: `make clients` and `make mxnet-tests` run programs there.

An environment has the package as a wheel lays it out, and the wheel of the name mxnet.
"""

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def set_up(venv, build, version, *requirements):
    """Makes the environment on the first time; the package in it is always the present one. Returns its Python.

    requirements: lists of arguments for pip, one call each
    version: that of the name mxnet
    """
    python = venv / "bin" / "python"
    stamp = venv / ".installed"
    if not stamp.exists():
        shutil.rmtree(venv, ignore_errors=True)
        call(sys.executable, "-m", "venv", venv)
        for arguments in requirements:
            pip(python, *arguments)
        stamp.touch()
    install_package(Path(sysconfig.get_path("platlib", vars={"base": str(venv), "platbase": str(venv)})), build)
    wheels = venv / "wheels"
    call(python, "-m", "amp.mxnet", "wheel", "--version", version, "-o", wheels)
    pip(python, "--no-deps", "--no-index", "--find-links", wheels, "--force-reinstall", f"mxnet=={version}")
    return python


def install_package(site, build):
    """The modules, and the libraries that `make package` has built."""
    shutil.rmtree(site / "amp", ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "csrc")
    shutil.copytree(ROOT / "python" / "amp", site / "amp", ignore=ignored)
    cmake = Path(sys.executable).with_name("cmake")
    call(cmake, "--install", build, "--component", "python", "--prefix", site, stdout=subprocess.DEVNULL)


def call(*command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


def pip(python, *arguments):
    call(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments)


# ---- tables of a page that a command writes ----


def marks(command):
    """The lines before and behind the table that a command writes."""
    return f"<!-- made by `{command}` -->\n", "<!-- end -->\n"


def rows_of(text, command):
    """The rows of the command's table in a page, without its head."""
    begin, end = marks(command)
    table = text.partition(begin)[2].partition(end)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def write_table(page, command, head, rows):
    """Writes the command's table in a page anew."""
    begin, end = marks(command)
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]
    table = begin + "\n".join(lines) + "\n" + end
    page.write_text(re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: table, page.read_text(), flags=re.S))
