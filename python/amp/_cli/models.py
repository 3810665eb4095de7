"""Models on the command line: a prefix, or a symbol file and a parameter file."""

import glob
import os
import re
from typing import NamedTuple

from .. import checkpoint
from ..base import ArgumentError, did_you_mean
from ..inspection import is_symbol_file
from ..sym.slots import inputs_of

_SHOWN = 4  # names of a long list


class ModelFiles(NamedTuple):
    """The files of a model; `params` is None where there is only a symbol."""

    symbol: str
    params: str


def find_model(model, params=None, epoch=None):
    """The files of `model`, a prefix or a symbol file, and of `params`, where the caller names that file, too.

    Without it the parameters are those of `epoch`, or else of the newest epoch beside the symbol file. Raises
    ArgumentError where a file is missing or is of another kind.
    """
    symbol = symbol_file(model, params)
    if params is None:
        return ModelFiles(symbol, _params_beside(symbol, epoch))
    if epoch is not None:
        raise ArgumentError(f"--epoch {epoch} chooses a parameter file, and {params} names one: leave one of them out")
    _refuse_missing(params)
    if is_symbol_file(params):
        raise ArgumentError(f"{params} is a symbol file; the second file of a model holds its parameters (.params)")
    return ModelFiles(symbol, params)


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


def symbol_file(model, params=None):
    """The symbol file of a model; `params` is what the caller takes for its parameters."""
    if not os.path.isfile(model):
        if not os.path.isfile(f"{model}-symbol.json"):
            raise ArgumentError(f"there is neither a file {model} nor {model}-symbol.json{_near_prefix(model)}")
        model = f"{model}-symbol.json"
    _refuse_missing(model)
    if is_symbol_file(model):
        return model
    if params is not None and os.path.isfile(params) and is_symbol_file(params):
        raise ArgumentError(f"the symbol file comes first: {params} {model}")
    raise ArgumentError(f"{model} holds no symbol: expected a symbol file (.json) or the prefix of a model")


def _near_prefix(model):
    folder = os.path.dirname(model)
    found = glob.glob(os.path.join(glob.escape(folder), "*-symbol.json"))
    return did_you_mean(model, [path.removesuffix("-symbol.json") for path in found])


def _refuse_missing(path):
    if not os.path.isfile(path):
        raise ArgumentError(f"there is no file {path}")
    if os.path.getsize(path) == 0:
        raise ArgumentError(f"{path} is empty")


def _params_beside(symbol, epoch):
    stem = symbol.removesuffix("-symbol.json").removesuffix(".json")
    epochs = {
        int(found[1]): path
        for path in glob.glob(f"{glob.escape(stem)}-*.params")
        if (found := re.fullmatch(r"-(\d{4,})\.params", path.removeprefix(stem)))
    }
    if epoch is not None and epoch not in epochs:
        there = f"; epochs there: {', '.join(map(str, sorted(epochs)))}" if epochs else ""
        raise ArgumentError(f"there is no parameter file {stem}-{epoch:04d}.params{there}")
    if epochs:
        path = epochs[max(epochs) if epoch is None else epoch]
    elif os.path.isfile(f"{stem}.params"):
        path = f"{stem}.params"
    else:
        raise ArgumentError(f"{symbol}: there is no parameter file {stem}-0000.params; name one behind it")
    _refuse_missing(path)
    return path


def _refuse_incomplete(model, files):
    """What lacks parameters is told before inputs are asked for, which they would be taken for."""
    symbol, arguments, states = model
    known = {*inputs_of(symbol), *arguments, *states}
    missing = [name for name in symbol.list_inputs() if name not in known]
    if missing:
        raise ArgumentError(f"{files.params} lacks {len(missing)} parameters of {files.symbol}: {some(missing)}")
