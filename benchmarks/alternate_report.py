"""What small numbers become: the checks of the alternate implementation, with the numbers that they see.

    python -m benchmarks.alternate_report [--seconds S] [--plot FILE] [--no-times]

One run is of one instruction set: that of the CPU, or what ONEDNN_MAX_CPU_ISA says. `make alternate-report` runs it
for the CPU, for AVX512_CORE (no bfloat16 instructions) and for AVX2. Times want a machine that does nothing else.
docs/denormals.md explains what is seen.
"""

import argparse
import ctypes
import ctypes.util
import json
import os
import platform
import time

os.environ.setdefault("AMP_MACHINE", "any")  # dtypes run as they are written

import ml_dtypes
import numpy as np

import amp
import amp.mxnet as mx

BF16 = np.dtype("bfloat16")
SHIFTS = (0, 112, 116, 118, 120, 122, 124)


def _low(shape, value):
    return np.full(shape, value, BF16)


def _variable(name):
    return amp.sym.Variable(name, dtype="bfloat16")


# ---- single products ----


def _layer(op):
    data, weight = _variable("data"), _variable("w")
    if op == "FullyConnected":
        return amp.sym.FullyConnected(data, weight, num_hidden=3, no_bias=True, name="p"), (2, 1), (3, 1)
    conv = amp.sym.Convolution(data, weight, kernel=(1, 1), num_filter=3, no_bias=True, name="p")
    return conv, (2, 1, 1, 1), (3, 1, 1, 1)


def _ran(counts):
    return max(("native", "f32", "scaled"), key=counts.get)


def _results(op, x, w, head, **settings):
    symbol, data_shape, weight_shape = _layer(op)
    with amp.alternate(**settings):
        bound = symbol.simple_bind(
            data=data_shape, w=weight_shape, type_dict={"data": "bfloat16", "w": "bfloat16"}, grad_req="write"
        )
    arrays = {"data": _low(data_shape, x), "w": _low(weight_shape, w)}
    output = bound.forward(is_train=True, **{name: mx.nd.array(a, dtype=BF16) for name, a in arrays.items()})[0]
    bound.backward([mx.nd.array(_low(output.shape, head), dtype=BF16)])
    ran = {entry["phase"]: _ran(entry) for entry in bound.alternate_counts().values()}
    values = (output, bound.grad_dict["data"], bound.grad_dict["w"])
    return [float(np.asarray(a.asnumpy(), "float64").flat[0]) for a in values], ran


def single_products():
    """Check 1: products that are denormal, or have a denormal factor."""
    print("## Single products (exact value rounded to bfloat16 / found; implementation)\n")
    print("| operator | product | original, forward | f32 | scaled | auto |\n|---|---|---|---|---|---|")
    wrong = 0
    for op in ("FullyConnected", "Convolution"):
        for x, w in ((2.0**-127, 1.0), (2.0**-127, 2.0**20), (2.0**-60, 2.0**-70)):
            exact = float(np.float64(x * w).astype(ml_dtypes.bfloat16))
            cells = []
            for settings in (
                {"forward": False},
                *({"forward": True, "mode": mode} for mode in ("f32", "scaled", "auto")),
            ):
                (found, _, _), ran = _results(op, x, w, 1.0, backward=True, **settings)
                cells.append(f"{found:.4g}, {ran['forward']}")
                lost = found == 0 and ran["forward"] == "native"
                wrong += found != exact and not (lost and not settings["forward"])
            print(f"| {op} | {np.log2(x):.0f}, {np.log2(w):.0f}: {exact:.4g} | {' | '.join(cells)} |")
            for mode in ("f32", "scaled", "auto"):
                (_, of_data, of_weight), ran = _results(op, w, w, x, forward=False, backward=True, mode=mode)
                expected = [float(np.float64(n * x * w).astype(ml_dtypes.bfloat16)) for n in (3, 2)]
                wrong += [of_data, of_weight] != expected or ran["backward"] == "native"
    print(f"\nwrong, of all outputs and gradients under the alternate: {wrong}\n")


def patterns():
    """Check 2: all bfloat16 patterns through a cast and through relu's gradient."""
    numbers = np.arange(65536, dtype=np.uint16).view(BF16)
    cast = amp.Executor(amp.sym.amp_cast(amp.sym.Variable("x"), dtype="bfloat16"), {}, {}, {"x": numbers.shape})
    bound = amp.sym.relu(_variable("x")).simple_bind(x=numbers.shape, type_dict={"x": "bfloat16"}, grad_req="write")
    bound.forward(is_train=True, x=mx.nd.array(_low(numbers.shape, 1.0), dtype=BF16))
    bound.backward([mx.nd.array(numbers, dtype=BF16)])
    print("## All 65536 patterns\n")
    results = {"amp_cast": cast(numbers.astype("float32"))[0], "gradient of relu": bound.grad_dict["x"]}
    is_number = ~np.isnan(numbers.astype("float32"))
    for name, found in results.items():
        changed = np.asarray(found.asnumpy()).view(np.uint16)[is_number] != numbers.view(np.uint16)[is_number]
        print(f"{name}: {np.sum(changed)} numbers change")
    print()


def _product(a, b, **settings):
    with amp.alternate(**settings):
        shapes = {"a": a.shape, "b": b.shape}
        return amp.Executor(
            amp.sym.dot(_variable("a"), _variable("b"), name="p"),
            {},
            {},
            shapes,
            input_dtypes="bfloat16",
            machine="any",
        )


def mismatches():
    """Check 3: products of small numbers against the exact product, rounded once."""
    print("## 256 x 256 x 256, A ~ 2^e N(0,1), B ~ 0.06 N(0,1): elements that differ from the exact product\n")
    print("| e | original | f32 | scaled | auto |\n|---|---|---|---|---|")
    for exponent in (-3, -100, -120, -126, -128, -130):
        draw = np.random.default_rng(3)
        a = (2.0**exponent * draw.standard_normal((256, 256))).astype(BF16)
        b = (0.06 * draw.standard_normal((256, 256))).astype(BF16)
        exact = (a.astype("float64") @ b.astype("float64")).astype(ml_dtypes.bfloat16)
        cells = []
        for settings in ({"forward": False}, *({"forward": True, "mode": mode} for mode in ("f32", "scaled", "auto"))):
            run = _product(a, b, **settings)
            share = np.mean(np.asarray(run(a, b)[0].asnumpy()) != exact)
            counts = run.alternate_counts()["p"]
            cells.append(f"{100 * share:.2f} % ({_ran(counts)})")
        print(f"| {exponent} | {' | '.join(cells)} |")
    print()


# ---- marks, fused nodes, scopes ----


def _phases(graph):
    """{operator: whether it bears the mark}, of a graph as JSON."""
    operators = [node for node in graph["nodes"] if node["op"] != "null"]
    return {node["name"]: node.get("attrs", {}).get("__backward__") == "1" for node in operators}


def _fused_layers():
    """Fused nodes of a network in every way to cut it in two: (all, backward ones, those of both phases)."""
    x = amp.sym.Variable("data")
    for i in range(3):
        x = amp.sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=8, name=f"conv{i}")
        x = amp.sym.Activation(amp.sym.BatchNorm(x, name=f"bn{i}"), act_type="relu", name=f"relu{i}")
    x = amp.sym.Activation(amp.sym.FullyConnected(x, num_hidden=4, name="fc"), act_type="tanh", name="act")
    converted = amp.convert_symbol(x, "float32", {}, target_dtype="bfloat16", policy="mxnet", machine="any")
    found = backward = mixed = 0
    for boundary in _phases(json.loads(converted.tojson())):
        marked = amp.mark_backward(converted, [boundary])
        marks = _phases(json.loads(marked.tojson()))
        for node in json.loads(marked.optimize_for("ONEDNN").tojson())["nodes"]:
            for body in node.get("subgraphs", ()):
                members = {marks[name] for name in _phases(body)}
                phase = node.get("attrs", {}).get("__backward__") == "1"
                found += 1
                backward += phase
                mixed += members != {phase}
    return found, backward, mixed


def marks():
    """Check 5: what is marked, what is fused, which settings hold."""
    print("## Marks\n")
    y = amp.sym.exp(amp.sym.Variable("x"), name="y")
    dx = amp.sym.negative(amp.sym.elemwise_mul(y, amp.sym.Variable("head"), name="dy"), name="dx")
    graph = amp.mark_backward(amp.sym.Group([y, dx, amp.sym.sqrt(y, name="metric")]), ["head"])
    found = [name for name, is_marked in _phases(json.loads(graph.tojson())).items() if is_marked]
    print(f"y, dy, dx and an auxiliary head behind them, boundary 'head': {', '.join(found)} are marked")
    print("of {} fused nodes {} are backward ones, {} of two phases".format(*_fused_layers()))
    print(f"three scopes in each other: {', '.join(_nested_scopes())}")
    print(f"a forward node that is computed again in the backward pass: {_recomputed()}\n")


def _nested_scopes():
    """Implementations of a product in front of three scopes, in each of them, and behind each of them."""

    def ran():
        _, implementation = _results("FullyConnected", 2.0**-127, 1.0, 1.0)
        return implementation["forward"]

    said = [ran()]
    with amp.alternate(forward=True, mode="f32"):
        said.append(ran())
        with amp.alternate(forward=False):
            said.append(ran())
            with amp.alternate(forward=True):
                said.append(ran())
            said.append(ran())
        said.append(ran())
    return [*said, ran()]


def _recomputed():
    with amp.AttrScope(__force_mirroring__="True"):
        first = amp.sym.tanh(_layer("FullyConnected")[0])
    symbol = amp.sym.FullyConnected(first, _variable("w2"), num_hidden=2, no_bias=True, name="q")
    with amp.alternate(forward=False, backward=True, mode="f32"):
        types = dict.fromkeys(("data", "w", "w2"), "bfloat16")
        bound = symbol.simple_bind(data=(2, 1), type_dict=types, grad_req="write")
    bound.forward(is_train=True)
    bound.backward([mx.nd.array(_low((2, 2), 1.0), dtype=BF16)])
    counts = bound.alternate_counts()
    return next(f"{name}, {_ran(counts[name])}" for name in counts if name.endswith("_again"))


# ---- the floating-point environment ----


class _Environment(ctypes.Structure):
    """fenv_t of x86-64."""

    _fields_ = [("x87", ctypes.c_uint8 * 28), ("mxcsr", ctypes.c_uint32)]


def environment():
    """Check 6: the caller flushes denormals to zero."""
    print("## The caller flushes denormals to zero (MXCSR: FTZ and DAZ)\n")
    if platform.machine() != "x86_64":
        print("not on this CPU\n")
        return
    libm = ctypes.CDLL(ctypes.util.find_library("m"))
    before, flushing, after = _Environment(), _Environment(), _Environment()
    draw = np.random.default_rng(3)
    a = (2.0**-126 * draw.standard_normal((256, 256))).astype(BF16)
    b = (0.06 * draw.standard_normal((256, 256))).astype(BF16)
    exact = (a.astype("float64") @ b.astype("float64")).astype(ml_dtypes.bfloat16)
    run = _product(a, b, forward=True, mode="f32")
    # large enough for all threads; its products are denormal: they show how a thread computes
    tiny = np.full(1 << 20, 2.0**-126, "float32")
    halved = amp.Executor(amp.sym.Variable("x") * 0.5, {}, {}, {"x": tiny.shape}, machine="any")
    libm.fegetenv(ctypes.byref(before))
    libm.fegetenv(ctypes.byref(flushing))
    flushing.mxcsr |= 0x8040
    libm.fesetenv(ctypes.byref(flushing))
    found, kept = run(a, b)[0], halved(tiny)[0]
    libm.fegetenv(ctypes.byref(after))
    libm.fesetenv(ctypes.byref(before))
    share = np.mean(np.asarray(found.asnumpy()) != exact)
    print(f"mode f32, elements that differ from the exact product: {100 * share:.2f} %")
    print(f"MXCSR of the caller: {flushing.mxcsr:#06x} before, {after.mxcsr:#06x} after the run")
    print(f"a product without the alternate, in {amp.cpu_info()['threads']} threads: ", end="")
    print(f"{np.count_nonzero(kept.asnumpy())} of {tiny.size} denormal results while the caller flushes, ", end="")
    print(f"{np.count_nonzero(halved(tiny)[0].asnumpy())} when it does no more\n")


# ---- training ----


class Experiment:
    """256 samples, 32-64-10, cross-entropy, SGD 0.5, 200 steps; gradients are 2^-shift times smaller inside."""

    def __init__(self):
        draw = np.random.default_rng(0)
        self.x = draw.standard_normal((256, 32)).astype("float32")
        self.labels = np.argmax(self.x @ draw.standard_normal((32, 10)), axis=1)
        draw = np.random.default_rng(1)
        self.weights = {
            "fc1_weight": (draw.standard_normal((64, 32)) / np.sqrt(32)).astype("float32"),
            "fc2_weight": (draw.standard_normal((10, 64)) / np.sqrt(64)).astype("float32"),
        }
        symbol = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=64, no_bias=True, name="fc1")
        symbol = amp.sym.FullyConnected(amp.sym.relu(symbol), num_hidden=10, no_bias=True, name="fc2")
        self.symbol = amp.convert_symbol(
            symbol, "float32", {}, target_dtype="bfloat16", policy="mxnet", output_dtypes="bfloat16"
        )

    def judged(self, logits):
        """(probabilities, loss, accuracy)"""
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        right = np.mean(np.argmax(logits, axis=1) == self.labels)
        return p, -np.mean(np.log(p[np.arange(256), self.labels])), right

    def train(self, shift, alternate, steps=200):
        """Losses before each step and after the last, and the last accuracy."""
        with amp.alternate(backward=alternate, mode="f32"):
            bound = self.symbol.simple_bind(data=self.x.shape, grad_req="write")
        bound.copy_params_from({name: mx.nd.array(value) for name, value in self.weights.items()}, {})
        data, losses = mx.nd.array(self.x), []
        for step in range(steps + 1):
            logits = bound.forward(is_train=True, data=data)[0].asnumpy().astype("float64")
            p, loss, accuracy = self.judged(logits)
            losses.append(loss)
            if step == steps:
                return losses, accuracy
            head = ((p - np.eye(10)[self.labels]) / 256 * 2.0**-shift).astype(BF16)
            bound.backward([mx.nd.array(head, dtype=BF16)])
            for name in self.weights:
                gradient = bound.grad_dict[name].asnumpy().astype("float32") * np.float32(2.0 ** min(shift, 60))
                gradient = gradient * np.float32(2.0 ** max(shift - 60, 0))
                bound.arg_dict[name][:] -= mx.nd.array(0.5 * gradient)

    def train_by_gluon(self, shift, alternate, steps=200):
        """The same with `autograd` and `Trainer`: (last loss, accuracy)."""
        with amp.alternate(backward=alternate, mode="f32"):
            weights = [mx.gluon.Parameter(name, shape=value.shape) for name, value in self.weights.items()]
            for weight, value in zip(weights, self.weights.values()):
                weight.initialize()
                weight.set_data(mx.nd.array(value))
            # the update undoes the scale: the rate may be beyond float32 in one number, not in two
            trainer = mx.gluon.Trainer(weights, "sgd", {"learning_rate": 0.5 * 2.0 ** min(shift, 60)})
            x = mx.nd.array(self.x)
            for step in range(steps + 1):
                with mx.autograd.record():
                    first = mx.nd.dot(x.astype("bfloat16"), weights[0].data().astype("bfloat16"), transpose_b=True)
                    second = weights[1].data().astype("bfloat16")
                    output = mx.nd.dot(mx.nd.relu(first), second, transpose_b=True)
                p, loss, accuracy = self.judged(output.asnumpy().astype("float64"))
                if step == steps:
                    return loss, accuracy
                head = ((p - np.eye(10)[self.labels]) / 256 * 2.0**-shift).astype(BF16)
                output.backward(mx.nd.array(head, dtype=BF16))
                for weight in weights:
                    weight.grad()[:] *= 2.0 ** max(shift - 60, 0)
                trainer.step(1)


def training(plot):
    """Checks 4 and 4b."""
    experiment = Experiment()
    curves = {(s, alternate): experiment.train(s, alternate) for s in SHIFTS for alternate in (False, True)}
    print("## Training, last loss (accuracy); gradients scaled by 2^-s inside; loss before the first step")
    print(f"{curves[0, True][0][0]:.4f}\n")
    print(f"| s | {' | '.join(map(str, SHIFTS))} |\n|{'---|' * (len(SHIFTS) + 1)}")
    for name, alternate in (("original", False), ("alternate, f32", True)):
        cells = [f"{curves[s, alternate][0][-1]:.4f} ({curves[s, alternate][1]:.2f})" for s in SHIFTS]
        print(f"| {name} | {' | '.join(cells)} |")
    for s in (0, 118):
        loss, accuracy = experiment.train_by_gluon(s, True)
        print(f"\nautograd and Trainer, s = {s}: {loss:.4f} ({accuracy:.2f})", end="")
    print("\n")
    if plot:
        _plot(curves, plot)


def _plot(curves, path):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for s, style in ((0, "-"), (116, "--"), (118, "-."), (124, ":")):
        for alternate, color in ((False, "tab:red"), (True, "tab:blue")):
            label = f"s = {s}, {'alternate' if alternate else 'original'}"
            axes.plot(curves[s, alternate][0], style, color=color, label=label, linewidth=1.2)
    axes.set(xlabel="step", ylabel="loss", yscale="log", title="Gradients scaled by 2^-s in a bfloat16 backward pass")
    axes.legend(fontsize=7, ncols=2)
    figure.savefig(path)


# ---- times ----


def _best(call, seconds):
    """Seconds of the fastest call of so many seconds."""
    call()
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
    return best


def product_times(seconds):
    """Times of the modes against bfloat16 instructions, where the operands are small (auto: where they are normal)."""
    print("## Products of size n^3, ms (ratio to the original)\n")
    print("| n | original | f32, normal numbers | f32 | scaled | auto, normal numbers |\n|---|---|---|---|---|---|")
    for n in (256, 512, 1024, 2048):
        draw = np.random.default_rng(3)
        small = (2.0**-120 * draw.standard_normal((n, n))).astype(BF16)
        a, b = ((0.06 * draw.standard_normal((n, n))).astype(BF16) for _ in range(2))
        out = [np.empty((n, n), BF16)]
        in_float32 = _product(a, b, forward=True, mode="f32")
        runs = [(_product(a, b, forward=False), a), (in_float32, a), (in_float32, small)]
        runs += [(_product(a, b, forward=True, mode="scaled"), small), (_product(a, b, forward=True, mode="auto"), a)]
        times = [float("inf")] * len(runs)
        for _ in range(5):  # taking turns
            for i, (run, left) in enumerate(runs):
                times[i] = min(times[i], _best(lambda: run(left, b, out=out), seconds / 5))  # noqa: B023
        print(f"| {n} | {' | '.join(f'{1e3 * t:.2f} ({t / times[0]:.2f})' for t in times)} |")
    print()


def _network_times(title, symbol, shapes, seconds):
    """Forward and backward runs: of the original, and of each mode."""
    arguments = symbol.list_arguments()
    arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
    draw = np.random.default_rng(7)
    bounds = {}
    for name, settings in (
        ("original", {"backward": False}),
        *((mode, {"backward": True, "mode": mode}) for mode in ("auto", "f32", "scaled")),
    ):
        with amp.alternate(**settings):
            bound = symbol.simple_bind(grad_req="write", **shapes)
            for argument, shape in zip(arguments, arg_shapes):
                value = draw.standard_normal(shape) * (1 if argument in shapes else np.sqrt(2 / np.prod(shape[1:])))
                bound.arg_dict[argument][:] = mx.nd.array(value if len(shape) > 1 else np.ones(shape))
            for aux, shape in zip(symbol.list_auxiliary_states(), aux_shapes):
                bound.aux_dict[aux][:] = mx.nd.array(np.ones(shape))
            bound.forward(is_train=True)
            bound.backward()
        bounds[name] = bound
    both = {name: [] for name in bounds}
    end = time.perf_counter() + 4 * seconds
    while time.perf_counter() < end or len(both["original"]) < 5:
        for name, bound in bounds.items():
            bound.forward(is_train=True)
            begin = time.perf_counter()
            bound.backward()
            both[name].append(time.perf_counter() - begin)
    counts = bounds["auto"].alternate_counts().values()
    native, other = (sum(entry[key] for entry in counts for key in keys) for keys in (("native",), ("f32", "scaled")))
    original = both["original"]
    cells = [f"{1e3 * np.median(t):.1f} ({np.median(np.array(t) / original):.2f})" for t in both.values()]
    print(f"| {title} | {' | '.join(cells)} | {other} of {native + other} |")


def _product_seconds(symbol, shapes, mode):
    """{backward product: (seconds, floating-point operations)} of a network; casts beside a product count."""
    arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
    draw = np.random.default_rng(7)
    args = {name: draw.standard_normal(shape, "float32") for name, shape in zip(symbol.list_arguments(), arg_shapes)}
    aux = {name: np.ones(shape, "float32") for name, shape in zip(symbol.list_auxiliary_states(), aux_shapes)}
    with amp.alternate(backward=mode is not None, mode=mode):
        run = amp.TrainingExecutor(symbol, args, aux, {}, grad_req=dict.fromkeys(args, "write"), machine="any")
    found = {}
    for step in run.profile_training({}, runs=2).steps:
        if step["is_backward"]:
            seconds, flops = found.get(step["node"], (0, 0))
            found[step["node"]] = seconds + step["min_seconds"], flops + step["flops"]
    return {node: both for node, both in found.items() if both[1] > 0}


def layer_times():
    """Backward products of ResNet-50 at batch 8, by mode; of layers that are alike the first."""
    from benchmarks.compare.networks import symbol_of

    shapes = {"data": (8, 3, 224, 224)}
    low = {"target_dtype": "bfloat16", "policy": "default", "machine": "any"}
    symbol = amp.convert_symbol(symbol_of("resnet50_v1"), "float32", {}, **low)
    modes = {name: _product_seconds(symbol, shapes, name) for name in (None, "f32", "scaled")}
    print("## Backward products of ResNet-50 v1, batch 8: ms (ratio to the original)\n")
    print("| product | GFLOP | original | f32 | scaled |\n|---|---|---|---|---|")
    seen, totals = set(), dict.fromkeys(modes, 0.0)
    for node, (original, flops) in modes[None].items():
        times = [modes[mode].get(node, (float("nan"), 0))[0] for mode in modes]
        for mode, seconds in zip(modes, times):
            totals[mode] += seconds
        kind = flops, round(1e4 * original)
        if kind not in seen:
            cells = [f"{1e3 * t:.2f} ({t / original:.2f})" for t in times]
            print(f"| {node} | {flops * 1e-9:.2f} | {' | '.join(cells)} |")
        seen.add(kind)
    cells = [f"{1e3 * t:.1f} ({t / totals[None]:.2f})" for t in totals.values()]
    print(f"| all | | {' | '.join(cells)} |\n")


def network_times(seconds):
    """Check 7."""
    from benchmarks.compare.networks import symbol_of

    print("## Backward passes of bfloat16 networks, ms (median of ratios to the original)\n")
    print("| network, batch | original | auto | f32 | scaled | products of auto that were not native |")
    print("|---|---|---|---|---|---|")

    def low(symbol):
        return amp.convert_symbol(symbol, "float32", {}, target_dtype="bfloat16", policy="default", machine="any")

    x = amp.sym.Variable("data")
    for i, units in enumerate((1024, 1024, 1000)):
        x = amp.sym.FullyConnected(x, num_hidden=units, no_bias=True, name=f"fc{i}")
        x = amp.sym.relu(x) if units != 1000 else x
    _network_times("MLP 1024-1024-1024-1000, 256", low(x), {"data": (256, 1024)}, seconds)
    _network_times("ResNet-50 v1, 8", low(symbol_of("resnet50_v1")), {"data": (8, 3, 224, 224)}, seconds)
    print()


def main():
    """Prints all of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0, help="per time that is measured (default: 2)")
    parser.add_argument("--plot", help="a file for the curves of the training experiment")
    parser.add_argument("--no-times", action="store_true", help="the checks alone")
    options = parser.parse_args()
    info = amp.cpu_info()
    print(
        f"# {info['cpu']}, {info['isa']}, bfloat16 instructions: {info['native_bfloat16']}, oneDNN {info['onednn']}, ",
        end="",
    )
    print(f"{info['threads']} threads\n")
    single_products()
    patterns()
    mismatches()
    marks()
    environment()
    training(options.plot)
    if not options.no_times:
        product_times(options.seconds)
        network_times(options.seconds)
        layer_times()


if __name__ == "__main__":
    main()
