"""mx.model.FeedForward: training and prediction on arrays and iterators."""

import pickle

import numpy as np
import pytest

import amp
import amp.mxnet as mx

pytestmark = pytest.mark.filterwarnings("ignore:FeedForward is deprecated")

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(40, 5).astype("f4")
Y = (X @ RANDOM.rand(5, 3)).argmax(1).astype("f4")
WEIGHT = RANDOM.rand(3, 5).astype("f4")


def network(classes=3):
    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=classes, name="fc")
    return mx.sym.SoftmaxOutput(layer, name="softmax")


def parameters():
    return {"fc_weight": mx.nd.array(WEIGHT), "fc_bias": mx.nd.zeros((3,)), "extra": mx.nd.zeros((1,))}


def untrained(**options):
    return mx.model.FeedForward(network(), arg_params=parameters(), aux_params={}, numpy_batch_size=10, **options)


@pytest.fixture(scope="module")
def trained():
    model = untrained(num_epoch=3, learning_rate=0.5, momentum=0.9, wd=1e-4, allow_extra_params=True)
    epochs, batches = [], []
    model.fit(
        mx.io.NDArrayIter(X, Y, 10),
        eval_data=(X, Y),
        epoch_end_callback=lambda epoch, *rest: epochs.append(epoch),
        batch_end_callback=lambda parameter: batches.append(parameter.nbatch),
    )
    assert epochs == [0, 1, 2] and len(batches) == 12
    return model


def test_training_is_mxnets(trained):
    """The row is that of MXNet 1.9.1."""
    found = trained.arg_params["fc_weight"].asnumpy()[0]
    np.testing.assert_allclose(found, [0.4458, 1.2787, 1.8616, 0.8519, 2.7012], atol=1e-4)
    assert sorted(trained.arg_params) == ["fc_bias", "fc_weight"]


def test_prediction(trained):
    scores = trained.predict(X[:25])  # the last batch is padded
    products = X @ trained.arg_params["fc_weight"].asnumpy().T + trained.arg_params["fc_bias"].asnumpy()
    expected = np.exp(products) / np.exp(products).sum(1, keepdims=True)
    np.testing.assert_allclose(scores, expected[:25], rtol=1e-4, atol=1e-6)
    found, data, labels = trained.predict(mx.io.NDArrayIter(X, Y, 12), return_data=True)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert (data == X).all() and (labels == Y).all()
    assert trained.predict(mx.nd.array(X), num_batch=2).shape == (20, 3)
    batches = mx.io.NDArrayIter(X, Y, 10)
    assert trained.score(batches) == pytest.approx((expected.argmax(1) == Y).mean())
    seen = []
    trained.score(batches, "ce", num_batch=3, batch_end_callback=seen.append)
    assert [parameter.nbatch for parameter in seen] == [0, 1, 2]


def test_new_parameters_are_seen():
    model = untrained()
    before = model.predict(X)
    model.arg_params = {**model.arg_params, "fc_bias": mx.nd.array([9, 0, 0])}
    assert (model.predict(X).argmax(1) == 0).all() and (before.argmax(1) != 0).any()


def test_files(trained, tmp_path):
    trained.save(str(tmp_path / "model"))
    loaded = mx.model.FeedForward.load(str(tmp_path / "model"), 3, num_epoch=4)
    assert loaded.begin_epoch == 3 and loaded.num_epoch == 4
    for other in (loaded, pickle.loads(pickle.dumps(trained))):
        np.testing.assert_array_equal(other.predict(X), trained.predict(X))


def test_epochs_of_a_size():
    batches = []
    model = mx.model.FeedForward.create(
        network(),
        X,
        Y[:, None],
        num_epoch=2,
        epoch_size=3,
        learning_rate=0.1,
        numpy_batch_size=8,
        batch_end_callback=lambda parameter: batches.append((parameter.epoch, parameter.nbatch)),
    )
    assert batches == [(epoch, number) for epoch in range(2) for number in range(3)]
    assert np.abs(model.arg_params["fc_weight"].asnumpy()).max() > 0


def test_symbols_of_buckets():
    batches = mx.io.NDArrayIter(X, Y, 10)
    batches.default_bucket_key = 3
    model = mx.model.FeedForward(network, num_epoch=1)
    model.fit(batches)
    assert model.symbol.list_arguments() == ["data", "fc_weight", "fc_bias", "softmax_label"]
    assert model.predict(X).shape == (40, 3)


@pytest.mark.parametrize(
    "mistake, message",
    [
        (lambda: mx.model.FeedForward(3), "expected a Symbol or a function, got int"),
        (lambda: untrained(num_epoch=1).fit(X), "labels are needed"),
        (lambda: untrained(num_epoch=1).fit(X, Y[:3]), r"expected 40 labels, got an array of shape \(3,\)"),
        (lambda: untrained().fit(X, Y), "num_epoch: say how many epochs"),
        (lambda: untrained().predict(3), "expected an iterator or an array, got int"),
        (lambda: untrained().save("model"), "the model has no num_epoch"),
    ],
)
def test_mistakes(mistake, message):
    with pytest.raises(amp.ArgumentError, match=message):
        mistake()


def test_deprecation():
    with pytest.warns(DeprecationWarning, match=r"use mx\.mod\.Module"):
        mx.model.FeedForward(network())
