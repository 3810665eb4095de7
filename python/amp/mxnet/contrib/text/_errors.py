"""Errors with the types that MXNet has for them."""

from ....base import ArgumentError


class TextError(ArgumentError, AssertionError):
    """An argument, or a line of a file, is not what it has to be."""


class UnknownNameError(ArgumentError, KeyError):
    """There is no embedding or file of that name."""

    __str__ = Exception.__str__  # a KeyError puts quotes around its text
