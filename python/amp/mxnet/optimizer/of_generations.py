"""Arguments of optimizers in MXNet 2: other defaults than in 1.x, and in another order."""

import functools

from .. import _generation
from ..util import is_np_array


def is_of_2():
    """Whether optimizers that are made now are those of MXNet 2: after `install` of 2.x, or else in `set_np`."""
    return _generation.chosen() == 2 or (_generation.chosen() == 0 and is_np_array())


def in_mxnet_2(*names, **defaults):
    """A decorator of classes: in MXNet 2 arguments without a name are these `names`, and `defaults` differ."""

    def decorated(klass):
        init = klass.__init__

        @functools.wraps(init)
        def of_generation(self, *args, **kwargs):
            if is_of_2():
                if len(args) > len(names):
                    raise TypeError(f"{klass.__name__}: expected at most {len(names)} positional arguments: {names}")
                args, kwargs = (), {**defaults, **dict(zip(names, args)), **kwargs}
            init(self, *args, **kwargs)

        klass.__init__ = of_generation
        return klass

    return decorated
