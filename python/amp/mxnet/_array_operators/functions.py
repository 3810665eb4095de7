"""The operators of `rows` and `matrix_rows` as functions of arrays and of symbols, where MXNet's modules have them."""

import inspect

from ... import _core, nd, sym
from ..._invoke import invoke, written
from ...attribute import AttrScope
from ...base import ArgumentError
from ...name import NameManager
from ...nd import NDArray
from ...sym import Symbol, Variable
from ..np.array_class import ndarray
from ..operator import kl_regularization
from ..operator.array_operators import ROWS, ArrayOperator


def _divided(op, inputs, settings, args, kwargs):
    """{input: value} and {attribute: text} of a call, by position or by name; None is left out."""
    given = {**dict(zip([*inputs, *settings], args)), **kwargs}
    unknown = [key for key in given if key not in inputs and key not in settings]
    if unknown or len(args) > len(inputs) + len(settings):
        raise ArgumentError(f"{op}: unexpected argument {unknown[0] if unknown else args[-1]!r}")
    given = {key: value for key, value in given.items() if value is not None}
    return (
        {key: given[key] for key in inputs if key in given},
        {key: str(given[key]) for key in settings if key in given},
    )


def _expect(op, expected, values, kind):
    if list(values) != expected or not all(isinstance(value, kind) for value in values.values()):
        raise ArgumentError(f"{op}: expected {expected} as {kind.__name__}s, got {list(values)}")


def of_arrays(row):
    """The function of arrays that is a node of this row."""

    def function(*args, out=None, name=None, **kwargs):
        arrays, attributes = _divided(row.name, row.inputs, row.settings, args, kwargs)
        operator = ArrayOperator(row, attributes)
        _expect(row.name, operator.arguments, arrays, NDArray)
        results = operator.results([array.as_np_ndarray() for array in arrays.values()])
        if not any(isinstance(array, ndarray) for array in arrays.values()):
            results = [result.as_nd_ndarray() for result in results]
        if out is not None:
            results = written(row.name, results, out)
        return results if len(results) > 1 else results[0]

    return _named(function, row.name, row.function)


def of_symbols(op, inputs, settings, arguments, documented):
    """The function of symbols that makes a node; inputs that are left out become variables, as in MXNet.

    arguments(attributes) names the inputs that a node with these attributes has.
    """

    def function(*args, name=None, attr=None, **kwargs):
        symbols, attributes = _divided(op, inputs, settings, args, kwargs)
        name, scope = NameManager.current().get(name, op.strip("_").lower()), AttrScope.current()
        for key in arguments(attributes):
            symbols.setdefault(key, Variable(f"{name}_{key}"))
        symbols = {key: symbols[key] for key in inputs if key in symbols}
        _expect(op, arguments(attributes), symbols, Symbol)
        attributes = scope.constrain({**scope.get(attr), **attributes})
        made = Symbol(_core.apply(op, name, attributes, [symbol._handle for symbol in symbols.values()], {}))
        return made.as_np_ndarray() if op.startswith("_np") else made

    return _named(function, op, documented)


def _named(function, name, documented):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = inspect.getdoc(documented)
    return function


def _regularized(data, moving_avg, *, out=None, name=None, **settings):
    """`data`; in training the state `moving_avg` moves, and the gradient is drawn to rare activations."""
    attributes = {key: str(value) for key, value in settings.items()}
    return invoke(kl_regularization.NAME, [data, moving_avg], {}, attributes, out, type(data))[0]


def _put(module, name, function):
    """In the module and in `_internal`, where all operators are, and in `contrib`, where MXNet has some."""
    setattr(module, name, function)
    setattr(module._internal, name, function)
    if name.startswith("_contrib_"):
        setattr(module.contrib, name[len("_contrib_") :], function)


def install():
    """Puts them into `mx.nd` and `mx.sym`; functions of arrays that are there already stay."""
    for name, row in ROWS.items():
        known = vars(nd.contrib).get(name.removeprefix("_contrib_")) if name.startswith("_contrib_") else None
        known = known or vars(nd).get(name) or vars(nd._internal).get(name)
        _put(nd, name, known or of_arrays(row))

        def arguments(attributes, row=row):
            return ArrayOperator(row, attributes).arguments

        _put(sym, name, of_symbols(name, row.inputs, row.settings, arguments, row.function))
        if name.startswith("_npx_"):
            setattr(sym.npx, name[len("_npx_") :], getattr(sym._internal, name))
    kl = kl_regularization
    _put(nd, kl.NAME, _regularized)
    inputs = [*kl.KLSparseRegularization.arguments, *kl.KLSparseRegularization.states]
    _put(sym, kl.NAME, of_symbols(kl.NAME, inputs, list(kl.DEFAULTS), lambda attributes: inputs, _regularized))
