"""The class Symbol and the functions that make symbols without an operator."""

from __future__ import annotations

import contextlib
import threading
from numbers import Integral
from typing import TYPE_CHECKING

from .. import _core, _switches, _unregistered
from .._html import symbol_table
from .._missing import OfMXNet
from .._paths import encoded
from ..attribute import HIDDEN_KEYS, AttrScope
from ..base import ArgumentError, NotImplementedForSymbol, UnsupportedError
from .arithmetic import Arithmetic
from .attributes import attribute_text
from .fluent import FluentMethods
from .inference import Inference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from numpy.typing import DTypeLike

    from .._types import Path, Shape

_arrays = threading.local()


@contextlib.contextmanager
def symbols_mean_arrays():
    """Symbols of this thread stand for arrays: `x[0]` and `for row in x` are no outputs, and raise."""
    before = getattr(_arrays, "are_meant", False)
    _arrays.are_meant = True
    try:
        yield
    finally:
        _arrays.are_meant = before


def arrays_are_meant():
    """Whether symbols of this thread stand for arrays."""
    return getattr(_arrays, "are_meant", False)


def _require_outputs(symbol):
    """Raises where a symbol stands for an array, whose parts are no outputs."""
    if arrays_are_meant() and len(symbol) == 1 and "num_outputs" not in symbol._handle.attributes():
        raise NotImplementedForSymbol(f"'{symbol.name}' has one output, and arrays are indexed by their elements")


class Symbol(Arithmetic, FluentMethods, Inference):
    """One or more outputs of a graph of operators.

    A symbol never changes: composing and indexing give new ones that share nodes. Made by
    `Variable`, by operator functions, by arithmetic on symbols and by `load`.

    >>> x = amp.sym.Variable("x")
    >>> net = amp.sym.relu(2 * x + 1, name="net")
    >>> net.eval(x=amp.nd.array([-1, 1]))[0]
    [0. 3.]
    <NDArray float32[2]>
    """

    __slots__ = ("_handle",)
    __array_ufunc__ = None  # numpy.float32(2) * symbol is ours to compute

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    # ---- what it consists of ----

    @property
    def name(self) -> str:
        """The name of the node, or None for a group of outputs of several nodes.

        >>> amp.sym.exp(name="e").name
        'e'
        """
        return self._handle.name()

    def list_arguments(self) -> list[str]:
        """Names of all variables but auxiliary states, in the order of a depth-first visit.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").list_arguments()
        ['fc_data', 'fc_weight', 'fc_bias']
        """
        return self._handle.list_arguments()

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators update, such as running means.

        >>> amp.sym.BatchNorm(name="bn").list_auxiliary_states()
        ['bn_moving_mean', 'bn_moving_var']
        """
        return self._handle.list_auxiliary_states()

    def list_inputs(self) -> list[str]:
        """Names of all variables, auxiliary states included.

        >>> amp.sym.BatchNorm(name="bn").list_inputs()
        ['bn_data', 'bn_gamma', 'bn_beta', 'bn_moving_mean', 'bn_moving_var']
        """
        return self._handle.list_inputs()

    def list_outputs(self) -> list[str]:
        """Names of the outputs, such as 'fc1_output'.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").list_outputs()
        ['fc_output']
        """
        return self._handle.list_outputs()

    def get_internals(self) -> Symbol:
        """A group of every output of every node, in the order of a depth-first visit.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").get_internals().list_outputs()
        ['fc_data', 'fc_weight', 'fc_bias', 'fc_output']
        """
        return Symbol(self._handle.get_internals())

    def get_children(self) -> Symbol | None:
        """A group of what the output nodes read, or None for variables.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").get_children().list_outputs()
        ['fc_data', 'fc_weight', 'fc_bias']
        """
        children = self._handle.get_children()
        return Symbol(children) if len(children) else None

    def attr(self, key: str) -> str | None:
        """An attribute of the node as text, or None; 'lr_mult' finds '__lr_mult__', too.

        Raises ArgumentError for a group of several nodes.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").attr("num_hidden")
        '3'
        """
        attributes = self.list_attr()
        return attributes.get(key, attributes.get(f"__{key}__"))

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Attributes of the node: {key: text}. MXNet's own, such as '__lr_mult__', are also there as 'lr_mult'.

        Raises ArgumentError for a group of several nodes, DeprecationWarning where `recursive` is true, as in MXNet.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").list_attr()
        {'num_hidden': '3'}
        """
        if recursive:
            raise DeprecationWarning("list_attr(recursive=True): use attr_dict()")
        return _with_short_keys(self._attributes())

    def _attributes(self):
        attributes = self._handle.attributes()
        if attributes is None:
            raise ArgumentError("a group has no attributes of its own; use attr_dict()")
        return attributes

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Attributes of all nodes that have some: {node name: {key: text}}; keys as in `list_attr`.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").attr_dict()["fc_weight"]
        {'num_hidden': '3'}
        """
        return {name: _with_short_keys(attributes) for name, attributes in self._handle.attr_dict().items()}

    def _set_attr(self, **kwargs):
        """Sets attributes, text, of this symbol's node, or its name; symbols that were composed before stay."""
        wrong = [key for key, value in kwargs.items() if not isinstance(value, str)]
        if wrong:
            raise ArgumentError(f"attributes are text, got {wrong[0]}={kwargs[wrong[0]]!r}")
        name = kwargs.pop("name", self.name)
        attributes = {**self._attributes(), **kwargs}
        if self.list_inputs() == [self.name]:
            self._handle = _core.variable(name, attributes)
            return
        import json  # slow to import

        graph, node = _graph_and_node(self)
        node["attrs"], node["name"] = attributes, name
        self._handle = load_json(json.dumps(graph))._handle

    def _gen_atomic_symbol(self):
        """The operator of this symbol's node, with new variables as inputs."""
        operator = _graph_and_node(self)[1]["op"]
        if operator == "null":
            raise ArgumentError(f"'{self.name}' is a variable, not an operator")
        return Symbol(_core.apply(operator, self.name, self._attributes(), [], {}))

    # ---- files ----

    def tojson(self, remove_amp_cast: bool = False) -> str:
        """The symbol as JSON text. Unlike MXNet's, the casts of a converted model are kept.

        With `remove_amp_cast=True` they are not: outputs are rewired and keep their names, parameters that were cast
        offline are float32 again (`save_checkpoint` casts their arrays back). What is low by itself, such as an input
        that is declared bfloat16, stays so and is cast where float32 is needed.

        >>> amp.sym.load_json(amp.sym.Variable("x").tojson()).name
        'x'
        """
        return self._to_save(remove_amp_cast).to_json()

    def save(self, fname: Path, remove_amp_cast: bool = False) -> None:
        """Writes what `tojson` gives as a file; an existing one is replaced once the new one is complete.

        Raises ArgumentError for a file that cannot be written.

        >>> amp.sym.exp(name="e").save("e-symbol.json")
        >>> amp.sym.load("e-symbol.json")
        <Symbol e>
        """
        self._to_save(remove_amp_cast).save(encoded(fname))

    def _to_save(self, remove_amp_cast):
        handle = self._handle.without_amp_casts({}) if remove_amp_cast else self._handle
        return handle.with_np_shape(True) if _switches.is_on("shape") else handle

    def __reduce__(self):
        return load_json, (self.tojson(),)

    def __copy__(self):
        return type(self)(self._handle)

    def __deepcopy__(self, memo):
        return type(self)(self._handle)  # nodes are immutable

    # ---- composition ----

    def __call__(self, *args: Symbol, **kwargs: Any) -> Symbol:
        """A copy in which other symbols take the place of variables: `net(data=features)`.

        As in MXNet only names work, and `name=` is accepted and has no effect on a composed symbol.

        >>> net = amp.sym.exp(amp.sym.Variable("x"), name="e")
        >>> net(x=amp.sym.Variable("y")).list_arguments()
        ['y']
        """
        if args:
            raise ArgumentError("composition takes symbols by name: net(data=other)")
        kwargs.pop("name", None)
        for name, value in kwargs.items():
            if not isinstance(value, Symbol):
                raise ArgumentError(f"composition: '{name}' must be a Symbol, got {type(value).__name__}")
        return Symbol(self._handle.substitute({name: value._handle for name, value in kwargs.items()}))

    def __len__(self) -> int:
        return len(self._handle)

    def __getitem__(self, index: int | str | slice) -> Symbol:
        """One output, by number or name; several by slice.

        >>> net = amp.sym.FullyConnected(num_hidden=3, name="fc")
        >>> net.get_internals()["fc_weight"]
        <Symbol fc_weight>
        """
        if isinstance(index, str):
            return Symbol(self._handle.by_name(index))
        _require_outputs(self)
        if isinstance(index, slice):
            chosen = [self._handle.at(i) for i in range(*index.indices(len(self)))]
            return Symbol(_core.group(chosen))
        number = index.__index__()
        if not -len(self) <= number < len(self):
            raise IndexError(f"output {number} of a symbol that has {len(self)}")
        return Symbol(self._handle.at(number % len(self)))

    def __iter__(self) -> Iterator[Symbol]:
        _require_outputs(self)
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        raise NotImplementedForSymbol("a Symbol has no value, hence no truth value; compare it with None")

    def __repr__(self) -> str:
        name = self.name
        if name is not None:
            return f"<Symbol {name}>"
        return f"<Symbol group [{', '.join(self.list_outputs())}]>"

    _repr_html_ = symbol_table  # of notebooks

    # ---- semantics ----

    def as_np_ndarray(self) -> NumpySymbol:
        """The same symbol with NumPy's arithmetic, which broadcasts; see `NumpySymbol`.

        >>> type(amp.sym.Variable("x").as_np_ndarray()).__name__
        'NumpySymbol'
        """
        return NumpySymbol(self._handle)

    def as_nd_ndarray(self) -> Symbol:
        """The same symbol with MXNet's classic arithmetic."""
        return Symbol(self._handle)


def _graph_and_node(symbol):
    """The parsed JSON, and the node of the first output in it."""
    import json  # slow to import

    graph = json.loads(symbol.tojson())
    return graph, graph["nodes"][graph["heads"][0][0]]


def _with_short_keys(attributes):
    short = {key: attributes[f"__{key}__"] for key in HIDDEN_KEYS if f"__{key}__" in attributes}
    return {**attributes, **short}


# `amp.mxnet` installs them.
for _name in "bind simple_bind _bind _simple_bind eval gradient optimize_for get_backend_symbol".split():
    setattr(Symbol, _name, OfMXNet(f"Symbol.{_name}"))


class NumpySymbol(Symbol):
    """A Symbol whose arithmetic and methods are NumPy's (`_npi_add`), as `amp.sym.np` makes them.

    >>> x = amp.sym.Variable("x").as_np_ndarray()
    >>> (x + 1).infer_shape(x=(2, 3))[1]
    [(2, 3)]
    """

    __slots__ = ()
    _is_numpy = True


def Variable(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: int | Shape | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DTypeLike = None,
    init: Any = None,
    stype: str | None = None,
    **kwargs: Any,
) -> Symbol:
    """A symbol for an input, a parameter or an auxiliary state.

    `shape` (0 for unknown dimensions) and `dtype` are what inference starts from. `attr` and keywords of the form
    `__key__` are further attributes, as text. `init` is kept in the attribute `__init__`. `stype` may be 'default'.
    Raises ArgumentError for names that are no text, unknown dtypes and keywords of another form, UnsupportedError for
    a sparse `stype`.

    >>> amp.sym.Variable("x", shape=(2, 3), dtype="float32").list_attr()
    {'__dtype__': '0', '__shape__': '(2, 3)'}
    """
    if not isinstance(name, str):
        raise ArgumentError(f"the name of a variable is text, got {name!r}")
    if stype not in (None, "default"):
        raise UnsupportedError(f"variable '{name}': storage {stype!r} is not supported; arrays are dense")
    if isinstance(shape, Integral):
        shape = (shape,)
    attributes = AttrScope.current().get(attr)
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__") and len(key) > 4):
            raise ArgumentError(f"variable '{name}': unknown argument '{key}'; attributes have the form __key__")
        attributes[key] = str(value)
    if shape is not None:
        attributes["__shape__"] = attribute_text(tuple(shape), what=f"variable '{name}': shape")
    if dtype is not None:
        attributes["__dtype__"] = str(_core.dtype_code(dtype))
    for key, value in (("__lr_mult__", lr_mult), ("__wd_mult__", wd_mult)):
        if value is not None:
            attributes[key] = str(value)
    if init is not None:
        attributes["__init__"] = init.dumps() if hasattr(init, "dumps") else str(init)
    return Symbol(_core.variable(name, attributes))


var = Variable


def Group(symbols: Iterable[Symbol]) -> Symbol:
    """One symbol with the outputs of all `symbols`, in order.

    Raises ArgumentError for what is no Symbol, and for none at all.

    >>> x = amp.sym.Variable("x")
    >>> amp.sym.Group([amp.sym.exp(x, name="a"), amp.sym.log(x, name="b")]).list_outputs()
    ['a_output', 'b_output']
    """
    symbols = list(symbols)
    for symbol in symbols:
        if not isinstance(symbol, Symbol):
            raise ArgumentError(f"a group consists of Symbols, got {type(symbol).__name__}")
    return Symbol(_core.group([symbol._handle for symbol in symbols]))


def load(fname: Path) -> Symbol:
    """Reads a symbol from a JSON file.

    Raises GraphError for a file that is no valid symbol, UnsupportedError (naming all of them) for
    operators that are not registered, ArgumentError for a file that cannot be opened.

    >>> amp.sym.load("model-symbol.json").list_arguments()
    ['data', 'fc_weight', 'fc_bias']
    """
    return _read(_core.load_symbol, encoded(fname))


def load_json(json_str: str) -> Symbol:
    """Reads a symbol from JSON text; errors as for `load`.

    >>> text = amp.sym.Variable("x").tojson()
    >>> amp.sym.load_json(text)
    <Symbol x>
    """
    if not isinstance(json_str, str):
        raise ArgumentError(f"expected JSON text, got {type(json_str).__name__}")
    return _read(_core.parse_symbol, json_str)


def _read(read, source):
    try:
        return Symbol(read(source))
    except UnsupportedError as error:
        raise _unregistered.explained(error) from None


fromjson = load_json
