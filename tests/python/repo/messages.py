"""The texts of all errors that the package raises, in one list that people can read.

python tests/python/repo/messages.py [--write]: compares tests/data/messages.txt, or writes it anew.

A line is a source file, an error class, and a text with {} where it names what is wrong.
"""

import argparse
import ast
import difflib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LIST = ROOT / "tests" / "data" / "messages.txt"
LITERAL = r'"(?:[^"\\]|\\.)*"'
# Throw<Class>("..." "...", ...), throw Class("..."), FailAt(node, "..."), problems->Add(fmt::format("...", ...)).
CALL = re.compile(r'Throw<(\w+)>\(|throw (\w+)\(|(FailAt)\([^";]*|problems_?(?:->|\.)(Add)\(\s*(?:fmt::format\()?')
LITERALS = re.compile(rf"\s*{LITERAL}(?:\s*{LITERAL})*")
CLASS_OF = {"FailAt": "GraphError", "Add": "ArgumentError"}


def of_cpp(path):
    """(class, text) of the errors of a C++ source."""
    source = path.read_text()
    for call in CALL.finditer(source):
        quoted = LITERALS.match(source, call.end())
        if quoted:
            name = next(filter(None, call.groups()))
            text = "".join(ast.literal_eval(part) for part in re.findall(LITERAL, quoted[0]))
            yield CLASS_OF.get(name, name), re.sub(r"\{[^{}]*\}", "{}", text)


def text_of(node):
    """A constant string, or an f-string with {} for its values; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = text_of(node.left), text_of(node.right)
        return None if parts == (None, None) else "".join("{}" if part is None else part for part in parts)
    return None


def of_python(path):
    """(class, text) of the errors of a module."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            text = text_of(node.exc.args[0])
            if text is not None:
                yield ast.unparse(node.exc.func).split(".")[-1], text


def messages():
    """The lines of the list."""
    lines = set()
    for folder, suffixes, reader in (
        ("src", (".cc", ".h"), of_cpp),
        ("python/amp", (".cc", ".h"), of_cpp),
        ("python/amp", (".py",), of_python),
    ):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in suffixes:
                lines |= {f"{path.relative_to(ROOT)}: {name}: {text!r}" for name, text in reader(path)}
    return sorted(lines)


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the list anew")
    lines = messages()
    if parser.parse_args(argv).write:
        LIST.write_text("\n".join(lines) + "\n")
    changes = list(difflib.unified_diff(LIST.read_text().splitlines(), lines, "listed", "now", lineterm="", n=0))
    print("\n".join(changes))
    return 1 if changes else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
