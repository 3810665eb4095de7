"""Which operators that MXNet's wheels register this package has: the page docs/operators_of_mxnet.md.

usage: operators_of_mxnet.py list PYTHON ...     writes tests/data/mxnet_operators.txt from interpreters with MXNet
       operators_of_mxnet.py page                writes the page
"""

import functools
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "tests" / "data" / "mxnet_operators.txt"
PAGE = ROOT / "docs" / "operators_of_mxnet.md"
PRESENT, FUNCTION, REFUSED, MISSING = "operator", "function", "refused", "missing"

HEAD_OF_LIST = """\
# Names that MXNet's wheels register, the operator that each belongs to, and the wheels that have it:
# made by `tools/operators_of_mxnet.py list`.
"""
ASK = """
import ctypes, mxnet
from mxnet.base import _LIB
count, names = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
_LIB.MXListAllOpNames(ctypes.byref(count), ctypes.byref(names))
for i in range(count.value):
    handle, operator = ctypes.c_void_p(), ctypes.c_char_p()
    _LIB.NNGetOpHandle(names[i], ctypes.byref(handle))
    _LIB.MXSymbolGetAtomicSymbolName(handle, ctypes.byref(operator))
    print("operator", names[i].decode(), operator.value.decode(), mxnet.__version__)
"""

# Registered names as regular expressions, and the modules of amp.mxnet that have a function of the name's last part.
PLACES = (
    (r"_contrib_(.*)|_((?:multi_)?(?:mp_)?(?:adamw|adabelief|lamb|lans)_update)", "nd.contrib"),
    (r"_sparse_(\w+_update)", "nd"),
    (r"_image_(.*)", "nd.image"),
    (r"_npx__image_(.*)", "npx.image"),
    (r"_npi_cv(im.*)|_cv(.*)", "image"),
    (r"_npi_(.*)", "np np.linalg np.random"),
    (r"_npx__?(.*)", "npx npx.random"),
    (r"_?(?:random|sample)_(.*)", "nd.random"),
    (r"(.*)", "nd nd._internal"),
)


@functools.cache
def listed():
    """{name: (operator, versions)} of the list."""
    lines = [line.split() for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return {name: (operator, versions) for name, operator, *versions in lines}


def write_list(pythons):
    """Asks interpreters."""
    names = {}
    for python in pythons:
        text = subprocess.run([python, "-c", ASK], check=True, capture_output=True, text=True).stdout
        for line in text.splitlines():
            if line.startswith("operator "):
                _, name, operator, version = line.split()
                names.setdefault(name, [operator]).append(version.replace("beta", "b"))
    LIST.write_text(HEAD_OF_LIST + "".join(f"{name} {' '.join(names[name])}\n" for name in sorted(names)))


def function_of(name):
    """The function of amp.mxnet for arrays that does what the operator does, 'nd.sgd_update', or None."""
    import amp.mxnet

    for pattern, modules in PLACES:
        match = re.fullmatch(pattern, name)
        last = next(filter(None, match.groups()), None) if match else None
        for module in modules.split() if last else ():
            found = functools.reduce(getattr, module.split("."), amp.mxnet)
            if callable(function := getattr(found, last, None)) and not hasattr(function, "refused"):
                return f"{module}.{last}"
    return None


def outcome(name):
    """(one of the four outcomes, function or reason)"""
    import amp.mxnet  # noqa: F401 - it registers operators, too
    from amp import _core, _unregistered

    if name in _core.operator_names():
        return PRESENT, ""
    reason = _unregistered.reason(name)
    if reason not in (None, _unregistered.UPDATES, _unregistered.PICTURES):
        return REFUSED, reason
    function = function_of(name) or function_of(listed()[name][0])
    return (FUNCTION, function) if function else (MISSING, reason or "")


def outcomes():
    """{outcome: {name: function or reason}} of all names of the list."""
    found = defaultdict(dict)
    for name in listed():
        kind, text = outcome(name)
        found[kind][name] = text
    return found


def share(found):
    """Of the names that are not refused, those with an operator or a function."""
    there = len(found[PRESENT]) + len(found[FUNCTION])
    return there / (there + len(found[MISSING]))


HEAD = """\
# Operators of MXNet

Made by `tools/operators_of_mxnet.py page` from the {count} names that the wheels 1.9.1 and 2.0.0b1 register, aliases
included. What concerns arrays of floats and integers on a CPU is there for **{share:.1%}** of {scope} names: as
an operator, which graphs, files and arrays share, or as a function for arrays alone.

| outcome | names |
|---|---|
| an operator | {operators} |
| a function for arrays; graphs and files cannot hold it | {functions} |
| missing | {missing} |
{refused}
"""


IN_PYTHON = """\
Graphs and files hold these; their nodes call Python, where `amp.mxnet` is imported. Where shapes of results depend on
values (`_contrib_boolean_mask`, `_contrib_dynamic_reshape`, `_npi_bincount`, `_npi_boolean_mask`, `_npi_delete`,
`_npi_nonzero`, `_npi_unique`, `_npx_nonzero`), `bind` and `SymbolBlock` run a graph in parts; plans of `amp.Executor`
and conversions, which know all shapes, refuse it."""
WHY_FUNCTIONS = """\
Updates of weights change their arguments in place, and trainers call them behind a graph, not in it. Pictures are
prepared before a graph reads them. Random numbers of some distributions are drawn by NumPy, with the generator of the
program and not with the key of a graph's run. The shape of what `_set_value` writes to is in no graph."""


def page():
    """The text of the page."""
    from amp import _unregistered

    found = outcomes()
    reasons = defaultdict(list)
    for name, reason in found[REFUSED].items():
        reasons[reason].append(name)
    rows = [f"| refused: {reason} | {len(names)} |" for reason, names in sorted(reasons.items())]
    scope = sum(len(found[kind]) for kind in (PRESENT, FUNCTION, MISSING))
    numbers = {"operators": len(found[PRESENT]), "functions": len(found[FUNCTION]), "missing": len(found[MISSING])}
    text = HEAD.format(count=len(listed()), share=share(found), scope=scope, refused="\n".join(rows), **numbers)
    text += "\n## Missing\n\n" + (", ".join(f"`{name}`" for name in found[MISSING]) or "None.") + "\n"
    text += f"\n## Operators that run in Python\n\n{IN_PYTHON}\n\n"
    text += (
        ", ".join(f"`{name}`" for name in found[PRESENT] if _unregistered.reason(name) == _unregistered.PYTHON) + "\n"
    )
    text += (
        f"\n## Functions for arrays\n\n{WHY_FUNCTIONS}\n\n| name in MXNet's registry | function of `mx` |\n|---|---|\n"
    )
    text += "".join(f"| `{name}` | `{function}` |\n" for name, function in found[FUNCTION].items())
    text += "\n## Refused\n"
    for reason, names in sorted(reasons.items()):
        text += f"\n### {reason[0].upper()}{reason[1:]}\n\n" + ", ".join(f"`{name}`" for name in names) + "\n"
    return text


if __name__ == "__main__":
    if sys.argv[1:2] == ["list"]:
        write_list(sys.argv[2:])
    elif sys.argv[1:] == ["page"]:
        PAGE.write_text(page())
    else:
        sys.exit(__doc__)
