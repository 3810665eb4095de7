"""Modules whose functions are made from the registry when they are first asked for."""

import sys
import types

from ._missing import missing


class Namespace(types.ModuleType):
    """A module in which `name` is the operator `<prefix>name`, for the first prefix that is registered.

    `find` returns an operator's function by its registered name or alias, or None. `names` are those of all operators.
    """

    def __init__(self, module, prefixes, find, names, doc):
        super().__init__(module, doc)
        self.__path__ = []  # so that `import module.name` is looked up in sys.modules
        self._prefixes, self._find, self._names = prefixes, find, names
        sys.modules[module] = self

    def __getattr__(self, name):
        if name == "__all__":
            return sorted(set(self._known()))
        if not name.startswith("__"):
            for prefix in self._prefixes:
                function = self._find(prefix + name)
                if function is not None:
                    setattr(self, name, function)
                    return function
        raise missing(self.__name__, name, [] if name.startswith("__") else self._known())

    def __dir__(self):
        return sorted({*super().__dir__(), *self._known()})

    def _known(self):
        return [name[len(prefix) :] for prefix in self._prefixes for name in self._names() if name.startswith(prefix)]
