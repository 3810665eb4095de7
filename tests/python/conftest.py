"""Settings and fixtures of all Python tests."""

import os
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


@pytest.fixture
def mxnet_2():
    """Blocks are those of MXNet 2, as behind `npx.set_np()`."""
    from amp.mxnet import util

    with util.np_shape(), util.np_array():
        yield
