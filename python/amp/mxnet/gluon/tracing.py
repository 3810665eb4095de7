"""The graphs of blocks as symbols: of what `hybrid_forward` does with symbols, or `forward` with arrays."""

import contextlib

from ... import _autocast, _random_key, _recording, _trace, sym
from ... import name as names
from ..._arrays import readable
from ..._core import NDArray
from ..._trace import Trace
from ...base import ArgumentError
from ...sym import Group, Symbol, Variable
from ...sym.symbol import NumpySymbol, symbols_mean_arrays
from ..np.array_class import ndarray
from ..util import is_np_shape
from ._nested import leaves_of, rebuilt
from .base_block import Block
from .parameter import DeferredInitializationError


class UntracedError(ArgumentError):
    """The graph of a block is asked for before there is one."""


class TracedBlock:
    """A recorded block: a SymbolBlock, and how arguments and results of a call look.

    `fixed_sizes` are the sizes that Python read while arrays were recorded, `_trace.SizeRead`s; the graph is valid for
    calls in which these are the same. A graph that was made of symbols has none, and takes arrays of any dtype.
    """

    def __init__(self, block, args, results, fixed_sizes=(), modes=None, is_composed=False):
        self.block = block
        self.fixed_sizes = fixed_sizes
        self._modes = modes or {}  # those that Python asked for
        self.call_state = None  # of the block that was recorded
        self._is_open, self._form_of = is_composed, _open_form if is_composed else _form
        self._form, self._results = self._form_of(args), results
        self._takes_one = len(args) == 1 and _is_array(args[0])
        self._has_sizes = {self._shapes_of(args): True}  # {shapes of the inputs: whether they have the fixed sizes}

    def fits(self, args):
        """Whether a call with these arguments is one of this graph: equal in what Python saw."""
        if self._modes and any(getattr(_recording.modes, name) != value for name, value in self._modes.items()):
            return False
        if self._takes_one and self._is_open and len(args) == 1 and type(args[0]) is self._form[0]:
            return True  # as below, for the usual call
        return self._form_of(args) == self._form and (not self.fixed_sizes or self._has_fixed_sizes(args))

    def _shapes_of(self, args):
        return tuple(tuple(leaf.shape) for leaf in leaves_of(args) if _is_array(leaf)) if self.fixed_sizes else ()

    def _has_fixed_sizes(self, args):
        shapes = self._shapes_of(args)
        if shapes not in self._has_sizes:
            if len(self._has_sizes) >= _SHAPES_KEPT:
                self._has_sizes.clear()
            self._has_sizes[shapes] = _trace.sizes_hold(self.fixed_sizes, dict(zip(self.block.input_names, shapes)))
        return self._has_sizes[shapes]

    def fixed_sizes_text(self):
        """What was read where, for messages."""
        return ", ".join(sorted({str(read) for read in self.fixed_sizes}))

    def arrays_of(self, args):
        """The arrays among the arguments of a call."""
        return [leaf for leaf in leaves_of(args) if _is_array(leaf)]

    def __call__(self, *args):
        outputs = self.block(*(args if self._takes_one else self.arrays_of(args)))
        if self._results is NDArray:
            return outputs
        outputs = iter(outputs if isinstance(outputs, list) else [outputs])
        return _with_outputs(self._results, outputs)


_SHAPES_KEPT = 64


def graph_of(block, args, call=Block.__call__):
    """The graph of a HybridBlock for such a call; random numbers are as if nothing had run.

    `call` is what runs the block with such arguments: a `__call__` of its class where that has not run already.

    Blocks of MXNet 1.x are called with symbols, as MXNet does it; what does more with arrays than symbols can is
    recorded from arrays, as blocks of MXNet 2 are.
    """
    is_recording = _recording.modes.is_recording
    with _random_key.trial(), _recording.scope(is_recording=False):
        if not _records_arrays(block):
            try:
                return _composed(block, args, call)
            except Exception as error:
                try:
                    return _traced(block, args, is_recording, call)
                except Exception as second:
                    raise second from error
        return _traced(block, args, is_recording, call)


def _records_arrays(block):
    """Casts of `mx.amp.init` with MXNet's policy are those of operators on arrays."""
    return block._records_arrays() or _autocast.is_active()


# ---- graphs of symbols ----


def _composed(block, args, call):
    arrays = [leaf for leaf in leaves_of(args) if _is_array(leaf)]
    inputs = [_input_variable(name, array) for name, array in zip(_input_names(arrays), arrays)]
    with symbols_mean_arrays():  # so that the graph computes what the block does with arrays
        outputs = block._compose_hybrid_forward(_replaced(args, iter(inputs)))
    symbol = _grouped([_checked(block, leaf, Symbol) for leaf in leaves_of(outputs)])
    parameters = _parameters_by_name(block)
    _finish_parameters(block, args, call, symbol, parameters, dict(zip(symbol_names(inputs), arrays)))
    if is_np_shape():
        symbol = Symbol(symbol._handle.with_np_shape(True))
    known = {name: parameters[name] for name in symbol.list_inputs() if name in parameters}
    graph = _graph_block(block, symbol, inputs, known)
    classes = rebuilt(outputs, lambda output: ndarray if isinstance(output, NumpySymbol) else NDArray)
    return TracedBlock(graph, args, classes, is_composed=True)


def symbol_names(symbols):
    """Their names."""
    return [symbol.name for symbol in symbols]


def _input_variable(name, array):
    return Variable(name).as_np_ndarray() if isinstance(array, ndarray) else Variable(name)


def _parameters_by_name(block):
    """{name: Parameter} of all that the block and blocks inside hold. Raises ArgumentError for two of one name."""
    named = {}

    def add(inner):
        for parameter in (*inner.params.values(), *inner._reg_params.values()):
            if named.setdefault(parameter.name, parameter) is not parameter:
                raise ArgumentError(f"{block!r:.80}: two parameters have the name {parameter.name!r}")

    block.apply(add)
    return named


def _finish_parameters(block, args, call, symbol, parameters, inputs):
    """Parameters that wait for shapes learn them from the graph, or else from a run on the arrays."""
    waiting = {name: p for name, p in parameters.items() if p.is_open and name in set(symbol.list_inputs())}
    if not waiting:
        return
    shapes = {name: tuple(array.shape) for name, array in inputs.items() if name in set(symbol.list_arguments())}
    arguments, _, states = symbol.infer_shape_partial(**shapes)
    found = dict(zip([*symbol.list_arguments(), *symbol.list_auxiliary_states()], [*arguments, *states]))
    for name, parameter in waiting.items():
        if found.get(name):
            parameter.learn_shape(found[name])
    try:
        for parameter in waiting.values():
            parameter.finish_initialization()
    except DeferredInitializationError:
        with _trace.rehearsal():
            call(block, *args)


def count_nodes(block, args):
    """MXNet 1.x learns shapes from symbols. Without a prefix their nodes are counted in the scope around the block."""
    variables = iter(Variable(f"data{i}") for i in range(len(leaves_of(args))))
    with contextlib.suppress(Exception):  # what symbols cannot do has no nodes
        block._compose_hybrid_forward(_replaced(args, variables))


def infer_parameter_shapes(block, args):
    """Sets the shapes of the parameters of a block with a `hybrid_forward`, given the arrays of a call."""
    names = iter(f"data{i}" for i in range(len(leaves_of(args))))
    is_numpy = any(isinstance(leaf, ndarray) for leaf in leaves_of(args))
    shapes = {}

    def variable(name, **known):
        symbol = Variable(name, **known)
        return symbol.as_np_ndarray() if is_numpy else symbol

    def input_variable(value):
        if not _is_array(value):
            return value
        name = next(names)
        shapes[name] = tuple(value.shape)
        return variable(name)

    parameters = {name: variable(name, **_known_shape(p)) for name, p in block._reg_params.items()}
    with block.name_scope():
        outputs = block.hybrid_forward(sym, *rebuilt(args, input_variable), **parameters)
    net = Group([leaf for leaf in leaves_of(outputs)])
    known = set(net.list_arguments())
    arguments, _, states = net.infer_shape_partial(**{n: shape for n, shape in shapes.items() if n in known})
    found = {
        **dict(zip(net.list_arguments(), arguments)),
        **dict(zip(net.list_auxiliary_states(), states)),
    }
    for name, parameter in block._reg_params.items():
        if name in found:
            parameter.shape = found[name]


def _known_shape(parameter):
    return {} if parameter.shape is None else {"shape": tuple(max(dim, 0) for dim in parameter.shape)}


# ---- graphs of what is done with arrays ----


def _traced(block, args, is_recording, call):
    arrays = [leaf for leaf in leaves_of(args) if _is_array(leaf)]
    _refuse_unknown_arguments(block, args)
    if any(parameter.is_open for parameter in block.collect_params().values()):
        with _trace.rehearsal():
            call(block, *args)
    names = _input_names(arrays)
    last_names = {id(p): (name, p) for name, p in block.collect_params().items()}  # of shared ones the last name
    with Trace(is_recording) as recorded:
        for name, parameter in last_names.values():
            recorded.mark(parameter.data(), Variable(name, shape=parameter.shape, dtype=parameter.dtype))
        inputs = [_array(value) for value in arrays]
        for name, array in zip(names, inputs):
            recorded.mark_input(array, Variable(name))
        outputs = call(block, *_replaced(args, iter(inputs)))
    symbol = _grouped([recorded.symbol_of(_checked(block, leaf, NDArray)) for leaf in leaves_of(outputs)])
    if any(isinstance(leaf, ndarray) for leaf in (*inputs, *leaves_of(outputs))):
        symbol = Symbol(symbol._handle.with_np_shape(True))
    parameters = {name: parameter for name, parameter in last_names.values()}
    graph = _graph_block(block, symbol, [Variable(name) for name in names], {**parameters, **recorded.constants})
    return TracedBlock(graph, args, rebuilt(outputs, type), recorded.sizes_read, recorded.modes_read)


def _refuse_unknown_arguments(block, args):
    """An object that is no array and no plain value may hold arrays, which would become constants."""
    for leaf in leaves_of(args):
        if not _is_array(leaf) and not isinstance(leaf, _PLAIN) and not callable(leaf) and hasattr(leaf, "__dict__"):
            raise _trace.NoGraphError(f"an argument of {type(block).__name__} is a {type(leaf).__name__}, which")


_PLAIN = (type(None), bool, int, float, complex, str, bytes, slice)


def _graph_block(block, symbol, inputs, parameters):
    """A SymbolBlock that the program does not see: names of its blocks are not counted on."""
    with names.NameManager():
        return block.graph_class(symbol, inputs, parameters)


def _input_names(arrays):
    return ["data"] if len(arrays) == 1 else [f"data{i}" for i in range(len(arrays))]


def _grouped(symbols):
    return symbols[0] if len(symbols) == 1 else Group(symbols)


def _checked(block, leaf, kind):
    if not isinstance(leaf, kind):
        raise ArgumentError(f"{type(block).__name__}: the block returned {type(leaf).__name__} among arrays")
    return leaf


def _is_array(leaf):
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _array(value):
    """A new object for an array of a call: the same array may be passed twice."""
    cls = type(value) if isinstance(value, NDArray) else NDArray
    return cls(value if isinstance(value, NDArray) else readable(value))


def _replaced(args, arrays):
    return rebuilt(args, lambda leaf: next(arrays) if _is_array(leaf) else leaf)


def _form(args):
    """The arguments of a call without what a recorded graph leaves open: values and sizes of arrays."""
    return rebuilt(args, lambda leaf: (_class_of(leaf), leaf.dtype, len(leaf.shape)) if _is_array(leaf) else leaf)


def _open_form(args):
    """The arguments of a call without what symbols leave open: values, shapes and dtypes of arrays."""
    return rebuilt(args, lambda leaf: _class_of(leaf) if _is_array(leaf) else leaf)


def _class_of(leaf):
    return type(leaf) if isinstance(leaf, NDArray) else NDArray


def _with_outputs(classes, outputs):
    """Results in the form of the block's, with lists for tuples, as MXNet does it."""
    if isinstance(classes, type):
        output = next(outputs)
        return output if classes is NDArray or isinstance(output, classes) else classes(output)
    if type(classes) in (list, tuple):
        return [_with_outputs(item, outputs) for item in classes]
    return rebuilt(classes, lambda leaf: _with_outputs(leaf, outputs))
