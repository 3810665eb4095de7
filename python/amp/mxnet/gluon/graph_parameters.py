"""The parameters of a block that is a graph."""

import json
import os
import re

from ... import _core, nd
from ..._arrays import flattened, readable
from ..._paths import encoded
from ...base import ArgumentError, GraphError, dtype_name
from ...checkpoint import save_checkpoint, without_amp_casts
from .. import init as initializers
from .parameter import Parameter, ParameterDict, in_dtypes, plain_name


class ParametersOfGraph:
    """What SymbolBlock inherits: parameters come from arrays, files and initializers, and go to files."""

    _symbol = _input_names = None
    _params = None  # {name: Parameter}
    _declared = None  # {name: Parameter} that `collect_params` returned and that have no array yet

    # ---- looking at them ----

    def collect_params(self, select=None):
        """{name: parameter}, in the symbol's order; a parameter has `data()`, `dtype`, `shape` and `name`.

        Variables that have no array yet are there, too: they may be initialized, or loaded. `select` is a regular
        expression that names have to begin with.
        """
        self._take_in_declared()
        for name in self._variables_without({**self._params, **self._declared}):
            self._declared[name] = self._new_parameter(name)
        chosen, known = re.compile(select or "").match, {**self._params, **self._declared}
        return ParameterDict(named={name: known[name] for name in self._ordered(known) if chosen(name)})

    def _take_in_declared(self):
        """Parameters that `collect_params` returned belong to the block once they are initialized."""
        ready = {name: parameter for name, parameter in self._declared.items() if parameter.is_initialized}
        if ready:
            self._declared = {name: p for name, p in self._declared.items() if name not in ready}
            known = {**self._params, **ready}
            self._params = {name: known[name] for name in self._ordered(known)}
            self._forget_executors()

    def _ordered(self, known):
        return [name for name in self._symbol.list_inputs() if name in known]

    def _new_parameter(self, name):
        initializer = self._symbol.attr_dict().get(name, {}).get("__init__")
        request = "null" if name in self._symbol.list_auxiliary_states() else "write"
        return Parameter(name, request, init=_known(initializer), allow_deferred_init=True)

    @property
    def params(self):
        """All parameters, as `collect_params` gives them."""
        return self.collect_params()

    def _collect(self, prefix):
        """Files of MXNet 1.x leave out what all names begin with."""
        cut = 0 if self._generation.names_places else len(_common_prefix(self._params))
        return {prefix + name[cut:]: parameter for name, parameter in self._params.items()}

    def cast(self, dtype):
        """Changes the dtype of all parameters that are floats.

        For 'float16' and 'bfloat16' those of batch norms become float32, which their statistics need.
        """
        self._take_in_declared()
        beside_states = self._beside_states() if dtype_name(dtype) in ("float16", "bfloat16") else ()
        for name, parameter in self._params.items():
            if parameter.dtype.kind in "fV":
                parameter.cast("float32" if name in beside_states else dtype)
        self._forget_executors()

    def _beside_states(self):
        """The variables that operators with auxiliary states read besides their data."""
        nodes, states = json.loads(self._symbol.tojson())["nodes"], set(self._symbol.list_auxiliary_states())
        found = set()
        for node in nodes:
            read = [nodes[entry[0]]["name"] for entry in node["inputs"]]
            if not states.isdisjoint(read):
                found.update(read[1:])
        return found

    def arrays(self):
        """The parameters as `convert_model` and `Executor` take them: (arg_params, aux_params)."""
        self._take_in_declared()
        return self._divided({name: p.to_save() for name, p in self._params.items() if not p.is_open})

    def _divided(self, arrays):
        """(arguments, auxiliary states)"""
        states = set(self._symbol.list_auxiliary_states())
        args = {name: array for name, array in arrays.items() if name not in states}
        aux = {name: array for name, array in arrays.items() if name in states}
        return args, aux

    # ---- making them ----

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False, *, device=None):
        """Makes the arrays of all variables that are neither inputs nor labels and have none.

        Where the symbol does not tell a shape, that happens in the first call. `init` is an initializer or its name;
        see `Parameter.initialize`. Arrays that exist stay unless `force_reinit` is True. The rest has no effect.

        >>> data = amp.sym.Variable("data")
        >>> block = mx.gluon.SymbolBlock(amp.sym.FullyConnected(data, num_hidden=3, name="fc"), data)
        >>> block.initialize("ones")
        >>> block(amp.nd.ones((2, 4))).shape
        (2, 3)
        """
        for parameter in self.collect_params().values():
            parameter.initialize(None, ctx, init, force_reinit, device=device)
        self._take_in_declared()

    def infer_shape(self, *args):
        """Makes the arrays that wait for the shapes of inputs; `args` are those of a call."""
        if any(parameter.is_open for parameter in self._params.values()):
            self._finish_parameters(self._by_name(flattened(args)))

    def _finish_parameters(self, arrays):
        self._take_in_declared()
        waiting = {name: parameter for name, parameter in self._params.items() if parameter.is_open}
        if not waiting:
            return
        held = {name: parameter for name, parameter in self._params.items() if name not in waiting}
        known = {name: (array.dtype, tuple(array.shape)) for name, array in {**held, **arrays}.items()}
        arguments, _, states = self._symbol._handle.infer(known)
        names = [*self._symbol.list_arguments(), *self._symbol.list_auxiliary_states()]
        for name, (dtype, shape) in zip(names, [*arguments, *states]):
            if name in waiting:
                waiting[name].shape = () if shape is None else shape
                waiting[name].cast(dtype or "float32")
                waiting[name].finish_initialization()

    # ---- files ----

    def export(self, path, epoch=0, remove_amp_cast=False):
        """Writes `<path>-symbol.json` and `<path>-<epoch, four digits>.params`; returns the two names.

        With path=None nothing is written and the result is (Symbol, {'arg:...' or 'aux:...': NDArray}). Unlike MXNet's,
        the casts of a converted model are kept unless `remove_amp_cast=True`, as in `save_checkpoint`.

        >>> block = mx.gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0000.params")
        >>> _ = block.export("copy")
        >>> amp.sym.load("copy-symbol.json").list_outputs()
        ['relu_output']
        """
        args, aux = self.arrays()
        if path is None:
            symbol = self._symbol
            if remove_amp_cast:
                symbol, args, aux = without_amp_casts(symbol, args, aux)
            named = {f"arg:{name}": array for name, array in args.items()}
            return symbol, {**named, **{f"aux:{name}": array for name, array in aux.items()}}
        save_checkpoint(path, epoch, self._symbol, args, aux, remove_amp_cast)
        return f"{path}-symbol.json", f"{path}-{int(epoch):04d}.params"

    def save_parameters(self, filename):
        """Writes the parameters, auxiliary states included; names of MXNet 1.x without what all of them begin with."""
        self._take_in_declared()
        nd.save(filename, {name: parameter.to_save() for name, parameter in self._collect("").items()})

    def load_parameters(
        self,
        filename,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        cast_dtype=False,
        dtype_source="current",
        *,
        device=None,
    ):
        """Reads the parameters from a file; those that it lacks keep their arrays.

        Dtypes are those of the file where there was no array before, else as for every block. Errors as for `imports`.

        >>> block = mx.gluon.SymbolBlock(amp.sym.load("model-symbol.json"), amp.sym.Variable("data"))
        >>> block.load_parameters("model-0000.params")
        >>> block(amp.nd.ones((2, 4))).shape
        (2, 3)
        """
        self._take_in_declared()
        held = {name: p.to_save() for name, p in self._params.items() if not p.is_open}
        read = in_dtypes(self._params, _read(filename, self._symbol, ignore_extra), filename, cast_dtype, dtype_source)
        arrays = {**held, **read}
        if not allow_missing:
            missing = self._variables_without(arrays)
            if missing:
                raise ArgumentError(f"{filename}: parameters are missing: {', '.join(missing)}")
        devices, before = ctx or device, {name: parameter.list_ctx() for name, parameter in self._params.items()}
        self._set_params(arrays)
        for name, parameter in self._params.items():
            if devices or name in before:
                parameter.reset_ctx(devices or before[name])

    def _set_params(self, arrays):
        if not hasattr(arrays, "items"):
            raise ArgumentError(f"params: expected a dict {{name: array}}, got {type(arrays).__name__}")
        arrays = {plain_name(name): value for name, value in arrays.items()}
        inputs = set(self._input_names)
        names = [name for name in self._symbol.list_inputs() if name in arrays and name not in inputs]
        states = set(self._symbol.list_auxiliary_states())
        self._params = {name: _parameter(name, arrays[name], name in states) for name in names}
        self._declared = {name: parameter for name, parameter in (self._declared or {}).items() if name not in arrays}
        self._forget_executors()

    def _variables_without(self, arrays):
        known = {*arrays, *self._input_names}
        return [name for name in self._symbol.list_inputs() if name not in known and not self._is_label(name)]

    def _is_label(self, name):
        slots = self._symbol._handle.slots_of_variables().get(name, [])
        return bool(slots) and all(slot == "label" for slot in slots)


def _known(initializer):
    """An initializer's text; None for a text that is that of some object, as in files of MXNet."""
    try:
        initializers.create(initializer)
    except ArgumentError:
        return None
    return initializer


def _parameter(name, value, is_state):
    if isinstance(value, Parameter):
        return value
    if not isinstance(value, nd.NDArray) and callable(getattr(value, "data", None)):
        value = value.data()  # a parameter of MXNet
    if not isinstance(value, nd.NDArray):  # the caller may write to the original
        value = nd.NDArray(readable(value, f"parameter '{name}'")).copy()
    return Parameter.of_array(name, value, "null" if is_state else "write")


def _read(filename, symbol, ignore_extra):
    """{name: NDArray}"""
    if not ignore_extra:
        try:
            args, aux = _core.load_model_params(encoded(filename), symbol._handle)
            return {**args, **aux}
        except GraphError:
            whole = _whole_names(_plain(filename), symbol)
            if not whole:
                raise
            return whole
    named = _plain(filename)
    return _whole_names(named, symbol) or named


def _plain(filename):
    named = {plain_name(name): array for name, array in _core.load_params(encoded(filename))}
    return {name: array for name, array in named.items() if array is not None}


def _common_prefix(names):
    """What all names begin with, as MXNet 1.x cuts it off, where something is left of each."""
    prefix = os.path.commonprefix(list(names))
    return "" if prefix in names else prefix


def _whole_names(arrays, symbol):
    """{name of a variable: array} of a file that leaves out what all parameters begin with; {} for other files."""
    inputs = symbol.list_inputs()
    ends = [name for name in inputs if name.endswith(tuple(arrays))] if arrays else []
    cut = _common_prefix(ends)
    whole = {cut + name: array for name, array in arrays.items()}
    return whole if cut and set(whole) <= set(inputs) else {}
