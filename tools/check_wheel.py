"""Checks what a wheel promises: the systems that its tag names, its licences, and its metadata.

usage: check_wheel.py WHEEL ...    (run by an interpreter that has auditwheel and twine)
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# The newest versions of symbols that manylinux_2_34 allows: RHEL 9's glibc and libstdc++.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13)}
PLATFORM = "manylinux_2_34_x86_64"
LICENCES = {
    "LICENSE",
    "licenses/README.md",
    "licenses/fmt/LICENSE",
    "licenses/libgomp/COPYING.RUNTIME",
    "licenses/libgomp/COPYING3",
    "licenses/libgomp/NOTICE",
    "licenses/nlohmann_json/LICENSE",
    "licenses/onednn/LICENSE",
    "licenses/onednn/THIRD-PARTY-PROGRAMS",
    "licenses/pybind11/LICENSE",
}


def main(*wheels):
    for wheel in map(Path, wheels):
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(wheel).extractall(folder)
            problems = [*too_new(Path(folder)), *missing_licences(Path(folder)), *wrong_tag(wheel)]
        for problem in problems:
            print(f"{wheel.name}: {problem}", file=sys.stderr)
        if problems or subprocess.run([sys.executable, "-m", "twine", "check", "--strict", wheel]).returncode:
            sys.exit(1)
        print(f"{wheel.name}: symbols, licences, tag and metadata are as they should be")


def too_new(folder):
    """Symbols, of any library in this folder, that are newer than RHEL 9 has."""
    for library in sorted(path for path in folder.rglob("*") if ".so" in path.suffixes):
        table = subprocess.run(["objdump", "-T", library], check=True, stdout=subprocess.PIPE, text=True).stdout
        needed = set(re.findall(r"\*UND\*.*\((GLIBC|GLIBCXX|CXXABI)_([\d.]+)\)", table))
        for name, version in sorted(needed):
            if tuple(map(int, version.split("."))) > NEWEST[name]:
                yield f"{library.relative_to(folder)} needs {name}_{version}"


def missing_licences(folder):
    """Licences that the folder of an unpacked wheel lacks."""
    (found,) = folder.glob("*.dist-info/licenses")
    present = {path.relative_to(found).as_posix() for path in found.rglob("*") if path.is_file()}
    return [f"the licence {name} is missing" for name in sorted(LICENCES - present)]


def wrong_tag(wheel):
    """Whether the name claims another platform than auditwheel finds."""
    shown = subprocess.run(
        [sys.executable, "-m", "auditwheel", "show", wheel], stdout=subprocess.PIPE, text=True
    ).stdout
    found = re.search(r'tag:\s+"(\w+)"', " ".join(shown.split()))
    claimed = wheel.stem.split("-")[-1].split(".")
    if PLATFORM not in claimed or found is None or found[1] not in claimed:
        yield f"the name says {'.'.join(claimed)}, auditwheel {found and found[1]}; wanted is {PLATFORM}"


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
