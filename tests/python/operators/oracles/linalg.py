"""Matrices: products, solutions, diagonals, determinants, factors; windows as columns; sequence losses."""

import itertools

import numpy as np

from .core import Case, Expected, moved, operator, out_dtype, wide


def turned(x, transpose):
    return np.swapaxes(x, -1, -2) if transpose else x


def leading(d):
    return d.shape(d.int(0, 2), 3)


# ---- products ----------------------------------------------------------------------------------


def gemm(attrs, a, b, c):
    x, y = turned(wide(a), attrs.get("transpose_a", False)), turned(wide(b), attrs.get("transpose_b", False))
    alpha, beta = attrs.get("alpha", 1.0), attrs.get("beta", 1.0)
    sizes = abs(alpha) * (np.abs(x) @ np.abs(y)) + abs(beta * wide(c))
    return Expected(alpha * (x @ y) + beta * wide(c), out_dtype(attrs, a), (x.shape[-1] + 4) * sizes)


def draw_gemm(d):
    batch, (m, k, n), dtype = leading(d), d.ints(3, 1, 5), d.dtype()
    attrs = {"transpose_a": d.flag(), "transpose_b": d.flag(), **d.some(alpha=d.of([2.0, -0.5]), beta=d.of([0.0, 3.0]))}
    attrs |= d.some(axis=-2) | d.out_dtype()
    a, b = (k, m) if attrs["transpose_a"] else (m, k), (n, k) if attrs["transpose_b"] else (k, n)
    if d.chance(0.2) and len(batch) == 1:  # rows lie along the first axis
        attrs["axis"] = 0
        return Case(attrs, [d.array((s[0], *batch, s[1]), dtype) for s in (a, b, (m, n))])
    return Case(attrs, [d.array((*batch, *shape), dtype) for shape in (a, b, (m, n))])


def gemm_along(attrs, *arrays):
    if attrs.get("axis", -2) == -2:
        return gemm(attrs, *arrays)
    expected = gemm(attrs, *(np.moveaxis(x, 0, -2) for x in arrays))
    return Expected(np.moveaxis(expected.values, -2, 0), expected.dtype, np.moveaxis(expected.error, -2, 0))


operator("_linalg_gemm", gemm_along, draw_gemm)


def syrk(attrs, a):
    x = turned(wide(a), attrs.get("transpose", False))
    alpha = attrs.get("alpha", 1.0)
    sizes = abs(alpha) * (np.abs(x) @ turned(np.abs(x), True))
    return Expected(alpha * (x @ turned(x, True)), out_dtype(attrs, a), (x.shape[-1] + 4) * sizes)


def draw_syrk(d):
    attrs = d.some(transpose=d.flag(), alpha=d.of([2.0, -0.5])) | d.out_dtype()
    return Case(attrs, [d.array((*leading(d), *d.ints(2, 1, 5)), d.dtype())])


operator("_linalg_syrk", syrk, draw_syrk)


def triangle(attrs, a):
    x = np.tril(wide(a)) if attrs.get("lower", True) else np.triu(wide(a))
    return turned(x, attrs.get("transpose", False))


def trmm(attrs, a, b):
    x, y, alpha = triangle(attrs, a), wide(b), attrs.get("alpha", 1.0)
    left, right = (y, x) if attrs.get("rightside", False) else (x, y)
    sizes = abs(alpha) * (np.abs(left) @ np.abs(right))
    return Expected(alpha * (left @ right), a.dtype, (left.shape[-1] + 4) * sizes)


def trsm(attrs, a, b):
    x, y = triangle(attrs, a), attrs.get("alpha", 1.0) * wide(b)
    if attrs.get("rightside", False):
        x, y = turned(x, True), turned(y, True)
    found = np.linalg.solve(x, y)
    reach = 64 * (np.abs(np.linalg.inv(x)) @ np.abs(x) @ np.abs(found)) if x.size else found
    right = attrs.get("rightside", False)
    return Expected(turned(found, right), a.dtype, turned(reach, right))


def draw_triangular(d):
    batch, size, other, dtype = leading(d), d.int(1, 4), d.int(1, 4), d.dtype()
    attrs = d.some(transpose=d.flag(), rightside=d.flag(), lower=d.flag(), alpha=d.of([2.0, -0.5]))
    a = wide(d.array((*batch, size, size), np.dtype("float64"), -1, 1)) + 3 * np.eye(size)
    shape = (other, size) if attrs.get("rightside", False) else (size, other)
    return Case(attrs, [a.astype(dtype), d.array((*batch, *shape), dtype)])


operator("_linalg_trmm", trmm, draw_triangular)
operator("_linalg_trsm", trsm, draw_triangular)


# ---- diagonals and triangles -------------------------------------------------------------------


def places(attrs, size, is_triangle):
    """Rows and columns of what a vector holds, in its order."""
    offset = attrs.get("offset", 0)
    lower = attrs.get("lower", True) if offset == 0 else offset < 0
    distances = [(i, j, j - i) for i in range(size) for j in range(size)]
    if not is_triangle:
        chosen = [(i, j) for i, j, k in distances if k == offset]
    else:
        chosen = [(i, j) for i, j, k in distances if (k <= offset if lower else k >= offset)]
    return tuple(np.array(chosen, int).reshape(-1, 2).T)


def extract(is_triangle):
    return lambda attrs, a: moved(a[(..., *places(attrs, a.shape[-1], is_triangle))])


def draw_extract(is_triangle):
    def draw(d):
        size = d.int(1, 4)
        attrs = d.some(offset=d.int(1 - size, size - 1))
        attrs |= d.some(lower=d.flag()) if is_triangle else {}
        return Case(attrs, [d.array((*leading(d), size, size), d.dtype())])

    return draw


def make(is_triangle):
    def oracle(attrs, a):
        count = a.shape[-1]
        side = next(n for n in itertools.count() if n * (n + 1) // 2 >= count) if is_triangle else count
        size = side + abs(attrs.get("offset", 0))
        y = np.zeros((*a.shape[:-1], size, size), a.dtype)
        y[(..., *places(attrs, size, is_triangle))] = a
        return moved(y)

    return oracle


def draw_make(is_triangle):
    def draw(d):
        attrs = d.some(offset=d.int(-2, 2)) | (d.some(lower=d.flag()) if is_triangle else {})
        count = d.of([1, 3, 6]) if is_triangle else d.int(1, 4)
        return Case(attrs, [d.array((*leading(d), count), d.dtype())])

    return draw


operator("_linalg_extractdiag", extract(False), draw_extract(False))
operator("_linalg_extracttrian", extract(True), draw_extract(True))
operator("_linalg_makediag", make(False), draw_make(False))
operator("_linalg_maketrian", make(True), draw_make(True))


# ---- numbers of square matrices ----------------------------------------------------------------


def flat(values, a):
    return values.reshape(1) if a.ndim == 2 else values


def draw_square(d):
    """Far from singular."""
    size, dtype = d.int(1, 4), d.dtype()
    a = wide(d.array((*leading(d), size, size), np.dtype("float64"), -1, 1)) + d.of([-5, 5]) * np.eye(size)
    return Case({}, [a.astype(dtype)])


def draw_positive(d):
    case = draw_square(d)
    return Case({}, [np.abs(case.inputs[0])])


def inverse(attrs, a):
    return Expected(np.linalg.inv(wide(a)), a.dtype, 64.0)


def det(attrs, a):
    return Expected(flat(np.linalg.det(wide(a)), a), a.dtype, 2.0**16)


def slogdet(attrs, a):
    sign, log = np.linalg.slogdet(wide(a))
    return [Expected(flat(sign, a), a.dtype, 0.0), Expected(flat(log, a), a.dtype, 256.0)]


def sumlogdiag(attrs, a):
    return Expected(flat(np.log(np.diagonal(wide(a), axis1=-2, axis2=-1)).sum(-1), a), a.dtype, 64.0)


operator("_linalg_inverse", inverse, draw_square)
operator("_linalg_det", det, draw_square)
operator("_linalg_slogdet", slogdet, draw_square)
operator("_linalg_sumlogdiag", sumlogdiag, draw_positive)


# ---- factors -----------------------------------------------------------------------------------


def mirrored(a, lower):
    """The symmetric matrices whose triangles these are."""
    x = np.tril(wide(a)) if lower else np.triu(wide(a))
    return x + turned(x, True) - x * np.eye(x.shape[-1])


def potrf(attrs, a):
    lower = attrs.get("lower", True)
    return Expected(turned(np.linalg.cholesky(mirrored(a, lower)), not lower), a.dtype, 256.0)


def potri(attrs, a):
    x = triangle(attrs, a)
    product = x @ turned(x, True) if attrs.get("lower", True) else turned(x, True) @ x
    return Expected(np.linalg.inv(product), a.dtype, 4096.0)


def gelqf(attrs, a):
    q, r = np.linalg.qr(turned(wide(a), True))
    return [Expected(turned(q, True), a.dtype, 4096.0), Expected(turned(r, True), a.dtype, 4096.0)]


def syevd(attrs, a):
    values, vectors = np.linalg.eigh(mirrored(a, True))
    u = turned(vectors, True)
    largest = np.take_along_axis(u, np.abs(u).argmax(-1)[..., None], -1)
    return [Expected(np.where(largest < 0, -u, u), a.dtype, 4096.0), Expected(values, a.dtype, 256.0)]


def draw_lower(draw):
    """Uses of operators that take triangles of either kind."""
    return lambda d: Case(d.some(lower=d.flag()), draw(d).inputs)


def draw_definite(d):
    """Eigenvalues are far from 0 and from each other; the triangles differ."""
    size, dtype = d.int(1, 4), d.dtype()
    a = d.array((*leading(d), size, size), np.dtype("float64"), -0.5, 0.5)
    return Case({}, [(a + np.diag(3.0 * (1 + d.rng.permutation(size)))).astype(dtype)])


def draw_wide(d):
    rows, dtype = d.int(1, 4), d.dtype()
    columns = rows + d.int(0, 3)
    a = d.array((*leading(d), rows, columns), np.dtype("float64"), -1, 1) + d.of([-5, 5]) * np.eye(rows, columns)
    return Case({}, [a.astype(dtype)])


operator("_linalg_potrf", potrf, draw_lower(draw_definite))
operator("_linalg_potri", potri, draw_lower(draw_definite))
operator("_linalg_gelqf", gelqf, draw_wide)
operator("_linalg_syevd", syevd, draw_definite)


# ---- windows as columns ------------------------------------------------------------------------


def window_of(attrs):
    kernel = attrs["kernel"]
    ones, zeros = (1,) * len(kernel), (0,) * len(kernel)
    return kernel, attrs.get("stride", ones), attrs.get("dilate", ones), attrs.get("pad", zeros)


def columns_of(attrs, x):
    kernel, stride, dilate, pad = window_of(attrs)
    padded = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    counts = [(n - (k - 1) * d - 1) // s + 1 for n, k, s, d in zip(padded.shape[2:], kernel, stride, dilate)]
    parts = [
        padded[(..., *(slice(o * d, o * d + (c - 1) * s + 1, s) for o, d, c, s in zip(at, dilate, counts, stride)))]
        for at in np.ndindex(*kernel)
    ]
    return np.stack(parts, 2).reshape(x.shape[0], x.shape[1] * len(parts), -1)


def im2col(attrs, x):
    return moved(columns_of(attrs, x))


def col2im(attrs, x):
    """Every element of the image gets those of the columns that im2col makes of it."""
    kernel = attrs["kernel"]
    shape = (x.shape[0], x.shape[1] // int(np.prod(kernel)), *attrs["output_size"])
    numbers = columns_of(attrs, np.arange(1, int(np.prod(shape)) + 1).reshape(shape))  # 0: the padding
    sums, sizes = (np.zeros(int(np.prod(shape)) + 1) for _ in range(2))
    np.add.at(sums, numbers.ravel(), wide(x).ravel())
    np.add.at(sizes, numbers.ravel(), np.abs(wide(x)).ravel())
    return Expected(sums[1:].reshape(shape), x.dtype, (np.prod(kernel) + 2) * sizes[1:].reshape(shape))


def draw_window(d):
    n = d.int(1, 3)
    attrs = {"kernel": d.ints(n, 1, 3), **d.some(stride=d.ints(n, 1, 2), dilate=d.ints(n, 1, 2), pad=d.ints(n, 0, 1))}
    kernel, _, dilate, pad = window_of(attrs)
    sizes = [max(1, (k - 1) * e + 1 - 2 * p) + d.int(0, 3) for k, e, p in zip(kernel, dilate, pad)]
    return attrs, (d.int(1, 2), d.int(1, 3), *sizes)


def draw_im2col(d):
    attrs, shape = draw_window(d)
    return Case(attrs, [d.array(shape, d.dtype())])


def draw_col2im(d):
    attrs, shape = draw_window(d)
    columns = columns_of(attrs, np.zeros(shape)).shape
    return Case({**attrs, "output_size": shape[2:]}, [d.array(columns, d.dtype())])


operator("im2col", im2col, draw_im2col)
operator("col2im", col2im, draw_col2im)


# ---- sequence losses ---------------------------------------------------------------------------


def collapsed(path, blank):
    return tuple(k for k, _ in itertools.groupby(path) if k != blank)


def ctc_loss(attrs, data, labels, *lengths):
    """Adds up all ways through the steps, one by one."""
    lengths = list(lengths)
    steps, batch, classes = data.shape
    first = attrs.get("blank_label", "first") == "first"
    blank, end = (0, 0) if first else (classes - 1, -1)
    of_data = lengths.pop(0).astype(int) if attrs.get("use_data_lengths", False) else [steps] * batch
    of_labels = lengths.pop(0).astype(int) if attrs.get("use_label_lengths", False) else None
    losses = []
    for i in range(batch):
        row = [int(label) for label in labels[i]]
        wanted = tuple(row[: of_labels[i]] if of_labels is not None else itertools.takewhile(lambda x: x != end, row))
        x = wide(data[: of_data[i], i])
        p = np.exp(x - x.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        ways = itertools.product(range(classes), repeat=len(p))
        total = sum(np.prod([p[t, k] for t, k in enumerate(way)]) for way in ways if collapsed(way, blank) == wanted)
        losses.append(-np.log(total) if total > 0 else 0.0)  # labels that do not fit cost nothing
    return Expected(np.array(losses, float), data.dtype, 4096.0)


def draw_ctc(d):
    steps, batch, classes = d.int(2, 4), d.int(1, 2), d.int(3, 4)
    attrs = {"blank_label": d.of(["first", "last"])} | d.some(use_data_lengths=d.flag(), use_label_lengths=d.flag())
    low, high, end = (1, classes - 1, 0) if attrs["blank_label"] == "first" else (0, classes - 2, -1)
    labels = d.rng.integers(low, high + 1, (batch, d.int(1, 3)))
    if not attrs.get("use_label_lengths", False):
        labels = np.where(d.rng.random(labels.shape) < 0.3, end, labels)
    inputs = [d.array((steps, batch, classes), d.dtype()), labels.astype(d.of([np.float32, np.int32]))]
    if attrs.get("use_data_lengths", False):
        inputs.append(d.rng.integers(1, steps + 1, batch).astype(np.int32))
    if attrs.get("use_label_lengths", False):
        inputs.append(d.rng.integers(0, labels.shape[1] + 1, batch).astype(np.int32))
    return Case(attrs, inputs)


operator("CTCLoss", ctc_loss, draw_ctc)
