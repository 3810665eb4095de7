"""Finds faces in a photograph with the MTCNN cascade, and draws their boxes and landmarks.

    python examples/detect_faces.py MODELS PHOTO OUTPUT.png

MODELS holds MTCNN (Zhang et al. 2016) as published for MXNet: det1, det2 and det3, two files each. Needs Pillow.
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import amp.mxnet as mx

SMALLEST_FACE, PYRAMID, THRESHOLDS = 20, 0.709, (0.6, 0.7, 0.7)


class Stage:
    def __init__(self, prefix, size):
        sym, arg_params, aux_params = mx.model.load_checkpoint(prefix, 1)
        self.module = mx.mod.Module(sym, label_names=None, context=mx.cpu())
        self.module.bind(data_shapes=[("data", (1, 3, size, size))], for_training=False)
        self.module.set_params(arg_params, aux_params)

    def __call__(self, pixels):
        """Outputs for a batch of BGR pictures (N, H, W, 3); for other shapes the module is bound again."""
        batch = mx.nd.array((pixels.transpose(0, 3, 1, 2) - 127.5) / 128)
        self.module.forward(mx.io.DataBatch([batch]), is_train=False)
        return [output.asnumpy() for output in self.module.get_outputs()]


def suppress(boxes, limit, of_smaller=False):
    """Indices of boxes (x1, y1, x2, y2, score) but for those that overlap a better one too much."""
    order, kept = list(np.argsort(-boxes[:, 4])), []
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    while order:
        first, rest = order[0], np.array(order[1:], int)
        kept.append(first)
        low, high = np.maximum(boxes[first, :2], boxes[rest, :2]), np.minimum(boxes[first, 2:4], boxes[rest, 2:4])
        inner = np.prod(np.maximum(high - low, 0), axis=1)
        whole = np.minimum(area[first], area[rest]) if of_smaller else area[first] + area[rest] - inner
        order = list(rest[inner <= limit * whole])
    return kept


def moved(boxes, offsets):
    """Boxes with their corners moved by offsets, which are relative to the sides."""
    return np.hstack([boxes[:, :4] + offsets * np.tile(boxes[:, 2:4] - boxes[:, :2], 2), boxes[:, 4:]])


def squares(boxes):
    """The boxes made square around their centres."""
    centres, half = (boxes[:, :2] + boxes[:, 2:4]) / 2, (boxes[:, 2:4] - boxes[:, :2]).max(1, keepdims=True) / 2
    return np.hstack([centres - half, centres + half, boxes[:, 4:]])


def proposals(stage, photo):
    """Boxes of what may be faces, from the first network on a pyramid of pictures."""
    found, scale = [np.zeros((0, 5))], 12 / SMALLEST_FACE
    while min(photo.size) * scale >= 12:
        small = photo.resize([int(np.ceil(side * scale)) for side in photo.size], Image.BILINEAR)
        offsets, scores = stage(np.asarray(small, np.float32)[None, :, :, ::-1])
        rows, columns = np.where(scores[0, 1] > THRESHOLDS[0])
        corners = 2 * np.stack([columns, rows], 1)
        boxes = np.hstack([corners / scale, (corners + 12) / scale, scores[0, 1, rows, columns, None]])
        boxes = moved(boxes, offsets[0][:, rows, columns].T)
        found.append(boxes[suppress(boxes, 0.5)])
        scale *= PYRAMID
    boxes = np.concatenate(found)
    return boxes[suppress(boxes, 0.7)]


def refined(stage, size, threshold, photo, boxes):
    """The boxes that a stage takes for faces, with corners moved, and their landmarks (n, 5, 2) from the last one."""
    parts = [photo.crop([round(v) for v in box[:4]]).resize((size, size), Image.BILINEAR) for box in boxes]
    *marks, offsets, scores = stage(np.stack(parts).astype(np.float32)[..., ::-1])
    good, is_last = scores[:, 1] > threshold, bool(marks)
    boxes = np.hstack([boxes[good, :4], scores[good, 1:]])
    points = marks[0][good].reshape(-1, 2, 5).swapaxes(1, 2) if is_last else np.zeros((len(boxes), 5, 2))
    points = boxes[:, None, :2] + points * (boxes[:, 2:4] - boxes[:, :2])[:, None]
    boxes = moved(boxes, offsets[good])
    kept = suppress(boxes, 0.7, of_smaller=is_last)
    return boxes[kept] if is_last else squares(boxes[kept]), points[kept]


def faces(models, photo):
    """Boxes (n, 5) with scores and landmarks (n, 5, 2) of the faces in a photograph."""
    first, second, third = (Stage(f"{models}/det{i}", 12 * 2 ** (i - 1)) for i in (1, 2, 3))
    boxes, landmarks = squares(proposals(first, photo)), []
    for stage, size, threshold in ((second, 24, THRESHOLDS[1]), (third, 48, THRESHOLDS[2])):
        if len(boxes):
            boxes, landmarks = refined(stage, size, threshold, photo, boxes)
    return boxes, landmarks


def options():
    """The command line; a missing model or folder is told before any work is done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, help="folder with det1, det2 and det3, as -symbol.json and -0001.params")
    parser.add_argument("photo", type=Path)
    parser.add_argument("output", type=Path, help="the photograph with boxes and landmarks")
    given = parser.parse_args()
    needed = [given.models / f"det{i}-{end}" for i in (1, 2, 3) for end in ("symbol.json", "0001.params")]
    missing = [str(path) for path in [*needed, given.photo, given.output.parent] if not path.exists()]
    if missing:
        parser.error(f"missing: {', '.join(missing)}")
    return given


def main():
    given = options()
    photo = Image.open(given.photo).convert("RGB")
    pen = ImageDraw.Draw(photo)
    for box, points in zip(*faces(given.models, photo)):
        pen.rectangle(list(box[:4]), outline="lime", width=2)
        for x, y in points:
            pen.ellipse((x - 2, y - 2, x + 2, y + 2), fill="red")
        print(f"face at {box[:4].round(1).tolist()}, score {box[4]:.3f}")
    photo.save(given.output)


if __name__ == "__main__":
    main()
