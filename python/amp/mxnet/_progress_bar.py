"""Bars of tqdm where it is installed."""

from importlib import import_module


class _NoBar:
    """Shows nothing."""

    def set_postfix(self, values, refresh=True):
        pass

    def update(self, count=1):
        pass

    def close(self):
        pass


def progress_bar(total, description, done=0):
    """A bar with `update`, `set_postfix` and `close`. It is only shown on a terminal."""
    try:
        tqdm = import_module("tqdm")
    except ImportError:
        return _NoBar()
    return tqdm.tqdm(total=total, desc=description, initial=done, disable=None)
