"""CMake and the Python package take the same version from git's tags."""

import re
import shutil
import subprocess
import sys

import pytest

SCRIPT = """
include("{module}")
amp_find_version("{folder}" version)
message("version ${{version}}")
"""

ARCHIVED = "node: {node}\nnode-date: 2026-11-22T10:00:00+00:00\ndescribe-name: {described}\n"


@pytest.fixture
def sources(repository, tmp_path):
    """A folder with what both read; `git` is a function that runs it there."""
    if not shutil.which("git"):
        pytest.skip("needs git")
    folder = tmp_path / "sources"
    folder.mkdir()
    shutil.copy(repository / "pyproject.toml", folder)
    return folder


def git(folder, *arguments):
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder):
    git(folder, "add", ".")
    git(folder, "commit", "--allow-empty", "-m", "a commit")


def version_of_cmake(repository, folder):
    script = folder.parent / "version.cmake"
    script.write_text(SCRIPT.format(module=repository / "cmake" / "Version.cmake", folder=folder))
    cmake = shutil.which("cmake", path=f"{sys.prefix}/bin") or shutil.which("cmake")
    done = subprocess.run([cmake, "-P", script], capture_output=True, text=True, check=True)
    return re.search(r"^version (.*)$", done.stderr, re.MULTILINE)[1]


def version_of_package(folder):
    command = [sys.executable, "-m", "setuptools_scm"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def test_a_tag_is_the_version(repository, sources):
    git(sources, "init")
    commit(sources)
    git(sources, "tag", "v1.2.3")
    assert version_of_package(sources) == version_of_cmake(repository, sources) == "1.2.3"


@pytest.mark.parametrize("change", ["commit", "edit"])
def test_what_follows_a_tag_is_the_next_patch(repository, sources, change):
    git(sources, "init")
    commit(sources)
    git(sources, "tag", "v1.2.3")
    if change == "commit":
        commit(sources)
    else:
        with (sources / "pyproject.toml").open("a") as file:
            file.write("\n")
    assert version_of_package(sources).startswith("1.2.4.dev")
    assert version_of_cmake(repository, sources) == "1.2.4"


def test_without_tags_commits_are_counted(repository, sources):
    git(sources, "init")
    commit(sources)
    commit(sources)
    assert version_of_package(sources).startswith("0.1.0.dev2+g")
    assert version_of_cmake(repository, sources) == "0.1.0"


def test_without_git_the_fallback_serves(repository, sources):
    assert version_of_package(sources) == "0.1.0.dev0"
    assert version_of_cmake(repository, sources) == "0.1.0"


@pytest.mark.parametrize("described, version", [("v1.2.3", "1.2.3"), ("v1.2.3-4-gabc1234", "1.2.4")])
def test_an_archive_of_git_knows_its_version(repository, sources, described, version):
    (sources / ".git_archival.txt").write_text(ARCHIVED.format(node="abc1234" * 5, described=described))
    assert version_of_package(sources).partition(".dev")[0] == version
    assert version_of_cmake(repository, sources) == version
