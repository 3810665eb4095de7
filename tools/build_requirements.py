"""Prints the requirements that stand in pyproject.toml, one a line.

usage: build_requirements.py build|dev|docs|wheel    (run by an interpreter that has pip)

`build` is what building and running need; the others are groups of what some commands of make need besides.
"""

import sys
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python < 3.11: pip brings the same parser
    from pip._vendor import tomli as tomllib


def requirements(kind):
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    if kind != "build":
        return groups[kind]
    return project["build-system"]["requires"] + groups["build"] + project["project"]["dependencies"]


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
