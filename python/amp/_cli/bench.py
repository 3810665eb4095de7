"""`amp bench`: latency, throughput, start and memory of a model, or of several, run by run in turn."""

import contextlib
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from .._facts_text import size_text
from ..base import ArgumentError, cpu_info
from ..profiling import SystemLoad
from . import bench_subjects, outputs
from .bench_subjects import Model, Service

_MIN_RUNS = 5
_PARTS = 10  # of all runs, for the spread of a ratio
_BUSY = 0.1  # of the CPUs
_CALLS = 4  # of each caller in a turn, where several call at once


class Timed:
    """The calls of one subject: one in a turn, or `_CALLS` of each of several callers at once.

    `seconds` are those of calls, `turns` those of turns divided by their calls.
    """

    def __init__(self, label, call, threads, callers=1, workers=None):
        self.label, self.threads, self.callers = label, threads, callers
        self.seconds, self.turns = [], []
        self._call, self._workers = call, workers

    def run(self):
        """One turn."""
        if self._workers is None:
            self.seconds.append(self._timed())
            self.turns.append(self.seconds[-1])
            return
        start = time.perf_counter()
        found = list(self._workers.map(self._timed_again, range(self.callers)))
        self.turns.append((time.perf_counter() - start) / (self.callers * _CALLS))
        self.seconds += [seconds for each in found for seconds in each]

    def warm_up(self, seconds):
        """Turns that do not count, one at least."""
        end = time.perf_counter() + seconds
        self.run()
        while time.perf_counter() < end:
            self.run()
        self.seconds.clear()
        self.turns.clear()

    def facts(self):
        """Percentiles and throughput."""
        ordered = sorted(self.seconds)
        return {
            "variant": self.label,
            "threads": self.threads,
            "callers": self.callers,
            "runs": len(ordered),
            "min_seconds": ordered[0],
            **{f"p{part}_seconds": percentile(ordered, part) for part in (50, 90, 99)},
            "runs_per_second": len(self.turns) / sum(self.turns),
        }

    def _timed(self):
        start = time.perf_counter()
        self._call()
        return time.perf_counter() - start

    def _timed_again(self, _caller):
        return [self._timed() for _ in range(_CALLS)]


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
    subjects = bench_subjects.subjects_of(options)
    threads = _counts("--threads", options.threads) if options.threads else [None]  # what executors choose
    callers = _counts("--sessions", options.sessions)
    loaded = [subject.load() for subject in subjects]
    arrays = [subject.arrays(each, options) for subject, each in zip(subjects, loaded)]
    cells = [(*each, count) for each in zip(subjects, loaded, arrays) for count in callers]
    seconds = (options.warm_up + options.duration) * len(cells) * len(threads)
    outputs.say(options, f"timing for about {seconds:.0f} s; the machine should do nothing else")
    load, latency, ratios = SystemLoad(), [], []
    for count in threads:
        with contextlib.ExitStack() as stack:
            timed = [_timed(*cell, options, count, stack) for cell in cells]
            _take_turns(timed, options.warm_up, options.duration)
        latency += [one.facts() for one in timed]
        ratios += [_against(timed[0], one) for one in timed[1:]]
    facts = {
        "cpu": cpu_info()["cpu"],
        "isa": cpu_info()["isa"],
        "files": {one.label: _files(one) for one in subjects},
        "latency": latency,
        "ratios": ratios,
        "others_share": load.others(),
        "start": [_cold_start(one, options, threads[-1]) for one in subjects if not isinstance(one, Service)],
    }
    if options.json:
        outputs.print_json("bench", facts)
        return
    _print_facts(facts)


def _timed(subject, loaded, arrays, callers, options, threads, stack):
    """The Timed of a subject that is called by so many at once."""
    bound = subject.bind(loaded, arrays, options, threads)
    label = subject.label if callers == 1 else f"{subject.label}, {callers} at once"
    own_threads = None if isinstance(subject, Service) else bound.summary.num_threads
    workers = stack.enter_context(ThreadPoolExecutor(callers)) if callers > 1 else None
    return Timed(label, bench_subjects.calls_of(bound, arrays, callers, stack), own_threads, callers, workers)


def _against(first, second):
    """How the second compares with the first."""
    return {
        "variant": second.label,
        "against": first.label,
        "threads": second.threads,
        **ratio(first.turns, second.turns),
    }


def _files(subject):
    """What a subject is read from, or its address."""
    return list(subject.files) if isinstance(subject, Model) else [subject[-1]]


def _counts(flag, text):
    counts = text.split(",")
    if not all(count.isdecimal() and int(count) > 0 for count in counts):
        raise ArgumentError(f"{flag}: expected numbers such as 1,2,4, got {text!r}")
    if len(set(map(int, counts))) < len(counts):
        raise ArgumentError(f"{flag}: the same number is named twice")
    return [int(count) for count in counts]


def _take_turns(timed, warm_up, duration):
    """Runs all in turn, each other round backwards: what slows the machine slows all of them."""
    for one in timed:
        one.warm_up(warm_up)
    end = time.perf_counter() + duration * len(timed)
    while len(timed[0].turns) < _MIN_RUNS or time.perf_counter() < end:
        for one in timed if len(timed[0].turns) % 2 == 0 else timed[::-1]:
            one.run()


def _cold_start(subject, options, threads):
    """What a process that does nothing else needs: seconds to load, to bind and of the first run, and bytes."""
    asked = {
        "subject": [type(subject).__name__, *subject],
        "threads": threads,
        "options": {name: value for name, value in vars(options).items() if name != "command"} | {"tune": False},
    }
    done = subprocess.run(
        [sys.executable, "-m", "amp._cli.cold_start"], input=json.dumps(asked), capture_output=True, text=True
    )
    if done.returncode:
        raise ArgumentError(f"a process that loads {subject.label} ended with {done.returncode}: {done.stderr[-300:]}")
    return {"variant": subject.label, **json.loads(done.stdout)}


# ---- what is printed ----


def _print_facts(facts):
    width = max(len(row["variant"]) for row in facts["latency"])
    print(f"{'':<{width}}  threads    runs    p50 ms    p90 ms    p99 ms   best ms    runs/s")
    for row in facts["latency"]:
        times = "".join(f"{1000 * row[f'{name}_seconds']:10.3f}" for name in ("p50", "p90", "p99", "min"))
        threads = "-" if row["threads"] is None else row["threads"]
        print(f"{row['variant']:<{width}}  {threads:>7} {row['runs']:7}{times}{row['runs_per_second']:10.1f}")
    for row in facts["ratios"]:
        spread = f"{row['lowest']:.2f} to {row['highest']:.2f} in {row['parts']} parts"
        threads = "" if row["threads"] is None else f", {row['threads']} threads"
        print(f"{row['variant']}: {row['ratio']:.2f} times the time a call of {row['against']}{threads} ({spread})")
    _print_starts(facts["start"])
    others = facts["others_share"]
    if others is not None and others > _BUSY:
        print(f"other programs took {others:.0%} of the CPUs meanwhile: on an idle machine times are shorter")


def _print_starts(rows):
    if not rows:
        return
    width = max(18, *(len(row["variant"]) for row in rows))
    print(f"\n{'in a fresh process':<{width}}   load ms   bind ms  first run ms   peak memory")
    for row in rows:
        times = "".join(f"{1000 * row[f'{name}_seconds']:10.1f}" for name in ("load", "bind"))
        first = f"{1000 * row['first_run_seconds']:14.1f}"
        print(f"{row['variant']:<{width}}{times}{first}  {size_text(row['peak_bytes']):>12}")
