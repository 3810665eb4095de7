"""Nodes of control flow as MXNet writes them, and runs of symbols that have them."""

import json

import numpy as np

import amp


def var(name):
    return amp.sym.Variable(name)


def is_positive(name):
    return amp.sym._internal._greater_scalar(var(name), scalar=0, name="is_positive")


def is_below(name, limit):
    return amp.sym._internal._lesser_scalar(var(name), scalar=limit, name=f"is_below_{limit}")


def graph_of(symbol):
    graph = json.loads(symbol.tojson())
    graph.pop("attrs", None)  # subgraphs have none
    first = {}  # variables of one name are one
    for i, node in enumerate(graph["nodes"]):
        node["inputs"] = [[first.get(graph["nodes"][j]["name"], j), *rest] for j, *rest in node["inputs"]]
        if node["op"] == "null":
            first.setdefault(node["name"], i)
    graph["heads"] = [[first.get(graph["nodes"][j]["name"], j), *rest] for j, *rest in graph["heads"]]
    return graph


def merged(symbol):
    return amp.sym.load_json(json.dumps(graph_of(symbol)))


def node_with_bodies(op, name, attrs, inputs, bodies):
    """A node over the outputs of `inputs` that carries `bodies`, as MXNet writes it. Its heads are all its outputs."""
    attrs = {key: str(value) for key, value in attrs.items()}
    graph = graph_of(amp.sym.Group(inputs))
    node = {
        "op": op,
        "name": name,
        "attrs": attrs,
        "inputs": graph["heads"],
        "subgraphs": [graph_of(b) for b in bodies],
    }
    graph["nodes"].append(node)
    graph.pop("node_row_ptr", None)
    last = len(graph["nodes"]) - 1
    graph["heads"] = [[last, i, 0] for i in range(len(bodies[-1].list_outputs()))]
    return amp.sym.load_json(json.dumps(graph))


def foreach(body, data, states, rest=(), name="loop", **changed):
    """`data`, `states`, `rest`: {variable of the body: outer symbol}. The body's last heads are the new states."""
    body, rest = merged(body), dict(rest)
    names = body.list_inputs()
    attrs = {
        "num_args": 1 + len(names),
        "num_outputs": len(body.list_outputs()),
        "num_out_data": len(body.list_outputs()) - len(states),
        "in_data_locs": tuple(names.index(n) for n in data),
        "in_state_locs": tuple(names.index(n) for n in states),
        "remain_locs": tuple(names.index(n) for n in rest),
    }
    inputs = [*data.values(), *states.values(), *rest.values()]
    return node_with_bodies("_foreach", name, {**attrs, **changed}, inputs, [body])


def while_loop(condition, body, inputs, states, max_iterations, name="loop", **changed):
    """`inputs`: {name: outer symbol}, read by condition and body under these names; `states` names some of them."""
    condition, body, names = merged(condition), merged(body), list(inputs)
    attrs = {
        "num_args": 2 + len(names),
        "num_outputs": len(body.list_outputs()),
        "num_out_data": len(body.list_outputs()) - len(states),
        "max_iterations": max_iterations,
        "cond_input_locs": tuple(names.index(n) for n in condition.list_inputs()),
        "func_input_locs": tuple(names.index(n) for n in body.list_inputs()),
        "func_var_locs": tuple(body.list_inputs().index(n) for n in states),
    }
    return node_with_bodies("_while_loop", name, {**attrs, **changed}, list(inputs.values()), [condition, body])


def cond(condition, yes, no, inputs, name="choice", **changed):
    condition, yes, no, names = merged(condition), merged(yes), merged(no), list(inputs)
    attrs = {
        "num_args": 3 + len(names),
        "num_outputs": len(yes.list_outputs()),
        "cond_input_locs": tuple(names.index(n) for n in condition.list_inputs()),
        "then_input_locs": tuple(names.index(n) for n in yes.list_inputs()),
        "else_input_locs": tuple(names.index(n) for n in no.list_inputs()),
    }
    return node_with_bodies("_cond", name, {**attrs, **changed}, list(inputs.values()), [condition, yes, no])


def substitute(symbol, name, replacement):
    """JSON of `symbol` with the variable `name` replaced by an output."""
    graph = graph_of(amp.sym.Group([replacement, symbol]))
    nodes, (source, *heads) = graph["nodes"], graph["heads"]
    target = next(i for i, node in enumerate(nodes) if node["op"] == "null" and node["name"] == name)
    for node in nodes:
        node["inputs"] = [source if entry[0] == target else entry for entry in node["inputs"]]
    graph["heads"] = heads
    graph.pop("node_row_ptr")
    return json.dumps(graph)


def run(symbol, inputs, args=None, aux=None, backend="onednn", **options):
    inputs = {name: np.asarray(array) for name, array in inputs.items()}
    shapes = {name: array.shape for name, array in inputs.items()}
    dtypes = {name: array.dtype for name, array in inputs.items()}
    executor = amp.Executor(symbol, args or {}, aux or {}, shapes, input_dtypes=dtypes, backend=backend, **options)
    return [output.asnumpy() for output in executor(inputs)]


def random(*shape, seed=0, dtype="f4"):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def recurrent_body():
    """A step of an Elman network: two heads of which the second is the state."""
    hidden = amp.sym.FullyConnected(var("x"), var("w"), var("b"), num_hidden=4, name="fc")
    hidden = amp.sym.Activation(amp.sym.elemwise_add(hidden, var("h"), name="add"), act_type="tanh", name="act")
    return amp.sym.Group([amp.sym.FullyConnected(hidden, var("v"), no_bias=True, num_hidden=3, name="out"), hidden])


def recurrent(data=None):
    rest = {"w": var("W"), "b": var("B"), "v": var("V")}
    return foreach(recurrent_body(), {"x": var("data") if data is None else data}, {"h": var("start")}, rest)
