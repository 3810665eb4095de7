"""Models on disk: a symbol's JSON and a parameter file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import _core, sym
from ._arrays import readable_dict
from ._execution.parameter_files import ParameterFile, remember
from ._paths import encoded
from .base import ArgumentError, GraphError, dtype_name, log

if TYPE_CHECKING:
    from typing import Literal

    from ._core import NDArray
    from ._types import Arrays, Path


def load(symbol_file: Path, params_file: Path) -> tuple[sym.Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Reads a model: (Symbol, {argument: NDArray}, {auxiliary state: NDArray}).

    The files are those that MXNet's `export`, `save_checkpoint` and (where its names are those of the
    symbol's variables) `save_parameters` write. Raises GraphError for a damaged file and for arrays
    that the symbol has no variable for (it names some), UnsupportedError for operators that are not supported (naming
    all of them) and ArgumentError for a file that cannot be opened.

    >>> sym, args, aux = amp.load("model-symbol.json", "model-0000.params")
    >>> args["fc_weight"].shape
    (3, 4)
    """
    model = load_leniently(symbol_file, params_file)
    _require_variables(params_file, *model)
    return model


def load_leniently(symbol_file, params_file):
    """What `load` gives, with whatever else the parameter file holds, as MXNet does."""
    symbol = sym.load(symbol_file)
    file = ParameterFile(params_file)
    arg_params, aux_params = _core.load_model_params(encoded(params_file), symbol._handle)
    remember(file, {**arg_params, **aux_params})
    log("loaded %s: %d arrays", params_file, len(arg_params) + len(aux_params))
    return symbol, arg_params, aux_params


def _require_variables(params_file, symbol, arg_params, aux_params):
    arguments, states = set(symbol.list_arguments()), set(symbol.list_auxiliary_states())
    strange = [name for name in arg_params if name not in arguments] + [
        name for name in aux_params if name not in states
    ]
    if not strange:
        return
    some = ", ".join(strange[:3]) + (f" and {len(strange) - 3} more" if len(strange) > 3 else "")
    missing = len((arguments | states) - {*arg_params, *aux_params})
    raise GraphError(
        f"{os.fsdecode(encoded(params_file))}: the symbol has no variable for {len(strange)} of its "
        f"{len(arg_params) + len(aux_params)} arrays: {some}; {missing} variables have no array. Are these the "
        "parameters of another model? amp.nd.load reads them without a symbol"
    )


def load_checkpoint(prefix: Path, epoch: int) -> tuple[sym.Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """Reads `<prefix>-symbol.json` and `<prefix>-<epoch, four digits>.params`; see `load`.

    >>> sym, args, aux = amp.load_checkpoint("model", 0)
    >>> sym.list_outputs()
    ['relu_output']
    """
    return load(*_files(prefix, epoch))


def load_checkpoint_leniently(prefix, epoch):
    """What `load_checkpoint` gives, with whatever else the parameter file holds, as MXNet does."""
    return load_leniently(*_files(prefix, epoch))


def save_checkpoint(
    prefix: Path,
    epoch: int,
    symbol: sym.Symbol,
    arg_params: Arrays | None,
    aux_params: Arrays | None,
    remove_amp_cast: bool = False,
    *,
    params_format: Literal["V2", "V3", "npz"] | None = None,
) -> None:
    """Writes `<prefix>-symbol.json` and `<prefix>-<epoch, four digits>.params`.

    Unlike MXNet's, the casts of a converted model are kept. With `remove_amp_cast=True` the files hold the
    model without them: see `Symbol.tojson`; arrays that were cast offline are float32 again, with the precision that
    they have lost. `params_format` is the `format` of `amp.nd.save`.

    >>> amp.save_checkpoint("copy", 0, *amp.load_checkpoint("model", 0))
    >>> sorted(amp.nd.load("copy-0000.params"))
    ['arg:fc_bias', 'arg:fc_weight']
    """
    if not isinstance(symbol, sym.Symbol):
        raise ArgumentError(f"expected a Symbol, got {type(symbol).__name__}")
    symbol_file, params_file = _files(prefix, epoch)
    if remove_amp_cast:
        symbol, arg_params, aux_params = without_amp_casts(symbol, arg_params or {}, aux_params or {})
    _core.save_model_params(encoded(params_file), dict(arg_params or {}), dict(aux_params or {}), params_format)
    symbol.save(symbol_file)


def without_amp_casts(symbol, arg_params, aux_params):
    """A converted model without its casts: (Symbol, arg_params, aux_params), the parameters as NDArrays."""
    marked = {name for name, attributes in symbol.attr_dict().items() if "__amp_dtype__" in attributes}
    groups = [
        {name: _restored(name, array, marked) for name, array in readable_dict(group, what).items()}
        for group, what in ((arg_params, "arg_params"), (aux_params, "aux_params"))
    ]
    dtypes = {name: array.dtype for group in groups for name, array in group.items()}
    return (sym.Symbol(symbol._handle.without_amp_casts(dtypes)), *groups)


def _restored(name, array, marked):
    return array.astype("float32") if name in marked and dtype_name(array.dtype) != "float32" else array


def _files(prefix, epoch):
    prefix = encoded(prefix)
    return prefix + b"-symbol.json", prefix + f"-{int(epoch):04d}.params".encode()
