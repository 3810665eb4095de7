"""Names of MXNet 1.x: prefixes of blocks, counted in the scopes of other blocks."""

import threading

from ... import name as names
from .parameter import ParameterDict

_active = threading.local()


class Naming:
    """The names of one block: its prefix, its own parameters, and the scope for blocks that are made inside.

    A block that the program gives no prefix is numbered among its kind: in the scope of the block around, or else by
    the name manager, which numbers the nodes of symbols, too. `shared` is a ParameterDict whose parameters this block
    takes; names of its parameters then begin with the prefix of that dict.
    """

    def __init__(self, block, given, shared=None):
        self.is_empty = given == ""
        self._numbers = {}
        around = getattr(_active, "naming", None)
        if given is None:
            given = _numbered(around, block._alias())
        self.prefix = given if around is None else around.prefix + given
        if shared is not None:
            self.parameters = ParameterDict(shared.prefix, shared)
        elif around is not None:
            self.parameters = ParameterDict(around.parameters.prefix + given, around.parameters.shared)
        else:
            self.parameters = ParameterDict(given)

    def scope(self):
        """A `with` block: blocks and nodes that are made inside have names that begin with this prefix.

        Scopes of blocks with prefix='' are those around, as in MXNet.
        """
        return _EmptyScope() if self.is_empty else _NameScope(self)


def _numbered(around, hint):
    if around is None:
        return names.current().get(None, hint) + "_"
    number = around._numbers.get(hint, 0)
    around._numbers[hint] = number + 1
    return f"{hint}{number}_"


class _EmptyScope:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return None


class _NameScope:
    """Numbers of nodes begin at 0 in every scope, those of blocks go on."""

    def __init__(self, naming):
        self._naming = naming
        self._nodes = names.Prefix(naming.prefix)

    def __enter__(self):
        self._around = getattr(_active, "naming", None)
        _active.naming = self._naming
        self._nodes.__enter__()
        return self

    def __exit__(self, *exception):
        self._nodes.__exit__(*exception)
        _active.naming = self._around
