"""Interfaces of MXNet 1.x: `amp.contrib.amp`."""

import importlib


def __getattr__(name):
    if name == "amp":
        return importlib.import_module(f"{__name__}.amp")
    from .._missing import missing, stand_in

    module = stand_in(__name__, name)
    if module is None:
        raise missing(__name__, name, ["amp"])
    return module


def __dir__():
    return sorted({*globals(), "amp"})
