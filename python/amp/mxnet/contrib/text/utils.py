"""Counts of tokens."""

import collections
import re

from ....base import ArgumentError
from ..._missing import getter

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(source_str, token_delim=" ", seq_delim="\n", to_lower=False, counter_to_update=None):
    """Counts the tokens of a text: a collections.Counter.

    `token_delim` stands between tokens and `seq_delim` between sequences; both are regular expressions. Empty tokens do
    not count. With `to_lower` tokens are put in lower case. A `counter_to_update` gets the counts and is the result.
    Raises ArgumentError for delimiters that are no regular expressions.

    >>> counts = mx.contrib.text.utils.count_tokens_from_str("Life is good\\nlife is short", to_lower=True)
    >>> sorted(counts.items())
    [('good', 1), ('is', 2), ('life', 2), ('short', 1)]
    """
    try:
        parts = re.split(f"{token_delim}|{seq_delim}", source_str)
    except re.error as error:
        raise ArgumentError(f"count_tokens_from_str: {token_delim!r}, {seq_delim!r}: {error}") from None
    counter = collections.Counter() if counter_to_update is None else counter_to_update
    counter.update(part.lower() if to_lower else part for part in parts if part)
    return counter


__getattr__ = getter(__name__)
