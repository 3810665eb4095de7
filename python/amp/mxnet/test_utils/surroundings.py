"""Devices, variables and streams around a test."""

import contextlib
import os
import sys

import numpy as np

from ..context import Context, current_context


def default_context():
    """The device that tests use: the current one.

    >>> mx.test_utils.default_context()
    cpu(0)
    """
    return current_context()


default_device = default_context


def set_default_context(ctx):
    """Makes a device the one outside of `with` blocks.

    >>> mx.test_utils.set_default_context(mx.cpu())
    """
    Context.set_default(ctx)


set_default_device = set_default_context


def default_dtype():
    """numpy.float32

    >>> mx.test_utils.default_dtype()
    <class 'numpy.float32'>
    """
    return np.float32


def list_gpus():
    """[]

    >>> mx.test_utils.list_gpus()
    []
    """
    return []


def is_cd_run():
    """Whether the variable CD_JOB is 1.

    >>> mx.test_utils.is_cd_run() in (True, False)
    True
    """
    return os.environ.get("CD_JOB") == "1"


def is_aarch64_run():
    """Whether this is an ARM machine with 64 bits.

    >>> mx.test_utils.is_aarch64_run() in (True, False)
    True
    """
    return os.uname().machine == "aarch64"


@contextlib.contextmanager
def environment(*args):
    """A scope with environment variables: environment(name, value) or environment({name: value}); None removes one.

    >>> with mx.test_utils.environment("AMP_EXAMPLE", "1"):
    ...     print(mx.util.getenv("AMP_EXAMPLE"))
    1
    """
    wanted = dict(args[0]) if len(args) == 1 else dict([args])
    before = {name: os.environ.get(name) for name in wanted}
    try:
        _set_variables(wanted)
        yield
    finally:
        _set_variables(before)


def _set_variables(variables):
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = str(value)


@contextlib.contextmanager
def discard_stderr():
    """A scope without standard error, that of C++ included.

    >>> with mx.test_utils.discard_stderr():
    ...     pass
    """
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
            sys.stderr.flush()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
