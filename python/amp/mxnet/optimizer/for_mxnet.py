"""States of optimizers as MXNet writes them: pickles that name its classes, which MXNet and this package read."""

import io
import pickle
import struct

import numpy as np

from ... import _core, nd
from .. import _generation
from ..lr_scheduler import LRScheduler
from ..util import is_np_array

_DENSE, _DENSE_IN_NUMPYS_SHAPES = 0xF993FAC9, 0xF993FACA  # how records of arrays begin
_CPU = 1

# Arguments that constructors need; all attributes follow.
_ARGUMENTS = {
    "FactorScheduler": (1,),
    "MultiFactorScheduler": ([1],),
    "PolyScheduler": (1,),
    "CosineScheduler": (1,),
}

# What MXNet 2 calls attributes of some optimizers: {class: {its name: ours}}.
NAMES_OF_2 = {
    "AdaGrad": {"epsilon": "float_stable_eps"},
    "LARS": {"epsilon": "eps"},
    "RMSProp": {"rho": "gamma1", "momentum": "gamma2"},
}

# Attributes that MXNet's objects have beside ours, with values that change nothing.
_ADDED = {"LARS": {"skip": 0}, "DCASGD": {"weight_previous": {}}, "Adamax": {"epsilon": 1e-8}}

# How many weights MXNet's optimizers update at once: these take lists of weights alone.
_AGGREGATED = {1: {"LAMB": 45, "LARS": 4, "SGD": 4}, 2: {"AdaBelief": 4, "AdamW": 4, "LAMB": 4, "LANS": 4}}

_WITHOUT_FUSED_STEP = ("AdaDelta", "Adamax", "DCASGD", "Nadam", "SGLD")  # of MXNet 2


class _Named:
    """A class by its module and name, which need not be there."""

    def __init__(self, module, name):
        self.text = f"c{module}\n{name}\n".encode()

    def __call__(self):
        """Pickle asks that what makes objects can be called."""


class _Pickler(pickle._Pickler):  # the one in Python: that in C writes names of classes that can be imported alone
    def save(self, obj, *args, **kwargs):
        if isinstance(obj, _Named):
            self.write(obj.text)
        else:
            super().save(obj, *args, **kwargs)

    def reducer_override(self, obj):
        if isinstance(obj, nd.NDArray):
            return _Named("mxnet.ndarray.ndarray", "NDArray"), (None,), {"handle": bytearray(_record(obj))}
        name = type(obj).__name__
        if type(obj).__module__ == LRScheduler.__module__:
            return _Named("mxnet.lr_scheduler", name), _ARGUMENTS.get(name, ()), vars(obj)
        if type(obj).__module__.startswith(f"{__name__.rpartition('.')[0]}."):
            return _Named(_module_of(name), name), (), _attributes(obj)
        return NotImplemented


def pickled(states, optimizer, with_optimizer):
    """Bytes of states, or of states and an optimizer."""
    if _is_of_2() and type(optimizer).__name__ == "RMSProp":
        states = {index: state[0] if len(state) == 1 else state for index, state in states.items()}
    file = io.BytesIO()
    _Pickler(file, protocol=4).dump((states, optimizer) if with_optimizer else states)
    return file.getvalue()


def _is_of_2():
    return is_np_array() or _generation.default().number == 2


def _module_of(name):
    if not _is_of_2():
        return "mxnet.optimizer.optimizer"
    return f"mxnet.optimizer.{'adamW' if name == 'AdamW' else name.lower()}"


def _attributes(optimizer):
    """All that MXNet's object has: its unpickled objects have no defaults."""
    name, attributes = (
        type(optimizer).__name__,
        {**_ADDED.get(type(optimizer).__name__, {}), **optimizer.__getstate__()},
    )
    attributes["_all_index_update_counts"] = {0: attributes["_index_update_count"]}
    attributes["allow_np_array"] = _is_of_2()
    if not _is_of_2():
        attributes["aggregate_num"] = _AGGREGATED[1].get(name, 0)
        return attributes
    attributes.update({theirs: attributes[ours] for theirs, ours in NAMES_OF_2.get(name, {}).items()})
    attributes["aggregate_num"] = _AGGREGATED[2].get(name, 1)
    attributes["use_fused_step"] = name not in _WITHOUT_FUSED_STEP
    return attributes


def _record(array):
    """The bytes that MXNet's arrays consist of in files."""
    shape = array.shape
    kind = _DENSE_IN_NUMPYS_SHAPES if _is_of_2() or not all(shape) or not shape else _DENSE
    head = struct.pack(f"<IiI{len(shape)}q", kind, 0, len(shape), *shape)
    return head + struct.pack("<iii", _CPU, 0, _core.dtype_code(array.dtype)) + np.ascontiguousarray(array).tobytes()
