"""The graphs of MXNet's blocks.

MXNet is never imported here. A block of MXNet is traced by its own means: one hybridized call, then its `export`,
whose files `amp.load` reads. Nothing of MXNet's internals is relied on but the names in _STATE.
"""

import contextlib
import inspect
import sys
import tempfile
from pathlib import Path

import numpy as np

from ... import checkpoint, sym
from ..._arrays import readable
from ...base import Error

# What a hybridized call changes in a HybridBlock, in 1.x or in 2.0.
_STATE = (
    "_active _flags _cached_graph _cached_op _cached_op_args _in_format _out_format _backend _backend_opts "
    "_first_forward _partition_if_dynamic"
).split()


def graph_of(block, examples):
    """(Symbol, arg_params, aux_params, names of the inputs) of a HybridBlock of MXNet.

    It runs once on `examples`, a list of arrays; with examples=None it has run as a graph already.
    """
    if examples is None:
        return _exported(block)
    with _restored(block):
        _call(block, examples)
        return _exported(block)


def is_mxnet_block(block):
    """Whether an object is a HybridBlock of an MXNet that somebody has imported."""
    return any(cls.__name__ == "HybridBlock" and _package_of(cls) == "mxnet" for cls in type(block).__mro__)


def has_graph(block):
    """Whether a block of MXNet has been hybridized and called."""
    return bool(getattr(block, "_cached_graph", None)) and getattr(block, "_cached_op", None) is not None


def _package_of(cls):
    return cls.__module__.split(".")[0]


# ---- one call of a block of MXNet ----


def _call(block, examples):
    mxnet = sys.modules["mxnet"]
    arrays = [_as_mxnet_array(mxnet, value) for value in examples]
    if not block._active:
        block.hybridize()
    with mxnet.autograd.pause():  # also where the caller records: statistics are not to change
        outputs = block(*arrays)
    for output in _leaves(outputs):
        output.wait_to_read()  # errors of the call belong here


def _as_mxnet_array(mxnet, value):
    if _package_of(type(value)) == "mxnet":
        return value
    array = np.asarray(readable(value, "data_example"))
    dtype = str(array.dtype)
    create = mxnet.np.array if mxnet.util.is_np_array() else mxnet.nd.array
    if dtype == "bfloat16":  # which the NumPy that MXNet knows lacks
        return create(array.astype(np.float32), dtype="float32").astype("bfloat16")
    return create(array, dtype=dtype)


def _leaves(outputs):
    if not isinstance(outputs, (list, tuple)):
        return [outputs]
    return [leaf for output in outputs for leaf in _leaves(output)]


@contextlib.contextmanager
def _restored(block):
    """Puts back what calls and hybridize() change in a block and in the blocks inside of it."""
    kept = [(part, _state_of(part)) for part in _parts(block)]
    try:
        yield
    finally:
        for part, state in kept:
            for name in _STATE:
                vars(part).pop(name, None)
            vars(part).update(state)


def _state_of(block):
    state = {name: vars(block)[name] for name in _STATE if name in vars(block)}
    return {name: list(value) if isinstance(value, list) else value for name, value in state.items()}


def _parts(block):
    """A block and all blocks inside of it, each once. MXNet 2.0 holds them by weak references."""
    parts, waiting = {}, [block]
    while waiting:
        part = waiting.pop()
        if part is None or id(part) in parts:
            continue
        parts[id(part)] = part
        children = getattr(part, "_children", {}).values()
        waiting += [child if hasattr(child, "_children") else child() for child in children]
    return list(parts.values())


# ---- the graph of that call ----


def _exported(block):
    keep_casts = {"remove_amp_cast": False} if "remove_amp_cast" in inspect.signature(block.export).parameters else {}
    with tempfile.TemporaryDirectory(prefix="amp-") as folder:
        block.export(str(Path(folder, "block")), **keep_casts)
        symbol_file, params_file = Path(folder, "block-symbol.json"), Path(folder, "block-0000.params")
        try:
            if params_file.exists():
                symbol, args, aux = checkpoint.load_leniently(symbol_file, params_file)
            else:  # 2.0 writes none for a block without parameters
                symbol, args, aux = sym.load(symbol_file), {}, {}
        except Error as error:  # the files are ours: their names say nothing to the caller
            text = str(error).replace(str(symbol_file), "the block's graph").replace(str(params_file), "its parameters")
            raise type(error)(text) from None
    return symbol, args, aux, [variable.name for variable in block._cached_graph[0]]
