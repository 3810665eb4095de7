"""What detectors learn from, counting, positions, and small functions of MXNet."""

import numpy as np

from .boxes import centers, overlap
from .core import FLOATS, NUMBERS, Case, Expected, computed, moved, operator, wide

# ---- small functions ------------------------------------------------------------------------------------------


def quadratic(attrs, x):
    a, b, c = (attrs.get(name, 0.0) for name in "abc")
    values = wide(x)
    return computed(a * values**2 + b * values + c, x.dtype, 8 * (abs(a) * values**2 + abs(b * values) + abs(c)))


def draw_quadratic(d):
    return Case(d.some(a=d.of([1.0, -0.5]), b=2.0, c=-3.0), [d.array(d.shape(d.int(1, 4)), d.dtype())], infers=True)


operator("_contrib_quadratic", quadratic, draw_quadratic)
operator(
    "_contrib_gradientmultiplier",
    lambda attrs, x: moved(x),
    lambda d: Case(d.some(scalar=-0.5, is_int=False), [d.array(d.shape(2), d.dtype(NUMBERS))], infers=True),
)


def answer(value, dtype, shape=(1,)):
    return Expected(np.full(shape, value).astype(dtype), np.dtype(dtype))


def all_finite(attrs, *arrays):
    return answer(all(np.isfinite(wide(x)).all() for x in arrays), "float32")


def draw_perhaps_finite(d):
    x = d.array(d.shape(2), d.dtype(FLOATS))
    if d.flag() and x.size:
        x.reshape(-1)[d.int(0, x.size - 1)] = d.of([np.nan, np.inf, -np.inf])
    return x


operator("all_finite", all_finite, lambda d: Case({}, [draw_perhaps_finite(d)]))


def draw_multi_all_finite(d):
    arrays = [draw_perhaps_finite(d) for _ in range(d.int(1, 4))]
    return Case({"num_arrays": len(arrays)}, arrays)


operator("multi_all_finite", all_finite, draw_multi_all_finite)


def allclose(attrs, a, b):
    rtol, atol = attrs.get("rtol", 1e-5), attrs.get("atol", 1e-8)
    return answer(np.allclose(wide(a), wide(b), rtol, atol, attrs.get("equal_nan", True)), "uint8", ())


def draw_allclose(d):
    a = draw_perhaps_finite(d)
    b = a.copy() if d.flag() else d.array(a.shape, a.dtype)
    if d.flag():
        b += np.asarray(0.25, b.dtype)
    return Case(d.some(rtol=0.125, atol=d.of([0.5, 8.0]), equal_nan=d.flag()), [a, b])


operator("_contrib_allclose", allclose, draw_allclose)


def softmax_cross_entropy(attrs, x, labels):
    values = wide(x)
    logs = values - values.max(1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(1, keepdims=True))
    chosen = np.clip(wide(labels).astype(np.int64), 0, x.shape[1] - 1)
    terms = -logs[np.arange(len(x)), chosen]
    return computed(terms.sum(keepdims=True), x.dtype, 64 * (np.abs(terms).sum(keepdims=True) + 8 * len(x)))


def draw_softmax_cross_entropy(d):
    x = d.array(d.shape(2, empty=0), d.dtype())
    return Case({}, [x, d.array((x.shape[0],), d.of([np.dtype("float32"), np.dtype("int32")]), -1, 6)])


operator("softmax_cross_entropy", softmax_cross_entropy, draw_softmax_cross_entropy)

# ---- positions --------------------------------------------------------------------------------------------------

POSITIONS = [np.dtype("int32"), np.dtype("int64"), np.dtype("float32")]


def ravel(attrs, x):
    places = np.zeros(x.shape[1:] or (1,), np.int64)
    for row, size in zip(wide(x).astype(np.int64), attrs["shape"]):
        places = places * size + row
    return Expected(places.astype(x.dtype), x.dtype)


def draw_ravel(d):
    shape = d.shape(d.int(1, 3), empty=0)
    rows = [d.rng.integers(0, size, (3, 2)) for size in shape]
    attrs = {"shape": (-1, *shape[1:]) if d.chance(0.2) else shape}
    return Case(attrs, [np.stack(rows).astype(d.of(POSITIONS))])


def unravel(attrs, x):
    shape = (10**6, *attrs["shape"][1:])
    return Expected(np.stack(np.unravel_index(wide(x).astype(np.int64), shape)).astype(x.dtype), x.dtype)


def draw_unravel(d):
    shape = d.shape(d.int(1, 3), empty=0)
    places = d.rng.integers(0, int(np.prod(shape)), d.shape(d.int(1, 2)))
    return Case({"shape": (-1, *shape[1:]) if d.chance(0.2) else shape}, [places.astype(d.of(POSITIONS))])


operator("_ravel_multi_index", ravel, draw_ravel)
operator("_unravel_index", unravel, draw_unravel)


def index_array(attrs, x):
    indices = np.moveaxis(np.indices(x.shape, np.int64), 0, -1)
    return moved(indices[..., list(attrs["axes"])] if attrs.get("axes") is not None else indices)


def draw_index_array(d):
    x = d.array(d.shape(d.int(1, 4)), d.dtype(NUMBERS))
    return Case(d.some(axes=tuple(d.axis(x.ndim) for _ in range(d.int(1, 3)))), [x])


operator("_contrib_index_array", index_array, draw_index_array)


def index_copy(attrs, old, index, new):
    y = old.copy()
    for place, row in zip(wide(index), new):
        y[place] = row
    return moved(y)


def draw_index_copy(d):
    old = d.array(d.shape(d.int(1, 3), empty=0), d.dtype(NUMBERS))
    count = d.int(0, 4)
    places = d.rng.integers(-len(old), len(old), count).astype(d.of(["int32", "int64"]))
    return Case({}, [old, places, d.array((count, *old.shape[1:]), old.dtype)])


operator("_contrib_index_copy", index_copy, draw_index_copy)


def with_parts(changed):
    """a with `changed(part, values)` at a[ind[0], ..., ind[M - 1]], one place after the other."""

    def oracle(attrs, array, indices, values):
        y = wide(array).copy()
        places = list(zip(*wide(indices)))
        parts = np.broadcast_to(wide(values), (len(places), *array.shape[len(indices) :]))
        for place, part in zip(places, parts):
            y[tuple(place)] = changed(y[tuple(place)], part)
        return computed(y, array.dtype, np.abs(y))

    return oracle


def draw_parts(d):
    array = d.array(d.shape(d.int(1, 3), empty=0), d.dtype(NUMBERS), 0, 3)
    named, count = d.int(1, array.ndim), d.int(1, 4)
    rows = [d.rng.integers(-size, size, count) for size in array.shape[:named]]
    values = (count, *array.shape[named:])
    shape = d.of([values, values[1:], (1,)])
    indices = np.array(rows).astype(d.of(["int32", "int64"]))
    return Case({}, [array, indices, d.array(shape, array.dtype, 0, 3)])


operator("_npx_index_add", with_parts(lambda part, values: part + values), draw_parts)
operator("_npx_index_update", with_parts(lambda part, values: values), draw_parts)


def histogram(attrs, x, bins=None):
    count = attrs.get("bin_cnt")
    given = wide(bins) if count is None else count
    counts, edges = np.histogram(wide(x), given, attrs.get("range"))
    return [Expected(counts.astype(np.int64), np.dtype("int64")), Expected(edges, x.dtype, 2 * np.abs(edges))]


def draw_histogram(d):
    x = d.array(d.shape(2), np.dtype(d.of(["float32", "float64"])))
    if d.flag():
        return Case({}, [x, np.sort(d.rng.integers(-8, 9, d.int(2, 5))).astype(x.dtype)])
    return Case({"bin_cnt": d.of([1, 2, 4]), "range": d.of([(-2.0, 2.0), (0.5, 2.5)])}, [x])


operator("_histogram", histogram, draw_histogram)

# ---- detection --------------------------------------------------------------------------------------------------


def bipartite_matching(attrs, x):
    sign = 1 if attrs.get("is_ascend", False) else -1
    rows, columns = np.full(x.shape[:-1], -1.0), np.full((*x.shape[:-2], x.shape[-1]), -1.0)
    for table in np.ndindex(x.shape[:-2]):
        scores, count = wide(x[table]), 0
        for place in np.argsort(sign * scores, axis=None, kind="stable"):
            row, column = divmod(int(place), scores.shape[1])
            if rows[table][row] >= 0 or columns[table][column] >= 0:
                continue
            if not sign * scores[row, column] < sign * np.float32(attrs["threshold"]):
                break
            rows[table][row], columns[table][column] = column, row
            count += 1
            if 0 < attrs.get("topk", -1) < count:
                break
    return [Expected(rows.astype(x.dtype), x.dtype), Expected(columns.astype(x.dtype), x.dtype)]


def draw_bipartite_matching(d):
    x = d.array(d.shape(d.int(2, 3), empty=0), d.dtype())
    return Case({"threshold": d.of([0.5, -1.0]), **d.some(is_ascend=d.flag(), topk=d.int(-1, 2))}, [x])


operator("_contrib_bipartite_matching", bipartite_matching, draw_bipartite_matching)


def codes(anchors, boxes):
    """Where boxes lie relative to anchors, both as corners."""
    anchors, boxes = centers(anchors), centers(boxes)
    middle = (boxes[..., :2] - anchors[..., :2]) / anchors[..., 2:]
    return np.concatenate([middle, np.log(boxes[..., 2:] / anchors[..., 2:])], -1)


def draw_corners(d, *shape):
    low = d.rng.integers(0, 6, (*shape, 2)) / 8
    return np.concatenate([low, low + d.rng.integers(1, 6, low.shape) / 8], -1).astype(np.float32)


def box_encode(attrs, samples, matches, anchors, refs, means, stds):
    chosen = np.take_along_axis(wide(refs), wide(matches).astype(np.int64)[..., None].repeat(4, -1), 1)
    mask = np.repeat(wide(samples)[..., None] > 0.5, 4, -1)
    y = np.where(mask, (codes(wide(anchors), chosen) - wide(means)) / wide(stds), 0)
    return [Expected(y, anchors.dtype, 256 * (1 + np.abs(y))), Expected(mask.astype(np.float32), anchors.dtype)]


def draw_box_encode(d):
    images, anchors, boxes = d.ints(3, 1, 4)
    samples = d.rng.integers(-1, 2, (images, anchors)).astype(np.float32)
    matches = d.rng.integers(0, boxes, (images, anchors)).astype(np.float32)
    corners = draw_corners(d, images, anchors), draw_corners(d, images, boxes)
    return Case({}, [samples, matches, *corners, d.array((4,), np.dtype("float32")), np.full(4, 0.5, np.float32)])


operator("_contrib_box_encode", box_encode, draw_box_encode)


def targets_of_image(attrs, anchors, rows, scores):
    """(object, whether it is background) of each anchor."""
    ends = np.flatnonzero(rows[:, 0] == -1)
    rows = rows[: ends[0]] if len(ends) else rows
    objects, background = np.full(len(anchors), -1), np.zeros(len(anchors), bool)
    if not len(rows):
        return objects, background
    overlaps = np.array([[overlap(anchor, row[1:5]) for row in rows] for anchor in anchors])
    left = overlaps.copy()
    while left.max(initial=0) > 1e-6:
        anchor, chosen = np.unravel_index(left.argmax(), left.shape)
        objects[anchor] = chosen
        left[anchor], left[:, chosen] = -1, -1
    limit = attrs.get("overlap_threshold", 0.5)
    best = np.where(objects < 0, overlaps.max(1), -1)
    if limit > 0:
        objects = np.where(best > limit, overlaps.argmax(1), objects)
    ratio = attrs.get("negative_mining_ratio", -1.0)
    if ratio <= 0:
        return objects, objects < 0
    likely = np.exp(scores - scores.max(0))[0] / np.exp(scores - scores.max(0)).sum(0)
    candidates = np.flatnonzero((objects < 0) & (best < attrs.get("negative_mining_thresh", 0.5)))
    order = candidates[np.argsort(likely[candidates], kind="stable")]
    background[order[: int((objects >= 0).sum() * ratio)]] = True
    return objects, background


def multibox_target(attrs, anchors, labels, scores):
    count = anchors.shape[1]
    variances = np.array(attrs.get("variances", (0.1, 0.1, 0.2, 0.2)))
    y, mask = np.zeros((len(labels), count, 4)), np.zeros((len(labels), count, 4))
    classes = np.full((len(labels), count), attrs.get("ignore_label", -1.0))
    for i, (rows, own) in enumerate(zip(wide(labels), wide(scores))):
        objects, background = targets_of_image(attrs, wide(anchors[0]), rows, own)
        found = objects >= 0
        classes[i, background] = 0
        classes[i, found], mask[i, found] = rows[objects[found], 0] + 1, 1
        y[i, found] = codes(wide(anchors[0])[found], rows[objects[found], 1:5]) / variances
    flat = (len(labels), -1)
    expected = [Expected(y.reshape(flat), anchors.dtype, 1024 * (1 + np.abs(y.reshape(flat))))]
    return [*expected, *(Expected(z.astype(np.float32), anchors.dtype) for z in (mask.reshape(flat), classes))]


def draw_multibox_target(d):
    images, anchors, objects = d.ints(3, 1, 4)
    labels = np.concatenate([d.rng.integers(-1, 3, (images, objects, 1)), draw_corners(d, images, objects)], -1)
    scores = d.rng.permutation(images * 3 * anchors).reshape(images, 3, anchors) / 4
    attrs = d.some(overlap_threshold=d.of([0.3, -1.0]), ignore_label=-2.0, variances=(0.5, 0.5, 1.0, 1.0))
    attrs |= d.some(negative_mining_ratio=d.of([1.0, 3.0]), negative_mining_thresh=0.4)
    return Case(attrs, [draw_corners(d, 1, anchors), labels.astype(np.float32), scores.astype(np.float32)])


operator("_contrib_MultiBoxTarget", multibox_target, draw_multibox_target)


def correlation(attrs, a, b):
    size, reach = attrs.get("kernel_size", 1), attrs.get("max_displacement", 1)
    first, second, pad = attrs.get("stride1", 1), attrs.get("stride2", 1), attrs.get("pad_size", 0)
    border = ((0, 0), (0, 0), (pad, pad), (pad, pad))
    x, z = np.pad(wide(a), border), np.pad(np.pad(wide(b), border), ((0, 0), (0, 0), (reach, reach), (reach, reach)))
    edge = reach + (size - 1) // 2
    rows, columns = (range(0, side - 2 * edge, first) for side in x.shape[2:])
    steps = [step * second for step in range(-(reach // second), reach // second + 1)]
    y = np.zeros((len(a), len(steps) ** 2, len(rows), len(columns)))
    magnitude = np.zeros_like(y)
    for k, (down, across) in enumerate((down, across) for down in steps for across in steps):
        for i, j in np.ndindex(len(rows), len(columns)):
            top, left = rows[i] + reach, columns[j] + reach
            own = x[:, :, top : top + size, left : left + size]
            begin, start = top + down + reach, left + across + reach
            other = z[:, :, begin : begin + size, start : start + size]
            terms = own * other if attrs.get("is_multiply", True) else np.abs(own - other)
            y[:, k, i, j] = terms.mean((1, 2, 3))
            magnitude[:, k, i, j] = (np.abs(own) + np.abs(other) + np.abs(terms)).sum((1, 2, 3))
    return Expected(y, a.dtype, 4 * magnitude + 4)


def draw_correlation(d):
    shape = (*d.ints(2, 1, 2), *d.ints(2, 7, 9))
    dtype = d.dtype()
    attrs = d.some(kernel_size=d.of([1, 3]), max_displacement=d.int(0, 2), is_multiply=d.flag())
    attrs |= d.some(stride1=d.int(1, 2), stride2=d.int(1, 2), pad_size=d.int(0, 2))
    return Case(attrs, [d.array(shape, dtype), d.array(shape, dtype)])


operator("Correlation", correlation, draw_correlation)


def ps_bins(low, high, scale, count, size):
    start, end = np.floor(low + 0.5) * scale, (np.floor(high + 0.5) + 1) * scale
    length = max(end - start, 0.1) / count
    edges = [(np.floor(i * length + start), np.ceil((i + 1) * length + start)) for i in range(count)]
    return [tuple(int(np.clip(edge, 0, size)) for edge in pair) for pair in edges]


def psroi_pooling(attrs, x, rois):
    size, channels = attrs["pooled_size"], attrs["output_dim"]
    group = attrs.get("group_size", 0) or size
    y = np.zeros((len(rois), channels, size, size))
    for r, (image, left, top, right, bottom) in enumerate(wide(rois)):
        rows = ps_bins(top, bottom, attrs["spatial_scale"], size, x.shape[2])
        columns = ps_bins(left, right, attrs["spatial_scale"], size, x.shape[3])
        for channel, i, j in np.ndindex(channels, size, size):
            plane = x[int(image), (channel * group + i * group // size) * group + j * group // size]
            part = wide(plane[slice(*rows[i]), slice(*columns[j])])
            y[r, channel, i, j] = part.mean() if part.size else 0
    return Expected(y, x.dtype, 512.0)


def draw_psroi_pooling(d):
    """Edges of bins are multiples of 1/4: float32 has them exactly."""
    channels, size = d.int(1, 2), d.of([1, 2, 4])
    attrs = {"output_dim": channels, "pooled_size": size, "spatial_scale": d.of([0.5, 1.0]), **d.some(group_size=2)}
    maps = channels * (attrs.get("group_size", 0) or size) ** 2
    x = d.array((2, maps, *d.ints(2, 1, 6)), d.dtype())
    low = d.rng.integers(0, 8, (3, 2))
    rois = np.concatenate([d.rng.integers(0, 2, (3, 1)), low, low + d.rng.integers(0, 8, (3, 2))], -1)
    return Case(attrs, [x, rois.astype(np.float32)])


operator("_contrib_PSROIPooling", psroi_pooling, draw_psroi_pooling)
