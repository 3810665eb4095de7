"""A program of a user, as type checkers see it: tests/python/repo/test_types.py."""

from pathlib import Path

import numpy as np

import amp
import amp.model_zoo


def classify(folder: Path, image: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> int:
    """The class of an image."""
    symbol, args, aux = amp.load(folder / "model-symbol.json", folder / "model-0000.params")
    with amp.Executor(symbol, args, aux, {"data": image.shape}, num_threads=1, mode="exact") as run:
        (scores,) = run(image)
        larger = run.reshape(data=(2, *image.shape[1:]))
        print(run.summary.num_steps, larger.output_shapes, run.profile(image, runs=3).median_seconds)
    return int(scores.asnumpy().argmax())


def convert(folder: Path, options: amp.ConversionOptions) -> dict[str, int]:
    """How many casts a converted model has."""
    symbol, args, aux = amp.load_checkpoint(folder / "model", 0)
    low, low_args, low_aux, report = amp.convert_model(
        symbol, args, aux, return_report=True, policy="optimal", minimize="casts"
    )
    again = amp.convert_model(symbol, args, aux, "float32", **options)
    amp.save_checkpoint(folder / "low", 0, *again)
    run = amp.Executor(low, low_args, low_aux, {"data": (1, 3, 8, 8)}, machine="any")
    print(run.symbol.list_outputs(), low_args["fc_weight"].dtype, report.why("fc_output"))
    casts: dict[str, int] = report.totals["casts"]
    return casts


def train(steps: int) -> float:
    """What a weight becomes."""
    x, w = amp.sym.Variable("x"), amp.sym.Variable("w", shape=(1,))
    loss = amp.sym.sum(amp.sym.square(2 * x - w + amp.sym.zeros((1,))), name="loss")
    weight = amp.nd.array([0.5])
    run = amp.TrainingExecutor(loss, {"w": weight}, {}, {"x": (1,)}, grad_req={"w": "write"})
    for _ in range(steps):
        run.forward(True, np.ones(1, np.float32))
        run.backward()
        weight -= 0.1 * run.gradients["w"]
    return float(weight)


def zoo() -> tuple[int, ...]:
    """The shape of a network's output."""
    net = amp.model_zoo.get_model("resnet18_v1", classes=10)
    args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 3, 32, 32)})
    low = amp.convert_model(net, args, aux, "float32", "bfloat16", cast_params_offline=True)
    return amp.Executor(*low, {"data": (1, 3, 32, 32)}).output_shapes[0]


async def pooled(plan: Path, images: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]]) -> float:
    """Seconds that requests waited."""
    with amp.Pool(plan, sessions=2, waiting=8) as pool:
        try:
            scores = pool.submit(images[0], timeout=0).result()[0].asnumpy()
        except amp.PoolFull:
            (result,) = await pool.run(data=images[0])
            scores = result.asnumpy()
        for (each,) in pool.map(images):
            scores += each.asnumpy()
        return pool.stats()["seconds_waited"]
