"""The quick formulas of planning equal the families' own exact objects, for every family."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.registry import EXAMPLES
from discreet.mechanisms.posterior.one_posterior_sample import OnePosteriorSample
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning.marginals import (
    QUANTILE,
    REACH,
    atoms,
    beta,
    gamma,
    inverse_gamma,
    masses,
    normal,
    stacked,
    student,
    truncated_beta,
)
from discreet.planning.posterior_arrays import (
    coordinates,
    gradient,
    kl,
    log_partition,
    marginals,
    read,
    updated,
)
from discreet.planning.predicted_release import truncated
from discreet.planning.simulated_data import cases
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.sampling.source import SeededSource

N = 40
FAMILIES = [
    pytest.param(model, data, id=f"{type(model).__name__}{i}") for i, (model, data) in enumerate(EXAMPLES)
]


def slow(function):
    """The default of a dispatched function: through the family's own objects."""
    return function.dispatch(object)


def nodes_of(model):
    return cases(model, N, simulations=16, seed=3)


@pytest.mark.parametrize(("model", "data"), FAMILIES)
def test_posteriors(model, data):
    nodes = nodes_of(model)
    for weight in (1, 0.25):
        quick = updated(model, nodes.statistics, N, weight)
        exact = slow(updated)(model, nodes.statistics, N, weight)
        assert quick == pytest.approx(exact, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("model", "data"), FAMILIES)
@pytest.mark.parametrize("relation", [SUBSTITUTE, ADD_REMOVE])
def test_naive_readings(model, data, relation):
    n = N if relation is SUBSTITUTE else None
    scale = 3 * model.joint_sensitivity().linf
    mechanism = NoisyStatistics(model, n=n, noise="laplace", scale=scale, relation=relation)
    release = mechanism.as_release((), seeded=True)
    nodes = nodes_of(model)
    whole = nodes.statistics.astype(np.int64)
    values = np.array([model.joint(s, N) for s in whole]) if release.joint else nodes.statistics
    noisy = values + np.random.default_rng(5).laplace(scale=scale, size=values.shape)
    assert read(model, noisy, release) == pytest.approx(slow(read)(model, noisy, release), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("model", "data"), FAMILIES)
def test_marginals_are_the_family_s(model, data):
    eta = updated(model, nodes_of(model).statistics, N)
    law = marginals(model, eta)
    members = [model.from_natural(row) for row in eta]
    mean = coordinates(model, np.array([m.mean() for m in members]))
    variance = coordinates(model, np.array([m.variance() for m in members]))
    assert law.mean == pytest.approx(mean, rel=1e-9)
    assert law.variance == pytest.approx(variance, rel=1e-8)
    if "Wishart" in type(model).__name__:  # its own intervals hold more coordinates, and take a while
        inner = np.atleast_2d(members[0].interval(0.9))[[0, 1, 2, 4]]
        ours = np.stack([law.quantile(0.05)[0], law.quantile(0.95)[0]], axis=-1)
        assert ours == pytest.approx(inner, rel=1e-7)
        return
    ends = np.array([np.atleast_2d(m.interval(0.9)) for m in members])
    assert law.quantile(0.05) == pytest.approx(ends[..., 0], rel=1e-8)
    assert law.quantile(0.95) == pytest.approx(ends[..., 1], rel=1e-8)


@pytest.mark.parametrize(("model", "data"), FAMILIES)
def test_divergence(model, data):
    eta = updated(model, nodes_of(model).statistics, N)
    assert log_partition(model, eta) == pytest.approx(slow(log_partition)(model, eta), rel=1e-9, abs=1e-9)
    assert gradient(model, eta) == pytest.approx(slow(gradient)(model, eta), rel=1e-9, abs=1e-9)
    other = np.roll(eta, 1, axis=0)
    assert kl(model, eta, eta) == pytest.approx(0, abs=1e-8)
    moved = np.any(np.abs(eta - other) > 1e-9, axis=1)
    assert np.all(kl(model, eta, other)[moved] > 0)


@pytest.mark.parametrize(("model", "data"), FAMILIES)
def test_records_one_by_one_add_up(model, data):
    assert np.array_equal(model.each(data).sum(axis=0), model.statistic(data))


LAWS = {
    "beta": (beta(np.array([[2.5]]), np.array([[4.0]])), stats.beta(2.5, 4.0), 0.3),
    "gamma": (gamma(np.array([[3.5]]), np.array([[2.0]])), stats.gamma(3.5, scale=0.5), 1.2),
    "inverse gamma": (
        inverse_gamma(np.array([[4.5]]), np.array([[2.0]])),
        stats.invgamma(4.5, scale=2.0),
        0.7,
    ),
    "normal": (normal(np.array([[1.0]]), np.array([[2.0]])), stats.norm(1, 2), 0.4),
    "student": (
        student(np.array([[5.0]]), np.array([[1.0]]), np.array([[2.0]])),
        stats.t(5, 1, 2),
        0.4,
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_moments_against_quadrature(name):
    law, scipy, t = LAWS[name]
    at = np.array([[t]])
    low, high = scipy.ppf(1e-15), scipy.ppf(1 - 1e-13)
    below = integrate.quad(lambda x: x * scipy.pdf(x), low, t, epsabs=1e-12)[0]
    absolute = integrate.quad(lambda x: abs(x - t) * scipy.pdf(x), low, high, points=[t], limit=400)[0]
    assert law.mean[0, 0] == pytest.approx(scipy.mean())
    assert law.variance[0, 0] == pytest.approx(scipy.var())
    assert law.cdf(at)[0, 0] == pytest.approx(scipy.cdf(t))
    assert law.quantile(0.3)[0, 0] == pytest.approx(scipy.ppf(0.3))
    assert law.below(at)[0, 0] == pytest.approx(below, rel=1e-4)  # heavy tails are cut in the quadrature
    assert law.absolute(at)[0, 0] == pytest.approx(absolute, rel=1e-4)
    assert law.square(at)[0, 0] == pytest.approx(scipy.var() + (scipy.mean() - t) ** 2)


def test_stacked_laws_keep_their_columns():
    parts = [LAWS[name][0] for name in ("beta", "normal")]
    both, at = stacked(*parts), np.array([[0.3, 0.4]])
    for i, part in enumerate(parts):
        one = at[:, i : i + 1]
        assert both.absolute(at)[0, i] == part.absolute(one)[0, 0]
        assert both.square(at)[0, i] == part.square(one)[0, 0]
        assert both.quantile(0.2)[0, i] == part.quantile(0.2)[0, 0]


def test_atoms_are_points():
    law, at = atoms(np.array([[0.2], [0.7]])), np.full((2, 1), 0.5)
    assert law.absolute(at)[:, 0] == pytest.approx([0.3, 0.2])
    assert law.square(at)[:, 0] == pytest.approx([0.09, 0.04])


@pytest.mark.parametrize(
    ("a", "b"), [(0.5, 0.5), (1.0, 1.0), (3.0, 7.0), (0.5, 90.0), (30.0, 900.0), (4e4, 6e4), (1.0, 5e5)]
)
def test_truncated_beta(a, b):
    """Against scipy's quad of the density relative to its peak; the last laws lie outside the truncation."""
    low, high = 0.05, 0.95
    law = truncated_beta(np.array([[a]]), np.array([[b]]), low, high)
    mean = float(law.mean[0, 0])
    peak = np.clip((a - 1) / (a + b - 2) if a > 1 and b > 1 else mean, low, high)

    def density(x):
        return np.exp((a - 1) * np.log(x / peak) + (b - 1) * np.log((1 - x) / (1 - peak)))

    reach = 40 * float(law.variance[0, 0]) ** 0.5
    ends = max(low, mean - reach), min(high, mean + reach)
    total, first, second = (
        integrate.quad(lambda x, k=k: (x - mean) ** k * density(x), *ends, limit=500, points=[mean])[0]
        for k in range(3)
    )
    assert first / total == pytest.approx(0, abs=2e-4 * float(law.variance[0, 0]) ** 0.5)
    assert law.variance[0, 0] == pytest.approx(second / total, rel=4e-4)
    under = integrate.quad(density, ends[0], mean, limit=500)[0] / total
    assert law.cdf(np.array([[mean]]))[0, 0] == pytest.approx(under, abs=1e-4)
    assert law.quantile(under)[0, 0] == pytest.approx(mean, rel=2e-2)


@pytest.mark.parametrize("counts", [[300, 200, 100], [595, 5, 0]], ids=["likely", "rare"])
def test_truncated_dirichlet_draws(counts):
    """Rejection and the exact sampler: means of 2000 draws agree with exact ones at 5 standard errors."""
    model = DirichletCategorical([1, 1, 1])
    mechanism = OnePosteriorSample(model, n=600, truncation=0.05, temperature=6)
    added = np.repeat(np.array([counts], dtype=float) / 6, 300, axis=0)
    ours = truncated(model, added, mechanism, seed=4).mean
    exact = np.asarray(mechanism._private_posterior(counts).sample(2000, SeededSource(8)))
    assert np.all(ours >= 0.05 - 1e-9)
    error = ours.std(axis=0) * math.sqrt(1 / len(ours) + 1 / len(exact))
    assert np.all(np.abs(ours.mean(axis=0) - exact.mean(axis=0)) < 5 * error)
    whole = model.update(counts, 600, weight=1 / 6).mean()  # negative control: without the truncation
    assert counts[2] or np.any(np.abs(ours.mean(axis=0) - whole) > 5 * error)


@pytest.mark.parametrize("scale", [0.3, 2.0, 10.0, 63.0, 65.0])
@pytest.mark.parametrize("noise", REACH)
def test_discrete_noise_quantiles_invert_the_mass(noise, scale):
    support, mass = masses(noise, scale)
    exact = np.exp(-np.abs(support) / scale) if "laplace" in noise else np.exp(-(support**2) / (2 * scale**2))
    assert mass == pytest.approx(exact / exact.sum(), rel=1e-9)
    u = (np.arange(20_000) + 0.5) / 20_000
    drawn = QUANTILE[noise](scale, u)
    for k in (-2, -1, 0, 1, 3):
        assert np.mean(drawn == k) == pytest.approx(float(mass[support == k][0]), abs=1.1e-4)


@pytest.mark.parametrize(("noise", "law"), [("laplace", stats.laplace), ("gaussian", stats.norm)])
def test_real_noise_quantiles(noise, law):
    u = np.array([1e-9, 0.2, 0.5, 0.9, 1 - 1e-9])
    assert QUANTILE[noise](3.0, u) == pytest.approx(law(scale=3.0).ppf(u))
