"""The base class of all blocks: parameters, other blocks and hooks, by name."""

import re

from ...base import ArgumentError
from .naming import Prefix
from .parameter import Parameter, ParameterDict
from .parameter_files import ParameterFiles
from .summary import print_summary


class Block(ParameterFiles):
    """A network, or a part of one: parameters, other blocks, and a `forward` that uses them.

    Blocks and parameters become children by being assigned to attributes, and get the attribute's name. Names tell the
    place in the tree, such as 'features.0.weight'. A block with a `prefix` has the names of MXNet 1.x, such as
    'net_fc1_weight': prefixes of blocks that are made inside of `name_scope()` begin with its own.

    >>> class Doubled(mx.gluon.Block):
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
        self._naming = Prefix(self, prefix)
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

        >>> block = mx.gluon.Block()
        >>> block.register_child(mx.gluon.nn.Dense(3, in_units=4), "first")
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
        return self.prefix.rstrip("_") or type(self).__name__.lower()

    @property
    def prefix(self):
        """What names of MXNet 1.x begin with."""
        return self._naming.text

    @property
    def params(self):
        """A ParameterDict to make parameters with: `self.weight = self.params.get('weight', shape=(4, 3))`."""
        return self._scope_params

    def name_scope(self):
        """A `with` block in which blocks are made whose prefixes begin with this one's.

        >>> net = mx.gluon.nn.HybridSequential(prefix="net_")
        >>> with net.name_scope():
        ...     net.add(mx.gluon.nn.Dense(3, in_units=4, use_bias=False))
        >>> list(net.collect_params())
        ['net_dense0_weight']
        """
        return self._naming.scope()

    # ---- parameters ----

    def collect_params(self, select=None):
        """A ParameterDict {place in the tree: Parameter} of this block and all blocks inside of it.

        `select` is a regular expression that names have to begin with. A shared parameter occurs under every name.

        >>> mx.gluon.nn.Dense(3, in_units=4).collect_params().keys()
        dict_keys(['weight', 'bias'])
        """
        found = ParameterDict(self._collect_prefixed() if self._naming.is_named else self._collect(""))
        if select is None:
            return found
        chosen = re.compile(select).match
        return ParameterDict({name: parameter for name, parameter in found.items() if chosen(name)})

    def _collect_prefixed(self):
        named = {self.prefix + name: parameter for name, parameter in self._reg_params.items()}
        for child in self._children.values():
            named.update(child._collect_prefixed())
        return named

    def _collect(self, prefix):
        named = {prefix + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            named.update(child._collect(f"{prefix}{name}."))
        return named

    def initialize(self, init=None, ctx=None, verbose=False, force_reinit=False, *, device=None):
        """Makes the arrays of all parameters, those with unknown shapes in the first call; see Parameter.initialize.

        >>> block = mx.gluon.nn.Dense(1, in_units=3)
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

        None stands for no parameters.

        >>> first, second = mx.gluon.nn.Dense(3, in_units=4), mx.gluon.nn.Dense(3)
        >>> second.share_parameters(first.collect_params()).weight is first.weight
        True
        """
        shared = {} if shared is None else shared
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

        >>> block = mx.gluon.nn.Dense(3, in_units=4)
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

        >>> block = mx.gluon.nn.Sequential(mx.gluon.nn.Flatten())
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
        """Sets all gradients to zeros."""
        self.collect_params().zero_grad()

    def setattr(self, name, value):
        """Sets an attribute, such as grad_req, of all parameters."""
        self.collect_params().setattr(name, value)

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

        >>> block = mx.gluon.nn.Flatten()
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

        >>> block = mx.gluon.nn.Dense(3, in_units=4)
        >>> block.initialize()
        >>> block.summary(amp.nd.ones((1, 4)))
        Layer (type)    Output shape    Parameters
        Input           (1, 4)                   0
        Dense           (1, 3)                  15
        All parameters                          15
        """
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
