"""Rows about `amp.sensitivity`: against one rounding at a time, and predictions against conversions."""

import numpy as np

import amp
from amp._trust.graph import Builder, Graph
from amp._trust.reference import float32_reference

from . import networks
from .report import Row

NETWORKS = ("digits", "det1", "det2", "det3", "bert", "resnet20")
PREDICTED = ("digits", "det1", "det2", "det3", "bert", "resnet20", "mobilenetv2", "squeezenet")
_POLICIES = ("default", "optimal", "mxnet", "graphamp")


def rows():
    """Ranks and sizes of single roundings, then predictions."""
    for name in NETWORKS:
        yield from _single(name)
    for name in PREDICTED:
        yield from _predictions(name)


def rounded_alone(model, name):
    """The model with one tensor or parameter rounded to bfloat16 for all its readers; it has no batch norms to fold."""
    symbol, args, aux = model
    graph = Graph(symbol)
    entry = next(entry for entry in graph.entries() if graph.name_of(entry) == name)
    builder, ids, low = Builder(graph.attrs), [], None
    for i, node in enumerate(graph.nodes):
        inputs = [low if source == entry else (ids[source[0]], source[1]) for source in node.inputs]
        ids.append(builder.add(node.op, node.name, node.attrs, inputs, node.rest))
        if i == entry[0]:
            down = builder.add("amp_cast", "~down", {"dtype": "bfloat16"}, [(ids[i], entry[1])])
            low = builder.add("amp_cast", "~up", {"dtype": "float32"}, [(down, 0)]), 0
    heads = [low if head == entry else (ids[head[0]], head[1]) for head in graph.heads]
    return builder.symbol(heads), args, aux


def truth(model, data, names):
    """{tensor: the outputs' error where it alone is rounded}"""
    exact = networks.run(model, data)
    return {name: networks.error_of(exact, networks.run(rounded_alone(model, name), data)) for name in names}


def _single(name):
    model, data = networks.load(name)
    opened = float32_reference(model, {key: (array.dtype, array.shape) for key, array in data.items()})
    found = {t["name"]: t["own"] for t in amp.sensitivity(*model, data).tensors if t["own"] > 0}
    true = truth((opened.symbol, opened.args, opened.aux), data, found)
    pairs = np.array([(found[key], true[key]) for key in found if true[key] > 0])
    bar = 0.9
    rank = spearman(*pairs.T)
    yield Row(f"sensitivity: rank of {len(pairs)} tensors of {name}", f">= {bar}", f"{rank:.3f}", rank >= bar)
    order = in_order(*pairs.T)
    yield Row(f"sensitivity: pairs 1.25x apart of {name}", ">= 0.95", f"{order:.3f}", order >= 0.95)
    near = float(np.mean(np.abs(np.log(pairs[:, 0] / pairs[:, 1])) < np.log(1.5)))
    yield Row(f"sensitivity: within 1.5x of the truth, {name}", ">= 80 %", f"{100 * near:.0f} %", near >= 0.8)


def _predictions(name):
    model, data = networks.load(name)
    exact = networks.run(model, data)
    tables = {}
    for policy in _POLICIES:
        *low, report = networks.convert(model, data, policy=policy)
        folds = bool(report.folded)
        if folds not in tables:
            tables[folds] = amp.sensitivity(*model, data, fold_batch_norm=folds)
        ratio = tables[folds].predict(report) / networks.error_of(exact, networks.run(low, data))
        yield Row(f"predict: {name}, {policy}", "0.65 to 1.5 of measured", f"{ratio:.2f}", 0.65 <= ratio <= 1.5)


def spearman(a, b):
    """The correlation of the ranks of two arrays."""
    ranks = [np.argsort(np.argsort(values)) for values in (a, b)]
    return float(np.corrcoef(*ranks)[0, 1])


def in_order(found, true):
    """Of all pairs whose true sizes are 1.25x apart, the part that are in the right order."""
    apart = true[:, None] > 1.25 * true[None, :]
    return float(np.mean((found[:, None] > found[None, :])[apart])) if apart.any() else 1.0
