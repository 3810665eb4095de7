"""What the command `amp` does: inspect, convert, why, diff, run, profile, demo, calibrate."""

import argparse
import glob
import json
import os
import statistics
import sys
import time
import warnings
import zipfile

import numpy as np

from . import _core, checkpoint, comparison, conversion, demo, inspection, report
from ._facts_text import print_facts, shape_text, size_text
from ._options import OPTIONS
from .base import ArgumentError, Error, cpu_info, dtype_name
from .executor import Executor, with_tiling

USER_ERROR = 2
INTERRUPTED = 130


def parse(arguments):
    """Options of a command line. Ends the process, as argparse does, where they are wrong."""
    return _parser().parse_args(arguments)


def run(options):
    """Runs the chosen command; returns the exit code."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_note
            options.command(options)
        sys.stdout.flush()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `amp inspect ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Error, OSError) as error:
        if os.environ.get("AMP_VERBOSE", "0") not in ("", "0"):
            raise
        is_file = isinstance(error, OSError) and error.filename is not None and error.strerror
        text = f"{os.fsdecode(error.filename)}: {error.strerror}" if is_file else str(error)
        text = " ".join(line.strip() for line in text.splitlines() if line.strip())
        print(f"amp: error: {text or type(error).__name__}", file=sys.stderr)
        return USER_ERROR


def _show_note(message, *_):
    print(f"amp: note: {message}", file=sys.stderr)


class _PrintVersion(argparse.Action):
    """Asks for versions only where they are wanted: that takes longer than the rest of the parser."""

    def __call__(self, parser, *_):
        from . import __version__

        print(f"amp {__version__}, oneDNN {_core.cpu_info()['onednn']}")
        parser.exit()


def _parser():
    parser = argparse.ArgumentParser(prog="amp", description="Inspect, convert and run Apache MXNet models.")
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="show the versions of amp and oneDNN and exit")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_inspect(commands)
    _add_convert(commands)
    _add_why(commands)
    _add_diff(commands)
    _add_run(commands)
    _add_profile(commands)
    _add_demo(commands)
    _add_calibrate(commands)
    return parser


def _add_command(commands, name, function, summary):
    command = commands.add_parser(name, help=summary, description=summary)
    command.set_defaults(command=function)
    return command


def _add_inspect(commands):
    command = _add_command(commands, "inspect", inspect_model, "Show what a model or a file consists of.")
    command.add_argument("file", help="symbol file (.json), or a parameter file alone (.params, .npz, .npy)")
    command.add_argument("params", nargs="?", help="parameter file of the symbol")
    text = "data=1x3x224x224 or data=1x3x224x224:float32: shape (and dtype) of an input"
    _add_inputs(command, "--input", text, "--shape")
    command.add_argument("--json", action="store_true", help="print all facts as JSON")


def _add_convert(commands):
    command = _add_command(commands, "convert", convert_files, "Convert a model to low precision.")
    command.add_argument("symbol", help="symbol file (.json)")
    command.add_argument("params", help="parameter file (.params)")
    _add_conversion(command)
    _add_tiling(command)
    command.add_argument("--report", metavar="FILE.json", help="write what was done and why")
    command.add_argument(
        "-o", "--output", required=True, metavar="PREFIX", help="writes PREFIX-symbol.json, PREFIX-0000.params"
    )


def _add_conversion(command):
    """What says how a model is converted."""
    _add_inputs(command, "--input", "data:float32 or data=1x3x224x224:float32: dtype of an input (default: float32)")
    for name, option in OPTIONS.items():
        if option.flag:
            command.add_argument(option.flag, dest=name, **option.argument)


def _add_why(commands):
    command = _add_command(commands, "why", explain, "Say why a tensor is in the precision that it is in.")
    command.add_argument(
        "model", help="report file of `amp convert --report`, or symbol file or prefix of a model to convert"
    )
    command.add_argument("tensor", help="name of a tensor, node or parameter")
    command.add_argument("--params", metavar="FILE", help="parameter file (default: the one beside the symbol file)")
    _add_conversion(command)


def _add_diff(commands):
    command = _add_command(commands, "diff", diff_models, "Show casts and dtypes in which two models differ.")
    command.add_argument("first", help="symbol file or prefix of a model")
    command.add_argument("second", help="the other one")


def _add_run(commands):
    command = _add_command(commands, "run", run_files, "Run a model.")
    _add_binding(command)
    command.add_argument("--repeat", type=int, default=10, metavar="N", help="timed runs after the first (default: 10)")
    command.add_argument("-o", "--output", metavar="FILE.npz", help="write the outputs, by name")


def _add_profile(commands):
    summary = "Show where the time of a model's runs goes, step by step."
    command = _add_command(commands, "profile", profile_files, summary)
    _add_binding(command)
    command.add_argument("--runs", type=int, default=20, metavar="N", help="measured runs (default: 20)")
    command.add_argument(
        "-o", "--output", default="amp-profile.html", metavar="FILE.html", help="the chart (default: amp-profile.html)"
    )


def _add_binding(command):
    """What says which model runs, on which inputs and how."""
    command.add_argument("symbol", help="symbol file (.json)")
    command.add_argument("params", help="parameter file (.params)")
    command.add_argument("--input", action="append", default=[], metavar="NAME=FILE.npy", help="array of an input")
    _add_inputs(command, "--random", "data=1x3x224x224[:float32]: seeded random numbers for an input")
    command.add_argument("--to", metavar="DTYPE", help="convert before running: bfloat16 or float16")
    command.add_argument("--emulate", action="store_true", help="convert even if the CPU has no such arithmetic")
    command.add_argument("--backend", choices=("onednn", "reference"))
    command.add_argument(
        "--mode", choices=("fast", "exact"), default="fast", help="exact: every node as if it ran alone"
    )
    command.add_argument("--threads", type=int, metavar="N")
    command.add_argument(
        "--machine", default="this", metavar="MACHINE", help="'this' (default), 'any', a class or a machine file"
    )
    command.add_argument(
        "--tune", action="store_true", help="time kernels first, and keep the fastest in the machine's file"
    )
    _add_tiling(command)


def _add_tiling(command):
    """How dense layers and matrix products are summed."""
    command.add_argument(
        "--tiling-accum",
        choices=("fp32", "bf16"),
        help="sum products in tiles, and add up the tiles in this dtype (needs --tile-k)",
    )
    command.add_argument("--tile-k", type=int, metavar="N", help="products in a tile")


def _add_demo(commands):
    command = _add_command(commands, "demo", demo.main, "Convert a trained model and compare.")
    command.add_argument("--data", metavar="DIR", help="folder of the digits model (default: examples/digits)")
    command.add_argument("--quick", action="store_true", help="leave the timing of ResNet-50 out")


def _add_calibrate(commands):
    summary = "Measure this machine for some minutes, so that conversions know what pays on it."
    command = _add_command(commands, "calibrate", calibrate, summary)
    command.add_argument(
        "-o", "--output", metavar="FILE.json", help="the machine file (default: where executors look for it)"
    )


def _add_inputs(command, flag, text, *aliases):
    command.add_argument(
        flag, *aliases, action="append", default=[], type=input_spec, dest="inputs", metavar="INPUT", help=text
    )


def input_spec(text):
    """'data=1x3x224x224:float32' -> ('data', (1, 3, 224, 224), 'float32'); shape and dtype may be None."""
    name, equals, rest = text.partition("=")
    if not equals:
        name, colon, dtype = text.rpartition(":")
        name, dtype = (name, dtype) if colon else (text, None)
        return _checked_spec(text, name, None, dtype)
    shape, _, dtype = rest.partition(":")
    try:
        dims = tuple(int(dim) for dim in shape.replace(",", "x").split("x") if dim != "")
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a shape such as 1x3x224x224, got {shape!r}") from None
    return _checked_spec(text, name, dims, dtype or None)


def _checked_spec(text, name, dims, dtype):
    if not name or dims == () or any(dim < 0 for dim in dims or ()):
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=1x3x224x224, NAME=SHAPE:DTYPE or NAME:DTYPE")
    try:
        return name, dims, dtype_name(dtype) if dtype else None
    except ArgumentError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


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
    if _keeps_small_numbers(record, options.tensor):
        mode = _core.alternate_settings()["mode"]
        print(f"  its node keeps numbers below 1.18e-38 (mode {mode}, docs/small_numbers.md)")


def _keeps_small_numbers(record, name):
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

    path = options.output or _core.machine_file_path(0)
    if not path:
        raise ArgumentError("there is no folder for caches (neither XDG_CACHE_HOME nor HOME is set); pass -o FILE")
    print("measuring small models for some minutes; the machine should do nothing else")
    steps = _calibration.measure(_show_progress)
    print()
    unsteady = statistics.median(step["mean_seconds"] / step["min_seconds"] for step in steps if step["min_seconds"])
    if unsteady > _UNSTEADY:
        print(f"amp: note: others use this machine: steps took {unsteady:.2f} times their best times", file=sys.stderr)
    info = cpu_info()
    machine = _machine_file.machine_file(steps, f"{info['isa']}-calibrated", "amp calibrate")
    machine.update(_tuned(path))
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(machine, file, separators=(",", ":"))
    speeds = ", ".join(f"{dtype} {speed / 1e9:.0f}" for dtype, speed in machine["flops_per_second"].items())
    print(f"  steps: {len(steps)}; GFLOP/s of products: {speeds}")
    print(f"wrote {path}")


def _tuned(path):
    """What timing chose, of the file that is to be replaced."""
    try:
        with open(path, encoding="utf-8") as file:
            old = json.load(file)
    except (OSError, ValueError):
        return {}
    return {"tuned": old["tuned"]} if isinstance(old, dict) and "tuned" in old else {}


_UNSTEADY = 1.6


def _show_progress(done):
    print(f"\r  {100 * done:3.0f} %", end="", flush=True)
