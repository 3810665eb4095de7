"""What a release is made with: workflows and the source archive."""

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

try:
    import tomllib
except ImportError:  # Python 3.10
    from pip._vendor import tomli as tomllib

WORKFLOWS = ["docs.yml", "nightly.yml", "release.yml", "tests.yml"]


def program(name):
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        pytest.skip(f"{name} is not installed (`make test` does it)")
    return path


@pytest.fixture(scope="module")
def settings(repository):
    return tomllib.loads((repository / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def texts(repository):
    folder = repository / ".github" / "workflows"
    assert sorted(path.name for path in folder.iterdir()) == WORKFLOWS
    return {name: (folder / name).read_text() for name in WORKFLOWS}


def test_workflows_are_valid(repository):
    folder = repository / ".github"
    files = [folder / "workflows" / name for name in WORKFLOWS]
    check = program("check-jsonschema")
    for schema, paths in (("github-workflows", files), ("dependabot", [folder / "dependabot.yml"])):
        done = subprocess.run([check, "--builtin-schema", f"vendor.{schema}", *paths], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_workflows_have_no_known_weakness(repository):
    command = [program("zizmor"), "--offline", "--format", "json", repository / ".github"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert json.loads(done.stdout) == [], done.stdout


def test_actions_are_pinned_by_commit(texts):
    used = [line for text in texts.values() for line in re.findall(r"uses: (.*)", text)]
    assert used
    for line in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_workflows_run_what_make_knows(repository, texts):
    targets = set(re.findall(r"^([\w-]+):", (repository / "Makefile").read_text(), re.MULTILINE))
    run = [name for text in texts.values() for name in re.findall(r"run: make ([\w-]+)", text)]
    run += re.search(r"target: \[(.*)\]", texts["nightly.yml"])[1].split(", ")
    assert set(run) == {"docs", "asan", "test-long", "fuzz"} and set(run) <= targets
    assert "run: .ci/run" in texts["tests.yml"]


def test_all_places_name_the_same_versions_of_python(repository, settings, texts):
    classifiers = [c.rpartition(" ")[2] for c in settings["project"]["classifiers"] if re.search(r":: 3\.\d+$", c)]
    tested = re.findall(r'"(3\.\d+)"', re.search(r"python: (\[.*\])", texts["tests.yml"])[1])
    built = [f"3.{minor}" for minor in re.findall(r"cp3(\d+)", " ".join(settings["tool"]["cibuildwheel"]["build"]))]
    script = (repository / "tools" / "make_wheels.py").read_text()
    first, end = map(int, re.search(r"MINORS = range\((\d+), (\d+)\)", script).groups())
    assert classifiers == tested == built == [f"3.{minor}" for minor in range(first, end)]
    assert settings["project"]["requires-python"] == f">={classifiers[0]}"


def test_wheels_are_published_with_settings_that_exist(repository, settings):
    defined = settings["tool"]["cibuildwheel"]["config-settings"]
    cmake = "".join(path.read_text() for path in (repository / "cmake").glob("*.cmake"))
    for name in defined:
        assert re.search(rf"\b{name.removeprefix('cmake.define.')}\b", cmake), name


def test_the_source_archive_needs_no_git(repository, tmp_path):
    """It has every file that git has, and the version stands in it."""
    backend = "from scikit_build_core.build import build_sdist; import sys; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", backend, tmp_path], cwd=repository, check=True, capture_output=True)
    (archive,) = tmp_path.glob("nnvm_amp-*.tar.gz")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path, filter="data")
    source = tmp_path / archive.name.removesuffix(".tar.gz")
    tracked = subprocess.run(["git", "ls-files"], cwd=repository, capture_output=True, text=True, check=True).stdout
    missing = [name for name in tracked.splitlines() if not (source / name).exists() and (repository / name).exists()]
    assert missing == []

    code = (
        "from scikit_build_core.build import prepare_metadata_for_build_wheel as p; import sys; print(p(sys.argv[1]))"
    )
    without_git = {**os.environ, "PATH": str(Path(sys.executable).parent), "GIT_CEILING_DIRECTORIES": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "made"], cwd=source, env=without_git, check=True)
    assert done.returncode == 0
    (metadata,) = (tmp_path / "made").glob("*.dist-info/METADATA")
    version = archive.name.removeprefix("nnvm_amp-").removesuffix(".tar.gz")
    assert f"\nVersion: {version}\n" in metadata.read_text()
