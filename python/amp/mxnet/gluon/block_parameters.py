"""The parameters of blocks and of what is inside of them, and the names that these have."""

import re
import warnings

from ...base import ArgumentError
from .parameter import ParameterDict
from .parameter_files import ParameterFiles


class _Default:
    """An attribute that is computed, until a program sets it."""

    def __init__(self, compute):
        self._compute = compute

    def __get__(self, block, owner):
        return self if block is None else self._compute(block)


class ParametersOfBlock(ParameterFiles):
    """What Block inherits: its parameters and those of its children, by name."""

    _naming = _generation = None
    _children = _reg_params = None

    # ---- names of MXNet 1.x ----

    def _alias(self):
        """What prefixes of such blocks begin with where the program gives none."""
        return type(self).__name__.lower()

    @property
    def name(self):
        """The prefix without the underscore at its end."""
        return self._name

    @property
    def prefix(self):
        """What names of MXNet 1.x begin with."""
        return self._prefix

    # Programs read these, and some set them.
    _prefix = _Default(lambda self: self._naming.prefix)
    _name = _Default(lambda self: self.prefix.removesuffix("_"))
    _params = _Default(lambda self: self._naming.parameters)

    @property
    def params(self):
        """A ParameterDict to make parameters with: `self.weight = self.params.get('weight', shape=(4, 3))`.

        It does not have those of the blocks inside.
        """
        return self._params

    def name_scope(self):
        """A `with` block in which blocks are made whose prefixes begin with this one's.

        >>> net = mx.gluon.nn.HybridSequential(prefix="net_")
        >>> with net.name_scope():
        ...     net.add(mx.gluon.nn.Dense(3, in_units=4, use_bias=False))
        >>> list(net.collect_params())
        ['net_dense0_weight']
        """
        return self._naming.scope()

    def _name_new_parameter(self, name, parameter):
        """A parameter that no ParameterDict made belongs to the block that it is first assigned to."""
        if parameter.is_listed:
            return
        parameter.is_listed = True
        if parameter.name in ("weight", "const"):  # the program gave none
            parameter.name = name
        whole = self.params.prefix + parameter.name
        if self.params.setdefault(whole, parameter) is parameter:
            self._take_own_names()

    def _take_own_names(self):
        """In MXNet 1.x a parameter has the name under which its block made it."""
        if not self._generation.names_places:
            for name, parameter in self.params.items():
                parameter.name = name

    # ---- parameters ----

    def collect_params(self, select=None):
        """A ParameterDict {name: Parameter} of this block and all blocks inside of it.

        `select` is a regular expression that names have to begin with. A shared parameter occurs once in MXNet 1.x,
        under its own name; in MXNet 2 once for each place. Raises ArgumentError where two parameters have one name.

        >>> mx.gluon.nn.Dense(3, in_units=4, prefix="fc_").collect_params().keys()
        dict_keys(['fc_weight', 'fc_bias'])
        """
        self._warn_of_hidden_blocks()
        if self._generation.names_places:
            return self._params_by_place(select)
        chosen = re.compile(select or "").match
        found = ParameterDict(self.params.prefix)
        found.update({name: parameter for name, parameter in self.params.items() if chosen(name)})
        for child in self._children.values():
            found.update(child.collect_params(select) if select else child.collect_params())
        found.owner = self
        return found

    def _params_by_place(self, select):
        chosen = re.compile(select or "").match
        named = {name: parameter for name, parameter in self._collect("").items() if chosen(name)}
        found = ParameterDict(self.params.prefix, named=named)
        found.owner = self
        return found

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

    def _collect_params_with_prefix(self, prefix=""):
        """{place in the tree: Parameter}, under MXNet's name."""
        return self._collect(f"{prefix}." if prefix else "")

    def _collect(self, prefix):
        """By place in the tree, as parameter files name them in both generations."""
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
        self.collect_params().initialize(init, ctx, verbose, force_reinit, device=device)

    def _name_parameters(self):
        """In MXNet 2 a parameter has the name of its place in the outermost block."""
        if self._generation.names_places:
            for name, parameter in self._collect("").items():
                parameter.name = name

    def share_parameters(self, shared):
        """Takes parameters of another block, {name in this block: Parameter}; returns the block.

        Names are places in the tree. What `collect_params` gave is taken by its places, too, whatever the names are.
        None stands for no parameters.

        >>> first, second = mx.gluon.nn.Dense(3, in_units=4), mx.gluon.nn.Dense(3)
        >>> second.share_parameters(first.collect_params()).weight is first.weight
        True
        """
        shared = {} if shared is None else shared
        if not isinstance(shared, dict):
            raise ArgumentError(f"share_parameters: expected a dict of parameters, got {type(shared).__name__}")
        owner = getattr(shared, "owner", None)
        if owner is not None:
            chosen = set(map(id, shared.values()))
            shared = {place: p for place, p in owner._collect("").items() if id(p) in chosen}
        own = self._collect("")
        replaced = {id(own[place]): parameter for place, parameter in shared.items() if place in own}
        self.apply(lambda block: block._replace_parameters(replaced))
        return self

    def _replace_parameters(self, replaced):
        """`replaced` is {id of a parameter: the one in its place}."""
        self._reg_params = {name: replaced.get(id(old), old) for name, old in self._reg_params.items()}
        for name, old in list(self.params.items()):
            if id(old) in replaced:
                del self.params[name]
                self.params.setdefault(replaced[id(old)].name, replaced[id(old)])
        for name, value in self.__dict__.items():
            if id(value) in replaced:
                object.__setattr__(self, name, replaced[id(value)])

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
        """Puts all parameters on these devices; see `Parameter.reset_ctx`."""
        self.collect_params().reset_ctx(ctx, device=device)

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
