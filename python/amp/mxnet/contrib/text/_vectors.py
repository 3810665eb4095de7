"""Files of tokens and vectors: a token and its numbers on each line."""

import array
import logging
import os
import warnings

import numpy as np

from ...._paths import encoded
from ....base import ArgumentError
from ._errors import TextError


def read_vectors(path, delimiter, unknown_token, encoding):
    """({token: row}, vectors (rows, length) of float32, the vector of `unknown_token` or None) of a file.

    Of a token that is there twice the first line counts; a line with one number is a header. Both are warned of. Raises
    ArgumentError for a file that cannot be read, and TextError for a line that is not a token and numbers.
    """
    path = os.path.expanduser(os.fsdecode(encoded(path)))
    if not delimiter:
        raise TextError("expected a delimiter between tokens and numbers, got none")
    if not os.path.isfile(path):
        raise ArgumentError(f"'{path}' is no file with tokens and vectors")
    logging.info("reading vectors of tokens from %s", path)
    lines = _Lines(path, delimiter, unknown_token)
    try:
        with open(path, encoding=encoding) as file:
            for line in file:
                lines.add(line)
    except OSError as error:
        raise ArgumentError(f"cannot read '{path}': {error.strerror}") from error
    except (UnicodeError, LookupError) as error:
        raise ArgumentError(f"'{path}', behind line {lines.number}: {error}") from None
    return lines.result()


class _Lines:
    """What the lines of a file have said so far."""

    def __init__(self, path, delimiter, unknown_token):
        self._path, self._delimiter, self._unknown_token = path, delimiter, unknown_token
        self._rows, self._values, self._length = {}, array.array("f"), None
        self._unknown = None
        self.number = 0

    def add(self, line):
        """Reads one line."""
        self.number += 1
        token, numbers = self._parsed(line.rstrip().split(self._delimiter))
        if token == self._unknown_token and self._unknown is None:
            self._unknown = numbers
        elif token in self._rows or token == self._unknown_token:
            self._warn(f"{token!r} has a vector already; this one is skipped")
        elif len(numbers) == 1:
            self._warn(f"{token!r} and one number look like a header and are skipped")
        else:
            self._length = self._length or len(numbers)
            self._check_length(token, numbers)
            self._rows[token] = len(self._rows)
            self._values.extend(numbers)

    def result(self):
        """As `read_vectors`."""
        if self._length is None and self._unknown is not None:
            self._length = len(self._unknown)
        if self._length is None:
            raise TextError(f"'{self._path}' has no vectors")
        if self._unknown is not None:
            self._check_length(self._unknown_token, self._unknown)
        vectors = np.array(self._values, np.float32).reshape(-1, self._length)
        return self._rows, vectors, None if self._unknown is None else np.array(self._unknown, np.float32)

    def _parsed(self, parts):
        """(token, numbers); GloVe has tokens that contain the delimiter."""
        extra = parts[1 : -self._length] if self._length else []
        size = 1 if all(map(_is_number, extra)) else 1 + len(extra)
        try:
            token, numbers = self._delimiter.join(parts[:size]), [float(part) for part in parts[size:]]
        except ValueError as error:
            raise self._error(str(error)) from None
        if not numbers:
            raise self._error("expected a token and numbers")
        return token, numbers

    def _check_length(self, token, numbers):
        if len(numbers) != self._length:
            raise self._error(f"{token!r} has {len(numbers)} numbers, tokens before have {self._length}")

    def _error(self, problem):
        return TextError(f"'{self._path}', line {self.number}: {problem}")

    def _warn(self, what):
        warnings.warn(f"'{self._path}', line {self.number}: {what}", stacklevel=6)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True
