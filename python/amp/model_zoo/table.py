"""The names of the networks, and the way from a name to a symbol."""

from __future__ import annotations

import functools
from functools import partial
from typing import TYPE_CHECKING

from ..base import ArgumentError, did_you_mean
from ..name import NameManager
from ..sym import Symbol
from . import densenet, mobilenet, resnet, squeezenet, vgg
from .alexnet import alexnet
from .forms import Classic, Structural
from .inception import inception_v3

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

FORMS = ("1.x", "2.0")

# name: function of the number of classes
NETWORKS = {
    "alexnet": alexnet,
    **{f"densenet{n}": partial(densenet.densenet, n) for n in densenet.CONFIGURATIONS},
    "inceptionv3": inception_v3,
    **{f"mobilenet{width}": partial(mobilenet.mobilenet, width) for width in mobilenet.WIDTHS},
    **{f"mobilenetv2_{width}": partial(mobilenet.mobilenet_v2, width) for width in mobilenet.WIDTHS},
    **{f"resnet{n}_v1": partial(resnet.resnet_v1, n) for n in resnet.CONFIGURATIONS},
    **{f"resnet{n}_v2": partial(resnet.resnet_v2, n) for n in resnet.CONFIGURATIONS},
    **{f"squeezenet{version}": partial(squeezenet.squeezenet, version) for version in squeezenet.VERSIONS},
    **{f"vgg{n}": partial(vgg.vgg, n, False) for n in vgg.CONVOLUTIONS},
    **{f"vgg{n}_bn": partial(vgg.vgg, n, True) for n in vgg.CONVOLUTIONS},
}


def _without_downloads(function: Function) -> Function:
    """Arguments of MXNet's function that ask for what this package does not bring raise ArgumentError."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        asked = [name for name in ("pretrained", "root", "ctx", "device") if name in kwargs]
        if asked:
            raise ArgumentError(
                f"{asked[0]}: symbols come without parameters, on no device; seeded_params makes random ones, amp.load "
                "reads files, and mx.gluon.model_zoo has MXNet's arguments"
            )
        return function(*args, **kwargs)

    return call


def list_models() -> list[str]:
    """Names that `get_model` knows.

    >>> len(amp.model_zoo.list_models()) > 30
    True
    """
    return list(NETWORKS)


@_without_downloads
def get_model(
    name: str, classes: int = 1000, prefix: str | None = None, *, form: Literal["1.x", "2.0"] = "1.x"
) -> Symbol:
    """The network `name` as a Symbol: input `data` (N, 3, H, W), output (N, classes) without softmax.

    `name` is that of MXNet's Gluon model zoo, in any case. The symbol equals the file that MXNet writes,
    node by node, for all of the names:

    `form="1.x"`: what MXNet 1.9.1 exports. `prefix` begins the names of all nodes; by default it is that
    of the first network which a program of MXNet makes, such as 'resnetv10_'. Networks whose last
    layers need no certain size take any image that is large enough.

    `form="2.0"`: what MXNet 2.0.0beta1 exports. Parameters are named after their place in the network
    ('features.0.weight'), operators 'node_0', 'node_1', ... in the order of execution. As there, parameters
    state their whole shapes; they are those for images of 224 x 224 (inceptionv3: 299 x 299).

    Raises ArgumentError for an unknown name or form, and for a prefix in the form 2.0, which has none.

    >>> net = amp.model_zoo.get_model("resnet18_v1", classes=10)
    >>> net.infer_shape(data=(1, 3, 64, 64))[1]
    [(1, 10)]
    """
    network = find_network(name, classes)
    if form not in FORMS:
        raise ArgumentError(f"unknown form {form!r}; there are {', '.join(map(repr, FORMS))}")
    with NameManager():  # an enclosing one does not rename the nodes
        if form == "1.x":
            return network.trace(Classic(), f"{network.kind}0_" if prefix is None else prefix)
        if prefix is not None:
            raise ArgumentError(f"prefix {prefix!r}: names have no prefix in the form 2.0")
        symbol = network.trace(Structural(_shapes(network)), "")
        return Symbol(symbol._handle.with_np_shape(True))  # 2.0 exports in np mode


def find_network(name, classes):
    """The description of a network. Raises ArgumentError for an unknown name and for a wrong number of classes."""
    return _find(name)(_checked_classes(classes))


def _find(name):
    network = NETWORKS.get(name.lower()) if isinstance(name, str) else None
    if network is None:
        hint = did_you_mean(str(name).lower(), NETWORKS) or f"; there are {', '.join(NETWORKS)}"
        raise ArgumentError(f"unknown model {name!r}{hint}")
    return network


def _checked_classes(classes):
    if isinstance(classes, bool) or not hasattr(classes, "__index__") or classes < 1:
        raise ArgumentError(f"classes: expected a positive integer, got {classes!r}")
    return int(classes)


def _shapes(network):
    """{name: shape} of the parameters in the form 2.0."""
    draft = network.trace(Structural(), "")
    arguments, _, states = draft.infer_shape(data=(1, 3, network.image_size, network.image_size))
    return {
        **dict(zip(draft.list_arguments(), arguments)),
        **dict(zip(draft.list_auxiliary_states(), states)),
    }
