"""The certified worst case of a truncated tempered posterior against brute force computed another way."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.arithmetic.ball import ceiling, settle
from discreet.privacy.worst_pairs.tempered_posterior import (
    beta_pair_epsilon,
    bounded_pmf_cost,
    dirichlet_epsilon,
    log_normaliser,
    log_odds_range,
    record_range,
    substitution_epsilon,
    substitution_range,
)

small = st.integers(1, 40).map(lambda k: Fraction(k, 8))
lowers = st.integers(1, 45).map(lambda k: Fraction(k, 100))
weights = st.integers(1, 32).map(lambda k: Fraction(k, 32))


def _float(x):
    return float(settle(x).mid())


def _log_density(thetas, a, b, lower):
    """Log densities of a truncated Beta, normalised by quadrature: no incomplete beta function, no arb."""
    mass = mpmath.quad(lambda t: t ** (a - 1) * (1 - t) ** (b - 1), [lower, 0.5, 1 - lower])
    return [(a - 1) * mpmath.log(t) + (b - 1) * mpmath.log(1 - t) - mpmath.log(mass) for t in thetas]


def _brute_force(prior, weight, lower, *, n, trials):
    """Max of |ln p/q| over all neighbouring data sets of n records and a grid of θ that has its ends."""
    a, b = prior
    total = n * trials
    lower, weight = mpmath.mpf(lower.numerator) / lower.denominator, mpmath.mpf(float(weight))
    thetas = mpmath.linspace(lower, 1 - lower, 41)
    tables = [
        _log_density(thetas, float(a) + weight * k, float(b) + weight * (total - k), lower)
        for k in range(total + 1)
    ]
    return max(
        abs(p - q)
        for k, move in itertools.product(range(total + 1), range(1, trials + 1))
        if k + move <= total
        for p, q in zip(tables[k], tables[k + move], strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prior", "weight", "n", "trials", "lower"),
    [
        ((1, 1), 1, 6, 1, Fraction(1, 10)),
        ((Fraction(1, 2), 3), Fraction(1, 4), 5, 1, Fraction(1, 20)),
        ((6, 12), Fraction(1, 8), 4, 1, Fraction(2, 5)),
        ((2, Fraction(1, 3)), Fraction(3, 4), 1, 1, Fraction(1, 4)),
        ((1, 2), Fraction(1, 2), 3, 3, Fraction(1, 8)),  # Beta–Binomial: a record moves up to 3 successes
    ],
)
def test_exact_beta_worst_case_is_the_brute_force_maximum(prior, weight, n, trials, lower):
    certified = substitution_epsilon(
        tuple(map(Fraction, prior)), Fraction(weight), n=n, trials=trials, lower=lower
    )
    seen = _brute_force(prior, weight, lower, n=n, trials=trials)
    assert seen <= certified * (1 + 1e-12)  # a certificate is never below what can be seen …
    assert seen >= certified - 1e-6  # … and this one is attained, at an end of the truncated interval


@settings(deadline=None, max_examples=40)
@given(a=small, b=small, weight=weights, lower=lowers, n=st.integers(1, 200))
def test_epsilon_lies_between_the_half_range_and_the_range(a, b, weight, lower, n):
    epsilon = substitution_epsilon((a, b), weight, n=n, trials=1, lower=lower)
    width = _float(lambda: substitution_range(weight, lower, 2))
    assert width / 2 <= epsilon * (1 + 1e-15)
    assert epsilon <= width * (1 + 1e-15)


@settings(deadline=None, max_examples=40)
@given(a=small, b=small, weight=weights, lower=lowers, n=st.integers(1, 60))
def test_epsilon_grows_with_weight_and_with_n(a, b, weight, lower, n):
    """In n as well: more alike records push the other tail further out (the likelihood-ratio order)."""
    here = substitution_epsilon((a, b), weight, n=n, trials=1, lower=lower)
    assert substitution_epsilon((a, b), weight * Fraction(9, 8), n=n, trials=1, lower=lower) > here
    assert substitution_epsilon((a, b), weight, n=n + 7, trials=1, lower=lower) >= here


@settings(deadline=None, max_examples=25)
@given(a=small, b=small, weight=weights, lower=lowers, n=st.integers(2, 25))
def test_no_data_set_is_worse_than_the_two_ends(a, b, weight, lower, n):
    worst = substitution_epsilon((a, b), weight, n=n, trials=1, lower=lower)
    for k in range(n):
        local = settle(lambda k=k: beta_pair_epsilon(a + k * weight, b + (n - 1 - k) * weight, weight, lower))
        assert ceiling(local) <= worst


def _dirichlet_moment(entries, lower, i, j, power):
    """E[(θ_j/θ_i)^power] of a truncated Dirichlet with three entries, by Gauss–Legendre, 60 × 60 nodes."""
    nodes, node_weights = np.polynomial.legendre.leggauss(60)
    span = 1 - 3 * lower  # θ = lower + span·(u, (1−u)v, (1−u)(1−v)), Jacobian span²(1−u)
    u, v = ((nodes + 1) / 2)[:, None], ((nodes + 1) / 2)[None, :]
    theta = [lower + span * x for x in (u + 0 * v, (1 - u) * v, (1 - u) * (1 - v))]
    mass = node_weights[:, None] * node_weights[None, :] * (1 - u)
    for coordinate, entry in zip(theta, entries, strict=True):
        mass = mass * coordinate ** (float(entry) - 1)
    return float((mass * (theta[j] / theta[i]) ** float(power)).sum() / mass.sum())


@pytest.mark.parametrize(
    ("prior", "weight", "lower", "n"),
    [
        ((1, 1, 1), Fraction(1, 2), Fraction(1, 8), 3),
        ((Fraction(1, 2), 2, 1), Fraction(1, 4), Fraction(1, 16), 2),
        ((3, 1, 1), 1, Fraction(1, 4), 2),
    ],
)
def test_dirichlet_bound_holds_over_every_neighbour_and_beats_the_simple_one(prior, weight, lower, n):
    """sup dQ/dP = e^(sΔ)/E_P[(θ_j/θ_i)^s] for every count vector and every move i → j."""
    prior, weight = tuple(Fraction(x) for x in prior), Fraction(weight)
    claim = substitution_epsilon(prior, weight, n=n, trials=1, lower=lower)
    delta = _float(lambda: log_odds_range(lower, 3))
    seen = 0
    for counts in itertools.product(range(n + 1), repeat=3):
        if sum(counts) != n:
            continue
        for i, j in itertools.permutations(range(3), 2):
            if counts[i]:  # the record that moves is an i
                entries = [p + weight * c for p, c in zip(prior, counts, strict=True)]
                moment = _dirichlet_moment(entries, float(lower), i, j, weight)
                seen = max(seen, float(weight) * delta - math.log(moment))
    simple = _float(lambda: substitution_range(weight, lower, 3))
    assert seen <= claim < simple
    assert claim - seen < 0.5 * simple  # not vacuous


def test_dirichlet_bound_tends_to_the_range_as_n_grows():
    """Nothing better than 2Δ/T holds for every n; the finite-n bound must rise to it."""
    prior, lower, weight = (Fraction(1),) * 4, Fraction(1, 10), Fraction(1, 8)
    simple = _float(lambda: substitution_range(weight, lower, 4))
    gaps = [
        simple - substitution_epsilon(prior, weight, n=n, trials=1, lower=lower)
        for n in (10, 100, 10_000, 10**8)
    ]
    assert gaps == sorted(gaps, reverse=True)
    assert 0 <= gaps[-1] < 1e-6 < gaps[0]


def test_a_record_of_several_trials_costs_as_many_moves():
    prior, lower, weight = (Fraction(1),) * 3, Fraction(1, 10), Fraction(1, 8)
    triple = substitution_epsilon(prior, weight, n=5, trials=3, lower=lower)
    single = _float(lambda: dirichlet_epsilon(prior, weight, 15 * weight, lower))
    assert triple == pytest.approx(3 * single, rel=1e-14)


def test_adding_a_record_comes_as_close_to_the_range_as_one_likes():
    """n private: k = n alike records, then one different; sup ln p/q → Δ/T and never above it."""
    weight, lower = Fraction(1, 2), Fraction(1, 5)
    width = _float(lambda: record_range(weight, lower, 2))
    seen = []
    for n in (1, 10, 1000):
        a, b = 1 + n * weight, Fraction(1)
        tilt = _float(
            lambda a=a, b=b: (
                log_normaliser(a, b + weight, lower, 1 - lower) - log_normaliser(a, b, lower, 1 - lower)
            )
        )
        seen.append(float(weight * mpmath.log(1 - lower)) - tilt)
    assert seen == sorted(seen)
    assert seen[-1] <= width < seen[-1] + 0.01


@settings(deadline=None, max_examples=30)
@given(a=small, b=small, lower=lowers)
def test_normaliser_agrees_with_quadrature(a, b, lower):
    ours = _float(lambda: log_normaliser(a, b, lower, 1 - lower))
    exact = mpmath.log(mpmath.betainc(float(a), float(b), float(lower), 1 - float(lower)))
    assert ours == pytest.approx(float(exact), rel=1e-9, abs=1e-9)


def test_normaliser_survives_mass_outside_the_interval():
    """Beta(2, 5000) has e^−1100 of its mass on [0.2, 0.8]; ∫ t(1−t)⁴⁹⁹⁹ has an elementary antiderivative."""
    ours = _float(lambda: log_normaliser(Fraction(2), Fraction(5000), Fraction(1, 5), Fraction(4, 5)))
    with mpmath.workdps(60):
        low, high = mpmath.mpf(1) / 5, mpmath.mpf(4) / 5
        exact = mpmath.log((high**5000 - low**5000) / 5000 - (high**5001 - low**5001) / 5001)
    assert ours == pytest.approx(float(exact), rel=1e-14)


def test_parameters_beyond_reason_fall_back_to_the_simple_bound(monkeypatch):
    from discreet.privacy.worst_pairs import tempered_posterior as ops_worst

    def refuse(*_):
        raise ops_worst.PrecisionError

    monkeypatch.setattr(ops_worst, "beta_epsilon", refuse)
    lower = Fraction(1, 10)
    claim = substitution_epsilon((Fraction(1), Fraction(1)), Fraction(1), n=5, trials=1, lower=lower)
    assert claim == ceiling(settle(lambda: substitution_range(Fraction(1), lower, 2)))


def test_bounded_mass_function_costs_two_b():
    assert bounded_pmf_cost(3) == 6.0
    assert bounded_pmf_cost(Fraction(1, 3)) == pytest.approx(2 / 3)
    with pytest.raises(ValueError, match="above 0"):
        bounded_pmf_cost(0)
    with pytest.raises(ValueError, match="NaN"):
        bounded_pmf_cost(float("nan"))
