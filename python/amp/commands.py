"""The command line of `amp`: its commands, their options, and how they end."""

import argparse
import os
import sys
import warnings

from . import _core, demo
from ._cli import (
    bench,
    bench_subjects,
    calibrating,
    comparing,
    compiling,
    converting,
    graph,
    inspecting,
    operators,
    running,
    serving,
)
from ._cli.inputs import file_spec, random_spec, type_spec
from ._options.conversion import OPTIONS, TARGETS
from .base import Error, did_you_mean, one_line

DONE, INTERNAL_ERROR, USER_ERROR, INTERRUPTED = 0, 1, 2, 130

EXIT_CODES = {
    DONE: "done",
    INTERNAL_ERROR: "a check of `amp compare` failed; with a traceback, an error of this program: please report it",
    USER_ERROR: "wrong options, a file or model that cannot be used, or too little memory: one line says what",
    INTERRUPTED: "interrupted (ctrl-C)",
}


def parse(arguments):
    """Options of a command line. Ends the process, as argparse does, where they are wrong."""
    return parser().parse_args(arguments)


def run(options):
    """Runs the chosen command; returns the exit code, one of EXIT_CODES."""
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_note
            code = options.command(options)
        sys.stdout.flush()
        return code or DONE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `amp inspect ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except _core.InternalError:
        raise  # Python shows the traceback and ends with INTERNAL_ERROR
    except (Error, OSError, MemoryError) as error:
        if os.environ.get("AMP_VERBOSE", "0") not in ("", "0"):
            raise
        print(f"amp: error: {one_line(error)}", file=sys.stderr)
        return USER_ERROR


def _show_note(message, *_):
    print(f"amp: note: {message}", file=sys.stderr)


# ---- the parser ----


class _Parser(argparse.ArgumentParser):
    """Tells a mistake in one line, with the command whose help has more."""

    def __init__(self, **options):
        super().__init__(**options, allow_abbrev=False)
        self._is_intermixed = False

    def parse_known_args(self, args=None, namespace=None):
        """Options may stand between the names of files, too, which argparse does where it is asked to."""
        if self._subparsers is not None or self._is_intermixed:
            return super().parse_known_args(args, namespace)
        self._is_intermixed = True
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_intermixed = False

    def error(self, message):
        self.exit(USER_ERROR, f"{self.prog}: error: {' '.join(message.split())} (see `{self.prog} --help`)\n")

    def _check_value(self, action, value):
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            hint = did_you_mean(value, map(str, action.choices))
            raise argparse.ArgumentError(action, f"{error.message}{hint}") from None


class _PrintVersion(argparse.Action):
    """Asks for versions only where they are wanted: that takes longer than the rest of the parser."""

    def __call__(self, parser, *_):
        from . import __version__

        print(f"amp {__version__}, oneDNN {_core.cpu_info()['onednn']}")
        parser.exit()


class _PrintCompletion(argparse.Action):
    """Prints what a shell needs to complete commands and options; shtab makes it."""

    def __call__(self, parser, _namespace, shell, *_):
        try:
            import shtab
        except ImportError:
            parser.error("--print-completion needs shtab: pip install 'nnvm-amp[completion]'")
        print(shtab.complete(parser, shell))
        parser.exit()


class _Refused(argparse.Action):
    """An option of other commands that says something else here."""

    def __init__(self, *args, why, **options):
        super().__init__(*args, help=argparse.SUPPRESS, **options)
        self._why = why

    def __call__(self, parser, _namespace, value, *_):
        raise argparse.ArgumentError(self, self._why.format(value))


def parser():
    """The parser of the whole command line; `parser().parse_args(...)` gives what `run` takes."""
    codes = "\n".join(f"  {code:<5} {meaning}" for code, meaning in EXIT_CODES.items())
    whole = _Parser(
        prog="amp",
        description="Inspect, convert and run Apache MXNet models.",
        epilog="MODEL is the prefix of MODEL-symbol.json and MODEL-NNNN.params, or a symbol file with a parameter\n"
        f"file behind it or beside it. `amp COMMAND --help` describes a command.\n\nexit codes:\n{codes}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    whole.add_argument("--version", action=_PrintVersion, nargs=0, help="show the versions of amp and oneDNN and exit")
    whole.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=("bash", "zsh", "tcsh"),
        help="print a script that completes commands and options in this shell (needs shtab)",
    )
    commands = whole.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for add in (
        _add_inspect,
        _add_convert,
        _add_why,
        _add_diff,
        _add_compare,
        _add_sensitivity,
        _add_show,
        _add_operators,
        _add_compile,
        _add_run,
        _add_serve,
        _add_bench,
        _add_profile,
        _add_calibrate,
        _add_demo,
    ):
        add(commands)
    return whole


def _add_command(commands, name, function, summary):
    command = commands.add_parser(name, help=summary, description=summary)
    command.set_defaults(command=function)
    return command


def _add_inspect(commands):
    command = _add_command(commands, "inspect", inspecting.inspect, "Show what a model or a file consists of.")
    _add_model(command, "a prefix, a symbol file (.json), a parameter file alone (.params, .npz, .npy) or a plan")
    _add_types(command)
    command.add_argument("--verify", action="store_true", help="of a plan: compare all constants with their checksums")
    _add_json(command)


def _add_convert(commands):
    command = _add_command(commands, "convert", converting.convert, "Convert a model to low precision.")
    _add_model(command)
    _add_conversion(command)
    _add_tiling(command)
    command.add_argument(
        "--verify",
        action="store_true",
        help="run the converted model on --data and fail where a step adds more than one rounding",
    )
    command.add_argument("--report", metavar="FILE.json", help="write what was done and why")
    command.add_argument(
        "-o", "--output", required=True, metavar="PREFIX", help="write PREFIX-symbol.json and PREFIX-0000.params"
    )
    _add_force(command)
    _add_json(command)


def _add_why(commands):
    command = _add_command(commands, "why", inspecting.why, "Say why a tensor is in the precision that it is in.")
    _add_model(command, "the report of `amp convert --report`, or a prefix or symbol file of a model to convert")
    command.add_argument("tensor", metavar="TENSOR", help="name of a tensor, node or parameter")
    _add_conversion(command)
    _add_json(command)


def _add_diff(commands):
    command = _add_command(commands, "diff", inspecting.diff, "Show casts and dtypes in which two models differ.")
    text = "two models: each a prefix or a symbol file, with a parameter file behind it or beside it"
    command.add_argument("models", nargs="+", metavar="MODEL", help=text)
    _add_page(command, "write a page")


def _add_compare(commands):
    summary = "Run two models on data and compare them tensor by tensor: errors, their shares, suspects."
    command = _add_command(commands, "compare", comparing.compare, summary)
    text = (
        "a float32 model and another one: each a prefix or a symbol file, with a parameter file behind it or beside it"
    )
    command.add_argument("models", nargs="+", metavar="MODEL", help=text)
    _add_named_data(command)
    _add_data(command)
    command.add_argument(
        "--mode",
        choices=("exact", "fast"),
        default="exact",
        help="exact: every node as if it ran alone; fast: as plans run",
    )
    command.add_argument(
        "--limit", type=float, metavar="ERROR", help="end with exit code 1 where the outputs differ by more"
    )
    _add_page(command, "write a page with pictures")


def _add_sensitivity(commands):
    summary = "Say what rounding each tensor alone would do to a model's outputs, on data."
    command = _add_command(commands, "sensitivity", comparing.sensitivity, summary)
    _add_model(command)
    _add_named_data(command)
    _add_data(command)
    command.add_argument("--to", choices=TARGETS, default="bfloat16", help="what is rounded to (default: bfloat16)")
    command.add_argument(
        "--samples", type=int, default=64, metavar="N", help="numbers to average: more mean less noise (default: 64)"
    )
    _add_page(command, "write a page with a chart")


def _add_show(commands):
    command = _add_command(commands, "show", graph.show, "Draw the graph of a model: dtypes, casts and fused nodes.")
    _add_model(command)
    _add_types(command)
    command.add_argument(
        "--machine", default="this", metavar="MACHINE", help="whose plan is shown, where all shapes are known"
    )
    command.add_argument(
        "-o", "--output", required=True, metavar="FILE", help="FILE.html, FILE.svg (needs Graphviz) or FILE.dot"
    )
    _add_force(command)


def _add_operators(commands):
    summary = "List all operators, or those of a model and whether they are supported."
    command = _add_command(commands, "operators", operators.operators, summary)
    command.add_argument("model", nargs="?", metavar="MODEL", help="prefix or symbol file (.json) of a model")
    _add_json(command)


def _add_compile(commands):
    summary = "Bind a model and write a plan file, from which it is bound again at once (docs/serving.md)."
    command = _add_command(commands, "compile", compiling.compile_model, summary)
    _add_model(command)
    _add_types(command)
    _add_precision(command)
    _add_plan_options(command)
    _add_threads(command)
    command.add_argument(
        "--no-source", action="store_true", help="do not go back to the model's files where the plan does not fit"
    )
    command.add_argument(
        "--labels", metavar="FILE.txt", help="names of the output's classes, one in a line, for a service"
    )
    text = "how a service reads an image: (pixel / 255 - MEAN) / STD, channels between slashes; layout NCHW or NHWC"
    command.add_argument("--image", type=compiling.image_spec, metavar="MEAN,STD,LAYOUT", help=text)
    command.add_argument("-o", "--output", required=True, metavar="FILE.plan", help="the plan file")
    _add_force(command)
    _add_json(command)


def _add_binding(command):
    """What a command that binds a model wants to know. Plans are bound: of them `options.binding` may not be given."""
    of_model = _add_model(command)
    _add_data(command)
    _set_binding(command, [*of_model, *_add_precision(command), *_add_plan_options(command), _add_threads(command)])


def _set_binding(command, how):
    """Keeps what says how a model is bound, as (flag, name, default)."""
    flags = [(action.option_strings or [action.metavar])[0] for action in how]
    command.set_defaults(binding=[(flag, action.dest, action.default) for flag, action in zip(flags, how)])


def _add_run(commands):
    command = _add_command(commands, "run", running.run, "Run a model.")
    _add_binding(command)
    command.add_argument("--repeat", type=int, default=10, metavar="N", help="timed runs after the first (default: 10)")
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write the outputs, by name: FILE.npz, FILE.npy (one output), FILE.params",
    )
    command.add_argument("--audit", action="store_true", help="show what the last run executed, read from its kernels")
    _add_force(command)
    _add_json(command)


def _add_serve(commands):
    summary = "Serve a plan over HTTP by the Open Inference Protocol (needs nnvm-amp[serve])."
    command = _add_command(commands, "serve", serving.serve, summary)
    command.add_argument("plan", metavar="PLAN", help="a plan file (Executor.save)")
    command.add_argument("--name", metavar="NAME", help="of the model in paths (default: the file's name)")
    command.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    command.add_argument("--port", type=int, default=8000, metavar="N", help="0: any that is free (default: 8000)")
    text = "runs at once, of each worker (default: as keep the CPUs busy)"
    command.add_argument("--sessions", type=int, metavar="N", help=text)
    command.add_argument("--workers", type=int, default=1, metavar="N", help="processes that serve (default: 1)")
    text = "requests of a worker that may wait; others get 503 (default: 64)"
    command.add_argument("--queue", type=int, default=64, metavar="N", help=text)
    text = "the longest body of a request (default: 67108864)"
    command.add_argument("--limit-bytes", type=int, default=64 << 20, metavar="N", help=text)
    for flag, seconds, text in (
        ("--timeout", 30.0, "a request may wait and run so long, else it gets 504"),
        ("--read-timeout", 10.0, "a request has to arrive in that time, else it gets 408"),
        ("--grace", 20.0, "what is under way when SIGTERM comes may take so long"),
    ):
        command.add_argument(
            flag, type=float, default=seconds, metavar="SECONDS", help=f"{text} (default: {seconds:g})"
        )
    text = "join up to N requests into one run, see amp.Pool (default: 1)"
    command.add_argument("--batch", type=int, default=1, metavar="N", help=text)
    text = "how long the first of them waits for others (default: 0)"
    command.add_argument("--delay", type=float, default=0.0, metavar="SECONDS", help=text)


def _add_profile(commands):
    summary = "Show where the time of a model's runs goes, step by step."
    command = _add_command(commands, "profile", running.profile, summary)
    _add_binding(command)
    command.add_argument("--runs", type=int, default=20, metavar="N", help="measured runs (default: 20)")
    _add_page(command, "write a page with a chart")


def _add_bench(commands):
    summary = "Measure latency, throughput, start and memory; compare models, plans and services run by run in turn."
    command = _add_command(commands, "bench", bench.bench, summary)
    how = _add_model(command, "a prefix, a symbol file (.json) or a plan file; none with --url", nargs="?")
    _add_data(command)
    command.add_argument(
        "--against", nargs="+", default=[], metavar="MODEL", help="a second model (and its parameter file), or a plan"
    )
    text = "a running service, which is asked as well: http://HOST:PORT/v2/models/NAME (Open Inference Protocol)"
    command.add_argument("--url", metavar="URL", help=text)
    text = "comma-separated numbers of calls at once, each on a session of amp.Pool or a connection (default: 1)"
    command.add_argument("--sessions", default="1", metavar="LIST", help=text)
    known = ", ".join(bench_subjects.PRECISIONS)
    text = f"comma-separated: {known} (default: stored; several are compared with the first)"
    how.append(command.add_argument("--precision", default="stored", metavar="LIST", help=text))
    how += _add_plan_options(command)
    text = "comma-separated numbers of threads (default: one per CPU)"
    how.append(command.add_argument("--threads", metavar="LIST", help=text))
    _set_binding(command, how)
    command.add_argument(
        "--warm-up", type=float, default=1.0, metavar="SECONDS", help="of each, before it is timed (default: 1)"
    )
    command.add_argument(
        "--duration", type=float, default=5.0, metavar="SECONDS", help="timed, of each (default: 5; 5 runs at least)"
    )
    _add_json(command)


def _add_calibrate(commands):
    summary = "Measure this machine for some minutes, so that conversions know what pays on it."
    command = _add_command(commands, "calibrate", calibrating.calibrate, summary)
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE.json",
        help="the machine file (default: where executors look for it, which is renewed)",
    )
    text = "measure all of it so many times, and keep the least times: for machines that others use (default: 1)"
    command.add_argument("--rounds", type=int, default=1, metavar="N", help=text)
    _add_force(command)
    _add_json(command)


def _add_demo(commands):
    command = _add_command(commands, "demo", demo.main, "Convert a trained model and compare.")
    command.add_argument("--data", metavar="DIR", help="folder of the digits model (default: the one in this package)")
    command.add_argument("--quick", action="store_true", help="leave the timing of ResNet-50 out")


# ---- options of several commands ----


def _add_model(
    command, text="a prefix (MODEL-symbol.json and the newest MODEL-NNNN.params) or a symbol file (.json)", nargs=None
):
    command.add_argument("model", metavar="MODEL", help=text, nargs=nargs)
    text = "parameter file (default: the newest beside the symbol file)"
    params = command.add_argument("params", nargs="?", metavar="PARAMS", help=text)
    text = "parameters of this epoch instead of the newest"
    return [params, command.add_argument("--epoch", type=int, metavar="N", help=text)]


def _add_types(command):
    text = "type of an input: data=1x3x224x224, data=1x3x224x224:float32 or data:float32 (may be repeated)"
    command.add_argument("--shape", action="append", default=[], type=type_spec, metavar="INPUT", help=text)
    text = "the same, from a file (may be repeated)"
    command.add_argument("--input", action="append", default=[], type=file_spec, metavar="NAME=FILE.npy", help=text)
    command.add_argument("--random", action=_Refused, why="nothing is run here; --shape {0} gives a type")


def _add_named_data(command):
    text = "data of all inputs, arrays by name (numpy.savez)"
    command.add_argument("--data", metavar="FILE.npz", help=text)


def _add_data(command):
    text = "data of an input, from a file (may be repeated)"
    command.add_argument("--input", action="append", default=[], type=file_spec, metavar="NAME=FILE.npy", help=text)
    text = "seeded random data for an input: data=1x3x224x224 or data=1x3x224x224:float32 (may be repeated)"
    command.add_argument("--random", action="append", default=[], type=random_spec, metavar="INPUT", help=text)
    command.add_argument("--shape", action=_Refused, why="a run needs data; --random {0} makes some of this type")


def _add_conversion(command):
    """What says how a model is converted."""
    _add_types(command)
    for name, option in OPTIONS.items():
        if option.flag:
            command.add_argument(option.flag, dest=name, **option.argument)
    command.add_argument(
        "--like",
        metavar="NAME[:FILE]",
        help="the policy of tensorflow, pytorch, onnxconverter, tensorrt or autocast; FILE has what it is told there "
        "(JSON; of tensorrt the text of --layerPrecisions)",
    )


def _add_precision(command):
    text = "convert even if the CPU has no such arithmetic"
    return [
        command.add_argument("--to", choices=TARGETS, help="convert before running"),
        command.add_argument("--emulate", action="store_true", help=text),
    ]


def _add_plan_options(command):
    """What says how a model runs."""
    backend, mode = "reference: obvious loops, to compare with", "exact: every node as if it ran alone"
    machine = "'this' (default), 'any', a class or a machine file"
    tune = "time kernels first, and keep the fastest in the machine's file"
    return [
        command.add_argument("--backend", choices=("onednn", "reference"), help=backend),
        command.add_argument("--mode", choices=("fast", "exact"), default="fast", help=mode),
        command.add_argument("--machine", default="this", metavar="MACHINE", help=machine),
        command.add_argument("--tune", action="store_true", help=tune),
        *_add_tiling(command),
    ]


def _add_threads(command):
    return command.add_argument("--threads", type=int, metavar="N", help="of a run (default: one per CPU)")


def _add_tiling(command):
    """How dense layers and matrix products are summed."""
    text = "sum products in tiles, and add up the tiles in this dtype (needs --tile-k)"
    return [
        command.add_argument("--tiling-accum", choices=("fp32", "bf16"), help=text),
        command.add_argument("--tile-k", type=int, metavar="N", help="products in a tile"),
    ]


def _add_page(command, text):
    """What says where a page goes; `--json` prints what it shows."""
    command.add_argument("-o", "--output", metavar="FILE.html", help=text)
    _add_force(command)
    _add_json(command)


def _add_force(command):
    command.add_argument("--force", action="store_true", help="replace files that exist")


def _add_json(command):
    command.add_argument("--json", action="store_true", help="print all facts as JSON; notes go to stderr")
