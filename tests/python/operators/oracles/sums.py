"""Products of matrices, reductions, softmax and norms.

A sum of n terms has an error of at most n units times the sum of the terms' magnitudes, in whatever order it is added.
"""

import numpy as np

from .core import BFLOAT16, FLOATS, NUMBERS, Case, Expected, computed, is_float, operator, out_dtype, wide

# ---- products of matrices ------------------------------------------------------------------------


def products(function, a, b, terms, dtype, extra=0.0):
    """A bilinear `function` of a and b whose sums have `terms` terms, plus `extra`."""
    magnitude = function(np.abs(wide(a)), np.abs(wide(b))) + np.abs(extra)
    return Expected(function(wide(a), wide(b)) + extra, dtype, (terms + 2) * magnitude)


def fully_connected(attrs, x, weight, bias=None):
    rows = x.reshape(x.shape[0], -1) if attrs.get("flatten", True) and x.size else x
    if attrs.get("flatten", True) and not x.size:
        rows = x.reshape(x.shape[0], int(np.prod(x.shape[1:])))
    dtype, extra = out_dtype(attrs, x), 0.0 if bias is None else wide(bias)
    return products(lambda a, b: a @ b.T, rows, weight, weight.shape[1], dtype, extra)


def draw_fully_connected(d):
    flatten, no_bias, hidden = d.flag(), d.flag(), d.int(1, 20)
    shape, dtype = d.shape(d.int(1, 4)), d.dtype()
    features = int(np.prod(shape[1:])) if flatten else shape[-1]
    attrs = {"num_hidden": hidden, **d.some(flatten=True, no_bias=False), **d.out_dtype()}
    attrs.update({} if flatten else {"flatten": False}, **({"no_bias": True} if no_bias else {}))
    inputs = [d.array(shape, dtype), d.array((hidden, features), dtype)]
    return Case(attrs, inputs if no_bias else [*inputs, d.array((hidden,), dtype)], infers=True)


operator("FullyConnected", fully_connected, draw_fully_connected)


def dot(attrs, a, b):
    """The last axis of a meets the first of b; transposing a moves its first axis last, b's last axis first."""
    a = np.moveaxis(a, 0, -1) if attrs.get("transpose_a", False) else a
    b = np.moveaxis(b, -1, 0) if attrs.get("transpose_b", False) else b
    terms = a.shape[-1]
    return products(lambda x, y: np.atleast_1d(np.tensordot(x, y, 1)), a, b, terms, out_dtype(attrs, a))


def draw_dot(d):
    dtype, inner, attrs = d.dtype(), d.int(1, 9), d.some(transpose_a=d.flag(), transpose_b=d.flag())
    attrs.update(d.out_dtype())
    a, b = (*d.shape(d.int(0, 2)), inner), (inner, *d.shape(d.int(0, 2)))
    a = (a[-1], *a[:-1]) if attrs.get("transpose_a", False) else a
    b = (*b[1:], b[0]) if attrs.get("transpose_b", False) else b
    return Case(attrs, [d.array(a, dtype), d.array(b, dtype)])


operator("dot", dot, draw_dot)


def batch_dot(attrs, a, b):
    a = np.swapaxes(a, -1, -2) if attrs.get("transpose_a", False) else a
    b = np.swapaxes(b, -1, -2) if attrs.get("transpose_b", False) else b
    return products(np.matmul, a, b, a.shape[-1], out_dtype(attrs, a))


def draw_batch_dot(d):
    dtype, attrs = d.dtype(), d.some(transpose_a=d.flag(), transpose_b=d.flag())
    attrs.update(d.out_dtype())
    batch, (m, k, n) = d.shape(d.int(1, 3), high=4), d.shape(3, high=9)
    a = (k, m) if attrs.get("transpose_a", False) else (m, k)
    b = (n, k) if attrs.get("transpose_b", False) else (k, n)
    return Case(attrs, [d.array((*batch, *a), dtype), d.array((*batch, *b), dtype)])


operator("batch_dot", batch_dot, draw_batch_dot)


def heads_of(attrs, projections):
    """(query, key, value), each (batch * heads, length, size), of projections (length, batch, heads * 3 * size)."""
    length, batch, width = projections.shape
    split = projections.reshape(length, batch * attrs["heads"], 3, width // (3 * attrs["heads"]))
    return split.transpose(2, 1, 0, 3)


def attention_scores(attrs, projections):
    query, key, _ = heads_of(attrs, projections)
    size = query.shape[-1]
    dtype = out_dtype(attrs, projections)
    return products(lambda q, k: q @ k.transpose(0, 2, 1) / np.sqrt(size), query, key, size + 2, dtype)


def attention_values(attrs, projections, attention):
    value = heads_of(attrs, projections)[2]
    length, batch, width = projections.shape

    def apply(weights, values):
        return (weights @ values).transpose(1, 0, 2).reshape(length, batch, width // 3)

    return products(apply, attention, value, length, out_dtype(attrs, projections))


def draw_projections(d):
    heads, size, length, batch = d.int(1, 4), d.int(1, 16), d.int(1, 9), d.int(1, 3)
    return Case({"heads": heads, **d.out_dtype()}, [d.array((length, batch, heads * 3 * size), d.dtype())])


def draw_attention(d):
    case = draw_projections(d)
    (length, batch, _), dtype = case.inputs[0].shape, case.inputs[0].dtype
    attention = d.array((batch * case.attrs["heads"], length, length), dtype, 0, 1)
    return Case(case.attrs, [*case.inputs, attention], infers=True)


def separate_heads(attrs, projections, parts=1):
    """`parts` arrays, each (batch, heads, length, size), of (batch, length, parts * heads * size)."""
    batch, length, width = projections.shape
    heads = attrs["heads"]
    return projections.reshape(batch, length, parts, heads, width // (parts * heads)).transpose(2, 0, 3, 1, 4)


def float_output(attrs, data):
    return np.dtype(attrs.get("enabled_float_output", out_dtype(attrs, data)))


def fused_scores(attrs, query, key):
    size = query.shape[-1]
    return products(lambda q, k: q @ k.swapaxes(-1, -2), query, key, size, float_output(attrs, query))


def scores_of_two(attrs, queries, keys):
    return fused_scores(attrs, separate_heads(attrs, queries)[0], separate_heads(attrs, keys)[0])


def scores_of_split(attrs, projections):
    return fused_scores(attrs, *separate_heads(attrs, projections, 3)[:2])


def fused_values(attrs, attention, projections):
    value = separate_heads(attrs, projections, 3)[2]

    def apply(weights, values):
        heads = (weights @ values).transpose(0, 2, 1, 3)
        return heads.reshape(*heads.shape[:2], -1)

    return products(apply, attention, value, attention.shape[-1], float_output(attrs, attention))


def draw_fused_attention(parts, attention=False):
    def draw(d):
        heads, size, length, batch, dtype = d.int(1, 4), d.int(1, 16), d.int(1, 9), d.int(1, 3), d.dtype()
        output = d.some(enabled_float_output="float32") or d.out_dtype()
        arrays = [d.array((batch, length, n * heads * size), dtype) for n in parts]
        if attention:
            arrays.insert(0, d.array((batch, heads, d.int(1, 9), length), dtype, 0, 1))
        return Case({"heads": heads, **output}, arrays)

    return draw


operator("_sg_onednn_selfatt_qk", scores_of_two, draw_fused_attention([1, 1]))
operator("_sg_onednn_selfatt_qk_split", scores_of_split, draw_fused_attention([3]))
operator("_sg_onednn_selfatt_valatt", fused_values, draw_fused_attention([3], attention=True))
operator("_contrib_interleaved_matmul_selfatt_qk", attention_scores, draw_projections)
operator("_contrib_interleaved_matmul_selfatt_valatt", attention_values, draw_attention)


def attend(query, key, value, scale, shown, bf16):
    """softmax(scale * query key^T) value over the keys that are shown, and its error in units of float32's rounding.

    An exponential multiplies its argument's error. Kernels for bfloat16 round what values are weighted by.
    """
    products_of_sizes = np.abs(query) @ np.abs(key).swapaxes(-1, -2)
    scores = np.where(shown, scale * (query @ key.swapaxes(-1, -2)), -np.inf)
    largest = np.max(scores, axis=-1, keepdims=True, initial=-1e300)
    powers = np.exp(scores - largest)
    total = powers.sum(axis=-1, keepdims=True)
    weights = np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)
    argument = (query.shape[-1] + 4) * scale * np.max(products_of_sizes, axis=-1, keepdims=True, initial=0)
    relative = 2 * argument + 2 * key.shape[-2] + 64 + (2**16 if bf16 else 0)
    return weights @ value, relative * (weights @ np.abs(value))


def is_shown(attrs, masks, scores):
    """Which keys a query sees, by the optional last input and by position."""
    shown = np.ones(scores, bool)
    if attrs.get("causal", False):
        shown &= before_diagonal(*scores[-2:], attrs.get("row_offset"))
    if attrs.get("masking", "none") == "none":
        return shown
    if attrs["masking"] == "mask":
        return shown & (wide(masks[0]) != 0)
    return shown & (np.arange(scores[-1]) < wide(masks[0])[..., None])


def before_diagonal(rows, keys, offset=None):
    """Row i sees key j where j <= i + offset; by default the last row sees all keys, each row before it one less."""
    return np.arange(keys) <= np.arange(rows)[:, None] + (keys - rows if offset is None else offset)


def attention(attrs, query, key, value, *masks):
    shown = is_shown(attrs, masks, (*query.shape[:-1], key.shape[-2]))
    operands = wide(query), wide(key), wide(value)
    y, error = attend(*operands, attrs.get("scale", 1.0), shown, query.dtype == BFLOAT16)
    return Expected(y, out_dtype(attrs, query), error)


def interleaved_attention(attrs, projections, *masks):
    heads = wide(heads_of(attrs, projections))
    length, batch, width = projections.shape
    shown = is_shown(attrs, masks, (*heads[0].shape[:-1], length))
    results = attend(*heads, attrs.get("scale", 1.0), shown, projections.dtype == BFLOAT16)
    y, error = (x.transpose(1, 0, 2).reshape(length, batch, width // 3) for x in results)
    return Expected(y, out_dtype(attrs, projections), error)


def draw_separate_attention(d):
    heads, (queries, keys, size, value_size) = d.shape(d.int(1, 3), high=3), d.shape(4, high=20)
    dtype = d.dtype()
    masking = d.of(["none", "length", "mask"])
    by_position = {"causal": d.flag(), "row_offset": d.of([None, d.int(-3, 20)])}
    attrs = {**d.some(scale=d.of([0.5, 0.125]), masking=masking, **by_position), **d.out_dtype()}
    shapes = (queries, size), (keys, size), (keys, value_size)
    arrays = [d.array((*heads, *shape), dtype) for shape in shapes]
    if attrs.get("masking") == "length":
        arrays.append(d.array((*heads, queries), np.dtype("int32"), -1, 21))
    elif attrs.get("masking") == "mask":
        shape = tuple(1 if d.chance(0.2) else size for size in (*heads, queries))
        mask = d.array((*shape, keys), d.of([np.dtype("bool"), np.dtype("int32")]), 0, 1)
        arrays.append(mask.astype("float32") * np.float32(0.5) if d.chance(0.2) else mask)
    return Case(attrs, arrays)


def draw_interleaved_attention(d):
    case = draw_projections(d)
    options = {"masking": d.of(["none", "length"]), "causal": d.flag(), "row_offset": d.of([None, d.int(-3, 12)])}
    attrs = {**case.attrs, **d.some(scale=d.of([0.5, 0.125]), **options)}
    if attrs.get("masking") == "length":
        length, batch, _ = case.inputs[0].shape
        case.inputs.append(d.array((batch * attrs["heads"], length), np.dtype("int32"), -1, 11))
    return Case(attrs, case.inputs)


def heads_first(attrs, x):
    return wide(x).transpose((0, 2, 1, 3) if attrs.get("layout", "bshd") == "bshd" else (1, 2, 0, 3))


def attention_with_lse(attrs, query, key, value):
    q, k, v = (heads_first(attrs, x) for x in (query, key, value))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scale = attrs.get("scale")
    scale = float(np.float32(1 / np.sqrt(max(1, q.shape[-1])))) if scale is None else scale
    rows, keys = q.shape[2], k.shape[2]
    shown = before_diagonal(rows, keys) if attrs.get("causal", True) else np.ones((rows, keys), bool)
    is_rounded = query.dtype.itemsize == 2 and attrs.get("p_dtype", "bfloat16") != "float32"
    y, error = attend(q, k, v, scale, shown, is_rounded)
    if attrs.get("p_dtype") == "float16":  # its smallest number is 2^-24
        error = error + np.abs(v).sum(axis=-2, keepdims=True)
    scores = np.where(shown, scale * (q @ k.swapaxes(-1, -2)), -np.inf)
    with np.errstate(divide="ignore"):
        largest = np.max(scores, axis=-1, initial=-1e300)
        lse = largest + np.log(np.exp(scores - largest[..., None]).sum(axis=-1))
    argument = scale * np.max(np.abs(q) @ np.abs(k).swapaxes(-1, -2), axis=-1, initial=0)
    lse_error = (q.shape[-1] + 4) * argument + keys + 64 + np.where(np.isfinite(lse), np.abs(lse), 0)
    axes = (0, 2, 1, 3) if attrs.get("layout", "bshd") == "bshd" else (2, 0, 1, 3)
    statistics = np.dtype("float64" if query.dtype == np.float64 else "float32")
    result = Expected(y.transpose(axes), out_dtype(attrs, query), error.transpose(axes))
    return [result, Expected(lse, statistics, lse_error)]


def draw_attention_with_lse(d):
    batch, rows, keys, size, value_size = d.shape(5, high=20)
    kv_heads, dtype = d.int(1, 3), d.dtype()
    heads = kv_heads * d.int(1, 3)
    attrs = d.some(
        scale=d.of([0.5, 0.125, None]),
        causal=d.flag(),
        layout=d.of(["bshd", "sbhd"]),
        p_dtype=d.of(["bfloat16", "float16", "float32"]),
        key_block=d.int(0, 9),
        last_key_first=d.flag(),
    )
    shapes = [(batch, rows, heads, size), (batch, keys, kv_heads, size), (batch, keys, kv_heads, value_size)]
    if attrs.get("layout") == "sbhd":
        shapes = [(shape[1], shape[0], *shape[2:]) for shape in shapes]
    return Case({**attrs, **d.out_dtype()}, [d.array(shape, dtype) for shape in shapes])


operator("_contrib_attention", attention_with_lse, draw_attention_with_lse)
operator("_amp_attention", attention, draw_separate_attention)
operator("_amp_interleaved_attention", interleaved_attention, draw_interleaved_attention)


def ring_attention(attrs, query, key, value):
    """Of one rank, which has the whole sequence: the result and the log-sum-exps."""
    axes = (0, 2, 1, 3) if attrs.get("layout", "bshd") == "bshd" else (1, 2, 0, 3)
    q, k, v = (wide(array).transpose(axes) for array in (query, key, value))
    k, v = (np.repeat(array, q.shape[1] // array.shape[1], axis=1) for array in (k, v))
    rows = q.shape[2]
    shown = np.tri(rows, dtype=bool) if attrs.get("causal", True) else np.ones((rows, rows), bool)
    scale = float(np.float32(attrs.get("scale", q.shape[3] ** -0.5)))
    is_low = query.dtype != np.float32
    y, error = attend(q, k, v, scale, shown, is_low)
    scores = np.where(shown, scale * (q @ k.swapaxes(-1, -2)), -np.inf)
    lse = np.logaddexp.reduce(scores, axis=-1)
    products = scale * np.max(np.abs(q) @ np.abs(k).swapaxes(-1, -2), axis=-1, initial=0)
    back = np.argsort(axes)
    # A result that is rounded for the sum over steps has been rounded once more.
    error = error + (2**16 * np.abs(y) if is_low else 0)
    bound = (q.shape[-1] + 8) * products + 2 * rows + 64 + 4 * np.abs(lse)
    return [
        Expected(y.transpose(back), query.dtype, error.transpose(back)),
        Expected(lse, np.dtype(np.float32), bound),
    ]


def draw_ring_attention(d):
    dtype = d.of([np.dtype(np.float32), np.dtype(np.float16), BFLOAT16])
    batch, rows, kv_heads, size = d.int(1, 3), 2 * d.int(1, 6), d.int(1, 3), d.int(1, 20)
    heads, value_size = kv_heads * d.int(1, 3), d.int(1, 20)
    attrs = d.some(
        causal=d.flag(),
        scale=d.of([0.5, 0.125]),
        layout=d.of(["bshd", "sbhd"]),
        accum_dtype=d.of(["float32", dtype.name]),
        partial_dtype=d.of(["float32", dtype.name]),
        p_dtype=d.of(["bfloat16", "float32"]),
        key_block=d.int(0, 5),
        last_key_first=d.flag(),
    )
    low = {attrs.get("accum_dtype", "float32"), attrs.get("partial_dtype", "float32")} != {"float32"}
    attrs |= d.some(merge="lse" if low else d.of(["lse", "state"]))
    first = (batch, rows) if attrs.get("layout", "bshd") == "bshd" else (rows, batch)
    shapes = (heads, size), (kv_heads, size), (kv_heads, value_size)
    return Case(attrs, [d.array((*first, *shape), dtype) for shape in shapes])


operator("_contrib_ring_attention", ring_attention, draw_ring_attention)


# ---- reductions ----------------------------------------------------------------------------------


def reduced_axes(attrs, rank):
    given = {axis % rank for axis in attrs.get("axis") or ()}
    if not given:
        return tuple(range(rank))
    return tuple(sorted(set(range(rank)) - given if attrs.get("exclude", False) else given))


def reduce(function, attrs, x, terms=0.0):
    axes = reduced_axes(attrs, x.ndim)
    count = int(np.prod([x.shape[axis] for axis in axes]))

    def apply(values):  # the classic operators have no arrays of rank 0
        return np.atleast_1d(function(values, axis=axes, keepdims=attrs.get("keepdims", False)))

    error = terms * (count + 2) * apply(np.abs(wide(x))) if terms else 0
    return computed(apply(wide(x)), x.dtype, error)


def draw_reduce(d, types, empty=0.0, high=6):
    x = d.array(d.shape(d.int(1, 5), empty=empty, high=high), d.dtype(types), -2, 2)
    attrs = d.some(axis=d.of([None, d.some_axes(x.ndim), d.some_axes(x.ndim)]), keepdims=d.flag())
    return Case({**attrs, **({"exclude": True} if d.chance(0.2) else {})}, [x])


operator("sum", lambda attrs, x: reduce(np.sum, attrs, x, 1.0), lambda d: draw_reduce(d, NUMBERS, empty=0.04))
operator("mean", lambda attrs, x: reduce(np.mean, attrs, x, 1.0), lambda d: draw_reduce(d, FLOATS))
operator("max", lambda attrs, x: reduce(np.max, attrs, x), lambda d: draw_reduce(d, NUMBERS))
operator("min", lambda attrs, x: reduce(np.min, attrs, x), lambda d: draw_reduce(d, NUMBERS))


# ---- softmax -------------------------------------------------------------------------------------


def normalised(x, axis, logarithm, dtype, used=True):
    """Softmax over the `used` elements; the others are 0. An exponential multiplies its argument's error.

    One unit per term of the sum, a few for exp and the quotient, and those of the argument (below 10 here). A logarithm
    is the difference of numbers of that size.
    """
    used = np.broadcast_to(used, x.shape)
    largest = np.max(np.where(used, x, -np.inf), axis=axis, keepdims=True, initial=-1e300)
    shifted = np.where(used, x - largest, 0)
    powers = np.where(used, np.exp(shifted), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.sum(powers, axis=axis, keepdims=True)
        y = shifted - np.log(total) if logarithm else powers / total
    y = np.where(used, y, 0)
    argument = np.max(np.abs(x), axis=axis, keepdims=True, initial=0)
    relative = x.shape[axis] + 16 + 8 * argument
    # the library's logarithm has an absolute error, see SMOOTH
    return Expected(y, dtype, relative * (1 + np.abs(y)) + 64 if logarithm else relative * y)


def softmax(attrs, x, length=None, logarithm=False):
    axis = attrs.get("axis", -1) % x.ndim
    used = True
    if length is not None:
        positions = np.arange(x.shape[axis]).reshape((-1,) + (1,) * (x.ndim - 1 - axis))
        used = positions < np.expand_dims(wide(length), axis)
    temperature = attrs.get("temperature")
    scaled = wide(x) / (1.0 if temperature is None else temperature)
    return normalised(scaled, axis, logarithm, np.dtype(attrs.get("dtype") or x.dtype), used)


def draw_softmax(d):
    x = d.array(d.shape(d.int(1, 5), high=9), d.dtype())
    attrs = d.some(temperature=d.of([None, 0.5, 3.0, -1.5, 1.0]))
    if d.chance(0.6):
        attrs["axis"] = d.axis(x.ndim)
    if d.chance(0.3):
        attrs["dtype"] = d.of([None, *(dtype.name for dtype in FLOATS)])
    if d.chance(0.6):
        return Case({**attrs, **d.some(use_length=d.of([None, False]))}, [x])
    shape = np.delete(x.shape, attrs.get("axis", -1)).astype(int)
    length = d.array(tuple(shape), d.of([np.dtype("int32"), np.dtype("int64")]), 0, 11)
    return Case({**attrs, "use_length": True}, [x, np.asarray(length)])


operator("softmax", softmax, draw_softmax)
operator("log_softmax", lambda attrs, *inputs: softmax(attrs, *inputs, logarithm=True), draw_softmax)


def softmax_activation(attrs, x):
    """Mode instance is the last axis in MXNet, whatever its documentation says of data beyond rank 2."""
    return normalised(wide(x), 1 if attrs.get("mode", "instance") == "channel" else x.ndim - 1, False, x.dtype)


operator(
    "SoftmaxActivation",
    softmax_activation,
    lambda d: Case(d.some(mode=d.of(["instance", "channel"])), [d.array(d.shape(d.int(2, 5)), d.dtype())]),
)


def softmax_output(attrs, x, label):
    """Over axis 1, over the last one, or over all axes but the first as one."""
    if attrs.get("multi_output", False) or attrs.get("preserve_shape", False):
        return normalised(wide(x), 1 if attrs.get("multi_output", False) else x.ndim - 1, False, x.dtype)
    y = normalised(wide(x).reshape(x.shape[0], int(np.prod(x.shape[1:]))), 1, False, x.dtype)
    return Expected(y.values.reshape(x.shape), y.dtype, y.error.reshape(x.shape))


def draw_softmax_output(d):
    x = d.array(d.shape(d.int(2, 5)), d.dtype())
    attrs = d.some(multi_output=d.flag(), preserve_shape=d.flag(), grad_scale=2.0, ignore_label=0.0)
    attrs.update(d.some(use_ignore=d.flag(), normalization=d.of(["null", "batch", "valid"]), out_grad=d.flag()))
    attrs.update(d.some(smooth_alpha=0.125))
    multi = attrs.get("multi_output", False)
    label = (x.shape[0], int(np.prod(x.shape[2:]))) if multi else x.shape[:-1]
    return Case(attrs, [x, np.zeros(label, x.dtype)], infers=True)


operator("SoftmaxOutput", softmax_output, draw_softmax_output)


# ---- other losses: the label is not read ----


def same(attrs, x, *labels):
    return Expected(x if x.dtype == np.float64 else wide(x), x.dtype)


def logistic(attrs, x, label):
    y = 1 / (1 + np.exp(-wide(x)))
    return Expected(y, x.dtype, 8 * y)


def draw_regression(d):
    x = d.array(d.shape(2), d.dtype())
    label = x.shape[:1] if x.shape[1] == 1 else x.shape
    return Case(d.some(grad_scale=0.5), [x, np.zeros(label, x.dtype)], infers=True)


def draw_svm(d):
    x = d.array(d.shape(2), d.dtype())
    attrs = d.some(margin=0.5, regularization_coefficient=2.0, use_linear=True)
    return Case(attrs, [x, np.zeros(x.shape[:1], x.dtype)], infers=True)


def draw_make_loss(d):
    attrs = d.some(grad_scale=0.5, valid_thresh=1.0, normalization=d.of(["null", "batch", "valid"]))
    return Case(attrs, [d.array(d.shape(d.int(1, 4)), d.dtype())])


operator("LinearRegressionOutput MAERegressionOutput", same, draw_regression)
operator("LogisticRegressionOutput", logistic, draw_regression)
operator("SVMOutput", same, draw_svm)
operator("MakeLoss", same, draw_make_loss)
operator("make_loss", same, lambda d: Case({}, [d.array(d.shape(d.int(1, 4)), d.dtype())]))


# ---- norms ---------------------------------------------------------------------------------------


def along(vector, axis, rank):
    return wide(vector).reshape((-1,) + (1,) * (rank - 1 - axis % rank))


def batch_norm(attrs, x, gamma, beta, mean, variance):
    axis = attrs.get("axis", 1)
    inverse = 1 / np.sqrt(wide(variance) + attrs.get("eps", 1e-3))
    scale = (np.ones_like(inverse) if attrs.get("fix_gamma", True) else wide(gamma)) * inverse
    m, s, b = (along(v, axis, x.ndim) for v in (mean, scale, beta))
    y = (wide(x) - m) * s + b
    # either (x - m) s + b or x s + (b - m s)
    output = Expected(y, x.dtype, 8 * ((np.abs(wide(x)) + np.abs(m)) * np.abs(s) + np.abs(b)))
    if not attrs.get("output_mean_var", False):
        return output
    return [output, Expected(wide(mean), mean.dtype, 0), Expected(inverse, mean.dtype, 4 * inverse)]


def sync_batch_norm(attrs, *inputs):
    """As batch_norm, but the variance itself is an output."""
    outputs = batch_norm(attrs, *inputs)
    return outputs if isinstance(outputs, Expected) else [*outputs[:2], Expected(wide(inputs[4]), inputs[4].dtype, 0)]


def draw_batch_norm(d, any_axis=True):
    rank = d.int(1 if any_axis else 2, 5)
    axis = 1 if rank > 1 and (d.flag() or not any_axis) else d.axis(rank)
    x = d.array(d.shape(rank, high=18 if rank < 4 else 5), d.dtype())
    attrs = {} if axis == 1 else {"axis": axis}
    attrs.update(d.some(eps=d.of([1e-5, 2e-5, 0.1]), momentum=0.5, fix_gamma=d.flag()))
    attrs.update(d.some(use_global_stats=d.flag(), output_mean_var=d.flag()))
    statistics = x.dtype if x.dtype.itemsize > 2 else np.dtype("float32")
    channels = [d.array((x.shape[axis],), statistics) for _ in range(3)]
    return Case(attrs, [x, *channels, d.array((x.shape[axis],), statistics, 0.125, 4)], infers=True)


operator("BatchNorm", batch_norm, draw_batch_norm)
operator("_contrib_SyncBatchNorm", sync_batch_norm, lambda d: draw_batch_norm(d, any_axis=False))


def layer_norm(attrs, x, gamma, beta):
    axis, eps = attrs.get("axis", -1), attrs.get("eps", 1e-5)
    v = wide(x)
    mean = v.mean(axis, keepdims=True)
    deviation = np.sqrt(v.var(axis, keepdims=True) + eps)
    g, b = along(gamma, axis, x.ndim), along(beta, axis, x.ndim)
    y = (v - mean) / deviation * g + b
    # The mean's error of n units of |x| counts n times over deviation; the deviation's is relative, of 2 n units where
    # the elements are not much closer to each other than to 0.
    terms = x.shape[axis] + 4
    size = np.max(np.abs(v), axis=axis, keepdims=True)
    spread = terms * size / deviation
    output = Expected(y, x.dtype, (spread * (2 + spread / terms)) * np.abs(g) + 4 * np.abs(b) + 4 * np.abs(y))
    if not attrs.get("output_mean_var", False):
        return output
    return [
        output,
        Expected(mean, x.dtype, terms * size),
        Expected(deviation, x.dtype, terms * size * (1 + size / deviation)),
    ]


def draw_layer_norm(d):
    rank = d.int(1, 5)
    axis = d.axis(rank)
    shape = list(d.shape(rank))
    shape[axis] = d.int(2, 16)
    x = d.array(tuple(shape), d.dtype())
    attrs = {} if axis == -1 else {"axis": axis}
    attrs.update(d.some(eps=d.of([1e-12, 0.1]), output_mean_var=d.flag()))
    # beside data of low precision gamma and beta may be float32
    scales = np.dtype("float32") if x.dtype.itemsize == 2 and d.flag() else x.dtype
    return Case(attrs, [x, *(d.array((x.shape[axis],), scales) for _ in range(2))], infers=scales == x.dtype)


operator("LayerNorm", layer_norm, draw_layer_norm)


def l2_normalization(attrs, x):
    """By the norm of an instance, of the channels at one place, or of the places of one channel."""
    axes = {"instance": range(1, x.ndim), "channel": (1,), "spatial": range(2, x.ndim)}[attrs.get("mode", "instance")]
    v = wide(x)
    y = v / np.sqrt(np.sum(v * v, axis=tuple(axes), keepdims=True) + attrs.get("eps", 1e-10))
    return Expected(y, x.dtype, (x.size + 4) * np.abs(y))


def draw_l2_normalization(d):
    attrs = d.some(mode=d.of(["instance", "channel", "spatial"]), eps=d.of([1e-6, 1.0]))
    rank = d.int(2 if attrs.get("mode", "instance") == "instance" else 3, 5)
    return Case(attrs, [d.array(d.shape(rank), d.dtype())])


operator("L2Normalization", l2_normalization, draw_l2_normalization)


# ---- functions of 2.0 ------------------------------------------------------------------------------


def numpy_reduce(function, attrs, x, terms=0.0, keeps_dtype=False, integers_give=None):
    """Arrays of rank 0 exist, and the output's dtype is an attribute."""
    axis = attrs.get("axis")
    dtype = np.dtype("int64") if x.dtype == np.dtype("bool") and not keeps_dtype else x.dtype
    if integers_give is not None and not is_float(x.dtype):
        dtype = integers_give
    dtype = np.dtype(attrs.get("dtype") or dtype)
    v = wide(x).astype(np.float64) if is_float(dtype) else wide(x)
    y = np.asarray(function(v, axis=axis, keepdims=attrs.get("keepdims", False)))
    magnitude = np.asarray(function(np.abs(v), axis=axis, keepdims=attrs.get("keepdims", False)))
    return computed(y, dtype, terms * (x.size + 2) * np.abs(magnitude) if terms else 0)


def draw_numpy_reduce(d, types, with_dtype=True):
    x = d.array(d.shape(d.int(1, 4), high=4, empty=0), d.dtype(types), -2, 2)
    axis = d.of([None, d.axis(x.ndim), d.some_axes(x.ndim) or None])
    attrs = d.some(axis=(axis,) if isinstance(axis, int) else axis, keepdims=d.flag())
    if with_dtype and is_float(x.dtype):
        attrs.update(d.some(dtype=d.of([None, "float32"])))
    return Case(attrs, [x])


FLOAT32 = np.dtype("float32")
operator("_npi_sum", lambda attrs, x: numpy_reduce(np.sum, attrs, x, 1.0), lambda d: draw_numpy_reduce(d, NUMBERS))
operator("_npi_prod", lambda attrs, x: numpy_reduce(np.prod, attrs, x, 1.0), lambda d: draw_numpy_reduce(d, FLOATS))
operator("prod", lambda attrs, x: reduce(np.prod, attrs, x, 1.0), lambda d: draw_reduce(d, FLOATS, high=3))
operator(
    "_npi_mean",
    lambda attrs, x: numpy_reduce(np.mean, attrs, x, 1.0, integers_give=FLOAT32),
    lambda d: draw_numpy_reduce(d, NUMBERS),
)
for name, function in {"_npi_max": np.max, "_npi_min": np.min}.items():
    operator(
        name,
        lambda attrs, x, function=function: numpy_reduce(function, attrs, x, keeps_dtype=True),
        lambda d: draw_numpy_reduce(d, NUMBERS, with_dtype=False),
    )


def masked_softmax(attrs, x, mask, logarithm=False):
    """Hidden elements become 0, or -inf as logarithms."""
    shown = np.broadcast_to(wide(mask) != 0, x.shape)
    y = normalised(wide(x) / attrs.get("temperature", 1.0), attrs.get("axis", -1), logarithm, x.dtype, shown)
    return Expected(np.where(shown, y.values, -np.inf), y.dtype, y.error) if logarithm else y


def draw_masked_softmax(d):
    x = d.array(d.shape(d.int(1, 5)), d.dtype())
    shape = tuple(1 if d.chance(0.2) else size for size in x.shape)
    attrs = d.some(axis=d.axis(x.ndim), temperature=d.of([0.5, 3.0]), normalize=d.flag())
    mask = d.array(shape, d.of([np.dtype("bool"), np.dtype("int32")]), 0, 1)
    if d.chance(0.2):  # whatever is not 0 lets through, fractions too
        mask = mask.astype("float32") * np.float32(0.5)
    return Case(attrs, [x, mask])


operator("masked_softmax", masked_softmax, draw_masked_softmax)
operator("masked_log_softmax", lambda attrs, *xs: masked_softmax(attrs, *xs, logarithm=True), draw_masked_softmax)
