"""Objects that are current for the calling thread inside of a `with` block."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, TypeVar

    Self = TypeVar("Self", bound="Scope")

_stacks = threading.local()


class Scope:
    """A base class: each subclass that sets `_stack_name` has a current object per thread."""

    _stack_name = "scope"

    @classmethod
    def _stack(cls):
        stack = getattr(_stacks, cls._stack_name, None)
        if stack is None:
            stack = [cls._default()]
            setattr(_stacks, cls._stack_name, stack)
        return stack

    @classmethod
    def _default(cls):
        """The object that is current where no `with` block is open."""
        raise NotImplementedError

    @classmethod
    def current(cls) -> Any:
        """The object of the innermost `with` block of this thread."""
        return cls._stack()[-1]

    def __enter__(self: Self) -> Self:
        self._stack().append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack().pop()
