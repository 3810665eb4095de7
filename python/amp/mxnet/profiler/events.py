"""What the profiler keeps: events of time, counters and marks, as a Chrome trace and as statistics."""

import json
import os
import threading
import time
from collections import defaultdict
from typing import NamedTuple

MEMORY = "Memory"


class Event(NamedTuple):
    """One event; times are in microseconds."""

    phase: str  # of Chrome's format: 'X' takes time, 'C' is a counter, 'i' a mark
    category: str
    name: str
    begin: float
    thread: int
    duration: float = 0.0
    args: dict = {}  # noqa: RUF012 - never changed


class Log:
    """The events since the last `clear`, of all threads."""

    def __init__(self):
        self.events = []

    def add(self, phase, category, name, begin, duration=0.0, **args):
        """Adds an event of this thread."""
        self.events.append(Event(phase, category, name, begin, threading.get_ident(), duration, args))

    def clear(self):
        """Forgets all events."""
        self.events = []

    def write(self, path):
        """Writes a file that chrome://tracing and Perfetto show."""
        head = {"ph": "M", "name": "process_name", "pid": os.getpid(), "args": {"name": "cpu/0"}}
        events = [head, *map(_as_chrome, self.events)]
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

    def statistics(self):
        """{category: {name: {'Count', 'Total', 'Min', 'Max', 'Avg'}}}: milliseconds, or what counters counted."""
        values = defaultdict(lambda: defaultdict(list))
        for event in self.events:
            if event.phase != "i":
                is_time = event.phase == "X"
                values[event.category][event.name].append(event.duration / 1e3 if is_time else event.args["value"])
        return {
            category: {name: _summary(numbers, category) for name, numbers in names.items()}
            for category, names in values.items()
        }


def now():
    """Microseconds of a clock that never goes back."""
    return time.perf_counter_ns() / 1e3


def _as_chrome(event):
    found = {"ph": event.phase, "cat": event.category, "name": event.name, "ts": event.begin}
    found.update(pid=os.getpid(), tid=event.thread, args=event.args)
    if event.phase == "X":
        found["dur"] = event.duration
    if event.phase == "i":
        found["s"] = event.args["scope"][:1]
    return found


def _summary(numbers, category):
    total = sum(numbers)
    found = {"Count": len(numbers), "Min": min(numbers), "Max": max(numbers), "Avg": total / len(numbers)}
    return found if category == MEMORY else {**found, "Total": total}


# ---- statistics as text ----

_COLUMNS = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}
SORT_KEYS = tuple(_COLUMNS)


def sorted_statistics(statistics, sort_by, ascending):
    """The same with names in the order of a column; where a category lacks that, in the order of counts."""

    def order(names):
        column = _COLUMNS[sort_by]
        return dict(sorted(names.items(), key=lambda item: item[1].get(column, 0), reverse=not ascending))

    return {category: order(names) for category, names in sorted(statistics.items())}


def as_json(statistics):
    """Text with the keys 'Time', 'Memory' and 'Unit', as MXNet's."""
    times = {category: names for category, names in statistics.items() if category != MEMORY}
    memory = {"Results": statistics[MEMORY]} if MEMORY in statistics else {}
    return json.dumps({"Time": times, "Memory": memory, "Unit": {"Time": "ms", "Memory": "kB"}}, indent=4)


def as_table(statistics):
    """A table for each category."""
    lines = ["Profile Statistics:", "\tTimes are in milliseconds, memory is in kB, counters have no unit."]
    for category, names in statistics.items():
        columns = ["Count", *([] if category == MEMORY else ["Total"]), "Min", "Max", "Avg"]
        lines += ["", category, "=" * 17, "".join(f"{text:>16}" for text in columns).join(["Name".ljust(30), ""])]
        for name, row in names.items():
            numbers = "".join(f"{row[c]:16d}" if c == "Count" else f"{row[c]:16.4f}" for c in columns)
            lines.append(f"{name:<30}{numbers}")
    return "\n".join([*lines, ""])
