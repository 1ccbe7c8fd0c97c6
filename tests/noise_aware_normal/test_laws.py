"""What the kernels are built from: the door, the moments, the convolutions, the conjugate draw."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binomtest, norm

from discreet.inference.noise_aware_normal_algebra import (
    at_door,
    conjugate,
    expand,
    from_moments,
    to_moments,
)
from discreet.inference.noise_aware_normal_kernel import moments
from discreet.inference.noise_aware_normal_model import Observed, latent
from discreet.inference.noise_aware_normal_moments import (
    clipped_moments,
    log_gaussian,
    log_laplace,
    log_normal_laplace,
)
from discreet.inference.noise_aware_normal_starts import normal_points
from discreet.inference.noise_aware_regression import Design, regression_model


def model_of(family):
    return regression_model(family, Design()) if family.name.endswith("regression") else latent(family)


def test_a_record_at_the_door_is_what_the_family_counts(model):
    inner, rng = model_of(model), np.random.default_rng(1)
    d = inner.columns
    rows = rng.normal(0, 1, (300, d)) * np.exp(rng.normal(0, 1.5, (300, 1)))  # a third is clipped
    total, s = np.zeros(model.units.size), np.zeros(model.units.size)
    for row in rows:
        q = (row - inner.grid[0]) * inner.grid[1]
        at_door(q, inner.door, inner.balance, s)
        total += s
    assert np.array_equal(
        total, model.statistic(rows[:, 0] if d == 1 and model.name.endswith("gamma") else rows)
    )


@pytest.mark.parametrize(
    ("mu", "sigma"),
    [(0.3, 0.5), (-1.5, 2.0), (9.0, 0.2), (0.9, 0.001), (3.0, 50.0), (0.0, 1e5), (-40.0, 9.0)],
)
def test_moments_of_clipped_records(mu, sigma):
    low, high = -1.0, 2.0

    def moment(k):
        breaks = np.clip([mu - 8 * sigma, mu, mu + 8 * sigma], low, high)
        inside = sum(
            quad(lambda x: x**k * norm.pdf(x, mu, sigma), a, b, epsabs=1e-14)[0]
            for a, b in zip([low, *breaks], [*breaks, high], strict=True)
        )
        return inside + low**k * norm.cdf(low, mu, sigma) + high**k * norm.sf(high, mu, sigma)

    e = [moment(k) for k in range(1, 5)]
    mean, covariance = clipped_moments(np.array(mu), np.array(sigma), low, high)
    cross = e[2] - e[0] * e[1]
    assert mean == pytest.approx(e[:2], abs=1e-9)
    wanted = np.array([[e[1] - e[0] ** 2, cross], [cross, e[3] - e[1] ** 2]])
    assert covariance == pytest.approx(wanted, abs=1e-9)


def test_quasi_random_moments_agree_with_closed_form_and_with_monte_carlo(models, release_of):
    rng = np.random.default_rng(2)
    for family, rows in (
        (models["gamma"], rng.normal(0, 1, 9)),
        (models["wishart"], rng.normal(0, 1, (9, 2))),
    ):
        inner = latent(family)
        seen = Observed.of(release_of(family, rows, rng, 1.0), family).seen(inner)
        d, size = inner.columns, family.units.size
        phi = np.array([0.4, -0.1] if d == 1 else [0.4, -0.6, -0.1, -0.3, 0.5])
        mu, L, m, V = np.zeros(d), np.zeros((d, d)), np.zeros(size), np.zeros((size, size))
        expand(phi, inner.layout, mu, L)
        moments(normal_points(d, 10_000), mu, L, 0, seen, inner.grid, m, V)
        z = mu + rng.standard_normal((200_000, d)) @ L.T
        s = np.array(
            [family.statistic(part[:, 0] if d == 1 else part) / len(part) for part in np.split(z, 2000)]
        )
        error = s.std(axis=0) / np.sqrt(len(s))
        assert np.all(
            abs(m - s.mean(axis=0)) < 4.5 * error + 2e-3 * np.sqrt(np.diag(V))
        )  # 7 looks: below 1e-4
        assert np.diag(V) == pytest.approx(100 * s.var(axis=0), rel=0.12)
        if d == 1:
            low, high = inner.door[:2] / inner.grid[1]
            mean, covariance = clipped_moments(mu[0] - inner.grid[0], np.array(L[0, 0]), low, high)
            assert m * family.units == pytest.approx(mean, abs=5e-4)
            assert V * np.outer(family.units, family.units) == pytest.approx(covariance, rel=5e-3)


def test_convolutions_of_the_noise():
    covariance = np.array([[1.3, 0.9], [0.9, 1.7]])
    scales, gap = np.array([0.8, 1.9]), np.array([1.1, -2.4])
    t = np.linspace(-30, 30, 1501)
    e1, e2 = np.meshgrid(t, t, indexing="ij")
    kernel = np.exp(log_gaussian(np.stack([gap[0] - e1, gap[1] - e2], -1), covariance, np.zeros(2)))
    for factor, close in ((1.0, True), (1.05, False)):  # and the check can tell a scale 5 % off
        b = factor * scales
        noise = np.exp(-abs(e1) / b[0] - abs(e2) / b[1]) / (4 * b[0] * b[1])
        brute = np.log((kernel * noise).sum() * (t[1] - t[0]) ** 2)
        assert bool(abs(log_laplace(gap, covariance, scales) - brute) < 1e-3) is close
    x = np.linspace(-300, 300, 400_001)
    density = np.exp(log_normal_laplace(x, np.full(x.size, 2.0), 3.0))
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-9)
    assert np.trapezoid(density * x**2, x) == pytest.approx(2 + 2 * 9, abs=1e-6)


def test_the_conjugate_draw_is_the_family_posterior(model):
    """P(θ_j below its 10 % and 90 % points) over 4000 draws; 20 binomial tests at 1e-5: error below 2e-4."""
    inner, rng = model_of(model), np.random.default_rng(3)
    d, n, draws = inner.columns, 25, 4000
    rows = rng.normal(0.1, 0.4, (n, d))  # none is clipped, and the grid is fine
    exact = model.update(model.statistic(rows[:, 0] if d == 1 else rows), n)
    phi = np.zeros((draws, inner.size))
    for row in phi:
        conjugate(rng, row, inner.layout, inner.prior, n, rows.sum(axis=0), rows.T @ rows)
    below = inner.theta(phi)[..., None] < exact.interval(0.8)
    for j, tail in np.ndindex(below.shape[1:]):
        assert binomtest(int(below[:, j, tail].sum()), draws, [0.1, 0.9][tail]).pvalue > 1e-5
    wrong = inner.theta(phi)[..., None] < model.update(
        model.statistic(rows[:10, 0] if d == 1 else rows[:10]), 10
    ).interval(0.8)
    assert (
        min(binomtest(int(c), draws, 0.1).pvalue for c in wrong[..., 0].sum(axis=0)) < 1e-5
    )  # ten records: told apart


@pytest.mark.parametrize("p", [1, 2, 3])
def test_the_volume_of_the_walk_in_second_moments(p):
    layout, rng = (0, p, 1), np.random.default_rng(p)
    psi = rng.standard_normal(p + p * (p + 1) // 2 + p + 1)
    phi, back = np.empty_like(psi), np.empty_like(psi)
    volume = from_moments(psi, layout, phi)
    to_moments(phi, layout, back)
    np.testing.assert_allclose(back, psi, rtol=1e-10)

    def moved(i, by):
        out, there = np.empty_like(psi), psi.copy()
        there[i] += by
        from_moments(there, layout, out)
        return out

    slope = np.stack([(moved(i, 1e-5) - moved(i, -1e-5)) / 2e-5 for i in range(psi.size)])
    assert volume == pytest.approx(np.linalg.slogdet(slope)[1], abs=1e-7)


def test_where_the_mean_is_told_the_walk_is_in_the_parameters_themselves():
    psi = np.random.default_rng(4).standard_normal(8)
    for layout in [(0, 2, 0), (1, 2, 1)]:
        phi = np.empty_like(psi)
        assert from_moments(psi, layout, phi) == 0.0
        np.testing.assert_array_equal(phi, psi)
