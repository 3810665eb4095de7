"""`amp run` and `amp profile`."""

import os
import statistics
import time

import numpy as np

from .._facts_text import shape_text
from .._model_files import find_model
from ..base import ArgumentError, cpu_info, dtype_name
from ..executor import Executor
from . import models, outputs
from .inputs import arrays_of, arrays_of_bound
from .progress import tuning


def run(options):
    """`amp run`"""
    if options.repeat < 0:
        raise ArgumentError(f"--repeat: expected 0 or more, got {options.repeat}")
    output = options.output and outputs.output_file(options.output, [".npz", ".npy", ".params"], options.force)
    files, executor, arrays = _bound(options)
    if output and output.endswith(".npy") and len(executor.output_names) > 1:
        raise ArgumentError(
            f"-o {output}: .npy holds one array, and the model has {len(executor.output_names)} outputs"
        )
    results = dict(zip(executor.output_names, executor(arrays)))
    if output:
        outputs.write_arrays(output, results)
    seconds = [_timed(executor, arrays) for _ in range(options.repeat)]
    steps = executor.audit() if options.audit else None
    if options.json:
        outputs.print_json("run", _facts(files, executor, results, seconds, output) | {"audit": steps})
        return
    for name, result in results.items():
        print(f"{name}: {shape_text(result.shape)} {dtype_name(result.dtype)}")
        _print_scores(result.asnumpy())
    if output:
        print(f"wrote {output}")
    if seconds:
        median = 1000 * statistics.median(seconds)
        print(f"{median:.2f} ms per run (median of {len(seconds)}, {conditions(executor.summary.num_threads)})")
    if steps is not None:
        _print_audit(steps)


def _print_audit(steps):
    """What each step of the last run executed, and what of it was not planned."""
    for step in steps:
        types = ", ".join(f"{operand} {dtype}" for operand, dtype in step["dtypes"].items())
        fused = "".join(f" + {op}" for op in step["post_ops"])
        print(f"{step['node']}: {step['kind']} {step['implementation']} ({types}){fused}")
        if step["why_float32"]:
            print(f"  in float32: {step['why_float32']}")
        if not step["equal"]:
            print(f"  not as planned: {step['difference']}")
    different = sum(not step["equal"] for step in steps)
    print(f"audit: {len(steps)} steps ran, {different or 'none'} of them otherwise than planned")


def profile(options):
    """`amp profile`"""
    output = options.output and outputs.output_file(options.output, [".html"], options.force)
    files, executor, arrays = _bound(options)
    found = executor.profile(arrays, runs=options.runs)
    if output:
        title = ", ".join(text for text in (os.path.basename(files[0]), options.to, cpu_info()["isa"]) if text)
        found.save_html(output, title=f"amp profile: {title}")
    if options.json:
        outputs.print_json("profile", {"files": list(files), "wrote": output, **found.to_dict()})
        return
    print(found)
    if output:
        print(f"wrote {output}")


def _bound(options):
    """(the model's files, Executor, {input: array})"""
    if models.is_plan(options.model):
        executor = models.load_plan(options)
        return (options.model,), executor, arrays_of_bound(options, executor)
    files = find_model(options.model, options.params, options.epoch)
    model = models.load(files)
    arrays = arrays_of(options, model)
    return files, bound(model, arrays, options, _reduced(options), options.threads), arrays


def _reduced(options):
    return {"target_dtype": options.to, "emulate": options.emulate} if options.to else None


def bound(model, arrays, options, reduce_precision, threads):
    """The Executor of a model for these arrays; `options` are those of `commands.add_plan_options`."""
    with tuning(options.tune):
        return Executor(
            *model,
            {name: array.shape for name, array in arrays.items()},
            input_dtypes={name: array.dtype for name, array in arrays.items()},
            backend=options.backend,
            mode=options.mode,
            reduce_precision=reduce_precision,
            num_threads=threads,
            tiling_accum=options.tiling_accum,
            tile_k=options.tile_k,
            machine=options.machine,
            tune=options.tune,
        )


def _timed(executor, arrays):
    """Seconds of one run."""
    start = time.perf_counter()
    executor(arrays)
    return time.perf_counter() - start


def conditions(threads):
    """What times were measured with."""
    return f"{threads} thread{'' if threads == 1 else 's'}, {cpu_info()['isa']}"


def _facts(files, executor, results, seconds, output):
    return {
        "files": list(files),
        "outputs": [
            {
                "name": name,
                "shape": list(result.shape),
                "dtype": dtype_name(result.dtype),
                "best_classes": _best_classes(result.asnumpy()),
            }
            for name, result in results.items()
        ],
        "runs": len(seconds),
        "median_seconds": statistics.median(seconds) if seconds else None,
        "threads": executor.summary.num_threads,
        "isa": cpu_info()["isa"],
        "wrote": output,
    }


def _best_classes(values):
    """[[(class, score)]] of the first rows, the five largest of each, where the array looks like scores of classes."""
    if values.ndim != 2 or not 2 <= values.shape[1] <= 100_000 or values.shape[0] > 1000:
        return []
    rows = values[:4].astype(np.float32)
    return [[(int(i), float(row[i])) for i in np.argsort(-row, kind="stable")[:5]] for row in rows]


def _print_scores(values):
    shown = _best_classes(values)
    for row in shown:
        print("  best classes: " + ", ".join(f"{index} ({score:.4g})" for index, score in row))
    if shown and values.shape[0] > len(shown):
        print(f"  ... ({values.shape[0] - len(shown)} more rows)")
