"""Settings and fixtures of all Python tests."""

import os
import sys
from pathlib import Path

import pytest

# Read when amp is imported, so it stands here and not in a fixture.
os.environ["AMP_VERIFY"] = "1"
os.environ["AMP_MACHINE"] = "any"  # dtypes as they are written; tests of machines name one

REPOSITORY = Path(__file__).resolve().parents[2]


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
