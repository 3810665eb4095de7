"""The graphs of blocks: what the forward of a block does with arrays, as a symbol."""

from ... import _random_key, _trace, sym
from ..._arrays import flattened, mapped, readable
from ..._core import NDArray
from ..._trace import Trace
from ...base import ArgumentError
from ...sym import Group, Symbol, Variable
from ..np.array_class import ndarray


class UntracedError(ArgumentError):
    """The graph of a block is asked for before there is one."""


class TracedBlock:
    """A recorded block: a SymbolBlock, and how arguments and results of a call look."""

    def __init__(self, block, arguments, results):
        self.block = block
        self._arguments, self._results = _form(arguments), results

    def fits(self, args):
        """Whether a call with these arguments is one of this graph: equal but for its arrays."""
        return _form(args) == self._arguments

    def arrays_of(self, args):
        """The arrays among the arguments of a call."""
        return [leaf for leaf in flattened(args) if _is_array(leaf)]

    def __call__(self, *args):
        outputs = self.block(*self.arrays_of(args))
        outputs = iter(outputs if isinstance(outputs, list) else [outputs])
        return _rebuilt(self._results, outputs)


def trace(block, args):
    """Runs a HybridBlock on arrays and returns a TracedBlock; random numbers are as if it had not run."""
    with _random_key.trial():
        return _trace_of(block, args)


def _trace_of(block, args):
    arrays = [leaf for leaf in flattened(args) if _is_array(leaf)]
    if any(parameter.is_open for parameter in block.collect_params().values()):
        with _trace.rehearsal():
            block(*args)
    names = ["data"] if len(arrays) == 1 else [f"data{i}" for i in range(len(arrays))]
    last_names = {id(p): (name, p) for name, p in block.collect_params().items()}  # of shared ones the last name
    with Trace() as recorded:
        for name, parameter in last_names.values():
            recorded.mark(parameter.data(), Variable(name, shape=parameter.shape, dtype=parameter.dtype))
        inputs = [_array(value) for value in arrays]
        for name, array in zip(names, inputs):
            recorded.mark(array, Variable(name))
        outputs = block(*_replaced(args, iter(inputs)))
    symbols = [recorded.symbol_of(_checked(block, leaf)) for leaf in flattened(outputs)]
    symbol = symbols[0] if len(symbols) == 1 else Group(symbols)
    if any(isinstance(leaf, ndarray) for leaf in (*inputs, *flattened(outputs))):
        symbol = Symbol(symbol._handle.with_np_shape(True))
    parameters = {name: parameter for name, parameter in last_names.values()}
    graph = block.graph_class(symbol, [Variable(name) for name in names], {**parameters, **recorded.constants})
    return TracedBlock(graph, args, _classes(outputs))


def infer_parameter_shapes(block, args):
    """Sets the shapes of the parameters of a block with a `hybrid_forward`, given the arrays of a call."""
    names = iter(f"data{i}" for i in range(len(flattened(args))))
    is_numpy = any(isinstance(leaf, ndarray) for leaf in flattened(args))
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
    outputs = block.hybrid_forward(sym, *mapped(args, input_variable), **parameters)
    net = Group([leaf for leaf in flattened(outputs)])
    known = set(net.list_arguments())
    arguments, _, states = net.infer_shape_partial(**{n: shape for n, shape in shapes.items() if n in known})
    found = {
        **dict(zip(net.list_arguments(), arguments)),
        **dict(zip(net.list_auxiliary_states(), states)),
    }
    for name, parameter in block._reg_params.items():
        if name in found:
            parameter.shape = found[name]


def symbol_functions():
    """What `F` is where a block is called with symbols."""
    return sym


def _known_shape(parameter):
    return {} if parameter.shape is None else {"shape": tuple(max(dim, 0) for dim in parameter.shape)}


def _checked(block, leaf):
    if not isinstance(leaf, NDArray):
        raise ArgumentError(f"{type(block).__name__}: forward returned {type(leaf).__name__} among arrays")
    return leaf


def _is_array(leaf):
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _array(value):
    """A new object for an array of a call: the same array may be passed twice."""
    cls = type(value) if isinstance(value, NDArray) else NDArray
    return cls(value if isinstance(value, NDArray) else readable(value))


def _replaced(args, arrays):
    return mapped(args, lambda leaf: next(arrays) if _is_array(leaf) else leaf)


def _form(args):
    """The arguments of a call with their arrays left out."""
    return mapped(args, lambda leaf: NDArray if _is_array(leaf) else leaf)


def _classes(outputs):
    return mapped(outputs, type)


def _rebuilt(classes, outputs):
    """Results in the form of `forward`'s, with lists for tuples, as MXNet does it."""
    if isinstance(classes, (list, tuple)):
        return [_rebuilt(item, outputs) for item in classes]
    output = next(outputs)
    return output if classes is NDArray else classes(output)
