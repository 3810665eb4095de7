"""Models on the command line: a prefix, or a symbol file and a parameter file."""

import os

from .. import _core, checkpoint
from .._model_files import find_model
from .._paths import encoded
from ..base import ArgumentError
from ..executor import Executor
from ..inspection import is_symbol_file
from ..sym.slots import inputs_of

_SHOWN = 4  # names of a long list


def find_models(names):
    """The models that a list of arguments names: each a prefix or symbol file, with a parameter file behind it or not.

    Raises ArgumentError as `find_model` does.
    """
    models, rest = [], list(names)
    while rest:
        model = rest.pop(0)
        has_params = rest and os.path.isfile(rest[0]) and not is_symbol_file(rest[0])
        models.append(find_model(model, rest.pop(0) if has_params else None))
    return models


def find_two(names):
    """The two models that a list of arguments names; see `find_models`. Raises ArgumentError for another number."""
    models = find_models(names)
    if len(models) != 2:
        raise ArgumentError(
            f"expected two models, got {len(models)}: each a prefix, or a symbol file and its parameters"
        )
    return models


def is_plan(path):
    """Whether a file is a plan (docs/serving.md)."""
    return os.path.isfile(path) and _core.is_plan_file(encoded(path))


def load_plan(options):
    """The Executor of the plan file that `options.model` names.

    Raises ArgumentError for options that say how a model is bound: a plan is.
    """
    refuse_binding(options, f"{options.model} is a plan, which is bound already")
    return Executor.load(options.model)


def refuse_binding(options, why):
    """Raises ArgumentError where one of `options.binding` is given, (flag, name, default) as `commands` has them."""
    given = [flag for flag, name, default in options.binding if getattr(options, name) != default]
    if given:
        raise ArgumentError(f"{why}: leave {', '.join(given)} out")


def load(files):
    """(Symbol, arguments, auxiliary states). Raises GraphError for parameters of another model, ArgumentError where
    some are missing."""
    model = checkpoint.load(*files)
    _refuse_incomplete(model, files)
    return model


def missing_inputs(model, given):
    """The inputs that a run needs beside those that are `given`, in the order of the symbol's arguments."""
    symbol, arguments, _ = model
    inputs = inputs_of(symbol)
    return [name for name in symbol.list_arguments() if name in inputs and name not in arguments and name not in given]


def some(names):
    """The first of many names, as a text."""
    names = list(names)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _refuse_incomplete(model, files):
    """What lacks parameters is told before inputs are asked for, which they would be taken for."""
    symbol, arguments, states = model
    known = {*inputs_of(symbol), *arguments, *states}
    missing = [name for name in symbol.list_inputs() if name not in known]
    if missing:
        raise ArgumentError(f"{files.params} lacks {len(missing)} parameters of {files.symbol}: {some(missing)}")
