"""Parameters, exports and arrays that MXNet 1.9.1 and 2.0.0b1 wrote, by every way of reading them.

`outputs.json` has what each of them computed. The networks are those of `pictures` and `sequences`.
"""

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import amp.mxnet as mx
from amp.mxnet import gluon
from amp.mxnet.gluon import nn, rnn

FILES = Path(__file__).parents[2] / "data" / "wheel_files"
INPUTS = {
    "pictures": np.cos(np.arange(16)).reshape(1, 1, 4, 4).astype("float32"),
    "sequences": np.cos(np.arange(6)).reshape(1, 3, 2).astype("float32"),
}
ARRAYS = {"float16": [0.5], "int8": [-1, 2], "int64": [7], "float64": [1.5]}


def pictures():
    return nn.Conv2D(2, 3, in_channels=1), nn.BatchNorm(in_channels=2), nn.Activation("relu"), nn.Dense(2, in_units=8)


def sequences():
    lstm = rnn.LSTM(2, 1, bidirectional=True, layout="NTC", input_size=2)
    return lstm, rnn.GRU(2, input_size=4, layout="NTC"), nn.Dense(1, flatten=False, in_units=2)


LAYERS = {"pictures": pictures, "sequences": sequences}


@pytest.fixture(params=["1.9.1", "2.0.0b1"])
def version(request):
    if request.param == "1.9.1":
        yield request.param
        return
    with mx.np_shape(), mx.np_array():
        yield request.param


def path(version, name):
    return str(FILES / version / name)


def net_of(name, prefix=None):
    net = nn.HybridSequential(prefix=prefix)
    with nullcontext() if mx.is_np_array() else net.name_scope():
        net.add(*LAYERS[name]())
    return net


def assert_outputs(version, name, block):
    array = mx.np.array if mx.is_np_array() else mx.nd.array
    expected = json.loads(Path(path(version, "outputs.json")).read_text())[name]
    out = block(array(INPUTS[name], dtype="float32"))
    np.testing.assert_allclose(out.asnumpy().ravel(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("is_hybrid", [False, True])
def test_parameters_by_place(version, name, is_hybrid):
    net = net_of(name)
    net.load_parameters(path(version, f"{name}.params"))
    net.hybridize(is_hybrid)
    assert_outputs(version, name, net)


@pytest.mark.parametrize("name", LAYERS)
def test_parameters_by_whole_and_cut_names(name):
    prefix = {"pictures": "cnn_", "sequences": "rec_"}[name]
    net = net_of(name, prefix)
    net.collect_params().load(path("1.9.1", f"{name}-full.params"))
    assert_outputs("1.9.1", name, net)
    net = net_of(name)
    net.collect_params().load(path("1.9.1", f"{name}-cut.params"), restore_prefix=net.prefix)
    assert_outputs("1.9.1", name, net)
    net = net_of(name)
    net.load_parameters(path("1.9.1", f"{name}-cut.params"))  # as files of MXNet before 1.3
    assert_outputs("1.9.1", name, net)


@pytest.mark.parametrize("name", LAYERS)
def test_exports(version, name):
    files = path(version, f"{name}-symbol.json"), path(version, f"{name}-0000.params")
    assert_outputs(version, name, gluon.SymbolBlock.imports(files[0], ["data"], files[1]))
    net = net_of(name, None if version == "2.0.0b1" else {"pictures": "cnn_", "sequences": "rec_"}[name])
    if version == "1.9.1":
        net.collect_params().load(files[1])
    else:
        net.load_parameters(files[1])
    assert_outputs(version, name, net)


@pytest.mark.parametrize("name", LAYERS)
def test_what_is_saved_again_reads_the_same(version, name, tmp_path):
    net = net_of(name)
    net.load_parameters(path(version, f"{name}.params"))
    net.save_parameters(str(tmp_path / "again.params"))
    before, after = mx.nd.load(path(version, f"{name}.params")), mx.nd.load(str(tmp_path / "again.params"))
    assert set(before) == set(after)
    for key, array in before.items():
        np.testing.assert_array_equal(array.asnumpy(), after[key].asnumpy())


@pytest.mark.parametrize("file, version", [("named.nd", "1.9.1"), ("arrays.npz", "2.0.0b1")])
def test_named_arrays(file, version):
    found = mx.nd.load(path(version, file)) if version == "1.9.1" else mx.npx.load(path(version, file))
    assert {name: array.asnumpy().tolist() for name, array in found.items()} == ARRAYS
    assert all(array.dtype.name == name for name, array in found.items())


def test_arrays_without_names():
    found = mx.nd.load(path("1.9.1", "listed.nd"))
    assert [(array.dtype.name, array.asnumpy().tolist()) for array in found] == list(ARRAYS.items())
    assert mx.npx.load(path("2.0.0b1", "scalar.npy")).item() == 2.5
