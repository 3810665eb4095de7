"""The command: `python -m benchmarks.compare [options]`, started by `make bench`."""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import time
from pathlib import Path

from . import plot, table
from .contestants import CONTESTANTS, PEERS
from .networks import NETWORKS, batches_of
from .prepare import is_prepared
from .processes import ROOT
from .rounds import measure_cell
from .verdicts import cell_name, judge

PASSES = (
    "Simplify",
    "FuseAttention",
    "PropagateStrides",
    "FoldBatchNorm",
    "FusePostOps",
    "AliasConcats",
    "ChooseLayouts",
)


def main(arguments=None):
    options = _options(arguments)
    if options.show:
        run = json.loads(Path(options.show).read_text())
        _finish(run, Path(options.show))
        return
    path = Path(options.json)
    path.parent.mkdir(parents=True, exist_ok=True)
    run = {"started": time.strftime("%Y-%m-%d %H:%M:%S"), "machine": _machine(), "settings": _settings(options)}
    run["cells"], run["void"] = [], []
    for cell in _cells(options):
        _prepare(cell, options.folder)
        print(f"measuring {cell_name(cell)} ...", file=sys.stderr, flush=True)
        attempts = []
        while not attempts or (_is_void(attempts[-1]) and len(attempts) <= options.again):
            attempts.append(judge(measure_cell(cell, _entries(options), options)))
        run["cells"].append(attempts[-1])
        run["void"] += attempts[:-1]
        path.write_text(json.dumps(run, indent=1))  # what has been measured survives an interruption
    _finish(run, path)


def _finish(run, path):
    picture = path.with_suffix(".svg")
    picture.write_text(plot.render(run))
    print(table.render(run))
    print(f"\nall figures: {path}; plot: {picture}")


def _is_void(cell):
    return any(result["void"] for result in cell["results"])


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compare", description=__doc__)
    parser.add_argument("--networks", type=_list(NETWORKS), default=list(NETWORKS), help=",".join(NETWORKS))
    parser.add_argument("--batches", type=_numbers, help="default: 1,16 and for BERT 1,8")
    parser.add_argument("--threads", type=_numbers, default=[2], help="default: 2")
    parser.add_argument("--precisions", type=_list(("fp32", "bf16")), default=["fp32", "bf16"])
    parser.add_argument(
        "--peers", type=_list(PEERS), help=f"default: {','.join(PEERS)}; the last if MXNET_PYTHON is set"
    )
    parser.add_argument(
        "--busy",
        type=_loads,
        default=[],
        metavar="N[low],...",
        help="also beside N programs that each keep a CPU busy, e.g. 1,2,1low (low: of the lowest priority)",
    )
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each contestant in each round, at least")
    parser.add_argument("--calls", type=int, default=1, help="of each contestant in each round, at least")
    parser.add_argument("--again", type=int, default=0, help="measure what is void so many times again, at most")
    parser.add_argument("--quick", action="store_true", help="two short rounds: a look, not a measurement")
    parser.add_argument("--ablation", action="store_true", help="ours alone, each optimisation left out in turn")
    parser.add_argument("--json", default=str(ROOT / "build" / "compare" / "result.json"), metavar="PATH")
    parser.add_argument("--show", metavar="PATH", help="no measurement: table and plot of an earlier JSON file")
    parser.add_argument("--folder", default=str(ROOT / "build" / "compare"), help="for models and inputs (3 GB)")
    parser.add_argument("--probe", default=str(ROOT / "build" / "benchmarks" / "machine_probe"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.quick:
        options.rounds, options.seconds, options.calls = 2, 0.2, 2
    if options.peers is None:
        options.peers = [peer for peer in PEERS if peer != "mxnet" or os.environ.get("MXNET_PYTHON")]
    return options


def _list(known):
    def parse(text):
        unknown = [name for name in text.split(",") if name and name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; there are {', '.join(known)}")
        return [name for name in text.split(",") if name]

    return parse


def _numbers(text):
    return [int(number) for number in text.split(",")]


def _loads(text):
    loads = [load for load in text.split(",") if load]
    for load in loads:
        if not re.fullmatch(r"[1-9][0-9]{0,2}(low)?", load):
            raise argparse.ArgumentTypeError(
                f"expected a number of programs, or one with 'low' behind it, got {load!r}"
            )
    return loads


def _cells(options):
    for threads in options.threads:
        for network in options.networks:
            for batch in options.batches or batches_of(network):
                for busy in ("0", *options.busy):
                    yield {"network": network, "batch": batch, "threads": threads, "busy": busy}


def _entries(options):
    if options.ablation:
        off = {"ours": "", **{f"without {name}": name for name in PASSES}, "without all": ",".join(PASSES)}
        return [
            _entry("ours", precision, name, {"AMP_DISABLE_PASSES": passes})
            for precision in options.precisions
            for name, passes in off.items()
        ]
    return [
        _entry(contestant, precision, contestant)
        for precision in options.precisions
        for contestant in ("ours", *options.peers)
        if precision in CONTESTANTS[contestant].precisions
    ]


def _entry(contestant, precision, name, environment=None):
    python = os.environ.get("MXNET_PYTHON") if contestant == "mxnet" else None
    return {
        "name": name,
        "contestant": contestant,
        "precision": precision,
        "environment": environment or {},
        "python": python or sys.executable,
    }


def _prepare(cell, folder):
    target = Path(folder) / cell["network"]
    if not is_prepared(target, cell["batch"]):
        print(f"preparing {cell['network']}, batch {cell['batch']} ...", file=sys.stderr, flush=True)
        command = [sys.executable, "-m", "benchmarks.compare.prepare", cell["network"], str(cell["batch"]), str(target)]
        subprocess.run(command, check=True, cwd=ROOT)


def _settings(options):
    return {"rounds": options.rounds, "seconds": options.seconds, "calls": options.calls}


def _machine():
    with open("/proc/cpuinfo") as lines:
        model = next(
            (line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine()
        )
    return f"{model}, {len(os.sched_getaffinity(0))} CPUs, Linux {platform.release()}"


if __name__ == "__main__":
    main()
