"""Placeholder."""

from ._loader import load_core

_core = load_core()
