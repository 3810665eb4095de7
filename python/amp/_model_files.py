"""The files of a model: a prefix, or a symbol file and a parameter file."""

import glob
import os
import re
from typing import NamedTuple

from .base import ArgumentError, did_you_mean
from .inspection import is_symbol_file


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
