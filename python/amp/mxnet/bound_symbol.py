"""Symbols bound to arrays as MXNet 1.x does it: `symbol.simple_bind(data=(1, 3, 224, 224))`.

New programs use `amp.Executor`. Here, arguments are arrays that may be written to between calls; each call
sees what they hold.
"""

import types

from .. import nd
from .._arrays import readable
from ..base import ArgumentError, did_you_mean
from ..executor import Executor as _Executor
from ..sym.slots import inputs_of
from . import _packing
from ._missing import getter, refusing
from ._training_mode import refuse_training

__all__ = ["BoundSymbol", "Executor"]


class BoundSymbol:
    """Made by `Symbol.bind` and `Symbol.simple_bind`.

    What feeds operators as weights, biases and the like is packed once and stays packed until it changes. Writes to
    arrays are counted; arrays that are written to through NumPy are compared. Gradients are not supported.

    >>> bound = amp.sym.exp(amp.sym.Variable("x"), name="e").simple_bind(x=(2,))
    >>> bound.arg_dict["x"][:] = 1
    >>> bound.forward()[0].shape
    (2,)
    """

    def __init__(self, symbol, arguments, auxiliary_states, inputs):
        self._symbol = symbol
        self._arguments, self._auxiliary_states = arguments, auxiliary_states  # {name: NDArray}
        self._inputs = inputs  # names of what is passed; other arguments are packed
        self._changed = set()  # packed arrays that changed before the last call
        self._plan = None
        self._monitor = None
        self._outputs = None

    # ---- arrays ----

    @property
    def arg_dict(self):
        """{argument: NDArray}; what is written to the arrays is what the next call reads."""
        return types.MappingProxyType(self._arguments)

    @property
    def aux_dict(self):
        """{auxiliary state: NDArray}, as `arg_dict`."""
        return types.MappingProxyType(self._auxiliary_states)

    @property
    def arg_arrays(self):
        """The arrays of `arg_dict` in the order of `list_arguments`."""
        return list(self.arg_dict.values())

    @property
    def aux_arrays(self):
        """The arrays of `aux_dict` in the order of `list_auxiliary_states`."""
        return list(self.aux_dict.values())

    @property
    def grad_dict(self):
        """{argument: None}: gradients are not supported."""
        return dict.fromkeys(self._arguments)

    @property
    def grad_arrays(self):
        """None for each argument."""
        return [None] * len(self._arguments)

    @property
    def outputs(self):
        """The results of the last call, NDArrays; before the first one, zeros of their shapes."""
        if self._outputs is None:
            output_types = _types_of(self._symbol, {**self._arguments, **self._auxiliary_states})
            self._outputs = [_packing.zeros(*type) for type in output_types]
        return self._outputs

    @property
    def output_dict(self):
        """{output: NDArray}"""
        return dict(zip(self._symbol.list_outputs(), self.outputs))

    def copy_params_from(self, arg_params, aux_params=None, allow_extra_params=False):
        """Copies arrays, by name, to those of arguments and auxiliary states.

        Raises ArgumentError for other shapes and, unless `allow_extra_params`, for names that the symbol lacks.

        >>> bound = amp.sym.FullyConnected(num_hidden=3, name="fc").simple_bind(fc_data=(2, 4))
        >>> bound.copy_params_from({"fc_bias": amp.nd.ones((3,))})
        >>> bound.forward()[0]
        [[1. 1. 1.]
         [1. 1. 1.]]
        <NDArray float32[2,3]>
        """
        for own, arrays in ((self._arguments, arg_params), (self._auxiliary_states, aux_params or {})):
            if not hasattr(arrays, "items"):
                raise ArgumentError(f"expected a dict {{name: array}}, got {type(arrays).__name__}")
            unknown = [name for name in arrays if name not in own]
            if unknown and not allow_extra_params:
                raise ArgumentError(f"the symbol has no variable {unknown[0]!r}{did_you_mean(unknown[0], own)}")
            for name, array in arrays.items():
                if name in own:
                    _packing.write(name, own[name], array)

    # ---- running ----

    def forward(self, is_train=False, **inputs):
        """Computes the outputs: a list of new NDArrays, also in `outputs`.

        `inputs` are copied to arrays of `arg_dict` before. Raises ArgumentError for names and shapes that do not fit,
        and UnsupportedError for `is_train=True` where an operator would then do something else.

        >>> bound = amp.sym.exp(amp.sym.Variable("x")).simple_bind(x=(2,))
        >>> bound.forward(x=amp.nd.zeros((2,)))[0]
        [1. 1.]
        <NDArray float32[2]>
        """
        if is_train:
            refuse_training(self._symbol)
        for name, array in inputs.items():
            if name not in self._arguments:
                raise ArgumentError(f"the symbol has no argument {name!r}{did_you_mean(name, self._arguments)}")
            _packing.write(name, self._arguments[name], array)
        plan = self._current_plan()
        arrays = {name: self._arguments[name] for name in plan.executor.input_names}
        if self._monitor is None:
            self._outputs = plan.executor(arrays)
        else:
            self._outputs = plan.executor.run_monitored(lambda name, _, array: self._monitor(name, array), arrays)
        return self._outputs

    backward = refusing("backward", "gradients are not supported: this package is for inference only")

    def set_monitor_callback(self, callback, monitor_all=False):
        """From now on each call shows every operator's results: `callback(name, NDArray)`; None ends that.

        >>> bound = amp.sym.exp(amp.sym.Variable("x"), name="e").simple_bind(x=(2,))
        >>> bound.set_monitor_callback(lambda name, array: print(name, array.shape))
        >>> _ = bound.forward()
        e_output (2,)
        """
        if callback is not None and not callable(callback):
            raise ArgumentError(f"expected a function to call, got {type(callback).__name__}")
        self._monitor, self._plan = callback, None

    def reshape(self, partial_shaping=False, allow_up_sizing=False, **kwargs):
        """A BoundSymbol for other shapes of arguments ({name: shape}).

        Arrays whose shapes stay are shared, packed weights included; others are new and hold zeros. Both flags have
        no effect. Raises ArgumentError or GraphError as `simple_bind` does.

        >>> bound = amp.sym.exp(amp.sym.Variable("x")).simple_bind(x=(2,))
        >>> bound.reshape(x=(5,)).outputs[0].shape
        (5,)
        """
        dtypes = {name: array.dtype for name, array in self._arguments.items()}
        kept = {n: a.shape for n, a in self._arguments.items() if n in self._inputs and n not in kwargs}
        reshaped = simple_bind(self._symbol, {**kept, **kwargs}, dtypes)
        for old, new in (
            (self._arguments, reshaped._arguments),
            (self._auxiliary_states, reshaped._auxiliary_states),
        ):
            new.update({name: array for name, array in old.items() if array.shape == new[name].shape})
        reshaped._inputs = set(self._inputs)
        if self._monitor is None and self._plan is not None and not self._plan.changed():
            reshaped._plan = self._plan.reshaped({**reshaped._arguments, **reshaped._auxiliary_states})
        return reshaped

    def _current_plan(self):
        if self._plan is not None:
            changed = self._plan.changed()
            if not changed:
                self._changed = set()
                return self._plan
            # What changes with every call is better passed than packed.
            self._inputs |= changed & self._changed & set(self._arguments)
            self._changed = changed
        packed = {name: array for name, array in self._arguments.items() if name not in self._inputs}
        self._plan = _packing.Plan({**packed, **self._auxiliary_states}, self._built)
        return self._plan

    def _built(self, packed):
        """An executor that has packed these arrays; the other arguments are passed."""
        inputs = {name: array for name, array in self._arguments.items() if name not in packed}
        return _Executor(
            self._symbol,
            {name: array for name, array in packed.items() if name in self._arguments},
            {name: array for name, array in packed.items() if name in self._auxiliary_states},
            {name: array.shape for name, array in inputs.items()},
            input_dtypes={name: array.dtype for name, array in inputs.items()},
            monitor=self._monitor is not None,
        )

    # ---- seeing inside ----

    def get_optimized_symbol(self):
        """The symbol that runs."""
        return self._current_plan().executor.symbol

    def debug_str(self):
        """The steps of the plan as a table, and `Total N MB allocated`."""
        summary = self._current_plan().executor.summary
        megabytes = (summary.arena_bytes + summary.constant_bytes) >> 20
        return f"{summary}\nTotal {megabytes} MB allocated\n"

    def __repr__(self):
        arguments = ", ".join(f"{name} {array.shape}" for name, array in self._arguments.items())
        return f"<BoundSymbol {arguments} -> {', '.join(self._symbol.list_outputs())}>"


Executor = BoundSymbol  # MXNet's name of the class


def bind(symbol, args, aux_states):
    """See `Symbol.bind`."""
    arguments = _given_arrays(symbol.list_arguments(), args, "args")
    states = _given_arrays(symbol.list_auxiliary_states(), aux_states, "aux_states")
    _types_of(symbol, {**arguments, **states})  # shapes that clash are found here
    return BoundSymbol(symbol, arguments, states, inputs_of(symbol))


def simple_bind(symbol, shapes, dtypes):
    """See `Symbol.simple_bind`; `shapes` and `dtypes` are {name: value}."""
    dtypes = dict(dtypes or {})
    known = {name: (dtypes.get(name), shapes.get(name)) for name in {**shapes, **dtypes}}
    names = symbol.list_inputs()
    unknown = [name for name in known if name not in names]
    if unknown:
        raise ArgumentError(f"the symbol has no variable {unknown[0]!r}{did_you_mean(unknown[0], names)}")
    arguments, _, states = symbol._handle.infer(known)
    groups = [symbol.list_arguments(), arguments], [symbol.list_auxiliary_states(), states]
    _refuse_unknown([(name, shape) for group in groups for name, (_, shape) in zip(*group)])
    arrays = [{name: _packing.zeros(*type) for name, type in zip(*group)} for group in groups]
    return BoundSymbol(symbol, *arrays, inputs_of(symbol) & set(shapes))


def _refuse_unknown(shapes):
    unknown = [f"{name} {'' if shape is None else shape}".strip() for name, shape in shapes if not _is_known(shape)]
    if unknown:
        raise ArgumentError(f"the shapes of these arguments stay unknown: {', '.join(unknown)}")


def _is_known(shape):
    return shape is not None and all(dim >= 0 for dim in shape)


def _given_arrays(names, arrays, what):
    arrays = [] if arrays is None else arrays
    if not hasattr(arrays, "items"):
        if not isinstance(arrays, (list, tuple)):
            raise ArgumentError(f"{what}: expected a list or a dict of arrays, got {type(arrays).__name__}")
        if len(arrays) != len(names):
            raise ArgumentError(f"{what}: expected {len(names)} arrays ({', '.join(names)}), got {len(arrays)}")
        arrays = dict(zip(names, arrays))
    missing = [name for name in names if arrays.get(name) is None]
    if missing:
        raise ArgumentError(f"{what}: arrays are missing: {', '.join(missing)}")
    given = {name: readable(arrays[name], f"{what}[{name!r}]") for name in names}
    return {name: array if isinstance(array, nd.NDArray) else nd.NDArray(array) for name, array in given.items()}


def _types_of(symbol, arrays):
    """[(dtype, shape)] of the outputs."""
    return symbol._handle.infer({name: (array.dtype, array.shape) for name, array in arrays.items()})[1]


__getattr__ = getter(__name__)
