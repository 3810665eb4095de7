"""What callers ask of a conversion, checked and in the form that the extension reads."""

from __future__ import annotations

import functools
import re
import types
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..base import ArgumentError, did_you_mean
from . import checks
from .checks import MINIMIZED, POLICIES, PRESETS, TARGETS
from .nodes import NodeQuery, nodes_of


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
        checks.target,
        "'bfloat16' or 'float16', the dtype of what is converted.",
        "--to",
        {"choices": TARGETS, "default": "bfloat16", "help": "default: bfloat16"},
    ),
    "target_dtype_ops": Option(
        None,
        checks.operators,
        "a list of operators that run in `target_dtype`. Under policy 'mxnet' it replaces the published list.",
    ),
    "fp32_ops": Option(
        None,
        checks.operators,
        "a list of operators that run in what the model had. Under policy 'mxnet' it replaces the published list.",
    ),
    "conditional_fp32_ops": Option(
        None,
        checks.conditional,
        "a list of (operator, attribute, [values]): nodes whose attribute has one of the values are left as they are.",
    ),
    "excluded_sym_names": Option(
        None,
        checks.excluded,
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
        checks.flag,
        "whether the arrays of parameters are cast instead, where all readers agree.",
        "--offline",
        {"action": "store_true", "help": "cast parameters in the file instead of in every run"},
    ),
    "widest_dtype_ops": Option(
        None,
        checks.operators,
        "a list of operators that run in the widest dtype of their inputs. Under policy 'mxnet' it replaces the "
        "published list.",
    ),
    "neutral_ops": Option(
        None,
        checks.operators,
        "a list of operators that follow their neighbours, whatever the policy says of them: as its own neutral ones.",
        "--neutral",
        {
            "action": "append",
            "metavar": "OPERATOR",
            "help": "an operator that follows its neighbours, whatever the policy says (may be repeated)",
        },
    ),
    "policy": Option(
        "default",
        checks.policy,
        "'default', 'mxnet' for the decisions of MXNet's published operator lists, 'graphamp' for low precision that "
        "spreads from the outputs upstream, or 'optimal' for a minimum cut.",
        "--policy",
        {"choices": POLICIES, "default": "default", "help": "whose rules decide"},
    ),
    "minimize": Option(
        None,
        checks.minimize,
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
        checks.force,
        "{node: dtype}, stronger than everything else; nodes are named as for `excluded_sym_names`.",
    ),
    "output_dtypes": Option(
        None,
        checks.outputs,
        "what the outputs shall be: {output: dtype}, one dtype or a list. By default what they were.",
    ),
    "fold_batch_norm": Option(
        None,
        checks.flag,
        "whether batch norms are folded into the weights before these are cast; by default True under policies "
        "'default' and 'optimal'.",
        "--no-fold",
        {"action": "store_const", "const": False, "help": "leave batch norm apart from the layer before it"},
    ),
    "training": Option(
        False,
        checks.flag,
        "whether the model will be trained. Its gradients are then in the same precision, and are counted where "
        "predicted times decide; batch norms stay, and so do parameters. `amp.TrainingExecutor` knows it.",
        "--training",
        {"action": "store_true", "help": "for a model that will be trained"},
    ),
    "preset": Option(
        None,
        checks.preset,
        "of policy 'graphamp': 'mp0' (changes nothing), 'mp1' (products read low precision; the default, unless the "
        "environment variable AMP_GRAPHAMP_PRESET says otherwise), 'mp2' (so does what moves data in front of them), "
        "'mp3' (and elementwise operators) or 'mp4' (everything); or {'allow': operators, 'infer': operators, 'deny': "
        "operators, 'rest': category}.",
        "--preset",
        {"metavar": "PRESET", "choices": PRESETS, "help": "mp0 to mp4, of policy graphamp (default: mp1)"},
    ),
    "categories": Option(
        None,
        checks.categories,
        "of policy 'graphamp': {node: 'allow', 'infer' or 'deny'}, as strong as `force`; nodes are named as for "
        "`excluded_sym_names`.",
    ),
    "accuracy": Option(
        None,
        checks.accuracy,
        "how accurate the outputs have to be, on `data`: {'error': 2e-3}, the largest root mean square of their errors "
        "relative to that of the outputs, or {'metric': f, 'drop': 0.002}, the most that f may lose; f(run) is a "
        "number, the larger the better, and run(inputs) gives the outputs. Needs policy 'default' or 'optimal', which "
        "then keeps in float32 what gains the least for its error. Where the goal cannot be met the model stays "
        "float32, and `report.accuracy` says so.",
        "--max-error",
        {
            "type": checks.error_of_outputs,
            "metavar": "ERROR",
            "help": "how large the outputs' error may be, such as 2e-3 (rms, relative to them); needs --data",
        },
    ),
    "limits": Option(
        None,
        checks.limits,
        "{'activation': number, 'parameter': number, 'depth': number}, or some of them: a node keeps its dtypes where "
        "a float tensor that it reads or writes on `data` has a larger magnitude, where a parameter that it reads has "
        "one, or where it sums up more terms.",
        "--limits",
        {
            "type": checks.limits_of_text,
            "metavar": "LIMITS",
            "help": "what exceeds a limit stays: activation=512,parameter=100,depth=4096, or some of them; an "
            "activation is that of --data",
        },
    ),
    "data": Option(
        None,
        checks.data,
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
        checks.sensitivity,
        "what `amp.sensitivity` returned for the model, for `accuracy` and for how weights with folded batch norms are "
        "rounded; by default it is computed from `data`.",
    ),
    "keep_decision": Option(
        False,
        checks.flag,
        "whether what is low stays so wherever the model is bound, for all batch sizes and machines; the file says so. "
        "By default an executor takes low precision back where it does not pay, which depends on both.",
        "--keep-decision",
        {"action": "store_true", "help": "the decision holds for all batch sizes and machines"},
    ),
    "machine": Option(
        "any",
        checks.machine_name,
        "whose speed decides: 'this' machine, a class of machines ('avx2', 'avx512_core', 'avx512_bf16_fast', "
        "'avx512_bf16_slow', 'avx512_bf16_wide', 'avx512_amx'), a machine file, or 'any': no times are known. Policies "
        "'default' and 'optimal' use low precision where it pays on that machine, which needs the shapes of all "
        "inputs. A file may run anywhere, hence 'any' by default; executors, which run here, have 'this'.",
        "--machine",
        {"metavar": "MACHINE", "help": "'this', 'any' (default), a class or a file: low precision where it pays there"},
    ),
}

# Options of an executor's `reduce_precision` that no conversion of files has.
OF_EXECUTORS = {
    "emulate": Option(False, checks.flag, "whether a CPU that lacks the arithmetic of the dtype converts, too.")
}

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
    "ignore_unknown_names": checks.flag,
    "report": checks.flag,
}
