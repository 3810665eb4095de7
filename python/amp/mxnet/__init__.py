"""The package under MXNet's names: `import amp.mxnet as mx`.

`mx.amp` has the signatures of MXNet's master branch, `mx.contrib.amp` those of 1.9.1. Everything else is the package's
own: `mx.sym` is `amp.sym`. A name of MXNet that is not there raises an AttributeError with the reason, or with names
that are near.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys

from .. import _missing

_package = importlib.import_module("..", __name__)

# What programs compare with the version that they need: the one whose modules these are.
__version__ = "1.9.1"

# MXNet's name of a module -> the package's, where they differ.
_MODULES = {
    "device": "context",
    "executor": "bound_symbol",
    "initializer": "init",
    "mod": "module",
    "ndarray": "nd",
    "numpy": "np",
    "numpy_extension": "npx",
    "rnd": "random",
    "symbol": "sym",
}

# What the package has and MXNet lacks, and is not to be found by MXNet's name.
_OWN = {"amp", "mxnet"}


def __getattr__(name):
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    ours = _MODULES.get(name, name)
    if ours not in _OWN and not ours.startswith("_"):
        try:
            return getattr(_package, ours)
        except AttributeError as error:
            if type(error) is not AttributeError:  # left out, with a reason
                raise type(error)(str(error).replace("amp.", "amp.mxnet.", 1)) from None
    from ..base import did_you_mean

    hint = "" if name.startswith("__") else did_you_mean(name, __dir__())
    raise AttributeError(f"module 'amp.mxnet' has no attribute {name!r}: this package lacks it{hint}")


def __dir__():
    return sorted({n for n in (*dir(_package), *_MODULES) if not n.startswith("_")} - _OWN | {"amp"})


class _Alias(importlib.abc.Loader):
    """Puts the package's own module in the place of `amp.mxnet.X`, so that there is one of each."""

    def __init__(self, name):
        self._name = name

    def exec_module(self, module):
        sys.modules[module.__name__] = importlib.import_module(self._name)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds `import amp.mxnet.gluon.nn`."""

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith(f"{__name__}.") or fullname == f"{__name__}.amp":
            return None
        first, *others = fullname[len(__name__) + 1 :].split(".")
        path = others if first == "amp" else [_MODULES.get(first, first), *others]  # mx.amp.lists is amp.lists
        name = ".".join([_package.__name__, *path])
        try:
            found = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            found = sys.modules.get(name)
        if found is None and _missing.stand_in(*name.rpartition(".")[::2]) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, _Alias(name), is_package=True)


sys.meta_path.insert(0, _Finder())
