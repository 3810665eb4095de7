"""What the commands of `amp` do: inspect, convert, why, diff, run, profile, calibrate."""

import glob
import json
import os
import statistics
import sys
import time
import warnings
import zipfile

import numpy as np

from . import _core, checkpoint, comparison, conversion, inspection, report
from ._facts_text import print_facts, shape_text, size_text
from ._options.conversion import OPTIONS
from .base import ArgumentError, cpu_info, dtype_name
from .executor import Executor, with_tiling

# ---- inspect ----


def inspect_model(options):
    """`amp inspect`"""
    shapes = {name: shape for name, shape, _ in options.inputs if shape}
    dtypes = {name: dtype for name, _, dtype in options.inputs if dtype}
    facts = inspection.describe(options.file, options.params, shapes, dtypes)
    if options.json:
        print(json.dumps(facts, indent=2))
        return
    print_facts(facts)


# ---- convert, why, diff ----


def convert_files(options):
    """`amp convert`"""
    if options.params.endswith(".json") and not options.symbol.endswith(".json"):
        raise ArgumentError(f"the symbol file comes first: {options.params} {options.symbol}")
    print(f"reading {options.symbol} and {options.params}")
    model = checkpoint.load(options.symbol, options.params)
    print(f"converting {len(model[0].get_internals().list_outputs())} tensors to {options.target_dtype}")
    *converted, record = _converted(model, options)
    converted[0] = with_tiling(converted[0], options.tiling_accum, options.tile_k)
    checkpoint.save_checkpoint(options.output, 0, *converted)
    totals = record.totals
    before, after = totals["parameters"]["bytes_before"], totals["parameters"]["bytes_after"]
    results = [tensor for tensor in record.tensors if tensor["kind"] == "result" and "float" in tensor["dtype"]]
    low = sum(tensor["dtype"] == record.options["target_dtype"] for tensor in results)
    print(f"  results in {options.target_dtype}: {low} of {len(results)}")
    if record.options["fold_batch_norm"]:
        print(f"  batch norms folded:  {len(record.folded)} of {len(record.folded) + len(record.not_folded)}")
    print(f"  casts in the graph:  {totals['casts']['run_time']}")
    hint = "" if options.cast_params_offline else " (see --offline)"
    print(f"  parameters cast:     {totals['casts']['offline']} of {totals['parameters']['after']}{hint}")
    print(f"  parameter bytes:     {size_text(before)} -> {size_text(after)}")
    if record.note_on_mxnet:
        print(f"  note: {record.note_on_mxnet}")
    print(f"wrote {options.output}-symbol.json and {options.output}-0000.params")
    if options.report:
        record.save(options.report)
        print(f"wrote {options.report}")


def _converted(model, options):
    """(Symbol, arguments, auxiliary states, ConversionReport)"""
    return conversion.convert_model(
        *model,
        {name: dtype or "float32" for name, _, dtype in options.inputs},
        **{name: getattr(options, name) for name, option in OPTIONS.items() if option.flag},
        input_shapes={name: shape for name, shape, _ in options.inputs if shape},
        return_report=True,
    )


def explain(options):
    """`amp why`"""
    record = _record(options)
    print(record.why(options.tensor))
    if _keeps_denormals(record, options.tensor):
        mode = _core.alternate_settings()["mode"]
        print(f"  its node keeps numbers below 1.18e-38 (mode {mode}, docs/denormals.md)")


def _keeps_denormals(record, name):
    try:
        tensor = record.tensor(name)
    except ArgumentError:  # a batch norm that became part of another node
        return False
    phase = {"gradient": "backward", "result": "forward"}.get(tensor["kind"])
    return tensor["dtype"] == "bfloat16" and phase is not None and _core.alternate_settings()[phase]


def _record(options):
    """The report of a conversion: a file, or that of converting the model now."""
    if os.path.isfile(options.model):
        try:
            return report.ConversionReport.load(options.model)
        except (ArgumentError, UnicodeDecodeError):
            pass  # a symbol file, then
    model = _load_model(options.model, options.params)
    if "amp_cast" in model[0].tojson():
        warnings.warn("the model has casts already; this is what converting it again does", stacklevel=1)
    return _converted(model, options)[-1]


def _load_model(model, params=None):
    """Loads the model of a symbol file or of the prefix of a checkpoint."""
    if model.endswith((".params", ".npz")):
        raise ArgumentError(f"{model}: expected a symbol file (.json) or the prefix of a model, not parameters")
    symbol_file = model if os.path.isfile(model) else f"{model}-symbol.json"
    if not os.path.isfile(symbol_file):
        raise ArgumentError(f"there is neither a file {model} nor {symbol_file}")
    if params is None:
        stem = symbol_file.removesuffix("-symbol.json").removesuffix(".json")
        found = sorted(glob.glob(f"{glob.escape(stem)}-[0-9]*.params") or glob.glob(f"{glob.escape(stem)}.params"))
        if not found:
            raise ArgumentError(f"{symbol_file}: there is no parameter file {stem}-0000.params")
        params = found[-1]
    return checkpoint.load(symbol_file, params)


_SHOWN = 40


def diff_models(options):
    """`amp diff`"""
    found = comparison.compare(_load_model(options.first), _load_model(options.second))
    if not found["common"]:
        print("the models have no tensor and no parameter in common")
    for title, casts in found["casts"].items():
        _print_some(f"casts {title}", [(name, f"to {dtype}") for name, dtype in casts.items()])
    for title in ("tensors", "parameters"):
        changed = found[title]["changed"]
        _print_some(
            f"{title} of another dtype", [(name, f"{a or '?'} -> {b or '?'}") for name, (a, b) in changed.items()]
        )
        _print_some(f"{title} only in the first", [(name, "") for name in found[title]["only_first"]])
        _print_some(f"{title} only in the second", [(name, "") for name in found[title]["only_second"]])
    if found["equal"]:
        print("no differences in casts, dtypes and names")
    sizes = [" + ".join(f"{size_text(size)} {name}" for name, size in sorted(one.items())) for one in found["bytes"]]
    print(f"parameter bytes: {sizes[0] or '0 bytes'} -> {sizes[1] or '0 bytes'}")


def _print_some(title, rows):
    """Pairs (name, what of it) as a table."""
    if not rows:
        return
    print(f"{title} ({len(rows)})")
    width = max(len(name) for name, _ in rows[:_SHOWN])
    for name, text in rows[:_SHOWN]:
        print(f"  {name:<{width}}  {text}".rstrip())
    if len(rows) > _SHOWN:
        print(f"  ... and {len(rows) - _SHOWN} more")


# ---- run ----


def run_files(options):
    """`amp run`"""
    if options.repeat < 0:
        raise ArgumentError(f"--repeat: expected 0 or more, got {options.repeat}")
    executor, arrays = _bound(options)
    outputs = executor(arrays)
    for name, output in zip(executor.output_names, outputs):
        print(f"{name}: {shape_text(output.shape)} {dtype_name(output.dtype)}")
        _print_scores(output.asnumpy())
    if options.output:
        np.savez(options.output, **{name: _storable(o) for name, o in zip(executor.output_names, outputs)})
        print(f"wrote {options.output}")
    if options.repeat:
        seconds = [timed(executor, arrays) for _ in range(options.repeat)]
        print(
            f"{1000 * statistics.median(seconds):.2f} ms per run (median of {options.repeat}, {_conditions(executor)})"
        )


def profile_files(options):
    """`amp profile`"""
    executor, arrays = _bound(options)
    profile = executor.profile(arrays, runs=options.runs)
    print(profile)
    conditions = ", ".join(text for text in (os.path.basename(options.symbol), options.to, cpu_info()["isa"]) if text)
    profile.save_html(options.output, title=f"amp profile: {conditions}")
    print(f"wrote {options.output}")


def _bound(options):
    """(Executor, {input: array})"""
    arrays = {**_random_arrays(options.inputs), **_arrays_from_files(options.input)}
    executor = Executor(
        *checkpoint.load(options.symbol, options.params),
        {name: array.shape for name, array in arrays.items()},
        input_dtypes={name: array.dtype for name, array in arrays.items()},
        backend=options.backend,
        mode=options.mode,
        reduce_precision={"target_dtype": options.to, "emulate": options.emulate} if options.to else None,
        num_threads=options.threads,
        tiling_accum=options.tiling_accum,
        tile_k=options.tile_k,
        machine=options.machine,
        tune=options.tune,
    )
    return executor, arrays


def timed(executor, arrays):
    """Seconds of one run."""
    start = time.perf_counter()
    executor(arrays)
    return time.perf_counter() - start


def _conditions(executor):
    threads = executor.summary.num_threads
    return f"{threads} thread{'' if threads == 1 else 's'}, {cpu_info()['isa']}"


def _random_arrays(specs):
    arrays = {}
    for name, shape, dtype in specs:
        if shape is None:
            raise ArgumentError(f"--random {name}: a shape is needed, such as {name}=1x3x224x224")
        values = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
        arrays[name] = values if dtype is None else values.astype(_core.numpy_dtype(dtype))
    return arrays


def _arrays_from_files(specs):
    arrays = {}
    for spec in specs:
        name, equals, path = spec.partition("=")
        if not equals or not name or not path:
            raise ArgumentError(f"--input {spec}: expected NAME=FILE.npy")
        try:
            loaded = np.load(path, allow_pickle=False)
        except (ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ArgumentError(f"{path}: {error}") from None
        if not isinstance(loaded, np.ndarray):
            raise ArgumentError(f"{path} holds several arrays; --input takes a .npy file with one")
        arrays[name] = loaded
    return arrays


def _storable(array):
    """NumPy's files have no bfloat16: such outputs are stored as float32, which holds every value."""
    return array.astype("float32").asnumpy() if dtype_name(array.dtype) == "bfloat16" else array.asnumpy()


def _print_scores(values):
    """The five largest of each of the first rows, if the array looks like scores of classes."""
    if values.ndim != 2 or not 2 <= values.shape[1] <= 100_000 or values.shape[0] > 1000:
        return
    shown = min(values.shape[0], 4)
    for row in values[:shown].astype(np.float32):
        best = np.argsort(-row, kind="stable")[:5]
        print("  best classes: " + ", ".join(f"{index} ({row[index]:.4g})" for index in best))
    if values.shape[0] > shown:
        print(f"  ... ({values.shape[0] - shown} more rows)")


# ---- calibrate ----


def calibrate(options):
    """`amp calibrate`"""
    from . import _calibration, _machine_file  # needed here only

    if options.rounds < 1:
        raise ArgumentError(f"--rounds: expected 1 or more, got {options.rounds}")
    path = options.output or _core.machine_file_path(0)
    if not path:
        raise ArgumentError("there is no folder for caches (neither XDG_CACHE_HOME nor HOME is set); pass -o FILE")
    times = "some minutes" if options.rounds == 1 else f"some minutes, {options.rounds} times"
    print(f"measuring small models for {times}; the machine should do nothing else")
    steps = _calibration.measure(_show_progress, options.rounds)
    print()
    unsteady = statistics.median(step["mean_seconds"] / step["min_seconds"] for step in steps if step["min_seconds"])
    if unsteady > _UNSTEADY:
        print(f"amp: note: others use this machine: steps took {unsteady:.2f} times their best times", file=sys.stderr)
    info = cpu_info()
    machine = _machine_file.machine_file(steps, f"{info['isa']}-calibrated", "amp calibrate")
    machine.update(_tuned(path))
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(_machine_file.text_of(machine))
    speeds = ", ".join(f"{dtype} {speed / 1e9:.0f}" for dtype, speed in machine["flops_per_second"].items())
    print(f"  steps: {len(steps)}; GFLOP/s of products: {speeds}")
    print(f"wrote {path}")


def _tuned(path):
    """What timing chose, of the file that is to be replaced; nothing of an earlier version, whose kernels had other
    names.
    """
    from . import _machine_file  # needed here only

    try:
        with open(path, encoding="utf-8") as file:
            old = json.load(file)
    except (OSError, ValueError):
        return {}
    is_current = isinstance(old, dict) and old.get("version") == _machine_file.VERSION
    return {"tuned": old["tuned"]} if is_current and "tuned" in old else {}


_UNSTEADY = 1.6


def _show_progress(done):
    print(f"\r  {100 * done:3.0f} %", end="", flush=True)
