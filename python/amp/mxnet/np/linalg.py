"""NumPy's linear algebra on `ndarray`s, computed by NumPy."""

import numpy as np

from .host import wrapped


def __getattr__(name):
    function = wrapped(getattr(np.linalg, name, None), f"mx.np.linalg.{name}")
    if function is None:
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}")
    globals()[name] = function
    return function


def __dir__():
    return sorted({*globals(), *np.linalg.__all__})
