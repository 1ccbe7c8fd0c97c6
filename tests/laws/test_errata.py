"""Printed against right: what the published statements about exponential families say, and what holds."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, gamma, gammaln, psi

from discreet.families import BetaBernoulli, GammaPoisson


def test_erratum_02_the_log_partition_function_has_logarithms():
    """Erratum 2 [G20 §3.3]: C = lnΓ(η₁) + lnΓ(η₂−η₁) − lnΓ(η₂), not Γ(η₁) + Γ(η₂−η₁) − Γ(η₂)."""
    member = BetaBernoulli(6, 12)
    first, second = member.natural
    right = gammaln(first) + gammaln(second - first) - gammaln(second)
    printed = gamma(first) + gamma(second - first) - gamma(second)
    assert member.log_partition() == pytest.approx(right, rel=1e-14)
    normaliser, _ = quad(
        lambda s: np.exp(first * s - second * np.logaddexp(0, s)), -60, 60
    )  # ∫exp(T·η) d logit p
    assert np.log(normaliser) == pytest.approx(right, rel=1e-9)
    assert printed < -1e14  # a "log normaliser" of −3.6e14 against −11.2
    assert right == pytest.approx(-11.2152738614810, rel=1e-13)
    assert member.mean_sufficient()[0] == pytest.approx(psi(6) - psi(12), rel=1e-14)


def _kl(p, q):
    """KL(p‖q) = C(q) − C(p) − (η_q − η_p)·∇C(p)."""
    return q.log_partition() - p.log_partition() - (q.natural - p.natural) @ p.mean_sufficient()


def _largest_curvature(p, q):
    """sup‖∇²C‖ over the segment, on a fine grid; ψ₁ is monotone, so that the ends dominate."""
    path = [p.from_natural(p.natural + t * (q.natural - p.natural)) for t in np.linspace(0, 1, 101)]
    return max(np.linalg.norm(m.covariance_sufficient(), 2) for m in path)


def test_erratum_11_divergence_is_half_the_curvature_times_the_squared_distance():
    """Erratum 11 [G20 Lemma 8, (4.30)–(4.32), (4.44)]: KL ≤ D‖γ‖²/2; without the square it is false."""
    p = BetaBernoulli(1000, 1000)
    for distance in (1, 10, 30, 100):
        q = p.from_natural(p.natural + np.array([distance, 0]))
        curvature, divergence = _largest_curvature(p, q), _kl(p, q)
        assert divergence <= curvature * distance**2 / 2
        if distance <= 30:  # and the half is not to be given away: D nearly points along γ here
            assert divergence > 0.6 * curvature * distance**2 / 2
            assert divergence < 0.55 * curvature * distance**2
        if distance >= 10:
            assert divergence > curvature * distance  # the printed bound, square missing, is exceeded


def test_erratum_11_the_bound_holds_for_random_pairs():
    rng = np.random.default_rng(7)
    for _ in range(60):
        a, b = np.exp(rng.normal(1, 1.5, 2))
        p = BetaBernoulli(a, b)
        shift = rng.uniform(-0.5, 0.5, 2) * min(a, b)
        q = BetaBernoulli(a + shift[0], b + shift[1])
        gap = np.linalg.norm(q.natural - p.natural)
        assert -1e-12 <= _kl(p, q) <= _largest_curvature(p, q) * gap**2 / 2 + 1e-12


def test_erratum_11_renyi_by_the_same_curvature():
    """D_α ≤ (α/2)·sup‖∇²C‖·‖γ‖², the supremum over the segment from Q to Q + α(P − Q)."""
    p, q, order = BetaBernoulli(40, 60), BetaBernoulli(39, 61), 3.0
    far = p.from_natural(order * p.natural + (1 - order) * q.natural)
    value = (far.log_partition() - order * p.log_partition()) / (order - 1) + q.log_partition()
    gap = np.linalg.norm(p.natural - q.natural)
    bound = order / 2 * _largest_curvature(q, far) * gap**2
    assert 0.4 * bound < value <= bound


def test_erratum_12_the_base_measure_is_one_not_zero():
    """Erratum 12 [G20 ch. 4]: h(x) = 1. With h = 0, as printed, Σ_x h(x) exp(S(x)·θ − A(θ)) is 0, not 1."""
    for theta in (-2.0, 0.3, 1.7):  # θ = logit p, A = ln(1 + e^θ)
        terms = np.array([np.exp(x * theta - np.logaddexp(0, theta)) for x in (0, 1)])
        assert (1 * terms).sum() == pytest.approx(1, abs=1e-14)
        assert (0 * terms).sum() == 0
        likelihood = BetaBernoulli(1, 1).log_likelihood([0, 1], expit(theta))
        np.testing.assert_allclose(np.exp(likelihood), terms, rtol=1e-12)


def test_erratum_12_the_prior_normalises_with_base_one_in_natural_coordinates():
    member = BetaBernoulli(6, 12)
    weight = lambda s: np.exp(member.sufficient(expit(s)) @ member.natural - member.log_partition())  # noqa: E731
    assert quad(weight, -30, 30)[0] == pytest.approx(1, abs=1e-9)


def test_erratum_12_where_the_base_measure_is_not_one_it_is_known():
    """Poisson: h(x) = 1/x!; ln p(x|λ) − (xθ − A(θ)) = −ln x!, free of λ."""
    x = np.arange(6)
    for rate in (0.5, 4.0):
        rest = GammaPoisson(1, 1, 9).log_likelihood(x, rate) - (x * np.log(rate) - rate)
        np.testing.assert_allclose(rest, -gammaln(x + 1), atol=1e-12)
