"""Where the time of a program goes: MXNet's `profiler`.

Operators on arrays, runs of graphs (whole ones; `amp.Executor.profile` tells of their steps), operators in Python and
what a program marks itself. The file is a Chrome trace, for chrome://tracing or Perfetto. `probes` imports what it
measures; nothing imports the profiler.
"""

import atexit
import contextlib
import contextvars
import os
import warnings

from ...base import ArgumentError
from .._missing import getter
from . import events
from .probes import Probes

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "scope",
    "set_config",
    "set_kvstore_handle",
    "set_state",
]

_scope = contextvars.ContextVar("profiler_scope", default="<unk>:")
_log = events.Log()
_settings = {"imperative": True, "symbolic": True, "memory": False, "args": lambda: {"scope": _scope.get()}}
_probes = Probes(_log, _settings)
_file = {"name": "profile.json", "is_finished": False}
_state = {"runs": False, "is_paused": False}
_KEYS = (
    "aggregate_stats continuous_dump dump_period filename gpu_memory_profile_filename_prefix profile_all profile_api "
    "profile_imperative profile_memory profile_process profile_symbolic"
).split()


def set_config(**kwargs):
    """What is measured, and where `dump` writes: `filename` ('profile.json').

    `profile_imperative` and `profile_symbolic` are on by default, `profile_memory` (kB of results) is off;
    `profile_all` is all three. `aggregate_stats`, `continuous_dump`, `dump_period`, `profile_api` and
    `profile_process` have no effect. Raises ArgumentError for other names.

    >>> mx.profiler.set_config(profile_all=True, filename="trace.json")
    >>> mx.profiler.set_config(profile_memory=False)
    """
    unknown = [key for key in kwargs if key not in _KEYS]
    if unknown:
        raise ArgumentError(f"set_config: unknown {unknown[0]!r}; there are {', '.join(_KEYS)}")
    for key in ("imperative", "symbolic", "memory"):
        if f"profile_{key}" in kwargs or kwargs.get("profile_all"):
            _settings[key] = bool(kwargs.get(f"profile_{key}") or kwargs.get("profile_all"))
    _file["name"] = kwargs.get("filename", _file["name"])
    if _is_measuring():
        _probes.remove()
        _probes.install()


def _is_measuring():
    """Whether the profiler runs and is not paused."""
    return _state["runs"] and not _state["is_paused"]


def set_state(state="stop", profile_process="worker"):
    """Measures from now on ('run'), or no longer ('stop'); either ends a pause.

    After a `dump` that was the last one events begin anew. Raises ArgumentError, a KeyError as MXNet's, for other
    states.

    >>> mx.profiler.set_state("run")
    >>> _ = amp.nd.ones((2, 3)) + 1
    >>> mx.profiler.set_state("stop")
    >>> "_plus_scalar" in mx.profiler.dumps(reset=True)
    True
    """
    if state not in ("run", "stop"):
        raise StateError(f"set_state: 'run' or 'stop', got {state!r}")
    _state.update(runs=state == "run", is_paused=False)
    if _state["runs"] and _file["is_finished"]:
        _log.clear()
        _file["is_finished"] = False
    _follow()


def _follow():
    (_probes.install if _is_measuring() else _probes.remove)()


class StateError(ArgumentError, KeyError):
    """What is no state of the profiler; MXNet raises a KeyError."""


def pause(profile_process="worker"):
    """Leaves out what runs until `resume`.

    >>> mx.profiler.pause()
    """
    _state["is_paused"] = True
    _follow()


def resume(profile_process="worker"):
    """Measures again.

    >>> mx.profiler.resume()
    """
    _state["is_paused"] = False
    _follow()


def dump(finished=True, profile_process="worker"):
    """Writes the events so far as a Chrome trace to the file of `set_config`. `finished`: it is the last one of a run.

    >>> mx.profiler.set_config(filename="trace.json")
    >>> mx.profiler.dump()
    """
    _log.write(_file["name"])
    _file["is_finished"] = bool(finished)


def dumps(reset=False, format="table", sort_by="total", ascending=False):  # noqa: A002 - MXNet's name
    """Statistics of the events so far, as a table or as JSON with the keys 'Time', 'Memory' and 'Unit'.

    Counters are their values. `sort_by` is 'total', 'avg', 'min', 'max' or 'count'; `reset` forgets all events. Raises
    AssertionError, as MXNet does, for other values.

    >>> print(mx.profiler.dumps(reset=True).splitlines()[0])
    Profile Statistics:
    """
    choices = {"format": ("table", "json"), "sort_by": events.SORT_KEYS, "ascending": (False, True)}
    for key, value in {"format": format, "sort_by": sort_by, "ascending": ascending}.items():
        assert value in choices[key], f"dumps: {key} is one of {choices[key]}, got {value!r}"
    statistics = events.sorted_statistics(_log.statistics(), sort_by, ascending)
    if reset:
        _log.clear()
    return events.as_json(statistics) if format == "json" else events.as_table(statistics)


@contextlib.contextmanager
def scope(name="<unk>:", append_mode=True):
    """A scope whose name operators' events have; a scope in another one has both names, unless `append_mode` is False.

    >>> with mx.profiler.scope("first layer:"):
    ...     _ = amp.nd.ones((2,)) + 1
    """
    outer = _scope.get() if append_mode else "<unk>:"
    own = name if name.endswith(":") else f"{name}:"
    token = _scope.set(own if outer == "<unk>:" else outer + own)
    try:
        yield name
    finally:
        _scope.reset(token)


# ---- what a program marks itself ----


class Domain:
    """A name that groups events.

    >>> task = mx.profiler.Domain("loading").new_task("read")
    >>> task.start()
    >>> task.stop()
    """

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return self.name

    def new_task(self, name):
        """A `Task` of this domain."""
        return Task(self, name)

    def new_frame(self, name):
        """A `Frame` of this domain."""
        return Frame(self, name)

    def new_counter(self, name, value=None):
        """A `Counter` of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name):
        """A `Marker` of this domain."""
        return Marker(self, name)


class _Span:
    """A part of a program, between `start` and `stop`."""

    def __init__(self, category, name):
        self.name, self._category, self._begin = name, category, None

    def start(self):
        """It begins now."""
        self._begin = events.now()

    def stop(self):
        """It ends now; without a `start` nothing happens."""
        if self._begin is not None and _is_measuring():
            _log.add("X", self._category, self.name, self._begin, events.now() - self._begin)
        self._begin = None

    def __str__(self):
        return self.name


class Task(_Span):
    """A part of a program, in a domain.

    >>> task = mx.profiler.Task(mx.profiler.Domain("loading"), "read")
    >>> task.start()
    >>> task.stop()
    """

    def __init__(self, domain, name):
        super().__init__(str(domain), name)


class Frame(_Span):
    """One of many parts of the same kind, such as a step of training, in a domain.

    >>> frame = mx.profiler.Frame(mx.profiler.Domain("training"), "step")
    >>> frame.start()
    >>> frame.stop()
    """

    def __init__(self, domain, name):
        super().__init__(f"{domain},frame", name)


class Event(_Span):
    """A part of a program, without a domain.

    >>> event = mx.profiler.Event("evaluation")
    >>> event.start()
    >>> event.stop()
    """

    def __init__(self, name):
        super().__init__("event", name)


class Counter:
    """A number over time, in a domain; `+=` and `-=` change it.

    >>> counter = mx.profiler.Counter(mx.profiler.Domain("loading"), "pictures", 3)
    >>> counter += 2
    >>> counter.value
    5
    """

    def __init__(self, domain, name, value=None):
        self.name, self.value, self._category = name, 0, str(domain)
        if value is not None:
            self.set_value(value)

    def set_value(self, value):
        """The number is this one."""
        self.value = value
        if _is_measuring():
            _log.add("C", self._category, self.name, events.now(), value=value)

    def increment(self, delta=1):
        """Adds to the number."""
        self.set_value(self.value + delta)

    def decrement(self, delta=1):
        """Takes from the number."""
        self.set_value(self.value - delta)

    def __iadd__(self, delta):
        self.increment(delta)
        return self

    def __isub__(self, delta):
        self.decrement(delta)
        return self

    def __str__(self):
        return self.name


class Marker:
    """A point in time, in a domain.

    >>> mx.profiler.Marker(mx.profiler.Domain("training"), "loss is NaN").mark("process")
    """

    def __init__(self, domain, name):
        self.name, self._category = name, f"{domain},instant_marker"

    def mark(self, scope="process"):
        """Marks this moment. `scope`: 'global', 'process', 'thread', 'task' or 'marker'; ArgumentError for others."""
        if scope not in ("global", "process", "thread", "task", "marker"):
            raise ArgumentError(f"mark: scope is 'global', 'process', 'thread', 'task' or 'marker', got {scope!r}")
        if _is_measuring():
            _log.add("i", self._category, self.name, events.now(), scope=scope if scope != "marker" else "thread")


# ---- names of before ----


def profiler_set_config(mode="symbolic", filename="profile.json"):
    """`set_config` of MXNet 0: `mode` is 'symbolic', 'imperative', 'api', 'memory' or 'all'.

    >>> mx.profiler.profiler_set_config("all", "trace.json")
    """
    warnings.warn("profiler_set_config is deprecated; use set_config", DeprecationWarning, stacklevel=2)
    set_config(**{f"profile_{mode}": True}, filename=filename)


def profiler_set_state(state="stop"):
    """`set_state` of MXNet 0.

    >>> mx.profiler.profiler_set_state("stop")
    """
    warnings.warn("profiler_set_state is deprecated; use set_state", DeprecationWarning, stacklevel=2)
    set_state(state)


def dump_profile():
    """`dump` of MXNet 0.

    >>> mx.profiler.set_config(filename="trace.json")
    >>> mx.profiler.dump_profile()
    """
    warnings.warn("dump_profile is deprecated; use dump", DeprecationWarning, stacklevel=2)
    dump(True)


def set_kvstore_handle(handle):
    """Has no effect: there are no servers.

    >>> mx.profiler.set_kvstore_handle(None)
    """


if os.environ.get("MXNET_PROFILER_AUTOSTART") == "1":
    set_state("run")
    atexit.register(dump)

__getattr__ = getter(__name__)
