"""What callers ask of a conversion, checked and in the form that the extension reads."""

from __future__ import annotations

import functools
import os
import re
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _core
from ..base import ArgumentError, did_you_mean, dtype_name
from ..sym.attributes import attribute_text
from .nodes import NodeQuery, nodes_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any, Literal

    from numpy.typing import DTypeLike

TARGETS = ("bfloat16", "float16")
POLICIES = ("default", "mxnet", "graphamp", "optimal")
MINIMIZED = ("time", "casts")
PRESETS = ("mp0", "mp1", "mp2", "mp3", "mp4")
CATEGORIES = ("allow", "infer", "deny")
LIMITS = ("activation", "parameter", "depth")


def check_options(sym, given):
    """What `checked_options` gives, without mistakes: all of them are in one ArgumentError."""
    options, unmatched, problems = checked_options(sym, given)
    if problems:
        raise ArgumentError("\n".join(problems))
    return options, unmatched


def checked_options(sym, given):
    """(options, regular expressions among the excluded names that match nothing, mistakes as texts).

    `given` is {option: value} with the keys of OPTIONS, `emulate`, `ignore_unknown_names` and `report`, all of them
    optional. The extension looks up names of operators, nodes and outputs.
    """
    given = {key: value for key, value in given.items() if value is not None}
    nodes = _Nodes(sym)
    options, problems = {}, []
    for key, value in given.items():
        try:
            options[key] = _check_for(key)(key, value, sym, nodes)
        except ArgumentError as error:
            problems.append(str(error))
    if not given.get("ignore_unknown_names"):
        problems += [f"no operator of the model has a name that matches {text!r}" for text in nodes.unmatched]
    return options, nodes.unmatched, problems


def _check_for(key):
    if key in _CHECKS:
        return _CHECKS[key]
    hint = did_you_mean(key, OPTIONS) or f"; options are {', '.join(OPTIONS)}"
    raise ArgumentError(f"there is no option {key!r}{hint}")


class _Nodes:
    """The names of a symbol's operators, as far as regular expressions and queries ask for them."""

    def __init__(self, sym):
        self._sym = sym
        self.unmatched = []

    @functools.cached_property
    def _parsed(self):
        return nodes_of(self._sym)

    @functools.cached_property
    def _names(self):
        return list(dict.fromkeys(node["name"] for node in self._parsed if node["op"] != "null"))

    def expand(self, what, name):
        """The names that `name` stands for; the extension expands texts."""
        if isinstance(name, str):
            return [name]
        if isinstance(name, NodeQuery):
            found = name._names_among(self._parsed)
            if not found and not name.optional:
                self.unmatched.append(str(name))
            return found
        if not isinstance(name, re.Pattern) or not isinstance(name.pattern, str):
            raise ArgumentError(f"{what}: expected names or regular expressions (re.compile), got {name!r}")
        found = [node for node in self._names if name.fullmatch(node)]
        if not found:
            self.unmatched.append(name.pattern)
        return found


def target_name(dtype, key="target_dtype"):
    """'bfloat16' or 'float16'"""
    try:
        name = dtype_name(dtype)
    except ArgumentError:
        name = repr(dtype)
    if name not in TARGETS:
        raise ArgumentError(f"{key}: expected {' or '.join(TARGETS)}, got {name}")
    return name


def by_name(what, value, names):
    """{name: dtype} from a dict, from one dtype for all `names` or from a list in their order; None is {}."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return dict(value)
    if is_one_dtype(value):
        return dict.fromkeys(names, value)
    if len(value) != len(names):
        kind = what.split("_")[0]
        raise ArgumentError(
            f"{what} has {len(value)} entries, but the model has {len(names)} {kind}s: {', '.join(names)}"
        )
    return dict(zip(names, value))


def is_one_dtype(value):
    """Whether it is neither a dict nor a list of dtypes. [('bfloat16', numpy.uint16)] is one dtype."""
    if isinstance(value, (list, tuple)):
        return any(isinstance(item, tuple) for item in value)
    return not isinstance(value, dict)


def is_float(dtype):
    """Whether a dtype is one of floating-point numbers."""
    return "float" in dtype_name(dtype)


@functools.cache
def _names_of_codes():
    names = "float32 float64 float16 bfloat16 uint8 int8 int32 int64 bool".split()
    return {str(_core.dtype_code(name)): name for name in names}


def declared_dtype(attributes):
    """The dtype that `__dtype__`, MXNet's number for it, declares among the attributes of a variable, or None."""
    return _names_of_codes().get(attributes.get("__dtype__"))


# ---- one function per kind of option: (key, value, symbol, nodes) -> what the extension reads ----
# The annotation of `value` is the option's type for type checkers: tools/write_types.py.


def _target(key, value: DTypeLike, _sym, _nodes):
    return target_name(value, key)


def _flag(key, value: bool, _sym, _nodes):
    if value not in (False, True):  # 0 and 1 and NumPy's, too
        raise ArgumentError(f"{key}: expected True or False, got {value!r}")
    return bool(value)


def _policy(key, value: Literal["default", "mxnet", "graphamp", "optimal"], _sym, _nodes):
    if value not in POLICIES:
        raise ArgumentError(f"{key}: expected {' or '.join(map(repr, POLICIES))}, got {value!r}")
    return value


def _minimize(key, value: Literal["time", "casts"], _sym, _nodes):
    if value not in MINIMIZED:
        raise ArgumentError(f"{key}: expected {' or '.join(map(repr, MINIMIZED))}, got {value!r}")
    return value


def items_of(key, value):
    """The elements of a list, tuple or set. One text, which iterates as well, is a mistake."""
    if not isinstance(value, (list, tuple, set, frozenset)):
        hint = f"; write [{value!r}]" if isinstance(value, (str, re.Pattern)) else ""
        raise ArgumentError(f"{key}: expected a list, got {type(value).__name__}{hint}")
    return list(value)


def _operators(key, value: Collection[str], _sym, _nodes):
    operators = items_of(key, value)
    for operator in operators:
        if not isinstance(operator, str):
            raise ArgumentError(f"{key}: expected names of operators, got {operator!r}")
    return operators


def _conditional(key, value: Collection[tuple[str, str, Collection[Any]]], _sym, _nodes):
    entries = []
    for entry in items_of(key, value):
        parts = tuple(entry) if isinstance(entry, (list, tuple)) else ()
        if len(parts) != 3 or not isinstance(parts[0], str) or not isinstance(parts[1], str):
            raise ArgumentError(f"{key}: expected (operator, attribute, [values]), got {entry!r}")
        values = items_of(f"{key}: values of {parts[0]}'s {parts[1]}", parts[2])
        entries.append((parts[0], parts[1], [attribute_text(item, what=key) for item in values]))
    return entries


def _excluded(key, value: Collection[str | re.Pattern[str]], _sym, nodes):
    return list(dict.fromkeys(name for item in items_of(key, value) for name in nodes.expand(key, item)))


def _force(key, value: Mapping[str, DTypeLike], _sym, nodes):
    if not isinstance(value, dict):
        hint = "; emulate=True converts although the CPU lacks the arithmetic" if isinstance(value, bool) else ""
        raise ArgumentError(f"{key}: expected a dict {{node: dtype}}, got {type(value).__name__}{hint}")
    return _by_node(key, {item: dtype_name(dtype) for item, dtype in value.items()}, nodes)


def _by_node(key, value, nodes):
    """{name: what is said of it}. Raises ArgumentError for names of which two things are said."""
    found, problems = {}, []
    for item, said in value.items():
        for name in nodes.expand(key, item):
            if found.setdefault(name, said) != said:
                problems.append(f"{key}: '{name}' is to be both {found[name]} and {said}")
    if problems:
        raise ArgumentError("\n".join(problems))
    return found


def _category(key, value):
    if value not in CATEGORIES:
        raise ArgumentError(f"{key}: expected {', '.join(map(repr, CATEGORIES))}, got {value!r}")
    return value


def _preset(key, value: Literal["mp0", "mp1", "mp2", "mp3", "mp4"] | Mapping[str, Any], sym, nodes):
    if isinstance(value, str) and value in PRESETS:
        return value
    if not isinstance(value, dict):
        raise ArgumentError(f"{key}: expected one of {', '.join(PRESETS)} or a dict of categories, got {value!r}")
    unknown = [name for name in value if name not in (*CATEGORIES, "rest")]
    if unknown:
        raise ArgumentError(f"{key}: expected the keys {', '.join(CATEGORIES)} and rest, got {unknown[0]!r}")
    lists = {name: _operators(f"{key}: {name}", value[name], sym, nodes) for name in CATEGORIES if name in value}
    return {**lists, "rest": _category(f"{key}: rest", value.get("rest", "deny"))}


def _categories(key, value: Mapping[str, Literal["allow", "infer", "deny"]], _sym, nodes):
    if not isinstance(value, dict):
        raise ArgumentError(f"{key}: expected a dict {{node: category}}, got {type(value).__name__}")
    return _by_node(key, {item: _category(f"{key}: '{item}'", category) for item, category in value.items()}, nodes)


def _outputs(key, value: DTypeLike | Mapping[str, DTypeLike] | Sequence[DTypeLike], sym, _nodes):
    return {name: dtype_name(dtype) for name, dtype in by_name(key, value, sym.list_outputs()).items()}


def _accuracy(key, value: Mapping[str, Any], *_):
    """{"error": number} or {"metric": function, "drop": number}"""
    if not isinstance(value, dict) or set(value) not in ({"error"}, {"metric", "drop"}):
        got = f"the keys {', '.join(map(repr, value))}" if isinstance(value, dict) else repr(value)
        raise ArgumentError(f"{key}: expected {{'error': number}} or {{'metric': function, 'drop': number}}, got {got}")
    goal = "error" if "error" in value else "drop"
    if not _is_positive(value[goal]):
        raise ArgumentError(f"{key}: {goal}: expected a number above 0, got {value[goal]!r}")
    if "metric" in value and not callable(value["metric"]):
        raise ArgumentError(f"{key}: metric: expected a function of `run`, got {value['metric']!r}")
    return value


def _is_positive(number):
    is_number = isinstance(number, (int, float, np.integer, np.floating)) and not isinstance(number, bool)
    return is_number and 0 < number < float("inf")


def _limits(key, value: Mapping[str, float], *_):
    """{name of LIMITS: number}"""
    if not isinstance(value, dict) or not value:
        raise ArgumentError(f"{key}: expected a dict with some of {', '.join(LIMITS)}, got {value!r}")
    problems = [
        f"{key}: there is no limit {name!r}{did_you_mean(name, LIMITS) or '; limits are ' + ', '.join(LIMITS)}"
        if name not in LIMITS
        else f"{key}: {name}: expected a number above 0, got {number!r}"
        for name, number in value.items()
        if name not in LIMITS or not _is_positive(number)
    ]
    if problems:
        raise ArgumentError("\n".join(problems))
    return {name: float(number) for name, number in value.items()}


def _data(_key, value: Any, *_):
    return value  # what it may be depends on the model: _trust/data.py


def _sensitivity(key, value: Any, *_):
    if not hasattr(value, "effects"):
        raise ArgumentError(f"{key}: expected what amp.sensitivity returns, got {value!r}")
    return value


def error_of_outputs(text):
    """'2e-3' of the command line -> {"error": 0.002}"""
    try:
        return _accuracy("accuracy", {"error": float(text)})
    except ValueError:
        from argparse import ArgumentTypeError  # the command line alone needs it

        raise ArgumentTypeError(f"{text!r}: expected a number above 0, such as 2e-3") from None


def limits_of_text(text):
    """'activation=512,depth=4096' of the command line -> {"activation": 512.0, "depth": 4096.0}"""
    from argparse import ArgumentTypeError  # the command line alone needs it

    try:
        pairs = [item.split("=") for item in text.split(",")]
        return _limits("limits", {name.strip(): float(number) for name, number in pairs})
    except ArgumentError as error:
        raise ArgumentTypeError(str(error)) from None
    except ValueError:
        raise ArgumentTypeError(f"{text!r}: expected limits such as activation=512,depth=4096") from None


def machine_name(key, value: str | os.PathLike[str], *_):
    """A class of machines, 'this', 'any' or the path of a machine file, as text."""
    if not isinstance(value, (str, os.PathLike)):
        raise ArgumentError(f"{key}: expected 'this', 'any', a class of machines or a file, got {value!r}")
    return os.fspath(value)


class Option(NamedTuple):
    """All that is said about an option: what its values are, and how docstrings and the command line describe it."""

    default: object
    check: Callable  # (key, value, symbol, nodes) -> what the extension reads; raises ArgumentError
    doc: str
    flag: str = ""  # of the command line, where it has one
    argument: Mapping = types.MappingProxyType({})  # how argparse reads the flag


# The options of conversions, in the order of signatures.
OPTIONS = {
    "target_dtype": Option(
        "bfloat16",
        _target,
        "'bfloat16' or 'float16', the dtype of what is converted.",
        "--to",
        {"choices": TARGETS, "default": "bfloat16", "help": "default: bfloat16"},
    ),
    "target_dtype_ops": Option(
        None,
        _operators,
        "a list of operators that run in `target_dtype`. Under policy 'mxnet' it replaces the published list.",
    ),
    "fp32_ops": Option(
        None,
        _operators,
        "a list of operators that run in what the model had. Under policy 'mxnet' it replaces the published list.",
    ),
    "conditional_fp32_ops": Option(
        None,
        _conditional,
        "a list of (operator, attribute, [values]): nodes whose attribute has one of the values are left as they are.",
    ),
    "excluded_sym_names": Option(
        None,
        _excluded,
        "a list of nodes that are left as they are. A text is the name of a node, or else a pattern with * and ?; a "
        "regular expression (re.compile) has to match the whole name.",
        "--exclude",
        {
            "action": "append",
            "default": [],
            "metavar": "NODE",
            "help": "a node (or a pattern such as 'fc*') to keep (may be repeated)",
        },
    ),
    "cast_params_offline": Option(
        False,
        _flag,
        "whether the arrays of parameters are cast instead, where all readers agree.",
        "--offline",
        {"action": "store_true", "help": "cast parameters in the file instead of in every run"},
    ),
    "widest_dtype_ops": Option(
        None,
        _operators,
        "a list of operators that run in the widest dtype of their inputs. Under policy 'mxnet' it replaces the "
        "published list.",
    ),
    "neutral_ops": Option(
        None,
        _operators,
        "a list of operators that follow their neighbours, whatever the policy says of them: as its own neutral ones.",
    ),
    "policy": Option(
        "default",
        _policy,
        "'default', 'mxnet' for the decisions of MXNet's published operator lists, 'graphamp' for low precision that "
        "spreads from the outputs upstream, or 'optimal' for a minimum cut.",
        "--policy",
        {"choices": POLICIES, "default": "default", "help": "whose rules decide"},
    ),
    "minimize": Option(
        None,
        _minimize,
        "what policy 'optimal' makes as small as possible: the predicted 'time' of a run, which needs a machine and "
        "the shapes of all inputs, or the number of 'casts'. By default time where a machine is named, else casts.",
        "--minimize",
        {
            "choices": MINIMIZED,
            "help": "of policy optimal: what is made small (default: time, or casts if no machine is named)",
        },
    ),
    "force": Option(
        None,
        _force,
        "{node: dtype}, stronger than everything else; nodes are named as for `excluded_sym_names`.",
    ),
    "output_dtypes": Option(
        None,
        _outputs,
        "what the outputs shall be: {output: dtype}, one dtype or a list. By default what they were.",
    ),
    "fold_batch_norm": Option(
        None,
        _flag,
        "whether batch norms are folded into the weights before these are cast; by default True under policies "
        "'default' and 'optimal'.",
        "--no-fold",
        {"action": "store_const", "const": False, "help": "leave batch norm apart from the layer before it"},
    ),
    "training": Option(
        False,
        _flag,
        "whether the model will be trained. Its gradients are then in the same precision, and are counted where "
        "predicted times decide; batch norms stay, and so do parameters. `amp.TrainingExecutor` knows it.",
        "--training",
        {"action": "store_true", "help": "for a model that will be trained"},
    ),
    "preset": Option(
        None,
        _preset,
        "of policy 'graphamp': 'mp0' (changes nothing), 'mp1' (products read low precision; the default, unless the "
        "environment variable AMP_GRAPHAMP_PRESET says otherwise), 'mp2' (so does what moves data in front of them), "
        "'mp3' (and elementwise operators) or 'mp4' (everything); or {'allow': operators, 'infer': operators, 'deny': "
        "operators, 'rest': category}.",
        "--preset",
        {"metavar": "PRESET", "choices": PRESETS, "help": "mp0 to mp4, of policy graphamp (default: mp1)"},
    ),
    "categories": Option(
        None,
        _categories,
        "of policy 'graphamp': {node: 'allow', 'infer' or 'deny'}, as strong as `force`; nodes are named as for "
        "`excluded_sym_names`.",
    ),
    "accuracy": Option(
        None,
        _accuracy,
        "how accurate the outputs have to be, on `data`: {'error': 2e-3}, the largest root mean square of their errors "
        "relative to that of the outputs, or {'metric': f, 'drop': 0.002}, the most that f may lose; f(run) is a "
        "number, the larger the better, and run(inputs) gives the outputs. Needs policy 'default' or 'optimal', which "
        "then keeps in float32 what gains the least for its error. Where the goal cannot be met the model stays "
        "float32, and `report.accuracy` says so.",
        "--max-error",
        {
            "type": error_of_outputs,
            "metavar": "ERROR",
            "help": "how large the outputs' error may be, such as 2e-3 (rms, relative to them); needs --data",
        },
    ),
    "limits": Option(
        None,
        _limits,
        "{'activation': number, 'parameter': number, 'depth': number}, or some of them: a node keeps its dtypes where "
        "a float tensor that it reads or writes on `data` has a larger magnitude, where a parameter that it reads has "
        "one, or where it sums up more terms.",
        "--limits",
        {
            "type": limits_of_text,
            "metavar": "LIMITS",
            "help": "what exceeds a limit stays: activation=512,parameter=100,depth=4096, or some of them; an "
            "activation is that of --data",
        },
    ),
    "data": Option(
        None,
        _data,
        "what the model will see: an array (of a model with one input), {input: array}, or an iterable of such "
        "batches. `accuracy`, `limits`, `verify` and the ranges in the report read it. It also decides whether a "
        "weight with a folded batch norm is rounded to nearest or with compensation; without data that is "
        "compensation, a bet. Where several models run on it, the first 256 MiB of an iterator, which can be read "
        "once, are kept, and the rest is not read; whatever can be read again is, and nothing of it is kept.",
        "--data",
        {
            "metavar": "FILE.npz",
            "help": "data of all inputs, an array for each: for --max-error, --limits, --verify, the ranges in the "
            "report, and how folded weights are rounded",
        },
    ),
    "sensitivity": Option(
        None,
        _sensitivity,
        "what `amp.sensitivity` returned for the model, for `accuracy` and for how weights with folded batch norms are "
        "rounded; by default it is computed from `data`.",
    ),
    "keep_decision": Option(
        False,
        _flag,
        "whether what is low stays so wherever the model is bound, for all batch sizes and machines; the file says so. "
        "By default an executor takes low precision back where it does not pay, which depends on both.",
        "--keep-decision",
        {"action": "store_true", "help": "the decision holds for all batch sizes and machines"},
    ),
    "machine": Option(
        "any",
        machine_name,
        "whose speed decides: 'this' machine, a class of machines ('avx2', 'avx512_core', 'avx512_bf16_fast', "
        "'avx512_bf16_slow', 'avx512_bf16_wide', 'avx512_amx'), a machine file, or 'any': no times are known. Policies "
        "'default' and 'optimal' use low precision where it pays on that machine, which needs the shapes of all "
        "inputs. A file may run anywhere, hence 'any' by default; executors, which run here, have 'this'.",
        "--machine",
        {"metavar": "MACHINE", "help": "'this', 'any' (default), a class or a file: low precision where it pays there"},
    ),
}

# Options of an executor's `reduce_precision` that no conversion of files has.
OF_EXECUTORS = {"emulate": Option(False, _flag, "whether a CPU that lacks the arithmetic of the dtype converts, too.")}

# Options that need the values of a model: only `convert_model` reads them.
OF_MODELS = ("accuracy", "limits", "data", "sensitivity")


def problems_of_models(given):
    """Texts of what options of OF_MODELS may not be, alone or together."""
    problems = []
    for name in OF_MODELS:
        if given[name] is not None:
            try:
                OPTIONS[name].check(name, given[name])
            except ArgumentError as error:
                problems.append(str(error))
    return problems or list(_contradictions_of_models(given))


def _contradictions_of_models(given):
    accuracy, limits, data, sensitivity = (given[name] for name in OF_MODELS)
    if accuracy is not None and data is None and ("error" in accuracy or sensitivity is None):
        yield "accuracy: expected data=, on which it is measured"
    if limits and "activation" in limits and data is None:
        yield "limits: activation: expected data=, on which activations are met"


def _refuse(key, *_):
    raise ArgumentError(f"{key}: only amp.convert_model reads it, which has the values of parameters")


# What only some callers say.
_CHECKS = {
    **{name: option.check for name, option in {**OPTIONS, **OF_EXECUTORS}.items()},
    **dict.fromkeys(OF_MODELS, _refuse),
    "ignore_unknown_names": _flag,
    "report": _flag,
}
