"""Compiles oneDNN from its sources, with what this project uses of it, and strips the library.

usage: build_onednn.py SOURCE BUILD

SOURCE is a source tree of oneDNN (a release's archive, unpacked), or `release`: the one that wheels are published with
is cloned into BUILD/source then. BUILD is the folder to work in. Afterwards BUILD/prefix has the headers, the library
and the CMake package, and BUILD/prefix/share/doc/dnnl the licences. What is compiled already stays: a second run takes
seconds. Takes about 40 minutes of CPU time. Run it by the interpreter of make's environment.
"""

import os
import subprocess
import sys
from pathlib import Path

RELEASE, COMMIT = "v3.13.1", "5f93c2194d41d36dc55eb736ce00899b8946e7a3"
REPOSITORY = "https://github.com/uxlfoundation/oneDNN"

# GNU's OpenMP, whose calls the library answers with its own threads (src/dnnl/intercept_openmp.cc). Training brings the
# gradients of convolutions.
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release",
    "ONEDNN_CPU_RUNTIME": "OMP",
    "ONEDNN_GPU_RUNTIME": "NONE",
    "ONEDNN_BUILD_DOC": "OFF",
    "ONEDNN_BUILD_EXAMPLES": "OFF",
    "ONEDNN_BUILD_GRAPH": "OFF",
    "ONEDNN_BUILD_TESTS": "OFF",
    "ONEDNN_ENABLE_WORKLOAD": "TRAINING",
    "ONEDNN_ENABLE_PRIMITIVE": "BINARY;CONCAT;CONVOLUTION;DECONVOLUTION;ELTWISE;INNER_PRODUCT;LAYER_NORMALIZATION;"
    "MATMUL;POOLING;PRELU;REDUCTION;REORDER;RESAMPLING;SOFTMAX;SUM",
}


def main(source, build):
    build = Path(build).resolve()
    source = cloned(build / "source") if source == "release" else Path(source).resolve()
    if not (source / "include" / "oneapi" / "dnnl").is_dir():
        sys.exit(f"{source}: not a source tree of oneDNN (it has no include/oneapi/dnnl)")
    prefix = build / "prefix"
    options = [f"-D{name}={value}" for name, value in OPTIONS.items()]
    options += [f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib"]
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    run("cmake", "-S", source, "-B", build / "objects", "-G", "Ninja", *options)
    run("cmake", "--build", build / "objects", "--parallel", jobs)
    run("cmake", "--install", build / "objects", "--strip")


def cloned(folder):
    """The sources of the release; a tag that has moved is an error."""
    if not folder.is_dir():
        run("git", "clone", "--quiet", "--depth", "1", "--branch", RELEASE, REPOSITORY, folder)
    head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], check=True, stdout=subprocess.PIPE, text=True)
    if head.stdout.strip() != COMMIT:
        sys.exit(f"{folder} is at {head.stdout.strip()}, expected {COMMIT} ({RELEASE}). Remove it and try again.")
    return folder


def run(*command):
    """Runs a program of make's environment; a failure ends this script with a line instead of a traceback."""
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    code = subprocess.run([str(part) for part in command], env=environment).returncode
    if code:
        sys.exit(f"\nThis command failed (exit code {code}):\n    {' '.join(map(str, command))}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
