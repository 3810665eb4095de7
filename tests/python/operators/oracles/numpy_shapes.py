"""Operators that join, turn, pad and fill arrays as NumPy does."""

import numpy as np

from .core import ALL_TYPES, NUMBERS, Case, Expected, moved, operator, wide


def draw_any(d, low_rank=1, high_rank=4, **sizes):
    return d.array(d.shape(d.int(low_rank, high_rank), **sizes), d.dtype(ALL_TYPES))


# ---- joins ---------------------------------------------------------------------------------------


def draw_join(axis, line_axis):
    """Arrays that differ along `axis` alone; those of rank 1 along `line_axis`, if there is one."""

    def draw(d):
        first = draw_any(d, 0)
        joined = line_axis if first.ndim == 1 else axis if first.ndim > axis else None
        arrays = [first]
        for _ in range(d.int(0, 3)):
            shape = [d.int(0, 5) if a == joined else size for a, size in enumerate(first.shape)]
            arrays.append(d.array(tuple(shape), first.dtype))
        attrs = {"num_args": len(arrays)}
        return Case({**attrs, **d.some(dim=d.of([0, None]))}, arrays)

    return draw


def joined(function):
    return lambda attrs, *arrays: moved(function(arrays))


operator("_npi_hstack", joined(np.hstack), draw_join(1, 0))
operator("_npi_vstack", joined(np.vstack), draw_join(0, None))
operator("_npi_dstack", joined(np.dstack), draw_join(2, None))
operator("_npi_column_stack", joined(np.column_stack), draw_join(1, None))


def draw_at_least(d):
    arrays = [draw_any(d, 0) for _ in range(d.int(1, 3))]
    return Case({"num_args": len(arrays)}, arrays)


for rank, at_least in enumerate((np.atleast_1d, np.atleast_2d, np.atleast_3d), 1):
    operator(
        f"_npi_atleast_{rank}d",
        lambda attrs, *arrays, at_least=at_least: [moved(at_least(x)) for x in arrays],
        draw_at_least,
    )


# ---- other places --------------------------------------------------------------------------------


def draw_move_axis(d):
    x = draw_any(d)
    count = d.int(0, x.ndim)
    source, destination = ([int(a) - x.ndim * d.flag() for a in d.rng.permutation(x.ndim)[:count]] for _ in range(2))
    return Case({"source": tuple(source), "destination": tuple(destination)}, [x])


operator("_npi_moveaxis", lambda attrs, x: moved(np.moveaxis(x, attrs["source"], attrs["destination"])), draw_move_axis)


def draw_roll(d):
    x = draw_any(d)
    axes = d.some_axes(x.ndim)
    if not axes:
        return Case({"shift": (d.int(-9, 9),), **d.some(axis=None)}, [x])
    return Case({"shift": d.ints(d.of([1, len(axes)]), -9, 9), "axis": axes}, [x])


def roll(attrs, x):
    shift, axis = attrs["shift"], attrs.get("axis")
    return moved(np.roll(x, shift[0] if len(shift) == 1 else shift, axis))


operator("_npi_roll", roll, draw_roll)


def draw_rot90(d):
    x = draw_any(d, 2)
    first, second = (int(a) - x.ndim * d.flag() for a in d.rng.permutation(x.ndim)[:2])
    return Case({"axes": (first, second), **d.some(k=d.int(-5, 5))}, [x])


operator("_npi_rot90", lambda attrs, x: moved(np.rot90(x, attrs.get("k", 1), attrs["axes"])), draw_rot90)


def npi_pad(attrs, x):
    mode, value = attrs.get("mode", "constant"), attrs.get("constant_value", attrs.get("constant_values", 0.0))
    options = {"constant_values": np.array(value).astype(x.dtype)} if mode == "constant" else {}
    return moved(np.pad(x, attrs["pad_width"], mode, **options))


def draw_npi_pad(d):
    x = draw_any(d, empty=0)
    if x.dtype.name == "bfloat16":
        x = x.astype(np.float32)  # NumPy's extremes do not know it
    attrs = {"pad_width": tuple(d.ints(2, 0, 4) for _ in range(x.ndim))}
    modes = ["constant", "constant", "edge", "reflect", "symmetric", "maximum", "minimum"]
    values = d.some(constant_values=d.of([2.0, 5.0]), constant_value=d.of([None, 3.0]))
    if values.get("constant_value", 0) is None:
        del values["constant_value"]
    return Case({**attrs, **values, **d.some(mode=d.of(modes), reflect_type="even")}, [x])


operator("_npi_pad", npi_pad, draw_npi_pad)


# ---- matrices ------------------------------------------------------------------------------------


def diag(attrs, x):
    k, axis1, axis2 = attrs.get("k", 0), attrs.get("axis1", 0), attrs.get("axis2", 1)
    return moved(np.diag(x, k) if x.ndim == 1 else np.diagonal(x, k, axis1, axis2).copy())


def draw_diag(d):
    x = draw_any(d, low=3, empty=0)
    attrs = d.some(k=d.int(-2, 2))
    if x.ndim < 2:
        return Case({**attrs, **d.some(axis1=1, axis2=0)}, [x])  # without effect
    axes = d.rng.permutation(x.ndim)[:2]
    return Case({**attrs, "axis1": int(axes[0]) - x.ndim * d.flag(), "axis2": int(axes[1])}, [x])


operator("diag", diag, draw_diag)


def with_diagonal(d, x):
    return Case(d.some(k=d.int(-3, 3)), [x])


operator(
    "_npi_diag", lambda attrs, x: moved(np.diag(x, attrs.get("k", 0))), lambda d: with_diagonal(d, draw_any(d, 1, 2))
)


for triangle in (np.tril, np.triu):
    operator(
        f"_npi_{triangle.__name__}",
        lambda attrs, x, triangle=triangle: moved(triangle(x, attrs.get("k", 0)).astype(x.dtype)),
        lambda d: with_diagonal(d, draw_any(d)),
    )


def eye(attrs):
    dtype = np.dtype(attrs.get("dtype") or "float32")
    return Expected(np.eye(attrs["N"], attrs.get("M"), attrs.get("k", 0)).astype(dtype), dtype)


def draw_eye(d, columns):
    dtype = d.of([None, *(dtype.name for dtype in ALL_TYPES)])
    return Case({"N": d.int(0, 6), **d.some(M=d.of(columns), k=d.int(-3, 3), dtype=dtype)}, [])


operator("_eye", lambda attrs: eye({**attrs, "M": attrs.get("M") or None}), lambda d: draw_eye(d, [0, 2, 5]))
operator("_npi_eye", eye, lambda d: draw_eye(d, [None, 0, 2, 5]))
operator(
    "_npi_identity",
    lambda attrs: eye({**attrs, "N": attrs["shape"][0]}),
    lambda d: Case({"shape": (d.int(0, 6),) * 2, **d.some(dtype=d.of([None, *(t.name for t in NUMBERS)]))}, []),
)


# ---- values --------------------------------------------------------------------------------------


def filled(attrs):
    kind = ("int_value", "uint_value", "double_value")[attrs.get("value_type", 2)]
    value = attrs["value"] if "value" in attrs else attrs[kind]
    dtype = np.dtype(attrs.get("dtype") or "float32")
    return Expected(np.full(attrs["shape"], value).astype(dtype), dtype)


def draw_full(d):
    dtype = d.of([None, *(dtype.name for dtype in NUMBERS)])
    return Case({"shape": d.shape(d.int(0, 4)), "value": d.of([0.0, 2.5, 7.0]), **d.some(dtype=dtype)}, [])


def draw_npi_full(d):
    case = draw_full(d)
    if d.chance(0.7):  # as 2.0 writes it
        del case.attrs["value"]
        case.attrs.update(int_value=d.int(1, 9), uint_value=d.int(1, 9), double_value=d.of([0.5, 7.25]))
        case.attrs.update(d.some(value_type=d.int(0, 2)))
    return case


operator("_full", filled, draw_full)
operator("_npi_full", filled, draw_npi_full)


def spaced(attrs):
    kind = ("int", "uint", "double")[attrs.get("value_type", 0)]
    start, stop = (attrs[name] if name in attrs else attrs[f"{name}_{kind}"] for name in ("start", "stop"))
    y = np.linspace(start, stop, attrs["num"], attrs.get("endpoint", True))
    y = attrs["base"] ** y if "base" in attrs else y
    dtype = np.dtype(attrs.get("dtype") or "float32")
    return Expected(y, dtype, 16 * np.abs(y) + 1)


def draw_spaced(d):
    attrs = {"start": d.of([0.0, -1.5]), "stop": d.of([1.0, 3.0, -2.0]), "num": d.int(0, 9)}
    return Case({**attrs, **d.some(endpoint=d.flag(), dtype=d.of([None, "float32", "float64", "float16"]))}, [])


def draw_npi_spaced(d):
    case = draw_spaced(d)
    if d.chance(0.7):  # as 2.0 writes it
        del case.attrs["start"], case.attrs["stop"]
        for kind in ("int", "uint", "double"):
            case.attrs.update({f"start_{kind}": float(d.int(0, 3)), f"stop_{kind}": float(d.int(4, 9))})
        case.attrs.update(d.some(value_type=d.int(0, 2)))
    return case


operator("_linspace", spaced, draw_spaced)
operator("_npi_linspace", spaced, draw_npi_spaced)


def draw_powers(d):
    case = draw_spaced(d)
    return Case({**case.attrs, **d.some(base=d.of([2.0, 0.5]))}, [])


operator("_npi_logspace", lambda attrs: spaced({"base": 10.0, **attrs}), draw_powers)


# ---- choices and facts ---------------------------------------------------------------------------


def where_scalar(scalar_first):
    def oracle(attrs, condition, x):
        scalar = np.array(attrs.get("scalar", 0.0)).astype(x.dtype)
        choices = (scalar, x) if scalar_first else (x, scalar)
        return moved(np.where(wide(condition) != 0, *choices))

    return oracle


def draw_where_scalar(d):
    x = draw_any(d)
    condition = tuple(1 if d.chance(0.3) else size for size in x.shape)[d.int(0, x.ndim - 1) * d.flag() :]
    return Case(d.some(scalar=d.of([2.0, 5.0])), [d.array(condition, d.dtype(ALL_TYPES), -1, 1), x])


operator("_npi_where_lscalar", where_scalar(True), draw_where_scalar)
operator("_npi_where_rscalar", where_scalar(False), draw_where_scalar)
operator(
    "_npi_where_scalar2",
    lambda attrs, c: moved(np.where(wide(c) != 0, attrs.get("x", 0.0), attrs.get("y", 0.0)).astype(np.float32)),
    lambda d: Case(d.some(x=d.of([1.5, 2.0]), y=d.of([-1.0, 3.0])), [d.array(d.shape(3), d.dtype(ALL_TYPES), -1, 1)]),
)


def draw_identity_like(d):
    x = draw_any(d)
    return Case({}, [x, d.array(x.shape, x.dtype)], infers=True)


operator("_identity_with_attr_like_rhs", lambda attrs, x, like: moved(x), draw_identity_like)
operator("size_array", lambda attrs, x: moved(np.array([x.size])), lambda d: Case({}, [draw_any(d)], infers=True))


# ---- picks and windows ---------------------------------------------------------------------------


def in_range(indices, size, mode="clip"):
    indices = wide(indices).astype(np.int64)
    return indices % size if mode == "wrap" else np.clip(indices, 0, size - 1)


def pick(attrs, x, index):
    axis = attrs.get("axis", -1)
    index = index if index.ndim == x.ndim else np.expand_dims(index, axis)
    y = np.take_along_axis(x, in_range(index, x.shape[axis], attrs.get("mode", "clip")), axis)
    return moved(y if attrs.get("keepdims", False) or x.ndim == 1 else np.squeeze(y, axis))


def draw_pick(d):
    x = draw_any(d, empty=0)
    attrs = d.some(axis=d.axis(x.ndim), keepdims=d.flag(), mode=d.of(["clip", "wrap"]))
    axis = attrs.get("axis", -1) % x.ndim
    kept = x.ndim == 1 or d.flag()
    shape = tuple(1 if a == axis else size for a, size in enumerate(x.shape) if kept or a != axis)
    index = d.array(shape, d.of([np.dtype(name) for name in ("float32", "int32", "int64")]), -9, 9)
    return Case(attrs, [x, np.trunc(index)])


operator("pick", pick, draw_pick)


def draw_batch_take(d):
    x = draw_any(d, 2, empty=0)
    return Case({}, [x, d.array(x.shape[:-1], np.dtype("int32"), -9, 9)], infers=True)


operator("batch_take", lambda attrs, x, index: pick({}, x, index), draw_batch_take)


def space_to_depth(attrs, x):
    n, c, h, w = x.shape
    b = attrs["block_size"]
    six = x.reshape(n, c, h // b, b, w // b, b)
    return moved(six.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b))


def depth_to_space(attrs, x):
    n, c, h, w = x.shape
    b = attrs["block_size"]
    six = x.reshape(n, b, b, c // b**2, h, w)
    return moved(six.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // b**2, h * b, w * b))


def draw_blocks(to_depth):
    def draw(d):
        b, (n, *sizes) = d.int(1, 3), d.shape(4, high=4)
        c, h, w = (max(1, size) for size in sizes)  # MXNet refuses pictures without elements
        shape = (n, c, h * b, w * b) if to_depth else (n, c * b * b, h, w)
        return Case({"block_size": b}, [d.array(shape, d.dtype(ALL_TYPES))])

    return draw


operator("space_to_depth", space_to_depth, draw_blocks(True))
operator("depth_to_space", depth_to_space, draw_blocks(False))


def crop(attrs, x, like=None):
    size = like.shape[2:] if like is not None else attrs["h_w"]
    left = np.subtract(x.shape[2:], size)
    y, x0 = left // 2 if attrs.get("center_crop", False) else attrs.get("offset", (0, 0))
    return moved(x[:, :, y : y + size[0], x0 : x0 + size[1]])


def draw_crop(d):
    size, offset, rest = d.ints(2, 1, 4), d.ints(2, 0, 3), d.ints(2, 0, 3)
    data = d.array((d.int(1, 2), d.int(1, 3), *np.add(np.add(size, offset), rest)), d.dtype(ALL_TYPES))
    attrs = d.some(offset=offset, center_crop=d.flag())
    if d.flag():
        like = d.array((1, 2, *size), d.dtype(ALL_TYPES))
        return Case({**attrs, "num_args": 2, **d.some(h_w=(1, 1))}, [data, like])
    return Case({**attrs, "num_args": 1, "h_w": size}, [data])


operator("Crop", crop, draw_crop)


def scatter_nd(attrs, x, indices):
    y = np.zeros(attrs["shape"], x.dtype)
    y[tuple(wide(indices).astype(np.int64))] = x
    return moved(y)


def draw_scatter_nd(d):
    shape = d.shape(d.int(1, 4), low=2, empty=0)
    named = d.int(1, len(shape))
    places = np.indices(shape[:named]).reshape(named, -1)  # each place at most once
    chosen = places[:, d.rng.permutation(places.shape[1])[: d.int(1, 5)]]
    data = d.array((chosen.shape[1], *shape[named:]), d.dtype(ALL_TYPES))
    return Case({"shape": shape}, [data, chosen.astype(d.of([np.float32, np.int32, np.int64]))])


operator("scatter_nd", scatter_nd, draw_scatter_nd)


def sort(attrs, x):
    lines, axis = (x.reshape(-1), 0) if attrs.get("axis", -1) is None else (x, attrs.get("axis", -1))
    order = np.argsort(wide(lines), axis, kind="stable")
    y = np.take_along_axis(lines, order, axis)
    return moved(y if attrs.get("is_ascend", True) else np.flip(y, axis))


def draw_sort(d):
    x = d.array(d.shape(d.int(1, 4)), d.dtype(ALL_TYPES))
    return Case(d.some(axis=d.of([None, d.axis(x.ndim), d.axis(x.ndim)]), is_ascend=d.flag()), [x])


operator("sort", sort, draw_sort)


def div_sqrt_dim(attrs, x):
    y = wide(x) / np.sqrt(max(1, x.shape[-1]))
    return Expected(y, x.dtype, 4 * np.abs(y))


operator(
    "_contrib_div_sqrt_dim", div_sqrt_dim, lambda d: Case({}, [d.array(d.shape(d.int(1, 4)), d.dtype())], infers=True)
)
