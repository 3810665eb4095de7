"""Python values as the text that operator attributes are in files, and back."""

import ast
import numbers

import numpy as np

from ..base import ArgumentError, dtype_name


def attribute_text(value, field_type="", what="attribute"):
    """`value` as MXNet prints it: True, None, 3, 1e-05, (3, 3), float32.

    `field_type` is the registry's name of the type. Raises ArgumentError, beginning with `what`, for
    values that are no attributes.
    """
    if value is None:
        return "None"
    if field_type.startswith("dtype") and value != "None":
        return dtype_name(value)
    if isinstance(value, str):
        return value
    if _is_sequence(value):
        value = value.asnumpy() if hasattr(value, "asnumpy") else value
        texts = [_number_text(item, what) for item in value]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
    if _is_dtype(value):
        return dtype_name(value)
    return _number_text(value, what)


def _is_sequence(value):
    """Lists, tuples and one-dimensional arrays."""
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) == 1


def _is_dtype(value):
    return isinstance(value, (type, np.dtype))


def _number_text(value, what):
    if isinstance(value, (bool, numbers.Integral)) or value is None:
        return str(value if isinstance(value, bool) or value is None else int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, np.bool_):
        return str(bool(value))
    raise ArgumentError(f"{what}: cannot print a {type(value).__name__} as an attribute: {value!r:.60}")


def value_of(text):
    """The Python value that a default's text stands for; the text itself where it is a word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
