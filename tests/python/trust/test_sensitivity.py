"""`amp.sensitivity` against roundings that are made one at a time, and its predictions against conversions."""

import numpy as np
import pytest
from trust_networks import attention, dense, error_of, parameters_of, residual, rounded_alone, run

import amp
from amp._trust import effects
from amp._trust.samples import hadamard_row

NETWORKS = {"dense": dense, "residual": residual, "attention": attention}


# ---- head gradients ----


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_rows_of_a_hadamard_matrix_are_orthogonal(size):
    matrix = np.array([hadamard_row(k, np.arange(size)) for k in range(size)])
    assert np.array_equal(matrix @ matrix.T, size * np.eye(size))


# ---- one rounding at a time ----


def without_batch_norms(make):
    """The network with its batch norms folded: the model that sensitivity is about."""
    from amp._trust.reference import float32_reference

    model, data = make()
    opened = float32_reference(model, {name: (array.dtype, array.shape) for name, array in data.items()})
    return (opened.symbol, opened.args, opened.aux), data


@pytest.mark.parametrize("name", NETWORKS)
def test_own_is_what_rounding_a_tensor_alone_does(name):
    model, data = without_batch_norms(NETWORKS[name])
    found = amp.sensitivity(*model, data, samples=256)
    exact = run(model, data)
    for tensor in found.tensors:
        true = error_of(exact, run(rounded_alone(model, tensor["name"]), data))
        assert tensor["own"] == pytest.approx(true, rel=0.5, abs=1e-7), tensor["name"]


def test_all_head_gradients_make_it_exact():
    model, data = dense(layers=2, width=16)
    found = amp.sensitivity(*model, data, samples=16 * 16)  # as many passes as outputs
    weight = next(tensor for tensor in found.tensors if tensor["name"] == "fc1_weight")
    true = error_of(run(model, data), run(rounded_alone(model, "fc1_weight"), data))
    assert weight["own"] == pytest.approx(true, rel=1e-3)


def test_what_data_movement_and_relus_round_again_costs_nothing():
    model, data = residual()
    effects = {e.name: e for e in amp.sensitivity(*model, data).effects}
    assert not np.any(effects["relu0_output"].behind) and np.any(effects["relu0_output"].plain)


def test_readers_are_told_apart():
    model, data = residual()
    tensor = next(t for t in amp.sensitivity(*model, data).tensors if t["name"] == "relu0_output")
    assert [(reader["node"], reader["input"]) for reader in tensor["readers"]] == [("conv1", "data"), ("sum", "rhs")]
    assert all(0 < reader["own"] for reader in tensor["readers"])


# ---- predictions ----


@pytest.mark.parametrize("policy", ["default", "mxnet", "graphamp", "optimal"])
@pytest.mark.parametrize("name", NETWORKS)
def test_predictions_are_near_what_conversions_measure(name, policy):
    model, data = NETWORKS[name]()
    *low, report = amp.convert_model(*model, cast_params_offline=True, policy=policy, return_report=True)
    predicted = amp.sensitivity(*model, data, fold_batch_norm=bool(report.folded)).predict(report)
    assert 0.65 < predicted / error_of(run(model, data), run(low, data)) < 1.5


def test_nothing_rounded_is_no_error():
    model, data = dense()
    *_, report = amp.convert_model(*model, excluded_sym_names=["*"], return_report=True)
    assert amp.sensitivity(*model, data).predict(report) == 0


def test_compensated_weights_are_what_conversions_store():
    model, data = residual()
    *low, report = amp.convert_model(*model, cast_params_offline=True, return_report=True)
    effects = {e.name: e for e in amp.sensitivity(*model, data, samples=256).effects}["conv1_weight"]
    stored = low[1]["conv1_weight"].asnumpy().astype("float32")
    opened, _ = without_batch_norms(residual)
    sym, args, aux = opened
    true = error_of(run(opened, data), run((sym, {**args, "conv1_weight": stored}, aux), data))
    assert np.sqrt(np.mean(effects.compensated[0] ** 2)) == pytest.approx(true, rel=0.3)
    assert report.folded


# ---- outputs, data, refusals ----


def test_other_outputs_can_be_looked_at():
    model, data = residual()
    found = amp.sensitivity(*model, data, outputs=["scores_output"])
    assert found.outputs == ["scores_output"]
    assert {t["name"] for t in found.tensors if t["own"] == 0} >= {"softmax_output", "tanh_output"}


def test_what_has_no_gradient_is_replaced():
    (symbol, args, aux), data = dense(layers=2)
    found = amp.sensitivity(amp.sym.argmax(symbol, axis=1, name="best"), args, aux, data)
    assert (found.outputs, found.replaced) == (["fc1_output"], ["best_output"])
    with pytest.raises(amp.UnsupportedError):
        amp.sensitivity(amp.sym.argmax(amp.sym.Variable("data"), axis=1), {}, {}, data)


def test_batches_are_read_until_there_are_enough_samples():
    model, data = dense()
    read = []

    def batches():
        for i in range(100):
            read.append(i)
            yield data

    assert amp.sensitivity(*model, batches(), samples=40).samples == 48 and read == [0, 1, 2]


def test_a_seed_gives_the_same_numbers():
    model, data = dense()
    first, again, other = (amp.sensitivity(*model, data, seed=seed).tensors for seed in (1, 1, 2))
    assert first == again and first != other


@pytest.mark.parametrize(
    "options",
    [
        {"samples": 0},
        {"samples": True},
        {"seed": -1},
        {"target_dtype": "int8"},
        {"outputs": ["fc1_ouput"]},
        {"data": {"fc0_weight": np.ones(1)}},
        {"data": np.ones((2, 3, 4), "float32")},
    ],
)
def test_refusals(options):
    model, data = dense(layers=2)
    with pytest.raises((amp.ArgumentError, amp.GraphError)):
        amp.sensitivity(*model, **{"data": data, **options})


def test_a_report_of_another_dtype_is_refused():
    model, data = dense(layers=2)
    *_, report = amp.convert_model(*model, target_dtype="float16", return_report=True)
    with pytest.raises(amp.ArgumentError):
        amp.sensitivity(*model, data).predict(report)


class Interrupting:
    """A function that counts its calls; call number `at` is ctrl-C."""

    def __init__(self, function, at=None):
        self._function, self._at, self.calls = function, at, 0

    def __call__(self, *args):
        self.calls += 1
        if self.calls == self._at:
            raise KeyboardInterrupt
        return self._function(*args)


def test_ctrl_c_keeps_the_batches_before(monkeypatch):
    """It comes within the third batch, some of whose numbers are there already."""
    model, data = dense()
    batches = [{"data": data["data"][i : i + 4]} for i in range(0, 12, 4)]
    wanted = amp.sensitivity(*model, batches[:2], samples=8)
    count = Interrupting(effects.per_sample)
    monkeypatch.setattr(effects, "per_sample", count)
    amp.sensitivity(*model, batches, samples=12)
    monkeypatch.setattr(effects, "per_sample", Interrupting(count, count.calls - 5))
    with pytest.warns(UserWarning):
        found = amp.sensitivity(*model, batches, samples=12)
    assert found.samples == 8
    assert found.tensors == wanted.tensors


def test_a_weight_that_operators_make_of_parameters_counts():
    """Its cast stands behind them; own errors of the parameters are those of roundings in front of them."""
    data = {"data": np.random.default_rng(0).standard_normal((16, 24)).astype("float32")}
    halves = [amp.sym.Variable(name, shape=(4, 24)) for name in ("upper", "lower")]
    weight = amp.sym.reshape(amp.sym.stack(*halves, axis=0, name="both"), shape=(8, 24), name="joined")
    net = amp.sym.FullyConnected(amp.sym.Variable("data"), weight, num_hidden=8, no_bias=True, name="fc")
    model = net, *parameters_of(net, data)
    s = amp.sensitivity(*model, data)
    own = {tensor["name"]: (tensor["kind"], tensor["own"]) for tensor in s.tensors}
    assert own["joined_output"][0] == "parameter"
    apart = np.hypot(own["upper"][1], own["lower"][1])
    assert own["joined_output"][1] == pytest.approx(apart, rel=0.3)
    *low, report = amp.convert_model(*model, return_report=True)
    assert "joined_output" in {cast["tensor"] for cast in report.casts}
    error = error_of(run(model, data), run(low, data))
    assert s.predict(report) == pytest.approx(error, rel=0.2)
