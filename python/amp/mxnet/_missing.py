"""Names of MXNet that this package leaves out, and why: one table for all modules of `amp.mxnet`."""

import importlib
import sys
import types

from .. import _missing as names
from .._missing import refusing

_INT8 = "int8 quantization is not supported; amp.convert_model converts to bfloat16"
_NETWORK = "downloads and data sets are not supported; pass files of your own"
_DETECTION = "pictures with boxes are read by mx.image.ImageDetIter"

_C_INTERFACE = "the C interface is not supported"
_DISPATCH = "NumPy's functions take arrays of mx.np as they are; there are no tables of them"
_DOCS = "docstrings are those of the functions themselves"
_NOTEBOOK = "curves in notebooks are not supported; use mx.contrib.tensorboard"
_SERVERS = "servers of parameters are not supported; see docs/distributed.md"
_TORCH = "functions of Lua Torch are not supported"

_PACKAGE = __name__.rpartition(".")[0]

# Dotted name below `amp.mxnet` -> reason.
_REASONS = {
    "api": _C_INTERFACE,
    "container": _C_INTERFACE,
    "contrib.tensorrt": "TensorRT is not supported",
    "cuda": "CUDA is not supported",
    "executor_manager": "several devices are not supported; use mx.mod.Module",
    "gluon.contrib.data.text": _NETWORK,
    "kvstore.byteps": _SERVERS,
    "kvstore.horovod": _SERVERS,
    "kvstore.kvstore_server": _SERVERS,
    "kvstore_server": _SERVERS,
    "libinfo": "there is no library of MXNet; amp.cpu_info tells about this one",
    "io.ImageRecordInt8Iter": "pictures of signed bytes are not supported; use ImageRecordUInt8Iter",
    "library": "libraries of operators are not supported; operators come from the registry",
    "ndarray_doc": _DOCS,
    "symbol_doc": _DOCS,
    "module.DataParallelExecutorGroup": "several devices are not supported; use mx.mod.Module",
    "model.DataParallelExecutorManager": "several devices are not supported; use mx.mod.Module",
    "misc": "use mx.lr_scheduler",
    "notebook": _NOTEBOOK,
    "notebook.callback": _NOTEBOOK,
    "numpy_op_fallback": _DISPATCH,
    "numpy_op_signature": _DISPATCH,
    "onnx": "ONNX files are not supported",
    "rtc": "CUDA is not supported",
    "th": _TORCH,
    "torch": _TORCH,
    "base._LIB": "the C interface is not supported; names of operators: mx.operator.get_all_registered_operators()",
    "contrib.onnx": "ONNX files are not supported",
    "contrib.quant": _INT8,
    "contrib.quantization": _INT8,
    "io.ImageDetRecordIter": _DETECTION,
}


# Those of the names that are modules of MXNet: programs import them, often without need.
_REFUSED_MODULES = """
api container contrib.onnx contrib.quant contrib.quantization contrib.tensorrt cuda executor_manager
gluon.contrib.data.text kvstore.byteps kvstore.horovod kvstore.kvstore_server kvstore_server libinfo library misc
ndarray_doc notebook notebook.callback numpy_op_fallback numpy_op_signature onnx rtc symbol_doc th torch
""".split()


class RefusedModule(types.ModuleType):
    """Stands for a module of MXNet that is left out: it can be imported, and whatever is called in it is refused."""

    def __init__(self, module, reason):
        super().__init__(module, f"Left out: {reason}.")
        self.refused = reason
        self.__path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return refusing(f"{self.__name__}.{name}", self.refused)


def install_modules():
    """Puts a RefusedModule where MXNet has a module that is left out: all packages have to be imported before."""
    for dotted_name in _REFUSED_MODULES:
        module = RefusedModule(f"{_PACKAGE}.{dotted_name}", _REASONS[dotted_name])
        owner, _, name = module.__name__.rpartition(".")
        sys.modules[module.__name__] = module
        setattr(sys.modules[owner], name, module)


# Those that are classes or libraries, which programs import at their beginning, too.
_REFUSED_OBJECTS = {
    "base._LIB": RefusedModule,
    "model.DataParallelExecutorManager": refusing,
    "module.DataParallelExecutorGroup": refusing,
}


def install_objects():
    """Puts something that refuses to be called in the place of what is left out of a module."""
    for dotted_name, make in _REFUSED_OBJECTS.items():
        owner, _, name = dotted_name.rpartition(".")
        setattr(sys.modules[f"{_PACKAGE}.{owner}"], name, make(f"{_PACKAGE}.{dotted_name}", _REASONS[dotted_name]))


def missing(module, name, candidates=()):
    """The error for a module's `__getattr__` to raise: MissingNameError with the reason, else AttributeError."""
    return names.missing(module, name, candidates, _REASONS.get(f"{module}.{name}"[len(_PACKAGE) + 1 :]))


def getter(module, on_demand=()):
    """A `__getattr__` for a module all of whose names exist when it is imported, but for the modules `on_demand`.

    These are imported when they are asked for: most programs do without.
    """

    def __getattr__(name):
        if name in on_demand:
            return importlib.import_module(f"{module}.{name}")
        raise missing(module, name, vars(sys.modules[module]))

    return __getattr__
