"""Attributes and constraints for all nodes that are made inside of a `with` block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._scope import Scope
from .base import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["AttrScope", "current", "disable_amp", "disable_graphamp"]

# MXNet's own attributes may be written without the underscores that they have in files.
HIDDEN_KEYS = ("ctx_group", "lr_mult", "wd_mult", "force_mirroring", "mirror_stage", "profiler_scope")

# What optimizations must not do to a node: a number in decimal, one bit each.
CONSTRAINT_KEY = "__opt_constraint__"
DISABLE_AMP = 1


class AttrScope(Scope):
    """`with AttrScope(ctx_group='dev1'):` gives nodes these attributes; inner blocks add to outer ones.

    Values are text. Raises ArgumentError for others.

    >>> with amp.AttrScope(ctx_group="dev1"):
    ...     x = amp.sym.Variable("x")
    >>> x.list_attr()
    {'__ctx_group__': 'dev1', 'ctx_group': 'dev1'}
    """

    _stack_name = "attribute"
    _constraint = 0

    def __init__(self, **attributes: str) -> None:
        self._own = _checked(attributes)
        self._attr = self._own

    @classmethod
    def _default(cls):
        return AttrScope()

    def get(self, attr: Mapping[str, str] | None = None) -> dict[str, str]:
        """The scope's attributes, overridden and extended by `attr` (a dict or None)."""
        return {**self._attr, **_checked(attr or {})}

    def constrain(self, attributes: dict[str, str]) -> dict[str, str]:
        """The attributes (a dict) of an operator, with the constraints of the `with` blocks added to its own."""
        if not self._constraint:
            return attributes
        own = attributes.get(CONSTRAINT_KEY, "0")
        if not own.strip().isdecimal():
            raise ArgumentError(f"{CONSTRAINT_KEY}: expected a number, got {own!r}")
        return {**attributes, CONSTRAINT_KEY: str(int(own) | self._constraint)}

    def __enter__(self):
        outer = AttrScope.current()
        self._attr = {**outer._attr, **self._own}
        self._constraint = type(self)._constraint | outer._constraint
        return super().__enter__()


class _AmpDisabled(AttrScope):
    _constraint = DISABLE_AMP


def disable_amp() -> AttrScope:
    """`with disable_amp():` keeps the operators composed inside of the block out of every conversion.

    They carry the attribute `__opt_constraint__` with bit 1 set, which files keep.

    >>> with amp.disable_amp():
    ...     net = amp.sym.exp(name="e")
    >>> net.list_attr()
    {'__opt_constraint__': '1'}
    """
    return _AmpDisabled()


disable_graphamp = disable_amp  # SambaFlow's name for it


def current() -> AttrScope:
    """The attribute scope of this thread.

    >>> with amp.AttrScope(owner="me"):
    ...     print(amp.attribute.current().get())
    {'owner': 'me'}
    """
    return AttrScope.current()


def _checked(attributes):
    for key, value in attributes.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise ArgumentError(f"attributes of nodes are text, got {key!r}: {value!r}")
    return {f"__{key}__" if key in HIDDEN_KEYS else key: value for key, value in attributes.items()}
