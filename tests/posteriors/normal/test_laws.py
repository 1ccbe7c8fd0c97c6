"""What the kernels are built from: the door, the moments, the conjugate draw."""

import numpy as np
import pytest
from scipy.stats import binomtest

from discreet.posteriors.normal.algebra_kernel import (
    at_door,
    conjugate,
    expand,
    from_moments,
    to_moments,
)
from discreet.posteriors.normal.latent_model import Observed, latent
from discreet.posteriors.normal.limit_kernel import moments
from discreet.posteriors.normal.linear_regression import Design, regression_model
from discreet.posteriors.normal.starts import normal_points


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


def test_quasi_random_moments_agree_with_monte_carlo(models, release_of):
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
