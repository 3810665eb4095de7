"""Sentences of words as batches of numbers."""

import bisect
import random

import numpy as np

from ... import nd
from ...base import ArgumentError
from .._missing import getter
from ..io import DataBatch, DataDesc, DataIter

__all__ = ["BucketSentenceIter", "encode_sentences"]


def encode_sentences(sentences, vocab=None, invalid_label=-1, invalid_key="\n", start_label=0, unknown_token=None):
    """(sentences of numbers, {word: number}). New words get numbers from `start_label`.

    With a `vocab` words that it lacks are an error, or `unknown_token` where that is given.

    >>> mx.rnn.encode_sentences([["a", "b"], ["b"]], start_label=1)
    ([[1, 2], [2]], {'\\n': -1, 'a': 1, 'b': 2})
    """
    is_open = vocab is None
    vocab = {invalid_key: invalid_label} if is_open else vocab
    following = start_label

    def number_of(word):
        nonlocal following
        if word not in vocab:
            if not is_open and unknown_token is None:
                raise ArgumentError(f"encode_sentences: the word {word!r} is not in the vocabulary")
            if not is_open and unknown_token in vocab:
                return vocab[unknown_token]
            while following in vocab.values():
                following += 1
            vocab[word if is_open else unknown_token] = following
            return following
        return vocab[word]

    return [[number_of(word) for word in sentence] for sentence in sentences], vocab


class BucketSentenceIter(DataIter):
    """BucketSentenceIter(sentences, batch_size, buckets=None, invalid_label=-1): batches of sentences of like lengths.

    Sentences are lists of numbers; each is filled up with `invalid_label` to the next length of `buckets` (by default
    the lengths that have a batch or more), which is the batch's `bucket_key`. Labels are the following words. Longer
    sentences, and those that fill no batch, are left out. `layout` is 'NT' or 'TN'. `numpy.random` and `random` give
    the order.

    >>> batches = mx.rnn.BucketSentenceIter([[1, 2, 3], [4, 5], [6, 7, 8]], 2, buckets=[2, 3])
    >>> batch = next(batches)
    >>> batch.bucket_key, batch.data[0].shape, batches.default_bucket_key
    (3, (2, 3), 3)
    """

    def __init__(
        self,
        sentences,
        batch_size,
        buckets=None,
        invalid_label=-1,
        data_name="data",
        label_name="softmax_label",
        dtype="float32",
        layout="NT",
    ):
        super().__init__(batch_size)
        if layout not in ("NT", "TN"):
            raise ArgumentError(f"layout: expected 'NT' or 'TN', got {layout!r}")
        lengths = np.bincount([len(sentence) for sentence in sentences])
        self.buckets = sorted(buckets or [i for i, count in enumerate(lengths) if count >= batch_size])
        if not self.buckets:
            raise ArgumentError(f"no length has {batch_size} sentences; pass buckets")
        rows = [[] for _ in self.buckets]
        for sentence in sentences:
            place = bisect.bisect_left(self.buckets, len(sentence))
            if place < len(self.buckets):
                rows[place].append(list(sentence) + [invalid_label] * (self.buckets[place] - len(sentence)))
        self.data = [np.asarray(group, dtype).reshape(-1, size) for group, size in zip(rows, self.buckets)]
        self.invalid_label, self.layout, self.major_axis = invalid_label, layout, layout.find("N")
        self.data_name, self.label_name, self.dtype = data_name, label_name, dtype
        self.default_bucket_key = max(self.buckets)
        self.provide_data = [self._description(data_name, self.default_bucket_key)]
        self.provide_label = [self._description(label_name, self.default_bucket_key)]
        self.idx = [
            (place, begin)
            for place, group in enumerate(self.data)
            for begin in range(0, len(group) - batch_size + 1, batch_size)
        ]
        self.reset()

    def _description(self, name, length):
        shape = (self.batch_size, length) if self.layout == "NT" else (length, self.batch_size)
        return DataDesc(name, shape, layout=self.layout)

    def reset(self):
        """Begins again, in another order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        for group in self.data:
            np.random.shuffle(group)

    def next(self):
        """The next DataBatch; raises StopIteration at the end."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        place, begin = self.idx[self.curr_idx]
        self.curr_idx += 1
        words, length = self.data[place][begin : begin + self.batch_size], self.buckets[place]
        following = np.full_like(words, self.invalid_label)
        following[:, :-1] = words[:, 1:]
        arrays = [nd.NDArray(np.ascontiguousarray(a if self.layout == "NT" else a.T)) for a in (words, following)]
        return DataBatch(
            arrays[:1],
            arrays[1:],
            pad=0,
            bucket_key=length,
            provide_data=[self._description(self.data_name, length)],
            provide_label=[self._description(self.label_name, length)],
        )


__getattr__ = getter(__name__)
