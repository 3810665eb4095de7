"""Compiles oneDNN from its sources, with what this project uses of it, and strips the library.

usage: build_onednn.py SOURCE BUILD

SOURCE is a source tree of oneDNN (a release's archive, unpacked), BUILD the folder to work in. Afterwards BUILD/prefix
has the headers, the library and the CMake package; its licences are in BUILD/prefix/share/doc/dnnl. What is compiled
already stays: a second run takes seconds. Takes about 40 minutes of CPU time. Run it by the interpreter of make's
environment.
"""

import os
import subprocess
import sys
from pathlib import Path

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
    source, build = Path(source).resolve(), Path(build).resolve()
    if not (source / "include" / "oneapi" / "dnnl").is_dir():
        sys.exit(f"{source}: not a source tree of oneDNN (it has no include/oneapi/dnnl)")
    prefix = build / "prefix"
    options = [f"-D{name}={value}" for name, value in OPTIONS.items()]
    options += [f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DCMAKE_INSTALL_LIBDIR=lib"]
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count()))
    run("cmake", "-S", source, "-B", build / "objects", "-G", "Ninja", *options)
    run("cmake", "--build", build / "objects", "--parallel", jobs)
    run("cmake", "--install", build / "objects", "--strip")


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
