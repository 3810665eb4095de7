"""Attention over a sequence that is cut over the ranks of a ring."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING

from .. import _core, nd
from .._arrays import readable
from ..base import ArgumentError, dtype_name
from ._checks import is_integer_in
from ._comm import Comm, current_comm

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import DTypeLike

    from .._core import NDArray
    from .._types import Array


def ring_attention(
    q: Array,
    k: Array,
    v: Array,
    *,
    comm: Comm | None = None,
    causal: bool = True,
    scale: float | None = None,
    layout: Literal["bshd", "sbhd"] = "bshd",
    accum_dtype: DTypeLike = None,
    partial_dtype: DTypeLike = None,
    merge: Literal["state", "lse"] | None = None,
    p_dtype: DTypeLike = "bfloat16",
    key_block: int = 0,
    last_key_first: bool = True,
) -> tuple[NDArray, NDArray]:
    """(out, lse): softmax(scale q k^T) v over the whole sequence, for this rank's rows; and their log-sum-exps.

    q, k and v are this rank's parts of the sequence, see `split_for_ring`: (batch, rows, heads, size), or with layout
    "sbhd" (rows, batch, heads, size); float32, bfloat16 or float16. Heads of q are a multiple of those of k and v.
    All ranks of `comm`, by default that of `with group(comm):`, make the same call.

    causal: each row sees the keys up to its own position in the whole sequence.
    scale: by default size ** -0.5.
    merge: "state" (default) carries maximum, sum and weighted values of a row from step to step, in float32. "lse" adds
        the results of steps, rounded to `partial_dtype`, weighted by their log-sum-exps and rounded to `accum_dtype`
        after each addition. Both are "float32" by default; AMP_CP_ACCUM=bf16 makes them the dtype of q.
    p_dtype: "bfloat16" (default) or "float32": what weights are rounded to before they multiply v of 16 bits.
    key_block, last_key_first: how many keys a kernel takes at once (0: its own choice), and in which order.

    `out` is like q, `lse` float32 (batch, heads, rows) in every layout. Raises ArgumentError.

    >>> def attend(comm):
    ...     q = amp.distributed.split_for_ring(np.ones((1, 8, 2, 4), np.float32), comm.rank, comm.size, axis=1)
    ...     out, lse = amp.distributed.ring_attention(q, q, q, comm=comm)
    ...     return out.shape, lse.shape, comm.bytes_sent
    >>> amp.distributed.run_local(2, attend)
    [((1, 4, 2, 4), (1, 2, 4), 256), ((1, 4, 2, 4), (1, 2, 4), 256)]
    """
    options = _options(causal, scale, layout, accum_dtype, partial_dtype, merge, p_dtype, key_block, last_key_first)
    return _results(_core.ring_attention(_engine(comm), *_arrays(q=q, k=k, v=v), options))


def ring_attention_backward(
    dout: Array,
    q: Array,
    k: Array,
    v: Array,
    out: Array,
    lse: Array,
    *,
    comm: Comm | None = None,
    causal: bool = True,
    scale: float | None = None,
    layout: Literal["bshd", "sbhd"] = "bshd",
    accum_dtype: DTypeLike = None,
    partial_dtype: DTypeLike = None,
    merge: Literal["state", "lse"] | None = None,
    p_dtype: DTypeLike = "bfloat16",
    key_block: int = 0,
    last_key_first: bool = True,
) -> tuple[NDArray, NDArray, NDArray]:
    """(dq, dk, dv): the gradients of this rank's q, k and v, from that of `out` and what `ring_attention` gave.

    Arguments are those of `ring_attention`. What a step gives is rounded to `partial_dtype`, and sums over steps to
    `accum_dtype` after each addition: sums of dk and dv go round the ring in that dtype.

    >>> def gradients(comm):
    ...     q = np.ones((1, 2, 1, 4), np.float32)
    ...     out, lse = amp.distributed.ring_attention(q, q, q, comm=comm)
    ...     dq, dk, dv = amp.distributed.ring_attention_backward(q, q, q, q, out, lse, comm=comm)
    ...     return dv.asnumpy()[0, :, 0, 0].tolist()
    >>> amp.distributed.run_local(1, gradients)
    [[1.5, 0.5]]
    """
    options = _options(causal, scale, layout, accum_dtype, partial_dtype, merge, p_dtype, key_block, last_key_first)
    arrays = _arrays(dout=dout, q=q, k=k, v=v, out=out, lse=lse)
    return _results(_core.ring_attention_backward(_engine(comm), *arrays, options))


def _options(causal, scale, layout, accum_dtype, partial_dtype, merge, p_dtype, key_block, last_key_first):
    if not isinstance(layout, str) or not isinstance(merge or "", str):
        raise ArgumentError(f"layout and merge: expected texts, got {layout!r} and {merge!r}")
    if not is_integer_in(range((1 << 24) + 1), key_block):
        raise ArgumentError(f"key_block: expected 0 or a number of keys, got {key_block!r}")
    return _core.RingOptions(
        causal=bool(causal),
        scale=_scale(scale),
        layout=layout,
        accum_dtype=_dtype(accum_dtype),
        partial_dtype=_dtype(partial_dtype),
        merge=merge or "",
        p_dtype=_dtype(p_dtype),
        key_block=int(key_block),
        last_key_first=bool(last_key_first),
    )


def _scale(scale):
    if scale is None:
        return 0.0  # the extension's default
    if not isinstance(scale, numbers.Real) or not math.isfinite(scale) or scale == 0:
        raise ArgumentError(f"scale: expected a number other than 0, got {scale!r}")
    return float(scale)


def _dtype(dtype):
    return "" if dtype is None else dtype_name(dtype)


def _engine(comm):
    comm = current_comm() if comm is None else comm
    if not isinstance(comm, Comm):
        raise ArgumentError(f"comm: expected a Comm, or a call inside of `with group(comm):`; got {comm!r}")
    return comm._engine


def _arrays(**arrays):
    return [readable(array, name) for name, array in arrays.items()]


def _results(arrays):
    return tuple(nd.NDArray(array) for array in arrays)
