"""What `mx.gluon.probability` has beside distributions: divergences, constraints, transformations, blocks."""

import math

import numpy as np
import pytest

import amp.mxnet as mx
from amp.mxnet import autograd, gluon
from amp.mxnet.gluon import probability as mgp
from amp.mxnet.gluon.probability import constraint

pytestmark = pytest.mark.usefixtures("mxnet_2")


def array(values, dtype="float64"):
    return mx.np.array(values, dtype=dtype)


# ---- divergences ----

ALL = np.linspace(-60, 60, 240001)
POSITIVE = 120 * np.linspace(0, 1, 240001) ** 2 + 1e-12
SHARES = np.linspace(0, 1, 200001)[1:-1]
COUNTS = np.arange(400.0)
PAIRS = [  # class and parameters of p and of q, and where both are
    ("Normal", (0.5, 1.5), "Normal", (-0.3, 2.0), ALL),
    ("HalfNormal", (1.5,), "HalfNormal", (2.0,), POSITIVE),
    ("Laplace", (0.5, 1.5), "Laplace", (-0.3, 2.0), ALL),
    ("Gumbel", (0.5, 1.5), "Gumbel", (-0.3, 2.0), np.linspace(-15, 60, 200001)),
    ("Uniform", (0.5, 1.5), "Uniform", (-0.3, 2.0), np.linspace(0.5, 1.5, 200001)),
    ("Exponential", (1.5,), "Exponential", (2.0,), POSITIVE),
    ("Gamma", (2.5, 1.5), "Gamma", (1.5, 2.0), POSITIVE),
    ("Beta", (2.5, 1.5), "Beta", (1.5, 2.0), SHARES),
    ("Pareto", (2.5, 2.0), "Pareto", (1.5, 1.0), np.geomspace(2, 40000, 100001)),
    ("Uniform", (0.5, 1.5), "Normal", (-0.3, 2.0), np.linspace(0.5, 1.5, 200001)),
    ("Uniform", (0.5, 1.5), "Gumbel", (-0.3, 2.0), np.linspace(0.5, 1.5, 200001)),
    ("Exponential", (1.5,), "Gumbel", (-0.3, 2.0), POSITIVE),
    ("Exponential", (1.5,), "Normal", (-0.3, 2.0), POSITIVE),
    ("Exponential", (1.5,), "Gamma", (1.5, 2.0), POSITIVE),
    ("Poisson", (2.5,), "Poisson", (4.0,), COUNTS),
    ("Geometric", (0.3,), "Geometric", (0.6,), COUNTS),
    ("Bernoulli", (0.3,), "Bernoulli", (0.6,), COUNTS[:2]),
]


@pytest.mark.parametrize("p_name, p_args, q_name, q_args, x", PAIRS, ids=lambda part: part if type(part) is str else "")
def test_kl_divergence(p_name, p_args, q_name, q_args, x):
    p, q = getattr(mgp, p_name)(*map(array, p_args)), getattr(mgp, q_name)(*map(array, q_args))
    logarithms = p.log_prob(array(x)).asnumpy(), q.log_prob(array(x)).asnumpy()
    terms = np.exp(logarithms[0]) * (logarithms[0] - logarithms[1])
    is_discrete = len(x) <= len(COUNTS)
    expected = terms.sum() if is_discrete else ((terms[1:] + terms[:-1]) / 2 * np.diff(x)).sum()
    assert mgp.kl_divergence(p, q).item() == pytest.approx(expected, rel=2e-3)
    assert mgp.kl_divergence(p, p).item() == pytest.approx(0, abs=1e-6) if p_name == q_name else True


def test_kl_divergence_where_p_has_more_values():
    """There q's density is 0, and the divergence infinite."""
    assert math.isinf(mgp.kl_divergence(mgp.Uniform(array(0.0), 2.0), mgp.Uniform(array(0.0), 1.0)).item())
    assert math.isinf(mgp.kl_divergence(mgp.Pareto(array(2.0), 1.0), mgp.Pareto(array(2.0), 2.0)).item())
    assert math.isinf(mgp.kl_divergence(mgp.Binomial(5, array(0.5)), mgp.Binomial(4, array(0.5))).item())


@pytest.mark.parametrize("n", [5, 7])
def test_kl_divergence_of_binomials(n):
    p, q, x = mgp.Binomial(5, array(0.3)), mgp.Binomial(n, array(0.4)), array(np.arange(6.0))
    logarithms = p.log_prob(x).asnumpy(), q.log_prob(x).asnumpy()
    expected = (np.exp(logarithms[0]) * (logarithms[0] - logarithms[1])).sum()
    assert mgp.kl_divergence(p, q).item() == pytest.approx(expected, rel=1e-5)


def test_kl_divergence_of_vectors():
    probabilities = array([0.2, 0.3, 0.5]), array([0.5, 0.25, 0.25])
    expected = sum(p * math.log(p / q) for p, q in zip(*(v.asnumpy() for v in probabilities)))
    for kind in (mgp.Categorical, mgp.OneHotCategorical):
        found = mgp.kl_divergence(*(kind(3, prob=prob) for prob in probabilities))
        assert found.item() == pytest.approx(expected, rel=1e-5)
    p, q = (mgp.Cauchy(array(loc), scale) for loc, scale in ((0.5, 1.5), (-0.3, 2.0)))
    assert mgp.kl_divergence(p, q).item() == pytest.approx(math.log((3.5**2 + 0.8**2) / 12))
    mx.random.seed(1)
    alphas = [array([1.5, 2.0, 3.0]), array([2.0, 2.0, 1.0])]
    p, q = map(mgp.Dirichlet, alphas)
    assert mgp.empirical_kl(p, q, 20000).item() == pytest.approx(mgp.kl_divergence(p, q).item(), rel=0.05)


def test_kl_divergence_of_multivariate_normals():
    means = np.array([0.5, -1.0]), np.array([0.0, 0.3])
    covariances = np.array([[2.0, 0.6], [0.6, 1.0]]), np.array([[1.0, -0.3], [-0.3, 1.5]])
    inverse, distance = np.linalg.inv(covariances[1]), means[1] - means[0]
    log_ratio = np.log(np.linalg.det(covariances[1]) / np.linalg.det(covariances[0]))
    expected = 0.5 * (log_ratio + np.trace(inverse @ covariances[0]) + distance @ inverse @ distance - 2)
    p, q = (mgp.MultivariateNormal(array(mean), cov=array(cov)) for mean, cov in zip(means, covariances))
    assert mgp.kl_divergence(p, q).item() == pytest.approx(expected, rel=1e-6)


def test_registered_divergences():
    class Mine(mgp.Normal):
        pass

    with pytest.raises(NotImplementedError, match="between Mine and Normal is not implemented"):
        mgp.kl_divergence(Mine(), mgp.Normal())
    mgp.register_kl(Mine, mgp.Normal)(lambda p, q: "first")
    mgp.register_kl(Mine, mgp.Normal)(lambda p, q: "second")
    assert mgp.kl_divergence(Mine(), mgp.Normal()) == "first"
    with pytest.raises(TypeError, match="exactly two arguments, but got 1"):
        mgp.register_kl(Mine, Mine)(lambda p: 0)


# ---- constraints ----


@pytest.mark.parametrize(
    "kind, good, bad",
    [
        (constraint.Real(), [1.0, -1.0], [math.nan]),
        (constraint.Boolean(), [0.0, 1.0], [0.5]),
        (constraint.Interval(0, 1), [0.0, 1.0], [1.1]),
        (constraint.OpenInterval(0, 1), [0.5], [0.0]),
        (constraint.HalfOpenInterval(0, 1), [0.0], [1.0]),
        (constraint.UnitInterval(), [1.0], [-0.1]),
        (constraint.IntegerInterval(0, 3), [0.0, 3.0], [0.5]),
        (constraint.IntegerOpenInterval(0, 3), [1.0, 2.0], [3.0]),
        (constraint.IntegerHalfOpenInterval(0, 3), [0.0, 2.0], [3.0]),
        (constraint.GreaterThan(1), [1.1], [1.0]),
        (constraint.GreaterThanEq(1), [1.0], [0.9]),
        (constraint.LessThan(1), [0.9], [1.0]),
        (constraint.LessThanEq(1), [1.0], [1.1]),
        (constraint.IntegerGreaterThan(1), [2.0], [1.0]),
        (constraint.IntegerGreaterThanEq(1), [1.0], [1.5]),
        (constraint.IntegerLessThan(1), [0.0], [1.0]),
        (constraint.IntegerLessThanEq(1), [1.0], [0.5]),
        (constraint.PositiveInteger(), [1.0], [0.0]),
        (constraint.NonNegativeInteger(), [0.0], [-1.0]),
        (constraint.Simplex(), [0.25, 0.75], [0.5, 0.6]),
        (constraint.LowerTriangular(), [[1.0, 0.0], [2.0, -1.0]], [[1.0, 1.0], [0.0, 1.0]]),
        (constraint.LowerCholesky(), [[1.0, 0.0], [2.0, 1.0]], [[1.0, 0.0], [2.0, -1.0]]),
        (constraint.PositiveDefinite(), [[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]),
        (
            constraint.Cat([constraint.Positive(), constraint.Real()], lengths=[2, 1]),
            [1.0, 2.0, -1.0],
            [1.0, -2.0, 1.0],
        ),
        (constraint.Stack([constraint.Positive(), constraint.Real()], axis=-1), [[1.0, -1.0]], [[-1.0, 1.0]]),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, constraint.Constraint) else "",
)
def test_constraints(kind, good, bad):
    np.testing.assert_array_equal(kind.check(array(good)).asnumpy(), good)
    with pytest.raises(ValueError, match="Constraint violated"):
        kind.check(array(bad))
    if np.ndim(good[0]) == 0 and len(good) <= 2 and not isinstance(kind, (constraint.Simplex, constraint.Stack)):
        assert kind.check(good[0]) == good[0]
        with pytest.raises(ValueError, match="Constraint violated"):
            kind.check(bad[0])


def test_dependent_constraints():
    assert constraint.is_dependent(vars(mgp.Pareto)["support"]) and not constraint.is_dependent(constraint.Real())
    with pytest.raises(ValueError, match="depends on parameters"):
        vars(mgp.Pareto)["support"].check(1)
    with pytest.raises(AssertionError):
        constraint.Cat([constraint.Real()], lengths=[1, 2])


# ---- transformations ----

TRANSFORMATIONS = {
    "exp": (mgp.ExpTransform, 1),
    "affine": (lambda: mgp.AffineTransform(1.0, array(-2.0)), -1),
    "power": (lambda: mgp.PowerTransform(3.0), 1),
    "sigmoid": (mgp.SigmoidTransform, 1),
    "composed": (lambda: mgp.ComposeTransform([mgp.AffineTransform(0.5, -0.3), mgp.ExpTransform()]), -1),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_transformations(name):
    make, sign = TRANSFORMATIONS[name]
    transform, x = make(), array([0.3, 0.7, 1.5])
    y = transform(x)
    np.testing.assert_allclose(transform.inv(y).asnumpy(), x.asnumpy(), rtol=1e-6)
    assert transform.inv.inv is transform and transform.bijective and float(transform.sign) == sign
    slope = (transform(x + 1e-6).asnumpy() - transform(x - 1e-6).asnumpy()) / 2e-6
    np.testing.assert_allclose(transform.log_det_jacobian(x, y).asnumpy(), np.log(np.abs(slope)), rtol=1e-5, atol=1e-6)
    back = transform.inv.log_det_jacobian(y, x).asnumpy()
    np.testing.assert_allclose(back, -transform.log_det_jacobian(x, y).asnumpy(), rtol=1e-6)


def test_sums_over_event_axes():
    transform = mgp.AffineTransform(0.0, 2.0, event_dim=1)
    assert transform.log_det_jacobian(mx.np.ones((2, 3)), None).asnumpy() == pytest.approx([3 * math.log(2)] * 2)
    both = mgp.ComposeTransform([transform, mgp.ExpTransform()])
    assert both.event_dim == 1 and both.log_det_jacobian(mx.np.ones((2, 3)), mx.np.ones((2, 3))).shape == (2,)
    assert mgp.ComposeTransform([]).log_det_jacobian(mx.np.ones((2,)), None).asnumpy().tolist() == [0, 0]


def test_transformed_distribution():
    """A falling transformation: 1 - x of uniform numbers."""
    falling = mgp.TransformedDistribution(mgp.Uniform(array(0.0), 2.0), mgp.AffineTransform(1.0, -1.0))
    assert falling.cdf(array(0.5)).item() == pytest.approx(0.75) and falling.icdf(array(0.75)).item() == 0.5
    assert falling.log_prob(array(0.5)).item() == pytest.approx(-math.log(2))
    for found in (mgp.SoftmaxTransform(), mgp.AbsTransform()):
        with pytest.raises(NotImplementedError):
            found.log_det_jacobian(array([1.0]), array([1.0]))


def test_blocks_that_transform():
    class Flow(mgp.TransformBlock):
        def __init__(self):
            super().__init__()
            self.scale = gluon.Parameter("scale", shape=(1,), init="one")

        def _forward_compute(self, x):
            return x * self.scale.data()

    flow = Flow()
    flow.initialize()
    assert flow(mx.np.array([3.0])).item() == 3 and list(flow.collect_params()) == ["scale"]


@pytest.mark.parametrize("domains", [mgp.biject_to, mgp.transform_to], ids=["biject_to", "transform_to"])
def test_domain_maps(domains):
    x = array([-3.0, 0.0, 3.0])
    low, high = array([1.0, 2.0, 3.0]), array([2.0, 5.0, 9.0])
    for kind in (constraint.Positive(), constraint.GreaterThan(low), constraint.GreaterThanEq(low)):
        kind.check(domains(kind)(x))
    for kind in (constraint.LessThan(high), constraint.UnitInterval(), constraint.Interval(low, high)):
        kind.check(domains(kind)(x))
    with pytest.raises(NotImplementedError):
        domains(constraint.Simplex())
    with pytest.raises(TypeError):
        domains.register(int, mgp.ExpTransform)


def test_own_domain_map():
    class Even(constraint.Constraint):
        pass

    domains = mgp.domain_map()

    @domains.register(Even())
    def to_even(kind):
        return mgp.AffineTransform(0, 2)

    assert domains(Even())(array([1.0])).item() == 2


# ---- blocks ----


class Sampled(mgp.StochasticBlock):
    @mgp.StochasticBlock.collectLoss
    def forward(self, loc, scale):
        posterior = mgp.Normal(loc, scale)
        self.add_loss(mgp.kl_divergence(posterior, mgp.Normal(mx.np.zeros_like(loc), mx.np.ones_like(scale))))
        self.add_loss((loc**2).sum(1))
        return posterior.sample()


@pytest.mark.parametrize("is_hybrid", [False, True])
def test_losses_of_a_block(is_hybrid, tmp_path):
    block = Sampled()
    block.hybridize(is_hybrid)
    loc, scale = mx.np.full((2, 3), 2.0), mx.np.ones((2, 3))
    loc.attach_grad()
    for _ in range(2):
        with autograd.record():
            drawn = block(loc, scale)
            total = sum(loss.sum() for loss in block.losses)
        total.backward()
        assert drawn.shape == (2, 3) and [loss.shape for loss in block.losses] == [(2, 3), (2,)]
        np.testing.assert_allclose(block.losses[0].asnumpy(), np.full((2, 3), 2.0), rtol=1e-6)
        np.testing.assert_allclose(block.losses[1].asnumpy(), [12, 12])
        np.testing.assert_allclose(loc.grad.asnumpy(), np.full((2, 3), 6.0), rtol=1e-6)
    if is_hybrid:
        assert block._refusal is None
        block.export(str(tmp_path / "sampled"), epoch=0)


class Squared(mgp.StochasticBlock):
    @mgp.StochasticBlock.collectLoss
    def forward(self, x):
        self.add_loss(x**2)
        return x + 1


@pytest.mark.parametrize("is_hybrid", [False, True])
def test_sequence_of_blocks(is_hybrid):
    net = mgp.StochasticSequential()
    net.add(Squared(), gluon.nn.Activation("relu"), Squared())
    net.hybridize(is_hybrid)
    for _ in range(2):
        assert net(mx.np.array([2.0])).item() == 4
        assert [[loss.item() for loss in losses] for losses in net.losses] == [[4], [9]]
    assert len(net) == 3 and isinstance(net[0], Squared) and len(net[1:]) == 2
    assert "Squared" in repr(net)


@pytest.mark.parametrize("is_hybrid", [False, True])
def test_a_forward_that_is_not_decorated(is_hybrid):
    class Plain(mgp.StochasticBlock):
        def forward(self, x):
            self.add_loss(x)
            return x

    net = mgp.StochasticSequential()
    net.add(Plain())
    for block in (Plain(), net):
        block.hybridize(is_hybrid)
        with pytest.raises(ValueError, match="StochasticBlock.collectLoss"):
            block(mx.np.ones((2,)))


# ---- what distributions draw with ----


def test_sizes_in_front_of_parameters():
    loc = mx.np.zeros((3,))
    assert mx.np.random.normal(loc, 1, (-2, 4)).shape == (4, 3)
    assert mx.np.random.uniform(0, 1, (-2, 4, 2)).shape == (4, 2)
    assert mx.np.random.gamma(loc + 1, 1, size=(-2, 4)).shape == (4, 3)
    assert mx.npx.random.bernoulli(loc, size=(-2, 4)).shape == (4, 3)
    assert mgp.sample_n_shape_converter((4, 5)) == (-2, 4, 5) and mgp.sample_n_shape_converter(()) is None


def test_poisson_functions():
    mx.random.seed(1)
    assert mx.npx.scalar_poisson(4.0).shape == () and mx.npx.scalar_poisson(4.0, 3).shape == (3,)
    drawn = mx.npx.tensor_poisson(mx.np.array([1.0, 50.0]), (4000,))
    assert drawn.shape == (2, 4000) and drawn.asnumpy().mean(1) == pytest.approx([1, 50], rel=0.05)


def test_bernoulli_numbers_in_a_graph():
    class Drawn(gluon.HybridBlock):
        def forward(self, prob):
            return mx.npx.random.bernoulli(prob), mx.npx.random.bernoulli(logit=prob * 0)

    mx.random.seed(1)
    block = Drawn()
    block.hybridize()
    sure, even = block(mx.np.concatenate([mx.np.zeros((500,)), mx.np.ones((500,))]))
    assert block._refusal is None and sure.asnumpy().tolist() == [0] * 500 + [1] * 500
    assert even.asnumpy().mean() == pytest.approx(0.5, abs=0.06)


def test_laplace_numbers_in_a_graph():
    class Drawn(gluon.HybridBlock):
        def forward(self, loc, scale):
            return mx.np.random.laplace(loc, scale), mx.np.random.laplace(1.0, 2.0, size=(3,), dtype="float64")

    mx.random.seed(1)
    block = Drawn()
    block.hybridize()
    loc, scale = mx.np.full((4000,), 3.0), mx.np.full((4000,), 2.0)
    loc.attach_grad()
    scale.attach_grad()
    with autograd.record():
        drawn, numbers = block(loc, scale)
    drawn.backward()
    assert block._refusal is None and numbers.shape == (3,) and numbers.dtype == np.float64
    assert drawn.asnumpy().mean() == pytest.approx(3, abs=0.2) and drawn.asnumpy().var() == pytest.approx(8, rel=0.15)
    assert (loc.grad.asnumpy() == 1).all()
    np.testing.assert_allclose(scale.grad.asnumpy(), (drawn.asnumpy() - 3) / 2, rtol=1e-4, atol=1e-5)
