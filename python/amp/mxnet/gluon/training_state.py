"""What a trainer's file holds behind the states of the optimizer: a JSON object, its length, and a mark.

Older versions read the states, a pickle, and do not look behind its end.
"""

import json

from ...base import ArgumentError

_MARK = b"amp-more"
_LENGTH = 8  # bytes


def joined(states, more):
    """The content of a file."""
    text = json.dumps(more).encode()
    return states + text + len(text).to_bytes(_LENGTH, "little") + _MARK


def divided(content):
    """(states, more) of a file's content; `more` is {} where there is none. Raises ArgumentError for damaged files."""
    if not content.endswith(_MARK):
        return content, {}
    end = len(content) - len(_MARK) - _LENGTH
    length = int.from_bytes(content[end : end + _LENGTH], "little")
    try:
        more = json.loads(content[end - length : end])
    except ValueError as error:
        raise ArgumentError(f"these are no states of a trainer: {error}") from None
    if not isinstance(more, dict):
        raise ArgumentError(f"these are no states of a trainer: expected an object behind them, got {more!r:.40}")
    return content[: end - length], more
