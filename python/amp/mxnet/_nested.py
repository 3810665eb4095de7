"""Nested lists of arrays or of symbols, which loops and branches take and give."""

from ..sym import Symbol


def flattened(nested):
    """The arrays of nested lists, and a function that gives equally many the same form.

    A symbol of several outputs is as good as a list of them.
    """
    if isinstance(nested, Symbol) and len(nested) > 1:
        nested = list(nested)
    if not isinstance(nested, (list, tuple)):
        return [nested], lambda arrays: arrays.pop(0)
    parts = [flattened(one) for one in nested]
    return [array for arrays, _ in parts for array in arrays], lambda arrays: [form(arrays) for _, form in parts]
