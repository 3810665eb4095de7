"""Settings and fixtures of all Python tests."""

import os
import sys
from pathlib import Path

import pytest

os.environ["AMP_VERIFY"] = "1"  # read when amp is imported

import amp  # noqa: E402

# "any", and classes of machines whose decisions need no timing.
MACHINES = ("any", "avx2", "avx512_core", "avx512_bf16_wide")


def class_of_this_cpu():
    """The class that fits the CPU's instructions: what users get, but for the probe, whose times differ."""
    cpu = amp.cpu_info()
    if cpu["native_bfloat16"]:
        return "avx512_bf16_wide"
    return "avx512_core" if cpu["isa"].startswith("avx512") else "avx2"


# What tests run for unless they name a machine. AMP_MACHINE=any make test-python: all of them without own kernels.
DEFAULT_MACHINE = os.environ.get("AMP_MACHINE") or class_of_this_cpu()
os.environ["AMP_MACHINE"] = DEFAULT_MACHINE

REPOSITORY = Path(__file__).resolve().parents[2]


def pytest_report_header():
    here = class_of_this_cpu()
    wider = MACHINES[MACHINES.index(here) + 1 :]
    text = f"machine: {DEFAULT_MACHINE} where tests name none (AMP_MACHINE)"
    return f"{text}; of {', '.join(wider)} what {here} can run" if wider else text


@pytest.fixture(params=MACHINES)
def machine(request, monkeypatch):
    """The machine that everything is decided for; a test that takes this runs for each."""
    monkeypatch.setenv("AMP_MACHINE", request.param)
    return request.param


@pytest.fixture
def any_machine(monkeypatch):
    """Models run as they are written or were converted: for tests of what a conversion wrote."""
    monkeypatch.setenv("AMP_MACHINE", "any")


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """The folder with models and MXNet's outputs that is too large for the repository."""
    folder = Path(os.environ.get("AMP_SHARED") or REPOSITORY.parent / "shared")
    if not (folder / "cases").is_dir():
        pytest.skip(f"needs the folder shared/ with cases/ (looked for {folder}; AMP_SHARED names another)")
    return folder


@pytest.fixture(autouse=True)
def no_version_is_chosen():
    """What `amp.mxnet.install` chose in a test ends with it."""
    yield
    generation = sys.modules.get("amp.mxnet._generation")
    if generation is not None and generation.default() is not generation.ONE:
        generation.set_default("1.9.1")
        generation._default = generation.ONE


@pytest.fixture
def mxnet_2():
    """Blocks are those of MXNet 2, as behind `npx.set_np()`."""
    from amp.mxnet import util

    with util.np_shape(), util.np_array():
        yield
