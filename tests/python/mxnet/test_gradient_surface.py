"""What training programs use of MXNet, by a recorded list: each name is here, with every parameter of it."""

import inspect
import os
import re
from pathlib import Path

import pytest

import amp.mxnet as mx

LIST = Path(os.environ.get("AMP_SHARED") or Path(__file__).resolve().parents[4] / "shared")
LIST = LIST / "reference" / "gradient_surface.md"

# Entry -> why it is not here, or not with all of its parameters.
EXCEPTIONS = {
    "_slice_assign": "the operator is not registered; arrays are written to by index",
}

# Where names of a section are looked up, by the first word of its heading.
PLACES = {
    "gluon.Trainer,": ("gluon.Trainer", "gluon.Parameter", "gluon.Block", "gluon.HybridBlock", "gluon"),
    "gluon.loss": ("gluon.loss",),
    "metric": ("metric",),
    "optimizer": ("optimizer",),
    "lr_scheduler": ("lr_scheduler",),
    "initializer": ("init",),
    "autograd": ("autograd", "nd"),
    "Module": ("mod.Module", "model"),
    "Executor": ("sym", "nd"),
    "KVStore": ("kv.KVStore",),
    "Data": ("gluon.data", "gluon.data.Dataset", "gluon.data.vision", "gluon.data.vision.transforms"),
    "AMP": ("amp", "contrib.amp"),
    "test_utils": ("test_utils",),
}
NAME = r"[A-Za-z_][\w.]*"


def parameters(signature):
    """Names of the parameters of a text like "a, b=(1, 2), *args"; without `**kw` and what is left out."""
    while "(" in signature:
        signature, before = re.sub(r"\([^()]*\)", "", signature), signature
        if signature == before:
            break
    names = [part.partition("=")[0].strip() for part in signature.split(",")]
    return [name for name in names if re.fullmatch(r"[A-Za-z_]\w*", name)]


def entries_of(line):
    """[(name, [lists of parameters])] of a line: an entry with a description, or a list of names."""
    first = re.match(r"- `([^`]*)`(?=:| \|)(.*)", line)
    if first:
        chunk, rest = first.groups()
        name, _, signature = chunk.partition("(")
        later = re.match(r" \| 2\.0: (?:\+ )?`\(?([^`]*)`", rest)
        return [(name, [parameters(_whole(text)) for text in (signature, later and later[1]) if text])]
    found = []
    for chunk in re.findall(r"`([^`]*)`", line.partition(": ")[0] if line.startswith("- `") else line):
        chunk = re.sub(r" \([^)]*\)", "", chunk)  # remarks
        chunk = re.sub(r"(\([^()]*)\([^()]*\)", r"\1", chunk)
        for name, signature in re.findall(rf"(?<![\w.(=])({NAME})(?:\(([^)]*)\))?(?=,|$| )", chunk):
            named = ",".join(part for part in signature.split(",") if "=" in part)  # other names are informal
            found.append((name, [parameters(named)] if named else []))
    return found


def _whole(signature):
    """Without the parenthesis at its end; where that is cut off, without the last name."""
    return signature[:-1] if signature.endswith(")") else signature.rpartition(",")[0] or signature


def all_entries():
    if not LIST.is_file():
        return []
    found, section = [], ""
    for line in LIST.read_text().splitlines():
        if line.startswith("## "):
            section = line.split()[1]
        elif line.startswith("- "):
            found += [(section, name, lists) for name, lists in entries_of(line)]
    return found


ENTRIES = all_entries()


def look_up(section, name):
    for place in (*PLACES.get(section, ()), ""):
        found = mx
        try:
            for part in filter(None, f"{place}.{name}".split(".")):
                found = getattr(found, part)
        except AttributeError:
            continue
        return found
    raise AssertionError(f"{section}: there is no {name}")


def accepts(function, name):
    known = inspect.signature(function).parameters.values()
    kinds = {parameter.kind for parameter in known}
    return any(parameter.name == name for parameter in known) or inspect.Parameter.VAR_KEYWORD in kinds


def test_the_list_is_read():
    if not ENTRIES:
        pytest.skip(f"needs {LIST}")
    names = {name for _, name, _ in ENTRIES}
    assert len(ENTRIES) > 180
    assert {"autograd.record", "predict_mode", "gluon.Trainer.step", "L1Loss", "metric.F1", "filter", "shard"} <= names
    f1 = next(lists for _, name, lists in ENTRIES if name == "metric.F1")
    assert f1[0][0] == "name" and "average" in f1[0] and "class_type" in f1[1]
    assert set(EXCEPTIONS) <= names


@pytest.mark.skipif(not ENTRIES, reason=f"needs {LIST}")
@pytest.mark.parametrize("section, name, lists", ENTRIES, ids=[name for _, name, _ in ENTRIES])
def test_entry(section, name, lists):
    if name in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[name])
    found = look_up(section, name)
    assert not hasattr(found, "refused"), found.refused
    for names in lists[:1]:
        missing = [parameter for parameter in names if not accepts(found, parameter)]
        assert not missing
    for names in lists[1:]:  # of 2.0, where gluon.metric has its own classes
        newer = getattr(mx.gluon.metric, name.partition(".")[2]) if name.startswith("metric.") else found
        assert not [parameter for parameter in names if not accepts(newer, parameter)]
