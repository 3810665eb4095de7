"""Blocks: networks as trees of objects that are called like functions."""

import copy
import enum
import functools
import warnings

from ... import _recording, _trace, attribute, nd
from ..._arrays import flattened
from ..._core import NDArray
from ...base import ArgumentError, UnsupportedError
from ...sym import Symbol
from . import parameter as parameters
from . import tracing
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


def starts_graph(forward):
    """A `forward` that, called by itself, does what a call of the block does: parameters learn shapes, graphs run.

    Classes that override it decide for themselves.
    """

    @functools.wraps(forward)
    def started(self, *args, **kwargs):
        if type(self).forward is started and not kwargs and (self._wants_graph() or self._open_parameters()):
            if any(isinstance(leaf, NDArray) for leaf in flattened(args)):
                return self._run(args)
        return forward(self, *args, **kwargs)

    return started


class HybridBlock(Block):
    """A block that can run as a graph.

    Subclasses define `forward(self, x, ...)` on arrays with the functions of `mx.np`, `mx.npx` and `amp.nd`, or
    `hybrid_forward(self, F, x, ..., weight=...)` in the style of MXNet 1.x, where F is `amp.nd` or `amp.sym` and
    parameters are passed by name. After `hybridize()` the first call records what `forward` does; from then on the
    graph runs, fused, with its parameters prepacked. A graph keeps what Python decided in that call, such as numbers
    read from shapes. A block that does what no operator does, such as choosing elements by their values, goes on
    without a graph and warns (RuntimeWarning); blocks inside of it have graphs. Blocks with parameters of unknown
    shape define `infer_shape(self, x, ...)`, which sets them.

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

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix, params)
        self._active = False
        self._graph = None  # a SymbolBlock and how to pass it arrays: tracing.TracedBlock
        self._refusal = None  # why there is no graph of what the block does
        self._hook = None

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if isinstance(value, (Block, Parameter)):
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

    def _wants_graph(self):
        """Whether a call on arrays runs the graph."""
        return self._active and self._refusal is None and not _trace.is_inside_of_graph()

    def _run(self, args):
        if self._wants_graph():
            try:
                graph = self.graph_for(*args)
            except _trace.NoGraphError as error:
                self._run_without_graph(error)
            else:
                return graph(*args)
        with _recording.scope(is_recording=False):
            self._learn_shapes(args)
        with _trace.names(self._name_of_nodes()):
            return self.forward(*args)

    def _name_of_nodes(self):
        """What names of nodes begin with, as in MXNet 1.x; None where the program has named no block around."""
        return self.prefix if self._naming.is_named else None

    def _run_without_graph(self, reason):
        """From now on the block runs as if it were not hybridized; blocks inside of it may have graphs."""
        self._refusal = str(reason)
        warnings.warn(f"{type(self).__name__} runs without a graph, slower: {reason}", RuntimeWarning, stacklevel=4)

    def _forget_graph(self):
        """The next call records the block again."""
        self._graph, self._refusal = None, None

    def _open_parameters(self):
        """The block's own parameters that wait for their shapes."""
        return [parameter for parameter in self._reg_params.values() if parameter.is_open]

    def _learn_shapes(self, args):
        waiting = self._open_parameters()
        if not waiting:
            return
        if any(not parameters._is_known(parameter.shape) for parameter in waiting):
            try:
                self.infer_shape(*args)
            except IndexError:
                shapes = ", ".join(str(tuple(leaf.shape)) for leaf in flattened(args) if hasattr(leaf, "shape"))
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

    @starts_graph
    def forward(self, *args):
        """Runs `hybrid_forward`. Subclasses in MXNet 2's style override it."""
        symbols = any(isinstance(arg, Symbol) for arg in flattened(args))
        if all(arg is None for arg in flattened(args)):
            raise ArgumentError(f"{type(self).__name__}: a call needs an array or a symbol")
        module = tracing.symbol_functions() if symbols else nd
        values = {name: p.var() if symbols else p.data() for name, p in self._reg_params.items()}
        return self.hybrid_forward(module, *args, **values)

    def hybrid_forward(self, F, *args, **kwargs):  # noqa: N803 - MXNet's name
        """What a block in the style of MXNet 1.x computes."""
        raise NotImplementedError(f"{type(self).__name__} defines neither forward nor hybrid_forward")

    # ---- the graph ----

    def graph_for(self, *args):
        """The graph of the block, a function of arrays; it is recorded with `args` where there is none yet."""
        if self._graph is None or not self._graph.fits(args):
            with _recording.scope(is_recording=False):
                self._graph = tracing.trace(self, args)
            if self._hook is not None:
                self._graph.block.register_op_hook(*self._hook)
        return self._graph

    def _require_graph(self, what):
        """Raises UnsupportedError where the block has turned out to have no graph."""
        if self._refusal is not None:
            raise UnsupportedError(f"{what}: {type(self).__name__}: {self._refusal}")

    def _recorded(self, what):
        self._require_graph(what)
        if self._graph is None:
            raise tracing.UntracedError(f"{what}: call block.hybridize(), and then the block, once")
        return self._graph.block

    def export(self, path, epoch=0, remove_amp_cast=False):
        """Writes `<path>-symbol.json` and `<path>-<epoch, four digits>.params` of a hybridized block that has run.

        With path=None nothing is written and the result is (Symbol, {'arg:...' or 'aux:...': NDArray}). Otherwise it is
        the names of the files. Raises RuntimeError (an ArgumentError, too) before the first hybridized call.

        >>> block = mx.gluon.nn.Dense(3, in_units=4)
        >>> block.initialize()
        >>> block.hybridize()
        >>> _ = block(amp.nd.ones((1, 4)))
        >>> _ = block.export("dense")
        >>> amp.sym.load("dense-symbol.json").list_arguments()
        ['data', 'weight', 'bias']
        """
        return self._recorded("export").export(path, epoch, remove_amp_cast)

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
        inputs = tuple(x) if isinstance(x, (list, tuple)) and not args else (x, *args)
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
        if self._graph is not None:
            self._graph.block.register_op_hook(callback, monitor_all)

    def __copy__(self):
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        for name in ("_children", "_reg_params", "_hooks", "_pre_hooks"):
            other.__dict__[name] = dict(self.__dict__[name])
        other._forget_graph()
        return other

    def __deepcopy__(self, memo):
        other = type(self).__new__(type(self))
        memo[id(self)] = other
        for name, value in self.__dict__.items():
            other.__dict__[name] = None if name == "_graph" else copy.deepcopy(value, memo)
        return other


def class_of(args):
    """The class of the first array among nested arguments."""
    return next((type(arg) for arg in flattened(args) if isinstance(arg, NDArray)), NDArray)
