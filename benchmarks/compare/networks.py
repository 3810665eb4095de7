"""The networks that are compared: symbols, seeded parameters, inputs."""

import math
import zlib

import numpy as np

from . import bert

IMAGE_SIZES = {"resnet50_v1": 224, "mobilenetv2_1.0": 224, "vgg16": 224, "densenet121": 224, "inceptionv3": 299}
BERT = "bert_base"
NETWORKS = (*IMAGE_SIZES, BERT)


def batches_of(network):
    """Batch sizes that a full run measures."""
    return (1, 8) if network == BERT else (1, 16)


def symbol_of(network):
    import amp

    return bert.symbol() if network == BERT else amp.model_zoo.get_model(network)


def inputs_of(network, batch):
    """{name: float32 array}, the same for every contestant."""
    random = np.random.default_rng([batch, zlib.crc32(network.encode())])
    if network == BERT:
        return bert.inputs(random, batch)
    size = IMAGE_SIZES[network]
    return {"data": _images(random, (batch, 3, size, size))}


def _images(random, shape):
    """Blocks of random colour under noise: pure noise looks alike to a network once it is averaged over space."""
    noise = random.standard_normal(shape, dtype=np.float32)
    blocks = random.standard_normal((*shape[:2], -(-shape[2] // 16), -(-shape[3] // 16)), dtype=np.float32)
    coarse = blocks.repeat(16, axis=2).repeat(16, axis=3)[:, :, : shape[2], : shape[3]]
    return noise * np.float32(0.5) + coarse


def parameters_of(network, symbol):
    """(arg_params, aux_params): {name: float32 array}; a parameter depends on its name and shape only."""
    inputs = {name: array.shape for name, array in inputs_of(network, 1).items()}
    arg_shapes, _, aux_shapes = symbol.infer_shape(**inputs)
    args = zip(symbol.list_arguments(), arg_shapes)
    gain = 1.0 if network == BERT else 2.0  # relu loses half of the variance
    return (
        {name: _parameter(name, shape, gain) for name, shape in args if name not in inputs},
        {name: _parameter(name, shape, gain) for name, shape in zip(symbol.list_auxiliary_states(), aux_shapes)},
    )


def _parameter(name, shape, gain):
    random = np.random.default_rng(zlib.crc32(name.encode()))
    if name.endswith(("gamma", "var")):
        return random.uniform(0.75, 1.25, shape).astype(np.float32)
    if len(shape) < 2:
        return random.uniform(-0.1, 0.1, shape).astype(np.float32)
    if "embed" in name or "position" in name:
        return random.standard_normal(shape, dtype=np.float32)
    return random.standard_normal(shape, dtype=np.float32) * np.float32(math.sqrt(gain / math.prod(shape[1:])))
