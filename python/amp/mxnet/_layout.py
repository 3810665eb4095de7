"""Where MXNet's modules are in this package: second names, and modules inside of packages, which are the package.

All of them can be imported: `from amp.mxnet.gluon.nn.basic_layers import Dense`.
"""

import functools
import sys

_PACKAGE = __name__.rpartition(".")[0]

# Module here -> dotted names of modules of MXNet, of 1.x or 2.x, that define what it has.
_MODULES = {
    "amp": "amp.amp amp.loss_scaler contrib.amp.loss_scaler",
    "base": "error",
    "contrib.amp": "contrib.amp.amp",
    "gluon.contrib.cnn": "gluon.contrib.cnn.conv_layers",
    "gluon.contrib.data": "gluon.contrib.data.sampler",
    "gluon.contrib.nn": "gluon.contrib.nn.basic_layers",
    "gluon.contrib.rnn": "gluon.rnn.conv_rnn_cell",
    "gluon.data.vision.transforms": "gluon.data.vision.transforms.image",
    "gluon.model_zoo.vision": """
        gluon.model_zoo.vision.alexnet gluon.model_zoo.vision.densenet gluon.model_zoo.vision.inception
        gluon.model_zoo.vision.mobilenet gluon.model_zoo.vision.resnet gluon.model_zoo.vision.squeezenet
        gluon.model_zoo.vision.vgg""",
    "gluon.nn": "gluon.nn.basic_layers gluon.nn.conv_layers",
    "gluon.rnn": "gluon.rnn.rnn_cell gluon.rnn.rnn_layer",
    "io.io": "io.utils",
    "kvstore": "kvstore.base",
    "nd": "nd.gen_op nd.ndarray nd.utils",
    "nd._internal": "nd.gen__internal",
    "nd.contrib": "nd.gen_contrib contrib.nd contrib.ndarray",
    "nd.image": "nd.gen_image",
    "nd.linalg": "nd.gen_linalg",
    "nd.random": "nd.gen_random",
    "nd.sparse": "nd.gen_sparse",
    "np": """
        nd.numpy np._op np.arrayprint np.function_base np.io np.multiarray np.set_functions
        np.stride_tricks np.type_functions np.utils""",
    "npx": "nd.numpy_extension npx._op npx.control_flow npx.utils",
    "npx.image": "npx.image",
    "optimizer": """
        optimizer.adabelief optimizer.adadelta optimizer.adagrad optimizer.adam optimizer.adamW optimizer.adamax
        optimizer.dcasgd optimizer.ftml optimizer.ftrl optimizer.lamb optimizer.lans optimizer.lars optimizer.nadam
        optimizer.nag optimizer.optimizer optimizer.rmsprop optimizer.sgd optimizer.sgld optimizer.signum
        optimizer.updater optimizer.utils""",
    "rnn": "rnn.rnn rnn.rnn_cell",
    "sym": "sym.gen_op",
    "sym._internal": "sym.gen__internal",
    "sym.contrib": "sym.gen_contrib contrib.sym contrib.symbol",
    "sym.image": "sym.gen_image",
    "sym.linalg": "sym.gen_linalg",
    "sym.np": "sym.numpy sym.np._op sym.np._symbol",
    "sym.npx": "sym.numpy_extension sym.npx._op",
    "sym.random": "sym.gen_random",
    "sym.sparse": "sym.gen_sparse",
}

# Second names of modules, which those inside of them have, too.
_ALIASES = {
    "attribute": "attribute",
    "bound_symbol": "executor",
    "context": "device",
    "image": "img",
    "init": "initializer",
    "kvstore": "kv",
    "amp.lists": "amp.lists contrib.amp.lists",
    "module": "mod",
    "monitor": "mon",
    "name": "name",
    "nd": "nd ndarray",
    "np": "np numpy nd.np nd.numpy ndarray.np ndarray.numpy",
    "npx": "npx numpy_extension nd.npx nd.numpy_extension ndarray.npx ndarray.numpy_extension",
    "random": "rnd nd.random ndarray.random",
    "sym": "sym symbol",
    "sym.np": "sym.numpy symbol.np symbol.numpy",
    "sym.npx": "sym.numpy_extension symbol.npx symbol.numpy_extension",
    "visualization": "viz",
}


def found(dotted_name):
    """The object of a dotted name below this package."""
    return functools.reduce(getattr, dotted_name.split("."), sys.modules[_PACKAGE])


def install():
    """Puts all of them into sys.modules and into the packages that have them in MXNet."""
    for own, names in _MODULES.items():
        for name in names.split():
            _put(name, found(own))
    for own, names in _ALIASES.items():
        module = found(own)
        inner = [known for known in sys.modules if known.startswith(f"{module.__name__}.")]
        for name in names.split():
            _put(name, module)
            for known in inner:
                sys.modules.setdefault(f"{_PACKAGE}.{name}{known[len(module.__name__) :]}", sys.modules[known])


def _put(dotted_name, module):
    owner_name, _, last = f"{_PACKAGE}.{dotted_name}".rpartition(".")
    owner = sys.modules.get(owner_name) or found(owner_name[len(_PACKAGE) + 1 :])
    if last not in vars(owner):
        setattr(owner, last, module)
    sys.modules.setdefault(f"{_PACKAGE}.{dotted_name}", module)
    sys.modules.setdefault(f"{owner.__name__}.{last}", module)
