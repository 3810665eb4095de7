"""`amp operators`: what is supported."""

import difflib
import re

from .. import _core, _unregistered, inspection
from .._model_files import symbol_file
from .outputs import print_json


def operators(options):
    """`amp operators`"""
    rows = _of_model(options.model) if options.model else _registered()
    if options.json:
        print_json("operators", {"operators": rows})
        return
    width = min(40, max((len(row["name"]) for row in rows), default=0))
    for row in rows:
        count = f"{row['count']:5}  " if "count" in row else ""
        print(f"{row['name']:<{width}}  {count}{_line(row)}")
    unsupported = sum(not row["supported"] for row in rows)
    if options.model:
        print(f"{len(rows)} operators, {unsupported or 'none'} of them not supported")


def _registered():
    names = _core.operator_names()
    return [_supported(name) for name in sorted(set(names.values()), key=str.lower)]


def _supported(name):
    info = _core.operator_info(name)
    return {"name": name, "supported": True, "summary": _first_sentence(info["doc"]), "aliases": list(info["aliases"])}


def _first_sentence(doc):
    text = " ".join(doc.split())
    return re.split(r"(?<=[.:])\s", text, maxsplit=1)[0]


def _of_model(model):
    path = symbol_file(model)
    facts = inspection.describe(path)
    return [{**_row(name), "name": name, "count": count} for name, count in facts["operators"].items()]


def _row(name):
    registered = _core.operator_names()
    if name in registered:
        return _supported(registered[name])
    near = difflib.get_close_matches(name, registered)
    return {"name": name, "supported": False, "reason": _unregistered.reason(name), "nearest": near}


def _line(row):
    if row["supported"]:
        return row["summary"]
    nearest = f"nearest: {', '.join(row['nearest'])}" if row["nearest"] else "no operator has a similar name"
    return f"NOT SUPPORTED: {row['reason'] or nearest}"
