"""Models on disk: a symbol's JSON and a parameter file."""

from . import _core, sym
from ._paths import encoded
from .base import ArgumentError, UnsupportedError


def load(symbol_file, params_file):
    """Reads a model: (Symbol, {argument: NDArray}, {auxiliary state: NDArray}).

    The files are those that MXNet's `export`, `save_checkpoint` and (where its names are those of the
    symbol's variables) `save_parameters` write. Raises GraphError for a damaged file and for arrays
    that the symbol has no variable for, UnsupportedError for operators that are not there (naming all
    of them) and ArgumentError for a file that cannot be opened.
    """
    symbol = sym.load(symbol_file)
    arg_params, aux_params = _core.load_model_params(encoded(params_file), symbol._handle)
    return symbol, arg_params, aux_params


def load_checkpoint(prefix, epoch):
    """Reads `<prefix>-symbol.json` and `<prefix>-<epoch, four digits>.params`; see `load`."""
    return load(*_files(prefix, epoch))


def save_checkpoint(prefix, epoch, symbol, arg_params, aux_params, remove_amp_cast=False, *, params_format=None):
    """Writes `<prefix>-symbol.json` and `<prefix>-<epoch, four digits>.params`.

    Unlike MXNet's, the casts of a converted model are kept. `remove_amp_cast=True` is not
    implemented: UnsupportedError. `params_format` is the `format` of `amp.nd.save`.
    """
    if remove_amp_cast:
        raise UnsupportedError("save_checkpoint: remove_amp_cast=True is not supported yet")
    if not isinstance(symbol, sym.Symbol):
        raise ArgumentError(f"expected a Symbol, got {type(symbol).__name__}")
    symbol_file, params_file = _files(prefix, epoch)
    _core.save_model_params(encoded(params_file), dict(arg_params or {}), dict(aux_params or {}), params_format)
    symbol.save(symbol_file)


def _files(prefix, epoch):
    prefix = encoded(prefix)
    return prefix + b"-symbol.json", prefix + f"-{int(epoch):04d}.params".encode()
