"""Names for nodes that the caller did not name."""

from ._scope import Scope


class NameManager(Scope):
    """Numbers nodes by kind: convolution0, convolution1, ...

    A `with NameManager():` block counts from 0 again. Subclasses override `get`.
    """

    _stack_name = "name"

    def __init__(self):
        self._counters = {}

    @classmethod
    def _default(cls):
        return NameManager()

    def get(self, name, hint):
        """`name` where there is one, else `hint` and the next number for it."""
        if name:
            return name
        number = self._counters.get(hint, 0)
        self._counters[hint] = number + 1
        return f"{hint}{number}"


class Prefix(NameManager):
    """Puts `prefix` in front of every operator's name, given or made up. Variables keep theirs."""

    def __init__(self, prefix):
        super().__init__()
        self._prefix = prefix

    def get(self, name, hint):
        return self._prefix + super().get(name, hint)


def current():
    """The name manager of this thread."""
    return NameManager.current()
