"""Writes docs/api/: the reference of the Python package, from its docstrings and from the registry of operators.

tools/make_api_reference.py [--check]

`--check` writes nothing and exits with status 1 where a page is not what would be written.
"""

import importlib
import inspect
import re
import sys
import textwrap
import types
from pathlib import Path

import amp
import amp.mxnet
from amp import _core

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "api"

# One page each. What several of them name is described where it is defined, or else on the first page.
MODULES = """amp amp.nd amp.sym amp.model_zoo amp.lists amp.profiling amp.report amp.attribute amp.name amp.base
amp.mxnet.np amp.mxnet.np.random amp.mxnet.npx amp.mxnet.gluon amp.mxnet.gluon.nn amp.mxnet.gluon.rnn
amp.mxnet.gluon.data amp.mxnet.gluon.utils amp.mxnet.gluon.model_zoo.vision amp.mxnet.init amp.mxnet.random
amp.mxnet.module amp.mxnet.io amp.mxnet.model amp.mxnet.bound_symbol amp.mxnet.context amp.mxnet.util
amp.mxnet.test_utils amp.mxnet.autograd amp.mxnet.runtime amp.mxnet.operator amp.mxnet.amp
amp.mxnet.contrib.amp""".split()

WIDTH = 110
BLANK = "    \0"


# ---- what is public ----


def names_of(module):
    """Public names of a module but for other modules."""
    given = getattr(module, "__all__", None)
    names = given or [n for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__]
    if module is amp.mxnet.np:
        names = [*names, *filter(module._functions.find, module._functions.names())]
    public = dict.fromkeys(name for name in names if not name.startswith("_"))
    return [name for name in public if not isinstance(getattr(module, name), types.ModuleType)]


def is_described(value):
    """Whether a value gets a section: a function or class of this package."""
    is_code = isinstance(value, (type, types.FunctionType)) or hasattr(value, "__signature__")
    return is_code and (value.__module__ or "").partition(".")[0] == "amp"


def is_error(value):
    return isinstance(value, type) and issubclass(value, BaseException)


def is_refused(value):
    return hasattr(value, "refused")


def homes():
    """{id of a public function or class: (module, its first name there)}"""
    found = {}
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name in names_of(module):
            value = getattr(module, name)
            if not is_described(value) or is_refused(value):
                continue
            first = found.get(id(value), (module_name, name))
            is_defined_here = value.__module__ == module_name and first[0] not in ("amp", module_name)
            found[id(value)] = (module_name, name) if is_defined_here else first
    return found


def described(module_name, found):
    """[(name, value)] of the sections of a page."""
    module = importlib.import_module(module_name)
    pairs = [(name, getattr(module, name)) for name in names_of(module)]
    return sorted([(n, v) for n, v in pairs if found.get(id(v)) == (module_name, n)], key=lambda pair: pair[0].lower())


def public_objects():
    """{name as 'amp.nd.zeros': function or class}, each once."""
    found = homes()
    return {f"{module}.{name}": value for module in MODULES for name, value in described(module, found)}


def members_of(cls, found):
    """{name: attribute} of the public methods and properties of a class, without those of described base classes."""
    members = {}
    for owner in reversed(cls.__mro__):
        if not (owner.__module__ or "").startswith("amp") or (owner is not cls and id(owner) in found):
            continue
        special = [name for name in ("__call__", "__getitem__") if name in vars(owner)]
        for name in [*special, *(name for name in vars(owner) if not name.startswith("_"))]:
            members[name] = vars(owner)[name]
    return {name: members[name] for name in sorted(members) if doc_of(members[name], name)}


def doc_of(value, name):
    doc = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    first, _, rest = doc.partition("\n\n")
    return rest if first.startswith(f"{name}(self") else doc  # pybind11 puts a signature in front


def has_example(value, name=""):
    return ">>> " in doc_of(value, name)


# ---- Markdown ----


def signature_of(value, name):
    try:
        text = str(inspect.signature(value))
    except (TypeError, ValueError):
        return name
    text = re.sub(r"<module '(\w+)' from [^>]*>", r"\1", text)
    text = re.sub(r"<class '([\w.]+)'>", r"\1", text)
    text = re.sub(r"^\((self|cls)(, )?", "(", text)
    return f"{name}{text}"


def fenced(text, language):
    return f"```{language}\n{text}\n```"


def paragraph(text):
    """A paragraph of a docstring; `name: text` with indented lines below is an item of a list."""
    if text.startswith(">>> "):
        return fenced(text, "pycon")
    if text.startswith("    "):
        return fenced(textwrap.dedent(text), "python")
    lines = text.split("\n")
    starts = [bool(re.match(r"[a-z_][\w, ]*: ", line)) for line in lines]
    if not starts[0] or (len(lines) > 1 and not any(line.startswith("    ") for line in lines) and sum(starts) < 2):
        return text
    return "\n".join(
        re.sub(r"^([\w, ]+): ", r"- `\1`: ", line) if start else f"  {line.strip()}"
        for line, start in zip(lines, starts)
    )


def markdown(doc):
    text = re.sub(r"(\n    [^\n]*)\n\n(?=    )", rf"\1\n{BLANK}\n", doc)  # code with a blank line is one paragraph
    return "\n\n".join(map(paragraph, text.split("\n\n"))).replace(BLANK.strip(" "), "")


def wrapped(signature):
    lines = textwrap.wrap(signature, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return fenced("\n".join(lines), "python")


def anchor(name):
    return name.lower()


def link(value, found):
    module, name = found[id(value)]
    return f"[`{module}.{name}`]({module}.md#{anchor(name)})"


def base_text(base, found):
    return link(base, found) if id(base) in found else f"`{base.__name__}`"


def section(module_name, name, value, found):
    parts = [f"## {name}"]
    if not is_error(value):
        parts.append(wrapped(signature_of(value, f"{module_name}.{name}")))
    parts.append(markdown(doc_of(value, name)))
    module = importlib.import_module(module_name)
    others = [n for n in names_of(module) if n != name and getattr(module, n) is value]
    if others:
        parts.append(f"Also {', '.join(f'`{other}`' for other in others)}.")
    if is_error(value):
        parts.append(f"A subclass of {' and '.join(base_text(base, found) for base in value.__bases__)}.")
    elif isinstance(value, type):
        parts += class_parts(name, value, found)
    return "\n\n".join(parts)


def class_parts(name, cls, found):
    bases = [link(base, found) for base in cls.__mro__[1:] if id(base) in found]
    parts = [f"It has the methods of {', '.join(bases)}, too."] if bases else []
    members = members_of(cls, found)
    short, long, operators, refused = [], [], [], []
    for member, value in members.items():
        doc = doc_of(value, member)
        if is_refused(value) or doc.startswith("Raises NotImplementedForSymbol"):
            refused.append(f"`{member}`")
        elif re.match(r"`(amp\.|x\.)[\w.]+(\(\.\.\.\))?` (of this|is `amp)", doc):
            operators.append(f"`{member}`")
        elif ">>> " in doc:
            long.append(f"### {heading(name, member)}\n\n{wrapped(member_signature(value, member))}\n\n{markdown(doc)}")
        else:
            short.append(f"- `{member_signature(value, member)}`: {one_line(doc)}")
    if short:
        parts.append("\n".join(short))
    if operators:
        parts.append(f"Operators as methods: {', '.join(operators)}.")
    if refused:
        parts.append(f"Refused with an error that says why: {', '.join(refused)}.")
    return parts + long


def heading(name, member):
    return f"{name}.{member}".replace("__", r"\_\_")


def member_signature(value, name):
    if isinstance(value, property):
        return name
    return signature_of(getattr(value, "__func__", value), name)


def one_line(doc):
    return re.sub(r"\s+", " ", doc)


def page_of(module_name, found):
    module = importlib.import_module(module_name)
    values = [(name, getattr(module, name)) for name in names_of(module)]
    here = described(module_name, found)
    elsewhere = [(n, v) for n, v in values if id(v) in found and found[id(v)][0] != module_name]
    refused = [name for name, value in values if is_refused(value)]
    data = [name for name, value in values if not is_described(value)]
    parts = [f"# {module_name}", markdown(inspect.cleandoc(module.__doc__))]
    if here:
        parts.append(" · ".join(f"[{name}](#{anchor(name)})" for name, _ in here))
    if elsewhere:
        parts.append("Described elsewhere: " + ", ".join(link(value, found) for _, value in elsewhere) + ".")
    if refused:
        parts.append("Refused with an error that says why: " + ", ".join(f"`{name}`" for name in refused) + ".")
    if data:
        parts.append("Values: " + ", ".join(f"`{name}`" for name in data) + ".")
    parts += [section(module_name, name, value, found) for name, value in here]
    return "\n\n".join(parts) + "\n"


# ---- operators ----

OPERATORS = """# Operators

Every operator is a function of `amp.sym` (of Symbols) and of `amp.nd` (of arrays) under its name and its aliases. Names
that begin with `_contrib_`, `_image_`, `_linalg_`, `_npi_`, `_npx_`, `_random_` or `_sparse_` are in the module of that
name, too: `amp.sym.contrib.X` is `_contrib_X`; those with `_npx_` are in `amp.mxnet.npx`. Inputs come first, then
attributes, by position or by keyword; attributes without a default are required. `*data` stands for any number of
inputs. `help(amp.sym.X)` describes each attribute. ArgumentError and GraphError tell which attribute, shape or dtype
does not fit, and what was expected.

| name | aliases | inputs | attributes | what it computes |
|---|---|---|---|---|
"""


def operators_page():
    infos = {info["name"]: info for info in map(_core.operator_info, _core.operator_names())}
    return OPERATORS + "".join(operator_row(infos[name]) for name in sorted(infos, key=str.lower))


def operator_row(info):
    aliases = [name for name in info["aliases"] if name.isidentifier()]
    inputs = ["*data"] if info["variadic"] else info["inputs"]
    fields = [f for f in info["fields"] if f["name"] != info["variadic"]]
    attributes = [f["name"] if f["default"] is None else f"{f['name']}={f['default'] or repr('')}" for f in fields]
    cells = [code([info["name"]]), code(aliases), code(inputs), code(attributes), first_sentence(info["doc"])]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


def code(names):
    return f"`{', '.join(names)}`" if names else ""


def first_sentence(doc):
    text = one_line(doc.strip())
    return re.split(r"(?<=[^.\d][.])\s", text, maxsplit=1)[0]


# ---- files ----


def pages():
    """{file name: text}"""
    found = homes()
    texts = {f"{module}.md": page_of(module, found) for module in MODULES}
    texts["operators.md"] = operators_page()
    texts["README.md"] = index_page(found)
    return texts


def index_page(found):
    rows = []
    for module_name in MODULES:
        doc = inspect.cleandoc(importlib.import_module(module_name).__doc__)
        rows.append(f"| [`{module_name}`]({module_name}.md) | {first_sentence(doc)} |")
    return (
        "# API reference\n\nMade from the docstrings by `tools/make_api_reference.py`. The tests run every example, "
        "with `np` for NumPy, in a folder\nthat has a small model as `model-symbol.json` and `model-0000.params`.\n\n"
        "| module | |\n|---|---|\n"
        + "\n".join(rows)
        + "\n| [operators](operators.md) | All operators of `amp.sym` and `amp.nd`, with inputs and attributes. |\n"
    )


def main(arguments):
    texts = pages()
    known = {path.name: path.read_text() for path in FOLDER.glob("*.md")}
    if "--check" in arguments:
        stale = [name for name in {**texts, **known} if texts.get(name) != known.get(name)]
        print(*(f"docs/api/{name} is not up to date" for name in stale), sep="\n")
        return 1 if stale else 0
    FOLDER.mkdir(exist_ok=True)
    for name in known.keys() - texts.keys():
        (FOLDER / name).unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
