"""Compare single operators with MXNet 1.9.1: shapes, types, values and refusals.

Two processes, because MXNet needs an old NumPy. One draws random uses of operators and records what
MXNet says about them; the other runs the same symbols on both backends of this library:

    ~/mxenv/bin/python tools/compare_ops_with_mxnet.py --generate /tmp/ops --count 2000
    python3 tools/compare_ops_with_mxnet.py --check /tmp/ops

The environment of the first is that of tools/make_golden.py; the second needs the package `amp`. The
same seed draws the same cases. `--op NAME` (of either mode, may be repeated) keeps some operators only.
Now and then a case ends MXNet's process or never returns; the generator records that and goes on.

The check ends with status 1 where values differ or only we refuse. Some of that is on purpose: Dropout
with mode=always, SoftmaxOutput of rank 1 and (where MXNet's own kernels disagree) of rank 4, padding as
wide as a pooling window, negative floats cast to unsigned integers, NaN in relu and clip, and what
maximum pooling in float16 gives for a window without elements.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

FLOATS = ["float32", "float32", "float32", "float64", "float16"]
INTEGERS = ["uint8", "int8", "int32", "int64"]

# Relative to the largest magnitude among the output's elements; both sides sum in an order of their own. For float64
# MXNet keeps attributes and some intermediate values in float32. The coarsest dtype of a case counts.
TOLERANCES = {"float16": 4e-3, "float32": 1e-5, "float64": 3e-7}


@dataclasses.dataclass
class Case:
    op: str
    attrs: dict
    shapes: dict  # of the inputs that a user would give; MXNet infers the others
    dtypes: dict
    fills: dict = dataclasses.field(default_factory=dict)


# --- Drawing ----------------------------------------------------------------------------------------


def some(rng, attrs, **optional):
    """Adds each optional attribute with probability 0.6."""
    for name, value in optional.items():
        if rng.random() < 0.6:
            attrs[name] = value
    return attrs


def shape_of(rng, rank, high=6):
    return tuple(rng.randint(1, high) for _ in range(rank))


def numbers(rng, count, low, high):
    return tuple(rng.randint(low, high) for _ in range(count))


def layout_of(rng, spatial, channels, batch, last_allowed=True):
    """(layout or None, shape)"""
    n = len(spatial)
    first = ["NCW", "NCHW", "NCDHW"][n - 1]
    if last_allowed and rng.random() < 0.25:
        return ["NWC", "NHWC", "NDHWC"][n - 1], (batch, *spatial, channels)
    return rng.choice([None, first]), (batch, channels, *spatial)


def draw_activation(rng):
    name = rng.choice(["relu", "sigmoid", "log_sigmoid", "mish", "tanh", "softrelu", "softsign"])
    fill = rng.choice(["plain", "plain", "special"])
    shape = shape_of(rng, rng.randint(1, 5))
    return Case("Activation", {"act_type": name}, {"data": shape}, {"data": rng.choice(FLOATS)}, {"data": fill})


def draw_batch_norm(rng):
    rank = rng.randint(2, 5)
    shape = shape_of(rng, rank)
    attrs = some(
        rng,
        {},
        eps=rng.choice([1e-3, 1e-5, 2e-5, 0.1]),
        fix_gamma=rng.random() < 0.5,
        use_global_stats=rng.random() < 0.5,
        output_mean_var=rng.random() < 0.5,
    )
    if rng.random() < 0.4:
        attrs["axis"] = rng.randint(-rank, rank - 1)
    return Case("BatchNorm", attrs, {"data": shape}, {"data": rng.choice(FLOATS)})


def draw_cast(rng):
    source, target = rng.choice(FLOATS + INTEGERS), rng.choice(FLOATS + INTEGERS)
    shape = shape_of(rng, rng.randint(1, 4))
    # what a float beyond an integer's range becomes is undefined in C++
    fill = "plain" if target in INTEGERS or source in INTEGERS else "special"
    return Case("Cast", {"dtype": target}, {"data": shape}, {"data": source}, {"data": fill})


def draw_clip(rng):
    low, high = sorted((rng.uniform(-5, 5), rng.uniform(-5, 5)))
    low, high = rng.choice([(low, high), (0, 6), (-1, 1), (0.1, 0.3), (-1e10, 3), (-300, 300)])
    dtype = rng.choice(FLOATS + INTEGERS)
    if dtype in FLOATS and rng.random() < 0.1:
        low, high = high, low
    fill = "special" if dtype in FLOATS and rng.random() < 0.3 else "plain"
    shape = shape_of(rng, rng.randint(1, 4))
    return Case("clip", {"a_min": low, "a_max": high}, {"data": shape}, {"data": dtype}, {"data": fill})


def draw_concat(rng):
    rank, count = rng.randint(1, 5), rng.randint(1, 4)
    axis = rng.randint(-rank, rank - 1)
    dtype = rng.choice(FLOATS + INTEGERS)
    base = list(shape_of(rng, rank))
    shapes = {}
    for i in range(count):
        base[axis] = rng.randint(1, 9)
        shapes[f"arg{i}"] = tuple(base)
    attrs = {} if rank > 1 and axis % rank == 1 and rng.random() < 0.5 else {"dim": axis}
    return Case("Concat", {"num_args": count, **attrs}, shapes, dict.fromkeys(shapes, dtype))


def draw_convolution(rng):
    n = rng.choice([1, 2, 2, 2, 3])
    kernel = numbers(rng, n, 1, 4)
    attrs = some(
        rng,
        {"kernel": kernel},
        stride=numbers(rng, n, 1, 3),
        dilate=numbers(rng, n, 1, 2),
        pad=numbers(rng, n, 0, 2),
        no_bias=rng.random() < 0.5,
    )
    groups = rng.choice([1, 1, 2, 3])
    channels, filters = groups * rng.randint(1, 4), groups * rng.randint(1, 4)
    attrs.update(num_filter=filters, **({"num_group": groups} if groups > 1 else {}))
    spatial = []
    for i in range(n):
        extent = (kernel[i] - 1) * attrs.get("dilate", (1,) * n)[i] + 1
        room = extent - 2 * attrs.get("pad", (0,) * n)[i]
        spatial.append(max(1, room + rng.randint(-1 if rng.random() < 0.1 else 0, 6)))
    layout, shape = layout_of(rng, spatial, channels, rng.randint(1, 3), last_allowed=rng.random() < 0.2)
    if layout:
        attrs["layout"] = layout
    return Case("Convolution", attrs, {"data": shape}, {"data": rng.choice(FLOATS)})


def draw_dropout(rng):
    attrs = some(rng, {}, p=rng.random(), mode=rng.choice(["training", "training", "always"]), axes=(0,))
    return Case("Dropout", attrs, {"data": shape_of(rng, rng.randint(1, 4))}, {"data": rng.choice(FLOATS)})


def draw_elemwise_add(rng):
    shape, dtype = shape_of(rng, rng.randint(1, 5)), rng.choice(FLOATS + INTEGERS)
    fill = "special" if dtype in FLOATS and rng.random() < 0.3 else "plain"
    inputs = ["lhs", "rhs"]
    return Case("elemwise_add", {}, dict.fromkeys(inputs, shape), dict.fromkeys(inputs, dtype), {"lhs": fill})


def draw_flatten(rng):
    shape = shape_of(rng, rng.randint(1, 5))
    return Case("Flatten", {}, {"data": shape}, {"data": rng.choice(FLOATS + INTEGERS)})


def draw_fully_connected(rng):
    attrs = some(rng, {"num_hidden": rng.randint(1, 9)}, flatten=rng.random() < 0.5, no_bias=rng.random() < 0.5)
    shape = shape_of(rng, rng.randint(1, 4), 9)
    return Case("FullyConnected", attrs, {"data": shape}, {"data": rng.choice(FLOATS)})


def draw_leaky_relu(rng):
    name = rng.choice(["leaky", "prelu", "elu", "selu", "gelu", "rrelu"])
    attrs = some(rng, {"act_type": name} if name != "leaky" or rng.random() < 0.5 else {}, slope=rng.uniform(-1, 1))
    if name == "rrelu":
        some(rng, attrs, lower_bound=0.1, upper_bound=0.3)
    shape = shape_of(rng, rng.randint(1, 5))
    shapes, dtypes = {"data": shape}, {"data": rng.choice(FLOATS)}
    if name == "prelu" and rng.random() < 0.6:
        channels = shape[min(1, len(shape) - 1)]
        shapes["gamma"] = rng.choice([(1,), (channels,), (channels,), (1,) * len(shape), (channels + 1,)])
        dtypes["gamma"] = dtypes["data"]
    return Case("LeakyReLU", attrs, shapes, dtypes)


def draw_pooling(rng):
    n = rng.choice([1, 2, 2, 2, 3])
    kernel = numbers(rng, n, 1, 4)
    attrs = some(
        rng,
        {},
        pool_type=rng.choice(["max", "avg", "avg", "sum", "lp"]),
        pooling_convention=rng.choice(["valid", "full", "full", "same"]),
        count_include_pad=rng.choice([True, False, None]),
        stride=numbers(rng, n, 1, 4),
        pad=tuple(rng.randint(0, k if rng.random() < 0.1 else k - 1) for k in kernel),
    )
    if attrs.get("pool_type") == "lp" or rng.random() < 0.1:
        attrs["p_value"] = rng.randint(1, 3)
    if rng.random() < 0.2:
        attrs["global_pool"] = True
    if "global_pool" not in attrs or rng.random() < 0.5:
        attrs["kernel"] = kernel
    else:
        for name in ("stride", "pad"):
            attrs.pop(name, None)
    pad = attrs.get("pad", (0,) * n)
    spatial = [max(1, k - 2 * p + rng.randint(-1 if rng.random() < 0.1 else 0, 7)) for k, p in zip(kernel, pad)]
    layout, shape = layout_of(rng, spatial, rng.randint(1, 4), rng.randint(1, 2))
    if layout:
        attrs["layout"] = layout
    return Case("Pooling", attrs, {"data": shape}, {"data": rng.choice(FLOATS)})


def draw_scalar(rng):
    op = rng.choice(["_plus_scalar", "_minus_scalar", "_mul_scalar", "_div_scalar"])
    dtype = rng.choice(FLOATS + INTEGERS)
    if dtype in FLOATS:
        scalar = rng.choice([rng.uniform(-4, 4), 0.5, 3.0, -2.0])
    else:
        scalar = rng.choice([rng.randint(-9, 9) or 1, 0.5, 2.7, -1.5, 100])
    fill = "special" if dtype in FLOATS and rng.random() < 0.3 else "plain"
    attrs = {} if rng.random() < 0.05 else {"scalar": scalar}
    return Case(op, attrs, {"data": shape_of(rng, rng.randint(1, 4))}, {"data": dtype}, {"data": fill})


def draw_softmax(rng):
    rank = rng.randint(1, 4)
    shape = shape_of(rng, rank)
    axis = rng.randint(-rank, rank - 1)
    attrs = some(rng, {"axis": axis}, temperature=rng.choice([None, 1.0, 0.5, 3.0, -2.0]))
    if axis == -1 and rng.random() < 0.5:
        del attrs["axis"]
    if rng.random() < 0.3:
        attrs["dtype"] = rng.choice(["float16", "float32", "float64", None])
    shapes, dtypes, fills = {"data": shape}, {"data": rng.choice(FLOATS)}, {}
    if rank > 1 and rng.random() < 0.3:
        attrs["use_length"] = True
        shapes["length"] = tuple(np.delete(shape, axis).tolist())
        dtypes["length"] = rng.choice(["int32", "int64"])
        fills["length"] = f"length {shape[axis]}"
    return Case("softmax", attrs, shapes, dtypes, fills)


def draw_softmax_output(rng):
    attrs = some(
        rng,
        {},
        multi_output=rng.random() < 0.5,
        preserve_shape=rng.random() < 0.5,
        grad_scale=2.0,
        use_ignore=rng.random() < 0.5,
        normalization=rng.choice(["null", "batch", "valid"]),
        smooth_alpha=0.1,
    )
    shape = shape_of(rng, rng.randint(1, 4))
    return Case("SoftmaxOutput", attrs, {"data": shape}, {"data": rng.choice(FLOATS)}, {"label": "zero"})


def draw_amp_cast(rng):
    attrs = {"dtype": rng.choice(["float16", "float32"])}
    dtype = rng.choice(["float16", "float32"])
    return Case("amp_cast", attrs, {"data": shape_of(rng, 3)}, {"data": dtype}, {"data": "special"})


def draw_amp_multicast(rng):
    count = rng.randint(1, 4)
    attrs = some(rng, {"num_outputs": count}, cast_narrow=rng.random() < 0.5)
    names = [f"data_{i}" for i in range(count)]
    dtypes = {name: rng.choice(["float16", "float32"]) for name in names}
    return Case("amp_multicast", attrs, {name: shape_of(rng, 2) for name in names}, dtypes)


DRAWS = {
    "Activation": draw_activation,
    "BatchNorm": draw_batch_norm,
    "Cast": draw_cast,
    "Concat": draw_concat,
    "Convolution": draw_convolution,
    "Dropout": draw_dropout,
    "Flatten": draw_flatten,
    "FullyConnected": draw_fully_connected,
    "LeakyReLU": draw_leaky_relu,
    "Pooling": draw_pooling,
    "SoftmaxOutput": draw_softmax_output,
    "amp_cast": draw_amp_cast,
    "amp_multicast": draw_amp_multicast,
    "clip": draw_clip,
    "elemwise_add": draw_elemwise_add,
    "scalar": draw_scalar,
    "softmax": draw_softmax,
}


def draw(seed, index, ops):
    return DRAWS[ops[index % len(ops)]](random.Random(seed * 1_000_003 + index))


def fill(rng, kind, shape, dtype):
    """An array of the given kind; everything but `plain` is for special inputs."""
    if kind == "zero":
        return np.zeros(shape, dtype)
    if kind == "positive":
        return rng.uniform(0.1, 3, shape).astype(dtype)
    if kind.startswith("length"):
        return rng.integers(1, int(kind.split()[1]) + 1, shape).astype(dtype)
    if np.dtype(dtype).kind == "u":
        return rng.integers(0, 20, shape).astype(dtype)
    if np.dtype(dtype).kind == "i":
        return rng.integers(-10, 11, shape).astype(dtype)
    array = rng.normal(0, 2, shape)
    if kind == "special":
        specials = rng.choice([np.nan, np.inf, -np.inf, -0.0, 60000.0, 1e-8], shape)
        array = np.where(rng.random(shape) < 0.2, specials, array)
    return array.astype(dtype)


def compose(module, case):
    """The case's node over variables of the inputs that it names, by `module` (mxnet.sym or amp.sym)."""
    variables = {name: module.var(name) for name in case.shapes}
    function = getattr(module._internal if case.op.startswith("_") else module, case.op)
    if case.op in ("Concat", "amp_multicast"):
        attrs = {name: value for name, value in case.attrs.items() if name != "num_args"}
        return function(*variables.values(), name="node", **attrs)
    return function(name="node", **variables, **case.attrs)


# --- Generating: runs in MXNet's environment --------------------------------------------------------


def import_mxnet():
    os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
    for alias, builtin in (("bool", bool), ("int", int), ("float", float), ("object", object)):
        setattr(np, alias, builtin)
    warnings.filterwarnings("ignore")
    import mxnet

    return mxnet


def names_of(types):
    return [np.dtype(dtype).name for dtype in types]


def ask_mxnet(mx, case, seed):
    """(what MXNet says, its arrays); the first holds "error" where it refuses."""
    said, arrays = {}, {}
    try:
        symbol = compose(mx.sym, case)
        said["symbol"] = symbol.tojson()
        shapes = symbol.infer_shape(**case.shapes)
        types = symbol.infer_type(**case.dtypes)
        if shapes[0] is None or types[0] is None:
            raise ValueError("cannot infer")
        said["shapes"] = [[list(shape) for shape in part] for part in shapes]
        said["types"] = [names_of(part) for part in types]
        rng = np.random.default_rng(seed)
        bound = []
        for part, names in ((0, symbol.list_arguments()), (2, symbol.list_auxiliary_states())):
            bound.append({})
            for name, shape, dtype in zip(names, shapes[part], types[part]):
                kind = "positive" if name.endswith("moving_var") else "zero" if name.endswith("label") else "plain"
                arrays[name] = fill(rng, case.fills.get(name, kind), shape, dtype)
                bound[-1][name] = mx.nd.array(arrays[name], dtype=dtype)
        executor = symbol.bind(mx.cpu(), bound[0], aux_states=bound[1], grad_req="null")
        for i, output in enumerate(executor.forward(is_train=False)):
            arrays[f"output:{i}"] = output.asnumpy()
    except Exception as error:  # MXNet raises errors of many kinds; each of them is an answer
        said["error"] = first_line(error)
    return said, arrays


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip() and "Stack trace" not in line]
    informative = [line for line in lines if not line.startswith(("Traceback", "File", "[bt]", "Error in operator"))]
    return (informative or lines or [repr(error)])[0][:300]


def write_case(folder, index, case, said, arrays):
    np.savez(folder / f"{index:06}.npz", **arrays)
    text = json.dumps({"case": dataclasses.asdict(case), **said}, indent=1)
    (folder / f"{index:06}.json").write_text(text + "\n", encoding="utf-8")


def generate_from(folder, seed, ops, first, count):
    mx = import_mxnet()
    for index in range(first, count):
        case = draw(seed, index, ops)
        (folder / "current").write_text(str(index))
        signal.alarm(30)  # ends the process
        write_case(folder, index, case, *ask_mxnet(mx, case, seed + index))


def generate(folder, seed, ops, count):
    """Runs `generate_from` in a child, and again after the case that ended it."""
    folder.mkdir(parents=True, exist_ok=True)
    first = 0
    while first < count:
        command = [sys.executable, __file__, "--generate", str(folder), "--first", str(first)]
        command += ["--seed", str(seed), "--count", str(count), *(f"--op={op}" for op in ops)]
        status = subprocess.run(command, check=False).returncode
        if status == 0:
            return
        index = int((folder / "current").read_text())
        write_case(folder, index, draw(seed, index, ops), {"error": f"MXNet's process ended with status {status}"}, {})
        first = index + 1


# --- Checking: runs in ours -------------------------------------------------------------------------


def load_case(path):
    recorded = json.loads(path.read_text(encoding="utf-8"))
    fields = recorded.pop("case")
    fields["shapes"] = {name: tuple(shape) for name, shape in fields["shapes"].items()}
    for name, value in fields["attrs"].items():
        if isinstance(value, list):
            fields["attrs"][name] = tuple(value)
    return Case(**fields), recorded, dict(np.load(path.with_suffix(".npz")))


def difference(expected, got, tolerance):
    """(error relative to the largest magnitude, what is wrong or "")."""
    got = np.asarray(got)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return np.inf, f"{got.dtype}{got.shape} instead of {expected.dtype}{expected.shape}"
    if expected.dtype.kind != "f":
        wrong = np.flatnonzero(expected != got)
        text = f"{got.flat[wrong[0]]} instead of {expected.flat[wrong[0]]}" if wrong.size else ""
        return float(wrong.size > 0), text
    a, b = expected.astype("float64").ravel(), got.astype("float64").ravel()
    special = ~np.isfinite(a) | ~np.isfinite(b)
    wrong = np.flatnonzero(special & ~((a == b) | (np.isnan(a) & np.isnan(b))))
    if wrong.size:
        return np.inf, f"{b[wrong[0]]} instead of {a[wrong[0]]}"
    # huge numbers stand for the maximum of an empty window; they must not hide the rest
    ordinary = ~special & (np.abs(a) < 1e30)
    if not np.array_equal(a[~ordinary & ~special], b[~ordinary & ~special]):
        return np.inf, "other huge numbers"
    a, b = a[ordinary], b[ordinary]
    if a.size == 0:
        return 0.0, ""
    error = np.abs(a - b) / max(np.abs(a).max(), 1e-3)
    worst = int(error.argmax())
    text = f"{b[worst]:.9g} instead of {a[worst]:.9g}" if error[worst] > tolerance else ""
    return float(error[worst]), text


def ask_amp(amp, case, recorded, arrays, backend):
    """Our outputs; "shapes" or "types" are compared on the way, as ValueError."""
    symbol = amp.sym.load_json(recorded["symbol"]) if "symbol" in recorded else compose(amp.sym, case)
    shapes = [[list(shape) for shape in part] for part in symbol.infer_shape(**case.shapes)]
    types = [names_of(part) for part in symbol.infer_type(**case.dtypes)]
    if "error" not in recorded and [shapes, types] != [recorded["shapes"], recorded["types"]]:
        found, wanted = [shapes, recorded["shapes"]] if shapes != recorded["shapes"] else [types, recorded["types"]]
        raise Mismatch(f"infers {found} instead of {wanted}")
    inputs = {name: tuple(shape) for name, shape in zip(symbol.list_arguments(), shapes[0]) if name in case.shapes}
    weights = {n: arrays.get(n) for n in symbol.list_arguments() if n not in case.shapes}
    states = {n: arrays.get(n) for n in symbol.list_auxiliary_states()}
    if "error" in recorded:  # MXNet made no data
        for target, names, part in ((weights, symbol.list_arguments(), 0), (states, symbol.list_auxiliary_states(), 2)):
            for name, shape, dtype in zip(names, shapes[part], types[part]):
                if name in target:
                    target[name] = np.ones(shape, dtype)
        arrays = {name: np.ones(inputs[name], case.dtypes[name]) for name in inputs}
    executor = amp.Executor(symbol, weights, states, inputs, input_dtypes=case.dtypes, backend=backend)
    return [np.asarray(output) for output in executor({name: arrays[name] for name in executor.input_names})]


class Mismatch(Exception):
    pass


def judge(amp, case, recorded, arrays, backend):
    """(verdict, error, explanation)"""
    try:
        outputs = ask_amp(amp, case, recorded, arrays, backend)
    except Mismatch as mismatch:
        return "differ", np.inf, str(mismatch)
    except amp.Error as error:
        if "error" in recorded:
            return "both refuse", 0.0, ""
        return "we refuse", 0.0, str(error)
    if "error" in recorded:
        return "MXNet refuses", 0.0, recorded["error"]
    expected = [arrays[f"output:{i}"] for i in range(len(outputs))]
    tolerance = max(TOLERANCES.get(array.dtype.name, 0) for array in arrays.values())
    pairs = list(zip(expected, outputs))
    if case.attrs.get("act_type") == "rrelu":
        del pairs[1:]  # MXNet leaves the mask uninitialised at inference
    worst, explanation = max((difference(a, b, tolerance) for a, b in pairs), key=lambda pair: pair[0])
    return ("differ" if explanation else "agree"), worst, explanation


VERDICTS = ["agree", "differ", "both refuse", "MXNet refuses", "we refuse"]


def check(folder, ops, examples):
    import amp

    warnings.filterwarnings("ignore")
    counts, worst = collections.defaultdict(collections.Counter), collections.defaultdict(float)
    shown = collections.Counter()
    for path in sorted(folder.glob("*.json")):
        case, recorded, arrays = load_case(path)
        family = "scalar" if case.op.endswith("_scalar") else case.op
        if ops and family not in ops:
            continue
        for backend in ("reference", "onednn"):
            verdict, error, explanation = judge(amp, case, recorded, arrays, backend)
            key = case.op, backend
            counts[key][verdict] += 1
            if verdict == "agree":
                worst[key] = max(worst[key], error)
            elif verdict != "both refuse":
                shown[case.op, backend, verdict] += 1
                if shown[case.op, backend, verdict] <= examples:
                    inputs = " ".join(f"{n}:{case.dtypes.get(n)}{s}" for n, s in case.shapes.items())
                    print(f"{path.stem} {case.op} {case.attrs} {inputs}\n    {backend}: {verdict}: {explanation}")
    print(f"\n{'operator':16}{'backend':11}" + "".join(f"{verdict:>15}" for verdict in VERDICTS) + f"{'worst':>10}")
    for key in sorted(counts):
        row = "".join(f"{counts[key][verdict]:15}" for verdict in VERDICTS)
        print(f"{key[0]:16}{key[1]:11}{row}{worst[key]:10.1e}")
    return sum(counts[key]["differ"] + counts[key]["we refuse"] for key in counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("--generate", type=Path, metavar="DIR")
    mode.add_argument("--check", type=Path, metavar="DIR")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000, help="cases of all operators together")
    parser.add_argument("--op", action="append", choices=sorted(DRAWS), help="keep this operator")
    parser.add_argument("--examples", type=int, default=3, help="differences shown of each kind")
    parser.add_argument("--first", type=int, help=argparse.SUPPRESS)  # of the generator's child
    args = parser.parse_args()
    if args.check:
        return 1 if check(args.check, args.op, args.examples) else 0
    ops = args.op or sorted(DRAWS)
    if args.first is not None:
        generate_from(args.generate, args.seed, ops, args.first, args.count)
    else:
        generate(args.generate, args.seed, ops, args.count)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        traceback.print_exc(limit=1)
        sys.exit(130)
