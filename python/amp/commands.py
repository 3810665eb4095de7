"""The command line of `amp`: its commands, their options, and how they end."""

import argparse
import os
import sys
import warnings

from . import _actions, _core, demo
from ._options.conversion import OPTIONS
from .base import ArgumentError, Error, dtype_name

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
    command = _add_command(commands, "inspect", _actions.inspect_model, "Show what a model or a file consists of.")
    command.add_argument("file", help="symbol file (.json), or a parameter file alone (.params, .npz, .npy)")
    command.add_argument("params", nargs="?", help="parameter file of the symbol")
    text = "data=1x3x224x224 or data=1x3x224x224:float32: shape (and dtype) of an input"
    _add_inputs(command, "--input", text, "--shape")
    command.add_argument("--json", action="store_true", help="print all facts as JSON")


def _add_convert(commands):
    command = _add_command(commands, "convert", _actions.convert_files, "Convert a model to low precision.")
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
    command = _add_command(commands, "why", _actions.explain, "Say why a tensor is in the precision that it is in.")
    command.add_argument(
        "model", help="report file of `amp convert --report`, or symbol file or prefix of a model to convert"
    )
    command.add_argument("tensor", help="name of a tensor, node or parameter")
    command.add_argument("--params", metavar="FILE", help="parameter file (default: the one beside the symbol file)")
    _add_conversion(command)


def _add_diff(commands):
    command = _add_command(commands, "diff", _actions.diff_models, "Show casts and dtypes in which two models differ.")
    command.add_argument("first", help="symbol file or prefix of a model")
    command.add_argument("second", help="the other one")


def _add_run(commands):
    command = _add_command(commands, "run", _actions.run_files, "Run a model.")
    _add_binding(command)
    command.add_argument("--repeat", type=int, default=10, metavar="N", help="timed runs after the first (default: 10)")
    command.add_argument("-o", "--output", metavar="FILE.npz", help="write the outputs, by name")


def _add_profile(commands):
    summary = "Show where the time of a model's runs goes, step by step."
    command = _add_command(commands, "profile", _actions.profile_files, summary)
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
    command.add_argument("--data", metavar="DIR", help="folder of the digits model (default: the one in this package)")
    command.add_argument("--quick", action="store_true", help="leave the timing of ResNet-50 out")


def _add_calibrate(commands):
    summary = "Measure this machine for some minutes, so that conversions know what pays on it."
    command = _add_command(commands, "calibrate", _actions.calibrate, summary)
    command.add_argument(
        "-o", "--output", metavar="FILE.json", help="the machine file (default: where executors look for it)"
    )
    text = "measure all of it so many times, and keep the least times: for machines that others use (default: 1)"
    command.add_argument("--rounds", type=int, default=1, metavar="N", help=text)


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
