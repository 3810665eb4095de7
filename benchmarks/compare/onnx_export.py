"""Our symbols of image networks as ONNX models: one small function per operator, the graph kept as it is."""

import ast

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17


class Writer:
    """Collects nodes and initializers of an ONNX graph."""

    def __init__(self):
        self.nodes, self.initializers, self._made = [], {}, 0

    def constant(self, name, array):
        """Adds an initializer once; returns its name."""
        if name not in self.initializers:
            self.initializers[name] = numpy_helper.from_array(np.array(array, order="C"), name)
        return name

    def add(self, op, inputs, output=None, **attributes):
        """Adds a node with one output; returns the output's name."""
        self._made += 1
        output = output or f"{op}_{self._made}"
        self.nodes.append(helper.make_node(op, list(inputs), [output], name=output, **attributes))
        return output

    def model(self, inputs, outputs):
        """`inputs` is {name: shape}, `outputs` {name: rank}; strings in shapes are symbolic sizes."""
        values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
        results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None] * r) for name, r in outputs.items()]
        graph = helper.make_graph(self.nodes, "network", values, results, list(self.initializers.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        onnx.checker.check_model(model)
        return model


def export(symbol_json, params, inputs):
    """An fp32 ONNX model of an MXNet-style graph with image operators.

    symbol_json: the parsed JSON. params: {name: float32 array}, auxiliary states included. inputs: {name: shape}; the
    first size becomes the symbolic "N". Raises ValueError for an operator or a setting without an exporter.
    """
    writer, names = Writer(), {}
    nodes = symbol_json["nodes"]
    for index, node in enumerate(nodes):
        if node["op"] == "null":
            names[index] = node["name"]
            if node["name"] in params:
                writer.constant(node["name"], params[node["name"]])
            continue
        if node["op"] not in EXPORTERS:
            raise ValueError(f"{node['op']} '{node['name']}': there is no exporter to ONNX")
        attributes = {key: _value(text) for key, text in node.get("attrs", {}).items()}
        sources = [names[i] for i, *_ in node["inputs"]]
        names[index] = EXPORTERS[node["op"]](writer, node["name"], attributes, sources, params)
    heads = [names[i] for i, *_ in symbol_json["heads"]]
    return writer.model({name: ["N", *shape[1:]] for name, shape in inputs.items()}, dict.fromkeys(heads, 2))


def _value(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _convolution(writer, name, attrs, sources, params):
    return writer.add(
        "Conv",
        sources,
        name,
        kernel_shape=attrs["kernel"],
        strides=attrs.get("stride", (1, 1)),
        dilations=attrs.get("dilate", (1, 1)),
        pads=2 * tuple(attrs.get("pad", (0, 0))),
        group=attrs.get("num_group", 1),
    )


def _batch_norm(writer, name, attrs, sources, params):
    data, gamma, *rest = sources
    if attrs.get("fix_gamma", True):
        gamma = writer.constant(f"{gamma}_fixed", np.ones_like(params[gamma]))
    return writer.add("BatchNormalization", [data, gamma, *rest], name, epsilon=attrs.get("eps", 1e-3))


def _pooling(writer, name, attrs, sources, params):
    kind = attrs.get("pool_type", "max")
    if kind not in ("max", "avg"):
        raise ValueError(f"Pooling '{name}': there is no exporter for pool_type={kind}")
    if attrs.get("global_pool", False):
        return writer.add("GlobalMaxPool" if kind == "max" else "GlobalAveragePool", sources, name)
    if kind == "avg":
        extra = {"count_include_pad": int(attrs.get("count_include_pad", True))}
    else:
        extra = {}
    return writer.add(
        "MaxPool" if kind == "max" else "AveragePool",
        sources,
        name,
        kernel_shape=attrs["kernel"],
        strides=attrs.get("stride", (1, 1)),
        pads=2 * tuple(attrs.get("pad", (0, 0))),
        ceil_mode=int(attrs.get("pooling_convention", "valid") == "full"),
        **extra,
    )


def _fully_connected(writer, name, attrs, sources, params):
    data, *rest = sources
    if not attrs.get("flatten", True):
        raise ValueError(f"FullyConnected '{name}': there is no exporter for flatten=False")
    flat = writer.add("Flatten", [data], f"{name}_flat", axis=1)
    return writer.add("Gemm", [flat, *rest], name, transB=1)


def _activation(writer, name, attrs, sources, params):
    kinds = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "softrelu": "Softplus", "softsign": "Softsign"}
    return writer.add(kinds[attrs["act_type"]], sources, name)


def _clip(writer, name, attrs, sources, params):
    bounds = [writer.constant(f"bound_{attrs[key]}", np.float32(attrs[key])) for key in ("a_min", "a_max")]
    return writer.add("Clip", [*sources, *bounds], name)


def _leaky_relu(writer, name, attrs, sources, params):
    kind = attrs.get("act_type", "leaky")
    if kind not in ("leaky", "elu"):
        raise ValueError(f"LeakyReLU '{name}': there is no exporter for act_type={kind}")
    return writer.add({"leaky": "LeakyRelu", "elu": "Elu"}[kind], sources, name, alpha=attrs.get("slope", 0.25))


def _plain(op, **fixed):
    return lambda writer, name, attrs, sources, params: writer.add(op, sources, name, **fixed)


EXPORTERS = {
    "Activation": _activation,
    "BatchNorm": _batch_norm,
    "Concat": lambda writer, name, attrs, sources, params: writer.add(
        "Concat", sources, name, axis=attrs.get("dim", 1)
    ),
    "Convolution": _convolution,
    "Dropout": lambda writer, name, attrs, sources, params: sources[0],
    "Flatten": _plain("Flatten", axis=1),
    "FullyConnected": _fully_connected,
    "LeakyReLU": _leaky_relu,
    "Pooling": _pooling,
    "broadcast_add": _plain("Add"),
    "broadcast_mul": _plain("Mul"),
    "clip": _clip,
    "elemwise_add": _plain("Add"),
    "elemwise_mul": _plain("Mul"),
    "softmax": _plain("Softmax", axis=-1),
}
