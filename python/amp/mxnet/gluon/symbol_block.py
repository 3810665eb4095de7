"""A block that is made from a symbol."""

import copy
import operator
import re
import threading

from ... import _core, _trace, nd, sym
from ..._arrays import flattened, readable
from ..._paths import encoded
from ...base import ArgumentError, GraphError, UnsupportedError, dtype_name
from ...checkpoint import save_checkpoint, without_amp_casts
from ...executor import Executor, near_matches
from ...sym import Symbol
from .block import HybridBlock
from .parameter import Parameter, ParameterDict, plain_name

_EXECUTORS_KEPT = 8  # plans of one block, for as many shapes of its inputs


class SymbolBlock(HybridBlock):
    """A symbol and its parameters, to be called with arrays.

    SymbolBlock(outputs, inputs, params): `outputs` is a Symbol or a list of Symbols; `inputs` are the variables that
    a call passes arrays for, one or a list; `params` is {name: array} for the others, auxiliary states included.
    Names may begin with 'arg:' or 'aux:', values may be parameters of another block, and arrays that the symbol has
    no variable for are ignored. Raises ArgumentError for inputs that are no variables of the symbol.

    The block binds an executor for the shapes and dtypes of each call and keeps the most recent ones.

    >>> data = amp.sym.Variable("data")
    >>> net = amp.sym.FullyConnected(data, num_hidden=1, name="fc")
    >>> block = mx.gluon.SymbolBlock(net, data, {"fc_weight": amp.nd.ones((1, 2)), "fc_bias": amp.nd.zeros((1,))})
    >>> block(amp.nd.array([[1, 2]]))
    [[3.]]
    <NDArray float32[1,1]>
    """

    def __init__(self, outputs, inputs, params=None):
        super().__init__()
        self._symbol = _grouped(outputs)
        self._input_names = _names_of(inputs)
        self._lock = threading.Lock()
        self._callback = None
        self.conversion_report = None  # of a block that convert_hybrid_block has made
        self._set_params(params or {})
        self._check_inputs()

    @staticmethod
    def imports(
        symbol_file, input_names, param_file=None, ctx=None, allow_missing=False, ignore_extra=False, *, device=None
    ):
        """A block from the files that `export` and `save_checkpoint` write.

        `input_names` is a name or a list of names. `ctx` and `device` have no effect: everything runs on the CPU.
        Raises ArgumentError for missing parameters (unless allow_missing is True), GraphError for damaged files and for
        arrays that the symbol has no variable for (unless ignore_extra is True).

        >>> block = mx.gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0000.params")
        >>> block(amp.nd.ones((2, 4))).shape
        (2, 3)
        """
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(sym.load(symbol_file), [sym.Variable(name) for name in names])
        if param_file is not None:
            block.load_parameters(param_file, ctx, allow_missing, ignore_extra, device=device)
        return block

    # ---- calls ----

    def __call__(self, *args):
        """Runs the model on arrays in the order of the inputs; nested lists and tuples of arrays are unpacked.

        Arrays are NDArrays, NumPy arrays, DLPack producers or arrays of MXNet. Labels that inference does not read may
        be left out at the end. Returns an NDArray, or a list where the symbol has several outputs.
        """
        leaves = flattened(args)
        if any(isinstance(leaf, Symbol) for leaf in leaves):
            return self._composed(dict(zip(self._input_names, leaves)), {})
        arrays = self._by_name(leaves)
        if _trace.current() is not None:
            return self._traced(arrays)
        return self._outputs(arrays)

    def _outputs(self, arrays):
        self._finish_parameters(arrays)
        self._notice_changes()
        states = {name: arrays.pop(name) for name in self._symbol.list_auxiliary_states() if name in arrays}
        executor = self._bind(arrays, states) if states else self._executor(arrays)
        if self._callback is None:
            outputs = executor(arrays)
        else:
            outputs = executor.run_monitored(self._callback, arrays)
        return outputs if len(outputs) > 1 else outputs[0]

    def forward(self, *args):
        """The same as a call."""
        return self(*args)

    def _composed(self, inputs, parameters):
        """The symbol with symbols in place of its variables."""
        known = set(self._symbol.list_inputs())
        return self._symbol(**{name: symbol for name, symbol in {**parameters, **inputs}.items() if name in known})

    def _traced(self, arrays):
        """The outputs, which stand for this symbol in the graph that is being recorded."""
        trace = _trace.current()
        outputs = self._outputs(dict(arrays))
        parameters = {name: trace.symbol_of(parameter.data()) for name, parameter in self._params.items()}
        composed = self._composed({name: trace.symbol_of(array) for name, array in arrays.items()}, parameters)
        for i, output in enumerate(outputs if isinstance(outputs, list) else [outputs]):
            trace.mark(output, composed[i])
        return outputs

    def _notice_changes(self):
        """Forgets executors whose packed parameters are no longer those of the block."""
        arrays = [parameter._array for parameter in self._params.values()]
        with self._lock:
            if not _are_same(arrays, self._packed) or self._snapshot.changed():
                self._packed, self._snapshot = arrays, _core.Snapshot(arrays)
                self._executors = {}

    def _by_name(self, args):
        expected = f"{len(self._input_names)} inputs ({', '.join(self._input_names)})"
        if len(args) > len(self._input_names):
            raise ArgumentError(f"expected {expected}, got {len(args)} arrays")
        left_out = [name for name in self._input_names[len(args) :] if not self._is_label(name)]
        if left_out:
            raise ArgumentError(f"expected {expected}, got {len(args)} arrays: {', '.join(left_out)} missing")
        known = set(self._symbol.list_inputs())
        named = zip(self._input_names, args)
        return {name: readable(value, f"input '{name}'") for name, value in named if name in known}

    def _is_label(self, name):
        slots = self._symbol._handle.slots_of_variables().get(name, [])
        return bool(slots) and all(slot == "label" for slot in slots)

    def _executor(self, arrays):
        """An executor for these arrays: one that was used before, if possible one that shares its packed weights."""
        dtypes = tuple((name, dtype_name(array.dtype)) for name, array in arrays.items())
        key = dtypes, tuple(tuple(array.shape) for array in arrays.values())
        with self._lock:
            executor = self._executors.pop(key, None)
            if executor is None:
                relative = next((known for (types, _), known in self._executors.items() if types == dtypes), None)
                executor = _reshaped(relative, arrays) if relative else self._bind(arrays)
            self._executors[key] = executor  # the most recent one is the last
            if len(self._executors) > _EXECUTORS_KEPT:
                del self._executors[next(iter(self._executors))]
            return executor

    def _bind(self, arrays, states=None):
        args, aux = self.arrays()
        shapes = {name: tuple(array.shape) for name, array in arrays.items()}
        dtypes = {name: array.dtype for name, array in arrays.items()}
        monitor = self._callback is not None
        try:
            return Executor(self._symbol, args, {**aux, **(states or {})}, shapes, input_dtypes=dtypes, monitor=monitor)
        except GraphError as error:
            hint = _hint_on_doubles(dtypes)
            raise ArgumentError(f"{error}{hint}") if hint else error from None

    def register_op_hook(self, callback, monitor_all=False):
        """In every call `callback(name, op_name, array)` is then called for each output of each operator; None ends it.

        `name` is that of the tensor, such as 'fc1_output'. Each operator runs by itself then: nothing is fused.
        `monitor_all=True`, which shows inputs as well, is not supported.

        >>> block = mx.gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0000.params")
        >>> block.register_op_hook(lambda name, op, array: print(name, array.shape))
        >>> _ = block(amp.nd.ones((2, 4)))
        fc_output (2, 3)
        relu_output (2, 3)
        """
        if monitor_all:
            raise UnsupportedError("register_op_hook: monitor_all=True is not supported; outputs are shown")
        if callback is not None and not callable(callback):
            raise ArgumentError(f"expected a function to call, got {type(callback).__name__}")
        with self._lock:
            if (callback is None) != (self._callback is None):
                self._executors = {}
            self._callback = callback

    def optimize_for(self, x, *args, backend=None, **kwargs):
        """Replaces the block's symbol by what `Symbol.optimize_for` makes of it, for inputs like these.

        `x` and `args` are arrays in the order of a call; lists are unpacked. Parameters stay as they are. Options of
        MXNet have no effect, except `skip_infer=True`. Errors as for `Symbol.optimize_for` and a call.

        >>> block = mx.gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0000.params")
        >>> block.optimize_for(amp.nd.ones((2, 4)), backend="ONEDNN")
        >>> block(amp.nd.ones((2, 4))).shape
        (2, 3)
        """
        named = self._by_name(flattened((x, *args)))
        params, states = self.arrays()
        states.update({name: named.pop(name) for name in self._symbol.list_auxiliary_states() if name in named})
        skip_infer = bool(kwargs.get("skip_infer", False))
        optimized = self._symbol.optimize_for(backend, {**params, **named}, states, skip_infer=skip_infer)
        with self._lock:
            self._symbol = optimized
            self._executors = {}

    def hybridize(self, active=True, **kwargs):
        """Has no effect: the block is a graph already."""

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
        attributes = self._symbol.attr_dict()
        known = dict(self._params)
        for name in self._variables_without(known):
            initializer = attributes.get(name, {}).get("__init__")
            known[name] = Parameter(name, init=initializer, allow_deferred_init=True)
        self._params = {name: known[name] for name in self._symbol.list_inputs() if name in known}
        for parameter in self._params.values():
            parameter.initialize(default_init=init, force_reinit=force_reinit)

    def infer_shape(self, *args):
        """Makes the arrays that wait for the shapes of inputs; `args` are those of a call."""
        if any(parameter.is_open for parameter in self._params.values()):
            self._finish_parameters(self._by_name(flattened(args)))

    def _finish_parameters(self, arrays):
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

    # ---- what it consists of ----

    @property
    def symbol(self):
        """The Symbol that runs."""
        return self._symbol

    @property
    def input_names(self):
        """Names of the variables that calls pass arrays for, in order."""
        return list(self._input_names)

    def list_outputs(self):
        """Names of the outputs, in the order of the results."""
        return self._symbol.list_outputs()

    def collect_params(self, select=None):
        """{name: parameter}, in the symbol's order; a parameter has `data()`, `dtype`, `shape` and `name`.

        `select` is a regular expression that names have to begin with.
        """
        chosen = re.compile(select or "").match
        return ParameterDict({name: parameter for name, parameter in self._params.items() if chosen(name)})

    def _collect(self, prefix):
        return {prefix + name: parameter for name, parameter in self._params.items()}

    def cast(self, dtype):
        """Changes the dtype of all parameters that are floats."""
        for parameter in self._params.values():
            if parameter.dtype.kind in "fV":
                parameter.cast(dtype)

    def arrays(self):
        """The parameters as `convert_model` and `Executor` take them: (arg_params, aux_params)."""
        states = set(self._symbol.list_auxiliary_states())
        arrays = {name: parameter.data() for name, parameter in self._params.items() if not parameter.is_open}
        args = {name: array for name, array in arrays.items() if name not in states}
        aux = {name: array for name, array in arrays.items() if name in states}
        return args, aux

    def __copy__(self):
        return self._with({name: parameter for name, parameter in self._params.items()})

    def __deepcopy__(self, memo):
        return self._with({name: copy.deepcopy(parameter, memo) for name, parameter in self._params.items()})

    def _with(self, parameters):
        other = SymbolBlock(self._symbol, [sym.Variable(name) for name in self._input_names], parameters)
        other.conversion_report = self.conversion_report
        return other

    def __repr__(self):
        return f"SymbolBlock({', '.join(self._input_names)} -> {', '.join(self.list_outputs())})"

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
        """Writes the parameters, auxiliary states included, under their plain names."""
        nd.save(filename, {name: parameter.data() for name, parameter in self._params.items()})

    def load_parameters(self, filename, ctx=None, allow_missing=False, ignore_extra=False, *, device=None):
        """Reads the parameters from a file; those that it lacks keep their arrays. Errors as for `imports`.

        >>> block = mx.gluon.SymbolBlock(amp.sym.load("model-symbol.json"), amp.sym.Variable("data"))
        >>> block.load_parameters("model-0000.params")
        >>> block(amp.nd.ones((2, 4))).shape
        (2, 3)
        """
        held = {name: parameter.data() for name, parameter in self._params.items()}
        arrays = {**held, **_read(filename, self._symbol, ignore_extra)}
        if not allow_missing:
            missing = self._variables_without(arrays)
            if missing:
                raise ArgumentError(f"{filename}: parameters are missing: {', '.join(missing)}")
        self._set_params(arrays)

    def _set_params(self, arrays):
        if not hasattr(arrays, "items"):
            raise ArgumentError(f"params: expected a dict {{name: array}}, got {type(arrays).__name__}")
        arrays = {plain_name(name): value for name, value in arrays.items()}
        inputs = set(self._input_names)
        names = [name for name in self._symbol.list_inputs() if name in arrays and name not in inputs]
        self._params = {name: _parameter(name, arrays[name]) for name in names}
        self._packed = self._snapshot = None  # the arrays of the executors, and what they held
        self._executors = {}  # oldest use first

    def _variables_without(self, arrays):
        known = {*arrays, *self._input_names}
        return [name for name in self._symbol.list_inputs() if name not in known and not self._is_label(name)]

    def _check_inputs(self):
        """An input that the symbol lacks is unused where the model is complete, a mistake elsewhere."""
        repeated = sorted({name for name in self._input_names if self._input_names.count(name) > 1})
        if repeated:
            raise ArgumentError(f"inputs are named twice: {', '.join(repeated)}")
        variables = self._symbol.list_inputs()
        unknown = [name for name in self._input_names if name not in variables]
        candidates = self._variables_without(self._params)
        if unknown and candidates:
            mistakes = [f"the symbol has no variable {name!r}{near_matches(name, candidates)}" for name in unknown]
            raise ArgumentError("\n".join(mistakes))


HybridBlock.graph_class = SymbolBlock


def _are_same(arrays, others):
    return others is not None and len(arrays) == len(others) and all(map(operator.is_, arrays, others))


def _grouped(outputs):
    if isinstance(outputs, Symbol):
        return outputs
    if not isinstance(outputs, (list, tuple)) or not outputs:
        raise ArgumentError(f"outputs: expected a Symbol or a list of Symbols, got {type(outputs).__name__}")
    symbols = flattened(outputs)
    return symbols[0] if len(symbols) == 1 and isinstance(symbols[0], Symbol) else sym.Group(symbols)


def _names_of(inputs):
    names = []
    for variable in flattened(list(inputs) if isinstance(inputs, Symbol) else inputs):
        if not isinstance(variable, Symbol):
            raise ArgumentError(f"inputs: expected variables, got {type(variable).__name__}")
        if variable.list_inputs() != [variable.name]:
            raise ArgumentError(f"inputs: expected variables, but '{variable.name}' is the output of an operator")
        names.append(variable.name)
    return names


def _parameter(name, value):
    if isinstance(value, Parameter):
        value.data()  # raises where it has no array
        return value
    if not isinstance(value, nd.NDArray) and callable(getattr(value, "data", None)):
        value = value.data()  # a parameter of MXNet
    if not isinstance(value, nd.NDArray):  # the caller may write to the original
        value = nd.NDArray(readable(value, f"parameter '{name}'")).copy()
    return Parameter.of_array(name, value)


def _read(filename, symbol, ignore_extra):
    """{name: NDArray}"""
    if not ignore_extra:
        args, aux = _core.load_model_params(encoded(filename), symbol._handle)
        return {**args, **aux}
    named = {plain_name(name): array for name, array in _core.load_params(encoded(filename))}
    return {name: array for name, array in named.items() if array is not None}


def _hint_on_doubles(dtypes):
    """NumPy makes float64 where nothing is said, and few models read it."""
    doubles = [name for name, dtype in dtypes.items() if dtype_name(dtype) == "float64"]
    return "".join(f"\n  {name} is float64; use {name}.astype('float32')" for name in doubles)


def _reshaped(executor, arrays):
    return executor.reshape({name: tuple(arrays[name].shape) for name in executor.input_names})
