"""Metrics with MXNet 2's names and numbers, and what both versions' metrics share."""

import json
import math

import numpy as np
import pytest

import amp
import amp.mxnet as mx
from amp.mxnet.gluon import metric

DRAW = np.random.default_rng(3)


def value(measured, *batches):
    for labels, preds in batches:
        measured.update([mx.np.array(labels)], [mx.np.array(preds)])
    return measured.get()[1]


def naive_f(label, found, beta=1.0):
    """By classes: columns of 0 and 1."""
    scores = []
    for column in range(label.shape[1]):
        hits = sum(1 for a, b in zip(label[:, column], found[:, column]) if a == b == 1)
        precision = hits / max(1, found[:, column].sum())
        recall = hits / max(1, label[:, column].sum())
        below = beta**2 * precision + recall
        scores.append((1 + beta**2) * precision * recall / below if below else 0.0)
    return scores


@pytest.mark.parametrize("beta", [0.5, 1, 2])
@pytest.mark.parametrize("threshold", [0.3, 0.5])
def test_f_of_two_classes(beta, threshold):
    label, pred = DRAW.integers(0, 2, 50), DRAW.random(50)
    (expected,) = naive_f(label[:, None], (pred > threshold)[:, None], beta)
    halves = [(label[:20], pred[:20]), (label[20:], pred[20:])]
    for average in ("micro", "macro"):
        options = {"threshold": threshold, "average": average}
        assert math.isclose(value(metric.Fbeta(beta=beta, **options), *halves), expected)
        pairs = [(a, np.stack([1 - b, b], axis=1)) for a, b in halves]
        assert math.isclose(value(metric.Fbeta(beta=beta, **options), *pairs), expected)
    if beta == 1:
        assert math.isclose(value(metric.F1(threshold=threshold), *halves), expected)


def test_f_of_several_classes():
    label, pred = DRAW.integers(0, 4, 60), DRAW.random((60, 4))
    there, found = np.eye(4)[label], np.eye(4)[pred.argmax(1)]
    expected = naive_f(there, found)
    batches = [(label[:7], pred[:7]), (label[7:], pred[7:])]
    np.testing.assert_allclose(value(metric.F1(class_type="multiclass", average=None), *batches), expected)
    assert math.isclose(value(metric.F1(class_type="multiclass", average="macro"), *batches), np.mean(expected))
    assert math.isclose(value(metric.F1(class_type="multiclass"), *batches), (label == pred.argmax(1)).mean())


def test_f_of_several_labels():
    label, pred = DRAW.integers(0, 2, (40, 3)), DRAW.random((40, 3))
    expected = naive_f(label, pred > 0.5)
    assert math.isclose(value(metric.F1(class_type="multilabel", average="macro"), (label, pred)), np.mean(expected))
    hits = ((pred > 0.5) & (label == 1)).sum()
    micro = 2 * hits / ((pred > 0.5).sum() + label.sum())
    assert math.isclose(value(metric.F1(class_type="multilabel"), (label, pred)), micro)
    assert math.isclose(value(metric.BinaryAccuracy(), (label, pred)), ((pred > 0.5) == label).mean())


def test_matthews_correlation():
    label, pred = DRAW.integers(0, 2, 80), DRAW.random(80)
    expected = np.corrcoef(label, pred > 0.5)[0, 1]
    halves = [(label[:30], pred[:30]), (label[30:], pred[30:])]
    assert math.isclose(value(metric.MCC(), *halves), expected)
    assert math.isclose(value(metric.PCC(), (label, np.stack([1 - pred, pred], axis=1))), expected)
    assert value(metric.MCC(), ([0, 0], [0.1, 0.2])) == 0.0


def test_distances():
    label, pred = DRAW.random((20, 3)), DRAW.random((20, 3))
    errors = label - pred
    halves = [(label[:5], pred[:5]), (label[5:], pred[5:])]
    for measured, expected in (
        (metric.MAE(), np.abs(errors).mean()),
        (metric.MSE(), (errors**2).mean()),
        (metric.RMSE(), np.sqrt((errors**2).mean())),
        (metric.MeanPairwiseDistance(), np.linalg.norm(errors, axis=1).mean()),
        (metric.MeanPairwiseDistance(p=1), np.abs(errors).sum(1).mean()),
        (
            metric.MeanCosineSimilarity(),
            ((label * pred).sum(1) / np.linalg.norm(label, axis=1) / np.linalg.norm(pred, axis=1)).mean(),
        ),
        (metric.PearsonCorrelation(), np.corrcoef(label.ravel(), pred.ravel())[0, 1]),
        (metric.Torch(), pred.mean()),
    ):
        assert math.isclose(value(measured, *halves), expected, rel_tol=1e-5), measured
    assert metric.RMSE().get()[0] == "rmse" and math.isnan(metric.RMSE().get()[1])
    assert math.isclose(value(metric.MeanCosineSimilarity(), ([3.0, 4.0], [4.0, 3.0])), 0.96, rel_tol=1e-6)


@pytest.mark.parametrize("ignore", [None, 1])
@pytest.mark.parametrize("axis", [-1, 1])
def test_cross_entropy(ignore, axis):
    logits, label = DRAW.normal(size=(6, 3, 3)), DRAW.integers(0, 3, (6, 3))
    lines = np.moveaxis(logits, axis, -1)
    probabilities = np.exp(lines) / np.exp(lines).sum(-1, keepdims=True)
    losses = -np.log(np.take_along_axis(probabilities, label[..., None], -1))[label != ignore]
    options = {"ignore_label": ignore, "axis": axis}
    for kind, expected in ((metric.CrossEntropy, losses.mean()), (metric.Perplexity, np.exp(losses.mean()))):
        found = value(kind(from_logits=True, **options), (label, logits))
        assert math.isclose(found, expected, rel_tol=1e-5)
        found = value(kind(**options), (label, np.moveaxis(probabilities, -1, axis)))
        assert math.isclose(found, expected, rel_tol=1e-5)


# ---- what is made of names ----


@pytest.mark.parametrize("module", [mx.metric, metric])
def test_a_configuration_makes_the_metric_again(module):
    for name in ("acc", "f1", "mcc", "perplexity", "pearsonr", "pcc", "ce", "loss", ["acc", "f1"]):
        made = module.create(name)
        again = module.create(json.dumps(made.get_config()))
        assert type(again) is type(made) and again.get_config() == made.get_config()
    top = module.create("top_k_acc", top_k=3)
    assert module.create(top.get_config()).name == top.name == "top_k_accuracy_3"


def test_names_are_those_of_the_version():
    assert type(mx.metric.create("f1")) is mx.metric.F1 is not metric.F1
    assert type(metric.create(["f1"]).metrics[0]) is metric.F1 is type(metric.CompositeEvalMetric(["f1"]).metrics[0])
    assert type(metric.create(lambda label, pred: 0.0)) is metric.CustomMetric is mx.metric.CustomMetric
    with pytest.raises(amp.ArgumentError, match="unknown metric 'nll-loss'"):
        metric.create("nll-loss")


def test_a_macro_average_of_1x_counts_calls():
    measured = mx.metric.F1(average="macro")
    batch = [mx.nd.array([1, 0]), mx.nd.array([1, 0])], [mx.nd.array([[0.1, 0.9], [0.5, 0.5]])] * 2
    measured.update(*batch)
    measured.update(*batch)
    assert measured.num_inst == 2 and measured.get()[1] == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metric.F1(class_type="some"), "class_type: expected 'binary'"),
        (lambda: value(metric.F1(), ([2], [0.5])), "labels of two classes are 0 and 1"),
        (lambda: value(metric.F1(), ([1], [[0.5, 0.2, 0.3]])), r"shape \(1, 3\) are not of two classes"),
        (lambda: value(metric.F1(class_type="multiclass"), ([3], [[0.5, 0.5]])), "labels above the 2 classes"),
        (lambda: value(metric.F1(), ([1, 0], [0.5])), r"do not fit: \(2, 1\) and \(1, 1\)"),
        (
            lambda: value(metric.F1(class_type="multiclass"), ([1], [[0.5, 0.5]]), ([1], [[0.5, 0.2, 0.3]])),
            "the number of classes was 2, and is 3 now",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(amp.ArgumentError, match=message):
        call()
