"""What the modes of an Executor promise, and that optimising does not show."""

import numpy as np
import pytest

import amp

# Two input shapes for each: sizes that strides do not divide, where the network takes them.
SHAPES = {
    "resnet50_v1": [(1, 3, 64, 96), (2, 3, 97, 65)],
    "resnet18_v2": [(1, 3, 64, 97), (2, 3, 99, 65)],
    "mobilenetv2_0.25": [(1, 3, 65, 96), (2, 3, 64, 70)],
    "densenet121": [(1, 3, 224, 224), (2, 3, 224, 224)],
}


def zoo(name):
    symbol = amp.model_zoo.get_model(name, classes=10)
    return symbol, *amp.model_zoo.seeded_params(symbol, {"data": SHAPES[name][0]})


def sample(shape):
    return np.random.default_rng(3).standard_normal(shape).astype("f4")


def small_net():
    data = amp.sym.Variable("data")
    conv = amp.sym.Convolution(data, kernel=(3, 3), num_filter=4, name="conv")
    norm = amp.sym.BatchNorm(conv, fix_gamma=False, name="bn")
    symbol = amp.sym.Activation(norm, act_type="relu", name="relu")
    random = np.random.default_rng(0)
    shapes = {"conv_weight": (4, 2, 3, 3), "conv_bias": (4,), "bn_gamma": (4,), "bn_beta": (4,)}
    arguments = {name: random.standard_normal(shape).astype("f4") for name, shape in shapes.items()}
    states = {f"bn_moving_{name}": random.uniform(0.5, 2, 4).astype("f4") for name in ("mean", "var")}
    return symbol, arguments, states


@pytest.mark.parametrize("mode", ["FAST", "", None, 1])
def test_unknown_modes_are_refused(mode):
    with pytest.raises(amp.Error, match="mode: expected 'fast' or 'exact', got "):
        amp.Executor(*small_net(), {"data": (1, 2, 5, 5)}, mode=mode)


def test_exact_results_are_those_of_a_monitored_run():
    executor = amp.Executor(*small_net(), {"data": (1, 2, 5, 5)}, mode="exact", monitor=True)
    x = sample((1, 2, 5, 5))
    seen = {}
    (monitored,) = executor.run_monitored(lambda name, op, array: seen.update({name: array.asnumpy()}), x)
    (plain,) = executor(x)
    np.testing.assert_array_equal(plain.asnumpy(), monitored.asnumpy())
    np.testing.assert_array_equal(plain.asnumpy(), seen["relu_output"])
    assert list(seen) == ["conv_output", "bn_output", "relu_output"]


def test_only_fast_folds_batch_norms(monkeypatch):
    def nodes(**options):
        return [step.node for step in amp.Executor(*small_net(), {"data": (1, 2, 5, 5)}, **options).summary.steps]

    assert "bn" not in nodes()
    assert "bn" in nodes(mode="exact")
    monkeypatch.setenv("AMP_DISABLE_PASSES", "FoldBatchNorm,FusePostOps")
    assert "bn" in nodes()


@pytest.mark.parametrize("name", SHAPES)
def test_optimised_networks_give_the_same_numbers(name, monkeypatch):
    model, (shape, other) = zoo(name), SHAPES[name]

    def close(found, expected):
        largest = np.abs(expected.asnumpy()).max()
        np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=0, atol=1e-5 * largest)

    executor = amp.Executor(*model, {"data": shape})
    (fast,) = executor(sample(shape))
    (exact,) = amp.Executor(*model, {"data": shape}, mode="exact")(sample(shape))
    (reshaped,) = executor.reshape(data=other)(sample(other))
    monkeypatch.setenv("AMP_DISABLE_PASSES", "Simplify,PropagateStrides,FoldBatchNorm,FusePostOps")
    plain = amp.Executor(*model, {"data": shape})
    close(fast, plain(sample(shape))[0])
    close(exact, plain(sample(shape))[0])
    close(reshaped, plain.reshape(data=other)(sample(other))[0])


def test_three_blocks_of_resnet50_compute_a_quarter(monkeypatch):
    def bound():
        summary = amp.Executor(*zoo("resnet50_v1"), {"data": SHAPES["resnet50_v1"][0]}).summary
        return sum(step.node.endswith("_subsampled") for step in summary.steps)

    assert bound() == 3
    monkeypatch.setenv("AMP_DISABLE_PASSES", "PropagateStrides")
    assert bound() == 0


def test_folded_norms_hold_the_number_of_axes():
    data = amp.sym.Variable("data")
    dense = amp.sym.FullyConnected(data, num_hidden=3, no_bias=True, flatten=False, name="fc")
    symbol = amp.sym.BatchNorm(dense, name="bn")
    three = np.ones(3, "f4")
    arguments = {"fc_weight": np.eye(3, dtype="f4"), "bn_gamma": three, "bn_beta": three}
    executor = amp.Executor(symbol, arguments, {"bn_moving_mean": three, "bn_moving_var": three}, {"data": (2, 3)})
    with pytest.raises(NotImplementedError, match="'data' was bound with 2 axes"):
        executor.reshape(data=(2, 3, 3))
    assert executor.reshape(data=(7, 3)).output_shapes == [(7, 3)]
