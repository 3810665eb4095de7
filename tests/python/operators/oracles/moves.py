"""Operators that move elements: shapes, slices, joins, borders, lookups, masks."""

import numpy as np

from .core import ALL_TYPES, FLOATS, Case, Expected, is_float, moved, operator, wide


def draw_any(d, low_rank=1, high_rank=5, **sizes):
    return d.array(d.shape(d.int(low_rank, high_rank), **sizes), d.dtype(ALL_TYPES))


# ---- the same elements under another shape -------------------------------------------------------


def with_inferred(out, size):
    """-1 stands for what is left of `size` elements."""
    known = int(np.prod([n for n in out if n != -1], dtype=np.int64))
    return [size // known if n == -1 else n for n in out]


def apply_codes(codes, data, table):
    """The new shape; `table` says what a code means: infer, keep, rest, merge, split or drop."""
    out, data, codes = [], list(data), list(codes)
    while codes:
        code = codes.pop(0)
        meaning = table.get(code, "size")
        if meaning == "rest":
            out, data = out + data, []
        elif meaning == "keep":
            out.append(data.pop(0))
        elif meaning == "merge":
            out.append(data.pop(0) * data.pop(0))
        elif meaning == "split":
            size, pair = data.pop(0), [codes.pop(0), codes.pop(0)]
            out += with_inferred(pair, size)
        elif meaning == "drop":
            assert data.pop(0) == 1
        else:  # a size, or -1: consumes an axis if there is one
            out.append(code)
            data = data[1:]
    return out


CLASSIC = {0: "keep", -1: "infer", -2: "rest", -3: "merge", -4: "split"}
NUMPY = {-1: "infer", -2: "keep", -3: "drop", -4: "rest", -5: "merge", -6: "split"}


def reshaped(x, codes, table, reverse):
    """With `reverse` codes and axes are read from the right, literally: the sizes of a split stand in front of it."""
    if reverse:
        out = apply_codes(codes[::-1], x.shape[::-1], table)[::-1]
    else:
        out = apply_codes(codes, x.shape, table)
    return moved(x.reshape(with_inferred(out, x.size)))


def reshape(attrs, x):
    if not attrs.get("shape"):  # the form of 0.x files: 0 is computed
        target = [size or -1 for size in attrs["target_shape"]]
        if attrs.get("keep_highest", False):
            target[0] = x.shape[0]
        return moved(x.reshape(with_inferred(target, x.size)))
    return reshaped(x, attrs["shape"], CLASSIC, attrs.get("reverse", False))


def factors(d, size):
    """Two numbers with the product `size`."""
    return d.of([(n, size // n) for n in range(1, size + 1) if size % n == 0])


def draw_codes(d, data, table):
    """Codes that fit `data`, with at most one -1 for a whole axis."""
    code_of = {meaning: code for code, meaning in table.items()}
    codes, i, inferred = [], 0, False
    while i < len(data):
        choices = ["keep", "keep", "size", "split"]
        choices += ["merge"] * 2 * (i + 1 < len(data)) + ["infer"] * (not inferred and 0 not in data)
        choices += ["drop"] * 2 * ("drop" in code_of and data[i] == 1) + ["rest"] * d.chance(0.2)
        meaning = d.of(choices)
        if meaning == "rest":
            return codes + [code_of["rest"]]
        if meaning == "size" and (data[i] > 0 or table is NUMPY):
            codes.append(data[i])
        elif meaning == "split" and data[i] > 0:
            pair = list(factors(d, data[i]))
            if d.flag():
                pair[d.int(0, 1)] = -1
            codes += [code_of["split"], *pair]
        else:
            codes.append(code_of[meaning if meaning not in ("size", "split") else "keep"])
        inferred = inferred or meaning == "infer"
        i += 2 if meaning == "merge" else 1
    return codes


def draw_reversible_codes(d, data, table):
    """(codes, reverse)"""
    reverse = d.chance(0.4)
    if not reverse:
        return tuple(draw_codes(d, data, table)), False
    return tuple(draw_codes(d, data[::-1], table)[::-1]), True


def draw_reshape(d):
    x = draw_any(d)
    if d.chance(0.2):
        x = draw_any(d, low_rank=2, empty=0)
        keep = d.flag()
        inner = int(np.prod(x.shape[1:]))
        target = d.of([(0, inner), (x.shape[0], 0), (x.size // x.shape[-1], x.shape[-1])])
        if keep:
            target = d.of([(0, inner), (9, inner), (9, 0), (9, *x.shape[1:])])
        return Case({"target_shape": target, **({"keep_highest": True} if keep else {})}, [x])
    codes, reverse = draw_reversible_codes(d, x.shape, CLASSIC)
    return Case({"shape": codes, **({"reverse": True} if reverse else d.some(reverse=False))}, [x])


operator("Reshape", reshape, draw_reshape)


def draw_npx_reshape(d):
    x = draw_any(d)
    codes, reverse = draw_reversible_codes(d, x.shape, NUMPY)
    return Case({"newshape": codes, **({"reverse": True} if reverse else d.some(reverse=False, order="C"))}, [x])


operator(
    "_npx_reshape",
    lambda attrs, x: reshaped(x, attrs["newshape"], NUMPY, attrs.get("reverse", False)),
    draw_npx_reshape,
)


def flatten(attrs, x):
    return moved(x.reshape(x.shape[0], int(np.prod(x.shape[1:]))))


operator("Flatten", flatten, lambda d: Case({}, [draw_any(d)]))


def draw_expand_dims(d):
    x = draw_any(d, high_rank=4)
    return Case({"axis": d.axis(x.ndim + 1)}, [x])


operator("expand_dims", lambda attrs, x: moved(np.expand_dims(x, attrs["axis"])), draw_expand_dims)


def draw_squeeze(d):
    shape = tuple(1 if d.flag() else size for size in d.shape(d.int(1, 5)))
    ones = [i for i, size in enumerate(shape) if size == 1]
    axes = tuple(i - len(shape) * d.flag() for i in ones if d.chance(0.7))
    return Case(d.some(axis=axes) if axes else d.some(axis=None), [d.array(shape, d.dtype(ALL_TYPES))])


def squeeze(attrs, x):
    return np.squeeze(x, attrs.get("axis"))


# MXNet's classic operators have no arrays of rank 0.
operator("squeeze", lambda attrs, x: moved(np.atleast_1d(squeeze(attrs, x))), draw_squeeze)
operator("_npi_squeeze", lambda attrs, x: moved(squeeze(attrs, x)), draw_squeeze)


# ---- axes in another order -----------------------------------------------------------------------


def draw_transpose(d):
    x = draw_any(d)
    axes = tuple(int(a) - x.ndim * d.chance(0.2) for a in d.rng.permutation(x.ndim))
    return Case(d.some(axes=d.of([axes, axes, ()])), [x])


operator("transpose _npi_transpose", lambda attrs, x: moved(x.transpose(attrs.get("axes") or None)), draw_transpose)


def draw_swap(d):
    x = draw_any(d)
    return Case(d.some(dim1=d.axis(x.ndim), dim2=d.axis(x.ndim)), [x])


operator("SwapAxis", lambda attrs, x: moved(np.swapaxes(x, attrs.get("dim1", 0), attrs.get("dim2", 0))), draw_swap)


# ---- parts ---------------------------------------------------------------------------------------


def slice_(attrs, x):
    step = attrs.get("step") or (None,) * len(attrs["begin"])
    return moved(x[tuple(slice(*part) for part in zip(attrs["begin"], attrs["end"], step))])


def draw_slice(d):
    x = draw_any(d, empty=0.02)
    count = d.int(1, x.ndim)
    begin, end = ([None if d.chance(0.2) else d.int(-n, n) for n in x.shape[:count]] for _ in range(2))
    attrs = {"begin": tuple(begin), "end": tuple(end)}
    if d.flag():
        attrs["step"] = tuple(d.of([None, 1, 2, 3, -1, -2]) for _ in range(count))
    return Case(attrs, [x])


operator("slice", slice_, draw_slice)


def slice_axis(attrs, x):
    parts = [slice(None)] * x.ndim
    parts[attrs["axis"]] = slice(attrs["begin"], attrs["end"])
    return moved(x[tuple(parts)])


def draw_slice_axis(d):
    x = draw_any(d, empty=0)
    axis = d.axis(x.ndim)
    size = x.shape[axis]
    begin = d.int(0, size - 1)
    end = d.of([None, d.int(begin + 1, size), size])
    attrs = {"axis": axis, "begin": d.of([begin, begin - size])}
    return Case({**attrs, "end": d.of([end, end - size]) if end not in (None, size) else end}, [x])


operator("slice_axis", slice_axis, draw_slice_axis)


def split(attrs, x):
    axis = attrs.get("axis", 1)
    parts = np.split(x, attrs["num_outputs"], axis)
    return [moved(np.squeeze(part, axis) if attrs.get("squeeze_axis", False) else part) for part in parts]


def draw_split(d):
    rank = d.int(1, 5)
    axis, parts, squeeze_axis = d.axis(rank), d.int(1, 4), d.chance(0.3)
    shape = list(d.shape(rank, high=5))
    shape[axis] = parts if squeeze_axis else parts * d.int(0, 3)
    attrs = {"num_outputs": parts, **({} if axis == 1 else {"axis": axis}), **d.some(squeeze_axis=squeeze_axis)}
    if squeeze_axis and len(shape) == 1:
        return draw_split(d)  # parts of rank 0 are none of the classic operators'
    return Case({**attrs, "squeeze_axis": True} if squeeze_axis else attrs, [d.array(tuple(shape), d.dtype(ALL_TYPES))])


operator("SliceChannel", split, draw_split)


# ---- several arrays ------------------------------------------------------------------------------


def draw_concat(d):
    rank, count, dtype = d.int(1, 5), d.int(1, 5), d.dtype(ALL_TYPES)
    axis, shape = d.axis(rank), list(d.shape(rank))
    arrays = []
    for _ in range(count):
        shape[axis] = 0 if d.chance(0.1) else d.int(1, 9)
        arrays.append(d.array(tuple(shape), dtype))
    return Case({"num_args": count, **({} if axis == 1 else {"dim": axis})}, arrays)


operator("_rnn_param_concat", lambda attrs, *arrays: moved(np.concatenate(arrays, attrs.get("dim", 1))), draw_concat)
operator("Concat", lambda attrs, *arrays: moved(np.concatenate(arrays, attrs.get("dim", 1))), draw_concat)


def draw_stack(d):
    shape, count, dtype = d.shape(d.int(1, 4)), d.int(1, 4), d.dtype(ALL_TYPES)
    arrays = [d.array(shape, dtype) for _ in range(count)]
    return Case({"num_args": count, **d.some(axis=d.axis(len(shape) + 1))}, arrays, infers=True)


operator("stack", lambda attrs, *arrays: moved(np.stack(arrays, attrs.get("axis", 0))), draw_stack)


# ---- repetition and borders ----------------------------------------------------------------------


def broadcast_axis(attrs, x):
    shape = list(x.shape)
    for axis, size in zip(attrs.get("axis", ()), attrs.get("size", ())):
        shape[axis] = size
    return moved(np.broadcast_to(x, shape).copy())


def draw_broadcast_axis(d):
    shape = list(d.shape(d.int(1, 5)))
    axes = d.some_axes(len(shape))
    for axis in axes:
        shape[axis] = 1
    attrs = {"axis": axes, "size": d.ints(len(axes), 0 if d.chance(0.1) else 1, 5)}
    return Case(attrs if axes or d.flag() else {}, [d.array(tuple(shape), d.dtype(ALL_TYPES))])


operator("broadcast_axis", broadcast_axis, draw_broadcast_axis)


def pad(attrs, x):
    widths = np.reshape(attrs["pad_width"], (-1, 2))
    if attrs["mode"] == "constant":
        value = np.asarray(attrs.get("constant_value", 0.0)).astype(x.dtype)
        return moved(np.pad(x, widths, constant_values=value))
    return moved(np.pad(x, widths, mode=attrs["mode"]))


def draw_pad(d):
    x = draw_any(d, low=3, empty=0)
    widths = d.ints(2 * x.ndim, 0, 2)
    attrs = {"mode": d.of(["constant", "edge", "reflect"]), "pad_width": widths}
    return Case({**attrs, **d.some(constant_value=d.of([1.5, 2.0, 0.0]))}, [x])


operator("Pad", pad, draw_pad)


def transposed_convolution(attrs, x, weight):
    """Of each channel with its own weights."""
    scale, size = attrs["scale"], weight.shape[2]
    pad, (height, width) = scale // 2, x.shape[2:]
    y = np.zeros((*x.shape[:2], (height - 1) * scale + size, (width - 1) * scale + size))
    magnitude = np.zeros_like(y)
    for i, j in np.ndindex(height, width):
        term = wide(x)[:, :, i, j, None, None] * wide(weight)[None, :, 0]
        y[:, :, i * scale : i * scale + size, j * scale : j * scale + size] += term
        magnitude[:, :, i * scale : i * scale + size, j * scale : j * scale + size] += np.abs(term)
    y, magnitude = (a[:, :, pad : pad + height * scale, pad : pad + width * scale] for a in (y, magnitude))
    return Expected(y, x.dtype, 6 * magnitude)


def up_sampling(attrs, *arrays):
    """Each input repeated to the first one's size times scale, then joined or added."""
    if attrs["sample_type"] == "bilinear":
        return transposed_convolution(attrs, *arrays)
    height, width = (attrs["scale"] * size for size in arrays[0].shape[2:])
    grown = [a.repeat(height // a.shape[2], 2).repeat(width // a.shape[3], 3) for a in arrays]
    if attrs.get("multi_input_mode", "concat") == "concat":
        return moved(np.concatenate(grown, 1))
    total, magnitude = sum(map(wide, grown)), sum(np.abs(wide(a)) for a in grown)
    return Expected(total, arrays[0].dtype, len(grown) * magnitude)


def draw_up_sampling(d):
    n, channels, height, width = d.int(1, 2), d.int(1, 18), d.int(1, 4), d.int(1, 4)
    scale, count, dtype = d.int(1, 4), d.of([1, 1, 2, 3]), d.dtype()
    attrs = {"scale": scale, "sample_type": "nearest", "num_args": count, **d.some(num_filter=4)}
    attrs.update(d.some(multi_input_mode=d.of(["concat", "sum"])))
    if d.chance(0.3):
        x, size = d.array((n, channels, height, width), dtype), 2 * scale - scale % 2
        attrs = {"scale": scale, "sample_type": "bilinear", "num_filter": channels, **d.some(num_args=1)}
        return Case(attrs, [x, d.array((channels, 1, size, size), dtype)])
    grow = [1] + [d.of([k for k in range(1, scale + 1) if scale % k == 0]) for _ in range(count - 1)]
    return Case(attrs, [d.array((n, channels, height * k, width * k), dtype) for k in grow])


operator("UpSampling", up_sampling, draw_up_sampling)


# ---- lookups, masks, counting --------------------------------------------------------------------


def embedding(attrs, indices, table):
    rows = np.clip(np.trunc(wide(indices)).astype(np.int64), 0, attrs["input_dim"] - 1)
    return moved(table[rows])


def draw_embedding(d):
    rows, size = d.int(1, 12), d.int(1, 6)
    indices = d.array(d.shape(d.int(1, 4)), d.of([np.dtype(t) for t in ("float32", "int32", "int64", "uint8")]), -2, 14)
    table = d.array((rows, size), d.dtype(ALL_TYPES))
    attrs = {"input_dim": rows, "output_dim": size, **d.some(sparse_grad=d.flag(), dtype=table.dtype.name)}
    known = attrs.get("dtype", "float32") == table.dtype.name
    return Case(attrs, [indices, table], infers=known)


operator("Embedding", embedding, draw_embedding)


def sequence_mask(attrs, x, lengths=None):
    if lengths is None:
        return moved(x)
    axis = attrs.get("axis", 0)
    time, batch = np.arange(x.shape[axis]), wide(lengths)
    keep = time[:, None] < batch[None, :] if axis == 0 else time[None, :] < batch[:, None]
    value = np.asarray(attrs.get("value", 0.0)).astype(x.dtype)
    return moved(np.where(keep.reshape(keep.shape + (1,) * (x.ndim - 2)), x, value))


def draw_sequence_mask(d):
    x = draw_any(d, low_rank=2)
    attrs = d.some(axis=d.int(0, 1), value=d.of([7.0, 2.0, 0.0]), use_sequence_length=False)
    if d.chance(0.2):
        return Case(attrs, [x])
    batch = x.shape[1 - attrs.get("axis", 0)]
    lengths = d.array((batch,), d.of([np.dtype(t) for t in ("float32", "int32", "int64")]), 0, 7)
    return Case({**attrs, "use_sequence_length": True}, [x, np.trunc(lengths)])


operator("SequenceMask", sequence_mask, draw_sequence_mask)


def arange_like(attrs, x):
    axis = attrs.get("axis")
    count = x.size if axis is None else x.shape[axis]
    values = attrs.get("start", 0.0) + attrs.get("step", 1.0) * (np.arange(count) // attrs.get("repeat", 1))
    return Expected(values.reshape(x.shape if axis is None else (count,)).astype(x.dtype), x.dtype)


def draw_arange_like(d):
    x = d.array(d.shape(d.int(1, 4)), d.dtype(FLOATS + [np.dtype("int32"), np.dtype("int64")]))
    attrs = d.some(axis=d.of([None, d.axis(x.ndim), d.axis(x.ndim)]), repeat=d.int(1, 3))
    numbers = {"start": d.of([1.0, 3.0]), "step": 2.0}
    if is_float(x.dtype):
        numbers = {"start": d.of([1.0, -2.5]), "step": d.of([0.5, -3.0])}
    return Case({**attrs, **d.some(**numbers)}, [x])


operator("_contrib_arange_like", arange_like, draw_arange_like)
