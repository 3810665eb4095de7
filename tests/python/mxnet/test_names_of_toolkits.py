"""Names of MXNet that toolkits import: modules inside of packages, helpers with an underscore, and what is refused."""

import hashlib
import importlib
import multiprocessing
import pickle

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import gluon

# Where classes and functions of the wheels 1.9.1 and 2.0.0b1 are defined; a pickle names these modules.
DEFINED = """
amp.amp.convert_model context.Context contrib.amp.amp.init contrib.amp.loss_scaler.LossScaler contrib.ndarray.box_nms
contrib.symbol.box_nms device.Device error.InternalError gluon.block.HybridBlock gluon.block.Block
gluon.contrib.cnn.conv_layers.DeformableConvolution gluon.contrib.data.sampler.IntervalSampler
gluon.contrib.nn.basic_layers.HybridConcurrent gluon.contrib.rnn.rnn_cell.VariationalDropoutCell
gluon.data.dataset.ArrayDataset gluon.data.sampler.BatchSampler gluon.data.vision.datasets.MNIST
gluon.data.vision.transforms.image.ToTensor gluon.loss.L2Loss gluon.model_zoo.vision.alexnet.AlexNet
gluon.model_zoo.vision.resnet.ResNetV1 gluon.nn.activations.PReLU gluon.nn.basic_layers.Dense
gluon.nn.conv_layers.Conv2D gluon.parameter.Parameter gluon.rnn.conv_rnn_cell.Conv1DRNNCell gluon.rnn.rnn_cell.LSTMCell
gluon.rnn.rnn_layer.LSTM gluon.trainer.Trainer image.detection.imresize image.image.CreateAugmenter image.image.imread
initializer.Xavier io.io.DataDesc io.utils.NDArray kvstore.base.KVStore lr_scheduler.FactorScheduler
module.base_module.BaseModule module.executor_group.DataDesc module.module.Module ndarray.gen_op.Convolution
ndarray.ndarray.NDArray ndarray.numpy.zeros ndarray.numpy_extension.softmax ndarray.utils.load numpy.multiarray.ndarray
numpy.fallback_linalg.norm numpy.random.uniform numpy_extension.utils.save optimizer.adam.Adam
optimizer.optimizer.SGD optimizer.optimizer.Updater optimizer.updater.get_updater recordio.IRHeader
rnn.rnn_cell.LSTMCell symbol.gen_contrib.box_nms symbol.numpy._symbol._Symbol symbol.symbol.Symbol
""".split()

# Imported by GluonCV, GluonNLP, GluonTS, gluonfr, sockeye, Deformable-ConvNets, simpledet.
TAKEN = """
base.check_call base.NDArrayHandle base.numeric_types base.py_str contrib.amp.amp._amp_initialized gluon.block._flatten
gluon.block._regroup gluon.block.is_np_array gluon.data.dataloader._as_in_context
gluon.data.dataloader._MultiWorkerIter gluon.data.dataloader.ForkingPickler gluon.loss._apply_weighting
gluon.loss._reshape_like gluon.model_zoo.model_store._model_sha1 gluon.model_zoo.model_store.get_model_file
gluon.model_zoo.vision.resnet._conv3x3 gluon.tensor_types gluon.utils._brief_print_list gluon.utils._get_repo_file_url
gluon.utils._get_repo_url gluon.utils._indent gluon.utils.check_sha1 gluon.utils.replace_file
image.image._get_interp_method io.MXDataIter metric.ndarray model._create_kvstore model._update_params
module.base_module._check_input_names module.base_module._parse_data_desc ndarray.ndarray.py_slice
sym.contrib.__all__
""".split()

REFUSED = {
    "io.ImageDetRecordIter": "pictures with boxes",
    "module.executor_group.DataParallelExecutorGroup": "use mx.mod.Module",
    "nd.contrib.fft": "GPUs alone",
    "nd.contrib.quantize": "int8",
    "nd.contrib.intgemm_fully_connected": "int8",
    "npx.quantized_conv": "int8",
    "sym.contrib.dgl_subgraph": "sparse",
    "sym.sgd_update": "use mx.nd",
}


@pytest.mark.parametrize("dotted_name", [*DEFINED, *TAKEN])
def test_names_are_where_mxnet_has_them(dotted_name):
    module, _, name = f"amp.mxnet.{dotted_name}".rpartition(".")
    assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("dotted_name", REFUSED)
def test_what_is_left_out_is_refused_by_name(dotted_name):
    owner = mx
    try:
        for name in dotted_name.split("."):
            owner = getattr(owner, name)
        reason = owner.refused
    except amp.base.MissingNameError as error:
        reason = str(error)
    assert REFUSED[dotted_name] in reason


def test_functions_of_the_c_interface_can_be_imported_and_are_refused_when_they_are_called():
    with pytest.raises(amp.UnsupportedError, match="check_call: the C interface is not supported"):
        mx.base.check_call(0)


def test_one_module_has_one_identity_under_all_of_its_names():
    import amp.mxnet.gluon.nn.basic_layers as layers
    import amp.mxnet.ndarray.numpy as arrays
    import amp.mxnet.numpy.random as numbers

    assert layers is gluon.nn and arrays is mx.np and numbers is mx.np.random
    assert mx.nd.random is importlib.import_module("amp.mxnet.ndarray.random")


def test_unknown_names_stay_unknown():
    for module in (mx.gluon.nn, mx.gluon.parameter, mx.nd, mx.np, mx.npx):
        with pytest.raises(AttributeError, match="no_such_name"):
            _ = module.no_such_name
    assert not hasattr(mx, "is_np_arrays") and not hasattr(mx.gluon.nn, "__wrapped__")


def test_formats_of_nested_lists():
    a, b, c = (mx.nd.ones((size,)) for size in (1, 2, 3))
    flat, form = gluon.block._flatten([a, [b, None], (c,)], "input")
    assert [None if leaf is None else leaf.shape for leaf in flat] == [(1,), (2,), None, (3,)]
    assert form == [0, [0, -1], [0]]
    again = gluon.block._regroup(flat, form)
    assert again[0] is a and again[1] == [b, None] and again[2][0] is c
    assert gluon.block._flatten(mx.sym.split(mx.sym.var("x"), num_outputs=3), "x")[1] == 3
    with pytest.raises(ValueError, match="input: expected nested lists"):
        gluon.block._flatten({"a": a}, "input")
    with pytest.raises(ValueError, match="expected None"):
        gluon.block._regroup([a], [-1])


def test_files_are_found_and_checked_but_not_downloaded(tmp_path, monkeypatch):
    path = tmp_path / "data.txt"
    path.write_text("abc")
    digest = hashlib.sha1(b"abc").hexdigest()
    url = "https://example.org/files/data.txt"
    assert gluon.utils.check_sha1(str(path), digest) and not gluon.utils.check_sha1(str(path), "0" * 40)
    assert gluon.utils.download(url, path=str(tmp_path), sha1_hash=digest) == str(path)
    for options in ({"sha1_hash": "0" * 40}, {"overwrite": True}, {"path": str(tmp_path / "other")}):
        with pytest.raises(amp.UnsupportedError, match="put the file of https://example.org/files/data.txt"):
            gluon.utils.download(url, **{"path": str(path), **options})
    monkeypatch.setenv("MXNET_GLUON_REPO", "https://example.org/repo")
    assert gluon.utils._get_repo_file_url("gluon", "a.zip") == "https://example.org/repo/gluon/a.zip"


def test_model_files_of_toolkits(tmp_path, monkeypatch):
    store = gluon.model_zoo.model_store
    monkeypatch.setitem(store._model_sha1, "own", hashlib.sha1(b"numbers").hexdigest())
    with pytest.raises(amp.UnsupportedError, match="own-"):
        store.get_model_file("own", root=str(tmp_path))
    file = tmp_path / f"own-{store.short_hash('own')}.params"
    file.write_bytes(b"numbers")
    assert store.get_model_file("own", root=str(tmp_path)) == str(file)
    store.purge(str(tmp_path))
    assert not file.exists()


def test_texts_of_reprs():
    assert gluon.utils._indent("a\nb\nc", 2) == "a\n  b\n  c"
    assert gluon.utils._brief_print_list(range(3)) == "'0', '1', '2'"
    assert gluon.utils._brief_print_list(range(20)) == "'0', '1', '2', ..., '16', '17', '18', '19'"


def test_interpolation_by_sizes():
    chosen = mx.image.image._get_interp_method
    assert [chosen(9, (4, 4, 8, 8)), chosen(9, (4, 4, 2, 2)), chosen(9, (4, 4, 2, 8)), chosen(9)] == [2, 3, 1, 2]
    assert chosen(10) in range(5) and chosen(4) == 4
    with pytest.raises(amp.ArgumentError, match="interp"):
        chosen(7)


class _Loader(gluon.data.dataloader._MultiWorkerIter):
    """As toolkits extend it: workers get something more."""

    def _push_next(self):
        for samples in self._iter:
            self._data_buffer[self._sent_idx] = self._worker_pool.apply_async(_scaled, (samples, self._batchify_fn))
            self._sent_idx += 1
            return


def _scaled(samples, batchify):
    return pickle.dumps(batchify([np.full(2, 10.0 * number, "float32") for number in samples]))


def test_batches_of_a_pool_of_a_toolkit():
    sampler = gluon.data.BatchSampler(gluon.data.SequentialSampler(5), 2, "keep")
    with multiprocessing.get_context("fork").Pool(2) as pool:
        batches = _Loader(pool, gluon.data.dataloader.default_mp_batchify_fn, sampler, prefetch=2)
        assert len(batches) == 3
        assert [batch.asnumpy()[:, 0].tolist() for batch in batches] == [[0, 10], [20, 30], [40]]


def test_updates_with_a_store_and_without():
    weights, gradients = [[mx.nd.ones((2,))]], [[mx.nd.ones((2,)) * 2]]
    updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.25))
    assert mx.model._create_kvstore("local", 1, {}) == (None, False)
    mx.model._update_params(weights, gradients, updater, 1)
    assert weights[0][0].asnumpy().tolist() == [0.5, 0.5]
    store, in_store = mx.model._create_kvstore(mx.kv.create("local"), 1, {})
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.25))
    mx.model._initialize_kvstore(store, weights, {"w": weights[0][0]}, ["w"], in_store)
    mx.model._update_params_on_kvstore(weights, gradients, store, ["w"])
    assert in_store and weights[0][0].asnumpy().tolist() == [0.0, 0.0]


def test_names_of_inputs_of_a_module():
    data, labels = mx.module.base_module._parse_data_desc(["x"], ["y"], [("x", (2, 3))], [("y", (2,))])
    assert data[0].shape == (2, 3) and labels[0].name == "y"
    with pytest.raises(ValueError, match="expected the names"):
        mx.module.base_module._parse_data_desc(["x"], [], [("z", (2, 3))], None)
    with pytest.warns(UserWarning, match="the symbol has no argument 'z'"):
        mx.module.base_module._check_input_names(mx.sym.var("x") + 1, ["z"], "data", False)
