"""Convolution, deconvolution, pooling and resizing: windows over the spatial axes."""

import itertools

import numpy as np

from .core import Case, Expected, operator, out_dtype, wide

FIRST, LAST = ["NCW", "NCHW", "NCDHW"], ["NWC", "NHWC", "NDHWC"]


def is_last(attrs):
    return attrs.get("layout") in LAST


def channels_first(x, attrs):
    return np.moveaxis(x, -1, 1) if is_last(attrs) else x


def as_given(y, attrs):
    return np.moveaxis(y, 1, -1) if is_last(attrs) else y


def numbers(attrs, name, n, default):
    """A tuple of one value for each spatial axis; 0 in a stride or a dilation means 1."""
    values = attrs.get(name) or (default,) * n
    return tuple(max(value, default) for value in values)


def every_index(sizes):
    return itertools.product(*(range(size) for size in sizes))


def draw_layout(d, n):
    """Attributes of a layout, and whether it is one with the channels last."""
    if d.chance(0.35):
        return {"layout": LAST[n - 1]}, True
    return d.of([{}, {"layout": None}, {"layout": FIRST[n - 1]}]), False


# ---- convolution ---------------------------------------------------------------------------------


def convolve(attrs, x, weight, bias, groups):
    """x (N, C, spatial...), weight (F, C / groups, kernel...)."""
    n = x.ndim - 2
    stride, dilate, pad = (numbers(attrs, *name) for name in (("stride", n, 1), ("dilate", n, 1), ("pad", n, 0)))
    kernel = weight.shape[2:]
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in pad)])
    out = [(s - (k - 1) * r - 1) // t + 1 for s, k, r, t in zip(x.shape[2:], kernel, dilate, stride)]
    y = np.zeros((x.shape[0], groups, weight.shape[0] // groups, *out))
    x = x.reshape(x.shape[0], groups, weight.shape[1], *x.shape[2:])
    w = weight.reshape(groups, -1, *weight.shape[1:])
    for index in every_index(kernel):
        window = tuple(slice(i * r, i * r + (o - 1) * t + 1, t) for i, r, o, t in zip(index, dilate, out, stride))
        y += np.einsum("ngc...,gfc->ngf...", x[(..., *window)], w[(slice(None),) * 3 + index])
    y = y.reshape(y.shape[0], weight.shape[0], *out)
    return y + bias.reshape((-1,) + (1,) * n)


def convolution(attrs, x, weight, bias=None):
    groups = attrs.get("num_group", 1)
    data, kernels = channels_first(wide(x), attrs), channels_first(wide(weight), attrs)
    b = np.zeros(weight.shape[0]) if bias is None else wide(bias)
    y = convolve(attrs, data, kernels, b, groups)
    magnitude = convolve(attrs, np.abs(data), np.abs(kernels), np.abs(b), groups)
    terms = int(np.prod(kernels.shape[1:])) + 2
    return Expected(as_given(y, attrs), out_dtype(attrs, x), terms * as_given(magnitude, attrs))


def draw_convolution(d):
    n = d.int(1, 3)
    kernel = d.ints(n, 1, 3 if n == 3 else 4)
    attrs = {"kernel": kernel, **d.some(dilate=d.of([d.ints(n, 1, 3), (0,) * n]), pad=d.ints(n, 0, 2))}
    attrs.update(d.out_dtype())
    attrs.update(d.some(stride=d.of([d.ints(n, 1, 3), d.ints(n, 1, 2), (0,) * n])))
    groups = d.of([1, 1, 2, 3, 8])
    per_group, filters = d.of([1, d.int(1, 5), 16 // groups]), groups * d.of([1, d.int(1, 4)])
    attrs.update(num_filter=filters, **({"num_group": groups} if groups > 1 else d.some(num_group=1)))
    layout, last = draw_layout(d, n)
    no_bias = d.flag()
    attrs.update(layout, **({"no_bias": True} if no_bias else d.some(no_bias=False)))
    dilate, pad = numbers(attrs, "dilate", n, 1), numbers(attrs, "pad", n, 0)
    least = [max(1, (k - 1) * r + 1 - 2 * p) for k, r, p in zip(kernel, dilate, pad)]
    spatial = tuple(size + d.int(0, 5 if n < 3 else 2) for size in least)
    batch, dtype = 0 if d.chance(0.03) else d.int(1, 2), d.dtype()
    channels = groups * per_group
    x = (batch, *spatial, channels) if last else (batch, channels, *spatial)
    w = (filters, *kernel, per_group) if last else (filters, per_group, *kernel)
    inputs = [d.array(x, dtype), d.array(w, dtype)]
    return Case(attrs, inputs if no_bias else [*inputs, d.array((filters,), dtype)], infers=True)


operator("Convolution", convolution, draw_convolution)


def columns_of(attrs, x, offset, mask):
    """What each element of the window reads: (N, C, elements, h, w)."""
    stride, dilate, pad = (numbers(attrs, *n) for n in (("stride", 2, 1), ("dilate", 2, 1), ("pad", 2, 0)))
    kernel = attrs["kernel"]
    batch, channels, height, width = x.shape
    groups = attrs.get("num_deformable_group", 1)
    columns = np.zeros((batch, channels, kernel[0] * kernel[1], *offset.shape[2:]))
    offset = offset.reshape(batch, groups, -1, 2, *offset.shape[2:])
    for n, c, k, i, j in np.ndindex(columns.shape):
        group = c // (channels // groups)
        down, across = offset[n, group, k, :, i, j]
        y = i * stride[0] + k // kernel[1] * dilate[0] - pad[0] + down
        z = j * stride[1] + k % kernel[1] * dilate[1] - pad[1] + across
        if mask is None:
            is_inside = 0 <= y < height and 0 <= z < width
            y, z = min(y, height - 1), min(z, width - 1)  # the edge goes on
        else:
            is_inside = -1 < y < height and -1 < z < width
        if not is_inside:
            continue
        top, left = int(np.floor(y)), int(np.floor(z))
        for r, a in ((top, 1 - (y - top)), (top + 1, y - top)):
            for s, b in ((left, 1 - (z - left)), (left + 1, z - left)):
                if 0 <= r < height and 0 <= s < width:
                    columns[n, c, k, i, j] += a * b * x[n, c, r, s]
        if mask is not None:
            columns[n, c, k, i, j] *= mask.reshape(batch, groups, -1, *mask.shape[2:])[n, group, k, i, j]
    return columns


def deformable(attrs, x, offset, mask, weight, bias=None):
    groups = attrs.get("num_group", 1)

    def product(data, kernels):
        columns = columns_of(attrs, data, wide(offset), None if mask is None else wide(mask))
        columns = columns.reshape(x.shape[0], groups, -1, *columns.shape[3:])
        y = np.einsum("ngkhw,gfk->ngfhw", columns, kernels.reshape(groups, weight.shape[0] // groups, -1))
        return y.reshape(x.shape[0], weight.shape[0], *y.shape[3:])

    b = np.zeros(weight.shape[0]) if bias is None else wide(bias)
    magnitude = product(np.abs(wide(x)), np.abs(wide(weight))) + np.abs(b).reshape(-1, 1, 1)
    terms = int(np.prod(weight.shape[1:])) + 128  # and the places of samples are rounded
    return Expected(product(wide(x), wide(weight)) + b.reshape(-1, 1, 1), x.dtype, terms * magnitude)


def draw_deformable(d, modulated):
    groups, offset_groups, kernel = d.of([1, 2]), d.of([1, 2]), d.ints(2, 1, 3)
    attrs = {"kernel": kernel, **d.some(stride=d.ints(2, 1, 2), dilate=d.ints(2, 1, 2), pad=d.ints(2, 0, 2))}
    attrs |= {"num_group": groups} if groups > 1 else d.some(num_group=1)
    attrs |= {"num_deformable_group": offset_groups} if offset_groups > 1 else d.some(num_deformable_group=1)
    attrs |= {"num_filter": groups * d.int(1, 3), **d.some(layout=d.of(["NCHW", None]))}
    stride, dilate, pad = (numbers(attrs, *n) for n in (("stride", 2, 1), ("dilate", 2, 1), ("pad", 2, 0)))
    extent = [(k - 1) * r + 1 for k, r in zip(kernel, dilate)]
    sizes = [max(1, e - 2 * p) + d.int(0, 4) for e, p in zip(extent, pad)]
    out = [(s + 2 * p - e) // t + 1 for s, p, e, t in zip(sizes, pad, extent, stride)]
    batch, channels, samples, dtype = d.int(1, 2), 2 * d.int(1, 3), offset_groups * kernel[0] * kernel[1], d.dtype()
    # Eighths, and nowhere near the edges of the data.
    offset = (d.rng.integers(-24, 24, (batch, 2 * samples, *out)) / 8 + 0.0625).astype(dtype)
    inputs = [d.array((batch, channels, *sizes), dtype), offset]
    if modulated:
        inputs.append(np.abs(d.array((batch, samples, *out), dtype)))
    inputs.append(d.array((attrs["num_filter"], channels // groups, *kernel), dtype))
    if d.flag():
        return Case(attrs | {"no_bias": True}, inputs)
    return Case(attrs | d.some(no_bias=False), [*inputs, d.array((attrs["num_filter"],), dtype)])


operator(
    "_contrib_DeformableConvolution",
    lambda attrs, x, offset, *rest: deformable(attrs, x, offset, None, *rest),
    lambda d: draw_deformable(d, False),
)
operator("_contrib_ModulatedDeformableConvolution", deformable, lambda d: draw_deformable(d, True))


def deconvolve(attrs, x, weight, bias, groups):
    """Each element of x (N, C, spatial...) adds its multiple of weight (C, F / groups, kernel...) to the output."""
    n, kernel = x.ndim - 2, weight.shape[2:]
    stride, dilate, pad = (numbers(attrs, *name) for name in (("stride", n, 1), ("dilate", n, 1), ("pad", n, 0)))
    adj = numbers(attrs, "adj", n, 0)
    full = [(s - 1) * t + (k - 1) * r + 1 for s, t, k, r in zip(x.shape[2:], stride, kernel, dilate)]
    before, out = pad, [f - 2 * p + a for f, p, a in zip(full, pad, adj)]
    if any(attrs.get("target_shape") or ()):  # what is cut off is shared by both ends
        out = attrs["target_shape"]
        before = [(f - o + 1) // 2 for f, o in zip(full, out)]
    filters = weight.shape[1] * groups
    y = np.zeros((x.shape[0], groups, weight.shape[1], *(max(f, b + o) for f, b, o in zip(full, before, out))))
    x = x.reshape(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    w = weight.reshape(groups, -1, *weight.shape[1:])
    for index in every_index(kernel):
        starts = [i * r for i, r in zip(index, dilate)]
        places = tuple(slice(i, i + (s - 1) * t + 1, t) for i, s, t in zip(starts, x.shape[3:], stride))
        y[(..., *places)] += np.einsum("ngc...,gcf->ngf...", x, w[(slice(None),) * 3 + index])
    y = y[(..., *(slice(b, b + o) for b, o in zip(before, out)))]
    return y.reshape(y.shape[0], filters, *out) + bias.reshape((-1,) + (1,) * n)


def deconvolution(attrs, x, weight, bias=None):
    groups = attrs.get("num_group", 1)
    b = np.zeros(attrs["num_filter"]) if bias is None else wide(bias)
    y = deconvolve(attrs, wide(x), wide(weight), b, groups)
    magnitude = deconvolve(attrs, np.abs(wide(x)), np.abs(wide(weight)), np.abs(b), groups)
    terms = x.shape[1] // groups * int(np.prod(weight.shape[2:])) + 2
    return Expected(y, out_dtype(attrs, x), terms * magnitude)


def draw_deconvolution(d):
    n = d.int(1, 3)
    kernel, stride = d.ints(n, 1, 3 if n == 3 else 4), d.ints(n, 1, 3)
    attrs = {"kernel": kernel, **d.some(stride=d.of([stride, stride, (0,) * n]), dilate=d.ints(n, 1, 2))}
    attrs.update(d.out_dtype())
    stride, dilate = numbers(attrs, "stride", n, 1), numbers(attrs, "dilate", n, 1)
    extent = [(k - 1) * r + 1 for k, r in zip(kernel, dilate)]
    spatial = tuple(d.int(1, 5 if n < 3 else 3) for _ in range(n))
    full = [(s - 1) * t + e for s, t, e in zip(spatial, stride, extent)]
    attrs.update(d.some(pad=tuple(d.int(0, min(2, (f - 1) // 2)) for f in full)))
    attrs.update(d.some(adj=tuple(d.int(0, t - 1) for t in stride)))
    if d.chance(0.25):
        attrs["target_shape"] = d.of([(0,) * n, tuple(f - d.int(0, min(3, f - 1)) for f in full)])
    groups = d.of([1, 1, 2, 4])
    channels, filters, no_bias = groups * d.int(1, 5), groups * d.int(1, 5), d.flag()
    attrs.update(num_filter=filters, **({"num_group": groups} if groups > 1 else {}))
    attrs.update({"no_bias": False} if not no_bias else d.some(no_bias=True))
    attrs.update(d.of([{}, {"layout": None}, {"layout": FIRST[n - 1]}]))
    dtype = d.dtype()
    inputs = [d.array((d.int(1, 2), channels, *spatial), dtype), d.array((channels, filters // groups, *kernel), dtype)]
    return Case(attrs, inputs if no_bias else [*inputs, d.array((filters,), dtype)], infers=True)


operator("Deconvolution", deconvolution, draw_deconvolution)


# ---- pooling -------------------------------------------------------------------------------------


def pooled_window(values, counted, attrs):
    """(result, error) of the windows' elements along axis 2 of `values`; `counted` is the divisor of an average."""
    kind, magnitude = attrs.get("pool_type", "max"), np.abs(values).sum(2)
    terms = values.shape[2] + 2
    if kind == "max":
        return values.max(2), 0 * magnitude
    if kind == "lp":  # odd powers keep their sign, as in MXNet; the root halves the relative error at least
        p = attrs["p_value"]
        total = (values**p).sum(2)
        root = np.cbrt(total) if p == 3 else total ** (1 / p)
        return root, (terms + 16) * (magnitude if p == 1 else np.abs(root))
    divisor = counted if kind == "avg" else 1
    return values.sum(2) / divisor, terms * magnitude / divisor


def pooling(attrs, x):
    data = channels_first(wide(x), attrs)
    n, size = data.ndim - 2, data.shape[2:]
    whole = attrs.get("global_pool", False)
    kernel = size if whole else attrs["kernel"]
    stride = (1,) * n if whole else numbers(attrs, "stride", n, 1)
    pad = (0,) * n if whole else numbers(attrs, "pad", n, 0)
    convention = "valid" if whole else attrs.get("pooling_convention", "valid")
    if convention == "same":
        out = [-(-(s + 2 * p) // t) for s, p, t in zip(size, pad, stride)]
    else:
        up = [t - 1 if convention == "full" else 0 for t in stride]
        out = [(s + 2 * p - k + u) // t + 1 for s, p, k, u, t in zip(size, pad, kernel, up, stride)]
    y, error = np.zeros((2, *data.shape[:2], *out))
    include = attrs.get("count_include_pad")
    for index in every_index(out):
        first = [i * t - p for i, t, p in zip(index, stride, pad)]
        parts = [slice(max(f, 0), min(f + k, s)) for f, k, s in zip(first, kernel, size)]
        values = data[(..., *parts)]
        padded = [min(f + k, s + p) - f for f, k, s, p in zip(first, kernel, size, pad)]
        counted = np.prod(values.shape[2:] if include is False else padded)
        if values.size:
            values = values.reshape(*values.shape[:2], -1)
            y[(..., *index)], error[(..., *index)] = pooled_window(values, counted, attrs)
        elif data.size and attrs.get("pool_type", "max") == "max":
            y[(..., *index)] = lowest(x.dtype)  # beyond everything: possible under `full` and `same`
    return Expected(as_given(y, attrs), x.dtype, as_given(error, attrs))


def lowest(dtype):
    """The lowest finite number of the type that is computed in."""
    return np.finfo(np.float64 if dtype == np.float64 else np.float32).min


def draw_pooling(d):
    n = d.int(1, 3)
    kernel = d.ints(n, 1, 3 if n == 3 else 4)
    attrs = d.some(stride=d.of([d.ints(n, 1, 4), d.ints(n, 1, 2), (0,) * n]))
    attrs.update(d.some(pad=tuple(d.int(0, k - 1) for k in kernel)))
    attrs.update(d.some(pool_type=d.of(["max", "avg", "avg", "sum", "lp"])))
    attrs.update(d.some(pooling_convention=d.of(["valid", "full", "full", *(["same"] * (n == 1))])))
    attrs.update(d.some(count_include_pad=d.of([None, True, False])))
    if attrs.get("pool_type") == "lp" or d.chance(0.1):
        attrs["p_value"] = d.int(1, 3)
    if d.chance(0.2):
        attrs["global_pool"] = True
    if "global_pool" not in attrs or d.flag():
        attrs["kernel"] = kernel
    layout, last = draw_layout(d, n)
    pad = numbers(attrs, "pad", n, 0)
    spatial = tuple(max(1, k - 2 * p) + d.int(0, 6 if n < 3 else 3) for k, p in zip(kernel, pad))
    batch, channels = 0 if d.chance(0.03) else d.int(1, 2), d.of([d.int(1, 4), 16, 17])
    # a cube root has no error bound where a sum of cubes cancels
    low = 0.125 if attrs.get("pool_type") == "lp" else -4
    shape = (batch, *spatial, channels) if last else (batch, channels, *spatial)
    return Case({**attrs, **layout}, [d.array(shape, d.dtype(), low)])


operator("Pooling", pooling, draw_pooling)


def adaptive(attrs, x):
    """Output i of h covers rows floor(i H / h) to ceil((i + 1) H / h)."""
    size = tuple(attrs.get("output_size") or (1,))
    data, out = wide(x), size * 2 if len(size) == 1 else size
    y, error = np.zeros((2, *x.shape[:2], *out))
    for i, j in every_index(out):
        rows, columns = (slice(k * s // o, -(-(k + 1) * s // o)) for k, s, o in zip((i, j), x.shape[2:], out))
        window = data[..., rows, columns].reshape(*x.shape[:2], -1)
        y[..., i, j] = window.mean(2)
        error[..., i, j] = (window.shape[2] + 2) * np.abs(window).mean(2)
    return Expected(y, x.dtype, error)


def draw_images(d):
    return d.array((d.int(1, 2), d.of([d.int(1, 5), 16, 17]), d.int(1, 9), d.int(1, 9)), d.dtype())


operator(
    "_contrib_AdaptiveAvgPooling2D",
    adaptive,
    lambda d: Case(d.some(output_size=d.of([d.ints(1, 1, 8), d.ints(2, 1, 8), d.ints(2, 1, 3)])), [draw_images(d)]),
)


def interpolation(size, out, corners):
    """The matrix (out, size) of linear interpolation."""
    if out == 1:  # MXNet shows the first element
        position = np.zeros(1)
    elif corners:
        position = np.arange(out) * (size - 1) / (out - 1)
    else:  # pixels are areas; positions in front of the first one's middle count as that
        position = np.maximum((np.arange(out) + 0.5) * size / out - 0.5, 0)
    first = np.minimum(np.floor(position).astype(int), size - 1)
    weight = position - first
    matrix = np.zeros((out, size))
    for row, (left, w) in enumerate(zip(first, weight)):
        matrix[row, left] += 1 - w
        matrix[row, min(left + 1, size - 1)] += w
    return matrix


def new_size(mode, size, given, scale, like):
    if mode == "like":
        return like
    if mode == "size":
        return int(size * scale) if scale else given
    if mode == "odd_scale":
        return int(size // 2 * 2 * scale) + size % 2
    if size % 2 == ("odd" in mode):
        return size
    return size + 1 if mode.endswith("up") else size - 1


def bilinear(attrs, x, like=None):
    height, width = x.shape[2:]
    out = [
        new_size(attrs.get("mode", "size"), size, attrs.get(name, 1), attrs.get(f"scale_{name}"), other)
        for name, size, other in zip(("height", "width"), x.shape[2:], x.shape[2:] if like is None else like.shape[2:])
    ]
    corners = attrs.get("align_corners", True)
    rows, columns = interpolation(height, out[0], corners), interpolation(width, out[1], corners)
    y = rows @ wide(x) @ columns.T
    # Positions are computed in float32, also for float64: their error counts once per neighbours' difference.
    units = 8 * (2.0**29 if x.dtype == np.float64 else 1) * max(height, width)
    return Expected(y, x.dtype, units * np.max(np.abs(wide(x)), axis=(2, 3), keepdims=True))


def draw_bilinear(d):
    attrs = {"height": d.int(1, 12), "width": d.int(1, 12), **d.some(align_corners=d.flag())}
    if d.chance(0.3):
        attrs.update(scale_height=d.of([2.0, 1.0, 3.0]), scale_width=d.of([2.0, 1.0]))
    image = draw_images(d)
    mode = d.of(["size", "size", "like", "odd_scale", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"])
    if mode == "odd_scale":
        attrs.update(scale_height=2.0, scale_width=d.of([2.0, 1.0]))
    if mode == "to_even_down" and min(image.shape[2:]) < 2:
        mode = "to_even_up"
    attrs.update({"mode": mode} if mode != "size" else d.some(mode="size"))
    return Case(attrs, [image] + ([draw_images(d)] if mode == "like" else []))


operator("_contrib_BilinearResize2D", bilinear, draw_bilinear)
