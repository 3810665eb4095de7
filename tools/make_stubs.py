"""Writes the types of the operator functions of `amp.sym`, from the registry that the built extension holds.

usage: make_stubs.py EXTENSION OUTPUT

EXTENSION is the file of `_core`, OUTPUT the stub of `sym/__init__.py`. The build calls this before anything is
installed, so it needs nothing but the standard library: what `sym/__init__.py` itself defines is read from its text.
"""

import ast
import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "amp"

HEAD = '''"""Made by tools/make_stubs.py from the registry; `amp.sym` says what is what."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from . import _internal as _internal
'''

TYPES = {
    "bool": "bool",
    "int": "int",
    "float": "float",
    "str": "str",
    "dtype": "Any",
    "tuple of int": "Sequence[int] | int",
    "tuple of float": "Sequence[float] | float",
    "tuple of pairs of int": "Sequence[Sequence[int]]",
}


def load_extension(path):
    loader = ExtensionFileLoader("_core", str(path))
    module = module_from_spec(spec_from_file_location("_core", path, loader=loader))
    loader.exec_module(module)
    return module


def imported_names():
    """Lines that pass on what the module imports and lists in `__all__`."""
    tree = ast.parse((PACKAGE / "sym" / "__init__.py").read_text(encoding="utf-8"))
    public = set(ast.literal_eval(assigned(tree, "__all__")))
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            names = [alias.name for alias in node.names if alias.name in public]
            yield from (f"from {source} import {name} as {name}\n" for name in names)


def namespaces():
    """Lines for `amp.sym.contrib` and its kin, which are made at run time."""
    tree = ast.parse((PACKAGE / "sym" / "namespaces.py").read_text(encoding="utf-8"))
    prefixes = ast.literal_eval(assigned(tree, "PREFIXES"))
    return [f"{name}: Any\n" for name in sorted(prefixes) if "." not in name]


def assigned(tree, name):
    (value,) = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == name]
    return value


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


def make(core):
    """The text of the stub."""
    names = sorted(name for name in core.operator_names() if name.isidentifier())
    functions = [stub_of(name, core.operator_info(name)) for name in names]
    return "".join([HEAD, *imported_names(), "\n", *namespaces(), "\n", *functions])


def main(extension, output):
    output = Path(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(make(load_extension(Path(extension).resolve())), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
