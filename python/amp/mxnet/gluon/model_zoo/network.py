"""A network of the zoo as a block: the description that `amp.model_zoo` turns into symbols, applied to arrays."""

import json
import os
import re

from .... import nd
from ....base import ArgumentError
from ....model_zoo.blocks import Chain, Place, Scope
from ....model_zoo.forms import Classic, Structural
from ....model_zoo.table import find_network
from ....name import NameManager
from ... import init as initializers
from ..block import HybridBlock, starts_graph
from ..nn.containers import HybridSequential
from ..nn.layer import functions_of, value_of
from ..parameter import Parameter, plain_name


class NetworkBlock(HybridBlock):
    """A classifier: `features` and `output` are blocks, too. Parameters have names such as 'features.0.weight'."""

    def __init__(self, name, classes=1000, pretrained=False):
        super().__init__()
        self._network = find_network(name, classes)
        self._label = name
        self.features = _part(self._network.features, "features", self)
        self.output = _part(self._network.output, "output", self)
        refuse_download(name, pretrained)
        if pretrained:
            self.load_pretrained(os.fspath(pretrained))

    @starts_graph
    def forward(self, x):
        """`x` is (N, 3, H, W)."""
        return self.output(self.features(x))

    def load_pretrained(self, filename):
        """Reads a parameter file of the Gluon zoo or of a model that MXNet exported. Errors as for load_parameters."""
        arrays = {plain_name(name): array for name, array in nd.load(filename).items()}
        prefix = re.compile(rf"{self._network.kind}\d+_")
        if all(prefix.match(name) for name in arrays):
            renamed = self._structural_names()
            arrays = {renamed.get(prefix.sub("", name), name): array for name, array in arrays.items()}
        self.load_dict(arrays)

    def _structural_names(self):
        """{name in the form 1.x, without the prefix: name here}"""
        with NameManager():
            classic = self._network.trace(Classic(), "").list_inputs()
            structural = self._network.trace(Structural(), "").list_inputs()
        return dict(zip(classic, structural))

    def learn_shapes(self, data_shape):
        """Sets the shapes of all parameters for an input of that shape; blocks that were put in learn their own."""
        draft = self._network.trace(Structural(), "")
        arguments, _, states = draft.infer_shape(data=tuple(data_shape))
        shapes = {**dict(zip(draft.list_arguments(), arguments)), **dict(zip(draft.list_auxiliary_states(), states))}
        for name, parameter in _described_parameters(self, ""):
            parameter.shape = shapes[name]

    def __repr__(self):
        return f"NetworkBlock({self._label})"


def refuse_download(name, pretrained):
    """Raises ArgumentError for pretrained=True."""
    if pretrained is True:
        raise ArgumentError(f"{name}: no parameters come with this package; pass pretrained='file.params'")


def _described_parameters(block, path):
    """(name, Parameter) of the parts of a network that are as it was described."""
    for name, child in block._children.items():
        if isinstance(child, _Part):
            yield from child._collect(f"{path}{name}.").items()
        elif isinstance(child, _Sequence):
            yield from _described_parameters(child, f"{path}{name}.")


def _part(description, path, network):
    return (_Sequence if isinstance(description, Chain) else _Part)(description, path, network)


class _Sequence(HybridSequential):
    """Parts one after another, with their numbers as names."""

    def __init__(self, chain, path, network):
        super().__init__(*(_part(block, f"{path}.{i}", network) for i, block in enumerate(chain.blocks)))
        self._path = path
        self.__dict__["_network"] = network  # no child

    def _learn_shapes(self, args):
        """The features learn from the input of the whole network."""
        if self._path == "features" and any(parameter.is_open for parameter in self.collect_params().values()):
            self._network.learn_shapes(args[0].shape)
        super()._learn_shapes(args)


class _Part(HybridBlock):
    """A layer of a network, or several that are not one after another."""

    def __init__(self, description, path, network):
        super().__init__()
        self._apply = description.bind(Place(_Arrays(self._reg_params, path), Scope(""), path))
        self._description = type(description).__name__

    def infer_shape(self, x, *args):
        """Raises ArgumentError: only the whole network tells shapes."""
        raise ArgumentError("the shapes of this part's parameters are not known: call the whole network once")

    def forward(self, x):
        """`x` is an array or a symbol."""
        return self._apply(x)

    def __repr__(self):
        return f"{self._description}({len(self._reg_params)} parameters)"


class _Arrays:
    """The form of a description that computes: parameters are those of blocks, nodes run operators."""

    def __init__(self, parameters, path):
        self._parameters, self._cut = parameters, len(path) + 1

    def parameter(self, name, path, key, shape, init):
        """A parameter of the part, under its place in it."""
        if init is not None and init.startswith("["):
            kind, options = json.loads(init)
            init = initializers.create(kind, **options)
        parameter = Parameter(f"{path}.{key}", shape=shape, init=init, allow_deferred_init=True)
        self._parameters[parameter.name[self._cut :]] = parameter
        return parameter

    def node(self, operator, name, inputs, attributes):
        """The operator on arrays or symbols."""
        data = next(value for value in inputs if not isinstance(value, Parameter))
        values = [value_of(value, data) if isinstance(value, Parameter) else value for value in inputs]
        return getattr(functions_of(data), operator)(*values, **attributes)
