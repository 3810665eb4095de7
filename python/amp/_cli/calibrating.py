"""`amp calibrate`. What is measured is kept beside the machine file, so that nothing of it is lost."""

import json
import os
import statistics
import sys

from .. import _calibration, _core, _machine_file
from ..base import ArgumentError, cpu_info
from . import outputs
from .progress import Progress

_UNSTEADY = 1.6


def calibrate(options):
    """`amp calibrate`"""
    if options.rounds < 1:
        raise ArgumentError(f"--rounds: expected 1 or more, got {options.rounds}")
    path = _machine_path(options)
    kept = KeptSteps(f"{path}.partial")
    times = "" if options.rounds == 1 else f", {options.rounds} times"
    outputs.say(options, f"measuring small models for some minutes{times}; the machine should do nothing else")
    if len(kept):
        outputs.say(options, f"{kept.path} has {len(kept)} models that were measured before: it goes on from there")
    steps = _measure(kept, options.rounds)
    unsteady = statistics.median(step["mean_seconds"] / step["min_seconds"] for step in steps if step["min_seconds"])
    if unsteady > _UNSTEADY:
        print(f"amp: note: others use this machine: steps took {unsteady:.2f} times their best times", file=sys.stderr)
    machine = _machine_file.machine_file(steps, f"{cpu_info()['isa']}-calibrated", "amp calibrate")
    machine.update(tuned_kernels(path))
    outputs.write_text(path, _machine_file.text_of(machine))
    kept.remove()
    facts = {"steps": len(steps), "flops_per_second": machine["flops_per_second"], "unsteady": unsteady, "wrote": path}
    if options.json:
        outputs.print_json("calibrate", facts)
        return
    speeds = ", ".join(f"{dtype} {speed / 1e9:.0f}" for dtype, speed in machine["flops_per_second"].items())
    print(f"  steps: {len(steps)}; GFLOP/s of products: {speeds}")
    print(f"wrote {path}")


def _machine_path(options):
    """Where the machine file goes. The one in the folder of caches is this command's own, and is renewed."""
    if options.output:
        return outputs.output_file(options.output, [".json"], options.force)
    path = _core.machine_file_path(0)
    if not path:
        raise ArgumentError("there is no folder for caches (neither XDG_CACHE_HOME nor HOME is set); pass -o FILE")
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    outputs.refuse_existing([path], True, "-o")
    return path


def _measure(kept, rounds):
    progress = Progress()
    try:
        return _calibration.measure(progress.update, rounds, kept)
    except KeyboardInterrupt:
        progress.end()
        print(f"amp: note: {kept.path} keeps what was measured; the same command goes on from there", file=sys.stderr)
        raise
    finally:
        kept.close()
        progress.end()


def tuned_kernels(path):
    """What timing chose, of the file that is to be replaced; nothing of an earlier version, whose kernels had other
    names.
    """
    try:
        with open(path, encoding="utf-8") as file:
            old = json.load(file)
    except (OSError, ValueError):
        return {}
    is_current = isinstance(old, dict) and old.get("version") == _machine_file.VERSION
    return {"tuned": old["tuned"]} if is_current and "tuned" in old else {}


class KeptSteps(dict):
    """{name of a measurement: its steps}, each a line of a file from the moment on that it is set.

    A file of another program or CPU is begun anew, and so are lines that were cut.
    """

    def __init__(self, path):
        super().__init__()
        self.path = path
        header, lines = _header(), self._lines()
        if next(lines, None) == header:
            self.update(line for line in lines if isinstance(line, list) and len(line) == 2)
        outputs.write_text(path, "".join(map(_line_of, (header, *self.items()))))
        self._file = open(path, "a", encoding="utf-8")

    def __setitem__(self, name, steps):
        self._file.write(_line_of((name, steps)))
        self._file.flush()
        super().__setitem__(name, steps)

    def close(self):
        """Leaves the file, for another session."""
        self._file.close()

    def remove(self):
        """Removes the file."""
        self.close()
        os.unlink(self.path)

    def _lines(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                for line in file:
                    yield json.loads(line)
        except (OSError, ValueError):
            return


def _line_of(facts):
    return json.dumps(facts) + "\n"


def _header():
    """What measurements have to have in common to be one."""
    from .. import __version__

    info = cpu_info()
    return {
        "format": "amp-calibration",
        "program": __version__,
        **{key: info[key] for key in ("cpu", "isa", "threads")},
    }
