"""What all layers share."""

from .... import _trace, nd, sym
from ....base import ArgumentError
from ....sym import Symbol
from ..block import HybridBlock, starts_graph


class Layer(HybridBlock):
    """A block around one operator or a few."""

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        is_layer_here = cls.__module__.startswith(__package__.rpartition(".")[0])
        if is_layer_here and "forward" in vars(cls):
            cls.forward = starts_graph(cls.forward)

    def parameter(self, name, shape, init, dtype="float32", grad_req="write"):
        """Makes a parameter of this layer; sizes of 0 are learned in the first call."""
        options = {"grad_req": grad_req, "dtype": dtype, "init": init, "allow_deferred_init": True}
        setattr(self, name, self.params.get(name, shape=shape, **options))

    def run(self, op, data, *parameters, **attributes):
        """The operator on an array or a symbol and on parameters, None for one that is left out."""
        module = functions_of(data)
        if isinstance(data, Symbol) and self._naming.is_named:
            attributes = {"name": "fwd", **attributes}
        values = [value_of(parameter, data) for parameter in parameters if parameter is not None]
        with _trace.names(self._name_of_nodes(), "fwd"):
            return getattr(module, op)(data, *values, **attributes)


def listed(**settings):
    """Settings as text, 'a=1, b=2', for the line of a layer."""
    return ", ".join(f"{key}={value}" for key, value in settings.items())


def functions_of(data):
    """The module whose functions take `data`: `amp.sym` or `amp.nd`."""
    return sym if isinstance(data, Symbol) else nd


def value_of(parameter, data):
    """A parameter as `data` is: a variable or an array."""
    return parameter.var() if isinstance(data, Symbol) else parameter.data()


def repeated(value, count):
    """A number as a tuple of `count`; a sequence of as many as a tuple."""
    values = (int(value),) * count if hasattr(value, "__index__") else tuple(value)
    if len(values) != count:
        raise ArgumentError(f"expected {count} numbers, one for each axis of the window, got {values}")
    return values
