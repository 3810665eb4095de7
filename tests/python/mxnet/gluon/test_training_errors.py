"""What training says of labels that are no classes, of numbers that are not finite, and of disks that are full."""

import contextlib
import logging
import resource
import warnings

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet import gluon

PRED = np.random.default_rng(0).standard_normal((4, 3)).astype("float32")


@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize("wrong", [3, -1, 255])
def test_labels_that_are_no_classes(wrong, dtype, hybridize):
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    loss.hybridize(hybridize)
    label = np.array([0, 2, wrong, 1], dtype)
    expected = rf"SoftmaxCrossEntropyLoss: the label at \[2\] is {wrong}, but there are 3 classes"
    loss(mx.nd.array(PRED), mx.nd.array([0, 2, 1, 1]))
    with pytest.warns(UserWarning, match=expected):
        found = loss(mx.nd.array(PRED), mx.nd.array(label, dtype=dtype))
    cut = loss(mx.nd.array(PRED), mx.nd.array(label.clip(0, 2)))
    np.testing.assert_array_equal(found.asnumpy(), cut.asnumpy())  # as in MXNet
    with warnings.catch_warnings(), mx.autograd.record():
        warnings.simplefilter("error")  # there is one warning
        loss(mx.nd.array(PRED), mx.nd.array(label, dtype=dtype))


@pytest.mark.parametrize("shape", [(4,), (4, 1)])
def test_labels_that_do_not_count(shape):
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    label, weight = mx.nd.array([0, 2, -1, 255]).reshape(shape), mx.nd.array([1, 1, 0, 0]).reshape((4, 1))
    found = loss(mx.nd.array(PRED), label, weight).asnumpy()
    assert (found[:2] > 0).all() and (found[2:] == 0).all()
    with pytest.warns(UserWarning, match=r"the label at \[3(, 0)?\] is 255"):
        loss(mx.nd.array(PRED), label, mx.nd.array([1, 1, 0, 1]).reshape((4, 1)))


def test_labels_of_pixels():
    loss = gluon.loss.SoftmaxCrossEntropyLoss(axis=1)
    pred, label = mx.nd.array(np.zeros((2, 3, 4, 4))), np.zeros((2, 4, 4))
    assert loss(pred, mx.nd.array(label)).shape == (2,)
    label[1, 2, 3] = 3
    with pytest.warns(UserWarning, match=r"the label at \[1, 2, 3\] is 3"):
        loss(pred, mx.nd.array(label))


def test_weights_with_more_axes_than_the_labels():
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    pred, label = mx.nd.zeros((2, 3, 4)), mx.nd.array([[0, 1, 9], [1, 2, 3]])
    with pytest.warns(UserWarning, match=r"the label at \[0, 2\] is 9, but there are 4 classes"):
        loss(pred, label, mx.nd.ones((2, 1, 1, 3)))


def test_other_labels_are_not_looked_at():
    dense = gluon.loss.SoftmaxCrossEntropyLoss(sparse_label=False)
    assert dense(mx.nd.array(PRED), mx.nd.array(PRED + 7)).shape == (4,)
    symbol = gluon.loss.SoftmaxCrossEntropyLoss()(amp.sym.Variable("pred"), amp.sym.Variable("label"))
    assert symbol.eval(pred=mx.nd.array(PRED), label=mx.nd.array([0, 1, 2, 9]))[0].shape == (4,)
    fractions = mx.nd.array([0, 1, 2.9, -0.9])  # cut to integers
    assert gluon.loss.SoftmaxCELoss()(mx.nd.array(PRED), fractions).shape == (4,)


# ---- Module.fit ----


def module(**attributes):
    data = amp.sym.FullyConnected(amp.sym.Variable("data"), num_hidden=3, name="fc")
    return mx.mod.Module(amp.sym.SoftmaxOutput(data, name="softmax", **attributes))


def fit(mod, label, **options):
    data = np.random.default_rng(1).standard_normal((8, 5)).astype("float32")
    mod.fit(mx.io.NDArrayIter(data, np.array(label, "float32"), batch_size=4), num_epoch=1, **options)


def test_labels_of_a_module_that_are_no_classes():
    with pytest.warns(UserWarning, match=r"epoch 0, batch 1, softmax_label: the label at \[2\] is 3, but"):
        fit(module(), [0, 1, 2, 0, 1, 2, 3, 0])
    fit(module(use_ignore=True, ignore_label=255), [0, 1, 2, 255, 1, 2, 255, 0])
    with pytest.warns(UserWarning, match=r"the label at \[0\] is -1"):
        fit(module(use_ignore=True, ignore_label=255), [0, 1, 2, 255, -1, 2, 255, 0])
    fit(module(), np.full((8, 3), 7))  # not classes, but a weight of each


def test_labels_of_pixels_of_a_module():
    data = amp.sym.Convolution(amp.sym.Variable("data"), num_filter=3, kernel=(1, 1), name="conv")
    mod = mx.mod.Module(amp.sym.SoftmaxOutput(data, name="softmax", multi_output=True))
    x, label = np.zeros((2, 1, 4, 4), "float32"), np.full((2, 4, 4), 2.0)
    mod.fit(mx.io.NDArrayIter(x, label, batch_size=2), num_epoch=1)
    label[0, 1, 1] = 3
    with pytest.warns(UserWarning, match=r"the label at \[0, 1, 1\] is 3, but there are 3 classes"):
        mod.fit(mx.io.NDArrayIter(x, label, batch_size=2), num_epoch=1, force_rebind=True)


def test_outputs_of_a_module_that_are_not_finite(caplog):
    initializer = mx.init.Constant(np.inf)
    with caplog.at_level(logging.WARNING):
        fit(module(), [0] * 8, initializer=initializer)
    assert caplog.text.count("an output is not finite in epoch 0, batch 0") == 1
    with pytest.raises(amp.ArgumentError, match="an output is not finite in epoch 0, batch 0"):
        fit(module(), [0] * 8, initializer=initializer, batch_end_callback=mx.callback.FiniteOutputs())


def test_curves_of_a_module(tmp_path):
    path = tmp_path / "curves.csv"
    fit(module(), [0] * 8, batch_end_callback=mx.callback.CSVCallback(path))
    assert [line.split(",")[:2] for line in path.read_text().splitlines()] == [
        ["epoch", "batch"],
        ["0", "0"],
        ["0", "1"],
    ]


# ---- files ----


@contextlib.contextmanager
def no_space():
    """A limit of the size of files stands for a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_full_disk_leaves_the_checkpoint_of_a_module(tmp_path):
    mod = module()
    fit(mod, [0] * 8, optimizer="adam")
    mod.save_checkpoint(str(tmp_path / "net"), 1, save_optimizer_states=True)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(before) == 3
    with no_space(), pytest.raises(amp.ArgumentError, match="cannot write '.*net-0001.states': File too large"):
        mod.save_checkpoint(str(tmp_path / "net"), 1, save_optimizer_states=True)
    with no_space(), pytest.raises(amp.Error, match="net-0001.params.*File too large"):
        mod.save_checkpoint(str(tmp_path / "net"), 1)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_files_take_the_place_of_files_alone(tmp_path):
    from amp._paths import write_file

    path = tmp_path / "file"
    write_file(path, b"first")
    path.chmod(0o640)
    write_file(path, b"second")
    assert path.read_bytes() == b"second" and path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(amp.ArgumentError, match="not a regular file"):
        write_file("/dev/full", b"x")
    with pytest.raises(amp.ArgumentError, match="No such file or directory"):
        write_file(tmp_path / "missing" / "file", b"x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
