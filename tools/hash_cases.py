"""Digests of what every reference case converts to and computes: equal digests mean equal bytes.

    .venv/bin/python tools/hash_cases.py CASES > before.txt     # some minutes
    .venv/bin/python tools/hash_cases.py CASES > after.txt      # after a change
    diff before.txt after.txt

One line for each case and result: the converted symbol and parameters under policies `default` and `mxnet`, with
parameters cast offline and not, and the outputs of the float32 and the converted model in the modes `exact` and `fast`
on machine "any" (but for cases that were recorded in training). Where the package refuses a case, the line names the
error's class. `--only WORD` takes the cases whose path contains a word, `--no-runs` leaves the outputs out, and
`--limit` the outputs of networks with more GFLOP than that.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from run_cases import TRAINING, case_class, gflop, load

import amp


def saved_digest(model):
    with tempfile.TemporaryDirectory() as folder:
        amp.save_checkpoint(f"{folder}/m", 0, *model)
        files = [Path(f"{folder}/m{end}").read_bytes() for end in ("-symbol.json", "-0000.params")]
    return hashlib.sha256(b"".join(files)).hexdigest()[:16]


def outputs_digest(made, inputs, mode):
    symbol, args, aux = made()
    executor = amp.Executor(
        symbol,
        args,
        aux,
        {name: array.shape for name, array in inputs.items()},
        input_dtypes={name: array.dtype for name, array in inputs.items()},
        mode=mode,
        machine="any",
    )
    digest = hashlib.sha256()
    for output in executor(inputs):
        array = output.asnumpy()
        digest.update(f"{array.dtype}{array.shape}".encode() + array.tobytes())
    return digest.hexdigest()[:16]


def line(label, result):
    try:
        text = result()
    except amp.Error as error:
        text = type(error).__name__
    print(label, text, flush=True)


def examine(case, name, arguments):
    model = load(case)
    inputs = case.inputs()
    dtypes = {key: array.dtype for key, array in inputs.items()}
    shapes = {key: array.shape for key, array in inputs.items()}

    def converted(**options):
        return amp.convert_model(*model, dtypes, "bfloat16", **options)

    for policy in ("default", "mxnet"):
        for offline in (False, True):
            label = f"{name} converted {policy}{' offline' if offline else ''}"
            line(label, lambda: saved_digest(converted(policy=policy, cast_params_offline=offline)))  # noqa: B023
    if arguments.no_runs or name.split("/")[0] in TRAINING or gflop(model[0], shapes, dtypes) > arguments.limit:
        return
    models = {"": lambda: model, " bfloat16": lambda: converted(cast_params_offline=True)}
    for mode, (label, made) in itertools.product(("exact", "fast"), models.items()):
        line(f"{name} {mode}{label}", partial(outputs_digest, made, inputs, mode))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=float, default=20)
    parser.add_argument("--no-runs", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    case_of = case_class(arguments.cases)
    for file in sorted(arguments.cases.rglob("case.json")):
        name = str(file.parent.relative_to(arguments.cases))
        if arguments.only not in name:
            continue
        try:
            examine(case_of(file.parent), name, arguments)
        except amp.Error as error:
            print(name, type(error).__name__, flush=True)


if __name__ == "__main__":
    main()
