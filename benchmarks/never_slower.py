"""Is a model in low precision ever slower than in float32, on this machine?

    python -m benchmarks.never_slower [--cases TEXT ...] [--seconds S] [--isa AVX2 AVX512_CORE ...]

For every recorded case (AMP_SHARED): Executor(reduce_precision='bfloat16') and files that were converted by policies
default, mxnet and graphamp (mp1), each against the model in float32: the ratio of the medians of runs that take turns.
Equal plans are not timed ("same plan"). --isa repeats it with ONEDNN_MAX_CPU_ISA set to each of these. Wants a machine
that does nothing else.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import amp

from .shared_cases import SharedModel, interleaved_medians, names, plan_of

FILES = {
    "default": {"policy": "default"},
    "mxnet": {"policy": "mxnet"},
    "graphamp mp1": {"policy": "graphamp", "preset": "mp1"},
}
COLUMNS = ("automatic", *FILES)
LIMITS = {"automatic": 1.02, **dict.fromkeys(FILES, 1.10)}
SAME = "same plan"


def _saved_and_loaded(model):
    with tempfile.TemporaryDirectory() as folder:
        amp.save_checkpoint(Path(folder) / "m", 0, *model)
        return amp.load(Path(folder) / "m-symbol.json", Path(folder) / "m-0000.params")


def _contestants(case):
    """{column: executor or what went wrong}"""
    yield "automatic", lambda: case.bind(reduce_precision="bfloat16", machine="this")
    for name, options in FILES.items():
        yield name, lambda options=options: case.bind(_saved_and_loaded(case.convert(**options)[:3]), machine="this")


def ratios(name, seconds):
    """{column: ratio, SAME or the text of an error}"""
    case = SharedModel(name)
    float32 = case.bind()
    found = {}
    for column, make in _contestants(case):
        try:
            low = make()
        except amp.Error as error:
            found[column] = str(error).partition("\n")[0][:60]
            continue
        if plan_of(low) == plan_of(float32):
            found[column] = SAME
            continue
        before, after = interleaved_medians([lambda run=run: run(case.inputs) for run in (float32, low)], seconds)
        found[column] = after / before
    return found


def _text(value):
    return f"{value:.3f}" if isinstance(value, float) else value


def run(filters, seconds):
    """Prints the table of this process's instruction set and the worst ratios."""
    print(f"\n{amp.cpu_info()}\n\n| case | {' | '.join(COLUMNS)} |\n|{'---|' * (len(COLUMNS) + 1)}")
    worst = {column: (0.0, "") for column in COLUMNS}
    for name in names(filters=filters):
        try:
            found = ratios(name, seconds)
        except amp.UnsupportedError as error:
            print(f"| {name} | not supported: {str(error).rpartition('/')[2][:80]} |", flush=True)
            continue
        print(f"| {name} | {' | '.join(_text(found[column]) for column in COLUMNS)} |", flush=True)
        for column, value in found.items():
            if isinstance(value, float):
                worst[column] = max(worst[column], (value, name))
    print()
    for column, (value, name) in worst.items():
        if name:
            print(f"worst, {column}: {value:.3f} ({name}); allowed {LIMITS[column]:.2f}")
        else:
            print(f"worst, {column}: no plan differs from that in float32")


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", default=[], metavar="TEXT", help="cases with one of these in their names")
    parser.add_argument("--seconds", type=float, default=1.0, help="per contestant (default: 1)")
    parser.add_argument("--isa", nargs="+", default=[], metavar="ISA", help="values of ONEDNN_MAX_CPU_ISA")
    options = parser.parse_args()
    if options.isa:
        cases = ["--cases", *options.cases] if options.cases else []
        command = [sys.executable, "-m", "benchmarks.never_slower", "--seconds", str(options.seconds), *cases]
        for isa in options.isa:  # oneDNN reads it once, when it starts
            print(f"\nONEDNN_MAX_CPU_ISA={isa}", flush=True)
            subprocess.run(command, env={**os.environ, "ONEDNN_MAX_CPU_ISA": isa}, check=True)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(options.cases, options.seconds)


if __name__ == "__main__":
    main()
