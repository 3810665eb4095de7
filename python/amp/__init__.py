"""Loads Apache MXNet models, converts them to bfloat16 and runs them on CPUs through oneDNN.

    import amp

    sym, arg_params, aux_params = amp.load("model-symbol.json", "model-0000.params")
    run = amp.Executor(sym, arg_params, aux_params, {"data": (1, 3, 224, 224)}, reduce_precision="bfloat16")
    (scores,) = run(image)  # NumPy arrays go in; the results convert to NumPy without a copy

What MXNet names has its name here; what is added is keyword-only. Logger "amp" of Python's `logging` tells what was
loaded, converted and bound (level INFO).
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import TYPE_CHECKING, Any

from ._loader import load_core

_core = load_core()

from . import attribute, base, lists, name, nd, sym  # noqa: E402 - they use the extension
from ._alternate import alternate, mark_backward  # noqa: E402
from ._gradient import gradient  # noqa: E402
from ._options.nodes import NodeQuery  # noqa: E402
from .attribute import AttrScope, disable_amp, disable_graphamp  # noqa: E402
from .base import (  # noqa: E402
    ArgumentError,
    Error,
    GraphError,
    InternalError,
    MXNetError,
    OutOfRangeError,
    PlanMismatch,
    PoolFull,
    UnsupportedError,
    cpu_info,
    dtype_name,
)
from .checkpoint import load, load_checkpoint, save_checkpoint  # noqa: E402
from .conversion import convert_model, convert_symbol  # noqa: E402
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
from .training_executor import TrainingExecutor  # noqa: E402

if TYPE_CHECKING:  # what is imported when it is asked for
    from . import distributed as distributed
    from . import model_zoo as model_zoo
    from . import profiling as profiling
    from . import report as report
    from ._options.peers import peer_policy as peer_policy
    from ._options.typed import ConversionOptions as ConversionOptions
    from .pool import Pool as Pool
    from .report import ConversionReport as ConversionReport
    from .trust import compare as compare
    from .trust import error_bound as error_bound
    from .trust import sensitivity as sensitivity

    convert_hybrid_block: Any
    __version__: str

symbol = sym
ndarray = nd
# so that `import amp.symbol` finds them, too
sys.modules[__name__ + ".symbol"] = sym
sys.modules[__name__ + ".ndarray"] = nd

__all__ = [
    "ArgumentError",
    "AttrScope",
    "ConversionOptions",
    "Error",
    "Executor",
    "GraphError",
    "InternalError",
    "MXNetError",
    "NDArray",
    "NodeQuery",
    "OutOfRangeError",
    "PlanMismatch",
    "Pool",
    "PoolFull",
    "Symbol",
    "TrainingExecutor",
    "UnsupportedError",
    "alternate",
    "attribute",
    "base",
    "compare",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "cpu_info",
    "disable_amp",
    "disable_graphamp",
    "dtype_name",
    "error_bound",
    "gradient",
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
    "mark_backward",
    "model_zoo",
    "name",
    "nd",
    "ndarray",
    "peer_policy",
    "save_checkpoint",
    "sensitivity",
    "sym",
    "symbol",
]


# Where names are that most programs do without.
_HOMES = {
    "ConversionOptions": "_options.typed",
    "ConversionReport": "report",
    "Pool": "pool",
    "compare": "trust",
    "error_bound": "trust",
    "peer_policy": "_options.peers",
    "sensitivity": "trust",
}


def _on_demand(attribute_name):
    """What is imported when it is asked for."""
    if attribute_name == "__version__":
        globals()["__version__"] = _version()
        return globals()["__version__"]
    if attribute_name.startswith("__"):
        raise AttributeError(f"module '{__name__}' has no attribute {attribute_name!r}")
    if attribute_name == "convert_hybrid_block":
        return importlib.import_module(f"{__name__}.mxnet.gluon.conversion").convert_hybrid_block
    if attribute_name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[attribute_name]}"), attribute_name)
    if importlib.util.find_spec(f"{__name__}.{attribute_name}") is not None:  # a module that most programs do without
        return importlib.import_module(f"{__name__}.{attribute_name}")
    from .base import did_you_mean

    hint = did_you_mean(attribute_name, __dir__()) or "; dir(amp) lists what it has, amp.mxnet MXNet's names"
    raise AttributeError(f"module '{__name__}' has no attribute {attribute_name!r}{hint}")


if not TYPE_CHECKING:  # type checkers shall find misspelt names
    __getattr__ = _on_demand


def __dir__():
    return sorted({*globals(), *__all__, "ConversionReport", "__version__", "mxnet", "report"})


def _version():
    from importlib import metadata  # slow to import

    try:
        return metadata.version("nnvm-amp")
    except metadata.PackageNotFoundError:
        return "0.0.0+unknown"
