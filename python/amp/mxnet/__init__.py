"""The package under MXNet's names: `import amp.mxnet as mx`.

`mx.amp` has the signatures of MXNet's master branch, `mx.contrib.amp` those of 1.9.1. Everything else is the package's
own: `mx.sym` is `amp.sym`.
"""

import importlib
import sys

_package = importlib.import_module("..", __name__)
_MODULES = "attribute base contrib gluon lists name nd ndarray operator sym symbol".split()


def __getattr__(name):
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    if name in _package.__all__ or name in _MODULES:
        return getattr(_package, name)
    raise AttributeError(f"module 'amp.mxnet' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_package.__all__, *_MODULES, "amp"})


for _name in _MODULES:  # so that `from amp.mxnet.gluon import SymbolBlock` works, too
    sys.modules[f"{__name__}.{_name}"] = getattr(_package, _name)
sys.modules[f"{__name__}.contrib.amp"] = _package.contrib.amp
