"""Projections land in the hull, leave the hull alone, and always leave a posterior."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from discreet.families import DirichletCategorical, NormalInverseGamma, NormalInverseWishart
from discreet.families.laws.matrices import unpack
from discreet.families.registry import EXAMPLES

examples = pytest.mark.parametrize(("prior", "data"), EXAMPLES, ids=lambda x: getattr(x, "name", ""))


@examples
def test_true_statistics_stay_put(prior, data):
    statistic = prior.statistic(data)
    projected = prior.project(statistic, len(data))
    np.testing.assert_allclose(projected, statistic, rtol=1e-9, atol=1e-9 * np.abs(statistic).max())
    np.testing.assert_allclose(prior.project(projected, len(data)), projected, rtol=1e-9, atol=1e-6)


@examples
def test_every_projection_has_a_posterior(prior, data):
    """Noise of any size, n of any kind: update(project(Ŝ, n), n) exists."""
    size, scale = prior.units.size, float(prior.joint_sensitivity().linf)

    @settings(deadline=None, max_examples=60, derandomize=True, database=None)
    @given(
        st.lists(st.floats(-20, 20), min_size=size, max_size=size),
        st.one_of(st.integers(0, 6), st.floats(0, 7)),
        st.sampled_from([1e-3, 1, 1e3]),
    )
    def law(noise, n, spread):
        projected = prior.project(np.array(noise) * scale * spread, n)
        posterior = prior.update(projected, n)
        assert np.all(np.isfinite(posterior.natural))

    law()


def test_simplex_projection_is_the_nearest_point():
    prior, noisy = DirichletCategorical([1, 1, 1, 1]), np.array([3.5, -2.0, 1.0, 0.2])
    found = prior.project(noisy, 4)
    assert found.sum() == pytest.approx(4)
    best = minimize(
        lambda s: ((s - noisy) ** 2).sum(),
        np.ones(4),
        bounds=[(0, None)] * 4,
        constraints={"type": "eq", "fun": lambda s: s.sum() - 4},
        tol=1e-14,
    )
    np.testing.assert_allclose(found, best.x, atol=1e-6)
    assert prior.project(noisy, 0).tolist() == [0, 0, 0, 0]


def test_large_simplex_projection():
    d = 10**6
    prior = DirichletCategorical(np.ones(d))
    noisy = np.random.default_rng(2).normal(3, 40, d)
    found = prior.project(noisy, 3 * d)
    assert found.min() == 0
    assert found.sum() == pytest.approx(3 * d, rel=1e-9)
    kept = found > 0
    assert np.ptp((noisy - found)[kept]) < 1e-6  # KKT: one shift for all that stay positive


def test_moments_obey_cauchy_schwarz():
    prior = NormalInverseGamma(0, 1, 1, 1, -4, 6, grid=1)
    first, second = prior.project([0, -50.0], 10)
    assert (first, second) == (0, 0)
    K = round(1 / float(prior.units[0]))
    first, second = prior.project([1e9, 1e9], 10)
    assert first == 10 * K * 5  # the upper bound, counted from the middle
    assert second == pytest.approx(10 * 25)


def test_covariances_become_semidefinite():
    prior = NormalInverseWishart([0, 0], 1, 3, [[1, 0], [0, 1]], 4, grid=1)
    projected = prior.project([0, 0, -5, 30, 12], 10)
    assert np.linalg.eigvalsh(unpack(projected[2:]))[0] >= -1e-9
    assert unpack(prior.project([0, 0, 1e9, 0, 1e9], 10)[2:]).trace() <= 10 * 16 * (1 + 1e-12)
