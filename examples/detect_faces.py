"""Finds faces in a photograph with the MTCNN cascade, and draws their boxes and landmarks.

    python examples/detect_faces.py MODELS PHOTO OUTPUT.png

MODELS is a folder with MTCNN as published for MXNet: det1, det2 and det3, each `-symbol.json` and `-0001.params`.
The cascade is that of Zhang et al. 2016: proposals on a pyramid, refined twice. Needs Pillow.
"""

import sys

import numpy as np
from PIL import Image, ImageDraw

import amp.mxnet as mx

SMALLEST_FACE, PYRAMID, THRESHOLDS = 20, 0.709, (0.6, 0.7, 0.7)


class Stage:
    """One network of the cascade."""

    def __init__(self, prefix):
        sym, self.arg_params, self.aux_params = mx.model.load_checkpoint(prefix, 1)
        self.module = mx.mod.Module(sym, label_names=None, context=mx.cpu())

    def __call__(self, pixels):
        """Outputs for a batch of BGR pictures (N, H, W, 3)."""
        batch = mx.nd.array((pixels.transpose(0, 3, 1, 2) - 127.5) / 128)
        if not self.module.binded:
            self.module.bind(data_shapes=[("data", batch.shape)], for_training=False)
            self.module.set_params(self.arg_params, self.aux_params)
        self.module.forward(mx.io.DataBatch([batch]), is_train=False)  # other shapes are bound again
        return [output.asnumpy() for output in self.module.get_outputs()]


def suppress(boxes, limit, of_smaller=False):
    """Indices of boxes (x1, y1, x2, y2, score) without those that overlap a better one too much."""
    order, kept = list(np.argsort(-boxes[:, 4])), []
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    while order:
        first, rest = order[0], np.array(order[1:], int)
        kept.append(first)
        sides = np.minimum(boxes[first, 2:4], boxes[rest, 2:4]) - np.maximum(boxes[first, :2], boxes[rest, :2])
        inner = np.prod(np.maximum(sides, 0), axis=1)
        whole = np.minimum(area[first], area[rest]) if of_smaller else area[first] + area[rest] - inner
        order = list(rest[inner <= limit * whole])
    return kept


def moved(boxes, offsets):
    """Boxes with their corners moved by offsets, which are relative to the sides."""
    sides = np.tile(boxes[:, 2:4] - boxes[:, :2], 2)
    return np.hstack([boxes[:, :4] + offsets * sides, boxes[:, 4:]])


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
        boxes = np.hstack([corners / scale, (corners + 12) / scale, scores[0, 1, rows, columns][:, None]])
        boxes = moved(boxes, offsets[0][:, rows, columns].T)
        found.append(boxes[suppress(boxes, 0.5)])
        scale *= PYRAMID
    boxes = np.concatenate(found)
    return boxes[suppress(boxes, 0.7)]


def crops(photo, boxes, size):
    """The boxes' contents as pictures of one size; what lies outside of the photograph is black."""
    parts = [photo.crop([round(v) for v in box[:4]]).resize((size, size), Image.BILINEAR) for box in boxes]
    return np.stack([np.asarray(part, np.float32)[:, :, ::-1] for part in parts])


def detect(models, photo):
    """(boxes (n, 5), landmarks (n, 5, 2)) of the faces in a photograph."""
    first, second, third = (Stage(f"{models}/det{i}") for i in (1, 2, 3))
    boxes, points = squares(proposals(first, photo)), np.zeros((0, 5, 2))
    for stage, size, threshold in ((second, 24, THRESHOLDS[1]), (third, 48, THRESHOLDS[2])):
        if len(boxes) == 0:
            break
        *marks, offsets, scores = stage(crops(photo, boxes, size))
        good = scores[:, 1] > threshold
        boxes, offsets, scores = boxes[good], offsets[good], scores[good, 1:]
        if marks:
            points = marks[0][good].reshape(-1, 2, 5).transpose(0, 2, 1)
            points = boxes[:, None, :2] + points * (boxes[:, 2:4] - boxes[:, :2])[:, None]
        boxes = moved(np.hstack([boxes[:, :4], scores]), offsets)
        kept = suppress(boxes, 0.7, of_smaller=bool(marks))
        boxes, points = boxes[kept], points[kept] if marks else points
        boxes = boxes if marks else squares(boxes)
    return boxes, points


if __name__ == "__main__":
    models, photo_file, output = sys.argv[1:]
    photo = Image.open(photo_file).convert("RGB")
    boxes, landmarks = detect(models, photo)
    pen = ImageDraw.Draw(photo)
    for box, points in zip(boxes, landmarks):
        pen.rectangle(list(box[:4]), outline="lime", width=2)
        for x, y in points:
            pen.ellipse((x - 2, y - 2, x + 2, y + 2), fill="red")
        print(f"face at {box[:4].round(1).tolist()}, score {box[4]:.3f}")
    photo.save(output)
