"""`amp demo`: a trained model, converted, on data that it has not seen; and how fast a ResNet-50 is."""

import statistics
import time
from pathlib import Path

import numpy as np

from . import checkpoint, model_zoo
from ._conversion.calls import converted_model
from .base import ArgumentError, cpu_info
from .executor import Executor
from .profiling import SystemLoad
from .sym import Symbol

_SHADES = " .:-=+*#%@"  # from no ink to full ink
_SHOWN = 6
_RUNS = 10


def main(options):
    """Runs the demo; `options` has `data` (a folder or None) and `quick`."""
    folder = find_data(options.data)
    cpu = cpu_info()
    instead = " (integers of 16 bits are multiplied where that is faster)" if cpu["multiplies_int16"] else ""
    native = "yes" if cpu["native_bfloat16"] else f"no{instead}"
    print(f"oneDNN {cpu['onednn']} with {cpu['isa']}; bfloat16 arithmetic in hardware: {native}")
    digits(folder)
    if not options.quick:
        resnet()


def find_data(folder=None):
    """The folder of the digits model: as given, in the installed package, or in the source tree of this file."""
    package = Path(__file__).parent
    candidates = [Path(folder)] if folder else [package / "digits", package.parents[1] / "examples/digits"]
    for candidate in candidates:
        if (candidate / "digits-symbol.json").is_file():
            return candidate
    raise ArgumentError(
        f"there is no digits-symbol.json in {' or '.join(map(str, candidates))}; name its folder with --data"
    )


def digits(folder):
    """Converts the digits model and compares it with itself in float32 and with MXNet."""
    with np.load(folder / "heldout.npz") as stored:
        images, labels, mxnet_output = stored["images"], stored["labels"], stored["mxnet_output"]
    inputs = images.reshape(-1, 1, 8, 8).astype(np.float32) / 16
    symbol, arg_params, aux_params = checkpoint.load_checkpoint(folder / "digits", 0)
    model = converted_model(
        symbol, arg_params, aux_params, "float32", target_dtype="bfloat16", cast_params_offline=True
    )

    exact = _run(symbol, arg_params, aux_params, inputs)
    reduced = _run(Symbol(model["symbol"]), model["arguments"], model["auxiliary_states"], inputs)
    _show_digits(images, labels, reduced.argmax(axis=1))
    _report_accuracy(labels, exact, reduced, mxnet_output)
    before = sum(array.nbytes for array in [*arg_params.values(), *aux_params.values()])
    after = sum(array.nbytes for array in [*model["arguments"].values(), *model["auxiliary_states"].values()])
    print(f"  casts inserted            {model['num_casts']}")
    print(f"  parameters cast           {len(model['casts'])} of {len(arg_params)}")
    print(f"  parameter bytes           {before:,} -> {after:,}  ({after / before:.0%})")


def _run(symbol, arg_params, aux_params, inputs):
    executor = Executor(symbol, arg_params, aux_params, {"data": inputs.shape}, machine="any")  # as it was converted
    return executor(inputs)[0].asnumpy()


def _show_digits(images, labels, predicted):
    print(f"\n{_SHOWN} of {len(images)} handwritten digits that are new to the model, and its answers in bfloat16\n")
    for row in range(8):
        print(
            "   ".join("".join(_SHADES[int(pixel) * 9 // 16] * 2 for pixel in image[row]) for image in images[:_SHOWN])
        )
    texts = [f"is {label}, read as {guess}" for label, guess in zip(labels[:_SHOWN], predicted)]
    print("   ".join(f"{text:<16}" for text in texts) + "\n")


def _report_accuracy(labels, exact, reduced, mxnet_output):
    def score(output):
        right = int((output.argmax(axis=1) == labels).sum())
        return f"{right / len(labels):.2%}  ({right} of {len(labels)})"

    differing = int((exact.argmax(axis=1) != reduced.argmax(axis=1)).sum())
    print(f"  accuracy in float32       {score(exact)}")
    print(f"  accuracy in bfloat16      {score(reduced)}")
    print(f"  answers that differ       {differing}")
    scale = np.abs(mxnet_output).max()
    for name, output in (("float32 ", exact), ("bfloat16", reduced)):
        deviation = np.abs(output.astype(np.float64) - mxnet_output).max()
        print(f"  {name} and MXNet's own  at most {deviation:.2g} apart (largest output: {scale:.3g})")


def resnet():
    """Times a ResNet-50 with seeded weights in both precisions, run by run in turn."""
    print("\nResNet-50, one image of 224 x 224, random weights")
    symbol = model_zoo.get_model("resnet50_v1")
    shapes = {"data": (1, 3, 224, 224)}
    arg_params, aux_params = model_zoo.seeded_params(symbol, shapes)
    image = np.random.default_rng(0).standard_normal(shapes["data"], dtype=np.float32)
    executors = {}
    for dtype in ("float32", "bfloat16"):
        start = time.perf_counter()
        reduce = dtype if dtype != "float32" else None
        executors[dtype] = Executor(symbol, arg_params, aux_params, shapes, reduce_precision=reduce)
        print(f"  {dtype}: bound in {time.perf_counter() - start:.2f} s, {executors[dtype].summary.num_steps} steps")
    load = SystemLoad()
    seconds = _interleaved(executors, image)
    others = load.others()
    for dtype, times in seconds.items():
        threads = executors[dtype].summary.num_threads
        print(f"  {dtype:<9} {1000 * statistics.median(times):7.1f} ms  (median of {_RUNS} runs, threads: {threads})")
    ratio = statistics.median(low / full for low, full in zip(seconds["bfloat16"], seconds["float32"]))
    for line in remarks(ratio, others):
        print(f"  {line}")
    print("  Batch norms, activations and additions are done by the convolutions before them:")
    print("  print(executor.summary) lists steps, `amp profile` tells times.")


def remarks(ratio, others):
    """What the times mean, as lines.

    `ratio` is bfloat16's time over float32's; `others` is the share of the CPUs that other programs took meanwhile
    (0 to 1, None where the system does not tell).
    """
    lines = [f"bfloat16 takes {ratio:.2f} times as long as float32."]
    if ratio > 0.95:
        lines.append("bfloat16 does not pay on this CPU: executors ran float32 where it is faster, as they always do.")
    if others is not None and others > 0.1:
        lines.append(
            f"Other programs took {others:.0%} of the CPUs meanwhile: on an idle machine these times are shorter."
        )
    return lines


def _interleaved(executors, image):
    seconds = {dtype: [] for dtype in executors}
    for executor in executors.values():
        executor(image)
        executor(image)
    for _ in range(_RUNS):
        for dtype, executor in executors.items():
            start = time.perf_counter()
            executor(image)
            seconds[dtype].append(time.perf_counter() - start)
    return seconds
