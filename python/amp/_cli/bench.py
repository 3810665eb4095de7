"""`amp bench`: latency, throughput, start and memory of a model, or of several, run by run in turn."""

import json
import os
import subprocess
import sys
import time
from typing import NamedTuple

from .. import checkpoint
from .._facts_text import size_text
from .._model_files import ModelFiles
from ..base import ArgumentError, cpu_info, did_you_mean
from ..profiling import SystemLoad
from . import models, outputs
from .inputs import arrays_of
from .running import bound

# How a model of `--precision` is bound: `reduce_precision` of amp.Executor.
PRECISIONS = {
    "stored": None,
    "float32": None,  # without the casts of a conversion
    "automatic": {"target_dtype": "bfloat16"},
    "bfloat16": {"target_dtype": "bfloat16", "emulate": True},
    "float16": {"target_dtype": "float16", "emulate": True},
}
_MIN_RUNS = 5
_PARTS = 10  # of all runs, for the spread of a ratio
_BUSY = 0.1  # of the CPUs


class Variant(NamedTuple):
    """A model in one precision."""

    label: str
    files: ModelFiles
    precision: str

    def load(self):
        """(Symbol, arguments, auxiliary states)"""
        model = models.load(self.files)
        return checkpoint.without_amp_casts(*model) if self.precision == "float32" else model

    def bind(self, model, arrays, options, threads):
        """The Executor that is timed."""
        return bound(model, arrays, options, PRECISIONS[self.precision], threads)


class Timed:
    """The runs of one variant."""

    def __init__(self, label, executor, arrays):
        self.label, self.seconds = label, []
        self.threads = executor.summary.num_threads
        self._executor, self._arrays = executor, arrays

    def run(self):
        """One run."""
        start = time.perf_counter()
        self._executor(self._arrays)
        self.seconds.append(time.perf_counter() - start)

    def warm_up(self, seconds):
        """Runs that do not count, one at least."""
        end = time.perf_counter() + seconds
        self.run()
        while time.perf_counter() < end:
            self.run()
        self.seconds.clear()

    def facts(self):
        """Percentiles and throughput."""
        ordered = sorted(self.seconds)
        return {
            "variant": self.label,
            "threads": self.threads,
            "runs": len(ordered),
            "min_seconds": ordered[0],
            **{f"p{part}_seconds": percentile(ordered, part) for part in (50, 90, 99)},
            "runs_per_second": len(ordered) / sum(ordered),
        }


def percentile(ordered, part):
    """The least of sorted values that `part` percent of them do not exceed."""
    return ordered[max(0, -(-len(ordered) * part // 100) - 1)]


def ratio(first, second):
    """How many times as long the second took: the ratio of medians of runs in pairs, and its range over parts."""
    pairs = list(zip(first, second))
    size = max(1, len(pairs) // _PARTS)
    parts = [_ratio_of_medians(pairs[i : i + size]) for i in range(0, len(pairs) - size + 1, size)]
    return {"ratio": _ratio_of_medians(pairs), "lowest": min(parts), "highest": max(parts), "parts": len(parts)}


def _ratio_of_medians(pairs):
    first, second = (percentile(sorted(side), 50) for side in zip(*pairs))
    return second / first


def bench(options):
    """`amp bench`"""
    if options.warm_up < 0 or options.duration < 0:
        raise ArgumentError("--warm-up, --duration: expected 0 or more seconds")
    variants, threads = _variants(options), _thread_counts(options.threads)
    loaded = [variant.load() for variant in variants]
    arrays = [arrays_of(options, model) for model in loaded]
    seconds = (options.warm_up + options.duration) * len(variants) * len(threads)
    outputs.say(options, f"timing for about {seconds:.0f} s; the machine should do nothing else")
    load, latency, ratios = SystemLoad(), [], []
    for count in threads:
        timed = [
            Timed(variant.label, variant.bind(model, inputs, options, count), inputs)
            for variant, model, inputs in zip(variants, loaded, arrays)
        ]
        _take_turns(timed, options.warm_up, options.duration)
        latency += [one.facts() for one in timed]
        ratios += [
            {
                "variant": one.label,
                "against": timed[0].label,
                "threads": one.threads,
                **ratio(timed[0].seconds, one.seconds),
            }
            for one in timed[1:]
        ]
    facts = {
        "cpu": cpu_info()["cpu"],
        "isa": cpu_info()["isa"],
        "files": {variant.label: list(variant.files) for variant in variants},
        "latency": latency,
        "ratios": ratios,
        "others_share": load.others(),
        "start": [_cold_start(variant, options, threads[-1]) for variant in variants],
    }
    if options.json:
        outputs.print_json("bench", facts)
        return
    _print_facts(facts)


def _variants(options):
    """Each model in each precision, with labels that tell them apart."""
    files = [models.find_model(options.model, options.params, options.epoch)]
    if options.against:
        against = models.find_models(options.against)
        if len(against) != 1:
            raise ArgumentError(f"--against: expected one model, got {len(against)}")
        files += against
    precisions = options.precision.split(",")
    for name in precisions:
        if name not in PRECISIONS:
            hint = did_you_mean(name, PRECISIONS)
            raise ArgumentError(f"--precision: expected {', '.join(PRECISIONS)}, got {name!r}{hint}")
    names = [os.path.basename(one.symbol).removesuffix(".json").removesuffix("-symbol") for one in files]
    if len(set(names)) < len(names):
        names = [one.symbol for one in files]
    if len(set(files)) < len(files) or len(set(precisions)) < len(precisions):
        raise ArgumentError("--against, --precision: the same is named twice")
    return [
        Variant(f"{name} {precision}", one, precision) for name, one in zip(names, files) for precision in precisions
    ]


def _thread_counts(text):
    """[None] is what executors choose."""
    if text is None:
        return [None]
    counts = text.split(",")
    if not all(count.isdecimal() and int(count) > 0 for count in counts):
        raise ArgumentError(f"--threads: expected numbers such as 1,2,4, got {text!r}")
    return [int(count) for count in counts]


def _take_turns(timed, warm_up, duration):
    """Runs all in turn, each other round backwards: what slows the machine slows all of them."""
    for one in timed:
        one.warm_up(warm_up)
    end = time.perf_counter() + duration * len(timed)
    while len(timed[0].seconds) < _MIN_RUNS or time.perf_counter() < end:
        for one in timed if len(timed[0].seconds) % 2 == 0 else timed[::-1]:
            one.run()


def _cold_start(variant, options, threads):
    """What a process that does nothing else needs: seconds to load, to bind and of the first run, and bytes."""
    asked = {
        "variant": [variant.label, list(variant.files), variant.precision],
        "threads": threads,
        "options": {name: value for name, value in vars(options).items() if name != "command"} | {"tune": False},
    }
    done = subprocess.run(
        [sys.executable, "-m", "amp._cli.cold_start"], input=json.dumps(asked), capture_output=True, text=True
    )
    if done.returncode:
        raise ArgumentError(f"a process that loads {variant.label} ended with {done.returncode}: {done.stderr[-300:]}")
    return {"variant": variant.label, **json.loads(done.stdout)}


# ---- what is printed ----


def _print_facts(facts):
    width = max(len(start["variant"]) for start in facts["start"])
    print(f"{'':<{width}}  threads    runs    p50 ms    p90 ms    p99 ms   best ms    runs/s")
    for row in facts["latency"]:
        times = "".join(f"{1000 * row[f'{name}_seconds']:10.3f}" for name in ("p50", "p90", "p99", "min"))
        print(f"{row['variant']:<{width}}  {row['threads']:7} {row['runs']:7}{times}{row['runs_per_second']:10.1f}")
    for row in facts["ratios"]:
        spread = f"{row['lowest']:.2f} to {row['highest']:.2f} in {row['parts']} parts"
        print(f"{row['variant']} takes {row['ratio']:.2f} times as long as {row['against']}, ", end="")
        print(f"{row['threads']} threads ({spread})")
    print(f"\n{'in a fresh process':<{width}}      load ms   bind ms  first run ms   peak memory")
    for row in facts["start"]:
        times = "".join(f"{1000 * row[f'{name}_seconds']:10.1f}" for name in ("load", "bind"))
        first = f"{1000 * row['first_run_seconds']:14.1f}"
        print(f"{row['variant']:<{max(width, 18)}}  {times}{first}  {size_text(row['peak_bytes']):>12}")
    others = facts["others_share"]
    if others is not None and others > _BUSY:
        print(f"other programs took {others:.0%} of the CPUs meanwhile: on an idle machine times are shorter")
