"""What a service is told, and what it needs installed."""

from __future__ import annotations

import importlib.util
import os
from typing import NamedTuple

from ..base import ArgumentError, UnsupportedError

_NEEDED = ("starlette", "uvicorn", "orjson", "prometheus_client")


class Settings(NamedTuple):
    """Seconds and bytes; the command line has the same names."""

    plan: str
    name: str
    host: str = "127.0.0.1"
    port: int = 8000
    sessions: int | None = None
    workers: int = 1
    queue: int = 64
    limit_bytes: int = 64 << 20
    timeout: float = 30.0
    read_timeout: float = 10.0
    grace: float = 20.0
    batch: int = 1
    delay: float = 0.0


_RANGES = {
    "port": (0, 65535),
    "sessions": (1, 1024),
    "workers": (1, 1024),
    "queue": (1, 1_000_000),
    "limit_bytes": (1, 1 << 40),
    "timeout": (0.001, 86400),
    "read_timeout": (0.001, 86400),
    "grace": (0, 86400),
    "batch": (1, 1024),
    "delay": (0, 86400),
}


def checked(settings):
    """The settings with a name. Raises ArgumentError for numbers out of range, UnsupportedError without the extra."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UnsupportedError(f"amp serve needs {', '.join(missing)}: pip install 'nnvm-amp[serve]'")
    for key, (low, high) in _RANGES.items():
        value = getattr(settings, key)
        if value is not None and not low <= value <= high:
            raise ArgumentError(f"--{key.replace('_', '-')}: expected {low} to {high}, got {value}")
    name = settings.name or os.path.splitext(os.path.basename(settings.plan))[0]
    if not name or "/" in name or not name.isprintable():
        raise ArgumentError(f"--name: expected a name without slashes, got {name!r}")
    return settings._replace(name=name)
