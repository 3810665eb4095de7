"""`import mxnet`: `amp.mxnet.install`, `python -m amp.mxnet`, and the wheel of MXNet's name."""

import importlib.metadata
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from amp.mxnet import _mxnet_wheel

PROGRAM = """
import mxnet
import mxnet.ndarray as nd, mxnet.symbol as symbol
import mxnet.contrib.text.vocab as vocab
from mxnet.gluon.data.vision import transforms
from mxnet import initializer

class Twice(mxnet.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return 2 * x

def version_in_worker(number):
    import mxnet
    return mxnet.__version__, float((mxnet.nd.ones((1,)) * number).asscalar())

if __name__ == "__main__":
    import importlib, importlib.util, multiprocessing, os, pickle, pkgutil, subprocess, sys
    import amp.mxnet

    assert sys.argv[1:] == ["--epochs", "3"] and sys.path[0] == os.path.dirname(os.path.realpath(__file__)), sys.argv
    assert mxnet is amp.mxnet and nd is amp.mxnet.nd is sys.modules["mxnet.nd"] and symbol is amp.sym
    assert vocab is amp.mxnet.contrib.text.vocab and initializer is amp.mxnet.init
    assert transforms is amp.mxnet.gluon.data.vision.transforms is sys.modules["mxnet.gluon.data.vision.transforms"]
    assert vocab.__spec__.name == vocab.__name__ == "amp.mxnet.contrib.text.vocab"
    assert mxnet.__version__ == "1.8.0"

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(version_in_worker, [5]) == [("1.8.0", 5.0)]
    child = [sys.executable, "-c", "from mxnet import gluon; import mxnet; print(mxnet.__version__, gluon.__name__)"]
    assert subprocess.check_output(child, text=True) == "1.8.0 amp.mxnet.gluon\\n"
    assert isinstance(pickle.loads(pickle.dumps(Twice())), Twice)

    assert importlib.util.find_spec("mxnet.gluon.nn") and importlib.util.find_spec("mxnet.nothing") is None
    for module in (mxnet.lr_scheduler, nd, mxnet.gluon.loss):
        assert importlib.reload(module) is module
    names = [found.name for found in pkgutil.walk_packages(mxnet.__path__, "mxnet.")]
    assert "mxnet.gluon.nn" in names
    for name in names:
        if not name.endswith("__main__"):
            assert importlib.import_module(name) is importlib.import_module("amp." + name), name
    print("done")
"""


def run(*arguments, **options):
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "AMP_MXNET_VERSION")}
    environment.update(options.pop("environment", {}))
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, **options)


def test_a_program_its_workers_and_its_processes_run_unchanged(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    result = run("-m", "amp.mxnet", "--version", "1.8.0", tmp_path / "program.py", "--epochs", 3, cwd="/")
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


def test_modules_texts_folders_and_exit_codes(tmp_path):
    (tmp_path / "part.py").write_text(
        "import sys, mxnet\nprint(__name__, sys.argv[1:], __spec__.name, mxnet.__version__)"
    )
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "__main__.py").write_text("import mxnet, sys\nsys.exit(3)")
    result = run("-m", "amp.mxnet", "-m", "part", "x", cwd=tmp_path)
    assert result.stdout == "__main__ ['x'] part 1.9.1\n", result.stderr
    result = run(
        "-m", "amp.mxnet", "--version=2.0.0b1", "-c", "import mxnet, sys; print(mxnet.__version__, sys.argv)", "y"
    )
    assert result.stdout == "2.0.0b1 ['-c', 'y']\n", result.stderr
    assert run("-m", "amp.mxnet", tmp_path / "folder").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.py"], "there is no program 'nothing.py'"),
        (["--version", "3.0", "-c", ""], "version: expected a version of MXNet"),
        ([], "-m module [argument ...]"),
    ],
)
def test_wrong_command_lines(arguments, message):
    result = run("-m", "amp.mxnet", *arguments)
    assert result.returncode == 2 and message in result.stderr and "Traceback" not in result.stderr


def test_install_in_a_program_and_beside_another_mxnet(tmp_path):
    (tmp_path / "mxnet").mkdir()
    (tmp_path / "mxnet" / "__init__.py").write_text("")
    program = """
import sys, amp.mxnet
{before}
try:
    amp.mxnet.install(workers=False)
except ImportError as error:
    print(error)
import mxnet
print(mxnet is amp.mxnet, "PYTHONPATH" in __import__("os").environ)
"""
    path = {"environment": {}, "cwd": tmp_path}
    assert run("-c", program.format(before=""), **path).stdout == "True False\n"
    result = run("-c", program.format(before="import mxnet"), **path)
    assert "another mxnet was imported before, from " in result.stdout and result.stdout.endswith("False False\n")


def test_the_wheel_holds_the_name_alone(tmp_path):
    path = _mxnet_wheel.write("1.8.0.post0", tmp_path)
    assert path.name == "mxnet-1.8.0.post0+nnvm.amp-py3-none-any.whl"
    content = path.read_bytes()
    assert _mxnet_wheel.write("1.8.0.post0", tmp_path).read_bytes() == content
    with zipfile.ZipFile(path) as wheel:
        wheel.extractall(tmp_path / "site")
    (found,) = importlib.metadata.distributions(path=[str(tmp_path / "site")])
    assert (found.metadata["Name"], found.version) == ("mxnet", "1.8.0.post0+nnvm.amp")
    assert found.requires == ["nnvm-amp"] and {file.parts[0] for file in found.files} == {
        "mxnet",
        "mxnet-1.8.0.post0+nnvm.amp.dist-info",
    }
    program = "import mxnet.gluon, mxnet; print(mxnet.__version__, mxnet.gluon.__name__)"
    result = run("-c", program, environment={"PYTHONPATH": str(tmp_path / "site")})
    assert result.stdout == "1.8.0.post0 amp.mxnet.gluon\n", result.stderr


def test_pip_takes_the_wheel_for_mxnet_and_removes_all_of_it(tmp_path):
    """Into an environment without pip, which sees the packages of this one."""
    assert run("-m", "venv", "--without-pip", tmp_path / "env").returncode == 0
    site = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "env")}))
    (site / "these.pth").write_text(sysconfig.get_path("purelib"))
    pip = ["-m", "pip", "--python", tmp_path / "env", "--disable-pip-version-check"]
    wheels = ["--no-index", "--no-deps", "--find-links", tmp_path / "wheels"]
    assert run("-m", "amp.mxnet", "wheel", "--version", "1.9.1", "-o", tmp_path / "wheels").returncode == 0
    result = run(*pip, "install", *wheels, "mxnet~=1.7")
    assert result.returncode == 0 and (site / "mxnet" / "__init__.py").exists(), result.stderr
    result = run(*pip, "uninstall", "--yes", "mxnet")
    assert result.returncode == 0 and not (site / "mxnet").exists(), result.stderr


# Pickled by MXNet 1.9.1 (a dict with an array, a symbol, a device, an optimizer, a scheduler) and 2.0.0b1 (an array).
PICKLES = {
    "dict": (
        "gASVjQAAAAAAAAB9lCiMAXeUjBVteG5ldC5uZGFycmF5Lm5kYXJyYXmUjAdOREFycmF5lJOUToWUUpR9lIwGaGFuZGxllIwIYnVp"
        "bHRpbnOUjAlieXRlYXJyYXmUk5RDKMn6k/kAAAAAAQAAAAIAAAAAAAAAAQAAAAAAAAAAAAAAAACAPwAAgD+UhZRSlHNijAFulEsD"
        "dS4="
    ),
    "sym": (
        "gASVpQIAAAAAAACME214bmV0LnN5bWJvbC5zeW1ib2yUjAZTeW1ib2yUk5ROhZRSlH2UjAZoYW5kbGWUWGsCAAB7CiAgIm5vZGVz"
        "IjogWwogICAgewogICAgICAib3AiOiAibnVsbCIsIAogICAgICAibmFtZSI6ICJkYXRhIiwgCiAgICAgICJpbnB1dHMiOiBbXQog"
        "ICAgfSwgCiAgICB7CiAgICAgICJvcCI6ICJudWxsIiwgCiAgICAgICJuYW1lIjogImZjX3dlaWdodCIsIAogICAgICAiYXR0cnMi"
        "OiB7Im51bV9oaWRkZW4iOiAiMiJ9LCAKICAgICAgImlucHV0cyI6IFtdCiAgICB9LCAKICAgIHsKICAgICAgIm9wIjogIm51bGwi"
        "LCAKICAgICAgIm5hbWUiOiAiZmNfYmlhcyIsIAogICAgICAiYXR0cnMiOiB7Im51bV9oaWRkZW4iOiAiMiJ9LCAKICAgICAgImlu"
        "cHV0cyI6IFtdCiAgICB9LCAKICAgIHsKICAgICAgIm9wIjogIkZ1bGx5Q29ubmVjdGVkIiwgCiAgICAgICJuYW1lIjogImZjIiwg"
        "CiAgICAgICJhdHRycyI6IHsibnVtX2hpZGRlbiI6ICIyIn0sIAogICAgICAiaW5wdXRzIjogW1swLCAwLCAwXSwgWzEsIDAsIDBd"
        "LCBbMiwgMCwgMF1dCiAgICB9CiAgXSwgCiAgImFyZ19ub2RlcyI6IFswLCAxLCAyXSwgCiAgIm5vZGVfcm93X3B0ciI6IFswLCAx"
        "LCAyLCAzLCA0XSwgCiAgImhlYWRzIjogW1szLCAwLCAwXV0sIAogICJhdHRycyI6IHsibXhuZXRfdmVyc2lvbiI6IFsiaW50Iiwg"
        "MTA5MDFdfQp9lHNiLg=="
    ),
    "ctx": (
        "gASVUQAAAAAAAACMDW14bmV0LmNvbnRleHSUjAdDb250ZXh0lJOUKYGUfZQojA1kZXZpY2VfdHlwZWlklEsBjAlkZXZpY2VfaWSU"
        "SwCMCF9vbGRfY3R4lE51Yi4="
    ),
    "sgd": (
        "gASVawEAAAAAAACMGW14bmV0Lm9wdGltaXplci5vcHRpbWl6ZXKUjANTR0SUk5QpgZR9lCiMDHJlc2NhbGVfZ3JhZJRHP/AAAAAA"
        "AACMDGxyX3NjaGVkdWxlcpROjAJscpRHP8AAAAAAAACMAndklEcAAAAAAAAAAIwHbHJfbXVsdJR9lIwHd2RfbXVsdJR9lIwQYmVn"
        "aW5fbnVtX3VwZGF0ZZRLAIwKbnVtX3VwZGF0ZZRLAIwYX2FsbF9pbmRleF91cGRhdGVfY291bnRzlH2USwB9lHOME19pbmRleF91"
        "cGRhdGVfY291bnSUaBGMDWNsaXBfZ3JhZGllbnSUTowPbXVsdGlfcHJlY2lzaW9ulImMDWFnZ3JlZ2F0ZV9udW2USwSMCGlkeDJu"
        "YW1llH2UjAhzeW1faW5mb5QpjA5hbGxvd19ucF9hcnJheZSJjAhtb21lbnR1bZRHP+AAAAAAAACMC2xhenlfdXBkYXRllIh1Yi4="
    ),
    "factor": (
        "gASV2wAAAAAAAACMEm14bmV0LmxyX3NjaGVkdWxlcpSMD0ZhY3RvclNjaGVkdWxlcpSTlCmBlH2UKIwHYmFzZV9scpRHP9AAAAAA"
        "AACMDHdhcm11cF9zdGVwc5RLAIwPd2FybXVwX2ZpbmFsX2xylEc/0AAAAAAAAIwPd2FybXVwX2JlZ2luX2xylEsAjAt3YXJtdXBf"
        "bW9kZZSMBmxpbmVhcpSMBHN0ZXCUSwWMBmZhY3RvcpRHP+AAAAAAAACMDnN0b3BfZmFjdG9yX2xylEc+RXmO4jCMOowFY291bnSU"
        "SwB1Yi4="
    ),
    "np": (
        "gASVdQAAAAAAAACMC214bmV0Lm51bXB5lIwHbmRhcnJheZSTlE6FlFKUfZSMBmhhbmRsZZSMCGJ1aWx0aW5zlIwJYnl0ZWFycmF5"
        "lJOUQyjK+pP5AAAAAAEAAAACAAAAAAAAAAEAAAAAAAAAAAAAAAAAwD8AAABAlIWUUpRzYi4="
    ),
}


def test_pickles_of_mxnet_are_read_under_its_name():
    program = f"""
import base64, pickle, amp.mxnet as mx
mx.install(workers=False)
def read(text):
    return pickle.loads(base64.b64decode(text))
pickles = {PICKLES!r}
found = read(pickles["dict"])
assert found["n"] == 3 and type(found["w"]) is mx.nd.NDArray and found["w"].asnumpy().tolist() == [1, 1]
assert read(pickles["sym"]).list_arguments() == ["data", "fc_weight", "fc_bias"]
assert read(pickles["ctx"]) == mx.cpu(0)
optimizer = read(pickles["sgd"])
assert type(optimizer) is mx.optimizer.SGD and (optimizer.lr, optimizer.momentum) == (0.125, 0.5)
assert read(pickles["factor"])(20) == 0.25 * 0.5**3
array = read(pickles["np"])
assert type(array) is mx.np.ndarray and array.tolist() == [1.5, 2]
print("done")
"""
    assert run("-c", program).stdout == "done\n", run("-c", program).stderr
