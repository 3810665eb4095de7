"""`mx.gluon.probability`: densities against numbers of SciPy, moments against integrals, samples against moments."""

import math

import numpy as np
import pytest

import amp.mxnet as mx
from amp.mxnet import autograd, gluon
from amp.mxnet.gluon import probability as mgp

pytestmark = pytest.mark.usefixtures("mxnet_2")


def array(values, dtype="float64"):
    return mx.np.array(values, dtype=dtype)


# Name: (parameters, points, logarithms of the density there, mean, variance, entropy); the numbers are SciPy's.
SCIPY = {
    "Normal": ((0.5, 1.5), [-1.0, 0.3, 2.0], [-1.8244, -1.33329, -1.8244], 0.5, 2.25, 1.8244),
    "HalfNormal": ((1.5,), [0.2, 1.0, 3.0], [-0.640145, -0.853479, -2.63126], 1.19683, 0.817606, 1.13126),
    "Uniform": ((-1.0, 2.0), [-0.5, 0.0, 1.9], [-1.09861, -1.09861, -1.09861], 0.5, 0.75, 1.09861),
    "Laplace": ((0.5, 2.0), [-1.0, 0.3, 2.0], [-2.13629, -1.48629, -2.13629], 0.5, 8, 2.38629),
    "Cauchy": ((0.5, 2.0), [-1.0, 0.3, 2.0], [-2.28416, -1.84783, -2.28416], math.nan, math.nan, 3.22417),
    "HalfCauchy": ((2.0,), [0.2, 1.0, 3.0], [-1.15468, -1.36787, -2.32338], math.inf, math.inf, 2.53102),
    "Poisson": ((2.5,), [0.0, 2.0, 7.0], [-2.5, -1.36057, -4.61113], 2.5, 2.5, None),
    "Geometric": ((0.3,), [0.0, 2.0, 7.0], [-1.20397, -1.91732, -3.7007], 2.33333, 7.77778, 2.03621),
    "NegativeBinomial": ((3.0, 0.4), [0.0, 2.0, 7.0], [-2.74887, -1.97876, -2.74113], 2, 3.33333, None),
    "Exponential": ((2.0,), [0.2, 1.0, 3.0], [-0.793147, -1.19315, -2.19315], 2, 4, 1.69315),
    "Gamma": ((2.5, 1.5), [0.2, 1.0, 3.0], [-3.84584, -1.96501, -1.65043], 3.75, 5.625, 2.13541),
    "Beta": ((2.0, 3.5), [0.2, 0.5, 0.9], [0.589544, 0.330825, -3.10498], 0.363636, 0.0356008, -0.29869),
    "Chi2": ((3.0,), [0.2, 1.0, 3.0], [-1.82366, -1.41894, -1.86963], 3, 6, 2.05412),
    "FisherSnedecor": ((3.0, 7.0), [0.2, 1.0, 3.0], [-0.388994, -0.956459, -2.75717], 1.4, 3.48444, None),
    "StudentT": ((5.0, 0.5, 2.0), [-1.0, 0.3, 2.0], [-1.9816, -1.66776, -1.9816], 0.5, 6.66667, 2.32065),
    "Gumbel": ((0.5, 2.0), [-1.0, 0.3, 2.0], [-2.06015, -1.69832, -1.91551], 1.65443, 6.57974, 2.27036),
    "Pareto": ((3.5, 2.0), [2.1, 3.0, 6.0], [0.34006, -1.26498, -4.38414], 2.8, 1.49333, 0.726098),
    "Weibull": ((1.5, 2.0), [0.2, 1.0, 3.0], [-1.4706, -0.987809, -1.92207], 1.80549, 1.50276, 1.48009),
    "Bernoulli": ((0.3,), [0.0, 1.0], [-0.356675, -1.20397], 0.3, 0.21, 0.610864),
}
HEAVY_TAILS = ("Cauchy", "HalfCauchy", "FisherSnedecor", "StudentT", "Pareto")
WITH_CDF = "Normal HalfNormal Uniform Laplace Cauchy HalfCauchy Exponential Gumbel Pareto Weibull".split()


def distribution(name, convert=array, **options):
    return getattr(mgp, name)(*map(convert, SCIPY[name][0]), **options)


@pytest.mark.parametrize("convert", [array, float, lambda value: array([value, value])], ids=["0-d", "number", "1-d"])
@pytest.mark.parametrize("name", SCIPY)
def test_values(name, convert):
    _, points, logarithms, mean, variance, entropy = SCIPY[name]
    found = distribution(name, convert, validate_args=True)
    for point, logarithm in zip(points, logarithms):
        np.testing.assert_allclose(np.asarray(found.log_prob(array(point))), logarithm, rtol=2e-5)
        np.testing.assert_allclose(np.asarray(found.pdf(array(point))), np.exp(logarithm), rtol=2e-5)
    np.testing.assert_allclose(np.asarray(found.mean), mean, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(found.variance), variance, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(found.stddev), np.sqrt(variance), rtol=1e-5)
    if entropy is not None:
        np.testing.assert_allclose(np.asarray(found.entropy()), entropy, rtol=1e-5)
        np.testing.assert_allclose(np.asarray(found.perplexity()), np.exp(entropy), rtol=1e-5)


@pytest.mark.parametrize("name", WITH_CDF)
def test_distribution_functions(name):
    """The inverse is one, and what lies between two quantiles is the integral of the density."""
    found = distribution(name)
    shares = array([0.1, 0.35, 0.8])
    quantiles = found.icdf(shares)
    np.testing.assert_allclose(found.cdf(quantiles).asnumpy(), shares.asnumpy(), rtol=1e-6)
    x = np.linspace(quantiles[0].item(), quantiles[2].item(), 4001)
    density = found.pdf(array(x)).asnumpy()
    integral = ((density[1:] + density[:-1]) / 2 * np.diff(x)).sum()
    assert integral == pytest.approx(0.7, rel=1e-5)


@pytest.mark.parametrize("name", SCIPY)
def test_samples(name):
    mx.random.seed(3)
    found = distribution(name, lambda value: array([value, value], "float32"))
    drawn = found.sample_n(20000)
    assert drawn.shape == (20000, 2) and drawn.dtype == np.float32
    assert found.sample().shape == (2,) and found.sample((3, 2)).shape == (3, 2)
    assert found.sample_n((2, 3)).shape == (2, 3, 2)
    assert distribution(name, float).sample((2, 3)).shape == (2, 3)
    if name in WITH_CDF:
        np.testing.assert_allclose((drawn.asnumpy() < found.icdf(array(0.3)).asnumpy()).mean(0), 0.3, atol=0.02)
    if name not in HEAVY_TAILS:
        np.testing.assert_allclose(drawn.asnumpy().mean(0), SCIPY[name][3], rtol=0.06)
        np.testing.assert_allclose(drawn.asnumpy().var(0), SCIPY[name][4], rtol=0.15)


@pytest.mark.parametrize("name", SCIPY)
def test_samples_of_mixed_parameters_are_independent(name):
    """A parameter with more elements than the first one draws for each of its elements."""
    mx.random.seed(4)
    parameters = SCIPY[name][0]
    if len(parameters) < 2:
        return
    found = getattr(mgp, name)(*parameters[:-1], array([parameters[-1]] * 2000, "float32"))
    drawn = found.sample().asnumpy()
    assert drawn.shape == (2000,) and len(set(drawn.tolist())) > (3 if name == "NegativeBinomial" else 1500)


@pytest.mark.parametrize("name", SCIPY)
def test_hybridized_and_gradients(name):
    """A graph gives what plain calls give; gradients of the density are those of differences."""

    class LogProb(gluon.HybridBlock):
        def forward(self, value, *parameters):
            return getattr(mgp, name)(*parameters).log_prob(value)

    value, parameters = array(SCIPY[name][1]), [array(p) for p in SCIPY[name][0]]
    for parameter in parameters:
        parameter.attach_grad()
    results = []
    for is_hybrid in (False, True):
        block = LogProb()
        block.hybridize(is_hybrid)
        with autograd.record():
            logarithms = block(value, *parameters)
        logarithms.backward()
        results.append((logarithms.asnumpy(), *(p.grad.asnumpy().copy() for p in parameters)))
        assert block._refusal is None
    for plain, graph in zip(*results):
        np.testing.assert_allclose(plain, graph, rtol=1e-9, atol=1e-9)
    for i, gradient in enumerate(results[0][1:]):
        ends = []
        for step in (-1e-5, 1e-5):
            moved = [array(p + step * (i == j)) for j, p in enumerate(SCIPY[name][0])]
            ends.append(getattr(mgp, name)(*moved).log_prob(value).sum().item())
        assert gradient == pytest.approx((ends[1] - ends[0]) / 2e-5, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", [n for n in SCIPY if getattr(mgp, n).has_grad])
def test_gradients_reach_parameters_through_samples(name):
    """The derivative of the mean of samples by the last parameter, a scale but for Bernoulli's kin."""
    mx.random.seed(5)
    parameters = [mx.np.full((2000,), p) for p in SCIPY[name][0]]
    parameters[-1].attach_grad()
    with autograd.record():
        drawn = getattr(mgp, name)(*parameters).sample()
        share = drawn if name not in HEAVY_TAILS else mx.np.arctan(drawn)
    share.backward()
    assert np.isfinite(parameters[-1].grad.asnumpy()).all() and (parameters[-1].grad.asnumpy() != 0).mean() > 0.9


@pytest.mark.parametrize("name", SCIPY)
def test_samples_of_graphs(name):
    """Drawn anew in each run, with the moments of plain calls."""

    class Sampled(gluon.HybridBlock):
        def forward(self, *parameters):
            return getattr(mgp, name)(*parameters).sample()

    mx.random.seed(6)
    block = Sampled()
    block.hybridize()
    parameters = [mx.np.full((4000,), p) for p in SCIPY[name][0]]
    first, second = block(*parameters).asnumpy(), block(*parameters).asnumpy()
    assert block._refusal is None and (first != second).any()
    if name in WITH_CDF:
        assert (first < distribution(name).icdf(array(0.3)).item()).mean() == pytest.approx(0.3, abs=0.04)
    if name not in HEAVY_TAILS:
        assert first.mean() == pytest.approx(SCIPY[name][3], rel=0.1, abs=0.1)


# ---- events and vectors ----


def test_dirichlet():
    found = mgp.Dirichlet(array([1.5, 2.0, 3.0]), validate_args=True)
    assert found.log_prob(array([0.2, 0.3, 0.5])).item() == pytest.approx(1.69521, rel=1e-5)
    assert found.entropy().item() == pytest.approx(-1.10161, rel=1e-5)
    np.testing.assert_allclose(found.mean.asnumpy(), [0.230769, 0.307692, 0.461538], rtol=1e-5)
    np.testing.assert_allclose(found.variance.asnumpy(), [0.0236686, 0.0284024, 0.0331361], rtol=1e-5)
    mx.random.seed(1)
    drawn = found.sample_n(5000).asnumpy()
    np.testing.assert_allclose(drawn.mean(0), found.mean.asnumpy(), rtol=0.05)
    np.testing.assert_allclose(drawn.var(0), found.variance.asnumpy(), rtol=0.1)
    assert found.sample((4, 2)).shape == (4, 2, 3)
    with pytest.raises(ValueError, match="Constraint violated"):
        found.log_prob(array([0.2, 0.3, 0.6]))


COVARIANCE = [[2.0, 0.6], [0.6, 1.0]]


@pytest.mark.parametrize("name", ["cov", "precision", "scale_tril"])
def test_multivariate_normal(name):
    matrices = {
        "cov": COVARIANCE,
        "precision": np.linalg.inv(COVARIANCE),
        "scale_tril": np.linalg.cholesky(COVARIANCE),
    }
    found = mgp.MultivariateNormal(array([0.5, -1.0]), **{name: array(matrices[name])}, validate_args=True)
    for other, matrix in matrices.items():
        np.testing.assert_allclose(getattr(found, other).asnumpy(), matrix, rtol=1e-6, atol=1e-9)
    assert found.log_prob(array([1.0, 0.5])).item() == pytest.approx(-3.25901, rel=1e-5)
    assert found.entropy().item() == pytest.approx(3.08523, rel=1e-5)
    np.testing.assert_allclose(found.variance.asnumpy(), [2.0, 1.0], rtol=1e-6)
    mx.random.seed(1)
    drawn = found.sample_n(20000).asnumpy()
    np.testing.assert_allclose(np.cov(drawn.T), COVARIANCE, atol=0.06)
    assert found.sample((4, 3)).shape == (4, 3, 2) and found.broadcast_to((4,)).sample().shape == (4, 2)


def test_one_matrix_of_a_multivariate_normal_is_needed():
    with pytest.raises(ValueError, match="Exactly one"):
        mgp.MultivariateNormal(array([0.0]))


PROBABILITIES = [0.2, 0.3, 0.5]


@pytest.mark.parametrize("convert", [array, lambda p: array([p, p])], ids=["vector", "batch"])
@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_events(convert, shift):
    """Logarithms of probabilities may have any constant added."""
    logit = convert(np.log(PROBABILITIES)) + shift
    categorical = mgp.Categorical(3, logit=logit)
    batch = logit.shape[:-1]
    for event, prob in enumerate(PROBABILITIES):
        logarithm = categorical.log_prob(mx.np.full(batch, event))
        assert logarithm.shape == batch
        np.testing.assert_allclose(logarithm.asnumpy(), np.log(prob), rtol=1e-6)
        one_hot = mgp.OneHotCategorical(3, logit=logit)
        np.testing.assert_allclose(one_hot.log_prob(array(np.eye(3)[event])).asnumpy(), np.log(prob), rtol=1e-6)
    counts = mgp.Multinomial(3, logit=logit, total_count=5).log_prob(array([1.0, 1.0, 3.0]))
    np.testing.assert_allclose(counts.asnumpy(), -1.89712, rtol=1e-5)
    many = categorical.log_prob(mx.np.zeros((4, *batch)))
    assert many.shape == (4, *batch)


def test_samples_of_events():
    mx.random.seed(2)
    prob = array(PROBABILITIES, "float32")
    drawn = mgp.Categorical(3, prob=prob).sample_n(10000).asnumpy()
    np.testing.assert_allclose(np.bincount(drawn.astype(int)) / 10000, PROBABILITIES, atol=0.02)
    vectors = mgp.OneHotCategorical(3, prob=prob).sample((5000,)).asnumpy()
    np.testing.assert_allclose(vectors.mean(0), PROBABILITIES, atol=0.03)
    multinomial = mgp.Multinomial(3, prob=prob, total_count=10)
    counts = multinomial.sample_n(2000).asnumpy()
    assert (counts.sum(-1) == 10).all()
    np.testing.assert_allclose(counts.mean(0), multinomial.mean.asnumpy(), rtol=0.05)
    np.testing.assert_allclose(counts.var(0), multinomial.variance.asnumpy(), rtol=0.15)
    assert multinomial.sample((4,)).shape == (4, 3)
    np.testing.assert_array_equal(mgp.OneHotCategorical(3, prob=prob).enumerate_support().asnumpy(), np.eye(3))


def test_binomial():
    found = mgp.Binomial(6, prob=array([0.3]))
    np.testing.assert_allclose(found.log_prob(array([0.0, 2.0, 6.0])).asnumpy(), [-2.14005, -1.1266, -7.22384], 1e-5)
    assert (found.mean.item(), found.variance.item()) == pytest.approx((1.8, 1.26))
    mx.random.seed(6)
    assert mgp.Binomial(6, prob=array([0.3])).sample_n(5000).asnumpy().mean() == pytest.approx(1.8, rel=0.05)
    for n in (-1, 2.5):
        with pytest.raises(ValueError, match="non-negative integer"):
            mgp.Binomial(n, prob=0.5)


def test_relaxed_distributions():
    """Their densities integrate to 1, and their means go to those of what they stand for."""
    x = (np.arange(20000) + 0.5) / 20000
    density = mgp.RelaxedBernoulli(array(0.7), prob=array(0.3)).pdf(array(x)).asnumpy()
    assert density.mean() == pytest.approx(1, rel=1e-3)
    pairs = array(np.stack([x, 1 - x], -1))
    density = mgp.RelaxedOneHotCategorical(array(0.7), 2, prob=array([0.3, 0.7])).pdf(pairs).asnumpy()
    assert density.mean() == pytest.approx(1, rel=1e-3)
    mx.random.seed(7)
    assert mgp.RelaxedBernoulli(0.01, prob=0.3).sample((4000,)).asnumpy().mean() == pytest.approx(0.3, abs=0.03)
    vectors = mgp.RelaxedOneHotCategorical(0.01, 3, prob=array(PROBABILITIES, "float32")).sample((4000,)).asnumpy()
    np.testing.assert_allclose(vectors.mean(0), PROBABILITIES, atol=0.03)


@pytest.mark.parametrize("kind", [mgp.Bernoulli, mgp.Geometric, lambda **p: mgp.NegativeBinomial(2, **p), mgp.Binomial])
def test_probabilities_and_odds(kind):
    by_prob, by_logit = kind(prob=array([0.3])), kind(logit=array([math.log(0.3 / 0.7)]))
    np.testing.assert_allclose(by_prob.logit.asnumpy(), by_logit.logit.asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(by_logit.prob.asnumpy(), [0.3], rtol=1e-6)
    np.testing.assert_allclose(by_prob.log_prob(1.0).asnumpy(), by_logit.log_prob(1.0).asnumpy(), rtol=1e-6)
    for both in ({}, {"prob": 0.3, "logit": 0.0}):
        with pytest.raises(ValueError, match="Either `prob` or `logit` must be specified"):
            kind(**both)


def test_certain_and_extreme_bernoulli_events():
    certain = mgp.Bernoulli(prob=mx.np.array([0.0, 1.0]))
    np.testing.assert_allclose(certain.log_prob(mx.np.array([0.0, 1.0])).asnumpy(), [0, 0], atol=1e-6)
    extreme = mgp.Bernoulli(logit=mx.np.array([-200.0, 200.0]))
    np.testing.assert_allclose(extreme.log_prob(mx.np.array([1.0, 0.0])).asnumpy(), [-200, -200])
    np.testing.assert_allclose(extreme.entropy().asnumpy(), [0, 0], atol=1e-4)


# ---- what distributions share ----


def test_independent():
    base = mgp.Normal(mx.np.zeros((2, 3, 4)), mx.np.ones((2, 3, 4)))
    found = mgp.Independent(base, 2)
    assert found.event_dim == 2 and found.log_prob(mx.np.zeros((2, 3, 4))).shape == (2,)
    assert found.entropy().shape == (2,) and found.broadcast_to((5, 2)).sample().shape == (5, 2, 3, 4)
    with pytest.raises(NotImplementedError):
        mgp.Independent(mgp.Categorical(2, prob=mx.np.full((3, 2), 0.5)), 1).enumerate_support()


@pytest.mark.parametrize("name", SCIPY)
def test_broadcast_to(name):
    given = distribution(name)
    given.log_prob(array(SCIPY[name][1][0]))  # which may keep what it computes from parameters
    found = given.broadcast_to((3, 2))
    assert type(found) is getattr(mgp, name) and found.sample().shape == (3, 2)
    logarithms = found.log_prob(array(SCIPY[name][1][0]))
    np.testing.assert_allclose(logarithms.asnumpy(), np.full((3, 2), SCIPY[name][2][0]), rtol=2e-5)


def test_validation():
    with pytest.raises(ValueError, match="Constraint violated: .* should be > 0"):
        mgp.Normal(0.0, array([-1.0]), validate_args=True)
    with pytest.raises(ValueError, match="should be > 0"):
        mgp.Chi2(array([-1.0]), validate_args=True)
    with pytest.raises(ValueError, match="a multiple of 1 and >= 0"):
        mgp.Poisson(array([1.0]), validate_args=True).log_prob(array([0.5]))
    assert np.isneginf(mgp.Uniform(array(0.0), 1.0).log_prob(array([2.0])).asnumpy()).all()
    mgp.Distribution.set_default_validate_args(True)
    try:
        with pytest.raises(ValueError, match="should be > 0"):
            mgp.Normal(0.0, -1.0)
    finally:
        mgp.Distribution.set_default_validate_args(False)
    with pytest.raises(ValueError):
        mgp.Distribution.set_default_validate_args("yes")


def test_what_a_distribution_lacks_is_an_error():
    with pytest.raises(NotImplementedError):
        mgp.Poisson(2.0).entropy()
    with pytest.raises(NotImplementedError):
        mgp.Gamma(2.0).cdf(1.0)
    with pytest.raises(NotImplementedError):
        mgp.Normal().enumerate_support()


def test_repr():
    assert repr(mgp.Normal(mx.np.zeros((3,)), 1.0)) == "Normal(loc: size (3,), scale: size (), event_dim: 0)"
    assert repr(mgp.Bernoulli(prob=mx.np.zeros((3,)))) == "Bernoulli(prob: size (3,), logit: size None, event_dim: 0)"


def test_functions_of_numbers():
    assert mgp.gammaln()(0.5) == pytest.approx(0.572364943)
    assert mgp.digamma()(0.5) == pytest.approx(-1.96351003)
    assert mgp.erf()(0.5) == pytest.approx(0.520499878) and mgp.erfinv()(0.520499878) == pytest.approx(0.5)


def test_the_module_is_imported_when_it_is_asked_for():
    assert gluon.probability is mgp
