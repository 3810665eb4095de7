"""Names for nodes that the caller did not name."""

from __future__ import annotations

from ._scope import Scope

__all__ = ["NameManager", "Prefix", "current"]


class NameManager(Scope):
    """Numbers nodes by kind: convolution0, convolution1, ...

    A `with NameManager():` block counts from 0 again. Subclasses override `get`.

    >>> with amp.name.NameManager():
    ...     amp.sym.exp(), amp.sym.exp()
    (<Symbol exp0>, <Symbol exp1>)
    """

    _stack_name = "name"

    def __init__(self) -> None:
        self._counter = {}

    @classmethod
    def _default(cls):
        return NameManager()

    def get(self, name: str | None, hint: str) -> str:
        """`name` where there is one, else `hint` and the next number for it."""
        if name:
            return name
        number = self._counter.get(hint, 0)
        self._counter[hint] = number + 1
        return f"{hint}{number}"


class Prefix(NameManager):
    """Puts `prefix` in front of every operator's name, given or made up. Variables keep theirs.

    >>> with amp.name.Prefix("left_"):
    ...     amp.sym.exp(name="e")
    <Symbol left_e>
    """

    def __init__(self, prefix: str) -> None:
        super().__init__()
        self._prefix = prefix

    def get(self, name: str | None, hint: str) -> str:
        return self._prefix + super().get(name, hint)


def current() -> NameManager:
    """The name manager of this thread.

    >>> amp.name.current().get("fc", "fullyconnected")
    'fc'
    """
    return NameManager.current()
