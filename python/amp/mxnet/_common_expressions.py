"""Common expressions of a symbol: what is computed twice becomes one node, as in MXNet's graph of an executor."""

import json
import os

from .. import _core, sym

# Operators that run Python or graphs, and those that draw random numbers in training alone.
_STATEFUL = ("Custom", "_foreach", "_while_loop", "_cond", "Dropout", "_npx_dropout", "LeakyReLU", "RNN")


def are_shared():
    """Whether MXNet's variable MXNET_ELIMINATE_COMMON_EXPR, 1 by default, asks for it."""
    return os.environ.get("MXNET_ELIMINATE_COMMON_EXPR", "1") != "0"


def shared(symbol):
    """The symbol without nodes that repeat others: of the same operator, attributes and inputs.

    Nodes that draw random numbers or move states stay. An output that another one repeats is a copy of that.
    """
    graph = json.loads(symbol.tojson())
    states = set(symbol.list_auxiliary_states())
    kept, places, known = [], [], {}
    for node in graph["nodes"]:
        inputs = [[places[place], *rest] for place, *rest in node["inputs"]]
        attributes = node.get("attrs", {})
        key = node["op"], json.dumps(attributes, sort_keys=True), json.dumps(inputs)
        is_repeatable = _is_repeatable(node["op"], attributes, [kept[place]["name"] for place, *_ in inputs], states)
        if is_repeatable and key in known:
            places.append(known[key])
            continue
        places.append(len(kept))
        known[key] = len(kept)
        kept.append({**node, "inputs": inputs})
    heads = _distinct_heads(kept, [[places[place], *rest] for place, *rest in graph["heads"]])
    arguments = [i for i, node in enumerate(kept) if node["op"] == "null"]
    rows = {"node_row_ptr": list(range(len(kept) + 1))} if "node_row_ptr" in graph else {}
    return sym.load_json(json.dumps({**graph, "nodes": kept, "heads": heads, "arg_nodes": arguments, **rows}))


def _is_repeatable(operator, attributes, inputs, states):
    if operator == "null" or operator in _STATEFUL or states.intersection(inputs):
        return False
    return not _core.draws_random_numbers(operator, attributes)


def _distinct_heads(nodes, heads):
    """The heads; those that occur before as copies, nodes that are added."""
    distinct = []
    for head in heads:
        if head in distinct:
            name = f"{nodes[head[0]]['name']}_copy{len(nodes)}"
            nodes.append({"op": "_copy", "name": name, "inputs": [head]})
            head = [len(nodes) - 1, 0, 0]
        distinct.append(head)
    return distinct
