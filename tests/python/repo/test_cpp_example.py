"""What C++ users get: the build tree is installed into an empty prefix and examples/cpp is built against that alone."""

import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from test_install import run, run_paths

import amp

CMAKE = Path(sys.executable).with_name("cmake")
CLEAN = {"CMAKE_PREFIX_PATH": "", "CPATH": "", "LIBRARY_PATH": ""}

PROGRAM = """
cmake_minimum_required(VERSION 3.21)
project(program LANGUAGES CXX)
find_package(nnvm_amp CONFIG REQUIRED)
add_executable(program main.cc)
target_link_libraries(program PRIVATE nnvm_amp::nnvm_amp)
"""

# Prints what an operator of the program gives for 1 and -2, and the gradients.
OWN_OPERATOR = """
#include <amp/operators.h>

#include <cstdio>

struct ScaleParam {
  double factor = 1;
};

const auto registered =
    amp::RegisterOp<ScaleParam>("my_scale")
        .Params(amp::ParamSchema<ScaleParam>().Optional("factor", &ScaleParam::factor, "What data is multiplied by."))
        .Inputs({"data"})
        .Set(amp::ShapeRule{[](amp::ShapeRelation& r) { r.AllSame(); }})
        .Set(amp::DTypeRule{[](amp::DTypeRelation& r) { r.AllSame(); }})
        .Set(amp::ReferenceKernel{[](const amp::Node& node, std::span<const amp::NDArray> in,
                                     std::span<amp::NDArray> out) {
          const float factor = static_cast<float>(node.params<ScaleParam>().factor);
          for (std::int64_t i = 0; i < in[0].size(); ++i) out[0].As<float>()[i] = factor * in[0].As<float>()[i];
        }})
        .Set(amp::GradientRule{[](amp::GradientContext& c) {
          c.Set(0, c.gradient() * c.params<ScaleParam>().factor);
        }});

int main() {
  const amp::Symbol symbol = amp::ParseSymbolJson(R"({"nodes": [
      {"op": "null", "name": "x", "inputs": []},
      {"op": "my_scale", "name": "y", "attrs": {"factor": "3"}, "inputs": [[0, 0, 0]]}],
      "arg_nodes": [0], "heads": [[1, 0, 0]]})", "here");
  amp::Executor executor(amp::Gradient(symbol, {"x"}), {}, {{"x", {amp::DType::kFloat32, amp::Shape{2}}}}, {});
  const amp::NDArray x = amp::NDArray::Zeros(amp::DType::kFloat32, {2});
  x.As<float>()[0] = 1;
  x.As<float>()[1] = -2;
  for (const amp::NDArray& array : executor.Run({x})) {
    std::printf("%g %g\\n", array.As<float>()[0], array.As<float>()[1]);
  }
}
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


def test_all_headers_are_in_one_folder_and_need_no_other_library(prefix, tmp_path):
    assert [path.name for path in (prefix / "include").iterdir()] == ["amp"]
    include = prefix / "include" / "amp"
    headers = sorted(path.relative_to(include) for path in include.rglob("*.h") if "bundled" not in path.parts)
    assert {Path("runtime/executor.h"), Path("nnvm/symbol_json.h"), Path("passes/convert_symbol.h")} <= set(headers)
    (tmp_path / "everything.cc").write_text("".join(f'#include "{header.as_posix()}"\n' for header in headers))
    (tmp_path / "CMakeLists.txt").write_text(
        PROGRAM.replace("add_executable(program main", "add_library(program OBJECT everything")
    )
    configure_and_build(tmp_path, prefix, tmp_path / "build")


def test_what_the_pages_show_compiles(repository, prefix, tmp_path):
    """README and the page of C++ have one program, without the function around it."""
    pages = [(repository / page).read_text() for page in ("README.md", "docs/cpp.md")]
    (code,) = {re.search(r"^```cpp\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[1] for page in pages}
    include, _, body = code.partition("\n\n")
    (tmp_path / "main.cc").write_text(f"{include}\nvoid Program(const amp::NDArray& image) {{\n{body}}}\n")
    (tmp_path / "CMakeLists.txt").write_text(PROGRAM.replace("add_executable(program", "add_library(program OBJECT"))
    configure_and_build(tmp_path, prefix, tmp_path / "build")


def test_headers_show_nothing_of_plans_and_kernels(prefix):
    include = prefix / "include" / "amp"
    assert not (include / "dnnl").exists()
    assert not [name for name in ("step", "lowering", "layer_kernel") if (include / "program" / f"{name}.h").exists()]


def test_a_program_has_operators_of_its_own(prefix, tmp_path):
    (tmp_path / "main.cc").write_text(OWN_OPERATOR)
    (tmp_path / "CMakeLists.txt").write_text(PROGRAM)
    configure_and_build(tmp_path, prefix, tmp_path / "build")
    assert run(tmp_path / "build" / "program", cwd=tmp_path).split() == ["3", "-6", "3", "3"]


def test_the_installation_knows_nothing_of_the_build_tree(repository, prefix):
    assert not list(prefix.rglob("_core*"))
    for path in (prefix / "lib" / "cmake").rglob("*.cmake"):
        assert str(repository) not in path.read_text(), path
    assert not any(str(repository) in path for path in run_paths(prefix / "lib" / "libnnvm_amp.so"))


def test_the_library_says_which_versions_fit(prefix, classify):
    (library,) = (path for path in (prefix / "lib").glob("libnnvm_amp.so*") if not path.is_symlink())
    version = re.fullmatch(r"libnnvm_amp\.so\.(\d+\.\d+)", library.name)[1]
    assert (prefix / "lib" / "libnnvm_amp.so").resolve() == library
    assert f"Library soname: [{library.name}]" in run("readelf", "-d", library, cwd=prefix)
    assert f"[{library.name}]" in run("readelf", "-d", classify, cwd=prefix)
    assert amp.__version__.startswith(f"{version}.")


def test_pkg_config_is_all_that_a_build_needs(prefix, tmp_path):
    if shutil.which("pkg-config") is None:
        pytest.skip("pkg-config is not installed")
    moved = tmp_path / "moved"
    shutil.copytree(prefix, moved, symlinks=True)
    (tmp_path / "main.cc").write_text(OWN_OPERATOR)
    flags = "$(pkg-config --cflags --libs nnvm_amp | sed 's/ -I/ -isystem/g')"
    build = f"""eval g++ -std=c++20 main.cc -o program "-Wl,-rpath,'{moved}/lib'" {flags}"""
    run("bash", "-c", build, cwd=tmp_path, PKG_CONFIG_PATH=moved / "lib" / "pkgconfig")
    assert run(tmp_path / "program", cwd=tmp_path).split() == ["3", "-6", "3", "3"]
