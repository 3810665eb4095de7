"""How the two generations of MXNet write a network into a file: names, attributes and their spelling."""

import itertools

from .. import sym

# What MXNet 2.0 writes of operators beyond what the layers say. The scope is that of its profiler: there was none.
_SCOPE = {"__profiler_scope__": "<unk>:"}
_DEFAULTS_OF_2_0 = {
    "BatchNorm": {"cudnn_off": False, "max_calib_range": None, "min_calib_range": None, "output_mean_var": False},
    "Convolution": {"cudnn_off": False, "cudnn_tune": None, "workspace": 1024},
    "Dropout": {"mode": "training"},
    "Flatten": _SCOPE,
    "Pooling": {"count_include_pad": None, "cudnn_off": False, "output_size": None, "p_value": None},
}
_NAMES_OF_2_0 = {"elemwise_add": "_npi_add"}


class Classic:
    """MXNet 1.x: everything has the prefix of its block, values look as Python prints them.

    Parameters carry the part of their shape that the layer itself fixes; 0 stands for the rest.
    """

    def data(self):
        return sym.Variable("data")

    def parameter(self, name, path, key, shape, init):
        return sym.Variable(f"{name}_{key}", attr=_parameter_attributes(shape, init))

    def node(self, operator, name, inputs, attributes):
        return getattr(sym, operator)(*inputs, name=name, **attributes)


class Structural:
    """MXNet 2.0: parameters have the path to their layer, operators are numbered in the order of execution.

    Parameters carry their whole shape, as after a run: `shapes` is {name: shape}. Without an entry it is as
    in `Classic`.
    """

    def __init__(self, shapes=None):
        self._shapes = shapes or {}
        self._numbers = itertools.count()

    def data(self):
        return sym.Variable("data", attr=_SCOPE)

    def parameter(self, name, path, key, shape, init):
        variable = f"{path}.{key}"
        attributes = _parameter_attributes(self._shapes.get(variable, shape), init)
        return sym.Variable(variable, attr={**attributes, **_SCOPE})

    def node(self, operator, name, inputs, attributes):
        texts = {**_DEFAULTS_OF_2_0.get(operator, {}), **attributes}
        texts = {key: _text_in_2_0(value) for key, value in texts.items()}
        function = getattr(sym, _NAMES_OF_2_0.get(operator, operator))
        return function(*inputs, name=f"node_{next(self._numbers)}", **texts)


def _parameter_attributes(shape, init):
    attributes = {
        "__dtype__": "0",
        "__lr_mult__": "1.0",
        "__shape__": str(tuple(shape)),
        "__storage_type__": "0",
        "__wd_mult__": "1.0",
    }
    return attributes if init is None else {**attributes, "__init__": init}


def _text_in_2_0(value):
    if isinstance(value, bool):
        return str(int(value))
    return f"[{','.join(map(str, value))}]" if isinstance(value, tuple) else str(value)
