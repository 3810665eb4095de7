"""Sizes, circles and words of the C++ sources."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src"
LONGEST_CLASS = 250  # lines

# Names that the field has other words for, and what is said instead. Whole words of code; a `*` is any word.
RENAMED = {
    "*Pointwise*": "Gemm..., or Elementwise",
    "Winograd*Job": "...Problem",
    "Gemm*Job": "...Problem",
    "DepthwiseBlock*": "FusedDepthwise...",
    "kLine3": "k1x3",
    "kLine7": "k1x7",
    "*Law": "TimingModel",
    "RoundingDemand": "RoundingSensitivity",
    "PoleDemand": "PoleSensitivity",
    "PrecisionRole": "PrecisionCategory",
    "FitPrecision": "RevertUnprofitableCasts",
    "least_gain": "min_gain, max_time_ratio",
    "kCards": "kRegistered",
    "card": "op",
    "OpCard": "OpDefinition",
    "WinogradNumbers": "WinogradTaps",
    "EvenWeights": "EqualizedWeights",
    "ReduceFinish": "ReduceEpilogue",
    "Corridor": "Conversion, Preparation",
    "breaches": "violations",
    "wanted": "a name that says what for",
    "kMost[A-Z]*": "kMax...",
    "kLongest[A-Z]*": "kMax...",
    "kLargest[A-Z]*": "kMax...",
    "LowForms": "LowPrecisionTypes",
    "FactSpread": "DefaultPropagation",
    "MXNetSpread": "MXNetPropagation",
    "SpreadContext": "PropagationContext",
    "Settler": "DTypeAssigner",
    "Chooser": "RoleChooser",
    "OwnHeads": "KeptOutputs",
    "RemoveCopies": "EliminateIdentities",
    "RemoveIdentities": "EliminateIdentities",
    "MergeEqual": "EliminateCommonSubexpressions",
    "ShareEqualNodes": "EliminateCommonSubexpressions",
    "ComposeViews": "SimplifyReshapes",
    "FuseGates": "FuseSwishPatterns",
    "SinkView": "SinkReshape",
    "CollapseViews": "CollapseReshapes",
    "RoundFolded": "compensated rounding",
    "LayoutWish": "LayoutHint",
    "kLibrarys": "kAny",
    "WithoutGil": "ReleaseGil",
    "is_shaped_by_inputs": "depends_on_input_shape",
    "thinned": "subsampled",
    "apart": "do_not_fuse",
    "refused": "unsupported",
    "Instead": "a verb with its object",
    "Nothing": "a verb with its object",
    "Made": "a verb with its object",
    "Describes": "MatchesGlob",
    "FindBreaches": "FindViolations",
}


def sources():
    return sorted(path for suffix in ("*.h", "*.cc") for path in SOURCE.rglob(suffix))


def code_of(path):
    """The text without comments and strings."""
    text = re.sub(r"//[^\n]*", "", path.read_text())
    return re.sub(r'"(\\.|[^"\\\n])*"', '""', text)


def classes(text):
    """(name, lines) of every class of a file in the project's format."""
    lines = text.splitlines()
    for first, line in enumerate(lines):
        found = re.match(r"( *)(?:class|struct) (\w+)[^;()]*\{$", line)
        if not found:
            continue
        last = next(i for i in range(first, len(lines)) if re.match(found[1] + r"\}[^;]*;", lines[i]))
        yield found[2], last - first + 1


def test_no_class_is_too_long():
    long_ones = [
        f"{path.relative_to(SOURCE)}: {name} has {length} lines"
        for path in sources()
        for name, length in classes(path.read_text())
        if length > LONGEST_CLASS
    ]
    assert not long_ones


def unit_of(path):
    """A header and the file that implements it are one unit."""
    return str(path.relative_to(SOURCE).with_suffix(""))


def includes():
    graph = {}
    for path in sources():
        headers = re.findall(r'#include "([^"]+)\.h"', path.read_text())
        graph.setdefault(unit_of(path), set()).update(header for header in headers if header != unit_of(path))
    return graph


def test_no_include_circle():
    graph, done, stack = includes(), set(), []

    def visit(unit):
        assert unit not in stack, " -> ".join([*stack[stack.index(unit) :], unit])
        if unit in done:
            return
        stack.append(unit)
        for header in sorted(graph.get(unit, ())):
            visit(header)
        stack.pop()
        done.add(unit)

    for unit in sorted(graph):
        visit(unit)
    assert len(done) > 200


@pytest.mark.parametrize("room", ["nnvm", "passes", "program", "dnnl", "dist"])
def test_every_source_has_the_header_of_its_name(room):
    without = [
        str(path.relative_to(SOURCE))
        for path in (SOURCE / room).rglob("*.cc")
        if path.parent.name not in ("step_kinds", "layer_kernels")  # they register themselves
        and not path.with_suffix(".h").exists()
    ]
    assert not without


def test_names_that_were_renamed_do_not_come_back():
    patterns = {re.compile(rf"\b{name.replace('*', '[A-Za-z0-9]*')}_?\b"): say for name, say in RENAMED.items()}
    found = [
        f"{path.relative_to(SOURCE)}: {match.group()}: say {say}"
        for path in sources()
        for code in [code_of(path)]
        for pattern, say in patterns.items()
        for match in pattern.finditer(code)
    ]
    assert not found


def test_outputs_are_not_called_heads():
    """But in attention, and where a file says so."""
    allowed = ("attention", "ring", "selfatt", "symbol_json", "amp_attention", "interleaved")
    found = [
        str(path.relative_to(SOURCE))
        for path in sources()
        if not any(word in path.stem for word in allowed) and re.search(r"\bheads?_?\b", code_of(path))
    ]
    assert not found


# Folder of src/passes -> folders whose headers it may include; "." is its root but for the pipelines, which see all.
PASSES_MAY_INCLUDE = {
    ".": {"."},
    "optimize": {".", "optimize"},
    "precision": {".", "optimize", "precision"},
    "fusion_mxnet": {".", "optimize", "precision", "fusion_mxnet"},
    "gradient": {".", "optimize", "precision", "fusion_mxnet", "gradient"},
}
PIPELINES = {
    "conversion",
    "convert_bodies",
    "convert_symbol",
    "converted_symbol",
    "flow_conversion",
    "open_model",
    "pipelines",
}


@pytest.mark.parametrize("folder", sorted(PASSES_MAY_INCLUDE))
def test_folders_of_passes_include_downwards(folder):
    passes = SOURCE / "passes"
    against = []
    for path in [*(passes / folder).glob("*.h"), *(passes / folder).glob("*.cc")]:
        if folder == "." and path.stem in PIPELINES:
            continue
        for header in re.findall(r'#include "passes/([^"]+)\.h"', path.read_text()):
            parent = str(Path(header).parent)
            if parent not in PASSES_MAY_INCLUDE[folder] or (parent == "." and header in PIPELINES):
                against.append(f"{path.name} includes {header}")
    assert not against


# Folders whose files are compiled together (cmake/CompileOnce.cmake).
TARGETS = [
    *(SOURCE / room for room in ("nnvm", "passes", "program", "dnnl", "runtime", "dist", "ops")),
    ROOT / "python" / "amp" / "csrc",
    *sorted(path for path in (ROOT / "tests" / "cpp").iterdir() if path.is_dir()),
]


# A line that begins the definition of a class, a function or a constant.
DEFINITIONS = [
    re.compile(r"(?:template <.*> )?(?:struct|class|enum class) (\w+) (?:final )?[{:]"),
    re.compile(r"(?:template <.*> )?[A-Za-z_][\w:<>,\s&*\[\]]*?[\s&*](\w+)\("),
    re.compile(r"(?:\[\[maybe_unused\]\] )?(?:constexpr|const|thread_local) [\w:<>,\s&*]*?(\w+)(?:\[.*\])?(?: =|\{|;)"),
]


def private_names(path):
    """{(namespace, name)} of what is defined in a file's unnamed namespaces."""
    text = path.read_text()
    namespace = re.search(r"^namespace (amp[\w:]*) \{$", text, re.M)
    found = set()
    for body in re.findall(r"^namespace \{\n(.*?)^\}  // namespace$", text, re.S | re.M):
        for line in body.splitlines():
            names = [match[1] for match in (definition.match(line) for definition in DEFINITIONS) if match]
            if names and not names[0].isupper():  # TEST, AMP_...
                found.add((namespace and namespace[1], names[0]))
    return found


@pytest.mark.parametrize("folder", TARGETS, ids=lambda path: str(path.relative_to(ROOT)))
def test_private_names_are_unique_where_files_are_compiled_together(folder):
    where = {}
    for path in sorted(folder.rglob("*.cc")):
        for name in private_names(path):
            where.setdefault(name, []).append(path.name)
    assert len(where) > 5
    assert not {"::".join(map(str, name)): files for name, files in where.items() if len(files) > 1}


def test_operators_have_the_namespace_of_their_file():
    names = [re.search(r"^namespace amp::(\w+) \{$", path.read_text(), re.M) for path in (SOURCE / "ops").rglob("*.cc")]
    stems = [path.stem for path in (SOURCE / "ops").rglob("*.cc")]
    assert [(stem, name[1]) for stem, name in zip(stems, names) if name and name[1] != stem] == []
    assert sum(bool(name) for name in names) > 90


COMMENTED = [SOURCE, ROOT / "include", ROOT / "python" / "amp" / "csrc", ROOT / "tests" / "cpp"]
FRAGMENT = re.compile(r"( *)// (?:Of|The same|So many|By|As|Those|Into|With)[ ,;]")


def fragments(path):
    """(line number, line) of every block of comments that begins without its subject."""
    before = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = FRAGMENT.match(line)
        if match and not before.startswith(f"{match[1]}//"):
            yield number, line.strip()
        before = line


def test_comments_begin_with_their_subject():
    found = [
        f"{path.relative_to(ROOT)}:{number}: say what it is or does: {line}"
        for folder in COMMENTED
        for suffix in ("*.h", "*.cc")
        for path in sorted(folder.rglob(suffix))
        for number, line in fragments(path)
    ]
    assert not found, "\n".join(found)
