"""Folders: which may include or import which, and how large files, classes and folders may grow."""

import ast
import re
from collections import Counter
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
    "runtime": {"nnvm", "kernels", "passes", "program", "dnnl", "runtime"},
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


# Packages below `amp`, and those below `amp.mxnet`: what each may reach, by itself and through modules of none. What
# is not named it may not.
MAY_REACH = {
    "amp": {
        "_cli": {"_conversion", "_execution", "_options", "_serve", "_trust", "model_zoo", "nd", "pool", "sym"},
        "_conversion": {"_options", "sym"},
        "_execution": {"_options", "sym"},
        "_options": {"sym"},
        "_serve": {"_execution", "_options", "nd", "pool", "sym"},
        "_trust": {"_conversion", "_execution", "_options", "sym"},
        "distributed": {"nd", "sym"},
        "lists": {"_options", "sym"},
        "model_zoo": {"nd", "sym"},
        "mxnet": {
            *(
                "_conversion",
                "_execution",
                "_options",
                "_serve",
                "_trust",
                "distributed",
                "lists",
                "model_zoo",
                "nd",
                "pool",
                "sym",
            ),
        },
        "nd": {"lists", "sym"},
        "pool": {"_execution", "_options", "sym"},
        "sym": set(),
    },
    "amp.mxnet": {
        "_array_operators": {"gluon", "np", "npx", "operator", "optimizer"},
        "contrib": {"gluon", "io", "module", "np", "optimizer"},
        "gluon": {"image", "io", "kvstore", "metric", "monitor", "np", "npx", "operator", "optimizer"},
        "image": {"io", "np", "npx"},
        "io": set(),
        "kvstore": {"optimizer"},
        "metric": set(),
        "module": {"io", "metric", "monitor", "optimizer"},
        "monitor": set(),
        "np": set(),
        "npx": {"np"},
        "operator": {"np"},
        "optimizer": set(),
        "profiler": {"operator"},
        "rnn": {"io"},
        "test_utils": {"io"},
    },
}


def packages_below(modules, parent):
    """Names of the packages in a package."""
    inner = {name for name, path in modules.items() if path.stem == "__init__" and name.rpartition(".")[0] == parent}
    return {name.rpartition(".")[2] for name in inner}


def reached_packages(graph, parent, package, packages):
    """Packages beside `package` that its modules import, or modules in none of them that they import."""

    def package_of(module):
        first = module[len(parent) + 1 :].partition(".")[0] if module.startswith(f"{parent}.") else None
        return first if first in packages else None

    waiting, seen, reached = [module for module in graph if package_of(module) == package], set(), set()
    while waiting:
        for target in graph[waiting.pop()] - {parent}:
            found = package_of(target)
            if found is None and target not in seen:
                seen.add(target)
                waiting.append(target)
            elif found not in (None, package):
                reached.add(found)
    return reached


@pytest.mark.parametrize("parent", sorted(MAY_REACH))
def test_packages_reach_only_those_below_them(parent):
    modules = python_modules()
    graph, packages = import_graph(modules), packages_below(modules, parent)
    assert packages == set(MAY_REACH[parent])
    reached = {package: reached_packages(graph, parent, package, packages) for package in packages}
    assert {p: more for p, found in reached.items() if (more := found - MAY_REACH[parent][p])} == {}


@pytest.mark.parametrize("parent", sorted(MAY_REACH))
def test_packages_do_not_reach_each_other_in_circles(parent):
    assert circles(MAY_REACH[parent]) == []


def test_reached_packages_are_found():
    graph = {"p.a.x": {"p.flat"}, "p.flat": {"p.b.y", "p"}, "p.b.y": {"p.c"}, "p.c": set(), "p": {"p.c"}}
    assert reached_packages(graph, "p", "a", {"a", "b", "c"}) == {"b"}


# ---- folders of Python ----

MOST_FILES = 45  # Python files in one folder
# Folders with more, which may only lose some.
LARGER = {"python/amp/mxnet": 51}
REPOSITORY = SOURCE.parent


def python_folders():
    """{folder: number of its Python files}"""
    paths = [path for top in ("python", "tests", "tools", "benchmarks") for path in (REPOSITORY / top).rglob("*.py")]
    return Counter(str(path.parent.relative_to(REPOSITORY)) for path in paths)


def test_folders_stay_small():
    counts = python_folders()
    assert counts["python/amp/mxnet"] and counts["tests/python/repo"]
    limits = {folder: LARGER.get(folder, MOST_FILES) for folder in counts}
    assert {folder: count for folder, count in counts.items() if count > limits[folder]} == {}


@pytest.mark.parametrize(
    "folder", ["amp", "command_line", "distributed", "mxnet", "operators", "plans", "repo", "serving", "trust"]
)
def test_folders_of_tests_say_what_they_hold(folder):
    assert (REPOSITORY / "tests" / "python" / folder / "README.md").read_text().startswith(f"# tests/python/{folder}\n")


def test_tests_of_python_are_in_folders():
    tests = REPOSITORY / "tests" / "python"
    assert {path.name for path in tests.glob("*.py")} == {"conftest.py", "control_flow_nodes.py", "hostile.py"}


def test_folders_of_tests_import_none_of_each_other():
    """Tests and helpers of other folders; what lies beside conftest.py is for all."""
    tests = REPOSITORY / "tests" / "python"
    homes = {path.stem: path.parent for path in tests.rglob("*.py") if path.parent != tests}
    foreign = [
        f"{path.name} imports {name}"
        for path in tests.rglob("*.py")
        for name in re.findall(r"^(?:from|import) (\w+)", path.read_text(), re.M)
        if homes.get(name, path.parent) != path.parent and name.startswith(("test_", "operator_"))
    ]
    assert not foreign


def test_every_package_says_what_it_holds():
    silent = [
        name
        for name, path in python_modules().items()
        if path.stem == "__init__" and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not silent


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
