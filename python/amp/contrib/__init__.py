"""Interfaces of MXNet 1.x: `amp.contrib.amp`."""

import importlib


def __getattr__(name):
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    raise AttributeError(f"module 'amp.contrib' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), "amp"})
