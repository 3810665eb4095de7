"""Operators that repeat, select and look up elements, follow the shape of another array, or make arrays."""

import numpy as np

from .core import ALL_TYPES, FLOATS, NUMBERS, Case, Expected, computed, is_float, moved, operator, wide

INDEX_TYPES = [np.dtype(name) for name in ("float32", "int32", "int64")]


def draw_any(d, low_rank=1, high_rank=5, **sizes):
    return d.array(d.shape(d.int(low_rank, high_rank), **sizes), d.dtype(ALL_TYPES))


def draw_indices(d, shape, low, high):
    return np.trunc(d.array(shape, d.of(INDEX_TYPES), low, high))


# ---- repetition and order --------------------------------------------------------------------------


def draw_tile(d):
    x = draw_any(d, high_rank=4)
    return Case({"reps": d.ints(d.int(1, 5), 0 if d.chance(0.1) else 1, 3)}, [x])


def draw_repeat(d):
    x = draw_any(d)
    return Case({"repeats": d.int(1, 4), **d.some(axis=d.of([None, d.axis(x.ndim), d.axis(x.ndim)]))}, [x])


def draw_reverse(d):
    x = draw_any(d)
    return Case({"axis": d.some_axes(x.ndim) or (0,)}, [x])


operator("tile", lambda attrs, x: moved(np.tile(x, attrs["reps"])), draw_tile)
operator("repeat", lambda attrs, x: moved(np.repeat(x, attrs["repeats"], attrs.get("axis"))), draw_repeat)
operator("reverse", lambda attrs, x: moved(np.flip(x, attrs["axis"])), draw_reverse)


# ---- the shape of another array -----------------------------------------------------------------------


def slice_like(attrs, x, like):
    parts = [slice(None)] * x.ndim
    for axis in attrs.get("axes") or range(x.ndim):
        parts[axis] = slice(like.shape[axis])
    return moved(x[tuple(parts)])


def draw_slice_like(d):
    x = draw_any(d)
    axes = d.some_axes(x.ndim)
    like = [d.int(min(1, size), size) if size else 0 for size in x.shape]
    if axes and min(axes) >= 0 and d.flag():
        like = like[: max(axes) + 1]  # further axes are not looked at
    elif axes:
        like = [size if axis in {a % x.ndim for a in axes} else 9 for axis, size in enumerate(like)]
    return Case({"axes": axes} if axes else d.some(axes=()), [x, d.array(tuple(like), d.dtype(ALL_TYPES))])


operator("slice_like", slice_like, draw_slice_like)


def reshape_like(attrs, x, like):
    lhs, rhs = (slice(attrs.get(f"{side}_begin"), attrs.get(f"{side}_end")) for side in ("lhs", "rhs"))
    shape = list(x.shape)
    shape[slice(*lhs.indices(x.ndim)[:2])] = like.shape[slice(*rhs.indices(like.ndim)[:2])]
    return moved(x.reshape(shape))


def draw_reshape_like(d):
    """Some axes of x, and others of the same size in `like`, between axes that do not matter."""
    x = draw_any(d, empty=0)
    begin = d.int(0, x.ndim - 1)
    end = d.int(begin + 1, x.ndim)
    size = int(np.prod(x.shape[begin:end]))
    middle = d.of([x.shape[begin:end], (size,), (1, size), (size, 1)])
    before, after = d.shape(d.int(0, 1), empty=0), d.shape(d.int(0, 1), empty=0)
    like = (*before, *middle, *after)
    attrs = {"lhs_begin": begin if begin or d.flag() else None, "lhs_end": d.of([end, end - x.ndim or None])}
    attrs["rhs_begin"] = len(before) if before or d.flag() else None
    attrs["rhs_end"] = d.of([len(like) - len(after), -len(after) or None])
    attrs = {name: value for name, value in attrs.items() if value is not None or d.flag()}
    return Case(attrs, [x, d.array(like, d.dtype(ALL_TYPES))])


operator("reshape_like", reshape_like, draw_reshape_like)


def broadcast_like(attrs, x, like):
    shape, axes = list(x.shape), range(x.ndim)
    for axis, other in zip(attrs.get("lhs_axes") or axes, attrs.get("rhs_axes") or axes):
        shape[axis] = like.shape[other]
    return moved(np.broadcast_to(x, shape).copy())


def draw_broadcast_like(d):
    like = d.shape(d.int(1, 5))
    if d.flag():
        shape = tuple(1 if d.flag() else size for size in like)
        inputs = [d.array(shape, d.dtype(ALL_TYPES)), np.zeros(like, np.float32)]
        return Case(d.some(lhs_axes=None, rhs_axes=None), inputs)
    shape = list(d.shape(d.int(1, 4)))
    count = d.int(1, min(len(shape), len(like)))
    left = [int(a) for a in d.rng.permutation(len(shape))[:count]]
    right = [int(a) for a in d.rng.permutation(len(like))[:count]]
    for axis, other in zip(left, right):
        shape[axis] = d.of([1, like[other]])
    attrs = {"lhs_axes": tuple(a - len(shape) * d.flag() for a in left)}
    attrs["rhs_axes"] = tuple(a - len(like) * d.flag() for a in right)
    return Case(attrs, [d.array(tuple(shape), d.dtype(ALL_TYPES)), np.zeros(like, np.float32)])


operator("broadcast_like", broadcast_like, draw_broadcast_like)
operator(
    "shape_array", lambda attrs, x: moved(np.array(x.shape, np.int64)), lambda d: Case({}, [draw_any(d)], infers=True)
)


# ---- selection ----------------------------------------------------------------------------------------


def where(attrs, condition, x, y):
    """A condition (N,) beside arrays of higher rank chooses among rows."""
    if condition.ndim == 1:
        condition = condition.reshape((-1,) + (1,) * (x.ndim - 1))
    return moved(np.where(wide(condition) != 0, x, y))


def draw_where(d):
    shape, dtype = d.shape(d.int(1, 5)), d.dtype(ALL_TYPES)
    condition = d.array(d.of([shape, shape[:1]]), d.dtype(ALL_TYPES), -1, 1)
    return Case({}, [condition, d.array(shape, dtype), d.array(shape, dtype)])


def draw_npi_where(d):
    shape, dtype = d.shape(d.int(1, 5), high=5), d.dtype(ALL_TYPES)
    shapes = [[1 if d.chance(0.3) else size for size in shape] for _ in range(3)]
    shapes = [tuple(one[d.int(0, len(one) - 1) * d.flag() :]) for one in shapes]
    types = [d.dtype(ALL_TYPES), dtype, dtype]
    return Case({}, [d.array(s, t, -1, 1) for s, t in zip(shapes, types)])


operator("where", where, draw_where)
operator("_npi_where", lambda attrs, c, x, y: moved(np.where(wide(c) != 0, x, y)), draw_npi_where)


# ---- lookups ------------------------------------------------------------------------------------------


def gather_nd(attrs, x, indices):
    return moved(np.atleast_1d(x[tuple(wide(indices).astype(np.int64))]))


def draw_gather_nd(d):
    x = draw_any(d, empty=0)
    named = d.int(1, x.ndim)
    shape = d.shape(d.int(1, 3), high=4)
    places = [d.rng.integers(-size, size, shape) for size in x.shape[:named]]
    return Case({}, [x, np.stack(places).astype(d.of(INDEX_TYPES))])


operator("gather_nd", gather_nd, draw_gather_nd)


def take(attrs, x, indices):
    mode = attrs.get("mode", "clip")
    return moved(np.take(x, wide(indices).astype(np.int64), attrs.get("axis", 0), mode=mode))


def draw_take(d):
    x = draw_any(d, high_rank=4, empty=0)
    attrs = d.some(axis=d.axis(x.ndim), mode=d.of(["clip", "wrap", "raise"]))
    size = x.shape[attrs.get("axis", 0)]
    low, high = (0, size - 1) if attrs.get("mode") == "raise" else (-9, 9)
    return Case(attrs, [x, draw_indices(d, d.shape(d.int(1, 3), high=4), low, high)])


operator("take", take, draw_take)


def one_hot(attrs, indices):
    hit = wide(indices)[..., None] == np.arange(attrs["depth"])
    y = np.where(hit, attrs.get("on_value", 1.0), attrs.get("off_value", 0.0))
    dtype = np.dtype(attrs.get("dtype", "float32"))
    return Expected(y.astype(dtype), dtype)


def draw_one_hot(d):
    attrs = {"depth": d.int(1, 8), **d.some(on_value=2.0, off_value=d.of([0.0, 3.0]), dtype=d.of(NUMBERS).name)}
    return Case(attrs, [draw_indices(d, d.shape(d.int(1, 4)), -2, 9)])


operator("one_hot", one_hot, draw_one_hot)


# ---- arrays from nothing, and sums of arrays ----------------------------------------------------------------


def filled(value):
    def oracle(attrs):
        dtype = np.dtype(attrs.get("dtype", "float32"))
        return Expected(np.full(attrs.get("shape", ()), value).astype(dtype), dtype)

    return oracle


def draw_filled(d):
    return Case({"shape": d.shape(d.int(1, 5)), **d.some(dtype=d.of(ALL_TYPES).name)}, [])


operator("_zeros", filled(0), draw_filled)
operator("_ones", filled(1), draw_filled)


def arange(attrs):
    start, stop = attrs.get("start", 0.0), attrs.get("stop")
    start, stop = (0.0, start) if stop is None else (start, stop)
    dtype = np.dtype(attrs.get("dtype", "float32"))
    values = np.repeat(np.arange(start, stop, attrs.get("step", 1.0)), attrs.get("repeat", 1))
    return Expected(values.astype(dtype), dtype)


def draw_arange(d):
    attrs = d.some(start=d.of([2.0, 5.0]), repeat=d.int(1, 3), infer_range=False)
    attrs.update(d.some(stop=d.of([9.0, 12.0, None]), step=d.of([2.0, 0.5, 1.0]), dtype=d.of(NUMBERS).name))
    if "stop" in attrs and attrs["stop"] is not None and d.chance(0.2):
        attrs.update(start=20.0, step=-3.0)
    if not is_float(np.dtype(attrs.get("dtype", "float32"))) and attrs.get("step") == 0.5:
        attrs["step"] = 2.0
    return Case(attrs, [])


operator("_arange", arange, draw_arange)


def add_n(attrs, *arrays):
    total, magnitude = sum(map(wide, arrays)), sum(np.abs(wide(a)) for a in arrays)
    return computed(total, arrays[0].dtype, len(arrays) * magnitude)


def draw_add_n(d):
    shape, dtype, count = d.shape(d.int(1, 5)), d.dtype(d.of([FLOATS, NUMBERS])), d.int(1, 5)
    return Case({"num_args": count}, [d.array(shape, dtype) for _ in range(count)], infers=True)


operator("add_n", add_n, draw_add_n)


# ---- order of size: equal elements keep theirs ------------------------------------------------------------


def order(x, axis, ascending):
    """Positions along the axis; x may be any number, so that it is negated by rank."""
    ranks = np.unique(wide(x), return_inverse=True)[1].reshape(x.shape)
    return np.argsort(ranks if ascending else -ranks, axis=axis, kind="stable")


def extreme(function):
    def oracle(attrs, x):
        y = function(wide(x), axis=attrs.get("axis"), keepdims=attrs.get("keepdims", False))
        return Expected(np.atleast_1d(y).astype(x.dtype), x.dtype)

    return oracle


def draw_extreme(d):
    x = d.array(d.shape(d.int(1, 5), empty=0), d.dtype(d.of([FLOATS, NUMBERS])))
    return Case(d.some(axis=d.of([None, d.axis(x.ndim), d.axis(x.ndim)]), keepdims=d.flag()), [x])


operator("argmax", extreme(np.argmax), draw_extreme)
operator("argmin", extreme(np.argmin), draw_extreme)


def flat_where_no_axis(attrs, x):
    axis = attrs.get("axis", -1)
    return (x.reshape(-1), 0) if axis is None else (x, axis)


def argsort(attrs, x):
    lines, axis = flat_where_no_axis(attrs, x)
    dtype = np.dtype(attrs.get("dtype", "float32"))
    ascending = attrs.get("is_ascend_s", attrs.get("is_ascend", True))
    return Expected(order(lines, axis, ascending).astype(dtype), dtype)


def draw_order(d):
    case = draw_extreme(d)
    case.attrs.pop("keepdims", None)
    case.attrs.update(d.some(is_ascend=d.flag(), dtype=d.of(["float32", "int32", "int64"])))
    return case


def draw_argsort(d):
    case = draw_order(d)
    case.attrs.update(d.some(is_ascend_s=d.flag()))  # 2.0's files spell is_ascend so
    return case


operator("argsort", argsort, draw_argsort)


def topk(attrs, x):
    lines, axis = flat_where_no_axis(attrs, x)
    k, kind, dtype = attrs.get("k", 1), attrs.get("ret_typ", "indices"), np.dtype(attrs.get("dtype", "float32"))
    chosen = np.take(order(lines, axis, attrs.get("is_ascend", False)), range(k if k > 0 else lines.shape[axis]), axis)
    values = moved(np.take_along_axis(lines, chosen, axis))
    positions = Expected(chosen.astype(dtype), dtype)
    mask = np.zeros(lines.shape, x.dtype)
    np.put_along_axis(mask, chosen, np.ones((), x.dtype), axis)
    return {
        "value": [values],
        "indices": [positions],
        "both": [values, positions],
        "mask": [moved(mask.reshape(x.shape))],
    }[kind]


def draw_topk(d):
    case = draw_order(d)
    lines, axis = flat_where_no_axis(case.attrs, case.inputs[0])
    case.attrs.update(d.some(k=d.int(0, lines.shape[axis]), ret_typ=d.of(["value", "indices", "mask", "both"])))
    return case


operator("topk", topk, draw_topk)


# ---- parts and shapes of 2.0 ----------------------------------------------------------------------------


def split_v2(attrs, x):
    axis, sections = attrs.get("axis", 1), attrs.get("sections", 0)
    begins = list(attrs.get("indices", ()))
    parts = np.array_split(x, sections, axis) if sections else np.split(x, [*begins[1:]], axis)
    return [moved(np.squeeze(part, axis) if attrs.get("squeeze_axis", False) else part) for part in parts]


def draw_split_v2(d):
    rank = d.int(2, 5)
    axis, parts, squeeze_axis = d.axis(rank), d.int(1, 4), d.chance(0.3)
    shape = list(d.shape(rank, high=5))
    shape[axis] = parts if squeeze_axis else parts * d.int(1, 3) + d.int(0, 2)
    attrs = {} if axis == 1 else {"axis": axis}
    attrs.update({"squeeze_axis": True} if squeeze_axis else d.some(squeeze_axis=False))
    if squeeze_axis or d.flag():
        attrs.update(sections=parts, **d.some(indices=()))
    else:  # MXNet's files write the 0 in front
        places = sorted(set(d.ints(d.int(0, 3), 0, shape[axis])))
        attrs["indices"] = (0, *(p - shape[axis] if p < shape[axis] and p and d.chance(0.2) else p for p in places))
    return Case(attrs, [d.array(tuple(shape), d.dtype(ALL_TYPES))])


operator("_split_v2", split_v2, draw_split_v2)


def draw_broadcast_to(d, zero_keeps):
    shape = d.shape(d.int(1, 5))
    data = tuple(1 if d.chance(0.4) else size for size in shape)[d.int(0, len(shape) - 1) * d.flag() :]
    missing = len(shape) - len(data)
    kept = [zero_keeps and i >= missing and data[i - missing] == size and d.chance(0.3) for i, size in enumerate(shape)]
    target = tuple(0 if keep else size for keep, size in zip(kept, shape))
    if zero_keeps:  # an empty axis cannot be asked for
        target = tuple(size or 2 * (i < missing or data[i - missing] == 1) for i, size in enumerate(target))
    return Case({"shape": target}, [d.array(data, d.dtype(ALL_TYPES))])


def broadcast_to(attrs, x):
    shape = attrs["shape"]
    aligned = (1,) * (len(shape) - x.ndim) + x.shape
    return [size or own for size, own in zip(shape, aligned)]


operator(
    "broadcast_to",
    lambda attrs, x: moved(np.broadcast_to(x, broadcast_to(attrs, x)).copy()),
    lambda d: draw_broadcast_to(d, True),
)
operator(
    "_npi_broadcast_to",
    lambda attrs, x: moved(np.broadcast_to(x, attrs["shape"]).copy()),
    lambda d: draw_broadcast_to(d, False),
)


def full_like(attrs, x):
    dtype = np.dtype(attrs.get("dtype") or x.dtype)
    return Expected(np.full(x.shape, attrs["fill_value"]).astype(dtype), dtype)


def draw_full_like(d):
    dtype = d.of([None, *(dtype.name for dtype in NUMBERS)])
    return Case({"fill_value": d.of([0.0, 1.0, 7.0]), **d.some(dtype=dtype)}, [draw_any(d)])


operator("_npi_full_like", full_like, draw_full_like)
