"""Writes python/amp/sym/__init__.pyi, the types of the operator functions, from the registry.

usage: make_stubs.py [--check]    (with the package importable; --check only compares, and exits with 1)
"""

import sys
from pathlib import Path

from amp import _core

TARGET = Path(__file__).resolve().parents[1] / "python" / "amp" / "sym" / "__init__.pyi"

HEAD = '''"""Made by tools/make_stubs.py from the registry; `amp.sym` says what is what."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ..base import NotImplementedForSymbol as NotImplementedForSymbol
from . import _internal as _internal
from .functions import arange as arange
from .functions import eye as eye
from .functions import full as full
from .functions import hypot as hypot
from .functions import linspace as linspace
from .functions import maximum as maximum
from .functions import minimum as minimum
from .functions import ones as ones
from .functions import pow as pow
from .functions import power as power
from .functions import split_v2 as split_v2
from .functions import zeros as zeros
from .symbol import Group as Group
from .symbol import NumpySymbol as NumpySymbol
from .symbol import Symbol as Symbol
from .symbol import Variable as Variable
from .symbol import fromjson as fromjson
from .symbol import load as load
from .symbol import load_json as load_json
from .symbol import var as var

contrib: Any
image: Any
linalg: Any
np: Any
npx: Any
op: Any
random: Any
sparse: Any
'''

TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "dtype": "Any",
    "tuple of int": "Sequence[int] | int",
    "tuple of pairs of int": "Sequence[Sequence[int]]",
}


def annotation(field_type):
    """The Python type of an attribute."""
    if field_type.startswith("one of "):
        words = field_type[len("one of ") :].split(", ")
        return f"Literal[{', '.join(map(quoted, words))}]"
    optional = field_type.endswith(" or None")
    plain = TYPES[field_type[: -len(" or None")] if optional else field_type]
    return f"{plain} | None" if optional and plain != "Any" else plain


def quoted(word):
    return f'"{word}"'


def stub_of(name, info):
    """The stub of one function, as `ruff format` would write it."""
    parameters = [f"{key}: Symbol | None = None" for key in info["inputs"]]
    if info["variadic"]:
        parameters = ["*data: Symbol"]
    for field in info["fields"]:
        if field["name"] != info["variadic"]:
            parameters.append(f"{field['name']}: {annotation(field['type'])} = ...")
    parameters += ["name: str | None = None", "attr: Mapping[str, str] | None = None"]
    return f"def {name}(\n    " + ",\n    ".join(parameters) + ",\n) -> Symbol: ...\n"


def make():
    """The text of the stub file."""
    names = sorted(name for name in _core.operator_names() if name.isidentifier())
    return HEAD + "\n" + "".join(stub_of(name, _core.operator_info(name)) for name in names)


def main(arguments):
    text = make()
    if arguments == ["--check"]:
        return 0 if TARGET.is_file() and TARGET.read_text(encoding="utf-8") == text else 1
    TARGET.write_text(text, encoding="utf-8")
    print(f"wrote {TARGET.relative_to(TARGET.parents[3])}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
