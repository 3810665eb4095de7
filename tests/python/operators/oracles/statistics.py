"""Recurrent layers, norms over groups, statistics along axes and further products."""

import numpy as np

from .core import ALL_TYPES, FLOATS, NUMBERS, Case, Expected, computed, is_float, moved, operator, out_dtype, wide
from .sums import draw_softmax, products, softmax


def draw_lengths(d, batch, high=6):
    """Integers, as int32 or float32, some of them out of range."""
    lengths = d.array((batch,), d.of([np.dtype("int32"), np.dtype("float32")]), -1, high)
    return np.trunc(lengths).astype(lengths.dtype)


# ---- recurrent layers ----------------------------------------------------------------------------

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_step(attrs, x, h, state, cell):
    """The new state and cell of gates' sums over the input and over the state."""
    mode = attrs["mode"]
    if mode == "lstm":
        into, forget, update, out = np.split(x + h, 4)
        cell = sigmoid(forget) * cell + sigmoid(into) * np.tanh(update)
        if attrs.get("lstm_state_clip_min") is not None:
            cell = np.clip(cell, attrs["lstm_state_clip_min"], attrs["lstm_state_clip_max"])
        return sigmoid(out) * np.tanh(cell), cell
    if mode == "gru":
        (reset, update, new), (h_reset, h_update, h_new) = np.split(x, 3), np.split(h, 3)
        update = sigmoid(update + h_update)
        return (1 - update) * np.tanh(new + sigmoid(reset + h_reset) * h_new) + update * state, cell
    return np.tanh(x + h) if mode == "rnn_tanh" else np.maximum(x + h, 0), cell


def rnn(attrs, data, parameters, state, *rest):
    rest = list(rest)
    cells = wide(rest.pop(0)).copy() if attrs["mode"] == "lstm" else np.zeros(state.shape)
    (time, batch, inputs), size = data.shape, attrs["state_size"]
    lengths = [min(max(int(n), 0), time) for n in rest[0]] if rest else [time] * batch
    rows, directions = GATES[attrs["mode"]] * size, 2 if attrs.get("bidirectional") else 1
    pairs = [(layer, direction) for layer in range(attrs["num_layers"]) for direction in range(directions)]
    stream = iter(np.split(wide(parameters), np.cumsum(list(rnn_parts(attrs, inputs)))[:-1]))
    weights = {pair: (next(stream).reshape(rows, -1), next(stream).reshape(rows, size)) for pair in pairs}
    biases = {pair: (next(stream), next(stream)) for pair in pairs}
    x, hidden = wide(data), wide(state).copy()
    for layer in range(attrs["num_layers"]):
        y = np.zeros((time, batch, directions * size))
        for direction in range(directions):
            (w_x, w_h), (b_x, b_h) = weights[layer, direction], biases[layer, direction]
            k = layer * directions + direction
            for n, length in enumerate(lengths):
                for t in range(length)[:: -1 if direction else 1]:
                    sums = w_x @ x[t, n] + b_x, w_h @ hidden[k, n] + b_h
                    hidden[k, n], cells[k, n] = rnn_step(attrs, *sums, hidden[k, n], cells[k, n])
                    y[t, n, direction * size : (direction + 1) * size] = hidden[k, n]
        x = y
    outputs = [x, hidden, cells][: (3 if attrs["mode"] == "lstm" else 2) if attrs.get("state_outputs") else 1]
    return [Expected(y, data.dtype, 1024 * (1 + np.abs(y))) for y in outputs]


def rnn_parts(attrs, inputs):
    """Sizes of the vectors that the parameters consist of."""
    rows, directions = GATES[attrs["mode"]] * attrs["state_size"], 2 if attrs.get("bidirectional") else 1
    for layer in range(attrs["num_layers"]):
        for _ in range(directions):
            yield rows * (directions * attrs["state_size"] if layer else inputs)
            yield rows * attrs["state_size"]
    yield from [rows] * (2 * directions * attrs["num_layers"])


def draw_rnn(d):
    attrs = {"mode": d.of(list(GATES)), "state_size": d.int(1, 5), "num_layers": d.int(1, 3)}
    attrs.update(d.some(bidirectional=d.flag(), state_outputs=d.flag(), p=0.5))
    dtype, (time, batch, inputs) = d.dtype(), d.shape(3, high=5)
    if attrs["mode"] == "lstm":
        if d.chance(0.4):
            attrs.update(lstm_state_clip_min=d.of([-0.25, -0.5]), lstm_state_clip_max=d.of([0.125, 0.5]))
        attrs.update(d.some(lstm_state_clip_nan=d.flag()))
    # with small weights, errors do not grow from step to step
    parameters = d.array((sum(rnn_parts(attrs, inputs)),), dtype, -0.5, 0.5)
    states = (attrs["num_layers"] * (2 if attrs.get("bidirectional") else 1), batch, attrs["state_size"])
    arrays = [d.array((time, batch, inputs), dtype), parameters]
    arrays += [d.array(states, dtype, -1, 1) for _ in range(2 if attrs["mode"] == "lstm" else 1)]
    if d.chance(0.6):
        return Case({**attrs, **d.some(use_sequence_length=False)}, arrays, infers=True)
    return Case({**attrs, "use_sequence_length": True}, [*arrays, draw_lengths(d, batch)])


operator("RNN", rnn, draw_rnn)


# ---- sequences -----------------------------------------------------------------------------------


def sequence_lengths(attrs, x, rest, least):
    axis = attrs.get("axis", 0)
    if not rest:
        return [x.shape[axis]] * x.shape[1 - axis]
    return [min(max(int(n), least), x.shape[axis]) for n in rest[0]]


def sequence_last(attrs, x, *rest):
    axis = attrs.get("axis", 0)
    lengths = sequence_lengths(attrs, x, rest, 1)
    steps = np.moveaxis(x, axis, 0)
    rows = [steps[length - 1, n] for n, length in enumerate(lengths)]
    return moved(np.stack(rows) if rows else np.zeros((0, *x.shape[2:]), x.dtype))


def sequence_reverse(attrs, x, *rest):
    y = x.copy()
    for n, length in enumerate(sequence_lengths(attrs, x, rest, 0)):
        y[:length, n] = x[:length, n][::-1]
    return moved(y)


def draw_sequence(d, axes):
    attrs = d.some(axis=d.of(axes))
    x = d.array(d.shape(d.int(2, 4), empty=0), d.dtype(ALL_TYPES))
    if d.chance(0.3):
        return Case({**attrs, **d.some(use_sequence_length=False)}, [x])
    return Case({**attrs, "use_sequence_length": True}, [x, draw_lengths(d, x.shape[1 - attrs.get("axis", 0)])])


operator("SequenceLast", sequence_last, lambda d: draw_sequence(d, [0, 1]))
operator("SequenceReverse", sequence_reverse, lambda d: draw_sequence(d, [0]))


# ---- norms over places ---------------------------------------------------------------------------


def group_norm(attrs, x, gamma, beta, groups):
    """Like LayerNorm (see there for the error) over the places of each group of channels."""
    v = wide(x).reshape(x.shape[0], groups, -1)
    mean = v.mean(-1, keepdims=True)
    deviation = np.sqrt(v.var(-1, keepdims=True) + attrs["eps"])
    shape = (1, -1) + (1,) * (x.ndim - 2)
    g, b = (np.repeat(wide(a), x.shape[1] // a.size).reshape(shape) for a in (gamma, beta))
    y = ((v - mean) / deviation).reshape(x.shape) * g + b
    terms, size = v.shape[-1] + 4, np.max(np.abs(v), axis=-1, keepdims=True)
    spread = np.broadcast_to(terms * size / deviation, v.shape).reshape(x.shape)
    output = Expected(y, x.dtype, spread * (2 + spread / terms) * np.abs(g) + 4 * np.abs(b) + 4 * np.abs(y))
    if not attrs.get("output_mean_var", False):
        return output
    mean, deviation, size = mean[..., 0], deviation[..., 0], size[..., 0]
    error = terms * size
    return [output, Expected(mean, x.dtype, error), Expected(deviation, x.dtype, error * (1 + size / deviation))]


def draw_group_norm(d, num_groups, attrs):
    shape = [d.int(1, 3), num_groups * d.int(1, 4), *d.shape(d.int(1, 3), high=4, empty=0)]
    x = d.array(tuple(shape), d.dtype())
    scales = np.dtype("float32") if x.dtype.itemsize == 2 and d.flag() else x.dtype
    size = num_groups if num_groups > 1 and d.chance(0.2) else shape[1]  # one for each group: 1.x
    infers = scales == x.dtype and size == shape[1]
    return Case(attrs, [x, *(d.array((size,), scales) for _ in range(2))], infers=infers)


def draw_instance_norm(d):
    case = draw_group_norm(d, 1, d.some(eps=d.of([1e-5, 0.1])))
    channels = case.inputs[0].shape[1]
    assert case.inputs[1].shape == (channels,)
    return case


def draw_groups(d):
    groups = d.of([1, 1, 2, 3])
    attrs = d.some(eps=d.of([1e-3, 0.1]), output_mean_var=d.flag())
    if groups > 1 or d.flag():
        attrs["num_groups"] = groups
    return draw_group_norm(d, groups, attrs)


operator(
    "InstanceNorm",
    lambda attrs, x, *scales: group_norm({"eps": 1e-3, **attrs}, x, *scales, x.shape[1]),
    draw_instance_norm,
)
operator(
    "GroupNorm",
    lambda attrs, x, *scales: group_norm({"eps": 1e-5, **attrs}, x, *scales, attrs.get("num_groups", 1)),
    draw_groups,
)


def lrn(attrs, x):
    """Squares of (nsize - 1) // 2 channels on either side, each over nsize."""
    v, reach = wide(x), (attrs["nsize"] - 1) // 2
    squares = [np.sum(v[:, max(0, c - reach) : c + reach + 1] ** 2, axis=1) for c in range(x.shape[1])]
    squares = np.stack(squares, axis=1) if squares else v
    base = attrs.get("knorm", 2.0) + attrs.get("alpha", 1e-4) / attrs["nsize"] * squares
    y = v * base ** -attrs.get("beta", 0.75)
    return Expected(y, x.dtype, 16 * np.abs(y))


def draw_lrn(d):
    attrs = {"nsize": d.int(1, 7), **d.some(alpha=1.0, beta=0.5, knorm=d.of([1.0, 0.5]))}
    return Case(attrs, [d.array(d.shape(d.int(2, 5)), d.dtype())])


operator("LRN", lrn, draw_lrn)


# ---- statistics along axes -----------------------------------------------------------------------


def draw_axes(d, rank):
    """One axis, some, or (None) all of them."""
    return d.of([None, (d.axis(rank),), d.some_axes(rank)])


def norm(attrs, x):
    axis, keepdims = attrs.get("axis") or None, attrs.get("keepdims", False)
    v = wide(x).astype(np.float64)
    if attrs.get("ord", 2) == 1:
        y = np.sum(np.abs(v), axis=axis, keepdims=keepdims)
    else:
        y = np.sqrt(np.sum(v * v, axis=axis, keepdims=keepdims))
    y = np.atleast_1d(y)
    return computed(y, np.dtype(attrs.get("out_dtype") or x.dtype), (x.size + 4) * np.abs(y))


def draw_norm(d):
    x = d.array(d.shape(d.int(1, 4), high=4), d.dtype(NUMBERS))
    attrs = d.some(axis=draw_axes(d, x.ndim), ord=d.of([1, 2]), keepdims=d.flag())
    return Case({**attrs, **d.some(out_dtype=d.of([None, "float32", "float64"]))}, [x])


operator("norm", norm, draw_norm)


def numpy_norm(attrs, x):
    axis, order, flag = attrs.get("axis"), attrs.get("ord", 2.0), attrs.get("flag", -1)
    v, keepdims = wide(x).astype(np.float64), attrs.get("keepdims", False)
    if flag == -2 or (flag == 1 and len(axis) == 2):
        y = np.sqrt(np.sum(v * v, axis=axis, keepdims=keepdims))
    else:
        y = np.linalg.norm(v, "nuc" if flag == 2 else order, axis[0] if len(axis) == 1 else axis, keepdims)
    # singular values may be small beside the largest one
    return computed(np.asarray(y), x.dtype, (x.size + 64) * (np.abs(y) + np.max(np.abs(v))))


def draw_numpy_norm(d):
    x = d.array(d.shape(d.int(1, 4), high=4, empty=0), d.dtype(FLOATS))
    rank, attrs = x.ndim, d.some(keepdims=d.flag())
    if rank > 1 and d.chance(0.4):
        axes = d.of([(i, j) for i in range(rank) for j in range(rank) if i != j])
        attrs.update(axis=axes, ord=d.of([1.0, -1.0, 2.0, -2.0, np.inf, -np.inf]), flag=d.of([-1, 0, 1, 2]))
    elif d.chance(0.3):
        attrs.update(flag=-2, **d.some(axis=None, ord=2.0))
    else:
        attrs.update(axis=(d.axis(rank),), ord=d.of([0.0, 1.0, 2.0, 3.0, 0.5, np.inf, -np.inf]))
    return Case(attrs, [x])


operator("_npi_norm", numpy_norm, draw_numpy_norm)


def of_statistic(x):
    """The dtype: float32 of integers."""
    return x.dtype if is_float(x.dtype) else np.dtype("float32")


def variance(attrs, x, root):
    v, axis = wide(x).astype(np.float64), attrs.get("axis")
    arguments = {"axis": axis, "ddof": attrs.get("ddof", 0), "keepdims": attrs.get("keepdims", False)}
    y = np.asarray(np.std(v, **arguments) if root else np.var(v, **arguments))
    largest = np.max(np.abs(v), initial=0)
    error = (x.size + 8) * (largest + np.abs(y) if root else largest**2 + np.abs(y))
    return computed(y, np.dtype(attrs.get("dtype") or of_statistic(x)), error)


def draw_variance(d):
    """Integers whose mean is one of float64, so that truncating is safe."""
    dtype = d.dtype(NUMBERS)
    x = d.array(tuple(d.of([1, 2, 4]) for _ in range(d.int(1, 4))), dtype)
    axis = draw_axes(d, x.ndim)
    attrs = {"axis": axis} if axis is not None or d.flag() else {}
    size = np.prod([x.shape[i] for i in (range(x.ndim) if axis is None else axis)], dtype=int)
    if size > 1 and dtype in FLOATS:
        attrs.update(d.some(ddof=d.of([0, 1, -1])))
    return Case({**attrs, **d.some(keepdims=d.flag(), dtype=d.of([None, "float32", "float64"]))}, [x])


operator("_npi_var", lambda attrs, x: variance(attrs, x, False), draw_variance)
operator("_npi_std", lambda attrs, x: variance(attrs, x, True), draw_variance)


def moments(attrs, x):
    axes, keepdims = attrs["axes"], attrs.get("keepdims", False)
    v = wide(x)
    error = (x.size + 8) * np.max(np.abs(v))
    mean, var = (np.atleast_1d(f(v, axis=axes, keepdims=keepdims)) for f in (np.mean, np.var))
    return [Expected(mean, x.dtype, error), Expected(var, x.dtype, error * (1 + np.max(np.abs(v))))]


def draw_moments(d):
    x = d.array(d.shape(d.int(1, 4), high=4, empty=0), d.dtype())
    return Case({"axes": d.some_axes(x.ndim) or (0,), **d.some(keepdims=d.flag())}, [x])


operator("moments", moments, draw_moments)


def average(attrs, x, weights=None):
    axis, v = attrs.get("axis"), wide(x).astype(np.float64)
    sums = np.asarray(float(v.size if axis is None else np.prod([v.shape[i] for i in axis], dtype=int)))
    if weights is None:
        y = np.mean(v, axis=axis)
    else:
        w = wide(weights).astype(np.float64)
        sums = np.sum(w, axis=axis) if w.ndim == x.ndim else np.sum(w)
        w = w if w.ndim == x.ndim else w.reshape([-1 if i == axis[0] % x.ndim else 1 for i in range(x.ndim)])
        y = np.sum(v * w, axis=axis) / sums
    error = (x.size + 8) * np.max(np.abs(v), initial=0)
    outputs = [
        computed(np.asarray(y), of_statistic(x), error),
        computed(np.asarray(sums), of_statistic(x), (x.size + 8) * np.abs(sums)),
    ]
    return outputs if attrs.get("returned", False) else outputs[0]


def draw_average(d):
    x = d.array(d.shape(d.int(1, 4), high=4, empty=0), d.dtype(NUMBERS))
    axis = draw_axes(d, x.ndim)
    attrs = {**({"axis": axis} if axis is not None or d.flag() else {}), **d.some(returned=d.flag())}
    if d.chance(0.3):
        return Case({**attrs, "weighted": False}, [x])
    attrs.update(d.some(weighted=True))
    shape = x.shape if axis is None or len(axis) != 1 or d.flag() else (x.shape[axis[0]],)
    return Case(attrs, [x, d.array(shape, x.dtype, 1, 4)])


operator("_npi_average", average, draw_average)


def percentile(attrs, x, q=None):
    q = attrs["q_scalar"] if q is None else wide(q).astype(np.float64)
    method = attrs.get("interpolation", "linear")
    v = wide(x).astype(np.float64)
    axis, keepdims = attrs.get("axis"), attrs.get("keepdims", False)
    if method == "nearest":  # halves go up, unlike NumPy's
        size = x.size if axis is None else np.prod([x.shape[i] for i in axis], dtype=int)
        places = np.floor(q / 100 * (size - 1) + 0.5)
        q, method = np.where(places == 0, 0, places / max(size - 1, 1) * 100), "lower" if size < 2 else "linear"
    y = np.percentile(v, q, axis=axis, method=method, keepdims=keepdims)
    dtype = np.dtype("float64" if x.dtype == np.float64 else "float32")
    return Expected(np.asarray(y), dtype, 4 * np.max(np.abs(v)))


def draw_percentile(d):
    x = d.array(d.shape(d.int(1, 4), high=5, empty=0), d.dtype(NUMBERS))
    axis = d.of([None, (d.axis(x.ndim),), d.some_axes(x.ndim) or None])
    attrs = d.some(axis=axis, keepdims=d.flag())
    attrs.update(d.some(interpolation=d.of(["linear", "lower", "higher", "midpoint", "nearest"])))
    if d.flag():
        return Case({**attrs, "q_scalar": d.of([0.0, 50.0, 12.5, 100.0])}, [x])
    q = d.array(d.of([(), (1,), (3,)]), np.dtype("float32"), 0, 100)
    return Case(attrs, [x, np.asarray(q, np.float32)])


operator("_npi_percentile", percentile, draw_percentile)


def logical(function):
    def oracle(attrs, x):
        y = function(wide(x) != 0, axis=attrs.get("axis"), keepdims=attrs.get("keepdims", False))
        return moved(np.asarray(y))

    return oracle


def draw_logical(d):
    x = d.array(d.shape(d.int(1, 4)), d.dtype(ALL_TYPES), 0, 1)
    return Case(d.some(axis=draw_axes(d, x.ndim), keepdims=d.flag()), [x])


operator("_npi_any", logical(np.any), draw_logical)
operator("_npi_all", logical(np.all), draw_logical)


def nan_reduce(function):
    def oracle(attrs, x):
        axis, rank = attrs.get("axis"), x.ndim
        if axis and attrs.get("exclude", False):
            axis = tuple(i for i in range(rank) if i not in [a % rank for a in axis])
        axis = axis if axis or attrs.get("axis") else None
        v, keepdims = wide(x), attrs.get("keepdims", False)
        y, magnitude = (np.atleast_1d(function(a, axis=axis, keepdims=keepdims)) for a in (v, np.abs(v)))
        return computed(y, x.dtype, (x.size + 4) * magnitude)

    return oracle


def draw_nan_reduce(d):
    x = d.array(d.shape(d.int(1, 4), high=3, empty=0), d.dtype(), -2, 2)
    x = np.where(d.rng.random(x.shape) < 0.2, np.nan, x).astype(x.dtype)
    attrs = d.some(axis=draw_axes(d, x.ndim), keepdims=d.flag())
    return Case({**attrs, **({"exclude": True} if d.chance(0.2) else {})}, [x])


operator("nansum", nan_reduce(np.nansum), draw_nan_reduce)
operator("nanprod", nan_reduce(np.nanprod), draw_nan_reduce)


def positions(function):
    def oracle(attrs, x):
        return moved(np.asarray(function(wide(x), axis=attrs.get("axis"), keepdims=attrs.get("keepdims", False))))

    return oracle


def draw_positions(d):
    x = d.array(d.shape(d.int(1, 4), empty=0), d.dtype(NUMBERS))
    return Case(d.some(axis=d.of([None, d.axis(x.ndim)]), keepdims=d.flag()), [x])


operator("_npi_argmax", positions(np.argmax), draw_positions)
operator("_npi_argmin", positions(np.argmin), draw_positions)
operator(
    "argmax_channel",
    lambda attrs, x: moved(np.argmax(wide(x), 1).astype(x.dtype)),
    lambda d: Case({}, [d.array(d.shape(d.int(2, 4), empty=0), d.dtype(NUMBERS))]),
)


def cumsum(attrs, x):
    dtype = np.dtype(attrs.get("dtype") or ("int64" if x.dtype == np.bool_ else x.dtype))
    v = wide(x).astype(np.float64 if is_float(dtype) else np.int64)
    error = (x.size + 2) * np.cumsum(np.abs(v), axis=attrs.get("axis"))
    return computed(np.cumsum(v, axis=attrs.get("axis")), dtype, error)


def draw_cumsum(d):
    x = d.array(d.shape(d.int(1, 4)), d.dtype(ALL_TYPES))
    dtypes = [None, "float32", "float64"] if is_float(x.dtype) else [None, "float32", "int64"]
    return Case(d.some(axis=d.of([None, d.axis(x.ndim)]), dtype=d.of(dtypes)), [x])


operator("_npi_cumsum", cumsum, draw_cumsum)


def diff(attrs, x):
    v, n = wide(x), attrs.get("n", 1)
    return computed(np.diff(v, n, attrs.get("axis", -1)), x.dtype, 2.0**n * n * np.max(np.abs(v), initial=0))


def draw_diff(d):
    x = d.array(d.shape(d.int(1, 4)), d.dtype(NUMBERS))
    return Case(d.some(axis=d.axis(x.ndim), n=d.int(0, 3)), [x])


operator("_npi_diff", diff, draw_diff)


def draw_softmin(d):
    case = draw_softmax(d)
    case.attrs.pop("use_length", None)
    return Case({**case.attrs, **d.some(use_length=d.of([None, False]))}, case.inputs[:1])


operator("softmin", lambda attrs, x: softmax(attrs, np.negative(x)), draw_softmin)


def smooth_l1(attrs, x):
    scalar, v = attrs.get("scalar", 1.0), wide(x).astype(np.float64)
    y = np.where(np.abs(v) < scalar**-2, 0.5 * (scalar * v) ** 2, np.abs(v) - 0.5 * scalar**-2)
    return computed(y, x.dtype, 4 * np.abs(y) + 4)


operator(
    "smooth_l1",
    smooth_l1,
    lambda d: Case(d.some(scalar=d.of([0.5, 2.0, 4.0])), [d.array(d.shape(d.int(0, 4)), d.dtype(NUMBERS))]),
)


# ---- products ------------------------------------------------------------------------------------


def heads_apart(attrs, projections, parts):
    """`parts` arrays, each (batch * heads, length, size), of (length, batch, heads * parts * size)."""
    length, batch, width = projections.shape
    heads = attrs["heads"]
    return projections.reshape(length, batch * heads, parts, width // (parts * heads)).transpose(2, 1, 0, 3)


def cross_scores(attrs, queries, keys_values):
    query, key = heads_apart(attrs, queries, 1)[0], heads_apart(attrs, keys_values, 2)[0]
    size, dtype = query.shape[-1], out_dtype(attrs, queries)
    return products(lambda q, k: q @ k.transpose(0, 2, 1) / np.sqrt(size), query, key, size + 2, dtype)


def cross_values(attrs, keys_values, attention):
    value, (length, batch, width) = heads_apart(attrs, keys_values, 2)[1], keys_values.shape

    def apply(weights, values):
        return (weights @ values).transpose(1, 0, 2).reshape(weights.shape[1], batch, width // 2)

    return products(apply, attention, value, length, out_dtype(attrs, keys_values))


def draw_cross(d, values):
    heads, size, batch, dtype = d.int(1, 4), d.int(1, 16), d.int(1, 3), d.dtype()
    queries, keys = d.int(1, 7), d.int(1, 7)
    keys_values = d.array((keys, batch, heads * 2 * size), dtype)
    attrs = {"heads": heads, **d.out_dtype()}
    if values:
        return Case(attrs, [keys_values, d.array((batch * heads, queries, keys), dtype, 0, 1)])
    return Case(attrs, [d.array((queries, batch, heads * size), dtype), keys_values])


operator("_contrib_interleaved_matmul_encdec_qk", cross_scores, lambda d: draw_cross(d, False))
operator("_contrib_interleaved_matmul_encdec_valatt", cross_values, lambda d: draw_cross(d, True))


def gemm(attrs, a, b):
    """Rows of the matrices along `axis`, columns along the last axis."""
    axis = attrs.get("axis", -2)

    def apply(x, y):
        x, y = np.moveaxis(x, axis, -2), np.moveaxis(y, axis, -2)
        x = x.swapaxes(-1, -2) if attrs.get("transpose_a", False) else x
        y = y.swapaxes(-1, -2) if attrs.get("transpose_b", False) else y
        return np.moveaxis(attrs.get("alpha", 1.0) * (x @ y), -2, axis)

    terms = a.shape[axis] if attrs.get("transpose_a", False) else a.shape[-1]
    expected = products(apply, a, b, terms + 2, out_dtype(attrs, a))
    return Expected(expected.values, expected.dtype, np.abs(expected.error))


def draw_gemm(d):
    attrs = {**d.some(transpose_a=d.flag(), transpose_b=d.flag(), alpha=d.of([-0.5, 3.0])), **d.out_dtype()}
    rank, dtype, (m, k, n) = d.int(2, 4), d.dtype(), (d.int(1, 6) for _ in range(3))
    if d.chance(0.7):
        attrs["axis"] = d.of([*range(rank - 1), *range(-rank, -1)])
    row = attrs.get("axis", -2) % rank
    a = list(d.shape(rank, high=3))
    b = list(a)
    a[row], a[-1] = (k, m) if attrs.get("transpose_a", False) else (m, k)
    b[row], b[-1] = (n, k) if attrs.get("transpose_b", False) else (k, n)
    return Case(attrs, [d.array(tuple(a), dtype), d.array(tuple(b), dtype)])


operator("_linalg_gemm2", gemm, draw_gemm)


def numpy_product(function):
    def oracle(attrs, a, b):
        return products(
            lambda x, y: np.asarray(function(x, y)), a, b, max(a.shape[-1:], default=1), out_dtype(attrs, a)
        )

    return oracle


def draw_numpy_dot(d):
    inner, dtype = d.int(1, 9), d.dtype()
    a, b = (*d.shape(d.int(0, 2)), inner), d.shape(d.int(0, 2))
    b = (*b[:-1], inner, *b[-1:])
    a, b = (() if d.chance(0.1) else shape for shape in (a, b))
    return Case(d.out_dtype(), [d.array(a, dtype), d.array(b, dtype)])


def draw_numpy_matmul(d):
    inner, dtype, batch = d.int(1, 9), d.dtype(), d.shape(d.int(0, 2), high=3)
    batches = [
        tuple(1 if d.chance(0.2) else size for size in batch[d.int(0, len(batch)) if d.flag() else 0 :]) for _ in "ab"
    ]
    a, b = (*batches[0], d.int(1, 5), inner), (*batches[1], inner, d.int(1, 5))
    a, b = ((inner,) if d.chance(0.1) else shape for shape in (a, b))
    return Case(d.out_dtype(), [d.array(a, dtype), d.array(b, dtype)])


operator("_npi_dot", numpy_product(np.dot), draw_numpy_dot)
operator("_npi_matmul", numpy_product(np.matmul), draw_numpy_matmul)
