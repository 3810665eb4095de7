"""Adds the times of new kernels to a machine file, so that a class need not be calibrated again.

    python tools/extend_machine.py BASE OUT [--rounds 2]

It measures the windows of `amp calibrate`: 3x3, lines, 5x5, deconvolutions, by every kernel. It adds the groups of
samples that BASE does not have, relative to the speeds that BASE states. What BASE has stays. For groups that both
have it prints how much faster or slower this machine is now: an hour in which others slow the machine shows, and a
second run is better then.
"""

import argparse
import itertools
import json
import statistics
from pathlib import Path

from amp import _calibration, _calibration_models, _core, _machine_file


def measure(branches, rounds):
    """The steps of all models of some branches, in float32 and bfloat16, the least time of all rounds."""
    models = [model for models in branches for model in _calibration_models.models_of(models)]
    runs = list(itertools.product(models, _calibration.precisions()))
    least = []
    for _ in range(rounds):
        steps = [step for run in runs for step in _calibration.steps_of(*run, _core.kernel_names())]
        least = _calibration.with_least_times(least, steps)
    return least


def extend(base, steps):
    """`base` with the groups of `steps` that it lacks; a dict as in machine files. Prints how the others differ."""
    measured = _machine_file.samples(steps, base)
    for group, samples in measured.items():
        if group in base["steps"]:
            print(f"{group}: {2 ** (_typical(samples) - _typical(base['steps'][group])):.2f} of its time in BASE")
        else:
            print(f"{group}: {len(samples)} samples, new")
    return {**base, "steps": dict(sorted({**measured, **base["steps"]}.items()))}


def _typical(samples):
    return statistics.median(sample[-1] for sample in samples)


def main():
    """Reads BASE, measures, writes OUT."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("base", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    base = json.loads(options.base.read_text())
    steps = measure(_calibration_models.WINDOWS, options.rounds)
    options.out.write_text(_machine_file.text_of(extend(base, steps)))


if __name__ == "__main__":
    main()
