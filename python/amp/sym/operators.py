"""Functions that compose operators, made from the registry."""

import functools
import inspect

from .. import _core, _leniency
from .._operator_names import node_hint
from ..attribute import HIDDEN_KEYS, AttrScope
from ..base import ArgumentError, did_you_mean
from ..name import NameManager
from .attributes import attribute_text, value_of
from .symbol import NumpySymbol, Symbol, arrays_are_meant


class Required:
    """Stands for the default of an attribute that has none."""

    def __repr__(self):
        return "<required>"


REQUIRED = Required()


@functools.cache
def _names():
    return _core.operator_names()


def forget_names():
    """To be called where operators were registered since the import."""
    _names.cache_clear()


def function_names():
    """Names and aliases of all operators that Python can name."""
    return [name for name in _names() if name.isidentifier()]


def near_matches(name):
    """The end of an error message about an unknown name."""
    return did_you_mean(name, _names())


@functools.cache
def find_function(name):
    """The function of the operator that has this name or alias; None where there is none."""
    if name not in _names():
        return None
    return _make_function(name, _core.operator_info(name))


def _make_function(name, info):
    operator = _SymbolOperator(name, info)

    def function(*args, **kwargs):
        return operator(args, kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = "amp.sym"
    function.__doc__ = describe(info)
    function.__signature__ = signature_of(info)
    return function


def signature_of(info):
    """Tensor inputs, attributes with their defaults, then `name` and `attr`."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind, default=None) for name in info["inputs"]]
    if info["variadic"]:
        parameters = [inspect.Parameter("data", inspect.Parameter.VAR_POSITIONAL)]
        kind = inspect.Parameter.KEYWORD_ONLY
    for field in info["fields"]:
        if field["name"] == info["variadic"]:
            continue  # counted
        default = REQUIRED if field["default"] is None else value_of(field["default"])
        parameters.append(inspect.Parameter(field["name"], kind, default=default))
    parameters += [inspect.Parameter(name, kind, default=None) for name in ("name", "attr")]
    return inspect.Signature(parameters, return_annotation=Symbol)


def describe(info):
    """The docstring of an operator's function."""
    lines = [info["doc"].strip(), "", "Parameters", "----------"]
    if info["variadic"]:
        lines += ["*data : Symbol", f"    The inputs, any number of them ({info['variadic']} is set to it)."]
    lines += [f"{name} : Symbol, a variable where left out" for name in info["inputs"]]
    for field in info["fields"]:
        default = "required" if field["default"] is None else f"default {field['default'] or repr('')}"
        lines += [f"{field['name']} : {field['type']}, {default}", f"    {field['doc']}"]
    lines += ["name : str", "    Name of the node; by default the operator's, with a number."]
    lines += ["attr : dict of str", "    Further attributes of the node, such as '__ctx_group__'."]
    names = [name for name in info["aliases"] if name.isidentifier()]
    if names:
        lines += ["", f"Registered as {info['name']}; also known as {', '.join(names)}."]
    return "\n".join(lines)


def _of_split_v2(kwargs):
    """The arguments of MXNet's function `split_v2` as those of its operator."""
    if "ary" in kwargs:
        kwargs["data"] = kwargs.pop("ary")
    where = kwargs.pop("indices_or_sections", None)
    if hasattr(where, "__index__"):
        kwargs.update(indices=(), sections=int(where))
    elif where is not None:
        kwargs.update(indices=(0, *where), sections=0)
    return kwargs


_PLAIN = str, int, bool  # whose text is what `str` gives, but for attributes that are dtypes

# Operators that MXNet's functions in Python call by other arguments than the operator's own.
_OTHER_ARGUMENTS = {"_split_v2": _of_split_v2}


class Operator:
    """One operator under one of its names: how the arguments of a call become inputs and attributes.

    `tensor_class` is what inputs are, Symbol or NDArray.
    """

    def __init__(self, name, info, tensor_class):
        self.name = name
        self.registered_name = info["name"]
        self._tensor_class = tensor_class
        self._variadic = bool(info["variadic"])
        self._inputs = set(info["inputs"])
        self._types = {field["name"]: field["type"] for field in info["fields"]}
        self._dtypes = {name for name, text in self._types.items() if text.startswith("dtype")}
        fields = [field["name"] for field in info["fields"]]
        # Names of arguments in the order in which they are passed: inputs, then attributes.
        self.order = [*info["inputs"], *fields, "name", "attr"]

    def split(self, args, kwargs):
        """(inputs by position, {input: tensor}, {attribute: text}, name, attr) of a call."""
        if self.registered_name in _OTHER_ARGUMENTS:
            kwargs = _OTHER_ARGUMENTS[self.registered_name](dict(kwargs))
        if self._variadic:
            positional, given = self._tensors(args), dict(kwargs)
        else:
            positional, given = [], self._by_name(args, kwargs)
        name, attr = given.pop("name", None), given.pop("attr", None)
        inputs, attributes = {}, {}
        if not self._types and _leniency.is_on:
            given = {key: value for key, value in given.items() if self._is_read(key)}
        for key, value in given.items():
            if isinstance(value, self._tensor_class) and (key in self._inputs or key not in self._types):
                inputs[key] = value
            elif key not in self._inputs:
                attributes[key] = self._text(key, value)
            elif value is not None:
                raise ArgumentError(
                    f"{self.name}: input {key} must be {self._tensor_text()}, got {type(value).__name__}"
                )
        return positional, inputs, attributes, name, attr

    def _is_read(self, key):
        """Whether an operator without attributes reads this argument: others are ignored, as in MXNet."""
        return key in self._inputs or key in HIDDEN_KEYS or key.startswith("__")

    def _text(self, key, value):
        if type(value) in _PLAIN and key not in self._dtypes:
            return str(value)
        if isinstance(value, Symbol):
            raise ArgumentError(f"{self.name}: attribute {key} ({self._types[key]}) cannot be a Symbol")
        return attribute_text(value, self._types.get(key, ""), f"{self.name}: attribute {key}")

    def _tensors(self, args):
        if len(args) == 1 and isinstance(args[0], (list, tuple)):
            args = args[0]
        for value in args:
            if not isinstance(value, self._tensor_class):
                kind = f"{self._tensor_class.__name__}s"
                raise ArgumentError(f"{self.name}: inputs must be {kind}, got {type(value).__name__}")
        return list(args)

    def _tensor_text(self):
        return "a Symbol" if self._tensor_class is Symbol else "an array"

    def _by_name(self, args, kwargs):
        if len(args) > len(self.order):
            raise ArgumentError(f"{self.name}: expected at most {len(self.order)} arguments, got {len(args)}")
        given = dict(zip(self.order, args))
        if not given.keys().isdisjoint(kwargs):
            twice = next(key for key in kwargs if key in given)
            raise ArgumentError(f"{self.name}: {twice} is given twice")
        given.update(kwargs)
        return given


def _with_starting_values(operator, name, positional, inputs, attributes):
    """`inputs`, and the variables that MXNet makes with an initializer of their own: PReLU's slopes."""
    is_prelu = operator == "LeakyReLU" and attributes.get("act_type") == "prelu"
    if not is_prelu or "gamma" in inputs or len(positional) > 1:
        return inputs
    first = {**attributes, "__init__": '["Constant", {"value": 0.25}]'}
    return {**inputs, "gamma": Symbol(_core.variable(f"{name}_gamma", first))}


class _SymbolOperator(Operator):
    def __init__(self, name, info):
        super().__init__(name, info, Symbol)

    def __call__(self, args, kwargs):
        positional, inputs, attributes, name, attr = self.split(args, kwargs)
        hidden = {key: attributes.pop(key) for key in HIDDEN_KEYS if key in attributes and key not in self._types}
        attr = {**(attr or {}), **hidden}
        if _leniency.is_on:  # MXNet writes what an object's text is
            attr = {key: str(value) if key.startswith("__") else value for key, value in attr.items()}
        name = NameManager.current().get(name, node_hint(self.name))
        scope = AttrScope.current()
        attributes = scope.constrain({**scope.get(attr), **attributes})
        inputs = _with_starting_values(self.registered_name, name, positional, inputs, attributes)
        handles = {key: symbol._handle for key, symbol in inputs.items()}
        handle = _core.apply(self.registered_name, name, attributes, [symbol._handle for symbol in positional], handles)
        is_numpy = arrays_are_meant() and any(isinstance(one, NumpySymbol) for one in (*positional, *inputs.values()))
        return NumpySymbol(handle) if is_numpy else Symbol(handle)  # where arrays are meant, of the class of these
