"""What differs between two models, as `amp diff` shows it."""

from collections import Counter

from ..base import dtype_name


def describe(model):
    """Facts of a model (Symbol, arguments, auxiliary states): {casts, tensors, parameters}.

    casts is {name of an amp_cast node: dtype}, tensors {name: dtype or None} of every visible result, parameters
    {name: (dtype, bytes)}. Inputs that have no array are taken to be what the symbol says, else float32.
    """
    symbol, arg_params, aux_params = model
    arrays = {**arg_params, **aux_params}
    attributes = symbol.attr_dict()
    internals = symbol.get_internals()
    known = {name: (dtype_name(array.dtype), array.shape) for name, array in arrays.items()}
    for name in symbol.list_inputs():
        if name not in known and "__dtype__" not in attributes.get(name, {}):
            known[name] = ("float32", None)
    variables = set(symbol.list_inputs())
    types = internals._handle.infer({name: known[name] for name in known if name in variables})[1]
    tensors = {}
    for name, (dtype, _) in zip(internals.list_outputs(), types):
        if name not in variables:
            tensors.setdefault(name, dtype)  # a head's cast bears the name of what it casts, and comes later
    return {
        "casts": _casts(symbol),
        "tensors": tensors,
        "parameters": {name: (dtype_name(array.dtype), array.nbytes) for name, array in arrays.items()},
    }


def compare(first, second):
    """The differences of two models: {casts, tensors, parameters, bytes, common, equal}.

    casts: {"added": {name: dtype}, "removed": ...}; tensors: {name: (dtype, dtype)} of those that both have and that
    differ, and the names of those that only one has; parameters: the same with dtypes of arrays; bytes: ({dtype:
    bytes}, {dtype: bytes}) of the parameters; common: whether any tensor or parameter is in both; equal: whether
    nothing differs.
    """
    a, b = describe(first), describe(second)
    dtypes = [{name: dtype for name, (dtype, _) in facts["parameters"].items()} for facts in (a, b)]
    differences = {
        "casts": {"added": _only(b["casts"], a["casts"]), "removed": _only(a["casts"], b["casts"])},
        "tensors": _changed(_without(a["tensors"], a["casts"]), _without(b["tensors"], b["casts"])),
        "parameters": _changed(*dtypes),
    }
    return {
        **differences,
        "bytes": tuple(_bytes(facts["parameters"]) for facts in (a, b)),
        "common": any(a[kind].keys() & b[kind].keys() for kind in ("tensors", "parameters")),
        "equal": not any(found for part in differences.values() for found in part.values()),
    }


def _casts(symbol):
    import json

    nodes = json.loads(symbol.tojson())["nodes"]
    return {node["name"]: node["attrs"]["dtype"] for node in nodes if node["op"] == "amp_cast"}


def _only(these, others):
    return {name: value for name, value in these.items() if name not in others}


def _without(tensors, casts):
    """Results of operators other than casts."""
    names = {f"{cast}_output" for cast in casts}
    return {name: dtype for name, dtype in tensors.items() if name not in names}


def _changed(first, second):
    return {
        "changed": {
            name: (first[name], second[name]) for name in first if second.get(name, first[name]) != first[name]
        },
        "only_first": sorted(_only(first, second)),
        "only_second": sorted(_only(second, first)),
    }


def _bytes(parameters):
    count = Counter()
    for dtype, size in parameters.values():
        count[dtype] += size
    return dict(count)
