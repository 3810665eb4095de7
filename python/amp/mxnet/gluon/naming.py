"""Names of MXNet 1.x: prefixes of blocks, made in the scopes of other blocks."""

import contextlib
import itertools
import threading

_HINTS = {"conv1d": "conv", "conv2d": "conv", "conv3d": "conv"}
_active = threading.local()


def _scope():
    return getattr(_active, "scope", None)


class Prefix:
    """The prefix of a block. `is_named`: the program gave it, or that of a block whose scope it was made in.

    `shared` is a ParameterDict of another block, whose parameters this one takes; `parameters` is what their names
    begin with.
    """

    def __init__(self, block, given, shared=None):
        scope = _scope()
        self.is_named = given is not None or (scope is not None and scope.is_named)
        self._numbers = {}
        if given is None:
            given = "" if scope is None else scope._numbered(_hint(block))
        self.text = given if scope is None else scope.text + given
        if shared is not None:
            self.parameters, self.shared = shared.prefix, shared
        elif scope is not None:
            self.parameters, self.shared = scope.parameters + given, scope.shared
        else:
            self.parameters, self.shared = given, None

    def _numbered(self, hint):
        number = next(self._numbers.setdefault(hint, itertools.count()))
        return f"{hint}{number}_"

    @contextlib.contextmanager
    def scope(self):
        """Blocks that are made inside have prefixes that begin with this one."""
        before, _active.scope = _scope(), self
        try:
            yield
        finally:
            _active.scope = before


def _hint(block):
    name = block._alias()
    return "pool" if name.endswith(("pool1d", "pool2d", "pool3d")) else _HINTS.get(name, name)
