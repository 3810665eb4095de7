"""`import amp.mxnet as mx`: the package under MXNet's names, and the table of what is there."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import amp
import amp.mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[3] / "tools"))
import make_surface_table  # noqa: E402

MODULES = """amp attribute autograd base context contrib device executor gluon init initializer io mod model module name
nd ndarray operator random rnd runtime sym symbol test_utils util""".split()

FUNCTIONS = """AttrScope Context Device MXNetError cpu cpu_pinned current_context current_device gpu is_np_array
is_np_shape np_array np_shape num_gpus use_np""".split()


@pytest.mark.parametrize("name", MODULES)
def test_modules(name):
    module = importlib.import_module(f"amp.mxnet.{name}")
    assert module is getattr(mx, name) and name in dir(mx) and module.__doc__


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_and_classes(name):
    assert callable(getattr(mx, name)) and name in dir(mx)
    assert getattr(mx, name) is getattr(amp, name, getattr(mx, name))


def test_version():
    assert tuple(map(int, mx.__version__.split("."))) >= (1, 9, 0) and amp.__version__ != mx.__version__


def test_there_is_one_of_each_module():
    assert mx.sym is mx.symbol is amp.sym and mx.nd is mx.ndarray is amp.nd and mx.mod is mx.module
    assert mx.init is mx.initializer and mx.rnd is mx.random is mx.nd.random and mx.amp is not amp
    block = importlib.import_module("amp.mxnet.gluon.symbol_block")
    assert block.SymbolBlock is mx.gluon.SymbolBlock and mx.executor.Executor is mx.bound_symbol.BoundSymbol


@pytest.mark.parametrize(
    "statement",
    [
        "from amp.mxnet.gluon.parameter import Parameter as P; import amp.mxnet as mx; assert mx.gluon.Parameter is P",
        "from amp.mxnet.contrib import amp as old; import amp.mxnet as mx; assert old is mx.contrib.amp",
        "import amp.mxnet.contrib.amp as old; import amp.mxnet as mx; assert old is mx.contrib.amp",
        "from amp.mxnet import sym, nd, mod; import amp; assert mod is amp.mxnet.module and sym is amp.sym",
        "from amp.mxnet.io import DataBatch; import amp.mxnet as mx; assert DataBatch is mx.io.DataBatch",
        "import amp.mxnet.symbol.contrib as c; import amp; assert c is amp.sym.contrib",
        "import amp.mxnet.amp as new; assert new.convert_model",
        "import amp.mxnet.gluon.nn as nn; import amp.mxnet as mx; assert nn is mx.gluon.nn",
        "import amp.mxnet.numpy.random as r; import amp.mxnet as mx; assert r is mx.np.random",
        "import amp.mxnet.ndarray.linalg as l; import amp; assert l is amp.nd.linalg",
        "from amp.mxnet.ndarray.ndarray import NDArray; import amp; assert NDArray is amp.nd.NDArray",
        "import amp.mxnet.nd.random as a, amp.mxnet.ndarray.random as b, amp.mxnet as mx; assert a is b is mx.rnd",
        "from amp.mxnet.module.base_module import BaseModule; from amp.mxnet import mod; assert mod.base_module",
        "from amp.mxnet.rnn.rnn_cell import LSTMCell; import amp; assert amp.mxnet.rnn.rnn_cell.LSTMCell is LSTMCell",
        "from amp.mxnet.optimizer.optimizer import SGD; import amp; assert amp.mxnet.optimizer.optimizer.SGD is SGD",
        "from amp.mxnet.io.io import DataIter; import amp.mxnet as mx; assert mx.io.io.DataIter is DataIter",
        "from amp.mxnet.contrib.ndarray import box_nms; import amp; assert box_nms is amp.nd.contrib.box_nms",
        "from amp.mxnet.amp.lists import symbol_bf16; import amp; assert symbol_bf16 is amp.lists.symbol_bf16",
    ],
)
def test_imports_in_a_fresh_interpreter(statement):
    subprocess.run([sys.executable, "-c", statement], check=True)


@pytest.mark.parametrize(
    "name",
    """
    io.io.ImageRecordIter_v1 io.io.NDArrayIter io.utils.np kvstore.base.create kvstore.kvstore.KVStore
    module.base_module._as_list module.base_module._check_input_names module.base_module._check_names_match
    module.bucketing_module.BucketingModule module.executor_group.DataParallelExecutorGroup module.module.Module
    module.module._parse_data_desc module.python_module.PythonLossModule module.sequential_module.SequentialModule
    monitor.logging operator.PythonOp test_utils.os test_utils.default_device
    """.split(),
)
def test_names_of_modules_that_are_files_of_packages_here(name):
    module, _, last = name.rpartition(".")
    assert getattr(importlib.import_module(f"amp.mxnet.{module}"), last) is not None


def test_modules_that_do_not_exist():
    with pytest.raises(ModuleNotFoundError, match="amp.mxnet.nothing_like_it"):
        importlib.import_module("amp.mxnet.nothing_like_it")


@pytest.mark.parametrize(
    "look_up, message",
    [
        (lambda: mx.conext, "'amp.mxnet' has no attribute 'conext'; did you mean 'context'"),
        (lambda: mx.Executer, "'amp.mxnet' has no attribute 'Executer'"),
        (lambda: mx.io.ImageDetRecordIter, "mxnet.io.ImageDetRecordIter is not supported: pictures with boxes"),
        (lambda: mx.sym.contrib.quantize_v2, "int8 quantization is not supported"),
        (lambda: mx.io.NDArayIter, "did you mean 'NDArrayIter'"),
        (lambda: mx.mxnet, "has no attribute 'mxnet'"),
    ],
)
def test_names_that_are_not_there(look_up, message):
    with pytest.raises(AttributeError, match=message):
        look_up()


def test_names_that_are_left_out_are_unsupported_and_not_there():
    assert not hasattr(mx.io, "ImageDetRecordIter") and issubclass(amp.base.MissingNameError, amp.UnsupportedError)


def test_modules_that_are_left_out_can_be_imported():
    """Programs import them at their beginning, often without need."""
    import amp.mxnet.rtc  # noqa: F401
    from amp.mxnet.contrib.quantization import quantize_net

    from amp.mxnet import onnx
    from amp.mxnet.contrib import quantization

    for call, reason in (
        (quantization.quantize_model, "int8 quantization is not supported"),
        (quantize_net, "int8 quantization is not supported"),
        (mx.rtc.CudaModule, "CUDA is not supported"),
        (onnx.export_model, "ONNX files are not supported"),
    ):
        with pytest.raises(amp.UnsupportedError, match=reason):
            call(1, 2)


def test_a_program_of_the_1x_time(tmp_path):
    data = mx.sym.Variable("data")
    net = mx.sym.Activation(mx.sym.FullyConnected(data, num_hidden=3, name="fc"), act_type="relu")
    args = {"fc_weight": mx.nd.array([[1, 2], [3, 4], [5, 6]]), "fc_bias": mx.nd.array([0, 0, -100])}
    mx.model.save_checkpoint(str(tmp_path / "net"), 0, net, args, {})
    sym, arg_params, aux_params = mx.model.load_checkpoint(str(tmp_path / "net"), 0)
    mod = mx.mod.Module(symbol=sym, context=mx.cpu(), label_names=None)
    mod.bind(data_shapes=[("data", (1, 2))], for_training=False)
    mod.set_params(arg_params, aux_params)
    mod.forward(mx.io.DataBatch(data=(mx.nd.array([[1, 1]]),)), is_train=False)
    assert mod.get_outputs()[0].asnumpy().tolist() == [[3, 7, 0]]


# ---- what `amp` leaves to `amp.mxnet` ----


@pytest.mark.parametrize("name", ["gluon", "np", "mod", "cpu", "use_np", "kvstore"])
def test_names_of_mxnet_are_not_in_amp(name):
    with pytest.raises(AttributeError):
        getattr(amp, name)


def test_what_mxnet_adds_to_classes_says_what_to_import():
    script = """
import amp
for value, name in ((amp.sym.Variable("x"), "simple_bind"), (amp.nd.ones((1,)), "as_np_ndarray"), (amp.nd, "random")):
    try:
        getattr(value, name)
    except AttributeError as error:
        assert name in str(error) and "import amp.mxnet" in str(error), error
    else:
        raise AssertionError(name)
import amp.mxnet
amp.sym.Variable("x").simple_bind, amp.nd.ones((1,)).as_np_ndarray, amp.nd.random
"""
    subprocess.run([sys.executable, "-c", script], check=True)


# ---- the table ----

# Operators that are being made; this goes once they are there.
PENDING = set()


@pytest.fixture(scope="module")
def listed(shared_dir):
    path = shared_dir / "reference" / "python_surface.md"
    if not path.is_file():
        pytest.skip("needs the list of names in shared/reference")
    return path


def test_every_name_is_there_or_refused(listed):
    page, missing = make_surface_table.page_of(listed.read_text())
    assert set(missing) <= PENDING
    assert page.count("| there |") > 350


def test_the_table_tells_what_is_there():
    status = make_surface_table.status_of
    assert status("sym.Variable") == status("mod.Module.bind") == "there"
    assert status("sym.nothing_like_it") == status("nothing.like.it") == "missing"
    assert status("onnx.export_model").startswith("refused: ONNX")
    assert status("autograd.record") == "there"
    text = "## 1. Names — 3 uses\n\n| name | uses |\n|---|---|\n| `mx.sym.a`, `mx.b.c/d/e` | 3 |\n### Symbol\n| `f` | |"
    assert make_surface_table.sections(text)[:2] == [
        ("1. Names", ["sym.a", "b.c", "b.d", "b.e"]),
        ("Symbol", ["sym.Symbol.f"]),
    ]


def test_errors_are_those_that_programs_catch():
    assert issubclass(mx.MXNetError, RuntimeError)
    with pytest.raises(RuntimeError):
        mx.nd.dot(mx.nd.ones((2, 3)), mx.nd.ones((2, 3)))


def test_objects_that_are_left_out_can_be_imported_and_refuse_calls():
    from amp.mxnet.base import _LIB, check_call
    from amp.mxnet.model import DataParallelExecutorManager
    from amp.mxnet.module.executor_group import DataParallelExecutorGroup
    from amp.mxnet.util import _NumpyArrayScope

    for call, reason in (
        (lambda: check_call(_LIB.MXNDArrayCreate(None)), "get_all_registered_operators"),
        (DataParallelExecutorGroup, "use mx.mod.Module"),
        (DataParallelExecutorManager, "use mx.mod.Module"),
    ):
        with pytest.raises(amp.UnsupportedError, match=reason):
            call()
    with _NumpyArrayScope(True):
        assert mx.is_np_array()
    assert not mx.is_np_array()
