"""What the objects of kernels for one instruction set may share with the rest of the program: no code."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

OBJECTS = sorted((Path(__file__).parents[3] / "build").glob("CMakeFiles/amp_kernels.dir/**/*_avx*.o"))


@pytest.mark.skipif(not OBJECTS, reason="the library was not built in build/")
@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_no_function_may_be_kept_for_the_whole_program():
    """The linker keeps one of several weak copies, and might keep one with instructions that a CPU lacks. Those of
    templates on an instruction set (Isa, Ops) are of that set wherever they are called."""
    listing = subprocess.run(["nm", "--demangle", *OBJECTS], check=True, capture_output=True, text=True).stdout
    weak = {line.split(" W ", 1)[1] for line in listing.splitlines() if " W " in line}
    assert {name for name in weak if "Isa" not in name and "Ops" not in name} == set()


@pytest.mark.skipif(not OBJECTS, reason="the library was not built in build/")
@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
def test_what_extends_avx512_shares_nothing():
    """Names depend on Isa::kAvx512 alone, which CPUs without bfloat16, VNNI and AMX have, too."""
    objects = [path for path in OBJECTS if re.search(r"_avx512(bf16|vnni|amx)\.", path.name)]
    listing = subprocess.run(["nm", "--demangle", *objects], check=True, capture_output=True, text=True).stdout
    assert len(objects) > 5 and [line for line in listing.splitlines() if " W " in line] == []
