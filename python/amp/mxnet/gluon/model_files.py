"""The structure of a block as MXNet's `Block.save` writes it, and the names in files of blocks with other names.

A block of MXNet 1.x has a number in its name, which a parent may use as the name of its child: the same program gives
other names when it makes the block for the second time. What stays is the order.
"""

import json


def write(block, path):
    """Writes the structure of the block as JSON."""
    structure = {}
    _add(block, structure, 0)
    with open(path, "w") as file:
        json.dump(structure, file)


def _add(block, structure, index):
    """Returns the number of the next block."""
    entry = structure[f"{type(block).__name__.lower()}{index}"] = {
        "orig_name": block.name,
        "hybridized": False,  # graphs are recorded anew
        "params": {},
        "children": {child.name: name for name, child in block._children.items()},
    }
    index += 1
    for child in block._children.values():
        index = _add(child, entry, index)
    return index


def names_in(path, block):
    """{place in the block: its name in the parameter file}, by the structure that MXNet's or our `save` has written."""
    with open(path) as file:
        structure = json.load(file)
    places = {}
    _walk(block, next(iter(structure.values()), {}), "", "", places)
    return places


def _walk(block, entry, place, old, places):
    """Children of the same order belong together; those without a name in the structure keep theirs."""
    for name in block._reg_params:
        places[place + name] = old + name
    entries = [value for value in entry.values() if isinstance(value, dict) and "orig_name" in value]
    names = entry.get("children", {})
    for i, (name, child) in enumerate(block._children.items()):
        inner = entries[i] if i < len(entries) else {}
        known = names.get(inner.get("orig_name"), name)
        _walk(child, inner, f"{place}{name}.", f"{old}{known}.", places)
