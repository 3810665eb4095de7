"""The float32 model that errors are measured against: plain operators, batch norms folded, losses without gradients."""

import functools
import warnings

from .. import _core
from .._arrays import readable_dict
from ..base import ArgumentError, dtype_name
from ..executor import Executor
from ..sym import Symbol
from .graph import CASTS, Graph
from .intake import Intake


class OpenModel:
    """A model as conversions decide about it: fused nodes are opened, batch norms folded.

    `types` is {input: (dtype, shape)} of data, which the model takes in its own dtypes; `kept` are names of batch norms
    that stay, None keeps all. `arrays` are the parameters and auxiliary states, `folded` is {batch norm: node that it
    became part of}.
    """

    def __init__(self, model, types, kept=None):
        symbol, args, aux = as_model(model)
        if kept is None:
            kept = [node.name for _, node in Graph(symbol).operators()]
        self._intake = Intake(symbol, {**args, **aux})
        variables = set(symbol.list_inputs())
        types = {name: type for name, type in self.taken_types(types).items() if name in variables}
        opened = _core.open_model(symbol._handle, args, aux, types, set(kept))
        self.symbol = Symbol(opened["symbol"])
        self.args, self.aux = opened["arguments"], opened["auxiliary_states"]
        self.arrays = {**self.args, **self.aux}
        self.folded = dict(opened["folded"])
        self.graph = Graph(self.symbol)
        inputs = [name for name in self.symbol.list_arguments() if name not in self.arrays]
        self.input_types = {name: types[name] for name in inputs if name in types}

    def taken_types(self, types):
        """{input: (dtype, shape)} of what the model takes for data of these types."""
        return self._intake.types(types)

    def taken(self, batch):
        """{input: array} of a batch in the dtypes that the model takes."""
        return self._intake(batch)

    @property
    def known_types(self):
        """{variable: (dtype, shape)} of all that is known."""
        held = {name: (dtype_name(array.dtype), tuple(array.shape)) for name, array in self.arrays.items()}
        return {**held, **self.input_types}

    @property
    def depends_on_data(self):
        """Whether each node depends on an input."""
        inputs = {name for name in self.symbol.list_arguments() if name not in self.arrays}
        return self.graph.depends_on(inputs)

    def types(self):
        """{entry: (name of its dtype, its shape or None)} of all visible entries."""
        entries = self.graph.entries()
        return dict(zip(entries, self.graph.types(entries, self.known_types)))

    def dtypes(self):
        """{entry: name of its dtype} of all visible entries."""
        return {entry: dtype for entry, (dtype, _) in self.types().items()}

    def constant_values(self):
        """{entry: NumPy array} of parameters and auxiliary states."""
        nodes = enumerate(self.graph.nodes)
        return {(i, 0): self.arrays[n.name] for i, n in nodes if n.is_variable and n.name in self.arrays}

    def data_entries(self):
        """Visible entries that are no parameters, in the order of nodes."""
        held = self.constant_values()
        nodes, given = self.graph.nodes, self.input_types
        entries = [entry for entry in self.graph.entries() if entry not in held]
        return [(i, k) for i, k in entries if not nodes[i].is_variable or nodes[i].name in given]

    def batch_norms(self):
        """Names of the nodes of batch norms."""
        return {node.name for _, node in self.graph.operators() if node.op.startswith("BatchNorm")}


class LowModel(ArgumentError):
    """A model has low precision where a float32 one is needed."""


def float32_reference(first, types, kept=()):
    """The OpenModel of `first` with its batch norms folded but for those that are `kept`; None keeps all.

    Raises LowModel where the model has low precision itself.
    """
    reference = OpenModel(first, types, kept)
    casts = [node.name for _, node in reference.graph.operators() if node.op in CASTS]
    if casts:
        raise LowModel(
            f"the model has casts to low precision ({casts[0]}): errors are measured against a float32 model; pass the "
            "model that was converted"
        )
    return reference


def bound(symbol, arrays, types, **options):
    """An Executor that runs each node as it stands: mode exact, decisions of no machine."""
    names = set(symbol.list_inputs())
    held = {name: array for name, array in arrays.items() if name in names}
    states = set(symbol.list_auxiliary_states())
    inputs = {name: types[name] for name in symbol.list_arguments() if name in types and name not in held}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a CPU that is slow in low precision gives the same numbers
        return Executor(
            symbol,
            {name: array for name, array in held.items() if name not in states},
            {name: array for name, array in held.items() if name in states},
            {name: shape for name, (_, shape) in inputs.items()},
            input_dtypes={name: dtype for name, (dtype, _) in inputs.items()},
            **{"mode": "exact", "machine": "any", **options},
        )


def as_model(model):
    """(Symbol, arguments, auxiliary states) that the symbol reads. Raises ArgumentError for anything else."""
    if not isinstance(model, (tuple, list)) or len(model) < 3:
        raise ArgumentError("expected a model: (Symbol, arg_params, aux_params)")
    symbol, args, aux = model[:3]
    if not isinstance(symbol, Symbol):
        raise ArgumentError(f"expected a Symbol, got {type(symbol).__name__}")
    variables = set(symbol.list_inputs())
    args, aux = readable_dict(args, "arg_params"), readable_dict(aux, "aux_params")
    return (symbol, *({name: a for name, a in group.items() if name in variables} for group in (args, aux)))


# ---- losses ----


def _softmax_output(attrs):
    if _is_true(attrs.get("preserve_shape")):
        return "softmax", {"axis": "-1"}
    return "SoftmaxActivation", {"mode": "channel" if _is_true(attrs.get("multi_output")) else "instance"}


def _is_true(text):
    return str(text).lower() in ("true", "1")


def _identity(_attrs):
    return "_copy", {}


# What losses are in inference. Their gradients, and those of what stops gradients, ignore those of their outputs.
_LOSSES = {
    "SoftmaxOutput": _softmax_output,
    "LinearRegressionOutput": _identity,
    "MAERegressionOutput": _identity,
    "LogisticRegressionOutput": lambda _attrs: ("sigmoid", {}),
    "SVMOutput": _identity,
    "MakeLoss": _identity,
    "make_loss": _identity,
    "BlockGrad": _identity,
    "IdentityAttachKLSparseReg": _identity,
    "_contrib_gradientmultiplier": _identity,
}


@functools.cache
def _canonical():
    """{name of an operator: its first name}"""
    return _core.operator_names()


def as_function(node):
    """The node as a function of its first input, where it is a loss or stops gradients; else as it is."""
    name = _canonical().get(node.op, node.op)
    if name not in _LOSSES:
        return node
    op, attrs = _LOSSES[name](node.attrs)
    return node._replace(op=op, attrs=attrs, inputs=node.inputs[:1])
