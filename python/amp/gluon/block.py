"""Blocks: networks as trees of objects that are called like functions."""

import contextlib
import copy
import enum
import re
import threading

from .. import _trace, attribute, nd
from .._arrays import flattened
from .._core import NDArray
from ..base import ArgumentError, UnsupportedError
from ..sym import Symbol
from . import parameter as parameters
from . import tracing
from .parameter import Parameter, ParameterDict

_composing = threading.local()  # whether this thread calls a block with symbols


class Block:
    """A network, or a part of one: parameters, other blocks, and a `forward` that uses them.

    Blocks and parameters become children by being assigned to attributes, and get the attribute's name. `prefix` and
    `params` of MXNet 1.x are accepted; names always tell the place in the tree, such as 'features.0.weight'.

    >>> class Doubled(amp.gluon.Block):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Doubled()(amp.nd.ones((2,)))
    [2. 2.]
    <NDArray float32[2]>
    """

    def __init__(self, prefix=None, params=None):
        self._children = {}
        self._reg_params = {}
        self._hooks, self._pre_hooks = {}, {}
        self._prefix = prefix or ""
        self._scope_params = ParameterDict()

    def __setattr__(self, name, value):
        old = self.__dict__.get(name)
        if isinstance(value, Block):
            self._require_init()
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._require_init()
            self._reg_params[name] = value
            if value.name in ("weight", "const"):  # nobody named it
                value.name = name
        elif isinstance(old, Block) and self._children.get(name) is old:
            del self._children[name]
        elif isinstance(old, Parameter) and self._reg_params.get(name) is old:
            del self._reg_params[name]
        super().__setattr__(name, value)

    def _require_init(self):
        if "_children" not in self.__dict__:
            raise ArgumentError(f"{type(self).__name__}: call super().__init__() before anything is assigned")

    def register_child(self, block, name=None):
        """Adds a child that is no attribute; by default its name is its number.

        >>> block = amp.gluon.Block()
        >>> block.register_child(amp.gluon.nn.Dense(3, in_units=4), "first")
        >>> list(block.collect_params())
        ['first.weight', 'first.bias']
        """
        if not isinstance(block, Block):
            raise ArgumentError(f"{type(self).__name__}: a child has to be a Block, got {type(block).__name__}")
        self._children[str(len(self._children)) if name is None else name] = block

    # ---- names of MXNet 1.x ----

    @property
    def name(self):
        """The prefix without its last underscore, or the name of the class in lower case."""
        return self._prefix.rstrip("_") or type(self).__name__.lower()

    @property
    def prefix(self):
        """What was given as `prefix`; it has no effect on names."""
        return self._prefix

    @property
    def params(self):
        """A ParameterDict to make parameters with: `self.weight = self.params.get('weight', shape=(4, 3))`."""
        return self._scope_params

    def name_scope(self):
        """A `with` block that has no effect: names tell the place in the tree."""
        return contextlib.nullcontext(self)

    # ---- parameters ----

    def collect_params(self, select=None):
        """A ParameterDict {place in the tree: Parameter} of this block and all blocks inside of it.

        `select` is a regular expression that names have to begin with. A shared parameter is there under every name.

        >>> amp.gluon.nn.Dense(3, in_units=4).collect_params().keys()
        dict_keys(['weight', 'bias'])
        """
        found = ParameterDict(self._collect(""))
        if select is None:
            return found
        chosen = re.compile(select).match
        return ParameterDict({name: parameter for name, parameter in found.items() if chosen(name)})

    def _collect(self, prefix):
        named = {prefix + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            named.update(child._collect(f"{prefix}{name}."))
        return named

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False, *, device=None):
        """Makes the arrays of all parameters, those with unknown shapes in the first call; see Parameter.initialize.

        >>> block = amp.gluon.nn.Dense(1, in_units=3)
        >>> block.initialize("ones")
        >>> block.weight.data()
        [[1. 1. 1.]]
        <NDArray float32[1,3]>
        """
        self._name_parameters()
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def _name_parameters(self):
        """Initializers and errors know a parameter by its last name; make that its whole one."""
        for name, parameter in self.collect_params().items():
            parameter.name = name

    def share_parameters(self, shared):
        """Takes parameters of another block, {name in this block's collect_params: Parameter}; returns the block.

        >>> first, second = amp.gluon.nn.Dense(3, in_units=4), amp.gluon.nn.Dense(3)
        >>> second.share_parameters(first.collect_params()).weight is first.weight
        True
        """
        if not isinstance(shared, dict):
            raise ArgumentError(f"share_parameters: expected a dict of parameters, got {type(shared).__name__}")
        for name, parameter in shared.items():
            *path, last = name.split(".")
            owner = self
            for step in path:
                owner = owner._children.get(step) if owner is not None else None
            if owner is not None and last in owner._reg_params:
                owner._reg_params[last] = parameter
                if last in owner.__dict__:
                    super(Block, owner).__setattr__(last, parameter)
        return self

    def cast(self, dtype):
        """Changes the dtype of all parameters.

        Raises ArgumentError for unknown dtypes.

        >>> block = amp.gluon.nn.Dense(3, in_units=4)
        >>> block.cast("float16")
        >>> block.weight.dtype
        dtype('float16')
        """
        for child in self._children.values():
            child.cast(dtype)
        for parameter in self._reg_params.values():
            parameter.cast(dtype)

    def apply(self, fn):
        """Calls `fn` with every block inside of this one, then with this one; returns it.

        >>> block = amp.gluon.nn.Sequential(amp.gluon.nn.Flatten())
        >>> _ = block.apply(lambda inner: print(type(inner).__name__))
        Flatten
        Sequential
        """
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    def reset_ctx(self, ctx=None, *, device=None):
        """Has no effect: there is one device."""

    reset_device = reset_ctx

    def zero_grad(self):
        """Has no effect: there are no gradients."""

    def setattr(self, name, value):
        """Sets an attribute, such as grad_req, of all parameters."""
        self.collect_params().setattr(name, value)

    # ---- files ----

    def save_parameters(self, filename, deduplicate=False):
        """Writes all parameters under their places in the tree; with `deduplicate` a shared one only once.

        >>> block = amp.gluon.nn.Dense(3, in_units=4)
        >>> block.initialize()
        >>> block.save_parameters("dense.params")
        >>> sorted(amp.nd.load("dense.params"))
        ['bias', 'weight']
        """
        named, seen = {}, set()
        for name, parameter in self.collect_params().items():
            if not deduplicate or id(parameter) not in seen:
                named[name] = parameter.data()
            seen.add(id(parameter))
        nd.save(filename, named)

    def load_parameters(
        self,
        filename,
        ctx=None,
        allow_missing=False,
        ignore_extra=False,
        cast_dtype=False,
        dtype_source="saved",
        *,
        device=None,
    ):
        """Reads parameters; their dtypes become those of the file, unless cast_dtype=True and dtype_source='current'.

        Raises ArgumentError that names everything which is missing (unless allow_missing), unknown (unless
        ignore_extra) or of another shape.

        >>> amp.nd.save("dense.params", {"weight": np.ones((1, 2), "float32"), "bias": np.zeros(1, "float32")})
        >>> block = amp.gluon.nn.Dense(1)
        >>> block.load_parameters("dense.params")
        >>> block(amp.nd.array([[1, 2]]))
        [[3.]]
        <NDArray float32[1,1]>
        """
        named = self.collect_params()
        before = {name: parameter.dtype for name, parameter in named.items()}
        parameters.load_arrays(named, filename, allow_missing, ignore_extra)
        if cast_dtype and dtype_source == "current":
            for name, parameter in named.items():
                parameter.cast(before[name])

    load_params = load_parameters
    save_params = save_parameters

    def load_dict(self, param_dict, ctx=None, allow_missing=False, ignore_extra=False, *, device=None):
        """Sets parameters from {name: array}; errors as for `load_parameters`.

        >>> block = amp.gluon.nn.Dense(1)
        >>> block.load_dict({"weight": amp.nd.ones((1, 2)), "bias": amp.nd.zeros((1,))})
        >>> block(amp.nd.array([[1, 2]]))
        [[3.]]
        <NDArray float32[1,1]>
        """
        named = self.collect_params()
        arrays = {parameters.plain_name(name): array for name, array in param_dict.items()}
        missing = [name for name in named if name not in arrays]
        extra = [name for name in arrays if name not in named]
        if missing and not allow_missing or extra and not ignore_extra:
            raise ArgumentError(f"load_dict: missing {missing or 'nothing'}, unknown {extra or 'nothing'}")
        for name, array in arrays.items():
            if name in named:
                named[name].set_data(array)

    # ---- calls ----

    def __call__(self, *args):
        """Runs `forward` on arrays; parameters that wait for shapes learn them here."""
        for hook in list(self._pre_hooks.values()):
            hook(self, args)
        outputs = self._run(args)
        for hook in list(self._hooks.values()):
            hook(self, args, outputs)
        return outputs

    def _run(self, args):
        return self.forward(*args)

    def forward(self, *args):
        """What the block computes. Subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward")

    def register_forward_hook(self, hook):
        """`hook(block, inputs, outputs)` is called after every call; returns an object with `detach()`.

        >>> block = amp.gluon.nn.Flatten()
        >>> handle = block.register_forward_hook(lambda block, inputs, outputs: print(outputs.shape))
        >>> _ = block(amp.nd.ones((2, 3, 4)))
        (2, 12)
        """
        return _Handle(self._hooks, hook)

    def register_forward_pre_hook(self, hook):
        """`hook(block, inputs)` is called before every call; returns an object with `detach()`."""
        return _Handle(self._pre_hooks, hook)

    def hybridize(self, active=True, **kwargs):
        """Makes all HybridBlocks inside of this one run as graphs (or no longer)."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def summary(self, *inputs):
        """Prints a table of the blocks inside of this one with shapes of outputs and numbers of parameters.

        >>> block = amp.gluon.nn.Dense(3, in_units=4)
        >>> block.initialize()
        >>> block.summary(amp.nd.ones((1, 4)))
        Layer (type)    Output shape    Parameters
        Input           (1, 4)                   0
        Dense           (1, 3)                  15
        All parameters                          15
        """
        from .summary import print_summary

        print_summary(self, inputs)

    def __repr__(self):
        lines = [f"  ({name}): {child!r}".replace("\n", "\n  ") for name, child in self._children.items()]
        return "\n".join([f"{type(self).__name__}(", *lines, ")"]) if lines else f"{type(self).__name__}()"


class _Handle:
    """A registered hook."""

    def __init__(self, hooks, hook):
        if not callable(hook):
            raise ArgumentError(f"expected a function to call, got {type(hook).__name__}")
        self._hooks = hooks
        hooks[id(self)] = hook

    def detach(self):
        """The hook is no longer called."""
        self._hooks.pop(id(self), None)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.detach()


class OptConstraint:
    """What optimizations must not do to operators.

    >>> amp.gluon.block.OptConstraint.Flag.DisableAMP.value
    1
    """

    class Flag(enum.Flag):
        """Bits of the attribute `__opt_constraint__`."""

        DisableAMP = attribute.DISABLE_AMP

    @staticmethod
    def disable_amp():
        """`with ...disable_amp():` in a `forward` keeps the operators made inside of it out of every conversion."""
        return attribute.disable_amp()


class HybridBlock(Block):
    """A block that can run as a graph.

    Subclasses define `forward(self, x, ...)` on arrays with the functions of `amp.np`, `amp.npx` and `amp.nd`, or
    `hybrid_forward(self, F, x, ..., weight=...)` in the style of MXNet 1.x, where F is `amp.nd` or `amp.sym` and
    parameters are passed by name. After `hybridize()` the first call records what `forward` does; from then on the
    graph runs, fused, with its parameters prepacked. A graph keeps what Python decided in that call, such as numbers
    read from shapes. Blocks with parameters of unknown shape define `infer_shape(self, x, ...)`, which sets them.

    >>> class Doubled(amp.gluon.HybridBlock):
    ...     def hybrid_forward(self, F, x):
    ...         return F.relu(2 * x)
    >>> block = Doubled()
    >>> block.hybridize()
    >>> block(amp.nd.array([-1, 1]))
    [0. 2.]
    <NDArray float32[2]>
    """

    OptConstraint = OptConstraint

    def __init__(self, prefix=None, params=None):
        super().__init__(prefix, params)
        self._active = False
        self._graph = None  # a SymbolBlock and how to pass it arrays: tracing.TracedBlock
        self._hook = None

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if isinstance(value, (Block, Parameter)):
            self._graph = None  # it has another part now

    def register_child(self, block, name=None):
        """Adds a child that is no attribute; by default its name is its number."""
        super().register_child(block, name)
        self._graph = None

    def hybridize(self, active=True, **kwargs):
        """From the next call on the block runs as a graph (or no longer). Options of MXNet have no effect.

        >>> block = amp.gluon.nn.Dense(3, in_units=4)
        >>> block.initialize("ones")
        >>> block.hybridize()
        >>> block(amp.nd.ones((1, 4)))
        [[4. 4. 4.]]
        <NDArray float32[1,3]>
        """
        self._active = bool(active)
        self._graph = None
        super().hybridize(active, **kwargs)

    def cast(self, dtype):
        """Changes the dtype of all parameters."""
        self._graph = None
        super().cast(dtype)

    def _run(self, args):
        if any(isinstance(arg, Symbol) for arg in flattened(args)):
            return self._compose(args)
        if self._active and not _trace.is_inside_of_graph():
            return self.graph_for(*args)(*args)
        self._learn_shapes(args)
        return self.forward(*args)

    def _compose(self, args):
        """A call with symbols; the outermost block names all parameters by their places in it."""
        if getattr(_composing, "active", False):
            return self.forward(*args)
        self._name_parameters()
        _composing.active = True
        try:
            return self.forward(*args)
        finally:
            _composing.active = False

    def _learn_shapes(self, args):
        waiting = [parameter for parameter in self._reg_params.values() if parameter.is_open]
        if not waiting:
            return
        if any(not parameters._is_known(parameter.shape) for parameter in waiting):
            try:
                self.infer_shape(*args)
            except IndexError:
                shapes = ", ".join(str(tuple(leaf.shape)) for leaf in flattened(args) if hasattr(leaf, "shape"))
                raise ArgumentError(
                    f"{self!r}: an axis that it needs is not there in inputs of shape {shapes}"
                ) from None
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
        """Runs `hybrid_forward`. Subclasses in MXNet 2's style override it."""
        symbols = any(isinstance(arg, Symbol) for arg in flattened(args))
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
            self._graph = tracing.trace(self, args)
            if self._hook is not None:
                self._graph.block.register_op_hook(self._hook)
        return self._graph

    def _recorded(self, what):
        if self._graph is None:
            raise tracing.UntracedError(f"{what}: call block.hybridize(), and then the block, once")
        return self._graph.block

    def export(self, path, epoch=0, remove_amp_cast=False):
        """Writes `<path>-symbol.json` and `<path>-<epoch, four digits>.params` of a hybridized block that has run.

        With path=None nothing is written and the result is (Symbol, {'arg:...' or 'aux:...': NDArray}). Otherwise it is
        the names of the files. Raises RuntimeError (an ArgumentError, too) before the first hybridized call.

        >>> block = amp.gluon.nn.Dense(3, in_units=4)
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

        >>> block = amp.gluon.nn.Dense(3, activation="relu", in_units=4)
        >>> block.initialize("ones")
        >>> block.optimize_for(amp.nd.ones((1, 4)), backend="ONEDNN").shape
        (1, 3)
        """
        super().hybridize(True)
        self._active = True
        if clear:
            self._graph = None
        inputs = tuple(x) if isinstance(x, (list, tuple)) and not args else (x, *args)
        graph = self.graph_for(*inputs)
        if backend is not None:
            graph.block.optimize_for(*graph.arrays_of(inputs), backend=backend, **kwargs)
        return self(*inputs)

    def register_op_hook(self, callback, monitor_all=False):
        """In every call `callback(name, op_name, array)` is called for each output of each operator; None ends it.

        The block has to be hybridized. Errors as for `SymbolBlock.register_op_hook`.

        >>> net = amp.gluon.nn.Dense(3, in_units=4)
        >>> net.initialize()
        >>> net.hybridize()
        >>> net.register_op_hook(lambda name, op, array: print(op, array.shape))
        >>> _ = net(amp.nd.ones((1, 4)))
        FullyConnected (1, 3)
        """
        if not self._active:
            raise ArgumentError("register_op_hook: only a hybridized block has operators to show")
        self._hook = callback
        if self._graph is not None:
            self._graph.block.register_op_hook(callback, monitor_all)

    def __copy__(self):
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        for name in ("_children", "_reg_params", "_hooks", "_pre_hooks"):
            other.__dict__[name] = dict(self.__dict__[name])
        other.__dict__["_graph"] = None
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
