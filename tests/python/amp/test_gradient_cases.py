"""Gradients against MXNet 1.9.1's own: recorded in the folder of AMP_SHARED."""

import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest

import amp
from amp import _core

SHARED = Path(os.environ.get("AMP_SHARED") or Path(__file__).resolve().parents[4] / "shared")
CASES = SHARED / "cases"
pytestmark = pytest.mark.skipif(not CASES.exists(), reason=f"{CASES} does not exist: the reference cases are not here")
AUX_TOLERANCE = 1e-5
# Where two backends may disagree about the sign of a number: as far from 0 as rounding reaches.
SIGN_TOLERANCE = 1e-5


def case_module():
    spec = importlib.util.spec_from_file_location("case", CASES / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def folders(group):
    return sorted(path.parent for path in (CASES / group).glob("*/case.json"))


def labels():
    """(folder, label) of every operator of grad_ops."""
    return [
        (folder, label)
        for folder in folders("grad_ops")
        for label in json.loads((folder / "case.json").read_text()).get("labels", {})
    ]


def check(case, label, backend=None, symbol=None, masks=None):
    """What is wrong with the gradients of the case's symbol, or of one that reads `masks`, too."""
    symbol = amp.sym.load_json(case.symbol_json(label)) if symbol is None else symbol
    given = {**case.inputs(label), **case.params(label), **(masks or {})}
    arrays = {name: amp.nd.NDArray(value).copy() for name, value in given.items()}
    requests = {**case.grad_req(label), **dict.fromkeys(masks or (), "null")}
    run = amp.TrainingExecutor(symbol, arrays, arrays, {}, grad_req=requests, backend=backend)
    for name, start in case.initial_gradients(label).items():
        run.gradients[name][:] = start
    for _ in range(case.steps):
        run.forward(is_train=True)
        run.backward(case.head_gradients(label))
    problems = []
    listed = {m["name"] for m in case.info["gradients"]}
    found = run.gradients
    given = {n: np.asarray(found.get(n, np.zeros(arrays[n].shape, "f"))) for n in requests if n in listed}
    for name, (largest, rms, _) in case.gradient_errors(given, label).items():
        bounds = case.tolerance(name)
        if not (largest <= bounds[0] and rms <= bounds[1]):
            problems.append(f"gradient of {name}: {largest:.2g}, {rms:.2g}, allowed {bounds}")
    states = {name: np.asarray(arrays[name]) for name in case.aux_names(label)}
    for name, (largest, _, _) in case.aux_errors(states, label).items():
        if not largest <= AUX_TOLERANCE:
            problems.append(f"state {name}: {largest:.2g}")
    return problems


def relus_of(graph):
    return [i for i, node in enumerate(graph["nodes"]) if node.get("attrs", {}).get("act_type") == "relu"]


def relu_outputs(case, backend):
    """{name: output} of all relus of a network in training form."""
    symbol = amp.sym.load_json(case.symbol_json(None))
    graph = json.loads(symbol.tojson())
    names = [graph["nodes"][i]["name"] for i in relus_of(graph)]
    internals = symbol.get_internals()
    relus = amp.sym.Group([internals[f"{name}_output"] for name in names])
    outputs, _, _ = _core.gradient_graph(relus._handle, [relus.list_arguments()[0]], [], True)
    forward = amp.sym.Symbol(outputs)
    arrays = {**case.inputs(None), **case.params(None)}
    given = {name: arrays[name] for name in forward.list_inputs()}
    shapes = {name: array.shape for name, array in given.items()}
    run = amp.Executor(forward, {}, {}, shapes, backend=backend)
    results = run._handle.run([given[name] for name in run._input_names])
    return dict(zip(names, (np.asarray(result) for result in results)))


def with_masks(case):
    """The network with a product with a variable `<name>_mask` in the place of each relu."""
    graph = json.loads(amp.sym.load_json(case.symbol_json(None)).tojson())
    relus = relus_of(graph)
    masks = [{"op": "null", "name": f"{graph['nodes'][i]['name']}_mask", "inputs": []} for i in relus]
    shift = len(masks)
    for node in graph["nodes"]:
        node["inputs"] = [[i + shift, *rest] for i, *rest in node["inputs"]]
    for mask, i in enumerate(relus):
        node = graph["nodes"][i]
        node.update(op="elemwise_mul", attrs={}, inputs=[*node["inputs"], [mask, 0, 0]])
    graph["heads"] = [[i + shift, *rest] for i, *rest in graph["heads"]]
    graph["nodes"] = masks + graph["nodes"]
    graph["arg_nodes"] = [i for i, node in enumerate(graph["nodes"]) if node["op"] == "null"]
    graph.pop("node_row_ptr", None)
    return amp.sym.load_json(json.dumps(graph))


@pytest.mark.parametrize("backend", ["reference", "onednn"])
@pytest.mark.parametrize(("folder", "label"), labels(), ids=lambda value: getattr(value, "name", value))
def test_operators_have_mxnets_gradients(folder, label, backend):
    assert not check(case_module().GradCase(str(folder)), label, backend)


def check_with_signs_of_reference(case):
    """A relu whose input is 0 but for rounding is on or off by chance, and takes whole gradients with it. So: both
    backends disagree about few signs and only about those of such numbers, and with the signs of the reference backend,
    which has MXNet's gradients, oneDNN has them, too."""
    expected, found = relu_outputs(case, "reference"), relu_outputs(case, "onednn")
    flipped = {name: (values > 0) != (found[name] > 0) for name, values in expected.items()}
    problems = []
    for name, places in flipped.items():
        largest = np.abs(np.where(places, expected[name] - found[name], 0)).max(initial=0)
        if largest > SIGN_TOLERANCE * np.abs(expected[name]).max():
            problems.append(f"{name}: signs differ at {largest}")
    if not 0 < sum(places.sum() for places in flipped.values()) <= 3:
        problems.append("the signs do not explain it")
    masks = {f"{name}_mask": (values > 0).astype(np.float32) for name, values in expected.items()}
    return problems + check(case, None, "onednn", with_masks(case), masks)


@pytest.mark.parametrize("backend", ["reference", "onednn"])
@pytest.mark.parametrize("folder", folders("grad_nets"), ids=lambda folder: folder.name)
def test_networks_have_mxnets_gradients(folder, backend):
    case = case_module().GradCase(str(folder))
    problems = check(case, None, backend)
    if problems and backend == "onednn":
        problems = check_with_signs_of_reference(case)
    assert not problems
