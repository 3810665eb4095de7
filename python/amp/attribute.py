"""Attributes for all nodes that are made inside of a `with` block."""

from ._scope import Scope
from .base import ArgumentError

# MXNet's own attributes may be written without the underscores that they have in files.
_HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")


class AttrScope(Scope):
    """`with AttrScope(ctx_group='dev1'):` gives nodes these attributes; inner blocks add to outer ones.

    Values are text. Raises ArgumentError for others.
    """

    _stack_name = "attribute"

    def __init__(self, **attributes):
        self._own = _checked(attributes)
        self._all = self._own

    @classmethod
    def _default(cls):
        return AttrScope()

    def get(self, attributes=None):
        """The scope's attributes, overridden and extended by `attributes` (a dict or None)."""
        return {**self._all, **_checked(attributes or {})}

    def __enter__(self):
        self._all = {**AttrScope.current()._all, **self._own}
        return super().__enter__()


def current():
    """The attribute scope of this thread."""
    return AttrScope.current()


def _checked(attributes):
    for key, value in attributes.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ArgumentError(f"attributes of nodes are text, got {key!r}: {value!r}")
    return {f"__{key}__" if key in _HIDDEN_KEYS else key: value for key, value in attributes.items()}
