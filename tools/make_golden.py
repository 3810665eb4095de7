"""Write the whole-network test data in tests/data/golden/ with MXNet itself.

For six networks of MXNet 1.9.1's Gluon model zoo this exports the symbol, fills parameters and
inputs with the seeded generator in tests/python/amp/seeded.py, runs MXNet on the CPU in float32, checks
that the outputs are usable as test data, and stores symbol, shapes, digests and outputs. Parameters
and inputs themselves are not stored.

MXNet is needed only here, never by the library or its tests. Set up a scratch environment outside
the repository and run from the repository's root:

    python3 -m venv ~/mxenv
    ~/mxenv/bin/pip install mxnet==1.9.1 numpy==1.23.5
    ~/mxenv/bin/python tools/make_golden.py              # all networks
    ~/mxenv/bin/python tools/make_golden.py densenet121  # selected ones

MXNet's Linux wheel needs libgfortran, libgomp and libquadmath from the system.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "data" / "golden"

sys.path.insert(0, str(ROOT / "tests" / "python" / "amp"))
import seeded  # noqa: E402

# Input shapes, N x C x H x W. Non-square where the network allows it, so that exchanged axes show.
# The last pooling window fixes the size of three networks: squeezenet1.1 needs 13 x 13 there (from
# 209 every pooling_convention=full rounds up, from 224 none does), densenet121 7 x 7 (221 or more),
# inceptionv3 8 x 8 (299 or more).
SHAPES = {
    "resnet18_v1": (2, 3, 64, 48),
    "squeezenet1.1": (2, 3, 209, 209),
    "vgg11_bn": (2, 3, 32, 32),
    "mobilenetv2_0.25": (2, 3, 64, 48),
    "densenet121": (2, 3, 221, 224),
    "inceptionv3": (1, 3, 299, 299),
}

# The interval batch normalisation's scale factors are drawn from. mobilenetv2's linear bottlenecks
# have twice the gain of a layer with relu; larger factors would make this network chaotic.
GAMMAS = {"mobilenetv2_0.25": (0.6, 1.1)}


def import_mxnet():
    """Import MXNet 1.9.1, without operator fusion and with the type aliases NumPy removed."""
    os.environ["MXNET_SUBGRAPH_BACKEND"] = "NONE"
    for alias, builtin in (("bool", bool), ("int", int), ("float", float), ("object", object)):
        setattr(np, alias, builtin)
    import mxnet

    return mxnet


def export_symbol(mx, model: str, shape: tuple[int, ...]) -> str:
    """The symbol JSON that ``net.export`` writes for a model zoo network, minified."""
    with mx.name.NameManager(), tempfile.TemporaryDirectory() as scratch:
        net = mx.gluon.model_zoo.vision.get_model(model, pretrained=False)
        net.initialize()
        net.hybridize()
        net(mx.nd.zeros(shape)).wait_to_read()
        net.export(str(Path(scratch) / "net"))
        exported = (Path(scratch) / "net-symbol.json").read_text(encoding="utf-8")
    return json.dumps(json.loads(exported), separators=(",", ":"))


def parameter_shapes(symbol, inputs: dict[str, list[int]]) -> dict[str, list[int]]:
    """Shapes of all parameters, keyed ``arg:name`` / ``aux:name`` in the symbol's own order."""
    arg_shapes, _, aux_shapes = symbol.infer_shape(**{k: tuple(v) for k, v in inputs.items()})
    args = zip(symbol.list_arguments(), arg_shapes)
    auxs = zip(symbol.list_auxiliary_states(), aux_shapes)
    shapes = {f"arg:{name}": list(shape) for name, shape in args if name not in inputs}
    shapes.update({f"aux:{name}": list(shape) for name, shape in auxs})
    return shapes


def run_mxnet(mx, symbol, inputs: dict, params: dict) -> list[np.ndarray]:
    """MXNet's float32 outputs of ``symbol`` in inference mode on the CPU."""
    args = {name: mx.nd.array(value, dtype="float32") for name, value in inputs.items()}
    auxs = {}
    for key, value in params.items():
        kind, name = key.split(":", 1)
        (args if kind == "arg" else auxs)[name] = mx.nd.array(value, dtype="float32")
    executor = symbol.bind(mx.cpu(), args=args, aux_states=auxs, grad_req="null")
    return [output.asnumpy() for output in executor.forward(is_train=False)]


def flip_first_kernel(params: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The same parameters with the first convolution's kernel turned by 180 degrees."""
    first = next(iter(params))
    return {**params, first: params[first][:, :, ::-1, ::-1].copy()}


def relative_change(outputs: list[np.ndarray], others: list[np.ndarray]) -> float:
    """Root mean square difference in units of the outputs' standard deviation, the smallest."""
    pairs = zip(outputs, others)
    return min(float(np.sqrt(np.square(a - b).mean()) / a.std(axis=1).mean()) for a, b in pairs)


def check_health(model: str, outputs: list[np.ndarray], by_input: float, by_kernel: float) -> None:
    """Refuse outputs that would make a weak test; print their range and their sensitivity."""
    for output in outputs:
        absmax, spread = float(np.abs(output).max()), float(output.std(axis=1).min())
        print(f"{model}: {output.shape} absmax {absmax:.4g} standard deviation {spread:.4g}")
        if output.dtype != np.float32 or not np.isfinite(output).all():
            raise ValueError(f"{model}: outputs are not finite float32")
        if not 0.1 < absmax < 1000 or spread < 0.05 * absmax:
            raise ValueError(f"{model}: outputs are too large, too small or too constant")
    print(f"{model}: other input {by_input:.3f}, turned first kernel {by_kernel:.3f}")
    if min(by_input, by_kernel) < 0.05:
        raise ValueError(f"{model}: outputs hardly depend on the input or the first layer")


def make_case(mx, model: str, shape: tuple[int, ...]) -> None:
    """Write symbol.json, case.json and expected.npz of one network."""
    exported = export_symbol(mx, model, shape)
    symbol = mx.sym.load_json(exported)
    case = {"model": model, "mxnet": mx.__version__, "inputs": {"data": list(shape)}}
    case["gamma"] = list(GAMMAS.get(model, seeded.DEFAULT_GAMMA))
    case["params"] = parameter_shapes(symbol, case["inputs"])
    inputs, params = seeded.generate(case)
    outputs = run_mxnet(mx, symbol, inputs, params)
    other = {name: seeded.seeded_input(name, v.shape, seed=8) for name, v in inputs.items()}
    check_health(
        model,
        outputs,
        by_input=relative_change(outputs, run_mxnet(mx, symbol, other, params)),
        by_kernel=relative_change(outputs, run_mxnet(mx, symbol, inputs, flip_first_kernel(params))),
    )
    case["outputs"] = [{"shape": list(v.shape), "absmax": float(np.abs(v).max())} for v in outputs]
    case["sha256"] = {
        "inputs_and_params": seeded.sha256_of([*inputs.values(), *params.values()]),
        "expected": seeded.sha256_of(outputs),
    }
    folder = GOLDEN / model
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "symbol.json").write_text(exported + "\n", encoding="utf-8")
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n", encoding="utf-8")
    np.savez_compressed(folder / "expected.npz", **{f"out{index}": v for index, v in enumerate(outputs)})
    seeded.load_golden(folder)


def main() -> None:
    """Make the cases named on the command line, all of them by default."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(SHAPES)}")
    models = parser.parse_args().models or list(SHAPES)
    unknown = [model for model in models if model not in SHAPES]
    if unknown:
        parser.error(f"unknown models: {', '.join(unknown)}")
    mx = import_mxnet()
    for model in models:
        make_case(mx, model, SHAPES[model])


if __name__ == "__main__":
    main()
