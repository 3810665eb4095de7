"""The rooms of the house: who may include whom, and how large files may grow."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"

# Room -> rooms whose headers it may include. Kernels stand alone on plain pointers.
MAY_INCLUDE = {
    "kernels": {"kernels"},
    "nnvm": {"nnvm"},
    "passes": {"nnvm", "passes"},
    "program": {"nnvm", "kernels", "passes", "program"},
    "dnnl": {"nnvm", "kernels", "passes", "program", "dnnl"},
    "dist": {"nnvm", "kernels", "dist"},
    "ops": {"nnvm", "kernels", "passes", "program", "dist", "ops"},
}
LONGEST_FILE = 600  # lines


def files(room):
    return sorted(path for suffix in ("*.h", "*.cc") for path in (SOURCE / room).rglob(suffix))


def test_every_folder_is_a_room():
    assert {path.name for path in SOURCE.iterdir() if path.is_dir()} == set(MAY_INCLUDE)


@pytest.mark.parametrize("room", sorted(MAY_INCLUDE))
def test_includes_follow_the_arrow(room):
    breaches = []
    for path in files(room):
        for header in re.findall(r'#include "([^"]+)"', path.read_text()):
            if header.split("/")[0] not in MAY_INCLUDE[room]:
                breaches.append(f"{path.name} includes {header}")
    assert files(room) and not breaches


def test_only_the_executor_room_knows_onednn():
    knowing = {
        path.parent.name
        for room in MAY_INCLUDE
        for path in files(room)
        if re.search(r"#include <dnnl|#include <oneapi", path.read_text())
    }
    assert knowing == {"dnnl"}


def test_cards_do_not_see_library_types():
    for path in files("ops"):
        assert not re.search(r"(?<!on)dnnl::", path.read_text()), path.name


def test_files_stay_readable():
    long_ones = [
        f"{path.name}: {lines}"
        for room in MAY_INCLUDE
        for path in files(room)
        if (lines := len(path.read_text().splitlines())) > LONGEST_FILE
    ]
    assert not long_ones


# ---- Python: `amp` is the product, `amp.mxnet` is MXNet's surface on top of it ----

PACKAGE = SOURCE.parent / "python" / "amp"


def python_modules():
    """{dotted name: path}"""
    names = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports_of(name, path, tree):
    """[(module, name in it or None)] of every import statement, those inside of functions included."""
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found += [(module, alias.name) for alias in node.names]
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
            found += [(argument.value, None) for argument in node.args if isinstance(argument, ast.Constant)]
    return found


def import_graph(modules):
    """{module: modules of the package that it imports}. `amp._core` is the extension, which imports none of them."""
    graph = {}
    for name, path in modules.items():
        graph[name] = set()
        for module, member in imports_of(name, path, ast.parse(path.read_text())):
            target = f"{module}.{member}" if f"{module}.{member}" in modules else module
            if target in modules and member != "_core":
                graph[name].add(target)
    return graph


def circles(graph):
    """Groups of modules that reach each other."""
    reached = {}
    for start in graph:
        reached[start], waiting = set(), [start]
        while waiting:
            for target in graph[waiting.pop()] - reached[start]:
                reached[start].add(target)
                waiting.append(target)
    return [
        sorted({start, *(t for t in reached[start] if start in reached[t])})
        for start in graph
        if start in reached[start]
    ]


def is_of_mxnet(module):
    return module == "amp.mxnet" or module.startswith("amp.mxnet.")


def test_the_product_does_not_import_mxnets_surface():
    graph = import_graph(python_modules())
    assert len(graph) > 90 and any(is_of_mxnet(module) for module in graph)
    assert [(n, t) for n, targets in graph.items() if not is_of_mxnet(n) for t in targets if is_of_mxnet(t)] == []


def test_only_the_package_itself_names_mxnets_surface_as_a_text_to_import():
    """Its `__getattr__` finds what has moved, and `convert_hybrid_block`."""
    naming = [
        name
        for name, path in python_modules().items()
        if not is_of_mxnet(name) and re.search(r"import_module\([^)]*mxnet", path.read_text())
    ]
    assert naming == ["amp"]


def test_python_modules_do_not_import_each_other_in_circles():
    assert circles(import_graph(python_modules())) == []


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"], ["b", "c"]]
    tree = ast.parse("from . import b\ndef f():\n    from ..x.y import z, _core\n    import amp.nd")
    found = imports_of("amp.p.m", Path("m.py"), tree)
    assert found == [("amp.p", "b"), ("amp.x.y", "z"), ("amp.x.y", "_core"), ("amp.nd", None)]


def test_one_module_holds_the_import_hook():
    holding = [name for name, path in python_modules().items() if "meta_path" in path.read_text()]
    assert holding == ["amp.mxnet._import_hook"]


def test_classes_stay_small():
    longest = 250  # lines, with docstrings
    long_ones = [
        f"{name}.{node.name}: {lines}"
        for name, path in python_modules().items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and (lines := node.end_lineno - node.lineno + 1) > longest
    ]
    assert not long_ones
