"""The weights of recurrent layers: a parameter each in MXNet 1.x, one vector in MXNet 2."""

import math
from typing import Any, NamedTuple

from ... import init as initializers


class WeightLayout(NamedTuple):
    """What the sizes of all weights of a layer follow from."""

    gates: int
    hidden_size: int
    input_size: int
    num_layers: int
    directions: list
    projection_size: int | None


class WeightPart(NamedTuple):
    """One matrix or vector of a layer."""

    layer: int
    direction: str  # 'l' or 'r'
    kind: str  # i2h_weight, h2h_weight, i2h_bias, h2h_bias, h2r_weight
    shape: tuple
    init: Any

    @property
    def name(self):
        """The parameter of MXNet 1.x."""
        return f"{self.direction}{self.layer}_{self.kind}"


def weight_parts(layout, initializers_of):
    """All parts in the order of the operator RNN's vector; `initializers_of` is {kind: initializer}."""
    kinds = ["i2h_weight", "h2h_weight", *(["h2r_weight"] if layout.projection_size else []), "i2h_bias", "h2h_bias"]
    return [
        WeightPart(layer, direction, kind, _shape(layout, layer, kind), initializers_of.get(kind))
        for part in ("weight", "bias")
        for layer in range(layout.num_layers)
        for direction in layout.directions
        for kind in kinds
        if kind.endswith(part)
    ]


def _shape(layout, layer, kind):
    rows, outputs = layout.gates * layout.hidden_size, layout.projection_size or layout.hidden_size
    inputs = layout.input_size if layer == 0 else outputs * len(layout.directions)
    return {
        "i2h_weight": (rows, inputs),
        "h2h_weight": (rows, outputs),
        "h2r_weight": (outputs, layout.hidden_size),
        "i2h_bias": (rows,),
        "h2h_bias": (rows,),
    }[kind]


class PackedWeights(initializers.Initializer):
    """The initializer of a vector of weights: each part by its own, or by the block's."""

    def __init__(self, layout, parts):
        super().__init__()
        self.layout, self._inits = layout, {part.kind: part.init for part in parts}
        self._default = None

    def set_initializer(self, default):
        """The initializer of the block, for weights that have none of their own."""
        self._default = default

    def _init_weight(self, name, array):
        """Fills the vector."""
        begin = 0
        for part in weight_parts(self.layout, self._inits):
            size = math.prod(part.shape)
            piece = array[begin : begin + size].reshape(part.shape)
            initializer = initializers.create(part.init or self._default or "uniform")
            write = getattr(initializer, "_init_weight", None)
            write(name, piece) if write else initializer(initializers.InitDesc(name), piece)
            array[begin : begin + size] = piece.reshape((-1,))
            begin += size
