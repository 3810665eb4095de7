"""What all layers share."""

from .... import nd, sym
from ....base import ArgumentError, GraphError
from ....sym import Symbol
from ..block import HybridBlock


class Layer(HybridBlock):
    """A block around one operator or a few, with MXNet's `hybrid_forward`, which subclasses may override or call."""

    def parameter(self, name, shape, init, dtype="float32", grad_req="write"):
        """Makes a parameter of this layer; sizes of 0 are learned in the first call."""
        options = {"grad_req": grad_req, "dtype": dtype, "init": init, "allow_deferred_init": True}
        setattr(self, name, self.params.get(name, shape=shape, **options))

    def _run(self, args):
        try:
            return super()._run(args)
        except GraphError:
            if self._generation.number == 2:
                self.infer_shape(*args)  # as in MXNet 2: a ShapeClashError for data that does not fit parameters
            raise


def listed(**settings):
    """Settings as text, 'a=1, b=2', for the line of a layer."""
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def functions_of(data):
    """The module whose functions take `data`: `amp.sym` or `amp.nd`."""
    return sym if isinstance(data, Symbol) else nd


def repeated(value, count):
    """A number as a tuple of `count`; a sequence of as many as a tuple."""
    values = (int(value),) * count if hasattr(value, "__index__") else tuple(value)
    if len(values) != count:
        raise ArgumentError(f"expected {count} numbers, one for each axis of the window, got {values}")
    return values
