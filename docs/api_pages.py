"""What is public in the package, and the sources of its pages: one for each module with `__all__`, one for operators.

Sphinx's autodoc fills them from the docstrings (`conf.py`). The tests run the examples of the same objects.
"""

import importlib.util
import inspect
import pkgutil
import types
from pathlib import Path

import reference_pages
from reference_pages import heading

import amp
from amp import _core

FOLDER = Path(__file__).parent / "api"


def modules():
    """{name: module} of all public modules, outer ones first."""
    names = [module.name for module in pkgutil.walk_packages(amp.__path__, "amp.")]
    names = sorted(filter(is_public, names), key=lambda name: (name.count("."), name))
    found = {name: importlib.import_module(name) for name in ["amp", *names]}
    return {name: module for name, module in found.items() if "__all__" in vars(module)}


def is_public(module_name):
    """Python modules without an underscore in front of any part; libnnvm_amp.so lies among them."""
    is_named_so = not any(part.startswith("_") for part in module_name.split("."))
    return is_named_so and importlib.util.find_spec(module_name).origin.endswith(".py")


def names_of(module):
    """The public names of a module but for other modules."""
    names = list(module.__all__)
    if hasattr(module, "_functions"):  # amp.np makes some of its functions when they are asked for
        names += filter(module._functions.find, module._functions.names())
    public = dict.fromkeys(name for name in names if not name.startswith("_"))
    return [name for name in public if not isinstance(getattr(module, name), types.ModuleType)]


def is_described(value):
    """Whether a value has an entry: a function or class of this package that does not only refuse."""
    is_code = isinstance(value, (type, types.FunctionType)) or hasattr(value, "__signature__")
    is_ours = (value.__module__ or "").partition(".")[0] == "amp" if is_code else False
    return is_ours and not hasattr(value, "refused")


def is_error(value):
    return isinstance(value, type) and issubclass(value, BaseException)


def contents():
    """{module: {name: function or class}}: each object once, in the outermost module that has it."""
    found, seen = {}, set()
    for module_name, module in modules().items():
        pairs = {name: getattr(module, name) for name in names_of(module)}
        new = {name: value for name, value in pairs.items() if is_described(value) and id(value) not in seen}
        unique = {id(value): name for name, value in reversed(new.items())}  # the first, or a class's own
        unique |= {id(v): name for name, v in new.items() if isinstance(v, type) and v.__name__ == name}
        found[module_name] = {name: value for name, value in new.items() if unique[id(value)] == name}
        seen.update(unique)
    return found


def public_objects():
    """{name as 'amp.nd.zeros': function or class}"""
    return {f"{module}.{name}": value for module, members in contents().items() for name, value in members.items()}


def members_of(cls, described):
    """{name: attribute} of the public methods and properties of a class, without those of described base classes."""
    members = {}
    for owner in reversed(cls.__mro__):
        if not (owner.__module__ or "").startswith("amp") or (owner is not cls and id(owner) in described):
            continue
        special = [name for name in ("__call__", "__getitem__") if name in vars(owner)]
        for name in [*special, *(name for name in vars(owner) if not name.startswith("_"))]:
            members[name] = vars(owner)[name]
    return {name: members[name] for name in sorted(members) if doc_of(members[name], name)}


def doc_of(value, name):
    doc = inspect.cleandoc(getattr(value, "__doc__", None) or "")
    first, _, rest = doc.partition("\n\n")
    return rest if first.startswith(f"{name}(self") else doc  # pybind11 puts a signature in front


# ---- pages ----


def write():
    """Writes the sources of all pages; those that stay as they are are not touched."""
    FOLDER.mkdir(exist_ok=True)
    texts = {f"{name}.rst": text for name, text in pages().items()}
    for path in FOLDER.glob("*.rst"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = FOLDER / name
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)


def pages():
    found = contents()
    described = {id(value) for members in found.values() for value in members.values()}
    texts = {module: page_of(module, members, described) for module, members in found.items() if members}
    return {**texts, **reference_pages.pages(), "operators": operators_page(), "index": index_page(list(texts))}


# Modules by topic: a name that ends in a dot stands for all modules inside of it. The first topic that fits counts.
MODULE_TOPICS = {
    "Models: load, convert, run": ["amp", "amp.pool", "amp.report", "amp.profiling", "amp.model_zoo", "amp.base"],
    "Graphs and arrays": ["amp.sym", "amp.sym.", "amp.nd", "amp.nd.", "amp.name", "amp.attribute"],
    "Several ranks": ["amp.distributed", "amp.distributed."],
    "MXNet: Gluon": ["amp.mxnet.gluon", "amp.mxnet.gluon."],
    "MXNet: NumPy arrays": ["amp.mxnet.np", "amp.mxnet.np.", "amp.mxnet.npx", "amp.mxnet.npx."],
    "MXNet: everything else": ["amp."],
}


def topic_of(module):
    return next(
        topic
        for topic, names in MODULE_TOPICS.items()
        if any(module == name or (name.endswith(".") and module.startswith(name)) for name in names)
    )


def index_page(modules):
    """The modules by topic; within a topic in the order of its list."""
    parts = [f"{heading('Python API')}\n{PYTHON}"]
    for topic, names in MODULE_TOPICS.items():
        of_topic = [module for module in modules if topic_of(module) == topic]
        of_topic.sort(key=lambda module: (names.index(module) if module in names else len(names), module))
        listed = "\n   ".join(of_topic)
        parts.append(f"{heading(topic, '-')}\n.. toctree::\n   :maxdepth: 1\n\n   {listed}\n")
    return "\n".join(parts)


PYTHON = """
``import amp`` has what most programs need. ``import amp.mxnet as mx`` has the names of MXNet. :doc:`operators` lists
the operators, which are functions of ``amp.sym`` and ``amp.nd``.
"""

# The names of `amp` in the order in which a program meets them; the others follow.
NAME_TOPICS = {
    "Load and save": ["load", "load_checkpoint", "save_checkpoint"],
    "Convert": ["convert_model", "convert_symbol", "convert_hybrid_block", "ConversionReport", "disable_amp"],
    "Run": ["Executor", "Pool", "cpu_info"],
    "Train": ["gradient", "alternate", "mark_backward"],
    "Graphs and arrays": ["Symbol", "NDArray", "AttrScope", "dtype_name"],
    "MXNet's operator lists": "list_",
    "Errors": "Error",
}


def sections_of(module_name, members):
    """[(title, names)]: one section without a title, but for `amp` itself."""
    names = sorted(members, key=str.lower)
    if module_name != "amp":
        return [("", names)]
    sections = {topic: [] for topic in [*NAME_TOPICS, "Others"]}
    for name in names:
        fits = (topic for topic, of in NAME_TOPICS.items() if (name in of if isinstance(of, list) else of in name))
        sections[next(fits, "Others")].append(name)
    for topic, listed in NAME_TOPICS.items():
        if isinstance(listed, list):
            sections[topic].sort(key=listed.index)
    return [(topic, names) for topic, names in sections.items() if names]


def page_of(module_name, members, described):
    parts = [heading(module_name), f".. automodule:: {module_name}\n   :no-members:\n"]
    for title, names in sections_of(module_name, members):
        parts += [heading(title, "-")] if title else []
        parts += [entry(module_name, name, members[name], described) for name in names]
    return "\n".join(parts)


def entry(module_name, name, value, described):
    """The directives of a function, or of a class with its members."""
    if not isinstance(value, type):
        return f".. autofunction:: {module_name}.{name}\n"
    inheritance = "   :show-inheritance:\n" if public_base(value, described) else ""
    listed = members_of(value, described)
    members = [f"   .. {directive_of(attribute)}:: {member}\n" for member, attribute in listed.items()]
    return "\n".join([f".. autoclass:: {module_name}.{name}\n{inheritance}", *members])


def public_base(cls, described):
    """The nearest base class that has an entry, or is not of this package; None where there is only `object`."""
    bases = cls.__mro__[1:-1]
    return next((base for base in bases if id(base) in described or not base.__module__.startswith("amp")), None)


def directive_of(attribute):
    if isinstance(attribute, property):
        return "autoproperty"
    return "automethod" if callable(getattr(attribute, "__func__", attribute)) else "autoattribute"


OPERATORS = """
Every operator is a function of :mod:`amp.sym` (of symbols) and of :mod:`amp.nd` (of arrays), under its name and its
aliases. A name that begins with ``_contrib_``, ``_image_``, ``_linalg_``, ``_npi_``, ``_npx_``, ``_random_`` or
``_sparse_`` is in the module of that name, too: ``amp.sym.contrib.X`` is ``_contrib_X``. Inputs come first, then
attributes, by position or by keyword. ``*data`` stands for any number of inputs.
"""


def operators_page():
    infos = {info["name"]: info for info in map(_core.operator_info, _core.operator_names())}
    names = sorted(filter(str.isidentifier, infos), key=lambda name: (name.startswith("_"), name.lower()))
    entries = [f".. autofunction:: amp.sym.{name}\n" for name in names]
    return "\n".join([heading("Operators"), OPERATORS, *entries])
