"""The parameters of blocks and of what is inside of them, and the names that these have."""

import re
import warnings

from ...base import ArgumentError
from .parameter import ParameterDict
from .parameter_files import ParameterFiles


class ParametersOfBlock(ParameterFiles):
    """What Block inherits: its parameters and those of its children, by name."""

    _naming = _scope_params = None
    _children = _reg_params = None

    # ---- names of MXNet 1.x ----

    def _alias(self):
        """What prefixes of such blocks begin with where the program gives none."""
        return type(self).__name__.lower()

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
        self._warn_of_hidden_blocks()
        found = ParameterDict(self._naming.parameters, named=self._collect_named(self.prefix))
        found.by_prefix = self._collect_by_prefix()
        if select is not None:
            chosen = re.compile(select).match
            for name in [name for name in found if not chosen(name)]:
                del found[name]
        return found

    def _collect_named(self, path):
        """Blocks with prefixes have parameters named by these, others by the path to them."""
        lead = self._naming.parameters if self._naming.is_named else path
        named = {lead + name: parameter for name, parameter in self._reg_params.items()}
        for name, child in self._children.items():
            named.update(child._collect_named(f"{lead}{name}."))
        return named

    def _collect_by_prefix(self):
        named = {self._naming.parameters + name: parameter for name, parameter in self._reg_params.items()}
        for child in self._children.values():
            named.update(child._collect_by_prefix())
        return named

    def _warn_of_hidden_blocks(self):
        """Warns of blocks in lists and dicts: their parameters are not found."""
        known = {id(child) for child in self._children.values()}
        for name, value in self.__dict__.items():
            if name not in _OWN and any(id(block) not in known for block in _blocks_in(value)):
                warnings.warn(
                    f"{type(self).__name__}.{name} has blocks whose parameters are not found: a list or a dict of them "
                    "is no child; use nn.Sequential, or register_child for each",
                    stacklevel=3,
                )

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
                    object.__setattr__(owner, last, parameter)
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

    def reset_ctx(self, ctx=None, *, device=None):
        """Has no effect: there is one device."""

    reset_device = reset_ctx

    def zero_grad(self):
        """Sets all gradients to zeros."""
        self.collect_params().zero_grad()

    def setattr(self, name, value):
        """Sets an attribute, such as grad_req, of all parameters."""
        self.collect_params().setattr(name, value)


_OWN = ("_children", "_reg_params", "_hooks", "_pre_hooks")  # what every block has


def _blocks_in(value):
    """Blocks in nested lists and dicts."""
    if isinstance(value, ParametersOfBlock):
        return []
    found = value.values() if type(value) is dict else value if type(value) in (list, tuple) else ()
    return [block for each in found for block in ([each] if isinstance(each, ParametersOfBlock) else _blocks_in(each))]
