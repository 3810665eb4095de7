"""What users can rely on: names, signatures, errors, and what an import costs."""

import inspect
import logging
import pickle
import subprocess
import sys
import types

import pytest

import amp
import amp.mxnet as mx

MODULES = [
    amp,
    amp.attribute,
    mx.autograd,
    amp.base,
    amp.distributed,
    mx.bound_symbol,
    mx.context,
    mx.contrib,
    mx.contrib.amp,
    mx.contrib.tensorboard,
    mx.contrib.text.embedding,
    mx.contrib.text.utils,
    mx.contrib.text.vocab,
    mx.curves,
    mx.engine,
    mx.gluon,
    mx.gluon.contrib.cnn,
    mx.gluon.contrib.data,
    mx.gluon.contrib.estimator,
    mx.gluon.contrib.nn,
    mx.gluon.contrib.rnn,
    mx.gluon.data,
    mx.gluon.data.batchify,
    mx.gluon.data.vision,
    mx.gluon.data.vision.transforms,
    mx.gluon.metric,
    mx.image,
    mx.image.operators,
    mx.init,
    mx.io,
    amp.lists,
    amp.lists.symbol_bf16,
    amp.lists.symbol_fp16,
    mx.model,
    amp.model_zoo,
    mx.module,
    amp.mxnet,
    amp.mxnet.amp,
    amp.name,
    amp.nd,
    amp.pool,
    mx.nd_functions,
    mx.np,
    mx.np.linalg,
    mx.npx,
    mx.npx.random,
    mx.operator,
    mx.random,
    mx.recordio,
    mx.rnn,
    amp.report,
    mx.runtime,
    amp.sym,
    amp.sym._internal,
    mx.symbol_control_flow,
    mx.test_utils,
    mx.util,
    mx.visualization,
]

LISTS = "target_dtype_ops=None, fp32_ops=None, conditional_fp32_ops=None, excluded_sym_names=None"
ADDITIONS = (
    "widest_dtype_ops=None, neutral_ops=None, policy='default', minimize=None, force=None, output_dtypes=None, "
    "fold_batch_norm=None, training=False, preset=None, categories=None, accuracy=None, limits=None, data=None, "
    "sensitivity=None, keep_decision=False, machine='any', "
)
WITH_SHAPES = f"{ADDITIONS}input_shapes=None, return_report=False"
VERIFIED = f"{ADDITIONS}input_shapes=None, verify=False, on_failure='raise', return_report=False"

# An accidental change of the public face shows here.
SIGNATURES = {
    amp.load: "(symbol_file, params_file)",
    amp.load_checkpoint: "(prefix, epoch)",
    amp.save_checkpoint: "(prefix, epoch, symbol, arg_params, aux_params, remove_amp_cast=False, *, "
    "params_format=None)",
    amp.convert_symbol: f"(sym, input_dtypes, param_dtypes, target_dtype='bfloat16', {LISTS}, "
    f"cast_params_offline=False, *, {WITH_SHAPES})",
    amp.convert_model: "(sym, arg_params, aux_params, input_dtypes='float32', target_dtype='bfloat16', "
    f"{LISTS}, cast_params_offline=False, *, {VERIFIED})",
    amp.convert_hybrid_block: f"(block, data_example, target_dtype='bfloat16', {LISTS}, device=None, "
    f"cast_params_offline=False, *, ctx=None, {ADDITIONS}return_report=False)",
    amp.list_lp16_ops: "(target_dtype)",
    amp.Executor: "(sym, arg_params, aux_params, input_shapes, *, input_dtypes=None, backend=None, "
    "reduce_precision=None, mode='fast', num_threads=None, monitor=False, tiling_accum=None, tile_k=None, "
    "machine='this', tune=False, count_denormals=False, audit=False, batch_invariant=False, "
    "plans=8)",
    amp.Executor.__call__: "(self, *args, out=None, **kwargs)",
    amp.TrainingExecutor: "(sym, arg_params, aux_params, input_shapes, *, grad_req='write', input_dtypes=None, "
    "backend=None, reduce_precision=None, mode='fast', num_threads=None, tiling_accum=None, tile_k=None, "
    "machine='this', memory_budget=None, count_denormals=False)",
    amp.TrainingExecutor.forward: "(self, is_train=False, *args, **kwargs)",
    amp.TrainingExecutor.backward: "(self, head_gradients=None, retain=False)",
    amp.TrainingExecutor.profile_training: "(self, *args, runs=20, **kwargs)",
    amp.Executor.run_monitored: "(self, callback, *args, **kwargs)",
    amp.Executor.profile: "(self, *args, runs=20, **kwargs)",
    amp.Executor.reshape: "(self, input_shapes=None, **shapes)",
    amp.disable_amp: "()",
    amp.dtype_name: "(dtype)",
    amp.nd.array: "(source_array, ctx=None, dtype=None, *, device=None)",
    amp.nd.load: "(fname)",
    amp.nd.save: "(fname, data, *, format=None)",
    amp.nd.from_dlpack: "(producer)",
    mx.gluon.SymbolBlock: "(outputs, inputs, params=None)",
    mx.gluon.SymbolBlock.imports: "(symbol_file, input_names, param_file=None, ctx=None, allow_missing=False, "
    "ignore_extra=False, *, device=None)",
    mx.gluon.SymbolBlock.export: "(self, path, epoch=0, remove_amp_cast=False)",
    mx.gluon.SymbolBlock.load_parameters: "(self, filename, ctx=None, allow_missing=False, ignore_extra=False, "
    "cast_dtype=False, dtype_source='current', *, device=None)",
    mx.gluon.SymbolBlock.register_op_hook: "(self, callback, monitor_all=False)",
    mx.gluon.SymbolBlock.optimize_for: "(self, x, *args, backend=None, **kwargs)",
    amp.Symbol.optimize_for: "(self, backend, args=None, aux=None, ctx=None, shape_dict=None, type_dict=None, "
    "stype_dict=None, skip_infer=False, **kwargs)",
    amp.Symbol.get_backend_symbol: "(self, backend)",
    amp.sym.Variable: "(name, attr=None, shape=None, lr_mult=None, wd_mult=None, dtype=None, init=None, stype=None, "
    "**kwargs)",
    amp.sym.Group: "(symbols)",
    amp.sym.load: "(fname)",
    amp.sym.load_json: "(json_str)",
    amp.model_zoo.get_model: "(name, classes=1000, prefix=None, *, form='1.x')",
    amp.model_zoo.seeded_params: "(sym, input_shapes, seed=0)",
    amp.sym.zeros: "(shape, dtype=None, **kwargs)",
    amp.sym.arange: "(start, stop=None, step=1.0, repeat=1, infer_range=False, name=None, dtype=None)",
    amp.Symbol.bind: "(self, ctx, args, args_grad=None, grad_req='write', aux_states=None, group2ctx=None, "
    "shared_exec=None)",
    amp.Symbol.simple_bind: "(self, ctx=None, grad_req='write', type_dict=None, stype_dict=None, group2ctx=None, "
    "shared_arg_names=None, shared_exec=None, shared_buffer=None, **kwargs)",
    mx.bound_symbol.BoundSymbol.forward: "(self, is_train=False, **inputs)",
    mx.mod.Module: "(symbol, data_names=('data',), label_names=('softmax_label',), logger=<module 'logging' from "
    f"{logging.__file__!r}>, context=None, work_load_list=None, fixed_param_names=None, state_names=None, "
    "group2ctxs=None, compression_params=None)",
    mx.mod.Module.bind: "(self, data_shapes, label_shapes=None, for_training=True, inputs_need_grad=False, "
    "force_rebind=False, shared_module=None, grad_req='write')",
    mx.mod.BucketingModule: "(sym_gen, default_bucket_key=None, logger=<module 'logging' from "
    f"{logging.__file__!r}>, context=None, work_load_list=None, fixed_param_names=None, state_names=None, "
    "group2ctxs=None, compression_params=None)",
    mx.gluon.data.DataLoader: "(dataset, batch_size=None, shuffle=False, sampler=None, last_batch=None, "
    "batch_sampler=None, batchify_fn=None, num_workers=0, pin_memory=False, pin_device_id=0, prefetch=None, "
    "thread_pool=False, timeout=120, auto_reload=False, try_nopython=None)",
    amp.sym.Activation: "(data=None, act_type=<required>, name=None, attr=None)",
    amp.sym.elemwise_add: "(lhs=None, rhs=None, name=None, attr=None)",
    amp.sym.clip: "(data=None, a_min=<required>, a_max=<required>, name=None, attr=None)",
}

SYMBOL_MEMBERS = """as_nd_ndarray as_np_ndarray attr attr_dict bind debug_str eval get_backend_symbol get_children
get_internals list_arguments list_attr list_auxiliary_states list_inputs list_outputs name optimize_for save simple_bind
tojson""".split()
INFERENCE_MEMBERS = ["infer_shape", "infer_shape_partial", "infer_type", "infer_type_partial"]

# Those of MXNet 1.9.1's class that are operators or need arrays; `astype` is the operator Cast.
SYMBOL_FLUENT_METHODS = """
abs arccos arccosh arcsin arcsinh arctan arctanh argmax argmax_channel argmin argsort as_in_context
asnumpy asscalar astype backward broadcast_axes broadcast_like broadcast_to cbrt ceil clip copy cos
cosh degrees depth_to_space detach diag exp expand_dims expm1 fix flatten flip floor log log10 log1p
log2 log_sigmoid log_softmax max mean min mish nanprod nansum norm one_hot ones_like pad pick prod radians rcbrt
reciprocal relu repeat reshape reshape_like rint round rsqrt shape_array sigmoid sign sin sinh
size_array slice slice_axis slice_like softmax softmin sort space_to_depth split split_v2 sqrt
square squeeze sum swapaxes take tan tanh tile topk transpose trunc wait_to_read zeros_like
""".split()

BLOCK_MEMBERS = "forward hybridize imports input_names list_outputs optimize_for register_op_hook symbol".split()

BLOCK_PARAMETER_MEMBERS = """arrays cast collect_params export infer_shape initialize load_parameters params
save_parameters""".split()

BOUND_MODEL_MEMBERS = """alternate_counts close flushed_counts input_dtypes input_names input_shapes is_closed
output_dtypes output_names output_shapes profile summary symbol""".split()
TRAINING_MEMBERS = "backward forward gradients profile_training training_summary".split()

BOUND_SYMBOL_MEMBERS = """arg_arrays arg_dict aux_arrays aux_dict backward copy_params_from debug_str
forward grad_arrays grad_dict output_dict outputs reshape set_monitor_callback""".split()

MODULE_MEMBERS = """bind binded data_names data_shapes forward get_outputs label_names label_shapes load output_names
output_shapes reshape""".split()

MODULE_PARAMETER_MEMBERS = """forget_packed_parameters get_params init_params params_initialized save_checkpoint
set_params share_parameters""".split()

NDARRAY_MEMBERS = (
    "T as_in_context as_in_ctx as_nd_ndarray as_np_ndarray asnumpy asscalar astype attach_grad backward context copy "
    "copyto ctx depth_to_space detach device drop_grad dtype grad item nbytes ndim reshape shape size slice_assign "
    "slice_assign_scalar space_to_depth split_v2 stype to_device to_dlpack_for_read to_dlpack_for_write tostype "
    "wait_to_read"
).split() + list(amp.nd.methods.FLUENT)


@pytest.mark.parametrize("function", SIGNATURES, ids=lambda function: function.__qualname__)
def test_signatures(function):
    """Types are in test_types.py."""
    signature = inspect.signature(function)
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    text = str(signature.replace(parameters=bare, return_annotation=signature.empty))
    assert text == SIGNATURES[function]


NAMES = """
ArgumentError AttrScope ConversionOptions Error Executor GraphError InternalError MXNetError NDArray NodeQuery
OutOfRangeError PlanMismatch Pool PoolFull Symbol TrainingExecutor UnsupportedError alternate attribute base compare
convert_hybrid_block convert_model convert_symbol cpu_info disable_amp
disable_graphamp dtype_name error_bound gradient list_conditional_fp32_ops list_fp32_ops list_loss_output_functions
list_lp16_fp32_ops list_lp16_ops list_lp16_use_fp32_params list_widest_type_cast lists load load_checkpoint
mark_backward model_zoo name nd ndarray peer_policy save_checkpoint sensitivity sym symbol
""".split()


def test_names_of_the_package():
    assert amp.__all__ == NAMES
    assert all(getattr(amp, name) is not None for name in NAMES)
    assert amp.symbol is amp.sym and amp.ndarray is amp.nd
    import amp.ndarray as by_import
    import amp.symbol as symbol_by_import

    assert by_import is amp.nd and symbol_by_import is amp.sym
    assert amp.nd.NDArray is amp.NDArray and amp.sym.Symbol is amp.Symbol and amp.sym.var is amp.sym.Variable


@pytest.mark.parametrize(
    "owner, members",
    [
        (amp.Symbol, SYMBOL_MEMBERS),
        (amp.sym.fluent.FluentMethods, SYMBOL_FLUENT_METHODS),
        (amp.sym.inference.Inference, INFERENCE_MEMBERS),
        (mx.bound_symbol.BoundSymbol, BOUND_SYMBOL_MEMBERS),
        (mx.mod.Module, MODULE_MEMBERS),
        (mx.mod.Module.__base__, MODULE_PARAMETER_MEMBERS),
        (amp.Executor, ["audit", "load", "open", "reshape", "run_monitored", "save"]),
        (amp.Executor.__base__, BOUND_MODEL_MEMBERS),
        (amp.Pool, ["close", "map", "run", "stats", "submit"]),
        (amp.TrainingExecutor, TRAINING_MEMBERS),
        (amp.NDArray, NDARRAY_MEMBERS),
        (mx.gluon.SymbolBlock, BLOCK_MEMBERS),
        (mx.gluon.SymbolBlock.__base__, BLOCK_PARAMETER_MEMBERS),
    ],
)
def test_members(owner, members):
    public = [name for name in vars(owner) if not name.startswith("_")]
    assert sorted(name for name in public if not hasattr(vars(owner)[name], "refused")) == sorted(members)


def public_objects():
    for module in MODULES:
        for name in getattr(module, "__all__", [n for n in vars(module) if not n.startswith("_")]):
            value = getattr(module, name)
            if isinstance(value, (type, types.FunctionType)):
                yield f"{module.__name__}.{name}", value
    of_symbols = (amp.Symbol, amp.sym.fluent.FluentMethods, amp.sym.inference.Inference)
    executors = (amp.Executor.__base__, amp.Executor, amp.TrainingExecutor)
    of_blocks = (mx.gluon.SymbolBlock, mx.gluon.SymbolBlock.__base__)
    for owner in (*of_symbols, *of_blocks, *executors, amp.NDArray):
        for name, value in vars(owner).items():
            if not name.startswith("_"):
                yield f"{owner.__name__}.{name}", value


def test_everything_public_is_documented():
    missing = [name for name, value in public_objects() if not (getattr(value, "__doc__", None) or "").strip()]
    assert not missing


def test_modules_are_documented():
    assert all(module.__doc__ for module in MODULES)


# ---- errors ----


@pytest.mark.parametrize(
    "error, built_in",
    [
        (amp.GraphError, ValueError),
        (amp.OutOfRangeError, IndexError),
        (amp.OutOfRangeError, amp.GraphError),
        (amp.ArgumentError, ValueError),
        (amp.UnsupportedError, NotImplementedError),
        (amp.InternalError, RuntimeError),
    ],
)
def test_errors(error, built_in):
    assert issubclass(error, amp.Error) and issubclass(error, built_in)
    assert error.__module__ == "amp" and error.__doc__
    copied = pickle.loads(pickle.dumps(error("text")))
    assert type(copied) is error and str(copied) == "text"


def test_mxnets_name_of_the_base_class():
    assert amp.MXNetError is amp.Error is amp.base.MXNetError


# ---- import ----


def imported(statement):
    """Modules that a fresh interpreter has after a statement."""
    script = f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_import_needs_numpy_and_ml_dtypes_only():
    roots = {name.split(".")[0] for name in imported("import amp")}
    assert roots - set(sys.stdlib_module_names) <= {"amp", "ml_dtypes", "numpy"}


def test_import_leaves_the_command_line_out():
    modules = imported("import numpy, amp")
    assert "amp" in modules
    for name in "argparse commands demo html json logging ml_dtypes mxnet numpy.typing report".split():
        assert name not in modules and f"amp.{name}" not in modules


ON_DEMAND = "distributed model_zoo mxnet profiling report".split()


def test_modules_that_are_imported_on_demand():
    """Both spellings give the same module."""
    for name in ON_DEMAND:
        lines = f"import amp, sys; module = amp.{name}; assert module is sys.modules['amp.{name}']; import amp.{name}"
        assert f"amp.{name}" in imported(lines)
    assert {"model_zoo", "mxnet", "report"} <= set(dir(amp))
    assert amp.ConversionReport is amp.report.ConversionReport and "ConversionReport" in dir(amp)


def test_there_is_no_module_common():
    with pytest.raises(ImportError):
        __import__("amp.common")


def test_unknown_names_of_the_package():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        amp.nothing  # noqa: B018


def test_cpu_info():
    info = amp.cpu_info()
    flags = {"multiplies_by_tiles", "multiplies_int16", "native_bfloat16", "onednn_is_channels_last"}
    assert set(info) == {"cpu", "isa", "onednn", "threads", *flags}
    assert all(isinstance(info[flag], bool) for flag in flags)
    assert info["onednn"].startswith("3.")
