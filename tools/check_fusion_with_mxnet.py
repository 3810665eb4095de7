"""Compares what Symbol.optimize_for makes of networks with what MXNet makes of them: 1.9.1's MKLDNN, 2.0.0b1's ONEDNN.

    python3 -m venv ~/mxenv && ~/mxenv/bin/pip install mxnet==1.9.1 numpy==1.23.5
    make package
    .venv/bin/python tools/check_fusion_with_mxnet.py ~/mxenv/bin/python CASES
    .venv/bin/python tools/check_fusion_with_mxnet.py ~/mxenv/bin/python --only resnet18

Networks of the model zoo and the graphs of every reference case, as far as MXNet loads them, go through both. Nodes
are compared by name: operator, attributes, inputs and subgraphs (operators, names, attributes, inputs). MXNet gets no
shapes: given arrays, it mixes up their order once something is fused.

What is known to differ is put right before the comparison and counted: KNOWN tells why. Ends with status 1 where
anything else differs.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

KNOWN = {
    "norm": "2.0.0b1 calls a fused norm _contrib_BatchNormWithReLU, without the norm's attributes (lost: #21122)",
    "scores": "2.0.0b1 knows one operator for the scores of attention, _sg_onednn_selfatt_qk of the split",
    "dtype": "MXNet's primitives have no float16; without shapes and dtypes it fuses for it, too",
    "second": "MXNet numbers the readers of a fused node as if each had an output of its own (F4b)",
    "shared": "equal nodes are one with us; the released versions of MXNet do not share them",
}
ZOO = "resnet18_v1 resnet18_v2 squeezenet1.0 densenet121 vgg11 vgg11_bn alexnet inceptionv3 mobilenet0.25".split()
ZOO += ["mobilenetv2_0.25"]


def serve(folder):
    """In the process of MXNet: fuses every '<number>.json'; '<number>.fused' holds the result or the message."""
    import numpy as np

    for name, kind in {"bool": bool, "object": object, "int": int, "float": float}.items():
        setattr(np, name, kind)  # which MXNet uses and NumPy has dropped
    import mxnet

    backend = "MKLDNN" if mxnet.__version__.startswith("1.") else "ONEDNN"
    (folder / "backend").write_text(backend)
    for file in sorted(folder.glob("*.json")):
        try:
            text = mxnet.sym.load(str(file)).optimize_for(backend).tojson(remove_amp_cast=False)
        except Exception as error:  # MXNet's own message is the finding
            text = "refused: " + str(error).splitlines()[0]
        file.with_suffix(".fused").write_text(text)


def networks(cases, only):
    """(name, file's text, Symbol, {input: shape})"""
    import amp
    import amp.mxnet  # gives symbols optimize_for

    for name in ZOO:
        size = 299 if name == "inceptionv3" else 224
        if only in name:
            symbol = amp.model_zoo.get_model(name, classes=100, form="1.x")
            yield f"model_zoo/{name}", symbol.tojson(), symbol, {"data": (1, 3, size, size)}
    for file in sorted(cases.rglob("case.json")) if cases else []:
        name = str(file.parent.relative_to(cases))
        if only not in name or "mkldnn" in name:  # what is fused already is not fused again
            continue
        text = (file.parent / "symbol.json").read_text()
        try:
            symbol = amp.sym.load_json(text)
        except amp.UnsupportedError as error:
            print(f"{name}: {error}")
            continue
        yield name, text, symbol, json.loads(file.read_text())["inputs"]


def plain_attrs(node):
    attrs = node.get("attrs", {})
    return {key: str(value).lower() for key, value in attrs.items() if not key.startswith("__")}


def described(graph):
    """{name: (operator, attributes, inputs by name, subgraphs)} of the nodes of a graph, variables left out."""
    nodes = graph["nodes"]
    found = {}
    for node in nodes:
        if node["op"] == "null":
            continue
        inputs = [f"{nodes[entry[0]]['name']}[{entry[1]}]" for entry in node["inputs"]]
        subgraphs = [described(subgraph) for subgraph in node.get("subgraphs", [])]
        found[node["name"]] = (node["op"], plain_attrs(node), inputs, subgraphs)
    return found


def put_right(ours, theirs, used):
    """Their nodes as they would be without the differences in KNOWN."""
    result, renamed, seen = {}, {}, {}
    for name, (op, attrs, inputs, subgraphs) in theirs.items():
        sources = [entry[:-1].rsplit("[", 1) for entry in inputs]
        inputs = [f"{renamed.get(source, source)}[{index}]" for source, index in sources]
        if op == "_sg_onednn_batch_norm" and name in ours:  # _contrib_BatchNormWithReLU by another name
            used["norm"] += 1
            attrs = ours[name][1]
        key = json.dumps([op, attrs, inputs])
        if name not in ours and key in seen:
            used["shared"] += 1
            renamed[name] = seen[key]
            continue
        seen.setdefault(key, name)
        result[name] = (op, attrs, inputs, subgraphs)
    return result


def without_defaults(mine, other):
    """Attributes that only one of two files writes are those of the operator's defaults in aliases and versions."""
    return {key: value for key, value in mine.items() if key in other}


def difference(name, mine, other):
    if mine is None or other is None:
        return f"{name}: {'only MXNet has it' if mine is None else 'only we have it'} ({(mine or other)[0]})"
    for what, a, b in zip(("operator", "attributes", "inputs"), mine, other):
        if what == "attributes" and not mine[0].startswith("_sg_"):
            a, b = without_defaults(a, b), without_defaults(b, a)
        if a != b:
            return f"{name}: {what} {a}, MXNet's {b}"
    for a, b in zip(mine[3], other[3]):
        found = differences(a, b)
        if found:
            return f"{name}: inside, {found[0]}"
    return None


def differences(ours, theirs):
    names = [*ours, *(name for name in theirs if name not in ours)]
    found = [difference(name, ours.get(name), theirs.get(name)) for name in names]
    return [text for text in found if text]


def is_fused(node):
    return node["op"].startswith("_sg_") or node["op"] == "_contrib_BatchNormWithReLU"


def canonical(text, used):
    """Our reading of their file: operators under their registered names, as in our own results."""
    import amp

    graph = json.loads(text)
    nodes = graph["nodes"]
    for node in nodes:
        if node["op"] == "_sg_onednn_selfatt_qk" and len(node["inputs"]) == 1:
            used["scores"] += 1
            node["op"], node["name"] = "_sg_onednn_selfatt_qk_split", node["name"].replace("_qk_", "_qk_split")
        for entry in node["inputs"]:
            if entry[1] != 0 and is_fused(nodes[entry[0]]):
                used["second"] += 1
                entry[1] = 0
        if is_fused(node):  # the heads of its subgraph are those outputs
            for subgraph in node.get("subgraphs", []):
                subgraph["heads"] = subgraph["heads"][:1]
    return described(json.loads(amp.sym.load_json(json.dumps(graph)).tojson()))


def compare(symbol, shapes, theirs, backend, used):
    """One line for the network, and the differences."""
    mine = described(json.loads(symbol.optimize_for(backend, shape_dict=shapes).tojson()))
    found = differences(mine, put_right(mine, canonical(theirs, used), used))
    if found and "float16" in symbol.tojson():
        used["dtype"] += 1
        return "float16: MXNet fuses what it cannot run", []
    return f"{sum_fused(mine)} fused nodes, {'as in MXNet' if not found else f'{len(found)} DIFFER'}", found


def sum_fused(nodes):
    return sum(op.startswith("_sg_") for op, *_ in nodes.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="of an environment with MXNet 1.9.1 or 2.0.0b1")
    parser.add_argument("cases", nargs="?", type=Path, help="folder of reference cases")
    parser.add_argument("--only", default="", help="part of the names of networks")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(Path(arguments.python))
    used, failures = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        chosen = list(networks(arguments.cases, arguments.only))
        for number, (_, text, _, _) in enumerate(chosen):
            (folder / f"{number:03}.json").write_text(text)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        subprocess.run([arguments.python, __file__, str(folder), "--serve"], check=True, env=environment)
        backend = (folder / "backend").read_text()
        for number, (name, _, symbol, shapes) in enumerate(chosen):
            theirs = (folder / f"{number:03}.fused").read_text()
            if theirs.startswith("refused: "):
                print(f"{name}: {theirs[:150]}")
                continue
            line, found = compare(symbol, shapes, theirs, backend, used)
            print(f"{name}: {line}", *found[:5], sep="\n    ")
            failures += bool(found)
    for key, count in used.items():
        if count:
            print(f"known, {count} times: {KNOWN[key]}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
