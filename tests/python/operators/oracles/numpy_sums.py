"""NumPy's products over named axes, diagonals, windows and grids."""

import numpy as np

from .core import ALL_TYPES, FLOATS, Case, Expected, computed, is_float, moved, operator, out_dtype, wide
from .sums import products


def draw_any(d, low_rank=0, high_rank=4, **sizes):
    return d.array(d.shape(d.int(low_rank, high_rank), **sizes), d.dtype(ALL_TYPES))


# ---- products ------------------------------------------------------------------------------------


def tensordot(attrs, a, b, axes):
    terms = int(np.prod([a.shape[axis] for axis in axes[0]], dtype=int))
    return products(lambda x, y: np.asarray(np.tensordot(x, y, axes)), a, b, terms, out_dtype(attrs, a))


def draw_tensordot(d):
    inner, dtype = d.shape(d.int(0, 2)), d.dtype()
    a, b = ([*d.shape(d.int(0, 2))] for _ in "ab")
    a_axes, b_axes = [], []
    for size in inner:
        for dims, axes in ((a, a_axes), (b, b_axes)):
            place = d.int(0, len(dims))
            axes[:] = [axis + (axis >= place) for axis in axes] + [place]
            dims.insert(place, size)
    signed = [axis - len(a) * d.flag() for axis in a_axes]
    attrs = {"a_axes_summed": tuple(signed), "b_axes_summed": tuple(b_axes)}
    return Case({**attrs, **d.out_dtype()}, [d.array(tuple(a), dtype), d.array(tuple(b), dtype)])


operator(
    "_npi_tensordot",
    lambda attrs, a, b: tensordot(attrs, a, b, (attrs["a_axes_summed"], attrs["b_axes_summed"])),
    draw_tensordot,
)


def draw_tensordot_int_axes(d):
    inner, dtype = d.shape(d.int(0, 2)), d.dtype()
    a, b = (*d.shape(d.int(0, 2)), *inner), (*inner, *d.shape(d.int(0, 2)))
    return Case({"axes": len(inner), **d.out_dtype()}, [d.array(a, dtype), d.array(b, dtype)])


operator(
    "_npi_tensordot_int_axes",
    lambda attrs, a, b: tensordot(
        attrs, a, b, (tuple(range(a.ndim - attrs["axes"], a.ndim)), tuple(range(attrs["axes"])))
    ),
    draw_tensordot_int_axes,
)

EQUATIONS = """ij,jk->ik ij,jk bij,bjk->bik bqhd,bkhd->bhqk bhqk,bkhd->bqhd ij->ji ij-> ij->i ii->i ii iij->j i,i->
    i,j->ij ij,ij->ij ij,j->ij ij,kj,kl->il i,i,i->i ...ij,jk->...ik ...i,...i->... i...->... ...ij->...ji
    ab,bc,cd,da-> Ij,jI->I""".split()


def einsum(attrs, *arrays):
    def value(*x):
        return np.asarray(np.einsum(attrs["subscripts"], *x))

    dtype = out_dtype(attrs, arrays[0])
    if not is_float(arrays[0].dtype):
        return Expected(value(*(x.astype(np.int64) for x in arrays)).astype(dtype), dtype)
    magnitude = value(*(np.abs(wide(x)) for x in arrays))
    return computed(value(*map(wide, arrays)), dtype, 400 * magnitude)


def draw_einsum(d):
    equation, dtype = d.of(EQUATIONS), d.dtype(FLOATS if d.chance(0.8) else [np.dtype("int32"), np.dtype("uint8")])
    sizes, dots = {}, d.shape(d.int(0, 2), high=3)
    arrays = []
    for term in equation.split("->")[0].split(","):
        shape = []
        for letter in term.replace("...", "."):
            shape += dots if letter == "." else [sizes.setdefault(letter, d.shape(1, high=5)[0])]
        arrays.append(d.array(tuple(shape), dtype))
    attrs = {"subscripts": equation, "num_args": len(arrays), **d.some(optimize=1)}
    return Case({**attrs, **(d.out_dtype() if is_float(dtype) else {})}, arrays)


operator("_npi_einsum", einsum, draw_einsum)


# ---- diagonals -----------------------------------------------------------------------------------


def draw_diagonal(d, types=ALL_TYPES):
    x = d.array(d.shape(d.int(2, 4)), d.dtype(types))
    attrs = d.some(offset=d.int(-4, 4))
    axes = [int(axis) for axis in d.rng.permutation(x.ndim)[:2]]
    return Case({**attrs, **({"axis1": axes[0] - x.ndim, "axis2": axes[1]} if d.flag() else {})}, [x])


def axes_of(attrs):
    return attrs.get("offset", 0), attrs.get("axis1", 0), attrs.get("axis2", 1)


def trace(attrs, x):
    if not is_float(x.dtype):
        return Expected(np.trace(x, *axes_of(attrs), dtype=np.int64).astype(x.dtype), out_dtype(attrs, x))
    sums = np.asarray(np.trace(wide(x), *axes_of(attrs)))
    return computed(sums, out_dtype(attrs, x), 8 * np.asarray(np.trace(np.abs(wide(x)), *axes_of(attrs))))


operator("_np_diagonal", lambda attrs, x: moved(np.diagonal(x, *axes_of(attrs)).copy()), draw_diagonal)
operator("_np_trace", trace, lambda d: draw_diagonal(d, FLOATS + [np.dtype("int32"), np.dtype("uint8")]))
operator(
    "_np_diagflat",
    lambda attrs, x: moved(np.diagflat(x, attrs.get("k", 0))),
    lambda d: Case(d.some(k=d.int(-3, 3)), [draw_any(d, high_rank=3, high=4)]),
)


# ---- the same elements ---------------------------------------------------------------------------


def draw_np_reshape(d):
    x = draw_any(d)
    sizes = [int(size) for size in d.rng.permutation(x.shape)]
    if sizes and x.size and d.flag():
        sizes[d.int(0, len(sizes) - 1)] = -1
    return Case({"newshape": tuple(sizes) if d.chance(0.8) else (-1,), **d.some(order="C")}, [x])


operator("_np_reshape", lambda attrs, x: moved(x.reshape(attrs["newshape"])), draw_np_reshape)


def draw_concatenate(d):
    dtype, shape, flattens = d.dtype(ALL_TYPES), list(d.shape(d.int(1, 4))), d.chance(0.3)
    axis, arrays = d.axis(len(shape)), []
    for _ in range(d.int(1, 4)):
        shape[axis] = d.int(0, 4)
        arrays.append(d.array(d.shape(d.int(0, 3)) if flattens else tuple(shape), dtype))
    return Case({"num_args": len(arrays), "axis": None if flattens else axis}, arrays)


operator("_npi_concatenate", lambda attrs, *x: moved(np.concatenate(x, attrs["axis"])), draw_concatenate)


def nan_to_num(attrs, x):
    if not is_float(x.dtype):
        return moved(x)
    largest = float(np.finfo(x.dtype).max) if x.dtype.name != "bfloat16" else float.fromhex("0x1.FEp127")
    options = {name: largest * sign for name, sign in (("posinf", 1), ("neginf", -1))}
    options.update({name: value for name, value in attrs.items() if name != "copy" and value is not None})
    return moved(np.nan_to_num(x.astype(np.float64), **options).astype(x.dtype))


def draw_nan_to_num(d):
    x = draw_any(d)
    if is_float(x.dtype):
        odd = d.rng.choice([np.nan, np.inf, -np.inf], x.shape)
        x = np.where(d.rng.random(x.shape) < 0.4, odd, x.astype(np.float64)).astype(x.dtype)
    return Case(d.some(copy=False, nan=2.5, posinf=d.of([None, 8.0]), neginf=d.of([None, -3.0])), [x])


operator("_npi_nan_to_num", nan_to_num, draw_nan_to_num)


# ---- pictures ------------------------------------------------------------------------------------


def to_tensor(attrs, x):
    pixels = np.moveaxis(wide(x).astype(np.float64), -1, -3) / 255
    return Expected(pixels, np.dtype("float32"), 2 * np.abs(pixels))


operator("_image_to_tensor", to_tensor, lambda d: Case({}, [draw_any(d, 3, 4)]))


def spread(numbers):
    return np.reshape(np.float32(numbers), (-1, 1, 1)).astype(np.float64)


def normalize(attrs, x):
    mean, std = spread(attrs.get("mean", (0.0,))), spread(attrs.get("std", (1.0,)))
    return computed((wide(x) - mean) / std, x.dtype, 3 * (np.abs(wide(x)) + np.abs(mean)) / np.abs(std))


def draw_normalize(d):
    channels = d.of([1, 3])
    shape = (*d.shape(d.int(0, 1)), channels, *d.shape(2))
    numbers = {"mean": d.of([(0.5,), (0.5, 0.25, -1.5)[:channels]]), "std": d.of([(2.0,), (0.3, 0.5, 1.0)[:channels]])}
    return Case(d.some(**numbers), [d.array(shape, d.dtype(FLOATS))])


operator("_image_normalize", normalize, draw_normalize)


# ---- values without inputs -----------------------------------------------------------------------

for window in (np.hanning, np.hamming, np.blackman):
    operator(
        f"_npi_{window.__name__}",
        lambda attrs, window=window: computed(
            window(max(0, attrs["M"])), np.dtype(attrs.get("dtype", "float32")), np.float64(2)
        ),
        lambda d: Case({"M": d.int(-1, 12), **d.some(dtype=d.of(FLOATS).name)}, []),
    )


def indices(attrs):
    sizes, dtype = attrs["dimensions"], np.dtype(attrs.get("dtype", "int32"))
    return moved(np.indices(sizes).astype(dtype).reshape((len(sizes), *sizes) if sizes else (0,)))


operator(
    "_npi_indices",
    indices,
    lambda d: Case({"dimensions": d.shape(d.int(0, 3)), **d.some(dtype=d.of(ALL_TYPES).name)}, []),
)
