"""Builds a wheel as `pip install .` does and installs it in the ways people install packages.

Every installation is tried from another folder, with nothing of this environment in its way. Which file
serves as oneDNN's library is read from the process itself.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
import check_wheel  # noqa: E402

pytestmark = pytest.mark.install

# Prints where amp and the oneDNN that it uses come from.
PROBE = """
import amp, pathlib
core = amp._core
maps = pathlib.Path("/proc/self/maps").read_text().split("\\n")
libraries = {line.split(maxsplit=5)[-1] for line in maps if "libdnnl" in line}
assert len(libraries) == 1, libraries
print(amp.__file__, core.__file__, *libraries, sep="\\n")
"""


def run(*command, cwd, expect_failure=False, **extra_env):
    """Runs a command away from this environment; returns what it printed."""
    hidden = ("PYTHONPATH", "PYTHONHOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "VIRTUAL_ENV")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    env.update({"PYTHONNOUSERSITE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    env.update({name: str(value) for name, value in extra_env.items()})
    command = [str(part) for part in command]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    output = done.stdout + done.stderr
    assert (done.returncode != 0) == expect_failure, f"{' '.join(command)}\n{output}"
    return output if expect_failure else done.stdout


def probe(python, cwd, **extra_env):
    """Imports amp; returns the files of amp, of the extension and of libdnnl."""
    return [Path(line) for line in run(python, "-c", PROBE, cwd=cwd, **extra_env).splitlines()]


def make_venv(folder, *options):
    run(sys.executable, "-m", "venv", "--without-pip", *options, folder, cwd=folder.parent)
    return folder / "bin" / "python"


def pip_install(python, *arguments, cwd, **extra_env):
    """Installs with this environment's pip for another interpreter."""
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet")
    run(*pip, *arguments, cwd=cwd, **extra_env)


def run_paths(library):
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)


def compiled_by_make(repository):
    """Options that let pip find what make has compiled; none where it has not, or shall not be used."""
    cache = repository / "build" / "CMakeCache.txt"
    if os.environ.get("AMP_TEST_WHEEL") == "isolated" or not cache.is_file():
        return []
    build_type = re.search(r"^CMAKE_BUILD_TYPE:\w+=(\w+)$", cache.read_text(), re.MULTILINE)[1]
    settings = {"build-dir": cache.parent, "cmake.define.AMP_BUNDLE_ONEDNN": "ON", "cmake.build-type": build_type}
    return ["--no-build-isolation", *(f"--config-settings={key}={value}" for key, value in settings.items())]


@pytest.fixture(scope="session")
def wheel(repository):
    """A wheel of the working tree. It is built again only when a file that it depends on has changed.

    Where make has compiled the library, its object files are used; AMP_TEST_WHEEL=isolated compiles everything again in
    an environment of pip's, as `pip install .` does for a user (minutes).
    """
    sources = [
        repository / name
        for name in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE", "tools/make_stubs.py")
    ]
    for folder in ("cmake", "src", "python"):
        found = (repository / folder).rglob("*")
        sources += sorted(path for path in found if path.is_file() and path.suffix != ".pyc")
    digest = hashlib.sha256(sys.version.encode())
    for path in sources:
        digest.update(f"{path.relative_to(repository)}\n".encode() + path.read_bytes())

    folder = repository / "build" / "wheel" / digest.hexdigest()[:16]
    if not list(folder.glob("*.whl")):
        shutil.rmtree(folder.parent, ignore_errors=True)
        command = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder)
        run(*command, *compiled_by_make(repository), repository, cwd=repository.parent)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """A folder with what the wheel installs, to be read alone."""
    folder = tmp_path_factory.mktemp("installed")
    pip_install(sys.executable, "--target", folder, "--no-deps", wheel, cwd=folder)
    return folder


@pytest.fixture
def target_without_onednn(installed, tmp_path):
    """A folder with amp in which no libdnnl lies."""
    target = tmp_path / "target"
    shutil.copytree(installed, target)
    (target / "amp" / "libdnnl.so.3").unlink()
    return target


def test_sources_that_are_made_keep_their_times(repository, tmp_path):
    """Otherwise every configuration, one of pip's too, compiles half of the kernels again."""
    build = tmp_path / "build"
    command = [Path(sys.executable).with_name("cmake"), "-S", repository, "-B", build, "-G", "Ninja"]
    command += ["-DAMP_BUILD_TESTS=OFF", f"-DPython_EXECUTABLE={sys.executable}"]
    command += [f"-DCMAKE_MAKE_PROGRAM={Path(sys.executable).with_name('ninja')}"]
    times = []
    for _ in range(2):
        run(*command, cwd=tmp_path)
        times.append({path.name: path.stat().st_mtime_ns for path in build.rglob("*.cc")})
    assert len(times[0]) > 20
    assert times[0] == times[1]


def test_virtual_environment(wheel, tmp_path):
    venv = tmp_path / "a path with a space"
    python = make_venv(venv)
    pip_install(python, wheel, cwd=tmp_path)

    package, core, onednn = probe(python, tmp_path)

    assert venv in package.parents and venv in core.parents
    assert onednn.parent.samefile(package.parent)
    versions = run(venv / "bin" / "amp", "--version", cwd=tmp_path)
    assert versions == f"amp {wheel.name.split('-')[1]}, oneDNN 3.2.0\n"


def test_no_build_path_stays_in_the_libraries(installed):
    libraries = sorted((installed / "amp").glob("*.so*"))
    assert [library.name.split(".")[0] for library in libraries] == ["_core", "libdnnl", "libnnvm_amp"]
    for library in (libraries[0], libraries[2]):
        assert run_paths(library) == ["$ORIGIN:$ORIGIN/../../.."], library


def test_the_libraries_need_no_newer_symbols_than_their_tag_allows(installed, monkeypatch):
    # glibc is this machine's here; `make wheel` asks for an older one, and checks that it got it
    assert [problem for problem in check_wheel.too_new(installed) if " GLIBC_" not in problem] == []
    monkeypatch.setattr(check_wheel, "NEWEST", {"GLIBC": (2, 17), "GLIBCXX": (3, 4, 19), "CXXABI": (1, 3, 5)})
    found = list(check_wheel.too_new(installed))
    assert any(problem.startswith("amp/libnnvm_amp.so.0.1 needs GLIBCXX_3.4.") for problem in found), found


def test_the_debug_symbols_of_onednn_are_left_out(installed):
    sections = run("readelf", "--sections", "--wide", installed / "amp" / "libdnnl.so.3", cwd=installed)
    assert ".dynsym" in sections and ".symtab" not in sections


def test_the_demo_runs_from_the_wheel_alone(wheel, tmp_path):
    python = make_venv(tmp_path / "venv")
    pip_install(python, wheel, cwd=tmp_path)
    for command in ("amp", "nnvm-amp"):
        assert "accuracy in float32" in run(tmp_path / "venv" / "bin" / command, "demo", "--quick", cwd=tmp_path)


def test_the_wheel_has_no_sources_of_the_extension(installed):
    assert not (installed / "amp" / "csrc").exists()
    assert not list(installed.rglob("*.h"))


def test_the_wheel_has_types_and_licences(installed):
    package = installed / "amp"
    assert (package / "py.typed").is_file()
    assert "def Convolution(\n    data: Symbol | None = None,\n" in (package / "sym" / "__init__.pyi").read_text()
    assert {path.name for path in (package / "licenses" / "onednn").iterdir()} == {"LICENSE", "THIRD-PARTY-PROGRAMS"}
    assert check_wheel.missing_licences(installed) == []
    (metadata,) = installed.glob("*.dist-info/METADATA")
    text = metadata.read_text()
    assert "License-Expression: Apache-2.0 AND" in text and "GPL-3.0-or-later WITH GCC-exception-3.1" in text
    assert "Requires-Python: >=3.10\n" in text


def test_target(wheel, tmp_path):
    target = tmp_path / "target"
    pip_install(sys.executable, "--target", target, wheel, cwd=tmp_path)
    bare = make_venv(tmp_path / "bare")

    package, core, onednn = probe(bare, tmp_path, PYTHONPATH=target)

    assert package.parent.samefile(target / "amp")
    assert onednn.samefile(target / "amp" / "libdnnl.so.3")


def test_user(wheel, tmp_path):
    base = tmp_path / "user base"
    python = make_venv(tmp_path / "venv", "--system-site-packages")  # others do not see user packages
    env = {"PYTHONUSERBASE": base, "PYTHONNOUSERSITE": ""}
    pip_install(python, "--user", "--ignore-installed", wheel, cwd=tmp_path, **env)

    package, core, onednn = probe(python, tmp_path, **env)

    assert base in package.parents
    assert onednn.parent.samefile(package.parent)


def test_editable(repository, tmp_path):
    """`make` installs the package that way into the environment of these tests."""
    import amp

    if Path(amp.__file__).parent != repository / "python" / "amp":
        pytest.skip("amp is not an editable install in this environment (pip install -e . makes it one)")
    package, core, onednn = probe(sys.executable, tmp_path)
    assert package.parent == repository / "python" / "amp"
    assert run_paths(core) == ["$ORIGIN:$ORIGIN/../../.."]


def test_library_in_another_prefix_is_found_through_its_metadata(target_without_onednn, tmp_path):
    python = make_venv(tmp_path / "venv")
    pip_install(python, "onednn-cpu-gomp==2023.2.0", "numpy", "ml_dtypes", cwd=tmp_path)

    package, core, onednn = probe(python, tmp_path, PYTHONPATH=target_without_onednn)

    assert target_without_onednn in core.parents
    assert onednn.samefile(tmp_path / "venv" / "lib" / "libdnnl.so.3")


def test_missing_library_is_explained(target_without_onednn, tmp_path):
    bare = make_venv(tmp_path / "bare")
    code = "from amp._loader import load_core"
    output = run(bare, "-c", code, cwd=tmp_path, PYTHONPATH=target_without_onednn, expect_failure=True)
    assert "cannot find oneDNN's library libdnnl.so.3" in output
    assert "pip install --force-reinstall onednn-cpu-gomp==2023.2.0" in output


def container_steps(file):
    """(commands, entry point) of the last stage of a Dockerfile."""
    last = file.read_text().rpartition("\nFROM ")[2]
    return re.findall(r"^RUN (.*)$", last, re.MULTILINE), json.loads(
        re.search(r"^ENTRYPOINT (.*)$", last, re.MULTILINE)[1]
    )


def environment_for_steps(folder):
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def run_step(step, folder, environment, **folders):
    """What a command prints; folders of the container lie elsewhere."""
    for name, path in folders.items():
        step = step.replace(f"/{name}/", f"{path}/")
    done = subprocess.run(step, shell=True, env=environment, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"{step}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_steps_of_the_container(repository, wheel, tmp_path):
    environment = environment_for_steps(tmp_path / "venv")
    steps, entry = container_steps(repository / "Dockerfile")
    steps = [*steps, " ".join([*entry, "--help"])]
    outputs = [run_step(step, tmp_path, environment, wheels=wheel.parent) for step in steps]
    assert "accuracy in float32" in outputs[1] and outputs[2].startswith("usage: amp")


def test_the_container_that_serves(repository, wheel, tmp_path):
    environment = environment_for_steps(tmp_path / "venv")
    steps, entry = container_steps(repository / "examples" / "serving" / "Dockerfile")
    model = tmp_path / "model"
    shutil.copytree(repository / "examples" / "digits", model)
    for step in steps:
        run_step(step, tmp_path, environment, wheels=wheel.parent, model=model)
    command = [tmp_path / "venv" / "bin" / "amp", *entry[1:], "--port", "0"]
    command = [str(part).replace("/model/", f"{model}/") for part in command]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = re.search(r":(\d+)/v2/models/digits ", process.stdout.readline())[1]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/models/digits", timeout=60) as answer:
                assert json.load(answer)["inputs"][0]["shape"] == [1, 1, 8, 8]
        finally:
            process.terminate()
    assert process.returncode == 0
