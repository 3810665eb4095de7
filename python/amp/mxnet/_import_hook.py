"""`import mxnet`: the modules of `amp.mxnet` under MXNet's names, in this process and in those that it starts."""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import sys
from pathlib import Path

from ..base import ArgumentError
from . import _generation

_OWN = __name__.rpartition(".")[0]
_NAME = "mxnet"

# A folder with a package `mxnet` that calls `install`: processes that find no hook find this.
_SEARCH_PATH = str(Path(__file__).parent / "_search_path")


def install(version="1.9.1", *, workers=True):
    """From here on `import mxnet` gives this package, and `import mxnet.x.y` the module `amp.mxnet.x.y` itself.

    `version` is what `mxnet.__version__` says; 2.x makes blocks and names of MXNet 2 the default. A real MXNet that is
    installed as well is not read. Processes that this one starts follow, unless `workers` is False: PYTHONPATH and
    AMP_MXNET_VERSION tell them. A second call changes the version. Raises ImportError where a real MXNet was imported
    before, ArgumentError for other versions than 1.x and 2.x.

    >>> mx.install(version="1.9.1", workers=False)
    >>> import mxnet.gluon.data.vision
    >>> mxnet.gluon is mx.gluon
    True
    """
    check_version(version)
    _require_free_name()
    _set_generation(version)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)  # before the finder of files, which would read them a second time
    for own in [own for own in sys.modules if own == _OWN or own.startswith(f"{_OWN}.")]:
        sys.modules[_NAME + own[len(_OWN) :]] = sys.modules[own]
    if workers:
        _tell_workers(version)


def check_version(version):
    """Raises ArgumentError for what is no version of MXNet 1 or 2."""
    if not isinstance(version, str) or not re.fullmatch(r"[12]\.\d+(\.\d+)?((a|b|rc|alpha|beta|\.post)\d+)?", version):
        raise ArgumentError(f"version: expected a version of MXNet such as '1.9.1' or '2.0.0b1', got {version!r}")


def _set_generation(version):
    sys.modules[_OWN].__version__ = version
    _generation.set_default(version)


def _require_free_name():
    found = sys.modules.get(_NAME)
    if found is not None and found is not sys.modules[_OWN]:
        place = getattr(found, "__file__", None) or "an unknown place"
        raise ImportError(
            f"install: another mxnet was imported before, from {place}; call amp.mxnet.install() first, or start the "
            "program with python -m amp.mxnet"
        )


def _tell_workers(version):
    """Workers of `multiprocessing` take over sys.path, other processes the environment."""
    if _SEARCH_PATH not in sys.path:
        sys.path.insert(1, _SEARCH_PATH)  # the first entry is the program's folder
    others = [entry for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry not in ("", _SEARCH_PATH)]
    os.environ["PYTHONPATH"] = os.pathsep.join([_SEARCH_PATH, *others])
    os.environ["AMP_MXNET_VERSION"] = version


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `mxnet.x` where there is a module `amp.mxnet.x`, and loads that."""

    def find_spec(self, name, path=None, target=None):
        if name != _NAME and not name.startswith(f"{_NAME}."):
            return None
        own = _OWN + name[len(_NAME) :]
        module = sys.modules.get(own)
        spec = module is None and importlib.util.find_spec(own)
        if module is None and spec is None:
            return None
        is_package = hasattr(module, "__path__") if spec is False else spec.submodule_search_locations is not None
        return importlib.machinery.ModuleSpec(name, self, is_package=is_package)

    def create_module(self, spec):
        module = importlib.import_module(_OWN + spec.name[len(_NAME) :])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module):
        """It was run under its own name; what says so was replaced by the import system."""
        module.__spec__ = module.__spec__.loader_state


_finder = _Finder()
