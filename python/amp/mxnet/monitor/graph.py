"""What a monitor sees of a symbol: names of tensors, and symbols that have these tensors among their outputs."""

import json
from collections import namedtuple

from ... import _core
from ...sym import Group, Symbol

# inputs and outputs: [(name of the slot or of the tensor, (node, index))]
Operator = namedtuple("Operator", "name op inputs outputs")
# Zeros that are added to an input: a gradient with respect to them is one with respect to that input.
Offset = namedtuple("Offset", "name op variable dtype shape")

# Operators of one input whose slot has a name in MXNet. It numbers those of all others: 'input0'.
_NAMED = frozenset(
    "Dropout GridGenerator L2Normalization LRN MakeLoss Pad Pooling SliceChannel SwapAxis _contrib_MultiBoxPrior "
    "_contrib_index_array _contrib_quadratic _image_normalize _image_to_tensor _np_diagflat _np_diagonal _np_reshape "
    "_np_trace _npi_bitwise_not _npi_broadcast_to _npi_isfinite _npi_isinf _npi_isnan _npi_isneginf _npi_isposinf "
    "_npi_logical_not _npi_mean _npi_nan_to_num _npi_rot90 _npi_tril _npx_reshape _ravel_multi_index _split_v2 "
    "_unravel_index all_finite col2im depth_to_space diag gamma im2col log_softmax moments repeat reverse softmax "
    "space_to_depth squeeze tile".split()
)


class MonitoredGraph:
    """The operators of a symbol in the order of its nodes.

    Tensors are pairs (node, index) of the symbol's internals; those of variables are in `variables`, {tensor: name}.
    """

    def __init__(self, symbol):
        internals = symbol.get_internals()
        self._symbol, self._file = symbol, json.loads(internals.tojson())
        self._states = set(symbol.list_auxiliary_states())
        self._tensors = [tuple(head[:2]) for head in self._file["heads"]]
        nodes = self._file["nodes"]
        names = dict(zip(self._tensors, internals.list_outputs()))
        self.variables = {tensor: name for tensor, name in names.items() if _is_variable(nodes[tensor[0]])}
        self.shown = [tensor for tensor in self._tensors if tensor not in self.variables]  # visible ones of operators
        self._internals = [internals[i] for i, tensor in enumerate(self._tensors) if tensor not in self.variables]
        self._slots = self._slots_of_nodes()
        outputs = {}
        for tensor in self.shown:
            outputs.setdefault(tensor[0], []).append((names[tensor], tensor))
        self.operators = {
            i: Operator(node["name"], node["op"], self._inputs_of(i), outputs.get(i, []))
            for i, node in enumerate(nodes)
            if not _is_variable(node)
        }

    @property
    def outputs(self):
        """The symbol of the tensors in `shown`; None where the symbol has no operators."""
        return Group(self._internals) if self._internals else None

    def _inputs_of(self, i):
        inputs = self._file["nodes"][i]["inputs"]
        return [(self._slots.get((i, k), f"input{k}"), tuple(entry[:2])) for k, entry in enumerate(inputs)]

    def _slots_of_nodes(self):
        """{(node, number of the input): MXNet's name of the slot}"""
        found, canonical = {}, _core.operator_names()
        if not self.shown:
            return {}
        for name, (slot, *_) in self._apart().slots_of_variables().items():
            node, k = map(int, name.split())
            op = self._file["nodes"][node]["op"]
            found[node, k] = _name_of(canonical.get(op, op), slot, len(self._file["nodes"][node]["inputs"]))
        return found

    def _apart(self):
        """The graph with a variable of its own, '<node> <number of the input>', in place of each input."""
        graph = _Nodes()
        for i, node in enumerate(self._file["nodes"]):
            if not _is_variable(node):
                graph.add(i, node, [graph.variable(f"{i} {k}") for k in range(len(node["inputs"]))])
        return graph.parsed(self._file, self.shown)

    # ---- gradients ----

    def with_offsets(self, types, differentiated):
        """(symbol, [Offset]): the symbol with zeros added to what operators read.

        Operators are those that depend on arguments in `differentiated`: the last one first, as backward passes go.
        `types` is {variable: (dtype, shape)}. Integers and auxiliary states have no offsets.
        """
        tensor_types = self._types_of(types)
        depending = {tensor[0] for tensor, name in self.variables.items() if name in differentiated}
        graph, offsets = _Nodes(), []
        for i, node in enumerate(self._file["nodes"]):
            inputs = [graph.entry(*entry) for entry in node["inputs"]]
            if depending.intersection(entry[0] for entry in node["inputs"]):
                depending.add(i)
                own = self._offsets_of(i, tensor_types)
                for k, offset in own.items():
                    inputs[k] = graph.sum_of(inputs[k], offset.variable)
                offsets = [*own.values(), *offsets]
            graph.add(i, node, inputs)
        outputs = [tuple(head[:2]) for head in json.loads(self._symbol.tojson())["heads"]]
        return Symbol(graph.parsed(self._file, outputs)), offsets

    def _offsets_of(self, i, tensor_types):
        """{number of the input: Offset} of a node."""
        node = self._file["nodes"][i]
        tensors = [tuple(entry[:2]) for entry in node["inputs"]]
        read = [k for k, tensor in enumerate(tensors) if self.variables.get(tensor) not in self._states]
        known = {k: tensor_types.get(tensors[k], (None, None)) for k in read}
        return {
            k: Offset(_backward_name(node["name"], k, len(read)), node["op"], f"{i} {k}", *type)
            for k, type in known.items()
            if _has_gradient(*type)
        }

    def _types_of(self, types):
        """{tensor: (dtype, shape)}"""
        internals = self._symbol.get_internals()
        return dict(zip(self._tensors, internals._handle.infer(types)[1]))


class _Nodes:
    """The nodes of a new file of a symbol, made from those of another one."""

    def __init__(self):
        self._nodes, self._numbers = [], {}

    def variable(self, name):
        """The entry of a new variable."""
        self._nodes.append({"op": "null", "name": name, "inputs": []})
        return [len(self._nodes) - 1, 0, 0]

    def entry(self, node, index, version=0):
        """What an entry of the other file has become."""
        return [self._numbers[node], index, version]

    def sum_of(self, entry, name):
        """The entry of a tensor plus a new variable."""
        inputs = [entry, self.variable(name)]
        self._nodes.append({"op": "elemwise_add", "name": f"{name} sum", "inputs": inputs})
        return [len(self._nodes) - 1, 0, 0]

    def add(self, number, node, inputs):
        """Node `number` of the other file with these entries as inputs."""
        self._nodes.append({**node, "inputs": inputs})
        self._numbers[number] = len(self._nodes) - 1

    def parsed(self, file, outputs):
        """The extension's symbol with these tensors of the other file as outputs."""
        variables = [i for i, node in enumerate(self._nodes) if _is_variable(node)]
        heads = [self.entry(*tensor) for tensor in outputs]
        text = {**file, "nodes": self._nodes, "arg_nodes": variables, "heads": heads}
        text.pop("node_row_ptr", None)
        return _core.parse_symbol(json.dumps(text))


def _is_variable(node):
    return node["op"] == "null"


def _name_of(op, slot, count):
    """MXNet's name of an operator's slot, given ours and the number of the node's inputs."""
    if slot != "data" or count > 1:
        return slot
    info = _core.operator_info(op)
    if info["variadic"]:
        return "arg0"
    # What may have several inputs has names for them in MXNet.
    return slot if op in _NAMED or info["inputs"] != ["data"] else "input0"


def _backward_name(node, number, count):
    """MXNet's name of the gradient with respect to an input, one of `count`."""
    return f"{node}_backward_output{number if count > 1 else ''}"


def _has_gradient(dtype, shape):
    return (
        dtype is not None
        and shape is not None
        and _core.dtype_name(dtype) in ("float16", "bfloat16", "float32", "float64")
    )
