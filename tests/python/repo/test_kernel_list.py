"""The kernels that the shipped classes of machines choose are those of tests/data/kernels."""

import os
import subprocess
import sys
from pathlib import Path

import kernel_list
import pytest

DEEP = ("densenet121", "inceptionv3")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name in DEEP else ()) for name in kernel_list.NETWORKS],
)
def test_the_classes_choose_the_kernels_of_the_list(name):
    environment = {**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"}  # what fuses is the same on every CPU
    script = Path(kernel_list.__file__)
    run = subprocess.run([sys.executable, script, name], env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, f"{run.stdout}{run.stderr}: kernel_list.py --write writes the lists anew"


def test_the_list_names_every_class_and_precision():
    text = "".join(kernel_list.path_of(name).read_text() for name in kernel_list.NETWORKS)
    for machine in kernel_list.CLASSES:
        for precision in kernel_list.PRECISIONS:
            assert f" {machine}:{precision}*" in text
