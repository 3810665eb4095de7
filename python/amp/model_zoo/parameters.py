"""Parameters for networks without a parameter file."""

from __future__ import annotations

import math
import zlib
from typing import TYPE_CHECKING

import numpy as np

from ..base import ArgumentError
from ..nd import NDArray

if TYPE_CHECKING:
    from .._types import Shapes
    from ..sym import Symbol


def seeded_params(sym: Symbol, input_shapes: Shapes, seed: int = 0) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
    """Random float32 parameters for a network: (arg_params, aux_params), dicts of NDArrays.

    `input_shapes` is {name: shape} of everything that is no parameter. Weights have the variance 2 / fan_in, scales
    and running variances lie around 1, biases, shifts and running means around 0. The values of a parameter depend on
    its name, its shape and `seed` only. Raises ArgumentError where these do not determine all shapes.

    >>> net = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    >>> args, aux = amp.model_zoo.seeded_params(net, {"data": (1, 4)})
    >>> args["fc_weight"].shape
    (3, 4)
    """
    arg_shapes, _, aux_shapes = sym.infer_shape(**input_shapes)
    if arg_shapes is None:
        raise ArgumentError("the input shapes do not determine the shapes of all parameters")
    args = zip(sym.list_arguments(), arg_shapes)
    aux = zip(sym.list_auxiliary_states(), aux_shapes)
    return (
        {name: _seeded(name, shape, seed) for name, shape in args if name not in input_shapes},
        {name: _seeded(name, shape, seed) for name, shape in aux},
    )


def _seeded(name, shape, seed):
    random = np.random.default_rng([seed, zlib.crc32(name.encode())])
    if name.endswith(("gamma", "var")):
        return NDArray(random.uniform(0.75, 1.25, shape).astype(np.float32))
    if len(shape) < 2:
        return NDArray(random.uniform(-0.1, 0.1, shape).astype(np.float32))
    values = random.standard_normal(shape, dtype=np.float32)
    values *= np.float32(math.sqrt(2.0 / math.prod(shape[1:])))
    return NDArray(values)
