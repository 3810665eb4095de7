"""Names that MXNet's modules import from each other: programs take them from any of these modules.

`from mxnet.gluon.block import is_np_array` and `mxnet.metric.ndarray` are examples. A module that lacks such a name
answers with that of the module which defines it.
"""

import functools
import sys

from .._missing import refusing

_PACKAGE = __name__.rpartition(".")[0]

# Dotted name below this package -> names that other modules have for it, where they are not its last part.
_OTHER_NAMES = {
    "autograd": "ag",
    "context": "ctx",
    "gluon.loss": "gluon_loss",
    "init": "initializer",
    "kvstore": "kvs",
    "nd": "ndarray",
    "np": "numpy",
    "np.ndarray": "np_ndarray",
    "optimizer": "opt",
    "sym": "symbol",
    "sym.Symbol": "np_symbol SymbolBase",
    "nd.NDArray": "NDArrayBase",
    "metric.Loss": "metric_loss",
}

# Module -> names of it that others have.
_NAMES = {
    "": "attribute autograd base context gluon init io kvstore metric name nd np npx optimizer recordio registry sym",
    "_training_precision": "LossScaler",
    "base": "MXNetError _as_list integer_types numeric_types py_str string_types",
    "bound_symbol": "Executor",
    "callback": "BatchEndParam LogValidationMetricsCallback",
    "context": "Context Device cpu current_context current_device gpu num_gpus",
    "gluon": """
        Block DeferredInitializationError HybridBlock Parameter ParameterDict SymbolBlock loss nn tensor_types
        trainer""",
    "gluon._formats": "_flatten _regroup",
    "gluon.contrib.nn": "HybridConcurrent Identity",
    "gluon.data": "dataset",
    "gluon.nn": "Activation BatchNorm HybridSequential LeakyReLU Sequential",
    "gluon.rnn": "BidirectionalCell HybridRecurrentCell SequentialRNNCell",
    "gluon.utils": "HookHandle check_sha1 download replace_file shape_is_known split_and_load",
    "image": """
        Augmenter BrightnessJitterAug CastAug CenterCropAug ColorJitterAug ColorNormalizeAug ContrastJitterAug
        CreateAugmenter ForceResizeAug HorizontalFlipAug HueJitterAug ImageIter LightingAug RandomCropAug RandomGrayAug
        RandomOrderAug RandomSizedCropAug ResizeAug SaturationJitterAug SequentialAug""",
    "init": "InitDesc Uniform Xavier",
    "io": "DataBatch DataDesc DataIter",
    "kvstore": "KVStore",
    "metric": "CompositeEvalMetric EvalMetric Loss",
    "module": "DataParallelExecutorGroup _check_input_names _check_names_match _parse_data_desc",
    "model": "load_checkpoint load_params save_checkpoint",
    "name": "NameManager",
    "nd": "NDArray bfloat16",
    "nd.sparse": "CSRNDArray",
    "np": "ndarray",
    "optimizer": "get_updater",
    "runtime": "Features",
    "sym": "Symbol load_json",
    "attribute": "AttrScope",
    "util": """
        getenv is_np_array is_np_default_dtype is_np_shape np_array np_default_dtype np_shape reset_np set_module set_np
        set_np_shape setenv use_np use_np_array use_np_default_dtype use_np_shape wrap_ctx_to_device_func""",
}

# Of MXNet's C interface.
_OF_C = """
MXCallbackList NDArrayHandle SymbolHandle c_array c_array_buf c_handle_array c_int_p c_str c_str_array check_call
ctypes2buffer ctypes2numpy_shared mx_float mx_float_p mx_uint
""".split()


@functools.lru_cache(None)
def _origins():
    """{name: dotted name below this package}"""
    origins = {}
    for module, names in _NAMES.items():
        for name in names.split():
            dotted = f"{module}.{name}".lstrip(".")
            for each in [name, *_OTHER_NAMES.get(dotted, "").split()]:
                origins[each] = dotted
    return origins


def find(module, name):
    """What `module`, a dotted name below this package, has from another one under that name, or None."""
    if not module:
        return None
    if name in _OF_C:
        return refusing(f"{_PACKAGE}.{module}.{name}", "the C interface is not supported")
    dotted = _origins().get(name)
    if dotted is None or dotted == f"{module}.{name}":
        return None
    return functools.reduce(getattr, dotted.split("."), sys.modules[_PACKAGE])


def install(missing):
    """Lets all public modules of the package answer. `missing(module, name, names)` is the error for unknown names."""
    modules = {name: module for name, module in sys.modules.items() if name.startswith(f"{_PACKAGE}.")}
    for dotted_name in [name for name, module in modules.items() if module.__name__ == name and "._" not in name]:
        _extend(modules[dotted_name], dotted_name[len(_PACKAGE) + 1 :], missing)
    for dotted_name in ("nd", "sym"):
        _extend(modules[f"{_PACKAGE}.{dotted_name}"], dotted_name, missing)


def _extend(module, dotted_name, missing):
    own = vars(module).get("__getattr__")

    def __getattr__(name):
        try:
            if own is None:
                raise missing(module.__name__, name, vars(module))
            return own(name)
        except AttributeError:
            borrowed = None if name.startswith("__") else find(dotted_name, name)
            if borrowed is None:
                raise
            return borrowed

    module.__getattr__ = __getattr__
