"""Batches of pictures with boxes."""

import logging

import numpy as np

from ...base import ArgumentError
from .. import random
from ..io.data_iter import DataDesc
from ._det_augmenters import CreateDetAugmenter
from ._drawing import draw_box, restored, show
from ._flat_labels import BOX, boxes_of
from .iterator import ImageIter

__all__ = ["ImageDetIter"]


class ImageDetIter(ImageIter):
    """ImageDetIter(batch_size, data_shape, ...): batches of pictures with boxes.

    Files and lists are those of ImageIter. A label is a flat list: the width of its header (2 or more), the width of a
    box (5 or more), the rest of the header, then boxes: class, left, top, right and bottom as shares of the picture,
    then anything. Labels of a batch are (boxes of the fullest picture, width of a box), with -1 where a picture has
    fewer. Pictures without a box are left out. `aug_list` are DetAugmenters; without it those of CreateDetAugmenter,
    which gets the other arguments.

    >>> with open("black.png", "wb") as file:
    ...     size = file.write(mx.image.imencode(np.zeros((8, 8, 3), "uint8")))
    >>> label = [2, 5, 1, 0.25, 0.25, 0.5, 0.75]
    >>> batches = mx.image.ImageDetIter(1, (3, 4, 4), imglist=[[label, "black.png"]], path_root=".")
    >>> next(batches).label[0].asnumpy().tolist()
    [[[1.0, 0.25, 0.25, 0.5, 0.75]]]
    """

    def __init__(
        self,
        batch_size,
        data_shape,
        path_imgrec=None,
        path_imglist=None,
        path_root=None,
        path_imgidx=None,
        shuffle=False,
        part_index=0,
        num_parts=1,
        aug_list=None,
        imglist=None,
        data_name="data",
        label_name="label",
        last_batch_handle="pad",
        **kwargs,
    ):
        super().__init__(
            batch_size,
            data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=[],
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
        )
        self.auglist = CreateDetAugmenter(data_shape, **kwargs) if aug_list is None else aug_list
        self.label_shape = self._estimate_label_shape()
        self.provide_label = [DataDesc(label_name, (batch_size, *self.label_shape))]

    def _estimate_label_shape(self):
        """(boxes of the fullest picture, width of a box) of all that there is."""
        count, width = 0, BOX
        for number in self.seq:
            boxes = self._parse_label(self._entry(number)[0])
            count, width = max(count, len(boxes)), boxes.shape[1]
        return count, width

    def _parse_label(self, label):
        """The boxes (N, width) of a flat label. Raises RuntimeError where there is none."""
        boxes = boxes_of(label)
        boxes = boxes[(boxes[:, 3] > boxes[:, 1]) & (boxes[:, 4] > boxes[:, 2])]
        if not len(boxes):
            raise RuntimeError("a label has no box that is not empty")
        return boxes.copy()

    def _check_valid_label(self, label):
        """Raises RuntimeError for what are no boxes."""
        if label.ndim != 2 or label.shape[1] < BOX:
            raise RuntimeError(f"expected boxes of {BOX} numbers or more, got the shape {label.shape}")
        if not ((label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])).any():
            raise RuntimeError("no box is left")

    def _prepared(self, label, data):
        try:
            picture = self.imdecode(data)
            self.check_valid_image([picture])
            picture, boxes = self.augmentation_transform(picture, self._parse_label(label))
            self._check_valid_label(boxes)
        except RuntimeError as error:
            logging.debug("a picture is left out: %s", error)
            return None
        return self.postprocess_data(picture), boxes

    def _labels(self, labels):
        result = np.full((len(labels), *self.label_shape), -1, np.float32)
        for boxes, row in zip(labels, result):
            row[: len(boxes)] = boxes
        return result

    def augmentation_transform(self, data, label):
        """A picture and its boxes, changed by the augmenters."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def reshape(self, data_shape=None, label_shape=None):
        """Sets the shape of pictures, or that of labels: (boxes, width of a box).

        Raises ValueError for fewer boxes than there were and for another width.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            self.data_shape = tuple(data_shape)
            self.provide_data = [DataDesc(self.provide_data[0].name, (self.batch_size, *self.data_shape))]
        if label_shape is not None:
            self.check_label_shape(label_shape)
            self.label_shape = tuple(label_shape)
            self.provide_label = [DataDesc(self.provide_label[0].name, (self.batch_size, *self.label_shape))]

    def check_label_shape(self, label_shape):
        """Raises ValueError unless labels of that shape hold what those of now do."""
        if len(label_shape) != 2:
            raise ArgumentError(f"label_shape: expected (boxes, width of a box), got {tuple(label_shape)}")
        if label_shape[0] < self.label_shape[0]:
            raise ArgumentError(
                f"label_shape: there are {self.label_shape[0]} boxes, which {label_shape[0]} cannot hold"
            )
        if label_shape[1] != self.label_shape[1]:
            raise ArgumentError(f"label_shape: the width of a box is {self.label_shape[1]}, not {label_shape[1]}")

    def sync_label_shape(self, it, verbose=False):
        """Gives this iterator and another one labels of one shape, and returns the other one.

        Raises AssertionError for what is no ImageDetIter and for boxes of different widths.
        """
        if not isinstance(it, ImageDetIter):
            raise AssertionError(f"sync_label_shape: expected an ImageDetIter, got {type(it).__name__}")
        if self.label_shape[1] != it.label_shape[1]:
            raise AssertionError(f"sync_label_shape: boxes of {self.label_shape[1]} and of {it.label_shape[1]} numbers")
        shape = max(self.label_shape, it.label_shape)
        if verbose and self.label_shape != it.label_shape:
            logging.info("labels have the shape %s now", shape)
        for each in (self, it):
            each.reshape(label_shape=shape)
        return it

    def draw_next(
        self,
        color=None,
        thickness=2,
        mean=None,
        std=None,
        clip=True,
        waitKey=None,  # noqa: N803 - MXNet's name
        window_name="draw_next",
        id2labels=None,
    ):
        """Yields changed pictures, blue first, uint8, with their boxes drawn, up to the end of the data.

        `color` is red first, a random one without it. `mean` and `std` are those of the augmenters, to be taken back.
        `id2labels` has names of classes to write. With `waitKey` OpenCV shows each so many milliseconds.
        """
        while True:
            try:
                label, data = self.next_sample()
            except StopIteration:
                return
            found = self._prepared(label, data)
            if found is not None:
                pixels = restored(np.asarray(found[0]).transpose(1, 2, 0), mean, std, clip)
                for box in found[1]:
                    self._draw(pixels, box, color, thickness, id2labels or {})
                if waitKey is not None:
                    show(pixels, waitKey, window_name)
                yield pixels

    def _draw(self, pixels, box, color, thickness, names):
        if box[1] < 0:
            return
        height, width = pixels.shape[:2]
        corners = [int(share * size) for share, size in zip(box[1:5], (width, height, width, height))]
        blue_first = random.generator().random(3) * 255 if color is None else np.array(color)[::-1]
        draw_box(pixels, corners, blue_first, thickness, names.get(int(box[0])))
