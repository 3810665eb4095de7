"""Blocks: networks as trees of objects that are called like functions."""

import copy
import enum
import inspect
import warnings

from ... import _recording, _trace, attribute, nd, sym
from ..._core import NDArray
from ...base import ArgumentError, UnsupportedError
from ...sym import Symbol
from . import parameter as parameters
from . import tracing
from ._block_names import NamesOfMXNet
from ._graphs import Graphs
from ._nested import leaves_of
from .base_block import Block
from .parameter import Parameter


class OptConstraint:
    """What optimizations must not do to operators.

    >>> mx.gluon.block.OptConstraint.Flag.DisableAMP.value
    1
    """

    class Flag(enum.Flag):
        """Bits of the attribute `__opt_constraint__`."""

        DisableAMP = attribute.DISABLE_AMP

    # `with ...disable_amp():` in a `forward` keeps the operators made inside of it out of every conversion.
    disable_amp = staticmethod(attribute.disable_amp)
    disable_graphamp = disable_amp


class HybridBlock(NamesOfMXNet, Block):
    """A block that can run as a graph.

    Subclasses define `hybrid_forward(self, F, x, ..., weight=...)` in the style of MXNet 1.x, where F is `amp.nd` or
    `amp.sym` and parameters are passed by name; or `forward(self, x, ...)` in the style of MXNet 2, on arrays with the
    functions of `mx.np` and `mx.npx`. Of the two the subclass's own counts. After `hybridize()` the first call makes
    the graph that runs from then on, fused, with its parameters prepacked. In MXNet 1.x `hybrid_forward` makes it of
    symbols, and a class that overrides `forward` has none: blocks inside of it have graphs. In MXNet 2 the graph is
    what `forward` does with arrays; it is valid for the sizes that Python read meanwhile, and other sizes record
    another one. A block that does what no operator does, such as choosing elements by their values, goes on without a
    graph and warns (RuntimeWarning). Blocks with parameters of unknown shape may define `infer_shape(self, x, ...)`,
    which sets them.

    >>> class Doubled(mx.gluon.HybridBlock):
    ...     def hybrid_forward(self, F, x):
    ...         return F.relu(2 * x)
    >>> block = Doubled()
    >>> block.hybridize()
    >>> block(amp.nd.array([-1, 1]))
    [0. 2.]
    <NDArray float32[2]>
    """

    OptConstraint = OptConstraint
    graph_class = None  # SymbolBlock: a block that is a graph, and a HybridBlock itself
    _call_state = None  # what results depend on beside the arguments of a call: part of the key of graphs

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix, params)
        self._active = False
        self._graphs = Graphs()
        self._refusal = None  # why there is no graph of what the block does
        self._hook = None

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if isinstance(value, (Block, Parameter, NDArray)) and "_graphs" in self.__dict__:
            self._forget_graph()  # it has another part now

    def register_child(self, block, name=None):
        """Adds a child that is no attribute; by default its name is its number."""
        super().register_child(block, name)
        self._forget_graph()

    def hybridize(self, active=True, **kwargs):
        """From the next call on the block runs as a graph (or no longer). Options of MXNet have no effect.

        >>> block = mx.gluon.nn.Dense(3, in_units=4)
        >>> block.initialize("ones")
        >>> block.hybridize()
        >>> block(amp.nd.ones((1, 4)))
        [[4. 4. 4.]]
        <NDArray float32[1,3]>
        """
        self._active = bool(active)
        self._forget_graph()
        super().hybridize(active, **kwargs)

    def cast(self, dtype):
        """Changes the dtype of all parameters."""
        self._forget_graph()
        super().cast(dtype)

    @classmethod
    def _overrides_forward(cls):
        return cls.forward is not HybridBlock.forward

    def _records_arrays(self):
        """Whether a graph is what `forward` does with arrays; else `hybrid_forward` makes it of symbols."""
        return self._generation.records_arrays or self._overrides_forward()

    def _wants_graph(self):
        """Whether a call on arrays runs the graph."""
        if not self._active or self._refusal is not None or _trace.is_inside_of_graph():
            return False
        return self._generation.records_arrays or not self._overrides_forward()

    def _run(self, args):
        if args and args[0] is None and (self._generation.records_arrays or not self._overrides_forward()):
            self._require_tensor(args)
        if self._wants_graph():
            try:
                graph = self._graphs.of_call(self, args)
            except _trace.NoGraphError as error:
                self._run_without_graph(error)
            else:
                return graph(*args)
        with _recording.scope(is_recording=False):
            self._learn_shapes(args)
        return self.forward(*args) if self._overrides_forward() else self._run_hybrid_forward(args)

    def _run_hybrid_forward(self, args):
        values = {name: parameter.data() for name, parameter in self._reg_params.items()}
        return self.hybrid_forward(nd, *args, **values)

    def _require_tensor(self, args):
        if all(arg is None for arg in leaves_of(args)):
            raise ArgumentError(f"{type(self).__name__}: a call needs an array or a symbol")

    def _compose(self, args):
        with self._composition():
            return self.forward(*args) if self._overrides_forward() else self._compose_hybrid_forward(args)

    def _compose_hybrid_forward(self, args):
        self._require_tensor(args)
        with self.name_scope():
            values = {name: parameter.var() for name, parameter in self._reg_params.items()}
            return self.hybrid_forward(sym, *args, **values)

    def _run_without_graph(self, reason):
        """From now on the block runs as if it were not hybridized; blocks inside of it may have graphs."""
        self._refusal = str(reason)
        warnings.warn(f"{type(self).__name__} runs without a graph, slower: {reason}", RuntimeWarning, stacklevel=4)

    def _forget_graph(self):
        """The next call records the block again."""
        self._refusal = None
        self._graphs.clear()

    def _open_parameters(self):
        """The block's own parameters that wait for their shapes."""
        return [parameter for parameter in self._reg_params.values() if parameter.is_open]

    def _learn_shapes(self, args):
        waiting = self._open_parameters()
        if not waiting:
            return
        if any(not parameters.is_known(parameter.shape) for parameter in waiting):
            try:
                if self._naming.is_empty and not self._records_arrays():
                    tracing.count_nodes(self, args)
                self.infer_shape(*args)
            except IndexError:
                shapes = ", ".join(str(tuple(leaf.shape)) for leaf in leaves_of(args) if hasattr(leaf, "shape"))
                raise ArgumentError(f"{self!r}: inputs of shape {shapes} lack an axis that it needs") from None
        for parameter in waiting:
            parameter.finish_initialization()

    def infer_shape(self, *args):
        """Sets the shapes of the block's own parameters, given its inputs."""
        if type(self).hybrid_forward is HybridBlock.hybrid_forward:
            raise UnsupportedError(
                f"{type(self).__name__}: parameters have unknown shapes; define infer_shape(self, x, ...) to set them"
            )
        tracing.infer_parameter_shapes(self, args)

    def forward(self, *args):
        """Runs `hybrid_forward`, as a graph where the block is hybridized. Subclasses for MXNet 2 override it."""
        if any(isinstance(arg, Symbol) for arg in leaves_of(args)):
            return self._compose_hybrid_forward(args)
        return self._run_hybrid_forward(args) if self._overrides_forward() else self._run(args)

    def hybrid_forward(self, F, *args, **kwargs):  # noqa: N803 - MXNet's name
        """What a block in the style of MXNet 1.x computes."""
        raise NotImplementedError(f"{type(self).__name__} defines neither forward nor hybrid_forward")

    # ---- the graph ----

    def graph_for(self, *args):
        """The graph of the block, a function of arrays; it is recorded with `args` where none fits these."""
        return self._graphs.of_call(self, args, type(self).__call__)

    def _require_graph(self, what):
        """Raises UnsupportedError where the block has turned out to have no graph."""
        if self._refusal is not None:
            raise UnsupportedError(f"{what}: {type(self).__name__}: {self._refusal}")

    def _recorded(self, what):
        self._require_graph(what)
        graph = self._graphs.most_open()
        if graph is None:
            if not self._generation.records_arrays and self._overrides_forward():
                raise tracing.UntracedError(
                    f"{what}: {type(self).__name__} overrides forward, which MXNet 1.x does not record: define "
                    "hybrid_forward, or call npx.set_np() before the block is made"
                )
            raise tracing.UntracedError(f"{what}: call block.hybridize(), and then the block, once")
        return graph

    def export(self, path, epoch=0, remove_amp_cast=False):
        """Writes `<path>-symbol.json` and `<path>-<epoch, four digits>.params` of a hybridized block that has run.

        With path=None nothing is written and the result is (Symbol, {'arg:...' or 'aux:...': NDArray}). Otherwise it is
        the names of the files. A graph that is valid for some sizes alone is written with a warning that says which.
        Raises RuntimeError (an ArgumentError, too) before the first hybridized call.

        >>> block = mx.gluon.nn.Dense(3, in_units=4, prefix="fc_")
        >>> block.initialize()
        >>> block.hybridize()
        >>> _ = block(amp.nd.ones((1, 4)))
        >>> _ = block.export("dense")
        >>> amp.sym.load("dense-symbol.json").list_arguments()
        ['data', 'fc_weight', 'fc_bias']
        """
        graph = self._recorded("export")
        if graph.fixed_sizes:
            warnings.warn(f"export: the graph is valid for these sizes alone: {graph.fixed_sizes_text()}", stacklevel=2)
        return graph.block.export(path, epoch, remove_amp_cast)

    def optimize_for(self, x, *args, backend=None, clear=False, **kwargs):
        """Hybridizes the block and replaces its graph by what `Symbol.optimize_for` makes of it; gives the outputs.

        >>> block = mx.gluon.nn.Dense(3, activation="relu", in_units=4)
        >>> block.initialize("ones")
        >>> block.optimize_for(amp.nd.ones((1, 4)), backend="ONEDNN").shape
        (1, 3)
        """
        super().hybridize(True)
        self._active = True
        if clear:
            self._forget_graph()
        inputs = _accepted(self.forward, tuple(x) if isinstance(x, (list, tuple)) and not args else (x, *args))
        graph = self.graph_for(*inputs)
        if backend is not None:
            graph.block.optimize_for(*graph.arrays_of(inputs), backend=backend, **kwargs)
        return self(*inputs)

    def register_op_hook(self, callback, monitor_all=False):
        """In every call `callback(name, op_name, array)` is called for each output of each operator; None ends it.

        The block has to be hybridized. `monitor_all=True`: inputs, too. Errors as for `SymbolBlock.register_op_hook`.

        >>> net = mx.gluon.nn.Dense(3, in_units=4)
        >>> net.initialize()
        >>> net.hybridize()
        >>> net.register_op_hook(lambda name, op, array: print(op, array.shape))
        >>> _ = net(amp.nd.ones((1, 4)))
        FullyConnected (1, 3)
        """
        if not self._active:
            raise ArgumentError("register_op_hook: only a hybridized block has operators to show")
        self._require_graph("register_op_hook")
        self._hook = None if callback is None else (callback, monitor_all)
        for graph in self._graphs.kept:
            graph.block.register_op_hook(callback, monitor_all)

    def __copy__(self):
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        for name in ("_children", "_reg_params", "_hooks", "_pre_hooks"):
            other.__dict__[name] = dict(self.__dict__[name])
        other.__dict__["_graphs"], other.__dict__["_refusal"] = Graphs(), None
        return other

    def __deepcopy__(self, memo):
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        for name, value in self.__dict__.items():
            other.__dict__[name] = Graphs() if name == "_graphs" else copy.deepcopy(value, memo)
        return other


def _accepted(function, arguments):
    """As many of the positional arguments as a function takes."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return arguments
    return arguments[: sum(parameter.kind <= parameter.POSITIONAL_OR_KEYWORD for parameter in parameters)]
