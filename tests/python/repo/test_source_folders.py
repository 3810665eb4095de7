"""The folders inside of src/: each says what lives there, and includes only the folders that it may."""

import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"

# Folder -> the other folders of its room that it may include.
KERNELS = {
    "base": (),
    "threads": ("base",),
    "elementwise": ("base", "threads"),
    "reduce": ("base", "threads", "elementwise"),
    "movement": ("base", "threads"),
    "gemm": ("base", "threads", "elementwise"),
    "winograd": ("base", "threads", "gemm"),
    "depthwise": ("base", "threads", "gemm"),
    "attention": ("base", "threads"),
    "rnn": ("base", "threads"),
    "vision": ("base", "threads", "movement", "reduce"),
}
OPS = {
    "common": (),
    "elementwise": ("common",),
    "shape": ("common",),
    "reduce": ("common", "shape"),
    "norm": ("common",),
    "linalg": ("common", "shape"),
    "nn": ("common", "linalg", "shape"),
    "attention": ("common", "linalg"),
    "create": ("common",),
    "random": ("common", "shape"),
    "control_flow": ("common",),
    "detection": ("common",),
    "loss": ("common", "nn"),
}
ROOMS = {"kernels": KERNELS, "ops": OPS}
FOLDERS = [(room, folder) for room, folders in ROOMS.items() for folder in folders]
MOST_FILES = 60  # of a folder


def sources(folder):
    return sorted(path for suffix in ("*.h", "*.cc") for path in folder.rglob(suffix))


def headers(path):
    return re.findall(r'#include "([^"]+)"', path.read_text())


@pytest.mark.parametrize("room", ROOMS)
def test_every_source_is_in_a_folder(room):
    assert {path.name for path in (SOURCE / room).iterdir() if path.is_dir()} == set(ROOMS[room])
    assert not [path.name for path in (SOURCE / room).iterdir() if path.suffix in (".h", ".cc")]


@pytest.mark.parametrize("room, folder", FOLDERS)
def test_folders_include_what_they_may(room, folder):
    may = {folder, *ROOMS[room][folder]}
    found = sources(SOURCE / room / folder)
    wrong = [
        f"{path.name} includes {header}"
        for path in found
        for header in headers(path)
        if header.startswith(f"{room}/") and header.split("/")[1] not in may
    ]
    assert found and not wrong


def test_folders_have_no_circles():
    for folders in ROOMS.values():
        ranked = set()
        while len(ranked) < len(folders):
            ready = {name for name, may in folders.items() if set(may) <= ranked} - ranked
            assert ready, sorted(set(folders) - ranked)
            ranked |= ready


@pytest.mark.parametrize("room, folder", FOLDERS)
def test_a_folder_says_what_it_is(room, folder):
    readme = (SOURCE / room / folder / "README.md").read_text()
    title, what, may = [line for line in readme.splitlines() if line]
    assert title == f"# {room}/{folder}" and what.endswith(".")
    others = ROOMS[room][folder]
    assert set(re.findall(r"(\w+)/(?:,| and|\.)", may)) >= set(others), may
    assert len(sources(SOURCE / room / folder)) <= MOST_FILES


def reaches(path, wanted, seen):
    """Whether the file includes a header of oneDNN's, or one of ours that does."""
    if path in seen or not path.exists():
        return False
    seen.add(path)
    if re.search(wanted, path.read_text()):
        return True
    return any(reaches(SOURCE / header, wanted, seen) for header in headers(path))


def test_the_runtime_never_sees_onednn():
    wanted = r"#include <dnnl|#include <oneapi"
    found = sources(SOURCE / "runtime")
    assert reaches(SOURCE / "dnnl" / "session.cc", wanted, set()) and len(found) > 20
    assert [path.name for path in found if reaches(path, wanted, set())] == []
