"""Makes the virtual environment that `make` works in, or completes it.

usage: setup_venv.py <folder> create|build|dev|docs|wheel    (any Python >= 3.10, nothing but the standard library)

Says in plain words what a machine lacks before anything is installed.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PURPOSES = {
    "build": "building and running need",
    "dev": "tests and formatting need",
    "docs": "the documentation needs",
    "wheel": "repairing wheels needs",
}


def main(folder, kind):
    venv = Path(folder).resolve()
    python = venv / "bin" / "python"
    if kind == "create":
        check_machine()
        say(f"Making a virtual environment in {folder} (Python {sys.version.split()[0]})")
        make_venv(venv)
        return
    if not works(python):
        sys.exit(f"The virtual environment {folder} does not work (any more): remove that folder and try again.")

    say(f"Installing what {PURPOSES[kind]} (downloads on the first time)")
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    run([*pip, "--quiet", "pip>=23"])  # which has a TOML parser for Python 3.10
    listing = [python, ROOT / "tools" / "build_requirements.py", kind]
    listed = subprocess.run(listing, check=True, stdout=subprocess.PIPE, text=True).stdout
    run([*pip, *listed.splitlines()])


def say(text):
    print(f"\n==> {text}", flush=True)


def run(command):
    """Runs a command; a failure ends this script with a line instead of a traceback."""
    code = subprocess.run(command).returncode
    if code:
        sys.exit(f"\nThis command failed (exit code {code}):\n    {' '.join(map(str, command))}")


def works(python):
    """False also for an environment whose base interpreter has been removed."""
    try:
        command = [python, "-c", "import pip"]
        return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def check_machine():
    compilers = [os.environ.get("CXX") or "c++", "g++", "clang++"]
    if not any(shutil.which(compiler) for compiler in compilers):
        sys.exit("No C++ compiler found. Install one (Debian, Ubuntu: apt install g++) or name it in CXX.")
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.exists():
        sys.exit(
            f"The headers of {sys.executable} are missing ({header}).\n"
            "Install them (Debian, Ubuntu: apt install python3-dev) or choose another interpreter:\n"
            "    make PYTHON=/path/to/python3 ..."
        )


def make_venv(venv):
    """The standard module venv; on Debian it may lack ensurepip, then virtualenv if pip can fetch it."""
    shutil.rmtree(venv, ignore_errors=True)
    made = subprocess.run([sys.executable, "-m", "venv", venv], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if made.returncode == 0 and works(venv / "bin" / "python"):
        return
    shutil.rmtree(venv, ignore_errors=True)
    with tempfile.TemporaryDirectory() as tools:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", tools, "virtualenv"]
        if subprocess.run(pip, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            environment = dict(os.environ, PYTHONPATH=tools)
            subprocess.run([sys.executable, "-m", "virtualenv", "--quiet", venv], env=environment)
    if not works(venv / "bin" / "python"):
        sys.exit(
            f"{sys.executable} cannot make virtual environments.\n"
            "Install the module venv with ensurepip (Debian, Ubuntu: apt install python3-venv) or choose another\n"
            "interpreter: make PYTHON=/path/to/python3 ..."
        )


if __name__ == "__main__":
    if sys.version_info < (3, 10):  # noqa: UP036 - whoever runs this may have an older one
        sys.exit(
            f"Python >= 3.10 is needed, {sys.executable} is {sys.version.split()[0]}.\n"
            "Choose another interpreter: make PYTHON=/path/to/python3 ..."
        )
    main(*sys.argv[1:])
