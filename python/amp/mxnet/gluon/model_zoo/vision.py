"""The vision model zoo as blocks: `get_model(name)`, or a function of the network's name, such as `resnet50_v1()`."""

import functools

from ....base import did_you_mean as _did_you_mean
from ....model_zoo.table import NETWORKS
from ....model_zoo.table import list_models as _list_models
from .network import NetworkBlock

__all__ = ["get_model", "list_models"]

_PYTHON_NAMES = {name.replace(".", "_"): name for name in NETWORKS}
_PYTHON_NAMES["inception_v3"] = "inceptionv3"
_PYTHON_NAMES.update(
    {f"mobilenet_v2_{w.replace('.', '_')}": f"mobilenetv2_{w}" for w in ("1.0", "0.75", "0.5", "0.25")}
)


def list_models():
    """Names that `get_model` knows.

    >>> "resnet50_v1" in mx.gluon.model_zoo.vision.list_models()
    True
    """
    return _list_models()


def get_model(name, pretrained=False, ctx=None, root=None, classes=1000, *, device=None, **kwargs):
    """The network `name` as a block: (N, 3, H, W) -> (N, classes), with the parts `features` and `output`.

    `pretrained` is the path of a parameter file: of the Gluon zoo, or of an exported model. This package brings no
    parameters: pretrained=True raises ArgumentError. `ctx`, `device` and `root` have no effect. Raises ArgumentError
    for an unknown name.

    >>> net = mx.gluon.model_zoo.vision.get_model("resnet18_v1", classes=10)
    >>> net.initialize()
    >>> net(amp.nd.ones((1, 3, 64, 64))).shape
    (1, 10)
    """
    return NetworkBlock(name, classes, pretrained)


def __getattr__(name):
    if name not in _PYTHON_NAMES:
        hint = _did_you_mean(name, [*_PYTHON_NAMES, *__all__])
        raise AttributeError(f"module '{__name__}' has no attribute {name!r}{hint}")
    function = functools.partial(get_model, _PYTHON_NAMES[name])
    globals()[name] = function
    return function


def __dir__():
    return sorted({*globals(), *_PYTHON_NAMES})
