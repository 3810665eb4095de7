"""Converts HybridBlocks of a real MXNet in MXNet's own process and compares results, for 1.9.1 and for 2.0.0b1:

    python3 -m venv ~/mxenv  && ~/mxenv/bin/pip install mxnet==1.9.1 numpy==1.23.5
    python3 -m venv ~/mx2env && ~/mx2env/bin/pip install mxnet==2.0.0b1 numpy==1.23.5
    make package
    ~/mxenv/bin/python tools/check_hybrid_blocks_with_mxnet.py
    ~/mx2env/bin/python tools/check_hybrid_blocks_with_mxnet.py

The interpreter's version has to be that of .venv: the extension is taken from there. Prints a table, and ends with
an error where a converted block is off or the caller's block is not as it was.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

np.bool, np.object = bool, object  # names that MXNet uses and NumPy has dropped

import mxnet as mx  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[1]
MXNET_2 = mx.__version__.startswith("2")
LIMIT = 0.02  # relative rms


def import_amp(folder):
    """The package of this repository in an interpreter that it is not installed for."""
    site = REPOSITORY / ".venv/lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    shutil.copytree(REPOSITORY / "python/amp", Path(folder, "amp"), ignore=shutil.ignore_patterns("csrc"))
    for library in (site / "amp").glob("*.so"):
        shutil.copy(library, Path(folder, "amp"))
    sys.path.insert(0, folder)
    sys.path.append(str(site))  # for ml_dtypes and oneDNN; NumPy remains MXNet's
    import amp

    return amp


# ---- blocks ----


def residual_network():
    net = mx.gluon.model_zoo.vision.resnet18_v1()
    net.initialize(mx.init.Xavier())
    return net


def plain_network():
    """No batch norm, parameters with known shapes."""
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(32, in_units=16, activation="relu"), mx.gluon.nn.Dense(8, in_units=32))
    net.initialize(mx.init.Xavier())
    return net


def own_block():
    """Three inputs in an order that the graph does not have, two outputs, children."""
    block = (OwnBlock2 if MXNET_2 else OwnBlock1)()
    block.initialize(mx.init.Xavier())
    return block


class OwnBlock1(mx.gluon.HybridBlock):
    """As blocks are written for MXNet 1.x."""

    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.left = mx.gluon.nn.Dense(8)
            self.right = mx.gluon.nn.Dense(8, activation="tanh")

    def hybrid_forward(self, F, first, second, scale):
        left, right = self.left(second), self.right(first)
        return F.concat(left, right, dim=1), F.broadcast_mul(left - right, scale)


class OwnBlock2(mx.gluon.HybridBlock):
    """As blocks are written for MXNet 2.0."""

    def __init__(self):
        super().__init__()
        self.left = mx.gluon.nn.Dense(8)
        self.right = mx.gluon.nn.Dense(8, activation="tanh")

    def forward(self, first, second, scale):
        left, right = self.left(second), self.right(first)
        return mx.np.concatenate((left, right), axis=1), (left - right) * scale


# ---- checks ----


def random_arrays(*shapes):
    random = np.random.default_rng(5)
    return [random.standard_normal(shape).astype("f4") for shape in shapes]


def in_mxnet(array):
    return mx.np.array(array, dtype=array.dtype) if mx.util.is_np_array() else mx.nd.array(array, dtype=array.dtype)


def leaves(outputs):
    return list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]


def state_of(block):
    children = [child if hasattr(child, "_children") else child() for child in block._children.values()]
    cached = block._cached_graph[1].tojson() if block._cached_graph else None
    return type(block).__name__, block._active, cached, [state_of(child) for child in children]


def values_of(block):
    return {name: parameter.data().asnumpy() for name, parameter in block.collect_params().items()}


def relative_rms(found, wanted):
    found, wanted = np.asarray(found, "f8"), np.asarray(wanted, "f8")
    return float(np.sqrt(np.mean((found - wanted) ** 2) / np.mean(wanted**2)))


def check(amp, title, block, examples, options, *, hybridized, as_numpy):
    """One line of the table; the messages of what is wrong."""
    arrays = [in_mxnet(array) for array in examples]
    if hybridized:
        block.hybridize()
    wanted = [output.asnumpy() for output in leaves(block(*arrays))]
    state, values = state_of(block), values_of(block)
    converted = amp.convert_hybrid_block(block, examples if as_numpy else arrays, "bfloat16", **options)
    problems = [] if state_of(block) == state else ["the state of the block has changed"]
    after = values_of(block)
    problems += [f"{name} has changed" for name in values if not np.array_equal(values[name], after[name])]
    found = [output.asnumpy() for output in leaves(converted(*(examples if as_numpy else arrays)))]
    again = [output.asnumpy() for output in leaves(block(*arrays))]
    if not all(np.array_equal(*pair) for pair in zip(wanted, again)):
        problems.append("the block gives other results than before")
    if [a.shape for a in found] != [a.shape for a in wanted] or [a.dtype for a in found] != [a.dtype for a in wanted]:
        problems.append(f"got {[(a.shape, a.dtype) for a in found]}, not {[(a.shape, a.dtype) for a in wanted]}")
    error = max(relative_rms(*pair) for pair in zip(found, wanted))
    casts = converted.symbol.tojson().count('"op": "amp_cast"')
    if error > LIMIT or error == 0 or casts == 0:
        problems.append(f"an error of {error:.4f} with {casts} casts")
    verdict = "ok" if not problems else "WRONG: " + "; ".join(problems)
    facts = f"{len(examples)} in, {len(found)} out  {casts:3} casts  rms {error:.4f}"
    print(f"{mx.__version__:10} {title:24} {facts}  {verdict}")
    return problems


def main():
    if MXNET_2:
        mx.npx.set_np()
    image, rows = random_arrays((1, 3, 64, 64)), random_arrays((4, 16))
    several = random_arrays((4, 6), (4, 10), (4, 1))
    with tempfile.TemporaryDirectory() as folder:
        amp = import_amp(folder)
        offline = {"cast_params_offline": True}
        problems = []
        for title, block, examples, options, hybridized, as_numpy in (
            ("resnet18_v1", residual_network(), image, {}, False, False),
            ("resnet18_v1, hybridized", residual_network(), image, offline, True, True),
            ("HybridSequential", plain_network(), rows, {}, True, False),
            ("own block", own_block(), several, {}, False, False),
            ("own block, hybridized", own_block(), several, offline, True, True),
        ):
            problems += check(amp, title, block, examples, options, hybridized=hybridized, as_numpy=as_numpy)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
