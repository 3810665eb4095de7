"""What C++ users get: the build tree is installed into an empty prefix and examples/cpp is built against that alone."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from test_install import run, run_paths

import amp

CMAKE = Path(sys.executable).with_name("cmake")
CLEAN = {"CMAKE_PREFIX_PATH": "", "CPATH": "", "LIBRARY_PATH": ""}

EVERYTHING = """
cmake_minimum_required(VERSION 3.21)
project(everything LANGUAGES CXX)
find_package(nnvm_amp CONFIG REQUIRED)
add_library(everything OBJECT everything.cc)
target_link_libraries(everything PRIVATE nnvm_amp::nnvm_amp)
"""


@pytest.fixture(scope="module")
def prefix(repository, tmp_path_factory):
    """The folder of an installation for C++ users."""
    build = repository / "build"
    if not (build / "libnnvm_amp.so").exists() or not CMAKE.exists():
        pytest.skip("needs the library built by `make build` and CMake beside this Python")
    folder = tmp_path_factory.mktemp("prefix with a space")
    run(CMAKE, "--install", build, "--prefix", folder, cwd=folder)
    return folder


def configure_and_build(source, prefix, folder):
    """Builds with CMake where nothing but `prefix` and the system can be found."""
    run(CMAKE, "-S", source, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", cwd=prefix, **CLEAN)
    run(CMAKE, "--build", folder, cwd=prefix, **CLEAN)


@pytest.fixture(scope="module")
def classify(repository, prefix, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classify")
    configure_and_build(repository / "examples" / "cpp", prefix, folder)
    return folder / "classify"


def digits(repository):
    folder = repository / "examples" / "digits"
    return folder / "digits-symbol.json", folder / "digits-0000.params"


def best_three(row):
    return [(int(i), float(row[i])) for i in np.argsort(-row)[:3]]


def printed(output):
    return [[(int(i), float(x)) for i, x in re.findall(r"(\d+) (-?[\d.]+)", line)] for line in output.splitlines()]


@pytest.mark.parametrize("image_file", ["images", None])
def test_the_example_prints_what_python_computes(repository, classify, tmp_path, image_file):
    with np.load(repository / "examples" / "digits" / "heldout.npz") as heldout:
        images = heldout["images"][:5, None].astype(np.float32) / 16
    if image_file is None:
        images[:] = 0  # what the example runs on without a file
    else:
        images.tofile(tmp_path / "images")
    arguments = [tmp_path / "images"] if image_file else []

    lines = printed(run(classify, *digits(repository), "5x1x8x8", *arguments, cwd=tmp_path))

    symbol, params = digits(repository)
    bind = {"reduce_precision": {"target_dtype": "bfloat16", "emulate": True}}
    (scores,) = amp.Executor(*amp.load(symbol, params), {"data": images.shape}, **bind)(images)
    assert len(lines) == 5
    for line, row in zip(lines, scores.asnumpy()):
        assert [i for i, _ in line] == [i for i, _ in best_three(row)]
        np.testing.assert_allclose([x for _, x in line], [x for _, x in best_three(row)], atol=1e-4)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["2x2x8x8"], "Convolution 'digits_conv0_fwd': expected weight with 2 input channels, got 1"),
        (["2xy"], "expected a shape like 1x3x224x224"),
        (["1x1x8x8", "short"], "short: expected 256 bytes of float32[1,1,8,8]"),
        ([], "usage: classify SYMBOL PARAMS SHAPE"),
    ],
)
def test_errors_are_one_line(repository, classify, tmp_path, arguments, message):
    (tmp_path / "short").write_bytes(b"1234")
    output = run(classify, *digits(repository), *arguments, cwd=tmp_path, expect_failure=True)
    assert output.startswith(f"classify: {message}")
    assert output.count("\n") == 1


def test_a_program_needs_one_header_and_names_no_back_end(repository, prefix):
    source = (repository / "examples" / "cpp" / "main.cc").read_text()
    assert re.findall(r'#include [<"](\w+/[\w/.]+)', source) == ["amp/amp.h"]
    assert "dnnl" not in source
    assert (prefix / "include" / "amp" / "amp.h").is_file()


def test_installed_headers_need_no_other_library(prefix, tmp_path):
    include = prefix / "include" / "nnvm_amp"
    headers = sorted(path.relative_to(include) for path in include.glob("*/*.h") if path.parent.name != "bundled")
    assert {Path("runtime/executor.h"), Path("nnvm/symbol_json.h"), Path("passes/convert_symbol.h")} <= set(headers)
    (tmp_path / "everything.cc").write_text("".join(f'#include "{header.as_posix()}"\n' for header in headers))
    (tmp_path / "CMakeLists.txt").write_text(EVERYTHING)
    configure_and_build(tmp_path, prefix, tmp_path / "build")


def test_the_installation_knows_nothing_of_the_build_tree(repository, prefix):
    assert not list(prefix.rglob("_core*"))
    for path in (prefix / "lib" / "cmake").rglob("*.cmake"):
        assert str(repository) not in path.read_text(), path
    assert not any(str(repository) in path for path in run_paths(prefix / "lib" / "libnnvm_amp.so"))
