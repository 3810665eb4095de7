"""Options of executors: one table, from which signatures, docstrings, checks and what the extension reads follow."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..base import ArgumentError, did_you_mean
from .checks import machine_name
from .conversion import check_options
from .signatures import description

if TYPE_CHECKING:
    import os
    from typing import Literal, TypeVar

    from numpy.typing import DTypeLike

    from .typed import ReduceOptions

    Class = TypeVar("Class", bound=type)

# ---- one function per kind of option: (key, value, symbol, all given options) -> what the extension reads ----
# The annotation of `value` is the option's type for type checkers: tools/write_types.py.


def _backend(key, value: Literal["onednn", "reference"], *_):
    if not isinstance(value, str):
        raise ArgumentError(f"{key}: expected 'onednn' or 'reference', got {value!r}")
    return value


def _reduce_precision(_key, value: DTypeLike | ReduceOptions, sym, _given):
    given = value if isinstance(value, dict) else {"target_dtype": value}
    return check_options(sym, given)[0]


def _number_of_threads(key, value: int, *_):
    if not isinstance(value, (int, np.integer)) or not 1 <= value <= 1024:
        raise ArgumentError(f"{key}: expected None or a number from 1 to 1024, got {value!r}")
    return int(value)


def _mode(key, value: Literal["fast", "exact"], *_):
    if value not in ("fast", "exact"):
        raise ArgumentError(f"{key}: expected 'fast' or 'exact', got {value!r}")
    return value


def _machine(key, value: str | os.PathLike[str], _sym, given):
    """Options of a conversion may name one, too."""
    reduce_precision = given.get("reduce_precision")
    named = reduce_precision.get("machine") if isinstance(reduce_precision, dict) else None
    if named is not None and named != value:
        if value != OPTIONS["machine"].default:
            raise ArgumentError(f"machine: got {value!r}, and {named!r} among the options of reduce_precision")
        value = named
    return machine_name(key, value)


def _flag(_key, value: bool, *_):
    return bool(value)


def _strict_flag(key, value: bool, *_):
    if not isinstance(value, bool):
        raise ArgumentError(f"{key}: expected True or False, got {value!r}")
    return value


def _bytes(key, value: int, *_):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 0:
        raise ArgumentError(f"{key}: expected None or a number of bytes, got {value!r}")
    return int(value)


def _count(key, value: int, *_):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= 1_000_000:
        raise ArgumentError(f"{key}: expected a number from 1 to 1000000, got {value!r}")
    return int(value)


def _audit(key, value: Literal[False, "warn", "strict"], *_):
    if value is not False and value not in ("warn", "strict"):
        raise ArgumentError(f"{key}: expected False, 'warn' or 'strict', got {value!r}")
    return value


def _text(_key, value, *_):
    return value


PLAIN, GRADIENTS = "plain", "gradients"  # runs that an option is for


class ExecutorOption(NamedTuple):
    """All that is said about an option. None as a value says nothing where it is the default."""

    default: object
    check: Callable  # raises ArgumentError
    doc: str = ""  # without one it is not an option of `Executor`, but of measurements
    runs: tuple = (PLAIN, GRADIENTS)


# In the order of checks.
OPTIONS = {
    "backend": ExecutorOption(
        None,
        _backend,
        "'onednn' or 'reference'; by default what the variable AMP_BACKEND says, else 'onednn'.",
    ),
    "reduce_precision": ExecutorOption(
        None,
        _reduce_precision,
        "a dtype ('bfloat16', 'float16') to convert the model to before it is bound, as `convert_model` does with "
        "`cast_params_offline=True`, or a dict {option: value} of its options. A CPU without bfloat16 arithmetic runs "
        "the model as it is, with a warning, unless the dict has 'emulate': True.",
    ),
    "num_threads": ExecutorOption(
        None,
        _number_of_threads,
        "of one run; by default OMP_NUM_THREADS, or as many as there are CPUs that this process may use (its affinity "
        "mask, a cgroup's quota). A run uses fewer where others need them, with the same bits.",
    ),
    "mode": ExecutorOption(
        "fast",
        _mode,
        "'fast' keeps chains of operators in float32 inside, folds batch norms and may choose other algorithms; "
        "'exact' gives every tensor the value that it would have if each node ran alone, on any number of threads.",
    ),
    "monitor": ExecutorOption(
        False,
        _flag,
        "whether `run_monitored` will be called: a second plan is built for it.",
        (PLAIN,),
    ),
    "audit": ExecutorOption(
        False,
        _audit,
        "what to do where the first run executes something else than the plan means: nothing (False), a warning "
        "('warn'), or an InternalError ('strict'), which name the node and what differs. See `audit()`.",
        (PLAIN,),
    ),
    "batch_invariant": ExecutorOption(
        False,
        _strict_flag,
        "whether each row of a batch is computed as at batch 1, by the same kernels and with sums cut in the same "
        "places: its bits do not depend on the batch that it is part of. Rows are run one after the other, which costs "
        "what larger products gain. Needs mode 'exact'. The batch is the first axis of each input, or that of 'N' in "
        "the attribute `__layout__`. Raises ArgumentError where rows depend on each other.",
        (PLAIN,),
    ),
    "plans": ExecutorOption(
        8,
        _count,
        "how many plans are kept where input_shapes leaves sizes open (None): a call with new sizes makes a plan for "
        "them, and the least recently used one goes.",
        (PLAIN,),
    ),
    "machine": ExecutorOption(
        "this",
        _machine,
        "'this' machine (or what the variable AMP_MACHINE names), a class of machines, a machine file, or 'any'. Low "
        "precision is used where it pays on that machine: policies 'default' and 'optimal' decide by predicted times, "
        "and in mode 'fast' a model that was converted before runs in float32 what is faster so. A warning tells it. "
        "'any' runs models as they were converted. An option 'machine' of reduce_precision says the same. "
        "See amp.convert_model and docs/precision.md.",
    ),
    "tune": ExecutorOption(
        False,
        _strict_flag,
        "whether to time the kernels that may compute the model's layers, for these shapes and threads, and to keep "
        "the fastest in the machine's file. Takes some hundred runs. Later executors on this machine do as that record "
        "says without timing anything. See docs/machines.md.",
        (PLAIN,),
    ),
    "memory_budget": ExecutorOption(
        None,
        _bytes,
        "the most bytes of results that are kept for `backward`; others are computed again.",
        (GRADIENTS,),
    ),
    # For measurements: a kernel wherever it can compute a layer.
    "forced_kernel": ExecutorOption("", _text, runs=(PLAIN,)),
    "count_denormals": ExecutorOption(
        False,
        _flag,
        "whether `flushed_counts` tells what bfloat16 instructions made zero. Products run twice.",
    ),
}


def public_options(runs):
    """Those of `amp.Executor` (PLAIN) or of `amp.TrainingExecutor` (GRADIENTS)."""
    return {name: option for name, option in OPTIONS.items() if option.doc and runs in option.runs}


def settings_of_plain_runs(sym, **given):
    """{option: value} for the extension's executor. Raises ArgumentError."""
    return _settings(sym, given, PLAIN)


def settings_of_gradients(sym, **given):
    """The same for its executor with gradients."""
    return _settings(sym, given, GRADIENTS)


def _settings(sym, given, runs):
    _require_known(given, OPTIONS, "an executor")
    settings = {}
    for name, option in OPTIONS.items():
        value = given.get(name, option.default)
        if runs in option.runs and not (value is None and option.default is None):
            settings[name] = option.check(name, value, sym, given)
    return settings


def with_executor_options(runs: str, order: str) -> Callable[[Class], Class]:
    """Decorates a class whose `__init__` takes the options of its runs as `**options`: its signature and docstring
    name them.

    `order` are the names of the parameters behind `*`, the function's own and those of options. In the docstring a line
    `{option}` becomes its description.
    """

    def decorate(cls):
        own = inspect.signature(cls.__init__).parameters
        positional = [p for p in own.values() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
        named = [own[name] if name in own else _parameter(name) for name in order.split()]
        cls.__init__.__signature__ = inspect.Signature([*positional, *named])
        cls.__signature__ = cls.__init__.__signature__.replace(parameters=[*positional[1:], *named])
        cls.__doc__ = re.sub(
            r"^    \{(\w+)\}$", lambda match: description(match[1], OPTIONS[match[1]].doc, 120), cls.__doc__, flags=re.M
        )
        return cls

    return decorate


def _parameter(name):
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=OPTIONS[name].default)


def require_options(given, runs, what):
    """Raises Python's TypeError for an option that a class does not have."""
    _require_known(given, public_options(runs), what)


def _require_known(given, known, what):
    for name in given:
        if name not in known:
            raise TypeError(f"{what} got an unexpected keyword argument {name!r}{_whose(name)}")


def _whose(name):
    """Which class has an option that another one lacks."""
    if name == "grad_req" or name in public_options(GRADIENTS):
        return "; amp.TrainingExecutor has it"
    if name in public_options(PLAIN):
        return "; amp.Executor has it"
    return did_you_mean(name, {**public_options(PLAIN), **public_options(GRADIENTS)})
