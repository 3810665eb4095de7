"""Loads the extension module amp._core, wherever the installer has put oneDNN's library."""

import ctypes
import importlib
import sys
from pathlib import Path

LIBRARY = "libdnnl.so.3"
DISTRIBUTION = "onednn-cpu-gomp"
REQUIREMENT = "onednn-cpu-gomp==2023.2.0"


def load_core():
    """Returns the module amp._core.

    The extension finds libdnnl through its run path in the usual installations. Where site-packages is
    not two levels below the folder of libdnnl (an editable install, Linux distributions with lib64), we
    find it and load it; the dynamic linker then takes the library that is already in the process.
    """
    try:
        return importlib.import_module("amp._core")
    except ImportError as error:
        if "libdnnl" not in str(error):
            raise
        reasons = [str(error)]

    for path in _candidates():
        if not path.is_file():
            reasons.append(f"{path}: no such file")
            continue
        try:
            ctypes.CDLL(str(path))
            return importlib.import_module("amp._core")
        except (OSError, ImportError) as error:
            reasons.append(f"{path}: {error}")

    raise ImportError(
        f"amp cannot find oneDNN's library {LIBRARY}, which the package {DISTRIBUTION} brings. Install it with\n"
        f"    {sys.executable} -m pip install --force-reinstall {REQUIREMENT}\n"
        f"or name the folder of a {LIBRARY} (oneDNN >= 3.1) in LD_LIBRARY_PATH.\n"
        "What was tried:\n    " + "\n    ".join(reasons)
    )


def _candidates():
    """Places where libdnnl may lie, likely ones first, each once."""
    import site  # slow to import, and needed in rare installations only

    package = Path(__file__).resolve().parent
    paths = [Path(entry.locate()) for entry in _files() if entry.name == LIBRARY]
    folders = [Path(sys.prefix, "lib"), Path(sys.base_prefix, "lib"), package, package.parent / "lib"]
    if site.ENABLE_USER_SITE:
        folders.insert(0, Path(site.getuserbase(), "lib"))
    paths += [folder / LIBRARY for folder in folders]
    return list(dict.fromkeys(path.resolve() for path in paths))


def _files():
    from importlib import metadata  # slow to import, too

    try:
        return metadata.files(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return []
