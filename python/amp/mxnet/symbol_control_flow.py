"""Loops and branches in symbols: `mx.sym.contrib.foreach`, `while_loop` and `cond`.

A body composes symbols. What it composes is cut out of the graph and becomes a graph of its own, which the node of the
loop carries; symbols from outside that it reads become inputs of the node.
"""

import itertools
import json

from .. import sym
from ..attribute import AttrScope
from ..base import ArgumentError
from ..name import NameManager
from ..sym import Symbol
from . import _generation
from ._nested import flattened

__all__ = ["cond", "foreach", "while_loop"]

_MARK = "__subgraph_name__"
_numbers = itertools.count()


class UnreadError(ArgumentError, AssertionError):
    """A body does not read what it is given; an AssertionError, as in MXNet."""


class _Body:
    """A graph cut out of another: `graph`, to write as JSON, and `inputs`, {name of its variable: outer symbol}."""

    def __init__(self, compose, placeholders):
        """`compose()` gives a list of outputs; `placeholders` are variables that stand for no outer symbol."""
        mark = str(next(_numbers))
        with AttrScope(**{_MARK: mark}):
            self.outputs = [sym.op.identity(output) for output in compose()]  # an output may be a variable
        whole = json.loads(sym.Group(self.outputs).tojson())
        nodes = whole["nodes"]
        inner = {i for i, node in enumerate(nodes) if node["op"] != "null" and node.get("attrs", {}).get(_MARK) == mark}
        read = _entries_from_outside(self.outputs, whole, inner)
        self.graph, names = _subgraph(whole, inner, read)
        own = {variable.name for variable in placeholders}
        self.inputs = {name: read[entry] for entry, name in names.items() if name not in own}
        self.names = sym.load_json(json.dumps(self.graph)).list_inputs()

    def locations(self, names, role):
        """Where variables of these names are among the body's; raises ArgumentError where it does not read one."""
        unread = [number for number, name in enumerate(names) if name not in self.names]
        if unread:
            raise UnreadError(f"the body does not read {role} {unread[0]}")
        return tuple(self.names.index(name) for name in names)


def _entries_from_outside(outputs, graph, inner):
    """{(node, output): symbol} of what the nodes `inner` read from others."""
    found, visited = {}, set()
    waiting = list(zip(outputs, graph["heads"]))
    while waiting:
        symbol, (node, output, *_) = waiting.pop()
        if node not in inner:
            found[node, output] = symbol
        elif node not in visited:
            visited.add(node)
            children = symbol.get_children()
            waiting += [] if children is None else zip(children, graph["nodes"][node]["inputs"])
    return dict(sorted(found.items()))


def _subgraph(graph, inner, read):
    """The graph of the nodes `inner`, and {entry from outside: the variable that stands for it}."""
    nodes, places, names = [], {}, {}
    for entry in read:
        node = graph["nodes"][entry[0]]
        is_variable = node["op"] == "null"
        names[entry] = name = node["name"] if is_variable else f"{node['name']}_output{entry[1]}_outside{entry[0]}"
        places[entry] = next((i for i, known in enumerate(nodes) if known["name"] == name), len(nodes))
        if places[entry] == len(nodes):  # variables of one name are one
            attributes = _unmarked(node) if is_variable else {}
            nodes.append({"op": "null", "name": name, "attrs": attributes, "inputs": []})

    def place(entry):
        node, output, *_ = entry
        return [places[node, output], 0, 0] if node not in inner else [places[node], output, 0]

    for number in sorted(inner):
        node = graph["nodes"][number]
        places[number] = len(nodes)
        nodes.append({**node, "attrs": _unmarked(node), "inputs": [place(entry) for entry in node["inputs"]]})
    variables = [i for i, node in enumerate(nodes) if node["op"] == "null"]
    heads = [place(entry) for entry in graph["heads"]]
    return {"nodes": nodes, "arg_nodes": variables, "heads": heads}, names


def _unmarked(node):
    return {key: value for key, value in node.get("attrs", {}).items() if key != _MARK}


def _placeholders(symbols, name):
    return [type(symbol)(sym.var(f"{name}{i}")._handle) for i, symbol in enumerate(symbols)]


def _node(operator, name, inputs, bodies, attributes):
    """The outputs of a node over the symbols `inputs` that carries bodies; the last one says how many there are."""
    names = [f"in{i}" for i in range(len(inputs))]
    count = len(bodies[-1].outputs)
    scope = AttrScope.current()
    attributes = {"num_args": len(bodies) + len(inputs), "num_outputs": count, **attributes}
    node = {
        "op": operator,
        "name": name,
        "attrs": scope.constrain({**scope.get(), **{key: str(value) for key, value in attributes.items()}}),
        "inputs": [[i, 0, 0] for i in range(len(inputs))],
        "subgraphs": [body.graph for body in bodies],
    }
    variables = [{"op": "null", "name": name, "inputs": []} for name in names]
    graph = {
        "nodes": [*variables, node],
        "arg_nodes": list(range(len(inputs))),
        "heads": [[len(inputs), i, 0] for i in range(count)],
    }
    return list(sym.load_json(json.dumps(graph))(**dict(zip(names, inputs))))


def _symbols(nested, what):
    """`flattened` of symbols."""
    symbols, form = flattened(nested)
    if not all(isinstance(symbol, Symbol) for symbol in symbols):
        raise ArgumentError(f"{what}: expected Symbols")
    return symbols, form


def _keeping(states, placeholders):
    """New states, of which each reads the old one, if only for its shape: a body may not care for an old one."""
    like = sym._internal._identity_with_attr_like_rhs
    return [like(new, old) for new, old in zip(states, placeholders)]


def foreach(body, data, init_states, name="foreach"):
    """A node that calls `body(slice, states)` for each slice of `data` along its first axis: (outputs, states).

    `data` and states are symbols or nested lists of them. Outputs of all steps are stacked. Raises ArgumentError where
    the body gives another number of states or does not read all data. After `mx.install` it has to read all states,
    too, as in MXNet.

    >>> step = lambda x, states: (x * 2, states + x)
    >>> outputs, states = mx.sym.contrib.foreach(step, amp.sym.var("x"), amp.sym.var("sum"))
    >>> outputs.eval(x=amp.nd.array([[1], [2], [3]]), sum=amp.nd.zeros((1,)))[0].asnumpy().ravel()
    array([2., 4., 6.], dtype=float32)
    """
    return foreach_node(body, data, init_states, name, bool(_generation.chosen()))


def foreach_node(body, data, init_states, name="foreach", reads_states=False, scalar_parts=()):
    """What `foreach` gives.

    `reads_states`: the body has to read all states. `scalar_parts`: the places of data of one axis whose slices have
    shape `()`; slices of others have shape `(1,)`.
    """
    name = NameManager.current().get(None, f"_{name}")
    data, data_form = _symbols(data, "foreach: data")
    states, state_form = _symbols(init_states, "foreach: init_states")
    slices, old = _placeholders(data, f"{name}_data"), _placeholders(states, f"{name}_state")
    forms = []

    def compose():
        out, new = body(data_form(list(slices)), state_form(list(old)))
        for nested in (out, new):
            symbols, form = _symbols(nested, "foreach: what the body gives")
            forms.append((len(symbols), form))
            yield from symbols if nested is out or reads_states else _keeping(symbols, old)

    cut = _Body(compose, [*slices, *old])
    (num_outputs, out_form), (num_states, new_form) = forms
    if num_states != len(states):
        raise ArgumentError(f"foreach: the body gave {num_states} states, expected {len(states)}")
    attributes = {
        "num_out_data": num_outputs,
        "in_data_locs": cut.locations([variable.name for variable in slices], "data"),
        "in_state_locs": cut.locations([variable.name for variable in old], "state"),
        "remain_locs": cut.locations(cut.inputs, "input"),
    }
    if scalar_parts:
        attributes["scalar_parts"] = tuple(scalar_parts)
    outputs = _node("_foreach", name, [*data, *states, *cut.inputs.values()], [cut], attributes)
    return out_form(outputs[:num_outputs]), new_form(outputs[num_outputs:])


def _input_locations(bodies, names):
    return [tuple(names.index(name) for name in body.names) for body in bodies]


def while_loop(cond, func, loop_vars, max_iterations=None, name="while_loop"):
    """A node that calls `func(*loop_vars)` as long as `cond(*loop_vars)` is true: (outputs, loop_vars).

    `func` gives (outputs of the step, new loop_vars). Outputs have `max_iterations` slices; those behind the last
    step are zeros. Raises ArgumentError without `max_iterations` and for another number of new loop_vars.

    >>> step = lambda i: (i, [i + 1])
    >>> outputs, _ = mx.sym.contrib.while_loop(lambda i: i < 2, step, [amp.sym.var("i")], max_iterations=3)
    >>> outputs.eval(i=amp.nd.zeros((1,)))[0].asnumpy().ravel()
    array([0., 1., 0.], dtype=float32)
    """
    if max_iterations is None:
        raise ArgumentError("while_loop: max_iterations is missing")
    is_list = isinstance(loop_vars, (list, tuple))
    variables = _symbols(list(loop_vars) if is_list else [loop_vars], "while_loop: loop_vars")[0]
    if not variables:
        raise ArgumentError("while_loop: loop_vars are empty")
    name = NameManager.current().get(None, f"_{name}")
    old = _placeholders(variables, f"{name}_var")
    forms = []

    def compose():
        out, new = func(*old)
        symbols, form = _symbols([] if out is None else out, "while_loop: what func gives")
        new = _symbols(list(new) if isinstance(new, (list, tuple)) else [new], "while_loop: new loop_vars")[0]
        if len(new) != len(old):
            raise ArgumentError(f"while_loop: func gave {len(new)} loop_vars, expected {len(old)}")
        forms.append((len(symbols), form))
        return [*symbols, *_keeping(new, old)]

    condition, body = _Body(lambda: [cond(*old)], old), _Body(compose, old)
    [(num_outputs, form)] = forms
    inputs = {**dict(zip([one.name for one in old], variables)), **condition.inputs, **body.inputs}
    cond_locations, func_locations = _input_locations((condition, body), list(inputs))
    attributes = {
        "num_out_data": num_outputs,
        "max_iterations": int(max_iterations),
        "cond_input_locs": cond_locations,
        "func_input_locs": func_locations,
        "func_var_locs": body.locations([variable.name for variable in old], "loop_var"),
    }
    outputs = _node("_while_loop", name, list(inputs.values()), [condition, body], attributes)
    last = outputs[num_outputs:]
    return form(outputs[:num_outputs]), last if is_list else last[0]


def cond(pred, then_func, else_func, name="cond"):
    """A node that gives what `then_func()` composes where the symbol `pred`, of one element, is not 0, else the other.

    Raises ArgumentError where the two give different numbers of outputs.

    >>> x = amp.sym.var("x")
    >>> net = mx.sym.contrib.cond(x > 0, lambda: x * 2, lambda: x * 3)
    >>> net.eval(x=amp.nd.array([-1]))[0].asnumpy()
    array([-3.], dtype=float32)
    """
    forms = []

    def composing(function):
        def compose():
            symbols, form = _symbols(function(), "cond: what a branch gives")
            forms.append(form)
            return symbols

        return compose

    bodies = [_Body(composing(function), []) for function in (lambda: pred, then_func, else_func)]
    _, yes, no = (len(body.outputs) for body in bodies)
    if yes != no:
        raise ArgumentError(f"cond: then_func gave {yes} outputs, else_func {no}")
    inputs = {}
    for body in bodies:
        inputs.update(body.inputs)
    locations = _input_locations(bodies, list(inputs))
    attributes = dict(zip(("cond_input_locs", "then_input_locs", "else_input_locs"), locations))
    name = NameManager.current().get(None, f"_{name}")
    return forms[1](_node("_cond", name, list(inputs.values()), bodies, attributes))


def install():
    """Puts them into `mx.sym.contrib`."""
    for function in (foreach, while_loop, cond):
        setattr(sym.contrib, function.__name__, function)
