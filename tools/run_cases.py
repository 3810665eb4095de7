"""Load, infer, save and run every reference case, on both backends and in both precisions.

    .venv/bin/python tools/run_cases.py CASES              # all of them, some minutes
    .venv/bin/python tools/run_cases.py CASES --only yolo  # those whose path contains a word

A case is a folder with symbol.json and case.json; `case.py` in the folder of all cases reads it. For
each it prints what was seen: bytes that stay equal when what was loaded is saved and loaded again, the
largest error over the largest magnitude in float32, the relative rms error after conversion to
bfloat16, and milliseconds of one run. Networks with more multiplications than --limit (in GFLOP) run on
the reference backend node by node: each operator on its own, from the values that the plan computed,
for as many nodes of each operator as the limit allows. Cases with operators that are not registered
are listed with what is missing. Ends with status 1 where something else failed.
"""

from __future__ import annotations

import argparse
import collections
import importlib.util
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import amp

FP32_LARGEST = 2e-5
BF16_RMS = 0.03

# Recorded in training mode: gradients and loss curves, not inference.
TRAINING = ("grad_nets", "grad_ops", "train")


def case_class(folder):
    spec = importlib.util.spec_from_file_location("shared_case", folder / "case.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Case


def load(case):
    """(symbol, arguments, auxiliary states)"""
    if case.param_file:
        return amp.load(case.symbol_file, case.param_file)
    symbol = amp.sym.load(case.symbol_file)
    params, states = case.params(), set(symbol.list_auxiliary_states())
    args = {name: array for name, array in params.items() if name not in states}
    return symbol, args, {name: array for name, array in params.items() if name in states}


def saves_stably(model):
    """Whether what was saved is what is loaded from it, byte by byte, and saves the same again."""
    symbol, args, aux = model
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for epoch in (0, 1):
            amp.save_checkpoint(f"{folder}/m", epoch, symbol, args, aux)
            files.append([Path(f"{folder}/m{end}").read_bytes() for end in ("-symbol.json", f"-000{epoch}.params")])
            symbol, args, aux = amp.load_checkpoint(f"{folder}/m", epoch)
    return files[0] == files[1]


def gflop(executor_symbol, shapes, dtypes):
    """Multiplications and additions of convolutions, matrix products and the like, in 1e9."""
    internals = executor_symbol.get_internals()
    names = internals.list_outputs()
    known = {name: (str(np.dtype(dtypes[name])), shape) for name, shape in shapes.items()}
    _, types, _ = internals._handle.infer(known)
    shape_of = {name: shape for name, (_, shape) in zip(names, types)}
    total = 0
    for name in names:
        node = internals[name]
        children = node.get_children()
        if children is None or not name.endswith("_output"):
            continue
        inputs = [shape_of.get(child) for child in children.list_outputs()]
        if len(inputs) > 1 and inputs[1] and len(inputs[1]) >= 2 and shape_of[name]:
            kernel = [child for child in children.list_outputs() if child.endswith("weight")]
            if kernel:
                total += 2 * int(np.prod(shape_of[name])) * int(np.prod(shape_of[kernel[0]][1:]))
    return total / 1e9


class Row:
    """What was seen of one case."""

    def __init__(self, name):
        self.name = name
        self.cells = {}
        self.problems = []

    def check(self, cell, good, text):
        self.cells[cell] = text
        if not good:
            self.problems.append(f"{cell} {text}")


def bind(model, inputs, backend, precision, monitor=False):
    symbol, args, aux = model
    if precision == "bfloat16":
        dtypes = {name: array.dtype for name, array in inputs.items()}
        symbol, args, aux = amp.convert_model(symbol, args, aux, dtypes, "bfloat16", cast_params_offline=True)
    shapes = {name: array.shape for name, array in inputs.items()}
    return amp.Executor(
        symbol,
        args,
        aux,
        shapes,
        input_dtypes={name: array.dtype for name, array in inputs.items()},
        backend=backend,
        monitor=monitor,
    )


def has_low_precision(symbol):
    """Whether the file itself is one that was converted."""
    return any(attrs.get("dtype") in ("bfloat16", "float16") for attrs in symbol.attr_dict().values())


def run_whole(case, model, inputs, backend, precision, row):
    executor = bind(model, inputs, backend, precision)
    start = time.perf_counter()
    outputs = executor(inputs)
    seconds = time.perf_counter() - start
    errors = case.errors([output.asnumpy().astype(np.float64) for output in outputs])
    largest, rms = (max((error[i] for error in errors), default=0.0) for i in (0, 1))
    label = f"{backend} {precision}"
    if not errors:  # MXNet itself cannot run the file
        row.cells[label] = f"runs, {1000 * seconds:.0f} ms"
    elif precision == "float32" and not has_low_precision(model[0]):
        row.check(label, largest <= FP32_LARGEST, f"{largest:.1e}, {1000 * seconds:.0f} ms")
    else:
        row.check(label, rms <= BF16_RMS, f"{100 * rms:.2f} %, {1000 * seconds:.0f} ms")
    if backend == "onednn":
        row.cells["on reference kernels"] = str(executor.summary.num_references)
    return executor


def examine(case, limit, row):
    model = load(case)
    inputs = case.inputs()
    row.check("saved", saves_stably(model), "same bytes")
    for precision in ("float32", "bfloat16"):
        executor = run_whole(case, model, inputs, "onednn", precision, row)
    work = gflop(executor.symbol, {n: a.shape for n, a in inputs.items()}, {n: a.dtype for n, a in inputs.items()})
    row.cells["GFLOP"] = f"{work:.1f}"
    for precision in ("float32", "bfloat16"):
        if work <= limit:
            run_whole(case, model, inputs, "reference", precision, row)
        else:
            run_nodes(model, inputs, precision, row)


def run_nodes(model, inputs, precision, row, per_operator=3):
    """Some nodes of each operator on the reference backend, each from the plan's own values."""
    executor = bind(model, inputs, "onednn", precision, monitor=True)
    ran = []
    executor.run_monitored(lambda name, op, array: ran.append((op, array)), inputs)
    given = {name: amp.nd.NDArray(array) for name, array in inputs.items()}
    nodes = Nodes(executor.symbol, {**given, **bound_parameters(model, precision, inputs)}, ran)
    seen, worst = collections.Counter(), 0.0
    for number, node in enumerate(nodes.json["nodes"]):
        if node["op"] != "null" and seen[node["op"]] < per_operator:
            seen[node["op"]] += 1
            worst = max(worst, nodes.error(number))
    bound = FP32_LARGEST if precision == "float32" else 2.0**-7
    row.check(f"reference {precision}", worst <= bound, f"{worst:.1e} ({sum(seen.values())} nodes)")


def bound_parameters(model, precision, inputs):
    """{name: array} of the parameters that the executor's symbol reads."""
    if precision == "bfloat16":
        dtypes = {name: array.dtype for name, array in inputs.items()}
        model = amp.convert_model(*model, dtypes, "bfloat16", cast_params_offline=True)
    return {name: amp.nd.NDArray(array) for group in model[1:] for name, array in group.items()}


class Nodes:
    """The operators of a symbol, one by one, and the values that a plan gave them."""

    def __init__(self, symbol, variables, ran):
        self.json = json.loads(symbol.tojson())
        self.values = {}  # (node number, output) -> array
        ran = iter(ran)
        for number, node in enumerate(self.json["nodes"]):
            if node["op"] == "null":
                self.values[number, 0] = variables.get(node["name"])
                continue
            for output in range(len(self._visible_outputs(node))):
                op, self.values[number, output] = next(ran)
                assert op == node["op"]

    def _visible_outputs(self, node):
        return amp.sym.load_json(json.dumps(self._alone(node, 0))).get_internals().list_outputs()[len(node["inputs"]) :]

    def _alone(self, node, output):
        """A document with the node and a variable for each of its inputs."""
        variables = [{"op": "null", "name": f"in{i}", "inputs": []} for i in range(len(node["inputs"]))]
        count = len(variables)
        lonely = {**node, "inputs": [[i, 0, 0] for i in range(count)]}
        return {"nodes": [*variables, lonely], "arg_nodes": list(range(count)), "heads": [[count, output, 0]]}

    def error(self, number):
        """Largest error over largest magnitude of the node's first output, against the reference backend."""
        node = self.json["nodes"][number]
        inputs = {f"in{i}": self.values[entry[0], entry[1]] for i, entry in enumerate(node["inputs"])}
        symbol = amp.sym.load_json(json.dumps(self._alone(node, 0)))
        states = set(symbol.list_auxiliary_states())
        rest = {name: array for name, array in inputs.items() if name not in states and array is not None}
        executor = amp.Executor(
            symbol,
            {},
            {name: array for name, array in inputs.items() if name in states},
            {name: array.shape for name, array in rest.items()},
            input_dtypes={name: array.dtype for name, array in rest.items()},
            backend="reference",
        )
        output = executor({name: array for name, array in rest.items() if name in executor.input_names})[0]
        return difference(output, self.values[number, 0])


def difference(output, expected):
    """Largest error over largest magnitude."""
    output, expected = (array.asnumpy().astype(np.float64) for array in (output, expected))
    error = np.abs(np.where(output == expected, 0, output - expected))
    return float(np.nanmax(error, initial=0) / max(np.nanmax(np.abs(expected), initial=0), 1e-30))


def missing_operators(error):
    return str(error).split("not registered: ")[-1] if "not registered" in str(error) else str(error)


def report(row, shown):
    cells = ", ".join(f"{key}: {value}" for key, value in row.cells.items())
    shown.append(row)
    print(f"{'FAILED ' if row.problems else 'ok     '}{row.name:<48} {cells}", flush=True)
    for problem in row.problems:
        print(f"         {problem}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with case.py")
    parser.add_argument("--only", default="", help="a part of the path")
    parser.add_argument("--limit", type=float, default=10.0, metavar="GFLOP", help="of a whole run")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cases = case_class(options.folder)
    shown, missing = [], {}
    for file in sorted(options.folder.rglob("case.json")):
        name = str(file.parent.relative_to(options.folder))
        if options.only not in name or name.split("/")[0] in TRAINING:
            continue
        row = Row(name)
        try:
            examine(cases(str(file.parent)), options.limit, row)
        except amp.UnsupportedError as error:
            missing[name] = missing_operators(error)
            continue
        except Exception as error:  # a finding, too: the other cases still run
            row.problems.append(f"{type(error).__name__}: {error}")
        report(row, shown)
    for name, operators in missing.items():
        print(f"not yet {name:<48} {operators}")
    failed = [row for row in shown if row.problems]
    total = len(shown) + len(missing)
    print(f"{len(shown) - len(failed)} of {total} cases, {len(failed)} failed, {len(missing)} not yet")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
