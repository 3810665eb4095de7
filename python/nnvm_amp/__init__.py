"""A second name of the package `amp`, for environments in which another distribution has that name.

`nnvm_amp` is `amp`, and `nnvm_amp.mxnet` is `amp.mxnet`: the modules are the same objects. Where another distribution
has put its own package `amp` in place of this one, importing raises an ImportError that says so. The commands start
here, too.
"""

import importlib
import importlib.abc
import importlib.util
import sys
from pathlib import Path


def _load():
    try:
        package = importlib.import_module("amp")
    except ImportError as error:
        problem = error
    else:
        if hasattr(package, "_core"):
            return package
        problem = None
    found = importlib.util.find_spec("amp")
    if problem is not None and (found is None or _is_this_package(found.origin)):
        raise problem  # it says why the extension does not load
    raise ImportError(
        f"nnvm_amp needs its own package amp, but 'amp' is {found.origin or [*found.submodule_search_locations]}, of "
        "another distribution. Both install a folder 'amp', so an environment can have one of them. To have this one:\n"
        f"    {sys.executable} -m pip uninstall amp\n"
        f"    {sys.executable} -m pip install --force-reinstall --no-deps nnvm-amp"
    )


def _is_this_package(origin):
    return origin is not None and "load_core()" in Path(origin).read_text(encoding="utf-8", errors="replace")


class _SameModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds nnvm_amp.x as amp.x, so that there is one object of each module. `python -m` runs a file."""

    def find_spec(self, fullname, path=None, target=None):
        if not fullname.startswith("nnvm_amp.") or fullname == "nnvm_amp.__main__":
            return None
        return importlib.util.spec_from_loader(fullname, self)

    def exec_module(self, module):
        name = module.__name__
        sys.modules[name] = importlib.import_module("amp" + name[len("nnvm_amp") :])


_amp = _load()
sys.meta_path.insert(0, _SameModules())
sys.modules[__name__] = _amp
