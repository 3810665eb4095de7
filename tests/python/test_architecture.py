"""The rooms of the house: who may include whom, and how large files may grow."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent.parent / "src"

# Room -> rooms whose headers it may include. Kernels stand alone on plain pointers.
MAY_INCLUDE = {
    "kernels": {"kernels"},
    "nnvm": {"nnvm"},
    "passes": {"nnvm", "passes"},
    "program": {"nnvm", "kernels", "passes", "program"},
    "dnnl": {"nnvm", "kernels", "passes", "program", "dnnl"},
    "ops": {"nnvm", "kernels", "passes", "program", "ops"},
}
LONGEST_FILE = 600  # lines


def files(room):
    return sorted(path for suffix in ("*.h", "*.cc") for path in (SOURCE / room).rglob(suffix))


def test_every_folder_is_a_room():
    assert {path.name for path in SOURCE.iterdir() if path.is_dir()} == set(MAY_INCLUDE)


@pytest.mark.parametrize("room", sorted(MAY_INCLUDE))
def test_includes_follow_the_arrow(room):
    breaches = []
    for path in files(room):
        for header in re.findall(r'#include "([^"]+)"', path.read_text()):
            if header.split("/")[0] not in MAY_INCLUDE[room]:
                breaches.append(f"{path.name} includes {header}")
    assert files(room) and not breaches


def test_only_the_executor_room_knows_onednn():
    knowing = {
        path.parent.name
        for room in MAY_INCLUDE
        for path in files(room)
        if re.search(r"#include <dnnl|#include <oneapi", path.read_text())
    }
    assert knowing == {"dnnl"}


def test_cards_do_not_see_library_types():
    for path in files("ops"):
        assert not re.search(r"(?<!on)dnnl::", path.read_text()), path.name


def test_files_stay_readable():
    long_ones = [
        f"{path.name}: {lines}"
        for room in MAY_INCLUDE
        for path in files(room)
        if (lines := len(path.read_text().splitlines())) > LONGEST_FILE
    ]
    assert not long_ones
