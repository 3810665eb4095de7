"""Indices of tokens."""

import collections
import operator

from ....base import ArgumentError
from ..._missing import getter
from ._errors import TextError

__all__ = ["Vocabulary"]

UNKNOWN_INDEX = 0


class Vocabulary:
    """Vocabulary(counter=None, most_freq_count=None, min_freq=1, unknown_token='<unk>', reserved_tokens=None).

    Index 0 is `unknown_token`, which stands for all tokens without an index. Then follow the `reserved_tokens`, a list,
    and the keys of `counter`, a collections.Counter: frequent ones first, equally frequent ones in their own order.
    `most_freq_count` is the largest number of those keys, and `min_freq` the least frequency. Tokens are of one
    hashable type. Raises ArgumentError, which is an AssertionError, too, for a `min_freq` below 1, a negative
    `most_freq_count`, another type of counter, and reserved tokens that repeat each other or the unknown one.

    >>> import collections
    >>> vocabulary = mx.contrib.text.vocab.Vocabulary(collections.Counter("banana"), reserved_tokens=["<pad>"])
    >>> vocabulary.idx_to_token
    ['<unk>', '<pad>', 'a', 'n', 'b']
    >>> vocabulary.to_indices(["b", "x"])
    [4, 0]
    """

    def __init__(self, counter=None, most_freq_count=None, min_freq=1, unknown_token="<unk>", reserved_tokens=None):
        if not min_freq > 0:
            raise TextError(f"Vocabulary: min_freq has to be positive, got {min_freq}")
        if most_freq_count is not None and most_freq_count < 0:
            raise TextError(f"Vocabulary: most_freq_count is not negative, got {most_freq_count}")
        self._unknown_token = unknown_token
        self._reserved_tokens = None if reserved_tokens is None else list(reserved_tokens)
        self._idx_to_token = [unknown_token, *(self._reserved_tokens or ())]
        if len(set(self._idx_to_token)) < len(self._idx_to_token):
            raise TextError(f"Vocabulary: reserved_tokens repeat each other or unknown_token: {self._idx_to_token}")
        if counter is not None:
            self._idx_to_token += _frequent(counter, min_freq, set(self._idx_to_token))[:most_freq_count]
        self._token_to_idx = {token: index for index, token in enumerate(self._idx_to_token)}

    def __len__(self):
        return len(self._idx_to_token)

    @property
    def token_to_idx(self):
        """{token: index}"""
        return self._token_to_idx

    @property
    def idx_to_token(self):
        """Tokens by index, a list."""
        return self._idx_to_token

    @property
    def unknown_token(self):
        """The token at index 0."""
        return self._unknown_token

    @property
    def reserved_tokens(self):
        """Those that were given, a list or None."""
        return self._reserved_tokens

    def to_indices(self, tokens):
        """The index of a token, or a list of indices for a list of tokens; 0 for unknown ones."""
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, UNKNOWN_INDEX) for token in tokens]
        return self._token_to_idx.get(tokens, UNKNOWN_INDEX)

    def to_tokens(self, indices):
        """The token at an index, or a list of tokens for a list of indices.

        Raises ArgumentError for what is no index of the vocabulary.
        """
        if isinstance(indices, list):
            return [self._token_at(index) for index in indices]
        return self._token_at(indices)

    def _token_at(self, index):
        try:
            number = operator.index(index)
        except TypeError:
            number = -1
        if not 0 <= number < len(self):
            raise ArgumentError(f"to_tokens: expected an index below {len(self)}, got {index!r}")
        return self._idx_to_token[number]


def _frequent(counter, min_freq, without):
    """Keys of a counter that are frequent enough, most frequent ones first."""
    if not isinstance(counter, collections.Counter):
        raise TextError(f"Vocabulary: expected a collections.Counter, got {type(counter).__name__}")
    try:
        tokens = sorted(counter)
    except TypeError as error:
        raise ArgumentError(f"Vocabulary: tokens have to be of one type that has an order: {error}") from None
    tokens = [token for token in tokens if counter[token] >= min_freq and token not in without]
    return sorted(tokens, key=counter.get, reverse=True)


__getattr__ = getter(__name__)
