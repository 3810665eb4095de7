"""CPU time and memory of whole processes from their start to a first result, beside OpenVINO and ONNX Runtime.

    python -m benchmarks.start_up [--rounds 3] [--networks vgg16] [--folder FOLDER] [--output FILE.json]

One thread, batch 1. All ways of a network take turns in each round; a figure is the median of the rounds. CPU time is
user and system time of the process, which the operating system counts. Each result is compared with ONNX Runtime's.
Needs the packages of benchmarks/requirements.txt (`make serving-report` runs it).
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import NamedTuple

import numpy as np

import amp

from .compare.prepare import batch_folder, is_prepared, load_outputs
from .first_result import static_model

ROOT = Path(__file__).resolve().parents[1]
NETWORKS = ("resnet50_v1", "vgg16", "bert_base", "mobilenetv2_1.0")
WAYS = ("plan", "files", "openvino", "openvino-cache", "onnxruntime")
_LARGEST_ERROR = {"fp32": 1e-4, "bf16": 0.1}  # relative root mean square of the first output


class Bar(NamedTuple):
    """At most `most` times what a peer needs of `quantity`."""

    way: str
    quantity: str
    peer: str
    most: dict  # {precision: ratio}


def _both(most):
    return {"fp32": most, "bf16": most}


BARS = (
    Bar("plan", "cpu_s", "openvino", _both(0.42)),
    Bar("plan", "cpu_s", "openvino-cache", _both(0.70)),
    Bar("plan", "cpu_s", "onnxruntime", {"fp32": 1.05}),
    Bar("plan", "peak_mb", "openvino", _both(0.70)),
    Bar("plan", "peak_mb", "onnxruntime", {"fp32": 1.15}),
    Bar("files", "cpu_s", "openvino", {"fp32": 0.60, "bf16": 1.00}),
    Bar("files", "peak_mb", "openvino", _both(0.75)),
    Bar("files", "peak_mb", "onnxruntime", {"fp32": 1.15}),
)
MOST_OWN_MB = 60  # of a process with a plan


def prepare(network, folder):
    """Model files, an ONNX file of static shapes, inputs, plans and OpenVINO's cache."""
    if not is_prepared(folder, 1):
        subprocess.run(
            [sys.executable, "-m", "benchmarks.compare.prepare", network, "1", str(folder)], check=True, cwd=ROOT
        )
    if not os.path.exists(static_model(folder, 1)):
        _fix_batch(folder)
    with np.load(batch_folder(folder, 1) / "inputs.npz") as stored:
        shapes = {name: stored[name].shape for name in stored.files}
    paths = f"{folder}/model-symbol.json", f"{folder}/model-0000.params"
    for precision, reduced in (("fp32", None), ("bf16", "bfloat16")):
        executor = amp.Executor.open(*paths, shapes, reduce_precision=reduced, num_threads=1)
        executor.save(f"{folder}/{precision}.plan")
        first_result("openvino-cache", precision, folder)


def _fix_batch(folder):
    import onnx
    from onnx.tools.update_model_dims import update_inputs_outputs_dims

    model = onnx.load(f"{folder}/model.onnx")
    dims = {
        one.name: [dim.dim_value or 1 for dim in one.type.tensor_type.shape.dim]
        for one in [*model.graph.input, *model.graph.output]
    }
    names = [{one.name: dims[one.name] for one in group} for group in (model.graph.input, model.graph.output)]
    onnx.save(update_inputs_outputs_dims(model, *names), static_model(folder, 1))


def first_result(way, precision, folder):
    """{"cpu_s", "peak_mb", "own_mb", "error"} of a process of its own."""
    target = folder / "output.npy"
    command = [sys.executable, "-m", "benchmarks.first_result", way, precision, str(folder)]
    inputs = batch_folder(folder, 1) / "inputs.npz"
    with subprocess.Popen(
        [*command, str(inputs), str(target)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # of NumPy's own threads, too
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        text, errors = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{way} {precision} of {folder.name}: {errors[-500:]}")
    wanted = load_outputs(batch_folder(folder, 1) / "expected.npz")[0]
    error = float(np.linalg.norm(np.load(target) - wanted) / np.linalg.norm(wanted))
    if not error <= _LARGEST_ERROR[precision]:
        raise RuntimeError(f"{way} {precision} of {folder.name}: the result is {error:.2g} away from ONNX Runtime's")
    return {"cpu_s": usage.ru_utime + usage.ru_stime, **json.loads(text), "error": error}


def measure(network, folder, rounds):
    """{precision: {way: {quantity: median}}}"""
    prepare(network, folder)
    found = {}
    for precision in ("fp32", "bf16"):
        ways = [way for way in WAYS if precision == "fp32" or way != "onnxruntime"]  # it has no bf16 kernels on x86
        seen = {way: [] for way in ways}
        for i in range(rounds):
            for way in ways[i % len(ways) :] + ways[: i % len(ways)]:
                seen[way].append(first_result(way, precision, folder))
        found[precision] = {
            way: {key: median(one[key] for one in each) for key in each[0]} for way, each in seen.items()
        }
    return found


def rows(found):
    """(check, seen, bar, whether it holds) of {network: {precision: {way: facts}}}"""
    for bar in BARS:
        for precision, most in bar.most.items():
            ratios = {
                network: each[precision][bar.way][bar.quantity] / each[precision][bar.peer][bar.quantity]
                for network, each in found.items()
            }
            what = "CPU time" if bar.quantity == "cpu_s" else "peak memory"
            seen = ", ".join(f"{network} {ratio:.2f}" for network, ratio in ratios.items())
            yield (
                f"{what} from {bar.way}, {precision}, of {bar.peer}'s",
                seen,
                f"<= {most:.2f}",
                max(ratios.values()) <= most,
            )
    own = {
        f"{network} {precision}": each[precision]["plan"]["own_mb"]
        for network, each in found.items()
        for precision in each
    }
    seen = ", ".join(f"{name} {size:.0f}" for name, size in own.items())
    yield "MB of its own of a process with a plan", seen, f"<= {MOST_OWN_MB}", max(own.values()) <= MOST_OWN_MB


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--networks", nargs="+", default=NETWORKS, choices=NETWORKS)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "benchmarks" / "start_up")
    parser.add_argument("--output", type=Path, help="figures as JSON")
    options = parser.parse_args()
    cpu = amp.cpu_info()
    print(f"CPU: {cpu['cpu']}, {cpu['isa']}, oneDNN {cpu['onednn']}; one thread, batch 1, {options.rounds} rounds")
    found = {}
    for network in options.networks:
        found[network] = measure(network, options.folder / network, options.rounds)
        for precision, ways in found[network].items():
            for way, facts in ways.items():
                memory = f"peak {facts['peak_mb']:.0f} MB, own {facts['own_mb']:.0f} MB"
                print(f"{network} {precision} {way}: {facts['cpu_s']:.2f} s of CPU, {memory}", flush=True)
    all_hold = True
    for check, seen, bar, holds in rows(found):
        all_hold &= holds
        print(f"{'ok  ' if holds else 'FAIL'} {check}: {seen} (bar: {bar})")
    if options.output:
        options.output.write_text(json.dumps({"cpu": cpu, "found": found}, indent=1))
    return 0 if all_hold else 1


if __name__ == "__main__":
    sys.exit(main())
