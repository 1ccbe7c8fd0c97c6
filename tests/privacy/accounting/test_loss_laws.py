"""Laws of a loss on a grid: never below the truth, close to it, and caught where they are bent downward."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import betainc, betaln

from discreet.privacy.accounting.composition import compose, repeat
from discreet.privacy.accounting.loss_laws import DominatingLaw, reach, sum_of
from discreet.privacy.guarantee import SUBSTITUTE
from discreet.privacy.kinds import DiscreteGaussianDP, GaussianDP, PureDP
from discreet.privacy.worst_pairs.guarantee_of_pair import guarantee_of
from discreet.privacy.worst_pairs.pairs import DirichletPairs

EPSILONS = (0.0, 0.1, 0.77, 1.5, 2.0)


def test_gaussian_parts_add_up_to_the_gaussian_one():
    law, exact = sum_of([(GaussianDP(0.2).delta, 3), (GaussianDP(0.4).delta, 1)]), GaussianDP(0.28**0.5)
    for epsilon in EPSILONS:
        assert exact.delta(epsilon) < law.delta(epsilon) < 1.004 * exact.delta(epsilon)
    assert law.delta(1000.0) < 1e-14
    shifted = replace(law, start=law.start - 1)  # broken: every loss one node lower
    assert shifted.delta(1.0) < exact.delta(1.0)


def test_pure_parts_add_up_to_brute_force():
    parts = [0.3, 0.3, 0.45, 0.9]
    law = sum_of([(PureDP(0.3).delta, 2), (PureDP(0.45).delta, 1), (PureDP(0.9).delta, 1)])
    for epsilon in (0.0, 0.4, 1.1, 1.7):
        truth = 0.0
        for signs in product((1, -1), repeat=4):
            loss = float(np.dot(signs, parts))
            chance = np.prod([1 / (1 + np.exp(-s * e)) for s, e in zip(signs, parts, strict=True)])
            truth += chance * max(0.0, 1 - np.exp(epsilon - loss))
        assert truth <= law.delta(epsilon) <= truth * 1.01 + 1e-15


def two_draws(a, b, r, epsilon):
    """∫ p(x)·δ(ε − L(x))dx of Beta(a+r, b) against Beta(a, b+r): one draw's profile holds for any real ε."""
    gap = betaln(a, b + r) - betaln(a + r, b)
    z = np.linspace(-60, 60, 200_001)  # logit of x

    def one(e):
        cut = 1 / (1 + np.exp(-(e - gap) / r))
        return (1 - betainc(a + r, b, cut)) - np.exp(e) * (1 - betainc(a, b + r, cut))

    log_density = -(a + r) * np.logaddexp(0, -z) - b * np.logaddexp(0, z) - betaln(a + r, b)
    return np.trapezoid(np.exp(log_density) * one(epsilon - gap - r * z), z)


def test_two_posterior_draws_against_quadrature():
    a, b, r = 1.0, 1.0, 0.1  # both directions have one profile
    pair = DirichletPairs(a, b, r)
    found = repeat(guarantee_of(pair, SUBSTITUTE), 2)
    for epsilon in (0.2, 0.6, 1.0):
        truth = two_draws(a, b, r, epsilon)
        assert truth <= found.delta(epsilon) <= 1.005 * truth + 1e-13
    assert found.method(1e-6) == "profiles"
    assert found.epsilon(1e-6) < 0.9 * found.bounds(1e-6)["renyi"]
    assert found.delta(found.epsilon(1e-6)) <= 1e-6


def test_unlike_counts_behind_discrete_gaussian_noise_against_brute_force():
    found = compose(DiscreteGaussianDP(((1, 4, 2),)), DiscreteGaussianDP(((1, 9, 1),)))
    assert found == DiscreteGaussianDP(((1, 4, 2), (1, 9, 1)))
    z = np.arange(-70, 71)
    near, far = (np.exp(-(z**2) / (2 * v)) / np.exp(-(z**2) / (2 * v)).sum() for v in (4, 9))
    two = np.convolve(near, near)
    losses = (2 + 2 * np.arange(-140, 141))[:, None] / 8 + (1 + 2 * z)[None, :] / 18
    mass = two[:, None] * far[None, :]
    for epsilon in (0.1, 1.0, 2.2):
        truth = float((mass * np.clip(1 - np.exp(epsilon - losses), 0, None)).sum())
        assert truth * (1 - 1e-9) <= found.delta(epsilon) <= 1.02 * truth


def test_losses_without_a_bound_have_no_law_and_grids_must_agree():
    def always(_epsilon):
        return 1e-3

    assert reach(always) == np.inf
    assert sum_of([(always, 2)]) is None
    law = DominatingLaw.of(GaussianDP(1).delta, 0.25, 4)
    with pytest.raises(ValueError, match="one grid"):
        law.plus(DominatingLaw.of(GaussianDP(1).delta, 0.5, 4))
    with pytest.raises(ValueError, match="power of two"):
        DominatingLaw.of(GaussianDP(1).delta, 0.3, 4)
