"""Names of MXNet that this package leaves out, and why: one table for all modules."""

import sys
import types

from .base import MissingNameError, UnsupportedError, did_you_mean

_TRAINING = "training is not there, this package runs models"
_INT8 = "int8 quantization is not there; amp.convert_model converts to bfloat16"
_GRADIENT = "it compares gradients, and there are none"
_SPARSE = "arrays are dense"
_NETWORK = "nothing is downloaded, so it knows no data sets; pass files of your own"
_IMAGES = "pictures are not decoded; read them with another library and pass arrays"
_CELLS = "cells of 1.x that unroll symbols; use amp.sym.RNN, or layers of amp.gluon.rnn"

# Dotted name below `amp` -> reason.
_REFUSED = {
    "callback": _TRAINING,
    "executor_manager": "several devices are not there; use amp.mod.Module",
    "gluon.Trainer": _TRAINING,
    "gluon.contrib": "its layers are not there; compose those of amp.gluon.nn",
    "gluon.loss": _TRAINING,
    "gluon.metric": _TRAINING,
    "gluon.probability": "distributions are not there",
    "image": _IMAGES,
    "img": _IMAGES,
    "kv": _TRAINING,
    "kvstore": _TRAINING,
    "kvstore_server": _TRAINING,
    "library": "operators come from the registry; libraries of MXNet cannot be loaded",
    "lr_scheduler": _TRAINING,
    "metric": "accuracies are not computed; NumPy does it on what get_outputs() and predict() return",
    "mon": "use Symbol.simple_bind(...).set_monitor_callback, or amp.Executor.run_monitored",
    "monitor": "use Symbol.simple_bind(...).set_monitor_callback, or amp.Executor.run_monitored",
    "onnx": "ONNX files are neither read nor written",
    "optimizer": _TRAINING,
    "profiler": "use amp.Executor.profile",
    "recordio": _IMAGES,
    "rnn": _CELLS,
    "rtc": "there is no CUDA",
    "visualization": "use `amp inspect`, or str() of a symbol's tojson()",
    "viz": "use `amp inspect`, or str() of a symbol's tojson()",
    "base._LIB": "there is no C interface; names of operators: amp.operator.get_all_registered_operators()",
    "contrib.onnx": "ONNX files are neither read nor written",
    "contrib.quant": _INT8,
    "contrib.quantization": _INT8,
    "contrib.autograd": _TRAINING,
    "contrib.text": _NETWORK,
    "io.CSVIter": "use NumPy and NDArrayIter",
    "io.ImageDetRecordIter": _IMAGES,
    "io.ImageRecordIter": _IMAGES,
    "io.LibSVMIter": _SPARSE,
    "io.MNISTIter": _NETWORK,
    "io.PrefetchingIter": "pass the inner iterator",
    "model.FeedForward": "use amp.mod.Module",
    "module.BaseModule": "Module stands alone",
    "module.BucketingModule": "use one Module for each length, or Module.reshape: plans share their weights",
    "module.PythonLossModule": _TRAINING,
    "module.PythonModule": "Module stands alone",
    "module.SequentialModule": "compose the symbols: second(data=first), and bind one Module",
    "nd.linalg.gelqf": "factorizations of matrices are not there; NumPy has them",
    "nd.linalg.syevd": "factorizations of matrices are not there; NumPy has them",
    "operator.CustomOp": "operators in Python are not there",
    "operator.CustomOpProp": "operators in Python are not there",
    "operator.register": "operators in Python are not there",
    "sym._contrib_dequantize": _INT8,
    "sym._contrib_quantize": _INT8,
    "sym._contrib_quantize_v2": _INT8,
    "sym._contrib_requantize": _INT8,
    "sym.linalg.gelqf": "factorizations of matrices are not there; NumPy has them",
    "sym.linalg.syevd": "factorizations of matrices are not there; NumPy has them",
    "sym.contrib.dequantize": _INT8,
    "sym.contrib.quantize": _INT8,
    "sym.contrib.quantize_v2": _INT8,
    "sym.contrib.requantize": _INT8,
    "test_utils.check_consistency": _GRADIENT,
    "test_utils.check_gluon_hybridize_consistency": _GRADIENT,
    "test_utils.check_numeric_gradient": _GRADIENT,
    "test_utils.check_symbolic_backward": _GRADIENT,
    "test_utils.compare_optimizer": _TRAINING,
    "test_utils.create_sparse_array": _SPARSE,
    "test_utils.create_sparse_array_zd": _SPARSE,
    "test_utils.get_cifar10": _NETWORK,
    "test_utils.get_mnist": _NETWORK,
    "test_utils.get_mnist_iterator": _NETWORK,
    "test_utils.get_mnist_pkl": _NETWORK,
    "test_utils.get_mnist_ubyte": _NETWORK,
    "test_utils.numeric_grad": _GRADIENT,
    "test_utils.rand_sparse_ndarray": _SPARSE,
}


def refusing(name, reason):
    """A function in the place of MXNet's that raises UnsupportedError; its attribute `refused` is the reason."""

    def function(*args, **kwargs):
        raise UnsupportedError(f"{name}: {reason}")

    function.__name__ = function.__qualname__ = name.rpartition(".")[2]
    function.__doc__ = f"Raises UnsupportedError: {reason}."
    function.refused = reason
    return function


def training_name(module, name):
    """What stands for a function of MXNet's AMP that prepares training; AttributeError for any other name."""
    if name in ("init", "init_trainer", "scale_loss", "unscale"):
        return refusing(f"{module}.{name}", _TRAINING)
    raise AttributeError(f"module {module!r} has no attribute {name!r}")


# Those of the names that are modules of MXNet: programs import them, often without need.
_REFUSED_MODULES = (
    "callback contrib.onnx contrib.quant contrib.quantization contrib.text executor_manager gluon.contrib "
    "gluon.loss gluon.metric gluon.probability image img kv kvstore kvstore_server library lr_scheduler metric mon "
    "monitor onnx optimizer profiler recordio rnn rtc visualization viz"
).split()


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


def stand_in(module, name):
    """The RefusedModule `<module>.<name>`, or None where that is no module of MXNet that is left out."""
    dotted_name = f"{module}.{name}".partition(".")[2]
    if dotted_name not in _REFUSED_MODULES:
        return None
    found = RefusedModule(f"{module}.{name}", _REFUSED[dotted_name])
    sys.modules[found.__name__] = found
    return found


def missing(module, name, candidates=()):
    """The error for a module's `__getattr__` to raise: MissingNameError with the reason, else AttributeError."""
    reason = _REFUSED.get(f"{module}.{name}".partition(".")[2])
    if reason:
        return MissingNameError(f"{module}.{name} is left out: {reason}")
    hint = "" if name.startswith("__") else did_you_mean(name, [c for c in candidates if not c.startswith("__")])
    return AttributeError(f"module '{module}' has no attribute {name!r}{hint}")


def getter(module):
    """A `__getattr__` for a module all of whose names are there when it is imported."""

    def __getattr__(name):
        raise missing(module, name, vars(sys.modules[module]))

    return __getattr__
