"""Gluon programs drawn at random: the same program for any package with MXNet's surface, by several routes.

    python gluon_programs.py --count 20000 [--first 0] [--generation 1]    # all routes of amp.mxnet agree
    python gluon_programs.py --count 500 --against PYTHON                   # with a wheel of MXNet

A program is a network of built-in blocks (bare, subclassed, in containers with every kind of prefix, shared, with lists
and dicts as inputs), sometimes with a loss; it is called with batches of several sizes, in prediction and in training.
This file imports neither amp nor mxnet, so that a wheel's interpreter can run it.
"""

import argparse
import importlib
import os
import pickle
import subprocess
import sys
import tempfile
import traceback

import numpy as np

SUBCLASSES, SHARING, TRAINED, PREFIXES = 0.3, 0.3, 0.1, (None, "", "p_", "net_")


class Draw:
    """The random choices of one program."""

    def __init__(self, seed):
        self._random = np.random.RandomState(seed)

    def one(self, *values):
        return values[self._random.randint(len(values))]

    def chance(self, probability):
        return self._random.rand() < probability


# ---- networks ----


class Programs:
    """Builds networks of a package `mx` for a generation."""

    def __init__(self, mx, generation, draw):
        self.mx, self.nn, self.generation, self.draw = mx, mx.gluon.nn, generation, draw
        self.has_dropout = False
        self._shareable = {}  # {layer's arguments: a block that was made with them}

    def network(self, kind):
        """A block for 'vector' (N, 6), 'picture' (N, 4, 6, 6) or 'sequence' (5, N, 6), and what it gives."""
        depth = self.draw.one(1, 2, 2, 3)
        return self._container(kind, depth)

    def _container(self, kind, depth):
        if depth == 0 or self.draw.chance(0.15):
            return self._layer(kind)
        return self.draw.one(self._chain, self._chain, self._custom, self._side_by_side)(kind, depth)

    def _options(self):
        if self.generation == 2:
            return {}
        prefix = self.draw.one(*PREFIXES)
        return {} if prefix is None else {"prefix": prefix + self._mark() if prefix else prefix}

    def _mark(self):
        return f"{self.draw.one(*range(1000))}_"  # so that given prefixes differ

    def _made_inside(self, parent, make, *args):
        if self.generation == 1 and self.draw.chance(0.7):
            with parent.name_scope():
                return make(*args)
        return make(*args)

    def _chain(self, kind, depth):
        net = self.nn.HybridSequential(**self._options())
        for _ in range(self.draw.one(1, 2, 3)):
            block, kind = self._made_inside(net, self._container, kind, depth - 1)
            net.add(block)
        return net, kind

    def _side_by_side(self, kind, depth):
        contrib = self.mx.gluon.contrib.nn if self.generation == 1 else self.nn
        net = (contrib.HybridConcurrent if self.generation == 1 else contrib.HybridConcatenate)(
            axis=-1, **self._options()
        )
        if kind != "vector":
            return self._chain(kind, depth)
        for _ in range(2):
            block, _ = self._made_inside(net, self._layer, "vector")
            net.add(block)
        return net, "vector"

    def _custom(self, kind, depth):
        form = self.draw.one("residual", "list", "dict", "scaled")
        cls = custom_block(self.mx, self.generation, form)
        net = cls(**self._options())
        inner, after = self._made_inside(net, self._layer, kind, True)
        net.inner = inner
        return net, after

    # ---- layers ----

    def _layer(self, kind, keeps_shape=False):
        table = KEEPING if keeps_shape else LAYERS
        name, args, options, after = self.draw.one(*table[kind])
        if name == "Dropout":
            self.has_dropout = True
        cls = getattr(self.nn, name, None) or getattr(self.mx.gluon.rnn, name)
        if self.draw.chance(SUBCLASSES):
            cls = subclass(self.mx, cls, self.generation)
        key = name, args, tuple(sorted(options.items()))
        shared = self._shareable.get(key)
        own = self._options()
        if self.generation == 1 and shared is not None and self.draw.chance(SHARING):
            own["params"] = shared.params
        block = cls(*args, **options, **own)
        if options.get("in_units"):
            self._shareable[key] = block
        return block, after


LAYERS = {
    "vector": [
        ("Dense", (5,), {}, "vector"),
        ("Dense", (6,), {"in_units": 0, "activation": "relu"}, "vector"),
        ("Dense", (4,), {"use_bias": False, "flatten": False}, "vector"),
        ("Activation", ("tanh",), {}, "vector"),
        ("LeakyReLU", (0.2,), {}, "vector"),
        ("ELU", (), {}, "vector"),
        ("SELU", (), {}, "vector"),
        ("GELU", (), {}, "vector"),
        ("Swish", (), {}, "vector"),
        ("PReLU", (), {}, "vector"),
        ("LayerNorm", (), {}, "vector"),
        ("BatchNorm", (), {}, "vector"),
        ("Dropout", (0.3,), {}, "vector"),
        ("Flatten", (), {}, "vector"),
    ],
    "picture": [
        ("Conv2D", (4, 3), {"padding": 1}, "picture"),
        ("Conv2D", (6, 1), {"activation": "relu", "use_bias": False}, "picture"),
        ("Conv2D", (4, 3), {"padding": 1, "groups": 2}, "picture"),
        ("Conv2DTranspose", (4, 3), {"padding": 1}, "picture"),
        ("BatchNorm", (), {}, "picture"),
        ("BatchNorm", (), {"scale": False}, "picture"),
        ("InstanceNorm", (), {}, "picture"),
        ("LayerNorm", (), {"axis": 1}, "picture"),
        ("MaxPool2D", (3, 1, 1), {}, "picture"),
        ("AvgPool2D", (3, 1, 1), {}, "picture"),
        ("GlobalAvgPool2D", (), {}, "flat picture"),
        ("Flatten", (), {}, "vector"),
        ("Activation", ("sigmoid",), {}, "picture"),
        ("Dense", (3,), {}, "vector"),
    ],
    "flat picture": [
        ("Flatten", (), {}, "vector"),
        ("Dense", (3,), {}, "vector"),
        ("Activation", ("relu",), {}, "flat picture"),
    ],
    "sequence": [
        ("LSTM", (4,), {}, "sequence"),
        ("GRU", (3, 2), {}, "sequence"),
        ("RNN", (4,), {"bidirectional": True}, "sequence"),
        ("Dense", (6,), {"flatten": False}, "sequence"),
        ("LayerNorm", (), {}, "sequence"),
        ("Activation", ("tanh",), {}, "sequence"),
    ],
}  # fmt: skip

CHANGING = "Dense", "Conv2D", "Conv2DTranspose", "LSTM", "GRU", "RNN"  # the number of features
KEEPING = {
    kind: [row for row in rows if row[3] == kind and row[0] not in CHANGING] for kind, rows in LAYERS.items()
}  # fmt: skip
KEEPING["vector"].append(("Dense", (6,), {"in_units": 6}, "vector"))
KEEPING["picture"].append(("Conv2D", (4, 3), {"padding": 1, "in_channels": 4}, "picture"))


def subclass(mx, cls, generation):
    """A subclass as programs write them: its own method calls the inherited one."""
    if generation == 2:

        class Halved(cls):
            def forward(self, *args):
                return first(super().forward(*args)) * 0.5

        Halved.__name__ = cls.__name__
        return Halved

    class Doubled(cls):
        def hybrid_forward(self, F, x, *args, **parameters):
            out = super().hybrid_forward(F, x, *args, **parameters)
            return [out[0] * 2] + list(out[1:]) if isinstance(out, (list, tuple)) else out * 2

    Doubled.__name__ = cls.__name__
    return Doubled


def first(value):
    return value[0] if isinstance(value, (list, tuple)) else value


def custom_block(mx, generation, form):
    """A HybridBlock with a block inside."""

    def combine(self, x):
        if form == "residual":
            return first(self.inner(x)) + x
        if form == "list":
            parts = [first(self.inner(x)), x * 2]
            return parts[0] * 0.5 + parts[1]
        if form == "dict":
            parts = {"a": first(self.inner(x)), "b": x}
            return parts["a"] - parts["b"] * 0.25
        return first(self.inner(x * 0.5)) + 1

    if generation == 2:

        class Custom(mx.gluon.HybridBlock):
            def forward(self, x):
                return combine(self, x)

    else:

        class Custom(mx.gluon.HybridBlock):
            def hybrid_forward(self, F, x):
                return combine(self, x)

    return Custom


# ---- runs ----

SIZES = {"vector": [(2, 6), (3, 6)], "picture": [(2, 4, 6, 6), (1, 4, 6, 6)], "sequence": [(5, 2, 6), (4, 3, 6)]}
LOSSES = [None, None, "L1Loss", "L2Loss", "SigmoidBCELoss", "HuberLoss", "LogisticLoss", "HingeLoss"]


class Program:
    """One network and what it is called with."""

    def __init__(self, mx, seed, generation):
        draw = Draw(seed)
        self.mx, self.generation, self.kind = mx, generation, draw.one("vector", "vector", "picture", "sequence")
        programs = Programs(mx, generation, draw)
        self.net, _ = programs.network(self.kind)
        loss = draw.one(*LOSSES)
        self.loss = getattr(mx.gluon.loss, loss)() if loss else None
        self.trains = draw.chance(TRAINED) and not programs.has_dropout
        self.arrays = mx.np if generation == 2 else mx.nd
        self._numbers = np.random.RandomState(seed + 1)
        self.inputs = [self._numbers.uniform(-1, 1, size).astype("f") for size in SIZES[self.kind]]
        self.net.initialize()
        with mx.autograd.predict_mode():
            self.net(self.array(self.inputs[0]))
        self.fill()

    def array(self, values):
        return self.arrays.array(values, dtype="float32")

    def parameters(self):
        """Each once, in the order of their names."""
        collected = self.net.collect_params()
        return [collected[name] for name in sorted(collected.keys())]

    def fill(self):
        seen = {}
        for parameter in self.parameters():
            if id(parameter) not in seen:
                values = np.random.RandomState(len(seen)).uniform(-0.5, 0.5, parameter.shape).astype("f")
                values = np.abs(values) + 0.5 if parameter.name.endswith(("gamma", "running_var")) else values
                parameter.set_data(self.array(values))
                seen[id(parameter)] = True

    def states(self):
        return [parameter.data().asnumpy() for parameter in self.parameters()]

    def predict(self, call):
        return [leaf.asnumpy() for x in self.inputs for leaf in leaves(call(self.array(x)))]

    def train(self):
        """Outputs, gradients of inputs and parameters, and the states behind them, for each size of the inputs."""
        found = []
        for x in self.inputs:
            array = self.array(x)
            array.attach_grad()
            with self.mx.autograd.record():
                out = first(self.net(array))
                total = out.sum() if self.loss is None else self.loss(out, self.arrays.ones_like(out) * 0.5).sum()
            total.backward()
            found += [total.asnumpy(), array.grad.asnumpy()]
            found += [p.grad().asnumpy() for p in self.parameters() if p.grad_req != "null"]
        return found + self.states()


def leaves(value):
    return [leaf for each in value for leaf in leaves(each)] if isinstance(value, (list, tuple)) else [value]


def reference(mx, seed, generation):
    """What a package computes without graphs: {route: arrays, 'names': names}."""
    program = Program(mx, seed, generation)
    found = {"names": names_of(program), "predict": program.predict(program.net)}
    if program.trains:
        found["train"] = program.train()
    return found


def names_of(program):
    net = program.net
    names = {"parameters": sorted(net.collect_params().keys())}
    if program.generation == 1:
        names["nodes"] = net(program.mx.sym.var("data")).get_internals().list_outputs()
    return names


# ---- routes of one package ----


def hybridized(program, **options):
    program.net.hybridize(**options)
    return program.net


def exported(program, folder):
    net = hybridized(program)
    with program.mx.autograd.predict_mode():
        for x in program.inputs:
            net(program.array(x))
    net.export(os.path.join(folder, "net"))
    files = os.path.join(folder, "net-symbol.json"), os.path.join(folder, "net-0000.params")
    symbol = program.mx.sym.load(files[0])
    names = [name for name in symbol.list_inputs() if name.startswith("data")]
    return symbol, names, files


def imported(program, folder):
    symbol, names, files = exported(program, folder)
    block = program.mx.gluon.SymbolBlock.imports(files[0], names, files[1])
    return lambda x: block(x, *zero_states(symbol, names, x))


def zero_states(symbol, names, x):
    """The states that an exported recurrent layer takes behind its data."""
    if len(names) == 1:
        return []
    shapes, _, _ = symbol.infer_shape_partial(**{names[0]: x.shape})
    known = dict(zip(symbol.list_arguments(), shapes))
    return [
        type(x)(np.zeros([x.shape[1] if i == 1 else n for i, n in enumerate(known[name])], "f")) for name in names[1:]
    ]


def by_module(program, folder):
    symbol, names, files = exported(program, folder)
    mx = program.mx

    def call(x):
        shapes = [(name, value.shape) for name, value in zip(names, [x, *zero_states(symbol, names, x)])]
        module = mx.mod.Module(symbol, data_names=names, label_names=None, context=mx.cpu())
        module.bind(shapes, for_training=False)
        _, arguments, states = mx.model.load_checkpoint(os.path.join(folder, "net"), 0)
        module.set_params(arguments, states)
        values = [mx.nd.array(value.asnumpy()) for value in [x, *zero_states(symbol, names, x)]]
        module.forward(mx.io.DataBatch(values), is_train=False)
        outputs = module.get_outputs()
        return outputs if len(outputs) > 1 else outputs[0]

    return call


def converted(program, folder):
    import amp

    x = program.array(program.inputs[0])
    # Where the machine then runs float32 nothing is rounded, but for weights that a batch norm was folded into.
    return amp.convert_hybrid_block(hybridized(program), x, fold_batch_norm=False)


ROUTES = {
    "hybridized": lambda program, folder: hybridized(program),
    "static": lambda program, folder: hybridized(program, static_alloc=True, static_shape=True),
    "imported": imported,
    "module": by_module,
    "converted": converted,
}


OF_BFLOAT16 = 3e-2  # where low precision pays in a conversion after all, as it does for some storage and tiny layers


def runs_low(net):
    """Whether casts are left in what a converted block runs."""
    executors = [one for bound in getattr(net, "_bound", {}).values() for one in bound._executors.values()]
    return any("amp_cast" in executor.symbol.tojson() for executor in executors)


def check(mx, seed, generation, rtol=2e-4):
    """Raises AssertionError where a route of the package differs from plain calls.

    Returns whether the program runs at all. MXNet refuses, too, where prefixes give two parameters one name and where
    a layer's number of inputs is not that of what it reads.
    """
    try:
        plain = Program(mx, seed, generation)
        expected, names = plain.predict(plain.net), names_of(plain)
    except ValueError as error:
        if not any(text in str(error) for text in ("there are two parameters", "expected weight with")):
            raise
        return False
    trained = plain.train() if plain.trains else None
    for route, make in ROUTES.items():
        with tempfile.TemporaryDirectory() as folder, name_manager(mx):
            program = Program(mx, seed, generation)
            net = make(program, folder)
            found = program.predict(net)
            compare(route + ", prediction", found, expected, OF_BFLOAT16 if runs_low(net) else rtol)
            if trained is not None and route == "hybridized":
                program = Program(mx, seed, generation)
                hybridized(program)
                compare(route + ", training", program.train(), trained, rtol)
            if route == "imported":
                check_exported_names(program, os.path.join(folder, "net-0000.params"))
                assert names_of(program)["parameters"] == names["parameters"]
    return True


def check_exported_names(program, file):
    saved = program.mx.nd.load(file)
    own = set(program.net.collect_params().keys())
    assert {name.partition(":")[2] for name in saved} <= own, (sorted(saved), sorted(own))


def name_manager(mx):
    return mx.name.NameManager()


def compare(where, found, expected, rtol):
    assert len(found) == len(expected), f"{where}: {len(found)} arrays, expected {len(expected)}"
    for i, (got, wanted) in enumerate(zip(found, expected)):
        assert got.shape == wanted.shape, f"{where}, array {i}: shape {got.shape}, expected {wanted.shape}"
        scale = max(1.0, float(np.abs(wanted).max()) if wanted.size else 1.0)
        error = float(np.abs(got - wanted).max()) if wanted.size else 0.0
        assert error <= rtol * scale, f"{where}, array {i}: differs by {error:.3g} of {scale:.3g}"


# ---- the command ----


def run_reference(package, first_seed, count, generation, file):
    """Writes what a package computes for some seeds."""
    mx = importlib.import_module(package)
    if generation == 2:
        mx.npx.set_np()
    found = {}
    for seed in range(first_seed, first_seed + count):
        try:
            with name_manager(mx):
                found[seed] = reference(mx, seed, generation)
        except Exception as error:
            found[seed] = f"{type(error).__name__}: {str(error)[:300]}"
    with open(file, "wb") as output:
        pickle.dump(found, output, protocol=4)


def against(python, options):
    """Compares amp.mxnet with a wheel; returns {seed: what differs}."""
    results = []
    for interpreter, package in ((python, "mxnet"), (sys.executable, "amp.mxnet")):
        file = tempfile.mktemp(suffix=".pickle")
        numbers = [str(value) for value in (options.first, options.count, options.generation)]
        subprocess.run([interpreter, "-W", "ignore", __file__, "--reference", package, file, *numbers], check=True)
        with open(file, "rb") as stored:
            results.append(pickle.load(stored))
    wheel, own = results
    failures, refused = {}, 0
    for seed, expected in wheel.items():
        found = own[seed]
        if isinstance(expected, str):
            refused += 1
            continue
        try:
            assert not isinstance(found, str), found
            names = found["names"], expected["names"]
            assert names[0] == names[1], f"names: {first_difference(*names)}"
            for kind in ("predict", "train"):
                if kind in expected:
                    compare(kind, found[kind], expected[kind], 1e-3)
        except AssertionError as error:
            failures[seed] = str(error)
    print(f"{len(wheel) - refused} programs run in the wheel, {refused} do not")
    return failures


def first_difference(found, expected):
    for kind in expected:
        for got, wanted in zip(found.get(kind, []), expected[kind]):
            if got != wanted:
                return f"{kind}: {got!r}, expected {wanted!r}"
    return f"{found!r}, expected {expected!r}"


def routes(options):
    """All routes of amp.mxnet; returns {seed: what differs}."""
    mx = importlib.import_module("amp.mxnet")
    if options.generation == 2:
        mx.npx.set_np()
    failures = {}
    for seed in range(options.first, options.first + options.count):
        try:
            with name_manager(mx):
                check(mx, seed, options.generation)
        except Exception as error:
            failures[seed] = f"{type(error).__name__}: {str(error)[:400]}"
            if options.verbose:
                traceback.print_exc()
    return failures


def main():
    if sys.argv[1:2] == ["--reference"]:
        package, file, *numbers = sys.argv[2:]
        return run_reference(package, *map(int, numbers), file)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--generation", type=int, choices=(1, 2), default=1)
    parser.add_argument("--against", metavar="PYTHON", help="an interpreter with a wheel of MXNet")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    failures = against(options.against, options) if options.against else routes(options)
    for seed, text in failures.items():
        print(f"seed {seed}: {text}")
    print(f"{len(failures)} of {options.count} programs differ")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
