"""Shows which models that this package converted MXNet 1.9.1 loads and runs, and that it computes the same.

    python3 -m venv ~/mxenv && ~/mxenv/bin/pip install mxnet==1.9.1 numpy==1.23.5
    make package
    .venv/bin/python tools/check_converted_with_mxnet.py ~/mxenv/bin/python CASES
    .venv/bin/python tools/check_converted_with_mxnet.py ~/mxenv/bin/python --only resnet18

Networks of the model zoo, a few built by hand and every reference case (tools/run_cases.py says what that is) are
converted to bfloat16 under both policies, with casts of parameters offline and at run time, and saved. A process of
the other Python loads each pair, binds and runs it. The table tells, for each model, the relative rms error of MXNet's
outputs against ours, before conversion and after it, then the errors of conversion there and here; or MXNet's message.

Ends with status 1 where a pair does not load although MXNet has all of its operators, or where a pair of policy
mxnet of a network of the operators in PLAIN does not run there, or is off by more than LIMIT, or has another class;
but not where MXNet refuses the model before conversion with the same words (files of 2.0, float16). It has
no bfloat16 arithmetic on a CPU without avx512_bf16.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

LIMIT = 0.02
SECONDS = 300  # for one pair in MXNet
PLAIN = {
    "null",
    "Convolution",
    "FullyConnected",
    "BatchNorm",
    "Activation",  # relu
    "Pooling",
    "elemwise_add",
    "Concat",
    "Flatten",
    "Dropout",  # nothing at inference
    "amp_cast",
}
OTHER_ACTIVATION = "Activation, not of relu"
ZOO = {
    "resnet18_v1": (1, 3, 64, 64),
    "resnet18_v2": (1, 3, 64, 64),
    "squeezenet1.0": (1, 3, 224, 224),
    "squeezenet1.1": (2, 3, 224, 224),
    "densenet121": (1, 3, 224, 224),
    "vgg11": (1, 3, 64, 64),
    "vgg11_bn": (1, 3, 64, 64),
    "alexnet": (1, 3, 224, 224),
    "inceptionv3": (1, 3, 299, 299),
    "mobilenet0.25": (1, 3, 64, 64),
    "mobilenetv2_0.25": (1, 3, 64, 64),
}


# ---- in the process of MXNet ----


def serve():
    """Answers each line on the standard input, a request in JSON, with one line of JSON."""
    reply = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what MXNet prints is no answer
    np.bool, np.object = bool, object  # names that MXNet uses and NumPy has dropped
    import mxnet

    for line in sys.stdin:
        print(json.dumps(answer(mxnet, json.loads(line))), file=reply, flush=True)


def answer(mx, request):
    """What of `request` went well, and MXNet's message where something did not. Outputs go into a file."""
    if "operators" in request:
        return {"operators": operators_of(mx)}
    found = {"loads": False, "runs": False}
    try:
        symbol, args, aux = mx.model.load_checkpoint(request["prefix"], 0)
        found["loads"] = True
        outputs = run(mx, symbol, args, aux, dict(np.load(request["inputs"])))
        found["runs"] = True
        np.savez(request["outputs"], *outputs)
    except Exception as error:  # MXNet's own message is the finding
        found["error"] = str(error)
    return found


def operators_of(mx):
    import ctypes

    size, names = ctypes.c_uint(), ctypes.POINTER(ctypes.c_char_p)()
    mx.base.check_call(mx.base._LIB.MXListAllOpNames(ctypes.byref(size), ctypes.byref(names)))
    return ["null", *(names[i].decode() for i in range(size.value))]


def run(mx, symbol, args, aux, inputs):
    """The outputs as NumPy arrays, bfloat16 as float32."""
    inputs = {name: array for name, array in inputs.items() if name in symbol.list_arguments()}
    given = {name: mx.nd.array(array, dtype=array.dtype) for name, array in inputs.items()}
    missing = [name for name in symbol.list_arguments() if name not in given and name not in args]
    if missing:  # labels
        shapes, _, _ = symbol.infer_shape(**{name: array.shape for name, array in given.items()})
        of_name = dict(zip(symbol.list_arguments(), shapes))
        given.update({name: mx.nd.zeros(of_name[name]) for name in missing})
    executor = symbol.bind(mx.cpu(), {**args, **given}, aux_states=aux, grad_req="null")
    outputs = executor.forward(is_train=False)
    return [(o.astype("float32") if "bfloat16" in str(o.dtype) else o).asnumpy() for o in outputs]


# ---- with this package ----


class MXNet:
    """A process of MXNet, started again when it died."""

    def __init__(self, python, folder, fused):
        self.python, self.folder, self.process = python, Path(folder), None
        self.environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        if not fused:
            self.environment["MXNET_SUBGRAPH_BACKEND"] = "NONE"
        self.operators = set(self.ask({"operators": True})["operators"])

    def ask(self, request):
        if self.process is None:
            self._start()
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if ready else ""
        return json.loads(line) if line else self._died()

    def _start(self):
        self.log = open(self.folder / "mxnet.log", "w+")
        self.process = subprocess.Popen(
            [self.python, __file__, "--serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=self.environment,
        )

    def _died(self):
        self.close()
        self.log.seek(0)
        text = self.log.read().strip() or "no message"
        if self.process.returncode == 1:
            sys.exit(f"{self.python} cannot run MXNet: {text}")
        self.process = None
        return {"loads": False, "runs": False, "error": f"the process ends or hangs: {text}"}

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def models(cases, only):
    """(name, function that gives symbol, args, aux, inputs)"""
    import amp

    for name, shape in ZOO.items():
        yield f"model_zoo/{name}", lambda name=name, shape=shape: zoo_model(amp, name, shape)
    for build in (perceptron, branches, shared_weights, two_heads, poolings, normalized_input):
        yield f"built/{build.__name__}", lambda build=build: seeded(amp, *build(amp.sym))
    if cases is None:
        return
    from run_cases import case_class, load

    Case = case_class(cases)
    for file in sorted(cases.rglob("case.json")):
        name = str(file.parent.relative_to(cases))
        if only in name:
            case = Case(str(file.parent))
            yield name, lambda case=case: (*load(case), case.inputs())


def zoo_model(amp, name, shape):
    return seeded(amp, amp.model_zoo.get_model(name, classes=100, form="1.x"), {"data": shape})


def seeded(amp, symbol, shapes):
    """(symbol, args, aux, inputs)"""
    random = np.random.default_rng(11)
    inputs = {name: random.standard_normal(shape).astype("float32") for name, shape in shapes.items()}
    return (symbol, *amp.model_zoo.seeded_params(symbol, shapes, seed=3), inputs)


def perceptron(sym):
    x = sym.FullyConnected(sym.Flatten(sym.var("data")), num_hidden=64, name="fc1")
    x = sym.Activation(x, act_type="relu", name="relu1")
    return sym.FullyConnected(x, num_hidden=10, no_bias=True, name="fc2"), {"data": (4, 3, 8)}


def branches(sym):
    x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=16, pad=(1, 1), name="conv1")
    a = sym.Activation(x, act_type="relu", name="relu1")
    b = sym.Convolution(a, kernel=(3, 3), num_filter=16, num_group=4, pad=(1, 1), no_bias=True, name="conv2")
    b = sym.BatchNorm(b, fix_gamma=False, name="bn2")
    c = sym.elemwise_add(a, b, name="add")
    d = sym.Concat(c, x, a, dim=1, name="concat")
    d = sym.Convolution(d, kernel=(1, 1), num_filter=8, stride=(2, 2), name="conv3")
    return sym.FullyConnected(sym.Flatten(d), num_hidden=10, name="fc"), {"data": (2, 3, 16, 16)}


def shared_weights(sym):
    weight, bias = sym.var("weight"), sym.var("bias")
    x = sym.var("data")
    for i in range(3):
        x = sym.FullyConnected(x, weight=weight, bias=bias, num_hidden=32, name=f"fc{i}")
        x = sym.Activation(x, act_type="relu", name=f"relu{i}")
    return sym.FullyConnected(x, num_hidden=10, name="last"), {"data": (4, 32)}


def two_heads(sym):
    x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=16, name="conv1")
    x = sym.Activation(x, act_type="relu", name="relu1")
    first = sym.FullyConnected(sym.Flatten(x), num_hidden=10, name="fc1")
    second = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max", name="pool1")
    return sym.Group([first, second, sym.elemwise_add(second, second, name="twice")]), {"data": (2, 3, 12, 12)}


def poolings(sym):
    x = sym.Convolution(sym.var("data"), kernel=(3, 3), num_filter=16, name="conv1")
    x = sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full", name="max")
    y = sym.Pooling(x, kernel=(3, 3), pad=(1, 1), pool_type="avg", count_include_pad=False, name="average")
    x = sym.Concat(x, y, dim=1, name="concat")
    x = sym.Pooling(x, global_pool=True, kernel=(1, 1), pool_type="avg", name="global")
    return sym.FullyConnected(x, num_hidden=10, name="fc"), {"data": (2, 3, 20, 20)}


def normalized_input(sym):
    x = sym.BatchNorm(sym.var("data"), fix_gamma=True, name="bn0")
    x = sym.Convolution(x, kernel=(3, 3), num_filter=16, name="conv1")
    x = sym.Activation(sym.BatchNorm(x, name="bn1"), act_type="relu", name="relu1")
    x = sym.BatchNorm(sym.elemwise_add(x, x, name="add"), use_global_stats=True, name="bn2")
    return sym.FullyConnected(x, num_hidden=10, name="fc"), {"data": (2, 3, 10, 10)}


def operators_in(text):
    """Names of the operators of a symbol file, those of subgraphs included."""
    graphs, found = [json.loads(text)], set()
    while graphs:
        for node in graphs.pop()["nodes"]:
            is_relu = node.get("attrs", {}).get("act_type", "relu") == "relu"
            found.add(node["op"] if node["op"] != "Activation" or is_relu else OTHER_ACTIVATION)
            graphs += node.get("subgraphs", [])
    return found


def run_ours(amp, symbol, args, aux, inputs):
    shapes = {name: array.shape for name, array in inputs.items()}
    dtypes = {name: array.dtype for name, array in inputs.items()}
    outputs = amp.Executor(symbol, args, aux, shapes, input_dtypes=dtypes)(inputs)
    return [(o.astype("float32") if o.dtype == "bfloat16" else o).asnumpy() for o in outputs]


def relative_rms(expected, actual):
    """The largest of all outputs' errors."""
    errors = [0.0]
    for e, a in zip(expected, actual):
        e, a = np.asarray(e, np.float64), np.asarray(a, np.float64)
        if e.shape != a.shape:
            return np.inf
        same = (e == a) | (np.isnan(e) & np.isnan(a))
        scale = np.sqrt(np.mean(e[np.isfinite(e)] ** 2)) if np.isfinite(e).any() else 0.0
        if e.size:
            errors.append(float(np.sqrt(np.mean(np.where(same, 0.0, e - a) ** 2)) / max(scale, 1e-30)))
    return max(errors) if np.isfinite(errors).all() else np.inf


def same_class(ours, theirs):
    """Whether MXNet's best of each row is ours, or one that lies within LIMIT of our best."""
    for o, t in zip(ours, theirs):
        if o.ndim != 2:
            continue
        chosen = np.take_along_axis(o, t.argmax(axis=1)[:, None], axis=1)[:, 0]
        if (o.max(axis=1) - chosen > LIMIT * np.sqrt(np.mean(o**2))).any():
            return False
    return True


def in_short(message):
    """The first line that says something, without the time, after the place in MXNet that says it."""
    place = ""
    for line in map(str.strip, message.splitlines()):
        if found := re.match(r'File ".*/(\S+)", line (\d+)', line):
            place = f"{found[1]}:{found[2]}: "
        elif line and not line.startswith(("Traceback", "Stack trace", "[bt]", "===")):
            text = re.sub(r"\[\d\d:\d\d:\d\d\] \S+: |Check failed: |^MXNetError: ", "", line)
            return (place + text)[:200]
    return message[:200]


class Check:
    """Counts what was asked for and what was not so."""

    def __init__(self, amp, mxnet, folder):
        self.amp, self.mxnet, self.folder = amp, mxnet, Path(folder)
        self.pairs = self.loaded = self.ran = self.required = 0
        self.failures = []

    def model(self, name, symbol, args, aux, inputs):
        dtypes = {key: array.dtype for key, array in inputs.items()}
        np.savez(self.folder / "inputs.npz", **inputs)
        plain = run_ours(self.amp, symbol, args, aux, inputs)
        found, theirs = self.in_mxnet(symbol, args, aux)
        refusal = None if found["runs"] else in_short(found["error"])
        print(f"{name}: {refusal or self.percent(relative_rms(plain, theirs))}", flush=True)
        for policy in ("mxnet", "default"):
            for offline in (False, True):
                converted = self.amp.convert_model(
                    symbol, args, aux, dtypes, "bfloat16", policy=policy, cast_params_offline=offline
                )
                row = f"{policy:<8}{'offline' if offline else '':<8}"
                print(f"  {row} {self.pair(f'{name} {row}', policy, converted, inputs, plain, refusal)}", flush=True)

    @staticmethod
    def percent(error):
        return f"{100 * error:.3f} %"

    def in_mxnet(self, symbol, args, aux):
        self.amp.save_checkpoint(self.folder / "pair", 0, symbol, args, aux)
        outputs = self.folder / "outputs.npz"
        request = {"prefix": self.folder / "pair", "inputs": self.folder / "inputs.npz", "outputs": outputs}
        found = self.mxnet.ask({key: str(value) for key, value in request.items()})
        if not found["runs"]:
            return found, None
        with np.load(outputs) as arrays:
            return found, [arrays[f"arr_{i}"] for i in range(len(arrays.files))]

    def pair(self, label, policy, converted, inputs, plain, refusal):
        """The line of the table. `refusal` is what MXNet said of the model before conversion, if it did not run."""
        found, theirs = self.in_mxnet(*converted)
        operators = operators_in((self.folder / "pair-symbol.json").read_text())
        missing = operators - self.mxnet.operators - {OTHER_ACTIVATION}
        is_required = policy == "mxnet" and operators <= PLAIN
        self.pairs += 1
        self.loaded += found["loads"]
        self.ran += found["runs"]
        if not found["runs"]:
            said = in_short(found["error"])
            if (is_required or (not found["loads"] and not missing)) and said != refusal:
                self.failures.append(label)
            return f"{'loads, does not run' if found['loads'] else 'DOES NOT LOAD'}: {said}"
        self.required += is_required
        ours = run_ours(self.amp, *converted, inputs)
        error = relative_rms(ours, theirs)
        agrees = error <= LIMIT and same_class(ours, theirs)
        if is_required and not agrees:
            self.failures.append(label)
        of_plain = f"{self.percent(relative_rms(plain, theirs))} there, {self.percent(relative_rms(plain, ours))} here"
        return f"{self.percent(error)} ({of_plain}){'' if agrees else '  DIFFERS'}{' *' * is_required}"

    def report(self):
        print(f"{self.pairs} pairs: {self.loaded} load, {self.ran} run; {self.required} of these have to agree (*)")
        for label in self.failures:
            print(f"FAILED {label}")
        return 1 if self.failures else 0


def check(options):
    import amp

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        mxnet = MXNet(options.mxnet_python, folder, options.fused)
        checks = Check(amp, mxnet, folder)
        for name, make in models(options.cases, options.only):
            if options.only not in name:
                continue
            try:
                checks.model(name, *make())
            except amp.Error as error:
                print(f"{name}: not converted or not run here: {error}")
        mxnet.close()
        return checks.report()


def main():
    if "--serve" in sys.argv:
        return serve()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mxnet_python", help="an interpreter that has MXNet 1.9.1")
    parser.add_argument("cases", type=Path, nargs="?", help="folder with case.py")
    parser.add_argument("--fused", action="store_true", help="with the fusions that MXNet makes by default")
    parser.add_argument("--only", default="", help="a part of the name")
    return check(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
