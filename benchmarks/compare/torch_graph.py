"""The ONNX models of this benchmark as torch.fx modules, written as a torch program would be."""

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import helper, numpy_helper


def read(path, training=False):
    """A GraphModule that takes the inputs in order and returns a tuple of outputs.

    With `training` its parameters have gradients, and batch norms use the statistics of the batch.
    """
    return _Reader(onnx.load(path).graph, training).module()


class _Reader:
    def __init__(self, graph, training):
        self.training = training
        self.source, self.root, self.target = graph, torch.nn.Module(), torch.fx.Graph()
        self.arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self.values, self.readers, self.makers = {}, {}, {}
        for node in graph.node:
            self.makers[node.output[0]] = node
            for name in node.input:
                self.readers.setdefault(name, []).append(node)

    def module(self):
        for value in self.source.input:
            self.values[value.name] = self.target.placeholder(value.name)
        for node in self.source.node:
            if node.output[0] not in self.values:
                attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
                self.values[node.output[0]] = OPERATORS[node.op_type](self, node, attributes)
        self.target.output(tuple(self.values[value.name] for value in self.source.output))
        self.target.eliminate_dead_code()
        return torch.fx.GraphModule(self.root, self.target)

    def call(self, function, *args, **kwargs):
        return self.target.call_function(function, args, kwargs)

    def tensor(self, name, convert=lambda array: array, is_state=False):
        """A value of the graph; an initializer, converted, becomes a number, a parameter or, of integers and states,
        a buffer."""
        if name in self.values:
            return self.values[name]
        if self.arrays[name].ndim == 0:
            return self.arrays[name].item()  # torch's patterns want numbers
        key = f"p{len(self.values)}"
        held = torch.from_numpy(np.array(convert(self.arrays[name]), order="C"))
        if held.is_floating_point() and not is_state:
            self.root.register_parameter(key, torch.nn.Parameter(held, requires_grad=self.training))
        else:
            self.root.register_buffer(key, held)
        self.values[name] = self.target.get_attr(key)
        return self.values[name]

    def dropout(self, node):
        """The probability with which a Dropout drops."""
        return float(self.arrays[node.input[1]]) if self.training else 0.0

    def inputs(self, node):
        return [self.tensor(name) for name in node.input]


def _convolution(graph, node, attrs):
    pads = attrs["pads"]
    return graph.call(
        F.conv2d,
        *graph.inputs(node),
        stride=tuple(attrs["strides"]),
        padding=tuple(pads[: len(pads) // 2]),
        dilation=tuple(attrs["dilations"]),
        groups=attrs["group"],
    )


def _batch_norm(graph, node, attrs):
    x, gamma, beta = (graph.tensor(name) for name in node.input[:3])
    mean, var = (graph.tensor(name, is_state=True) for name in node.input[3:])
    momentum = 0.1 if graph.training else 0.0
    return graph.call(F.batch_norm, x, mean, var, gamma, beta, graph.training, momentum, attrs["epsilon"])


def _pool(function):
    def make(graph, node, attrs):
        extra = {"count_include_pad": bool(attrs["count_include_pad"])} if "count_include_pad" in attrs else {}
        extra["ceil_mode"] = bool(attrs["ceil_mode"])
        sizes = {"stride": tuple(attrs["strides"]), "padding": tuple(attrs["pads"][:2])}
        return graph.call(function, *graph.inputs(node), tuple(attrs["kernel_shape"]), **sizes, **extra)

    return make


def _matmul(graph, node, attrs):
    """With constant weights it is a linear layer, and an addition that follows its bias."""
    left, right = node.input
    weights = graph.makers.get(left)
    if weights is not None and weights.op_type == "Dropout":
        return _attention(graph, graph.makers[weights.input[0]], graph.tensor(right), graph.dropout(weights))
    if weights is not None and weights.op_type == "Softmax":
        return _attention(graph, weights, graph.tensor(right))
    if right not in graph.arrays:
        return graph.call(torch.matmul, *graph.inputs(node))
    x, weight = graph.tensor(left), graph.tensor(right, np.transpose)
    (after,) = graph.readers[node.output[0]]
    graph.values[after.output[0]] = graph.call(F.linear, x, weight, graph.tensor(after.input[1]))
    return graph.values[after.output[0]]


def _attention(graph, softmax, value, dropout=0.0):
    """softmax(q k / sqrt(size) + mask) v, for which torch has a function."""
    masked = graph.makers[softmax.input[0]]
    scaled = graph.makers[masked.input[0]]
    product = graph.makers[scaled.input[0]]
    query, key = graph.inputs(product)
    mask = graph.tensor(masked.input[1])
    key = graph.call(torch.transpose, key, -2, -1)
    return graph.call(F.scaled_dot_product_attention, query, key, value, attn_mask=mask, dropout_p=dropout)


def _reshape(graph, node, attrs):
    x, sizes = graph.tensor(node.input[0]), graph.arrays[node.input[1]].tolist()
    if len(sizes) == 4:
        return graph.call(torch.unflatten, x, 2, sizes[2:])
    return graph.call(torch.flatten, x, 2)


def _cast(graph, node, attrs):
    return graph.call(torch.Tensor.to, graph.tensor(node.input[0]), {1: torch.float32, 7: torch.int64}[attrs["to"]])


def _gather(graph, node, attrs):
    if attrs.get("axis", 0) == 0:
        table, ids = graph.inputs(node)
        return graph.call(F.embedding, ids, table)
    return graph.call(torch.select, graph.tensor(node.input[0]), attrs["axis"], int(graph.arrays[node.input[1]]))


def _unsqueeze(graph, node, attrs):
    x = graph.tensor(node.input[0])
    for axis in graph.arrays[node.input[1]].tolist():
        x = graph.call(torch.unsqueeze, x, axis)
    return x


def _clip(graph, node, attrs):
    low, high = (float(graph.arrays[name]) for name in node.input[1:])
    return graph.call(F.hardtanh, graph.tensor(node.input[0]), low, high)


def _layer_norm(graph, node, attrs):
    x, scale, shift = graph.inputs(node)
    return graph.call(F.layer_norm, x, graph.arrays[node.input[1]].shape, scale, shift, attrs["epsilon"])


def _dropout(graph, node, attrs):
    return graph.call(F.dropout, graph.tensor(node.input[0]), graph.dropout(node), graph.training)


def _plain(function, **fixed):
    return lambda graph, node, attrs: graph.call(function, *graph.inputs(node), **fixed)


def _by(function, *keys):
    """A function of the first input and of attributes."""
    return lambda graph, node, attrs: graph.call(function, graph.tensor(node.input[0]), *(attrs[key] for key in keys))


OPERATORS = {
    "Add": _plain(torch.add),
    "AveragePool": _pool(F.avg_pool2d),
    "BatchNormalization": _batch_norm,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": lambda graph, node, attrs: graph.call(torch.cat, graph.inputs(node), attrs["axis"]),
    "Conv": _convolution,
    "Div": _plain(torch.div),
    "Dropout": _dropout,
    "Elu": _by(F.elu, "alpha"),
    "Erf": _plain(torch.erf),
    "Flatten": _by(torch.flatten, "axis"),
    "Gather": _gather,
    "Gemm": _plain(F.linear),
    "GlobalAveragePool": lambda graph, node, attrs: graph.call(F.adaptive_avg_pool2d, graph.tensor(node.input[0]), 1),
    "GlobalMaxPool": lambda graph, node, attrs: graph.call(F.adaptive_max_pool2d, graph.tensor(node.input[0]), 1),
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _by(F.leaky_relu, "alpha"),
    "Less": _plain(torch.lt),
    "MatMul": _matmul,
    "MaxPool": _pool(F.max_pool2d),
    "Mul": _plain(torch.mul),
    "Relu": _plain(F.relu),
    "Reshape": _reshape,
    "Sigmoid": _plain(torch.sigmoid),
    "Softmax": _by(torch.softmax, "axis"),
    "Softplus": _plain(F.softplus),
    "Softsign": _plain(F.softsign),
    "Tanh": _plain(torch.tanh),
    "Transpose": _by(torch.permute, "perm"),
    "Unsqueeze": _unsqueeze,
    "Where": _plain(torch.where),
}
