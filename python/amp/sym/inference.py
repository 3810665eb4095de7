"""Shapes and types of a symbol's outputs, from some that are known."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from .. import _core
from .._switches import is_on
from ..base import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypeAlias

    from numpy.typing import DTypeLike

    Shape: TypeAlias = int | Sequence[int] | None
    Known: TypeAlias = list[tuple[int, ...]] | None
    Shapes = tuple[Known, Known, Known]
    Types = tuple[list[Any] | None, list[Any] | None, list[Any] | None]


class Inference:
    """The methods of a Symbol that infer shapes and types."""

    __slots__ = ()

    def infer_shape(self, *args: Shape, **kwargs: Shape) -> Shapes:
        """Shapes of (arguments, outputs, auxiliary states), three lists of tuples.

        Known shapes are passed by name, or by position in the order of `list_arguments` with None for
        unknown ones; 0 is an unknown dimension. Where something stays unknown the result is
        (None, None, None), and a warning names it. With `amp.mxnet.util.np_shape()` shapes are spelled as NumPy's:
        -1 is an unknown dimension and () the shape of a scalar. Raises GraphError for contradictions.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").infer_shape(fc_data=(2, 4))
        ([(2, 4), (3, 4), (3,)], [(2, 3)], [])
        """
        shapes = self._infer_shapes(args, kwargs)
        unknown = [name for name, shape in zip(self.list_arguments(), shapes[0]) if _is_partial(shape)]
        if unknown:
            warnings.warn(
                f"shapes of these arguments stay unknown; provide some of them: {', '.join(unknown)}", stacklevel=2
            )
        if any(_is_partial(shape) for part in shapes for shape in part):
            return None, None, None
        return _in_mxnets_spelling(shapes)

    def infer_shape_partial(self, *args: Shape, **kwargs: Shape) -> Any:
        """Like `infer_shape`, with 0 for unknown dimensions and () for an unknown shape.

        With `amp.mxnet.util.np_shape()` these are -1 and None.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").infer_shape_partial(fc_data=(0, 4))
        ([(0, 4), (3, 4), (3,)], [(0, 3)], [])
        """
        return _in_mxnets_spelling(self._infer_shapes(args, kwargs))

    def infer_type(self, *args: DTypeLike, **kwargs: DTypeLike) -> Types:
        """Types of (arguments, outputs, auxiliary states), three lists of NumPy scalar types.

        Known types are passed as shapes are to `infer_shape`. Where something stays unknown the
        result is (None, None, None). Raises GraphError for contradictions.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").infer_type(fc_data="float16")[1]
        [<class 'numpy.float16'>]
        """
        types = self.infer_type_partial(*args, **kwargs)
        return (None, None, None) if any(dtype is None for part in types for dtype in part) else types

    def infer_type_partial(self, *args: DTypeLike, **kwargs: DTypeLike) -> Any:
        """Like `infer_type`, with None for each type that stays unknown.

        >>> amp.sym.FullyConnected(num_hidden=3, name="fc").infer_type_partial()[1]
        [None]
        """
        known = {name: (dtype, None) for name, dtype in self._known(args, kwargs).items()}
        return tuple([_scalar_type(dtype) for dtype, _ in part] for part in self._handle.infer(known))

    def _infer_shapes(self, args, kwargs):
        """Three lists of shapes; unknown dimensions are -1, an unknown rank is None."""
        known = {name: (None, open_dims(name, shape)) for name, shape in self._known(args, kwargs).items()}
        return tuple([shape for _, shape in part] for part in self._handle.infer(known))

    def _known(self, args, kwargs):
        if args and kwargs:
            raise ArgumentError("pass what is known either by position or by name, not both")
        names = self.list_arguments()
        if len(args) > len(names):
            raise ArgumentError(f"expected at most {len(names)} values ({', '.join(names)}), got {len(args)}")
        return {name: value for name, value in (kwargs or dict(zip(names, args))).items() if value is not None}


def _scalar_type(dtype):
    return None if dtype is None else _core.numpy_dtype(dtype).type


def open_dims(name, shape):
    """MXNet's spelling of a partly known shape (0 is unknown, () an unknown shape) as the library's, NumPy's."""
    try:
        dims = [int(dim) if int(dim) == dim else None for dim in shape]
    except (TypeError, ValueError):
        dims = [None]
    if None in dims or isinstance(shape, str):
        raise ArgumentError(f"the shape of '{name}': expected a tuple of integers, got {shape!r}")
    if is_on("shape"):
        return tuple(max(dim, -1) for dim in dims)
    return tuple(dim if dim > 0 else -1 for dim in dims) or None


def _in_mxnets_spelling(shapes):
    if is_on("shape"):
        return shapes
    return tuple([tuple(max(dim, 0) for dim in shape or ()) for shape in part] for part in shapes)


def _is_partial(shape):
    return shape is None or any(dim < 0 for dim in shape)
