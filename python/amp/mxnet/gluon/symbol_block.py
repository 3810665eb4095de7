"""A block that is made from a symbol."""

import copy
import os

from ... import _autocast, _devices, _random_key, _recording, _trace, sym
from ..._arrays import flattened, readable
from ..._execution.bound_model import near_matches
from ...base import ArgumentError, GraphError, dtype_name
from ...executor import Executor
from ...sym import Symbol
from ..monitor.runs import MonitoredRuns
from . import dynamic_graphs
from .block import HybridBlock
from .bound_executors import BoundExecutors
from .graph_parameters import ParametersOfGraph
from .recorded_graph import RecordedGraph


class SymbolBlock(ParametersOfGraph, HybridBlock):
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
        self._is_dynamic = dynamic_graphs.is_dynamic(self._symbol)
        self._input_names = _names_of(inputs)
        self._process = os.getpid()
        self._monitor = None  # MonitoredRuns
        self.conversion_report = None  # of a block that convert_hybrid_block has made
        self._set_params(params or {})
        self._check_inputs()

    @staticmethod
    def imports(
        symbol_file, input_names, param_file=None, ctx=None, allow_missing=False, ignore_extra=False, *, device=None
    ):
        """A block from the files that `export` and `save_checkpoint` write.

        `input_names` is a name or a list of names. Parameters get the dtypes of the file.
        `ctx` and `device` have no effect: everything runs on the CPU.
        Raises ArgumentError for missing parameters (unless allow_missing is True), GraphError for damaged files and for
        arrays that the symbol has no variable for (unless ignore_extra is True).

        >>> block = mx.gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0000.params")
        >>> block(amp.nd.ones((2, 4))).shape
        (2, 3)
        """
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(sym.load(symbol_file), [sym.Variable(name) for name in names])
        if param_file is not None:
            block.load_parameters(
                param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved", device=device
            )
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
        if not _devices.are_used:
            return self._run_graph(arrays)
        with _devices.scope_of(leaves):  # parameters are its copies
            outputs = self._run_graph(arrays)
            _devices.carry(flattened(outputs), leaves)
        return outputs

    def _run_graph(self, arrays):
        if _trace.current() is not None:
            return self._traced(arrays)
        if self._is_dynamic:
            return self._run_dynamic(arrays)
        if _recording.is_active():
            return self._run_recorded(arrays)
        return self._outputs(arrays)

    def _run_dynamic(self, arrays):
        with _recording.scope(is_recording=False):
            self._finish_parameters(arrays)
        self._recorded_graph = self._recorded_graph or dynamic_graphs.DynamicGraph(self._symbol)
        outputs = self._recorded_graph({**self._values(), **arrays})
        return outputs if len(outputs) > 1 else outputs[0]

    def _outputs(self, arrays):
        if self._process != os.getpid():
            self._begin_in_child()
        self._finish_parameters(arrays)
        executors = self._executors()
        states = {name: arrays.pop(name) for name in self._symbol.list_auxiliary_states() if name in arrays}
        executor = self._bind(arrays, states) if states else executors.executor(arrays, self._bind)
        outputs = executor(arrays)
        if self._monitor is not None:
            self._monitor.show(executor, {**self._values(), **states, **arrays}, executor._last_key, False)
        return outputs if len(outputs) > 1 else outputs[0]

    def forward(self, *args):
        """The same as a call."""
        return self(*args)

    def _run_recorded(self, arrays):
        with _recording.scope(is_recording=False):
            self._finish_parameters(arrays)
        if self._recorded_graph is None:
            self._recorded_graph = RecordedGraph(self._symbol, self.name, _autocast.conversion_of_blocks())
        arrays, key = {**self._values(), **arrays}, _random_key.state()
        outputs = self._recorded_graph(arrays)
        if self._monitor is not None:
            self._monitor.show(self._recorded_graph, arrays, key, _recording.modes.is_training)
        return outputs if len(outputs) > 1 else outputs[0]

    def _values(self):
        return {name: parameter.data() for name, parameter in self._params.items()}

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

    def _forget_executors(self):
        self._bound = {}  # {device: BoundExecutors}
        self._recorded_graph = None

    def _begin_in_child(self):
        """A forked process lacks the threads of its parent's executors, and one of them may have held the lock."""
        self._process = os.getpid()
        self._forget_executors()

    def _executors(self):
        """Those of the current device, whose parameters they have packed as they are now."""
        device = _devices.current()
        if device not in self._bound:
            self._bound.setdefault(device, BoundExecutors())
        self._bound[device].notice_changes([parameter.data() for parameter in self._params.values()])
        return self._bound[device]

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

    def _bind(self, arrays, states=None):
        args, aux = self._divided(self._values())
        shapes = {name: tuple(array.shape) for name, array in arrays.items()}
        dtypes = {name: array.dtype for name, array in arrays.items()}
        try:
            return Executor(self._symbol, args, {**aux, **(states or {})}, shapes, input_dtypes=dtypes)
        except GraphError as error:
            hint = _hint_on_doubles(dtypes)
            raise ArgumentError(f"{error}{hint}") if hint else error from None

    def register_op_hook(self, callback, monitor_all=False):
        """In every call `callback(name, op_name, NDArray)` is then called for each output of each operator.

        `name` is that of the tensor, such as 'fc1_output'. With `monitor_all=True` inputs are shown before outputs,
        'fc1_data'. Tensors are computed once more, each operator by itself. None instead of a function ends it; what
        is neither raises ArgumentError.

        >>> block = mx.gluon.SymbolBlock.imports("model-symbol.json", ["data"], "model-0000.params")
        >>> block.register_op_hook(lambda name, op, array: print(name, array.shape))
        >>> _ = block(amp.nd.ones((2, 4)))
        fc_output (2, 3)
        relu_output (2, 3)
        """
        self._monitor = None if callback is None else MonitoredRuns(callback, shows_inputs=bool(monitor_all))

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
        self._symbol = optimized
        self._forget_executors()

    def hybridize(self, active=True, **kwargs):
        """Has no effect: the block is a graph already."""

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

    def __copy__(self):
        return self._with({name: parameter for name, parameter in self._params.items()})

    def __deepcopy__(self, memo):
        return self._with({name: copy.deepcopy(parameter, memo) for name, parameter in self._params.items()})

    def _with(self, parameters):
        other = SymbolBlock(self._symbol, [sym.Variable(name) for name in self._input_names], parameters)
        other.conversion_report = self.conversion_report
        return other

    def __repr__(self):
        return f"SymbolBlock(\n{self._symbol!r} : {len(self._input_names)} -> {len(self.list_outputs())}\n)"

    # ---- checks ----

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


def _hint_on_doubles(dtypes):
    """NumPy makes float64 where nothing is said, and few models read it."""
    doubles = [name for name, dtype in dtypes.items() if dtype_name(dtype) == "float64"]
    return "".join(f"\n  {name} is float64; use {name}.astype('float32')" for name in doubles)
