"""Operators by the first part of their names: `amp.sym.contrib.X` is `_contrib_X`."""

import functools
import sys
import types

from .._missing import missing
from . import operators as _operators

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


class Namespace(types.ModuleType):
    """A module whose functions are the operators whose names begin with one of its prefixes."""

    def __init__(self, path):
        super().__init__(f"amp.sym.{path}", f"Operators whose names begin with {' or '.join(PREFIXES[path])}.".strip())
        self._amp_path = path
        self.__path__ = []

    def __getattr__(self, name):
        function = self._function(name)
        setattr(self, name, function)
        return function

    def _function(self, name):
        for prefix in PREFIXES[self._amp_path]:
            function = _operators.find_function(prefix + name)
            if function is not None:
                return _as_numpy(function) if self._amp_path.startswith("np") else function
        raise missing(self.__name__, name, [] if name.startswith("__") else self._names())

    def _names(self):
        return {
            name[len(prefix) :]
            for prefix in PREFIXES[self._amp_path]
            for name in _operators.function_names()
            if name.startswith(prefix) and (prefix or not name.startswith("_"))
        }

    def __dir__(self):
        return sorted({*super().__dir__(), *self._names()})


def _as_numpy(function):
    """The same operator, with a result that has NumPy's arithmetic."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*args, **kwargs).as_np_ndarray()

    return call


def create_all():
    """Makes the modules; returns {name: module} of those right below `amp.sym`."""
    modules = {path: Namespace(path) for path in PREFIXES}
    for path, module in modules.items():
        sys.modules[module.__name__] = module
        owner, _, name = path.rpartition(".")
        if owner:
            setattr(modules[owner], name, module)
    return {path: module for path, module in modules.items() if "." not in path}
