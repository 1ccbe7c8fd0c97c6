"""Worst pairs against independent quadrature, brute force and known numbers."""

import itertools
import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import gammaln

from discreet.privacy.arithmetic.ball import ball, ceiling, settle
from discreet.privacy.worst_pairs.divergences import beta_delta, beta_renyi, chernoff, gamma_below
from discreet.privacy.worst_pairs.pairs import (
    BetaPairs,
    BetaSidePairs,
    DirichletPairs,
    GammaRatePairs,
    GammaShapePairs,
    NormalPair,
)

EVERY = [
    BetaPairs(6, 12, 1, 99, 1),
    BetaPairs(0.7, 2, 0.5, 4.5, 0),
    DirichletPairs(2.2, 1.4, 1),
    GammaShapePairs(3, 0.5),
    GammaRatePairs(50, 5, 103),
    BetaSidePairs(10, 4, 0.5),
    NormalPair(0.25),
]


def certain(value):
    return float(settle(value))


# ── laws as mpmath densities, for quadrature ────────────────────────────────────────────────────────


def beta_law(a, b):
    a, b = mpmath.mpf(a), mpmath.mpf(b)
    scale = mpmath.beta(a, b)
    return lambda x: x ** (a - 1) * (1 - x) ** (b - 1) / scale


def gamma_law(shape, rate=1):
    k, lam = mpmath.mpf(shape), mpmath.mpf(rate)
    scale = mpmath.gamma(k) / lam**k
    return lambda x: x ** (k - 1) * mpmath.exp(-lam * x) / scale


def normal_law(mu):
    return lambda x: mpmath.exp(-((x - mu) ** 2) / 2) / mpmath.sqrt(2 * mpmath.pi)


UNIT, HALF_LINE, LINE = [0, 0.1, 0.3, 0.6, 0.9, 1], [0, 0.5, 2, 5, 12, 40, 200], [-12, -4, 0, 4, 12]
PAIRS = {
    "dirichlet": (DirichletPairs(2.2, 1.4, 1), [(beta_law(3.2, 1.4), beta_law(2.2, 2.4))], UNIT),
    "one record": (BetaPairs(3, 5, 0.5, 0, 0.5), [(beta_law(3.5, 5), beta_law(3, 5.5))], UNIT),
    "gamma shape": (GammaShapePairs(3, 0.5), [(gamma_law(3), gamma_law(3.5))], HALF_LINE),
    "gamma rate": (GammaRatePairs(3, 0.5, 4), [(gamma_law(4, 3), gamma_law(4, 3.5))], HALF_LINE),
    "normal": (NormalPair(0.25), [(normal_law(0), normal_law(0.5))], LINE),
}  # fmt: skip


def both_ways(laws):
    return [pair for p, q in laws for pair in ((p, q), (q, p))]


def crossing(p, q, epsilon, ends):
    """Where the monotone log-ratio equals ε, if anywhere."""
    tiny = mpmath.mpf(10) ** -25
    low, high = ends[0] + tiny, ends[-1] - tiny

    def excess(x):
        return mpmath.log(p(x) / q(x)) - epsilon

    if excess(low) * excess(high) > 0:
        return None
    return mpmath.findroot(excess, (low, high), solver="anderson", tol=1e-30, maxsteps=500, verify=False)


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.5])
def test_profile_is_the_integral_of_the_excess_density(name, epsilon):
    worst, laws, ends = PAIRS[name]
    found = []
    with mpmath.workdps(25):
        for p, q in both_ways(laws):
            root = crossing(p, q, epsilon, ends)
            grid = sorted({*map(mpmath.mpf, ends), *([] if root is None else [root])})
            scale = mpmath.exp(epsilon)
            found.append(mpmath.quad(lambda x, p=p, q=q, s=scale: max(p(x) - s * q(x), 0), grid))
    assert certain(lambda: worst.delta(epsilon)) == pytest.approx(float(max(found)), rel=1e-8)


@pytest.mark.parametrize("name", PAIRS)
def test_renyi_is_the_integral_of_the_mixed_density(name):
    worst, laws, ends = PAIRS[name]
    order = 1.3
    with mpmath.workdps(25):
        integrals = [
            mpmath.quad(lambda x, p=p, q=q: p(x) ** order * q(x) ** (1 - order), ends)
            for p, q in both_ways(laws)
        ]
    expected = float(mpmath.log(max(integrals)) / (order - 1))
    assert certain(lambda: worst.renyi(order)) == pytest.approx(expected, rel=1e-7)


def test_beta_side_renyi_is_exact_and_its_profile_is_bounded_by_gammas():
    worst = BetaSidePairs(10, 4, 0.5)
    p, q = beta_law(10, 4), beta_law(10, 4.5)
    with mpmath.workdps(25):
        divergence = mpmath.log(mpmath.quad(lambda x: p(x) ** 3 / q(x) ** 2, UNIT)) / 2
        profile = max(
            mpmath.quad(
                lambda x, a=a, b=b: max(a(x) - mpmath.exp(0.2) * b(x), 0), np.linspace(0, 1, 41).tolist()
            )
            for a, b in ((p, q), (q, p))
        )
    assert certain(lambda: worst.renyi(3)) == pytest.approx(float(divergence), rel=1e-10)
    bound = certain(lambda: worst.delta(0.2))
    assert profile < bound < 3 * profile


# ── the supremum over data sets ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("alpha", "beta", "r", "n"), [(6, 12, 1, 10), (0.5, 0.5, 0.25, 12), (2, 0.3, 0.5, 7), (1, 1, 1, 2)]
)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_beta_profile_is_the_maximum_over_every_data_set(alpha, beta, r, n, epsilon):
    r = Fraction(r)
    a0, b0, eps = Fraction(alpha), Fraction(beta), Fraction(epsilon)
    every = [
        certain(lambda x=x, y=y: beta_delta(x, y, r, eps))
        for k in range(n)
        for x, y in ((a0 + r * k, b0 + r * (n - 1 - k)), (b0 + r * (n - 1 - k), a0 + r * k))
    ]
    claimed = certain(lambda: BetaPairs(alpha, beta, r, r * (n - 1), r).delta(epsilon))
    assert max(every) * (1 - 1e-15) <= claimed <= max(every) * (1 + 1.1e-9)


def test_real_valued_data_cost_at_most_a_billionth_more_than_the_best_point():
    whole = certain(lambda: BetaPairs(6, 12, 1, 99, 1).delta(1))
    real = certain(lambda: BetaPairs(6, 12, 1, 99, 0).delta(1))
    assert whole <= real <= whole * (1 + 1.1e-9)


positive = st.fractions(min_value=Fraction(1, 100), max_value=50, max_denominator=1000)


@settings(deadline=None, max_examples=60)
@given(
    a=positive,
    b=positive,
    c=positive,
    r=st.fractions(Fraction(1, 50), 1, max_denominator=50),
    eps=st.floats(0.01, 4),
)
def test_every_divergence_falls_in_a_and_in_b(a, b, c, r, eps):
    order = 1 + b / r / 2
    eps = Fraction(eps)
    for larger in ((a + c, b), (a, b + c)):
        assert settle(lambda x=larger: beta_renyi(*x, r, order)) < settle(lambda: beta_renyi(a, b, r, order))
        assert settle(lambda x=larger: beta_delta(*x, r, eps)) < settle(lambda: beta_delta(a, b, r, eps))


@settings(deadline=None, max_examples=60)
@given(a=positive, b=positive, r=st.fractions(Fraction(1, 50), 1, max_denominator=50), eps=st.floats(0.01, 4))
def test_chernoff_and_trigamma_bounds_are_above(a, b, r, eps):
    pairs = DirichletPairs(a, b, r)
    order = 1 + min(a, b) / r / 3
    assert settle(lambda: pairs.renyi(order)) <= settle(lambda: pairs.renyi_bound(order))
    eps = Fraction(eps)
    assert settle(lambda: beta_delta(a, b, r, eps)) <= chernoff(beta_renyi, a, b, r, epsilon=eps)


@pytest.mark.parametrize("worst", EVERY, ids=repr)
def test_curve_rises_with_the_order_and_the_profile_falls_with_epsilon(worst):
    top = min(worst.order_limit, 60.0)
    curve = [certain(lambda a=a: worst.renyi(a)) for a in np.linspace(1.01, top - 0.01, 9).tolist()]
    assert all(x < y for x, y in itertools.pairwise(curve))
    profile = [certain(lambda e=e: worst.delta(e)) for e in (0.0, 0.1, 0.5, 1.0, 2.0)]
    assert all(1 > x > y >= 0 for x, y in itertools.pairwise(profile))


@pytest.mark.parametrize("worst", EVERY, ids=repr)
def test_pairs_are_values(worst):
    assert pickle.loads(pickle.dumps(worst)) == worst  # noqa: S301
    assert hash(worst) == hash(pickle.loads(pickle.dumps(worst)))  # noqa: S301


@pytest.mark.parametrize("worst", EVERY[:-1], ids=repr)
def test_infinite_at_the_limit_and_beyond(worst):
    assert not worst.renyi(math.nextafter(worst.order_limit, math.inf)).is_finite()
    assert not worst.renyi(math.inf).is_finite()
    assert worst.renyi(worst.order_limit * (1 - 1e-12)).is_finite()


def test_exactly_at_the_limit_the_answer_is_infinite():
    assert BetaPairs(6, 12, 1, 99, 1).order_limit == 7
    assert not BetaPairs(6, 12, 1, 99, 1).renyi(7).is_finite()
    # 1 + 6/0.7 is not a double: the limit is the double below, where the divergence is still finite
    worst = BetaPairs(6, 12, Fraction(7, 10), Fraction(693, 10), Fraction(7, 10))
    assert worst.renyi(worst.order_limit).is_finite()
    assert not worst.renyi(1 + Fraction(60, 7)).is_finite()


@pytest.mark.parametrize("bad", [1, 0.5, -3, math.nan])
def test_orders_at_or_below_one_are_refused(bad):
    for worst in EVERY:
        with pytest.raises(ValueError, match="above 1"):
            worst.renyi(bad)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_epsilon_must_be_finite(bad):
    with pytest.raises(ValueError, match="finite"):
        DirichletPairs(1, 1, 1).delta(bad)


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf])
def test_parameters_must_be_positive_and_finite(bad):
    for build in (lambda x: BetaPairs(x, 1, 1, 1, 1), lambda x: DirichletPairs(1, 1, x), NormalPair):
        with pytest.raises(ValueError, match="must be finite and above 0"):
            build(bad)
    with pytest.raises(ValueError, match="multiple of unit"):
        BetaPairs(1, 1, 1, 5, 2)


# ── doubles are not enough, and balls are quick enough ──────────────────────────────────────────────


def float_renyi(a, b, r, order):
    """D_α by scipy's gammaln, as one would write it."""
    first = gammaln(a + order * r) + gammaln(b - (order - 1) * r) - order * (gammaln(a + r) + gammaln(b))
    return first / (order - 1) + gammaln(a) + gammaln(b + r)


def test_float_gammaln_fails_at_a_billion_records_and_balls_do_not():
    generator = np.random.default_rng(9)
    wrong = 0
    for share in generator.uniform(0.05, 0.95, 100):
        a, b = round(share * 1e9), round((1 - share) * 1e9)
        true = certain(lambda a=a, b=b: beta_renyi(Fraction(a), Fraction(b), Fraction(1), Fraction(2)))
        assert true == pytest.approx(1 / a + 1 / b, rel=1e-3)  # αr²/2·(1/a + 1/b) to first order
        wrong += float_renyi(a, b, 1.0, 2.0) <= 0
    assert wrong > 30  # most are not even positive


def test_a_billion_records_settle_to_known_limits():
    # as n → ∞ the Beta pair at the prior's end tends to Gamma(a+r) against Gamma(a): data processing's limit
    beta = certain(lambda: BetaPairs(6, 12, 1, 10**9 - 1, 1).delta(1))
    gamma = certain(lambda: GammaShapePairs(6, 1).delta(1))
    assert beta == pytest.approx(gamma, rel=1e-7)
    assert beta > gamma


@settings(deadline=None, max_examples=60)
@given(
    a=st.fractions(Fraction(1, 3), 5000, max_denominator=60),
    b=st.fractions(65, 5000, max_denominator=60),
    share=st.floats(0.3, 1.7),
)
@example(a=Fraction(1), b=Fraction(65), share=0.5)
@example(a=Fraction(1, 2), b=Fraction(65), share=0.9)
def test_the_continued_fraction_brackets_the_incomplete_beta_function(a, b, share):
    from discreet.privacy.arithmetic.ball import precision
    from discreet.privacy.arithmetic.beta_tail import beta_below

    with precision(160):
        x = ball(min(Fraction(share) * a / (a + b), 1 - Fraction(1, 2**20)))
        found = beta_below(a, b, x, 1 - x)
        assert found.overlaps(x.beta_lower(ball(a), ball(b), 1))
        assert found.rel_accuracy_bits() > 64


def test_gamma_below_in_the_deep_tail_is_the_complement_elsewhere():
    from flint import arb

    from discreet.privacy.arithmetic.ball import precision

    with precision(200):
        for shape, x in ((Fraction(50), 3.0), (Fraction(1000), 600.0)):
            expected = mpmath.gammainc(mpmath.mpf(shape.numerator), 0, x, regularized=True)
            assert float(gamma_below(shape, arb(x))) == pytest.approx(float(expected), rel=1e-12)


def test_rounding_up_is_up():
    value = settle(lambda: BetaPairs(6, 12, 1, 99, 1).renyi(2))
    assert ceiling(value) >= 0.191290226776715033222658346476  # reference A0, 30 digits
    assert ceiling(value) == math.nextafter(0.19129022677671503, 1) or ceiling(value) == 0.19129022677671503


def test_profile_beats_the_best_conversion():
    # a = b = 1, ε = 1, δ = 1e-6: the largest r is .08785 by the profile, .07219 by the best Rényi order
    # (scipy, all orders, CKS20 Prop. 12 v4) and .05654 by the classic R(α) + ln(1/δ)/(α−1)
    from discreet.mechanisms.posterior.draw import largest_knob
    from discreet.privacy.arithmetic.ball import largest
    from discreet.privacy.kinds import ApproxDP, RenyiDP
    from discreet.privacy.worst_pairs.guarantee_of_pair import RenyiCurve

    def by_orders(r):
        worst = DirichletPairs(1, 1, r)
        return RenyiDP(RenyiCurve(worst), worst.order_limit).epsilon(1e-6) <= 1

    profile = largest_knob(lambda r: DirichletPairs(1, 1, r), ApproxDP(1, 1e-6), knob="r", bits=53)
    assert profile == pytest.approx(0.08785, abs=5e-6)
    assert largest(lambda r: r < 2.0**-10 or by_orders(r), 1.0) == pytest.approx(0.07218940, abs=1e-7)
