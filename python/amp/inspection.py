"""What a file of MXNet's consists of: the facts behind `amp inspect`."""

import json
from collections import Counter

from . import _core, sym
from ._paths import encoded
from .base import ArgumentError, UnsupportedError, dtype_name
from .sym.slots import inputs_of


def describe(path, params_path=None, shapes=None, dtypes=None):
    """Facts about a symbol file, a model (symbol and parameter file) or a file of arrays, as a dict that JSON can hold.

    What kind of file it is, its content says. `shapes` and `dtypes` are {name: shape} and {name: dtype} of inputs.
    Unknown dimensions are None, and so are unknown shapes and dtypes. Keys of a symbol: kind, np_shape, inputs,
    outputs, auxiliary_states, parameters, operators, unsupported_operators, unknown and resolve; of arrays: kind
    and parameters. Raises GraphError for damaged files, ArgumentError for names that the symbol lacks.
    """
    if not is_symbol_file(path):
        if params_path is not None:
            raise ArgumentError(f"{path} holds arrays; the symbol file (.json) comes first")
        return {"kind": "arrays", "parameters": _describe_arrays(_core.load_params(encoded(path)))}
    arrays = _core.load_params(encoded(params_path)) if params_path is not None else None
    try:
        symbol = sym.load(path)
    except UnsupportedError as error:
        return _describe_unsupported(path, arrays, error)
    return _describe_symbol(symbol, arrays, shapes or {}, dtypes or {})


def is_symbol_file(path):
    """Whether the first character of a file is that of a JSON object."""
    try:
        with open(path, "rb") as file:
            return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")
    except OSError as error:
        raise ArgumentError(f"cannot open {str(path)!r}: {error.strerror}") from None


# ---- arrays ----


def _describe_arrays(named):
    present = [array for _, array in named if array is not None]
    bytes_of = Counter()
    for array in present:
        bytes_of[dtype_name(array.dtype)] += array.nbytes
    return {
        "count": len(named),
        "elements": sum(array.size for array in present),
        "bytes": sum(bytes_of.values()),
        "bytes_by_dtype": dict(sorted(bytes_of.items())),
        "arrays": [_describe_array(name, array) for name, array in named],
    }


def _describe_array(name, array):
    if array is None:
        return {"name": name, "shape": None, "dtype": None, "bytes": 0}
    return {"name": name, "shape": list(array.shape), "dtype": dtype_name(array.dtype), "bytes": array.nbytes}


# ---- symbols ----


def _describe_symbol(symbol, arrays, shapes, dtypes):
    held = _by_variable(arrays or [], symbol)
    known = {name: (dtype_name(array.dtype), array.shape) for name, array in held.items()}
    for name in {**shapes, **dtypes}:
        shape = shapes.get(name)
        known[name] = (dtype_name(dtypes.get(name) or "float32"), None if shape is None else tuple(shape))
    arguments, outputs, states = symbol._handle.infer(known)
    argument_names, state_names = symbol.list_arguments(), symbol.list_auxiliary_states()
    inputs = _input_names(symbol, shapes) if arrays is None else set(argument_names) - set(held)
    facts = {
        "kind": "symbol" if arrays is None else "model",
        "np_shape": symbol._handle.np_shape(),
        "inputs": _typed((n, t) for n, t in zip(argument_names, arguments) if n in inputs),
        "outputs": _typed(zip(symbol.list_outputs(), outputs)),
        "auxiliary_states": state_names,
        "operators": _counted(symbol._handle.count_operators()),
        "unsupported_operators": [],
    }
    if arrays is None:
        parameters = [(n, t) for n, t in zip(argument_names, arguments) if n not in inputs]
        facts["parameters"] = {"count": len(parameters) + len(states), "arrays": _typed(parameters)}
        facts["parameters"]["arrays"] += _typed(zip(state_names, states))
    else:
        facts["parameters"] = _describe_arrays(arrays)
    return {**facts, **_unknowns(symbol, known, inputs)}


def _by_variable(arrays, symbol):
    """{variable: array} of those in a parameter file, whatever their prefix."""
    variables = set(symbol.list_inputs())
    named = {name[4:] if name.startswith(("arg:", "aux:")) else name: array for name, array in arrays}
    return {name: array for name, array in named.items() if name in variables and array is not None}


def _input_names(symbol, shapes):
    """Arguments that are no parameters by the looks of it: those of `shapes` and those in no parameter's slot."""
    return inputs_of(symbol) | (set(shapes) & set(symbol.list_arguments()))


def _typed(named_types):
    return [
        {"name": name, "shape": None if shape is None else [dim if dim >= 0 else None for dim in shape], "dtype": dtype}
        for name, (dtype, shape) in named_types
    ]


def _is_open(shape):
    return shape is None or any(dim < 0 for dim in shape)


def _counted(counts):
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _unknowns(symbol, known, inputs):
    """The tensors without a complete type, and the inputs (failing those, variables) that would settle them."""
    internals = symbol.get_internals()
    _, types, _ = internals._handle.infer(known)
    names = internals.list_outputs()
    unknown = [name for name, (dtype, shape) in zip(names, types) if dtype is None or _is_open(shape)]
    variables = set(symbol.list_inputs())
    open_inputs = [name for name in unknown if name in inputs]
    resolve = open_inputs or [name for name in unknown if name in variables]
    return {"unknown": unknown, "resolve": resolve}


# ---- files with operators that are not supported ----


def _describe_unsupported(path, arrays, error):
    """What the JSON itself says. It is well-formed and not nested too deeply, nothing more has been checked."""
    with open(path, encoding="utf-8-sig") as file:
        nodes = _nodes_of(json.load(file))
    counts = Counter(_operators_of(nodes))
    registered = _core.operator_names()
    unsupported = sorted(name for name in counts if name not in registered)
    held = {name.partition(":")[2] for name, _ in arrays or []}
    variables = [str(node.get("name")) for node in nodes if node.get("op") == "null"]
    facts = {
        "kind": "symbol" if arrays is None else "model",
        "inputs": [{"name": name, "shape": None, "dtype": None} for name in variables if name not in held],
        "outputs": [],
        "operators": _counted(counts),
        "unsupported_operators": unsupported,
        "unknown": [],
        "resolve": [],
        "note": str(error),
    }
    if arrays is not None:
        facts["parameters"] = _describe_arrays(arrays)
    return facts


def _nodes_of(graph):
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    return [node for node in nodes if isinstance(node, dict)] if isinstance(nodes, list) else []


def _operators_of(nodes):
    """Names of all operators of JSON nodes and of those in their subgraphs."""
    for node in nodes:
        if node.get("op") != "null":
            yield str(node.get("op"))
        subgraphs = node.get("subgraphs")
        for graph in subgraphs if isinstance(subgraphs, list) else []:
            yield from _operators_of(_nodes_of(graph))
