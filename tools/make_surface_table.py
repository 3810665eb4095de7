"""Prints which names of MXNet programs this package has, as Markdown, by looking each up in amp.mxnet.

usage: make_surface_table.py LIST

LIST is a page with tables whose first column is a name (python_surface.md of the recorded references).
"""

import re
import sys
from pathlib import Path

import amp
import amp.mxnet as mx

# Heading of a table of members -> a class that has them; `add` is one of containers.
CLASSES = {
    "Symbol": "sym.Symbol",
    "Executor": "executor.Executor",
    "array (NDArray and np.ndarray)": "nd.NDArray",
    "Block / HybridBlock": "gluon.nn.HybridSequential",
    "HybridBlock": "gluon.HybridBlock",
    "Parameter": "gluon.Parameter",
    "ParameterDict (1.x)": "gluon.ParameterDict",
    "Module (1.x)": "mod.Module",
}

OPERATORS = "Operators by their registered names"
THERE, MISSING = "there", "missing"

HEAD = """# Names of MXNet that programs use

Made by `tools/make_surface_table.py`, which looks each name up in `amp.mxnet`. A name that is refused raises an error
with that reason: an attribute of a module when it is looked up, a function when it is called. *missing* is what nobody
has made or refused yet.
"""


def sections(text):
    """[(heading, [name])] of all tables; names of members have their class in front."""
    found, heading = [], ""
    for line in text.splitlines():
        if line.startswith("#"):
            heading = re.sub(r" — .*", "", line.lstrip("# "))
        elif (match := re.match(r"\| (`.*?) \|", line)) and match[1] != "`mxnet` path":
            names = paths_of(match[1])
            owner = CLASSES.get(heading)
            found.append((heading, [f"{owner}.{name}" if owner else name for name in names]))
    merged = {}
    for heading, names in found:
        merged.setdefault(heading, []).extend(names)
    operators = operators_of(text)
    return [*merged.items(), (OPERATORS, operators)]


def paths_of(cell):
    """The names in a cell: `mx.sym`, `mx.a.b/c` (two of them), `mx.cpu()`, `lists.*`."""
    names = []
    for path, others in re.findall(r"`([\w.]+)((?:/\w+)*)[^`]*`", cell):
        path = path.removeprefix("mx.").rstrip(".")
        names += [path, *(f"{path.rpartition('.')[0]}.{other}" for other in others.split("/")[1:])]
    return [name for name in names if name and not name.startswith(".")]


def operators_of(text):
    """Operators that are reached by name: in backticks below a bold number."""
    match = re.search(r"\(\*\*\d+\*\*\):(.*?)The `_sg", text, re.DOTALL)
    return re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", match[1]))) if match else []


def status_of(path):
    """THERE, MISSING or 'refused: why'."""
    value = mx
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except amp.base.MissingNameError as error:
            return f"refused: {str(error).partition(' is left out: ')[2]}"
        except AttributeError:
            return MISSING
    reason = getattr(value, "refused", None)
    return f"refused: {reason}" if reason else THERE


def page_of(text):
    """The page, and the names that are missing."""
    lines, missing = [HEAD], []
    for heading, names in sections(text):
        prefix = "sym." if heading == OPERATORS else ""
        status = {name: status_of(prefix + name) for name in names}
        missing += [name for name in names if status[name] == MISSING]
        lines += [f"## {heading}", "", "| name | |", "|---|---|"]
        lines += [f"| `{name}` | {what} |" for name, what in status.items()]
        lines.append("")
    return "\n".join(lines), missing


def main(source):
    page, missing = page_of(Path(source).read_text())
    print(page)
    print(f"{page.count('| there |')} names are there, {page.count('| refused: ')} refused, {len(missing)} missing:")
    print(" ", *missing)


if __name__ == "__main__":
    main(*sys.argv[1:])
