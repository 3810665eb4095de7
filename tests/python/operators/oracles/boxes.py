"""Operators on boxes of detections."""

import numpy as np

from .core import Case, Expected, moved, operator, wide


def corners(boxes):
    middle, half = boxes[..., :2], boxes[..., 2:] / 2
    return np.concatenate([middle - half, middle + half], -1)


def centers(boxes):
    low, high = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([(low + high) / 2, high - low], -1)


def box_decode(attrs, x, anchors):
    anchors = wide(anchors) if attrs.get("format", "center") == "center" else centers(wide(anchors))
    codes = wide(x) * [attrs.get(f"std{i}", 1.0) for i in range(4)]
    logarithms = codes[..., 2:]
    if attrs.get("clip", -1.0) > 0:
        logarithms = np.minimum(logarithms, attrs["clip"])
    middle = codes[..., :2] * anchors[..., 2:] + anchors[..., :2]
    y = corners(np.concatenate([middle, np.exp(logarithms) * anchors[..., 2:]], -1))
    return Expected(y, x.dtype, 64 * (np.abs(y) + 64 + np.exp(np.abs(codes).max(initial=0)) * 16))


def draw_box_decode(d):
    x = d.array((d.int(1, 3), d.int(1, 6), 4), np.dtype("float32"))
    anchors = d.array((1, x.shape[1], 4), x.dtype, 0, 8)
    attrs = d.some(**{f"std{i}": d.of([0.125, 0.5]) for i in range(4)}, clip=2.0, format=d.of(["corner", "center"]))
    return Case(attrs, [x, anchors])


operator("_contrib_box_decode", box_decode, draw_box_decode)


def overlap(a, b):
    def area(box):
        return max(0, box[2] - box[0]) * max(0, box[3] - box[1])

    both = area([*np.maximum(a[:2], b[:2]), *np.minimum(a[2:], b[2:])])
    either = area(a) + area(b) - both
    return both / either if either > 0 else 0


def kept_boxes(attrs, rows, boxes):
    """Rows of one image that remain, best first."""
    score, number = attrs.get("score_index", 1), attrs.get("id_index", -1)
    background = attrs.get("background_id", -1)
    order = [i for i in np.argsort(-rows[:, score], kind="stable") if rows[i, score] > attrs.get("valid_thresh", 0.0)]
    if number >= 0:
        order = [i for i in order if rows[i, number] != background]
    order = order[: attrs["topk"]] if attrs.get("topk", -1) > 0 else order
    force = attrs.get("force_suppress", False) or number < 0
    kept = []
    for i in order:
        rivals = [k for k in kept if force or rows[k, number] == rows[i, number]]
        if all(overlap(boxes[i], boxes[k]) <= attrs.get("overlap_thresh", 0.5) for k in rivals):
            kept.append(i)
    return kept


def box_nms(attrs, x):
    if attrs.get("topk", -1) == 0:
        return Expected(x, x.dtype)
    start, given = attrs.get("coord_start", 2), attrs.get("in_format", "corner")
    wanted = attrs.get("out_format", "corner")
    y = np.full(x.shape, -1.0)
    for image in np.ndindex(x.shape[:-2]):
        rows = wide(x[image]).copy()
        boxes = corners(rows[:, start : start + 4]) if given == "center" else rows[:, start : start + 4].copy()
        if given != wanted:
            rows[:, start : start + 4] = centers(boxes) if wanted == "center" else boxes
        kept = kept_boxes(attrs, wide(x[image]), boxes)
        y[image][: len(kept)] = rows[kept]
    return Expected(y, x.dtype, 8 + 4 * np.abs(y))


def draw_box_nms(d):
    """Coordinates on a grid, so that no overlap is near a threshold that is none of its fractions."""
    count = d.int(1, 8)
    corner = d.rng.integers(0, 6, (d.int(1, 2), count, 2))
    boxes = np.concatenate([corner, corner + d.rng.integers(1, 6, corner.shape)], -1)
    others = [d.rng.integers(0, 3, (*corner.shape[:2], 1)), d.rng.integers(-2, 9, (*corner.shape[:2], 1)) / 8]
    if first := d.flag():
        x = np.concatenate([boxes, *others], -1)
    else:
        x = np.concatenate([*others, boxes], -1)
    attrs = {"coord_start": 0, "score_index": 5} if first else d.some(coord_start=2, score_index=1)
    attrs |= d.some(id_index=4 if first else 0, background_id=d.of([-1, 1]), force_suppress=d.flag())
    attrs |= d.some(overlap_thresh=d.of([0.0, 0.3001, 0.7001]), valid_thresh=d.of([0.3, -1.0]), topk=d.of([-1, 0, 3]))
    attrs |= d.some(in_format=d.of(["corner", "center"]), out_format=d.of(["corner", "center"]))
    return Case(attrs, [x.astype(np.float32)])


operator("_contrib_box_nms", box_nms, draw_box_nms)


def anchors_of(attrs):
    """Around the feature at (0, 0), by ratio and scale."""
    stride = attrs.get("feature_stride", 16)
    middle, boxes = (stride - 1) / 2, []
    for ratio in attrs.get("ratios", (0.5, 1.0, 2.0)):
        for scale in attrs.get("scales", (4.0, 8.0, 16.0, 32.0)):
            width = np.floor(np.sqrt(np.floor(stride**2 / ratio)) + 0.5) * scale
            height = np.floor(width / scale * ratio + 0.5) * scale
            half = np.array([width - 1, height - 1]) / 2
            boxes.append(np.concatenate([middle - half, middle + half]))
    return np.array(boxes)


def overlap_of_pixels(a, b):
    """As `overlap`, of boxes whose last pixels belong to them."""
    return overlap(a + [0, 0, 1, 1], b + [0, 0, 1, 1])


def regions_of_image(attrs, scores, codes, info):
    """(scores, boxes) that remain, best first."""
    stride, base = attrs.get("feature_stride", 16), anchors_of(attrs)
    rows, columns = scores.shape[1:]
    found = []
    for i, j, a in np.ndindex(rows, columns, len(base)):
        anchor, code = base[a] + stride * np.array([j, i, j, i]), codes[4 * a : 4 * a + 4, i, j]
        if attrs.get("iou_loss", False):
            box = anchor + code
        else:
            size = anchor[2:] - anchor[:2] + 1
            middle, half = code[:2] * size + (anchor[:2] + anchor[2:]) / 2, (np.exp(code[2:]) * size - 1) / 2
            box = np.concatenate([middle - half, middle + half])
        box = np.clip(box, 0, [info[1] - 1, info[0] - 1] * 2)
        least, score = attrs.get("rpn_min_size", 16) * info[2], scores[len(base) + a, i, j]
        if (box[2:] - box[:2] + 1 < least).any():
            box, score = box + np.array([-1, -1, 1, 1]) * least / 2, -1
        if i >= int(info[0] / stride) or j >= int(info[1] / stride):
            score = -1
        found.append((score, box))
    found = [found[i] for i in np.argsort([-score for score, _ in found], kind="stable")]
    most = attrs.get("rpn_pre_nms_top_n", 6000)
    kept = []
    for score, box in found[:most] if most > 0 else found:
        if all(overlap_of_pixels(box, other) <= attrs.get("threshold", 0.7) for _, other in kept):
            kept.append((score, box))
    return kept


def proposals(attrs, scores, codes, info):
    count, rows, found = attrs.get("rpn_post_nms_top_n", 300), [], []
    for n in range(len(scores)):
        kept = regions_of_image(attrs, wide(scores[n]), wide(codes[n]), wide(info[n]))[:count]
        for i in range(count):
            score, box = kept[i % len(kept)]
            rows.append([n, *box])
            found.append([score])
    regions = Expected(np.array(rows), scores.dtype, 64 * (np.abs(rows) + 64))
    return [regions, Expected(np.array(found), scores.dtype)] if attrs.get("output_score", False) else regions


def draw_proposals(d, images):
    attrs = {"scales": (1.0, 2.0), "ratios": (0.5, 2.0), "rpn_post_nms_top_n": d.int(1, 12)}
    attrs |= d.some(feature_stride=8, rpn_pre_nms_top_n=d.of([0, 7]), threshold=d.of([0.3001, 0.7001]))
    attrs |= d.some(rpn_min_size=d.of([0, 5]), output_score=True, iou_loss=True)
    rows, columns = d.ints(2, 1, 4)
    scores = d.rng.permutation(images * 8 * rows * columns).reshape(images, 8, rows, columns) / 256
    codes = d.rng.integers(-4, 5, (images, 16, rows, columns)) / 8
    stride = attrs.get("feature_stride", 16)
    sizes = [[d.int(1, rows * stride), d.int(1, columns * stride), d.of([1, 2])] for _ in range(images)]
    return Case(attrs, [array.astype(np.float32) for array in (scores, codes, np.array(sizes))])


operator("_contrib_Proposal", proposals, lambda d: draw_proposals(d, 1))
operator("_contrib_MultiProposal", proposals, lambda d: draw_proposals(d, d.int(1, 3)))


def sample(image, y, x):
    """Bilinear interpolation; 0 beyond one pixel outside."""
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = np.clip(y, 0, height - 1), np.clip(x, 0, width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    down, across = y - top, x - left
    upper = (1 - across) * image[top, left] + across * image[top, right]
    return (1 - down) * upper + down * ((1 - across) * image[bottom, left] + across * image[bottom, right])


def places(attrs, first, last, count):
    """For each bin along an axis: the positions of its samples."""
    shift = 0.5 if attrs.get("aligned", False) else 0.0
    begin, end = first * attrs["spatial_scale"] - shift, last * attrs["spatial_scale"] - shift
    extent = end - begin if shift else max(end - begin, 1)
    size = extent / count
    samples = attrs.get("sample_ratio", -1) if attrs.get("sample_ratio", -1) > 0 else int(np.ceil(size))
    return [[begin + (i + (k + 0.5) / samples) * size for k in range(samples)] for i in range(count)]


def roi_align(attrs, x, rois):
    height, width = attrs["pooled_size"]
    bins = height * width if attrs.get("position_sensitive", False) else 1
    y = np.zeros((len(rois), x.shape[1] // bins, height, width))
    for r, (image, *box) in enumerate(wide(rois)):
        rows, columns = places(attrs, box[1], box[3], height), places(attrs, box[0], box[2], width)
        for c, i, j in np.ndindex(y.shape[1:]):
            channel = (c * height + i) * width + j if bins > 1 else c
            values = [sample(wide(x[int(image), channel]), v, h) for v in rows[i] for h in columns[j]]
            y[r, c, i, j] = np.mean(values) if image >= 0 and values else 0
    return Expected(y, x.dtype, 256.0)


def draw_roi_align(d):
    pooled, position_sensitive = d.ints(2, 1, 3), d.flag()
    channels = d.int(1, 2) * (pooled[0] * pooled[1] if position_sensitive else 1)
    x = d.array((2, channels, d.int(3, 6), d.int(3, 6)), np.dtype("float32"))
    count = d.int(1, 3)
    low = d.rng.integers(0, 24, (count, 2)) / 8 + 0.0625  # nowhere near where a sample leaves the map
    rois = np.concatenate([d.rng.integers(-1, 2, (count, 1)), low, low + d.rng.integers(1, 16, (count, 2)) / 8], -1)
    attrs = {"pooled_size": pooled, "spatial_scale": d.of([0.5, 1.0])}
    attrs |= d.some(sample_ratio=d.of([-1, 2]), aligned=d.flag())
    attrs |= {"position_sensitive": True} if position_sensitive else d.some(position_sensitive=False)
    return Case(attrs, [x, rois.astype(np.float32)])


operator("_contrib_ROIAlign", roi_align, draw_roi_align)


def rotated_roi_align(attrs, x, rois):
    rows, columns = attrs["pooled_size"]
    y = np.zeros((len(rois), x.shape[1], rows, columns))
    for n, (image, *roi) in enumerate(wide(rois)):
        across, down, width, height = np.array(roi[:4]) * attrs["spatial_scale"]
        width, height, angle = max(width, 1), max(height, 1), np.deg2rad(roi[4])
        given = attrs.get("sampling_ratio", -1)
        samples = [given if given > 0 else int(np.ceil(size / n)) for size, n in ((height, rows), (width, columns))]
        for i, j in np.ndindex(rows, columns):
            total = 0
            for a, b in np.ndindex(*samples):
                v = -height / 2 + (i + (a + 0.5) / samples[0]) * height / rows
                u = -width / 2 + (j + (b + 0.5) / samples[1]) * width / columns
                row, column = v * np.cos(angle) - u * np.sin(angle), u * np.cos(angle) + v * np.sin(angle)
                total = total + np.array([sample(wide(m), row + down, column + across) for m in x[int(image)]])
            y[n, :, i, j] = total / (samples[0] * samples[1])
    return Expected(y, x.dtype, 4096.0)


def draw_rotated_roi_align(d):
    attrs = {"pooled_size": tuple(d.ints(2, 1, 3)), "spatial_scale": d.of([0.5, 1.0]), **d.some(sampling_ratio=2)}
    x = d.array((2, d.int(1, 2), *d.ints(2, 3, 7)), np.dtype("float32"))
    middle, size = d.rng.uniform(0, 8, (3, 2)), d.rng.uniform(0.5, 9, (3, 2))
    rois = np.concatenate([d.rng.integers(0, 2, (3, 1)), middle, size, d.rng.uniform(-180, 180, (3, 1))], -1)
    return Case(attrs, [x, rois.astype(np.float32)])


operator("_contrib_RROIAlign", rotated_roi_align, draw_rotated_roi_align)


def box_iou(attrs, a, b):
    corner = [corners(wide(x)) if attrs.get("format", "corner") == "center" else wide(x) for x in (a, b)]
    shape = (*a.shape[:-1], *b.shape[:-1]) or (1,)
    y = [overlap(first, second) for first in corner[0].reshape(-1, 4) for second in corner[1].reshape(-1, 4)]
    return Expected(np.array(y, float).reshape(shape), a.dtype, 64.0)


def draw_box_iou(d):
    """Boxes on a grid: unions are far from 0 or 0 exactly."""
    shapes = [(*d.shape(d.int(0, 2), 4), 4) for _ in range(2)]
    low = [d.rng.integers(0, 6, (*shape[:-1], 2)) / 8 for shape in shapes]
    boxes = [np.concatenate([x, x + d.rng.integers(0, 6, x.shape) / 8], -1).astype(d.of([np.float32])) for x in low]
    return Case(d.some(format=d.of(["corner", "center"])), boxes)


operator("_contrib_box_iou", box_iou, draw_box_iou)


def bins(first, last, count, size):
    """Along one axis: the positions [begin, end) that each bin of a region holds."""
    start, end = (int(np.floor(abs(v) + 0.5) * np.sign(v)) for v in (first, last))
    length = np.float32(max(end - start + 1, 1)) / np.float32(count)
    edges = [(int(np.floor(np.float32(i) * length)), int(np.ceil(np.float32(i + 1) * length))) for i in range(count)]
    return [tuple(int(np.clip(edge + start, 0, size)) for edge in pair) for pair in edges]


def roi_pooling(attrs, x, rois):
    height, width = attrs["pooled_size"]
    y = np.zeros((len(rois), x.shape[1], height, width), x.dtype)
    for r, (image, *box) in enumerate(rois.astype(np.float32)):
        left, top, right, bottom = (v * np.float32(attrs["spatial_scale"]) for v in box)
        rows, columns = bins(top, bottom, height, x.shape[2]), bins(left, right, width, x.shape[3])
        for i, j in np.ndindex(height, width):
            (up, down), (start, end) = rows[i], columns[j]
            if image >= 0 and up < down and start < end:
                y[r, :, i, j] = x[int(image), :, up:down, start:end].max((1, 2))
    return moved(y)


def draw_roi_pooling(d):
    x = d.array((2, d.int(1, 3), d.int(1, 6), d.int(1, 6)), d.dtype())
    count = d.int(1, 3)
    rois = np.concatenate([d.rng.integers(-1, 2, (count, 1)), d.rng.integers(-4, 24, (count, 4)) / 4], -1)
    attrs = {"pooled_size": d.ints(2, 1, 3), "spatial_scale": d.of([0.5, 1.0, 0.25])}
    return Case(attrs, [x, rois.astype(np.float32)])


operator("ROIPooling", roi_pooling, draw_roi_pooling)
