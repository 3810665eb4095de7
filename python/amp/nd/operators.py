"""Functions that run operators on arrays, made from the registry as those of `amp.sym` are."""

import functools
import inspect

import numpy as np

from .. import _core, _devices, _leniency
from .._core import NDArray
from .._invoke import invoke
from ..sym import operators as symbols
from ..sym.operators import Operator


@functools.cache
def find_function(name):
    """The function of the operator that has this name or alias; None where there is none."""
    if symbols.find_function(name) is None:
        return None
    info = _core.operator_info(name)
    operator = Operator(name, info, NDArray)

    def function(*args, **kwargs):
        return run(operator, args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "amp.nd"
    function.__doc__ = (
        symbols.describe(info)
        .replace("Symbol, a variable where left out", "NDArray")
        .replace("*data : Symbol", "*data : NDArray")
    )
    function.__signature__ = _signature(info)
    return function


def run(operator, args, kwargs, result_class=None):
    """Runs an `Operator` on the arguments of a call: one array, or a list where it has several results."""
    kwargs = dict(kwargs)
    out = kwargs.pop("out", None)
    device = _devices.number_of(kwargs.pop("ctx", None))
    args = [value if isinstance(value, NDArray) else _array(value) for value in args]
    positional, by_name, attributes, _, _ = operator.split(args, _arrays(kwargs))
    outputs = invoke(operator.registered_name, positional, by_name, attributes, out, result_class)
    if device is not None and out is None:
        outputs = [_devices.placed(output, device) for output in outputs]
    return outputs[0] if len(outputs) == 1 else outputs


_CONTAINERS = np.ndarray, list, tuple  # what `_array` may change


def _array(value):
    if isinstance(value, np.ndarray) and value.ndim and value.dtype.kind in "fiubV":
        return NDArray(_leniency.native(value))
    if isinstance(value, (list, tuple)) and any(isinstance(item, NDArray) for item in value):
        return [_array(item) for item in value]
    return value


def _arrays(kwargs):
    return {name: _array(value) if isinstance(value, _CONTAINERS) else value for name, value in kwargs.items()}


def _signature(info):
    signature = symbols.signature_of(info)
    parameters = [parameter for name, parameter in signature.parameters.items() if name != "attr"]
    out = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None)
    return inspect.Signature([*parameters, out], return_annotation=NDArray)
