"""Operators by the first part of their names: `amp.sym.contrib.X` is `_contrib_X`."""

import functools

from .._namespace import Namespace
from . import _numpy_functions, random_functions
from . import operators as _operators
from .symbol import NumpySymbol

# Namespace -> what names of operators begin with, in the order of search.
PREFIXES = {
    "op": ("",),
    "contrib": ("_contrib_",),
    "image": ("_image_",),
    "linalg": ("_linalg_",),
    "random": ("_random_", "_sample_"),
    "sparse": ("_sparse_", ""),
    "np": ("_np_", "_npi_"),
    "np._internal": ("_npi_", "_np_"),
    "np.linalg": ("_npi_", "_np__linalg_"),
    "np.random": ("_npi_", "_np__random_"),
    "npx": ("_npx_", "_npx__contrib_"),
    "npx._internal": ("_npx__", "_npx_"),
    "npx.image": ("_npx__image_",),
    "npx.random": ("_npx__random_",),
}


def create_all():
    """Makes the modules; returns {name: module} of those right below `amp.sym`."""
    modules = {path: _create(path, prefixes) for path, prefixes in PREFIXES.items()}
    for path, module in modules.items():
        owner, _, name = path.rpartition(".")
        if owner:
            setattr(modules[owner], name, module)
    for name in random_functions.__all__:
        setattr(modules["random"], name, getattr(random_functions, name))
    for name in _numpy_functions.__all__:
        setattr(modules["np"], name, getattr(_numpy_functions, name))
    modules["np"]._Symbol = NumpySymbol  # MXNet's name
    for name, function in _numpy_functions.RANDOM.items():
        setattr(modules["np.random"], name, function)
    return {path: module for path, module in modules.items() if "." not in path}


def _create(path, prefixes):
    find = _find_for_numpy if path.startswith("np") else _operators.find_function
    doc = f"Operators whose names begin with {' or '.join(filter(None, prefixes)) or 'anything'}."
    return Namespace(f"amp.sym.{path}", prefixes, find, _operators.function_names, doc)


def _find_for_numpy(name):
    """The function of an operator, with a result that has NumPy's arithmetic; None where there is none."""
    function = _operators.find_function(name)
    if function is None:
        return None

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs).as_np_ndarray()

    return call
