"""MXNet's surface, built on `amp`: `import amp.mxnet as mx`.

`mx.amp` has the signatures of MXNet's master branch, `mx.contrib.amp` those of 1.9.1. Symbols and legacy arrays are
those of `amp`: `mx.sym` is `amp.sym`; importing this package gives them MXNet's methods, such as `Symbol.simple_bind`.
A name of MXNet that is left out raises an AttributeError with the reason.
"""

from .. import _leniency, attribute, name, nd, sym
from ..attribute import AttrScope
from ..base import MXNetError
from ..nd import NDArray
from ..sym import Symbol
from . import (
    _borrowed,
    _current_scopes,
    _generation,
    _layout,
    _missing,
    _pickles_of_mxnet,
    _slice_assignment,
    _sparse_names,
    amp,
    array_methods,
    autograd,
    base,
    bound_symbol,
    callback,
    context,
    contrib,
    curves,
    engine,
    gluon,
    image,
    init,
    io,
    kvstore,
    log,
    lr_scheduler,
    metric,
    model,
    module,
    monitor,
    nd_functions,
    np,
    npx,
    numpy_dispatch_protocol,
    operator,
    optimizer,
    profiler,
    random,
    recordio,
    registry,
    rnn,
    runtime,
    symbol_control_flow,
    symbol_methods,
    test_utils,
    util,
    visualization,
)
from ._array_operators import numpy_nodes
from ._import_hook import install
from .context import Context, Device, cpu, cpu_pinned, current_context, current_device, gpu, num_gpus
from .util import (
    is_np_array,
    is_np_default_dtype,
    is_np_shape,
    np_array,
    np_default_dtype,
    np_shape,
    set_np_shape,
    use_np,
    use_np_array,
    use_np_default_dtype,
    use_np_shape,
)

# What programs compare with the version that they need.
__version__ = _generation.default().version

# MXNet's second names of modules.
device, executor, img, initializer, kv, mod, rnd = context, bound_symbol, image, init, kvstore, module, random
viz = visualization
mon = monitor
ndarray, numpy, numpy_extension, symbol = nd, np, npx, sym
nd.random = random
nd.np, nd.npx = np, npx  # `F.np` of blocks in numpy mode
_leniency.turn_on()
_current_scopes.install()
nd_functions.install()
image.operators.install()
array_methods.install()
_slice_assignment.install()
_sparse_names.install()
symbol_methods.install()
_pickles_of_mxnet.install()
init.FusedRNN = rnn.FusedRNN  # where MXNet has it
symbol_control_flow.install()
numpy_nodes.install()

__all__ = [
    "AttrScope",
    "Context",
    "Device",
    "MXNetError",
    "NDArray",
    "Symbol",
    "amp",
    "attribute",
    "autograd",
    "base",
    "bound_symbol",
    "callback",
    "context",
    "contrib",
    "cpu",
    "cpu_pinned",
    "current_context",
    "current_device",
    "curves",
    "device",
    "engine",
    "executor",
    "gluon",
    "gpu",
    "image",
    "img",
    "init",
    "initializer",
    "install",
    "io",
    "is_np_array",
    "is_np_default_dtype",
    "is_np_shape",
    "kv",
    "kvstore",
    "log",
    "lr_scheduler",
    "metric",
    "mod",
    "model",
    "module",
    "mon",
    "monitor",
    "name",
    "nd",
    "ndarray",
    "np",
    "np_array",
    "np_default_dtype",
    "np_shape",
    "num_gpus",
    "numpy",
    "numpy_dispatch_protocol",
    "numpy_extension",
    "npx",
    "operator",
    "optimizer",
    "profiler",
    "random",
    "recordio",
    "registry",
    "rnd",
    "rnn",
    "runtime",
    "set_np_shape",
    "sym",
    "symbol",
    "test_utils",
    "use_np",
    "use_np_array",
    "use_np_default_dtype",
    "use_np_shape",
    "util",
    "visualization",
    "viz",
]


_missing.install_modules()
_missing.install_objects()
_layout.install()
_borrowed.install(_missing.missing)

__getattr__ = _missing.getter(__name__)
