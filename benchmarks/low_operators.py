"""Which operators of a model touch low precision."""

from amp._trust.data import types_of
from amp._trust.graph import CASTS
from amp._trust.reference import OpenModel


def operators_of(model, inputs, target="bfloat16"):
    """({names of operators that read or write the dtype `target`}, [names of all]), both but for casts.

    `model` is (Symbol, arg_params, aux_params), `inputs` {name: array}.
    """
    opened = OpenModel(model, types_of(inputs), None)
    graph, dtypes = opened.graph, opened.dtypes()
    operators = [(i, node) for i, node in graph.operators() if node.op not in CASTS]
    low = {
        node.name
        for i, node in operators
        if target in {dtypes.get(e) for e in (*node.inputs, *((i, k) for k in range(len(graph.outputs[i]))))}
    }
    return low, [node.name for _, node in operators]
