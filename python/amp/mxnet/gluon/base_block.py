"""The base class of all blocks: parameters, other blocks and hooks, by name."""

import contextlib
import inspect
import threading

from ... import _devices
from ..._core import NDArray
from ...base import ArgumentError
from ...sym import Symbol
from .. import _generation as generations
from ..np.array_class import ndarray
from ..util import is_np_array
from . import naming
from ._nested import leaves_of
from .block_parameters import ParametersOfBlock
from .parameter import Parameter
from .summary import print_summary

_composing = threading.local()  # whether this thread calls a block with symbols


_BASES = (__name__, f"{__package__}.block")  # modules whose `forward` asks for another one


class Block(ParametersOfBlock):
    """A network, or a part of one: parameters, other blocks, and a `forward` that uses them.

    Blocks and parameters become children by being assigned to attributes, and get the attribute's name. Parameters have
    the names of MXNet 1.x, such as 'net_dense0_weight': prefixes of blocks that are made inside of `name_scope()` begin
    with its own, and a block without a prefix is numbered. A block that is made while `npx.set_np()` is active is one
    of MXNet 2, whose names tell the place in the tree, such as 'features.0.weight'.

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
        self._generation = generations.of_new_block()
        self._naming = naming.Naming(self, prefix, params)

    def __setattr__(self, name, value):
        old = self.__dict__.get(name)
        _check_type(name, old, value)
        if isinstance(value, Block):
            self._require_init()
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._require_init()
            self._reg_params[name] = value
            self._name_new_parameter(name, value)
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

        The child, and what is inside of it, is of the generation of this block from now on.

        >>> block = mx.gluon.Block()
        >>> block.register_child(mx.gluon.nn.Dense(3, in_units=4, prefix="fc_"), "first")
        >>> list(block.collect_params())
        ['fc_weight', 'fc_bias']
        """
        if not isinstance(block, Block):
            raise ArgumentError(f"{type(self).__name__}: a child has to be a Block, got {type(block).__name__}")
        block._join(self._generation)
        self._children[str(len(self._children)) if name is None else name] = block

    def _join(self, generation):
        """Becomes a block of this generation, with all blocks inside."""
        if self._generation is not generation:
            self._generation = generation
            self._take_own_names()
        for child in self._children.values():
            if child._generation is not generation:
                child._join(generation)

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

    # ---- calls ----

    def _needs_arguments(self):
        """Whether a call without arguments cannot compute anything."""
        functions = [getattr(type(self), name, None) for name in ("forward", "hybrid_forward")]
        own = [function for function in functions if function and function.__module__ not in _BASES]
        taken = [p for function in own for p in list(inspect.signature(function).parameters.values())[1:]]
        needed = [p for p in taken if p.name != "F" and p.kind <= p.POSITIONAL_OR_KEYWORD and p.default is p.empty]
        return bool(needed) or not own

    def __call__(self, *args):
        """Runs `forward` on arrays; parameters that wait for shapes learn them here.

        Without arguments a block of MXNet 2 whose `forward` needs some is the block itself: there, children are weak
        references, which programs call.
        """
        if not args and self._generation.number == 2 and self._needs_arguments():
            return self
        for hook in list(self._pre_hooks.values()):
            hook(self, args)
        if len(args) == 1 and isinstance(args[0], NDArray):
            outputs = self._run_on_its_device(args)
        elif any(isinstance(leaf, Symbol) for leaf in leaves_of(args)):
            if any(isinstance(leaf, NDArray) for leaf in leaves_of(args)):
                raise MixedArgumentsError(f"{type(self).__name__}: a call takes arrays or symbols, not both")
            outputs = self._compose(args)
        else:
            outputs = self._run_on_its_device(args)
        for hook in list(self._hooks.values()):
            hook(self, args, outputs)
        if isinstance(outputs, (list, tuple)) and is_np_array():
            self._require_one_class(outputs)
        return outputs

    def _require_one_class(self, outputs):
        """Raises ArrayClassError where `mx.np` is on and results are classic arrays and others."""
        classes = {isinstance(leaf, ndarray) for leaf in leaves_of(outputs) if isinstance(leaf, NDArray)}
        if len(classes) > 1:
            raise ArrayClassError(
                f"{type(self).__name__}: results are arrays of mx.np and NDArrays, expected one class"
            )

    def _run_on_its_device(self, args):
        """Runs with the parameters on the device of the arrays."""
        if not _devices.are_used:
            return self._run(args)
        with _devices.scope_of(leaves_of(args)):
            return self._run(args)

    def _run(self, args):
        return self.forward(*args)

    def _compose(self, args):
        with self._composition():
            return self.forward(*args)

    @contextlib.contextmanager
    def _composition(self):
        """A call with symbols. The outermost block of MXNet 2 names all parameters by their places in it."""
        is_outermost = not getattr(_composing, "active", False)
        if is_outermost:
            self._name_parameters()
        _composing.active = True
        try:
            yield
        finally:
            _composing.active = not is_outermost

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
        name = type(self).__name__
        return "\n".join([f"{name}(", *lines, ")"]) if lines else f"{name}({self._settings_text()})"

    def _settings_text(self):
        """What stands in the brackets of a block without children."""
        return ""


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


def _check_type(name, old, value):
    """An attribute that was a block or a parameter stays one, or becomes None."""
    for kind in (Block, Parameter):
        if isinstance(old, kind) and value is not None and not isinstance(value, kind):
            message = f"the attribute {name!r} is a {kind.__name__} and cannot become {type(value).__name__}"
            raise AttributeTypeError(message)


class ArrayClassError(ArgumentError, TypeError):
    """A classic array where `mx.np` is on; MXNet raises a TypeError."""


class MixedArgumentsError(ArgumentError, TypeError):
    """A call with arrays and symbols: a ValueError in MXNet 1.x, a TypeError in 2.x."""


class AttributeTypeError(ArgumentError, TypeError):
    """An attribute of a block gets a value of another kind."""
