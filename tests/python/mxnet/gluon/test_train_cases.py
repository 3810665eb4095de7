"""Training programs against MXNet 1.9.1's own loss curves: recorded in the folder of AMP_SHARED."""

import importlib.util
import os
from pathlib import Path

import pytest

import amp.mxnet as mx

SHARED = Path(os.environ.get("AMP_SHARED") or Path(__file__).resolve().parents[5] / "shared")
CASES = SHARED / "cases"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason=f"{CASES} does not exist: the reference cases are not here")
LOSS = 1e-3  # relative, of each step


def case_of(folder):
    spec = importlib.util.spec_from_file_location("case", CASES / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TrainCase(str(folder))


@pytest.mark.parametrize("folder", sorted((CASES / "train").glob("*/")), ids=lambda folder: folder.name)
def test_programs_learn_what_mxnet_learns(folder):
    case = case_of(folder)
    errors = case.errors(case.run(mx))
    assert errors.pop("loss") <= LOSS
    assert errors.pop("scalars", 0.0) <= LOSS
    noise = {entry["name"]: entry.get("noise", 0.0) for entry in case.info["params"]}
    for name, (largest, _, _) in errors.items():
        assert largest <= max(1e-4, 10 * noise[name]), name
