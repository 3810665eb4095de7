"""Loggers as MXNet's programs make them: `mx.log.get_logger("training", level=mx.log.INFO)`."""

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

from ._missing import getter

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "get_logger"]

_LINE = "%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]\x1b[0m %(message)s"
_COLOURS = {"W": 31, "E": 31, "C": 31, "I": 32}


class _Formatter(logging.Formatter):
    """Lines that begin with the level's letter, in a colour up to the message."""

    def __init__(self):
        super().__init__(_LINE, "%m%d %H:%M:%S")

    def format(self, record):
        letter = record.levelname[0]
        return f"\x1b[{_COLOURS.get(letter, 34)}m{letter}{super().format(record)}"


def get_logger(name=None, filename=None, filemode=None, level=WARNING):
    """The logger of a name, which writes to a file or, in colours, to standard error.

    What it writes to and `level` are those of the first call for the name. Without a name it is Python's root logger,
    as it is.

    >>> mx.log.get_logger("training", level=mx.log.INFO).isEnabledFor(mx.log.DEBUG)
    False
    """
    logger = logging.getLogger(name)
    if name is None or getattr(logger, "_is_set_up", False):
        return logger
    if filename:
        handler = logging.FileHandler(filename, filemode or "a")
    else:
        handler = logging.StreamHandler()
        handler.setFormatter(_Formatter())
    logger.addHandler(handler)
    logger.setLevel(level)
    logger._is_set_up = True
    return logger


def getLogger(name=None, filename=None, filemode=None, level=WARNING):  # noqa: N802 - MXNet's name
    """`get_logger`, deprecated."""
    warnings.warn("getLogger is deprecated; use get_logger", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)


__getattr__ = getter(__name__)
