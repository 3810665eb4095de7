"""Functions of `mx.sym.np` whose operators run in Python: `mx.sym.np.linalg.svd` and others."""

from ... import _core, sym
from ..._operator_names import node_hint
from ...attribute import AttrScope
from ...base import ArgumentError
from ...name import NameManager
from ...sym import Symbol
from ..operator import array_operators
from . import deformable_psroi, functions, matrix_rows, rows  # noqa: F401 - the rows fill the table


def _node(op, arrays, count=1, **attributes):
    """A node of an operator: its output, or a tuple of them."""
    wrong = [array for array in arrays if not isinstance(array, Symbol)]
    if wrong:
        raise ArgumentError(f"{op}: expected symbols, got {wrong[0]!r:.60}")
    name, scope = NameManager.current().get(None, node_hint(op)), AttrScope.current()
    texts = {key: str(value) for key, value in attributes.items()}
    applied = _core.apply(op, name, scope.constrain({**scope.get(None), **texts}), [a._handle for a in arrays], {})
    made = Symbol(applied).as_np_ndarray()
    return made if count == 1 else tuple(made[i].as_np_ndarray() for i in range(count))


def kron(a, b):
    """NumPy's `kron`."""
    return _node("_npi_kron", [a, b])


def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """NumPy's `cross`."""
    axes = [axis] * 3 if axis is not None else [axisa, axisb, axisc]
    return _node("_npi_cross", [a, b], axisa=axes[0], axisb=axes[1], axisc=axes[2])


def interp(x, xp, fp, left=None, right=None, period=None):
    """NumPy's `interp`, of a symbol or of a number."""
    ends = {key: end for key, end in (("left", left), ("right", right), ("period", period)) if end is not None}
    if isinstance(x, Symbol):
        return _node("_npi_interp", [xp, fp, x], **ends)
    return _node("_npi_interp", [xp, fp], x_scalar=float(x), x_is_scalar=True, **ends)


def polyval(p, x):
    """NumPy's `polyval`."""
    return _node("_npi_polyval", [p, x])


def rollaxis(a, axis, start=0):
    """NumPy's `rollaxis`."""
    return _node("_npi_rollaxis", [a], axis=axis, start=start)


def svd(a):
    """NumPy's `linalg.svd` without full matrices."""
    return _node("_npi_svd", [a], 3)


def qr(a, mode="reduced"):
    """NumPy's `linalg.qr`, reduced."""
    if mode not in (None, "reduced"):
        raise ArgumentError(f"qr: mode {mode!r} is not supported in graphs; expected 'reduced'")
    return _node("_npi_qr", [a], 2)


def solve(a, b):
    """NumPy's `linalg.solve`."""
    return _node("_npi_solve", [a, b])


def eig(a):
    """NumPy's `linalg.eig`, where the eigenvalues are real."""
    return _node("_npi_eig", [a], 2)


def eigvals(a):
    """NumPy's `linalg.eigvals`, where they are real."""
    return _node("_npi_eigvals", [a])


def pinv(a, rcond=1e-15, hermitian=False):
    """NumPy's `linalg.pinv`; `rcond` is a number or a symbol."""
    if isinstance(rcond, Symbol):
        return _node("_npi_pinv", [a, rcond], hermitian=hermitian)
    return _node("_npi_pinv_scalar_rcond", [a], rcond=rcond, hermitian=hermitian)


def matrix_rank(M, tol=None, hermitian=False):  # noqa: N803 - NumPy's name
    """NumPy's `linalg.matrix_rank`; `tol` is None, a number or a symbol."""
    if tol is None:
        return _node("_npi_matrix_rank_none_tol", [M], hermitian=hermitian, finfoEps32=2.0**-23, finfoEps64=2.0**-52)
    if not isinstance(tol, Symbol):
        tol = sym.np.full((), tol)
    return _node("_npi_matrix_rank", [M, tol], hermitian=hermitian)


def lstsq(a, b, rcond="warn"):
    """NumPy's `linalg.lstsq`; 'warn' stands for the precision of the machine, None for that times the larger size."""
    settings = {"rcond": -1 if rcond is None or isinstance(rcond, str) else rcond, "new_default": rcond is None}
    return _node("_npi_lstsq", [a, b], 4, finfoEps32=2.0**-23, finfoEps64=2.0**-52, **settings)


def tensorinv(a, ind=2):
    """NumPy's `linalg.tensorinv`."""
    return _node("_npi_tensorinv", [a], ind=ind)


def tensorsolve(a, b, axes=None):
    """NumPy's `linalg.tensorsolve`."""
    return _node("_npi_tensorsolve", [a, b], **({"a_axes": tuple(axes)} if axes else {}))


def _of_matrices(op, count, order):
    """An operator of matrices whose results have NumPy's shapes: a matrix alone is a batch of one."""

    def call(a, UPLO="L"):  # noqa: N803 - NumPy's name
        if UPLO == "U":
            a = sym.swapaxes(a, dim1=-1, dim2=-2)
        made = getattr(sym.op, op)(sym.expand_dims(a, axis=0))
        parts = [sym.np.squeeze(made[i], axis=0) for i in range(count)]
        return order(parts)

    return call


_BY_OPERATORS = {
    "det": _of_matrices("_linalg_det", 1, lambda parts: parts[0]),
    "slogdet": _of_matrices("_linalg_slogdet", 2, tuple),
    "eigvalsh": _of_matrices("_linalg_syevd", 2, lambda parts: parts[1]),
    "eigh": _of_matrices("_linalg_syevd", 2, lambda parts: (parts[1], sym.np.swapaxes(parts[0], dim1=-1, dim2=-2))),
}
_OF_NP = (kron, cross, interp, polyval, rollaxis)
_OF_LINALG = (svd, qr, solve, eig, eigvals, pinv, matrix_rank, lstsq, tensorinv, tensorsolve)


def install():
    """Lets graphs have nodes of the table, and puts functions into `mx.sym.np` and `mx.sym.np.linalg`."""
    array_operators.register_with_graphs()
    functions.install()
    for name, function in _BY_OPERATORS.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"NumPy's `linalg.{name}` of the matrices in the last two axes."
        setattr(sym.np.linalg, name, function)
    for function in _OF_NP:
        setattr(sym.np, function.__name__, function)
    for function in _OF_LINALG:
        setattr(sym.np.linalg, function.__name__, function)
