"""The functions of linear algebra that NumPy computes in MXNet: those of `mx.np.linalg` itself."""

from . import linalg as _linalg

_NAMES = ["cond", "matrix_power", "multi_dot"]


def __getattr__(name):
    return list(_NAMES) if name == "__all__" else getattr(_linalg, name)
