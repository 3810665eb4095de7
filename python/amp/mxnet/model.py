"""Models on disk, with MXNet 1.x's names."""

from .. import nd
from ..base import GraphError
from ..checkpoint import load_checkpoint_leniently, save_checkpoint
from ._feed_forward import FeedForward
from ._kvstore_updates import (  # noqa: F401 - training loops of programs use them
    _create_kvstore,
    _initialize_kvstore,
    _update_params,
    _update_params_on_kvstore,
)
from ._missing import getter
from .callback import BatchEndParam

__all__ = ["BatchEndParam", "FeedForward", "load_checkpoint", "load_params", "save_checkpoint"]


def load_checkpoint(prefix, epoch):
    """(Symbol, arg_params, aux_params) of `<prefix>-symbol.json` and `<prefix>-<epoch, four digits>.params`.

    Arrays that the symbol has no variable for are among them, as in MXNet. Errors are those of `amp.load`.

    >>> sym, args, aux = mx.model.load_checkpoint("model", 0)
    >>> sym.list_outputs()
    ['relu_output']
    """
    return load_checkpoint_leniently(prefix, epoch)


def load_params(prefix, epoch):
    """(arg_params, aux_params) of `<prefix>-<epoch, four digits>.params`, {name: NDArray} each.

    Raises GraphError for a damaged file, and for names without `arg:` or `aux:`; ArgumentError for a file that cannot
    be opened.

    >>> args, aux = mx.model.load_params("model", 0)
    >>> sorted(args), sorted(aux)
    (['fc_bias', 'fc_weight'], [])
    """
    arrays = nd.load(f"{prefix}-{int(epoch):04d}.params")
    groups = {"arg": {}, "aux": {}}
    for key, array in arrays.items() if isinstance(arrays, dict) else [("", None)]:
        kind, _, name = key.partition(":")
        if kind not in groups or not name:
            raise GraphError(f"{prefix}-{int(epoch):04d}.params: expected names 'arg:...' and 'aux:...', got {key!r}")
        groups[kind][name] = array
    return groups["arg"], groups["aux"]


__getattr__ = getter(__name__)
