"""Loads Apache MXNet models, converts them to bfloat16 and runs them on CPUs through oneDNN.

    import amp

    sym, arg_params, aux_params = amp.load("model-symbol.json", "model-0000.params")
    run = amp.Executor(sym, arg_params, aux_params, {"data": (1, 3, 224, 224)}, reduce_precision="bfloat16")
    (scores,) = run(image)  # NumPy arrays go in; the results convert to NumPy without a copy

What MXNet names has its name here; what is added is keyword-only.
"""

import importlib
import sys

from ._loader import load_core

_core = load_core()

from . import attribute, base, lists, name, nd, sym  # noqa: E402 - they use the extension
from .attribute import AttrScope, disable_amp  # noqa: E402
from .base import (  # noqa: E402
    ArgumentError,
    Error,
    GraphError,
    InternalError,
    MXNetError,
    UnsupportedError,
    cpu_info,
    dtype_name,
)
from .checkpoint import load, load_checkpoint, save_checkpoint  # noqa: E402
from .conversion import convert_hybrid_block, convert_model, convert_symbol  # noqa: E402
from .executor import Executor  # noqa: E402
from .lists import (  # noqa: E402
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
)
from .nd import NDArray  # noqa: E402
from .sym import Symbol  # noqa: E402

symbol = sym
ndarray = nd
# so that `import amp.symbol` finds them, too
sys.modules[__name__ + ".symbol"] = sym
sys.modules[__name__ + ".ndarray"] = nd

__all__ = [
    "ArgumentError",
    "AttrScope",
    "Error",
    "Executor",
    "GraphError",
    "InternalError",
    "MXNetError",
    "NDArray",
    "Symbol",
    "UnsupportedError",
    "attribute",
    "base",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "cpu_info",
    "disable_amp",
    "dtype_name",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "lists",
    "load",
    "load_checkpoint",
    "model_zoo",
    "name",
    "nd",
    "ndarray",
    "save_checkpoint",
    "sym",
    "symbol",
]


# Modules that most programs do without: imported when they are first asked for.
_ON_DEMAND = (
    "autograd",
    "bound_symbol",
    "context",
    "contrib",
    "gluon",
    "init",
    "io",
    "model",
    "model_zoo",
    "module",
    "mxnet",
    "np",
    "npx",
    "operator",
    "random",
    "report",
    "runtime",
    "test_utils",
    "util",
)

# MXNet's second names of modules.
_SECOND_NAMES = {"device": "context", "initializer": "init", "mod": "module", "rnd": "random"}

# Functions and classes of such modules.
_FROM_MODULES = {
    "Context": "context",
    "Device": "context",
    "cpu": "context",
    "cpu_pinned": "context",
    "current_context": "context",
    "current_device": "context",
    "gpu": "context",
    "num_gpus": "context",
    "is_np_array": "util",
    "is_np_default_dtype": "util",
    "is_np_shape": "util",
    "np_array": "util",
    "np_default_dtype": "util",
    "np_shape": "util",
    "set_np_shape": "util",
    "use_np": "util",
    "use_np_array": "util",
    "use_np_default_dtype": "util",
    "use_np_shape": "util",
}


def __getattr__(attribute_name):
    if attribute_name in _ON_DEMAND:
        return importlib.import_module(f"{__name__}.{attribute_name}")
    if attribute_name in _SECOND_NAMES:
        return importlib.import_module(f"{__name__}.{_SECOND_NAMES[attribute_name]}")
    if attribute_name in _FROM_MODULES:
        return getattr(importlib.import_module(f"{__name__}.{_FROM_MODULES[attribute_name]}"), attribute_name)
    if attribute_name == "ConversionReport":
        return importlib.import_module(f"{__name__}.report").ConversionReport
    if attribute_name == "__version__":
        globals()["__version__"] = _version()
        return globals()["__version__"]
    from ._missing import missing, stand_in

    module = stand_in(__name__, attribute_name)
    if module is None:
        raise missing(__name__, attribute_name, __dir__())
    return module


def __dir__():
    more = (*_ON_DEMAND, *_SECOND_NAMES, *_FROM_MODULES, "ConversionReport", "__version__")
    return sorted({*globals(), *more})


def _version():
    from importlib import metadata  # slow to import

    try:
        return metadata.version("nnvm-amp")
    except metadata.PackageNotFoundError:
        return "0.0.0+unknown"
