"""The counts that MXNet's own tests assert of its conversion (policy mxnet), on graphs built as symbols.

Counted as MXNet does: a monitor sees every result of the converted model; casts to the target, other casts and results
in the target dtype are sets of names.
"""

import json

import numpy as np
import pytest

import amp

pytestmark = pytest.mark.usefixtures("machine")  # what a conversion counts does not depend on the machine

LOW = "bfloat16"
DISABLED = {"__opt_constraint__": "1"}


def dense(data, name, units, weight=None, bias=None, attr=None):
    """A layer whose parameters are named like Gluon's."""
    weight = amp.sym.Variable(f"{name}.weight") if weight is None else weight
    bias = amp.sym.Variable(f"{name}.bias") if bias is None else bias
    return amp.sym.FullyConnected(data, weight, bias, num_hidden=units, name=name, attr=attr)


def convolution(operator, data, name):
    weight, bias = amp.sym.Variable(f"{name}.weight"), amp.sym.Variable(f"{name}.bias")
    return operator(data, weight, bias, kernel=(3, 3), num_filter=4, no_bias=False, name=name)


def basic():
    net = dense(dense(amp.sym.Variable("data"), "fc1", 4), "fc2", 4)
    return amp.sym.Reshape(net, shape=(-1, 2, 2), name="reshape")


def offline():
    net = convolution(amp.sym.Convolution, amp.sym.Variable("data"), "lp16_op1")
    net = convolution(amp.sym.Deconvolution, net, "lp16_op2")
    net = amp.sym.Reshape(net, shape=(0, -1), name="reshape")
    return dense(net, "fp32_op", 4, attr=DISABLED)


def shared():
    weight, bias = amp.sym.Variable("lp16_op2.weight"), amp.sym.Variable("fp32_op.bias")
    a = dense(amp.sym.Variable("data"), "lp16_op1", 4, weight=weight)
    b = dense(a, "lp16_op2", 4, weight=weight, bias=bias)
    c = dense(a, "fp32_op", 4, bias=bias, attr=DISABLED)
    return amp.sym.Concat(b, c, dim=1, name="concat")


def order(flipped):
    t = amp.sym._internal._rpower_scalar(amp.sym.Variable("data"), scalar=2.0, name="t")
    heads = [amp.sym.Flatten(t, name="flat"), dense(t, "fc", 4)]
    return amp.sym.Group(heads[::-1] if flipped else heads)


def excluded(attr):
    data, weight, bias = (amp.sym.Variable(name) for name in ("data", "weight", "bias"))
    return amp.sym.Group(
        [dense(data, "fc1", 4, weight, bias, attr=attr), dense(data, "fc2", 4, weight, bias)],
    )


def shapes_of(symbol, shape):
    return dict(zip(symbol.list_arguments(), symbol.infer_shape(data=shape)[0]))


def parameters(symbol, shape):
    generator = np.random.default_rng(1)
    shapes = shapes_of(symbol, shape)
    return {name: generator.uniform(-1, 1, s).astype("f4") for name, s in shapes.items() if name != "data"}


def counted(symbol, arg_params, x):
    """(tensors in the target dtype, casts to it, other casts)"""
    low, low_casts, other_casts = set(), set(), set()

    def see(name, op, array):
        is_low = amp.dtype_name(array.dtype) == LOW
        if is_low:
            low.add(name)
        if op == "amp_cast":
            (low_casts if is_low else other_casts).add(name)

    amp.Executor(symbol, arg_params, {}, {"data": x.shape}, monitor=True).run_monitored(see, x)
    return len(low), len(low_casts), len(other_casts)


def orders(symbol, limit=300):
    """The same graph with its nodes in other topological orders, all of them or `limit` drawn at random."""
    graph = json.loads(symbol.tojson())
    nodes = graph["nodes"]
    needs = [{entry[0] for entry in node["inputs"]} for node in nodes]
    found = set()
    generator = np.random.default_rng(2)
    for _ in range(limit):
        done, todo = [], set(range(len(nodes)))
        while todo:
            ready = sorted(node for node in todo if needs[node] <= set(done))
            done.append(ready[generator.integers(len(ready))])
            todo.remove(done[-1])
        found.add(tuple(done))
    for permutation in sorted(found):
        place = {old: new for new, old in enumerate(permutation)}

        def moved(entry, place=place):
            return [place[entry[0]], *entry[1:]]

        reordered = {
            "nodes": [{**nodes[old], "inputs": [moved(e) for e in nodes[old]["inputs"]]} for old in permutation],
            "arg_nodes": sorted(place[old] for old in graph["arg_nodes"]),
            "heads": [moved(entry) for entry in graph["heads"]],
            "attrs": graph["attrs"],
        }
        yield amp.sym.load_json(json.dumps(reordered))


CASES = {
    "1 basic": (basic, (4, 4), {}, (8, 5, 1)),
    "2 offline": (offline, (4, 3, 16, 16), {"cast_params_offline": True}, (4, 1, 1)),
    "3 shared": (shared, (4, 4), {"cast_params_offline": True}, (4, 2, 2)),
    "4 order": (lambda: order(False), (4, 16), {"cast_params_offline": True}, (3, 1, 2)),
    "4 other order": (lambda: order(True), (4, 16), {"cast_params_offline": True}, (3, 1, 2)),
    "5a excluded by attribute": (lambda: excluded(DISABLED), (4, 16), {}, (4, 3, 1)),
    "5b excluded by name": (lambda: excluded(DISABLED), (4, 16), {"excluded_sym_names": ["fc1", "fc2"]}, (0, 0, 0)),
}


def converted(symbol, arg_params, options):
    return amp.convert_model(symbol, arg_params, {}, "float32", LOW, policy="mxnet", **options)


@pytest.mark.parametrize("case", CASES)
def test_counts(case):
    build, shape, options, expected = CASES[case]
    symbol = build()
    x = np.random.default_rng(0).uniform(-1, 1, shape).astype("f4")
    args = parameters(symbol, shape)
    seen = set()
    for number, other in enumerate(orders(symbol)):
        model = converted(other, args, options)
        seen.add(model[0].tojson())
        if number < 3:
            assert counted(model[0], model[1], x) == expected
    assert len(seen) == 1  # the same decisions, whatever the order: the same bytes


@pytest.mark.parametrize("build, shape", [(offline, (4, 3, 16, 16)), (shared, (4, 4))])
def test_dtypes_of_parameters_after_offline_casts(build, shape):
    symbol = build()
    args = parameters(symbol, shape)
    _, after, _ = converted(symbol, args, {"cast_params_offline": True})
    assert after.keys() == args.keys()
    for name, array in after.items():
        assert amp.dtype_name(array.dtype) == ("float32" if "fp32_op" in name else LOW), name


def test_nothing_is_left_in_a_graph_whose_every_operator_is_excluded():
    symbol = excluded(None)
    args = parameters(symbol, (4, 16))
    model = converted(symbol, args, {"excluded_sym_names": ["fc1", "fc2"]})
    assert model[0].tojson() == symbol.tojson()
    assert "amp_cast" not in model[0].tojson()
