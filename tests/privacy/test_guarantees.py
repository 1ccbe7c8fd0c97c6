"""The six kinds: known numbers, an independent oracle (mpmath, 40 digits), order, groups, bad input."""

import math
import pickle
from dataclasses import dataclass
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, MixedRelations, NotProved
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, MixedRange, PureDP, RenyiDP, ZeroCDP

KINDS = [
    PureDP(0.7),
    PureDP(Fraction(1, 3)),
    ApproxDP(0.7, 1e-4),
    ApproxDP(0.7, 0),
    ZeroCDP(0.05),
    GaussianDP(0.4),
    GaussianDP.from_square(Fraction(1, 3)),
    BoundedRange(0.9),
    RenyiDP.at(8, 0.3),
    RenyiDP.points({2: 0.1, 8: 0.3, 64: 3}),
]


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(40):
        yield


def close_above(value, truth, relative=1e-12):
    """The answer is on the private side of the truth, and close."""
    return truth <= value <= truth * (1 + relative) + mp.mpf("1e-320")


def mp_gaussian_delta(mu, eps):
    mu, eps = mp.mpf(mu), mp.mpf(eps)
    return mp.ncdf(mu / 2 - eps / mu) - mp.exp(eps) * mp.ncdf(-mu / 2 - eps / mu)


def mp_pair_renyi(p, q, order):
    return mp.log(sum(a**order * b ** (1 - order) for a, b in zip(p, q, strict=True))) / (order - 1)


# ── known numbers ──


@pytest.mark.parametrize(
    ("eps", "mu"), [(0.1, "0.0325"), (0.3, "0.0890"), (1, "0.268"), (3, "0.719"), (10, "2.00")]
)
def test_allowed_mu_at_delta_1e_5(eps, mu):
    # allowed μ at δ = 1e-5, from the regression notes, to the printed digits
    low, high = 1e-3, 5.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if GaussianDP(middle).delta(eps) <= 1e-5 else (low, middle)
    digits = len(mu.partition(".")[2])
    assert f"{low:.{digits}f}" == mu
    assert GaussianDP(float(mu) * 1.01).epsilon(1e-5) > eps


def test_zcdp_conversion_beats_the_textbook_one():
    # Bun, Steinke 2016 Prop. 1.3: ρ + 2√(ρ ln(1/δ)); the minimised conversion is between it and the Gaussian
    rho, delta = 0.5, 1e-6
    textbook = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    assert GaussianDP(1).epsilon(delta) < ZeroCDP(rho).epsilon(delta) < textbook - 0.5


# ── the oracle ──


@pytest.mark.parametrize("mu", [1e-3, 0.3, 1, 7])
@pytest.mark.parametrize("eps", [0, 0.01, 1, 12])
def test_gaussian_profile(mu, eps):
    assert close_above(GaussianDP(mu).delta(eps), mp_gaussian_delta(mu, eps))


@pytest.mark.parametrize("mu", [0.05, 0.3, 1, 7])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.01])
def test_gaussian_epsilon_is_the_least(mu, delta):
    eps = GaussianDP(mu).epsilon(delta)
    assert mp_gaussian_delta(mu, eps) <= delta
    if eps > 0:
        assert mp_gaussian_delta(mu, eps * (1 - 1e-9)) > delta


@pytest.mark.parametrize("eps", [1e-4, 0.1, 1, 20])
@pytest.mark.parametrize("order", [1.001, 1.5, 2, 30, 1e4])
def test_pure_curve_is_that_of_the_worst_binary_pair(eps, order):
    e = mp.mpf(eps)
    p = [mp.exp(e) / (1 + mp.exp(e)), 1 / (1 + mp.exp(e))]
    truth = mp_pair_renyi(p, p[::-1], mp.mpf(order))
    assert close_above(PureDP(eps).renyi(order), truth)
    assert PureDP(eps).renyi(order) <= min(eps, order * eps**2 / 2)


@pytest.mark.parametrize("eps", [0.1, 1, 6])
@pytest.mark.parametrize("order", [1.01, 2, 25])
def test_bounded_range_curve_is_the_supremum_over_t(eps, order):
    def at(t):
        q = (1 - mp.exp(t - eps)) / (mp.exp(t) - mp.exp(t - eps))
        return mp_pair_renyi([q * mp.exp(t), 1 - q * mp.exp(t)], [q, 1 - q], mp.mpf(order))

    grid = max(at(mp.mpf(eps) * i / 400) for i in range(1, 400))
    value = BoundedRange(eps).renyi(order)
    assert grid <= value <= grid * (1 + 1e-4)
    assert value <= order * eps**2 / 8  # DDR20: ε²/8-zCDP


@pytest.mark.parametrize("eps", [0.3, 2])
@pytest.mark.parametrize("asked", [0, 0.1, 0.25])
def test_bounded_range_profile_is_the_supremum_over_t(eps, asked):
    def at(t):
        q = (1 - mp.exp(t - eps)) / (mp.exp(t) - mp.exp(t - eps))
        return max(mp.mpf(0), q * (mp.exp(t) - mp.exp(mp.mpf(asked))))

    grid = max(at(mp.mpf(eps) * i / 2000) for i in range(1, 2000))
    value = BoundedRange(eps).delta(asked)
    assert grid <= value <= grid + 1e-6


def test_approximate_profile_below_its_own_epsilon():
    # the worst pair of (ε, δ): δ disclosed, else randomised response, by hand at ε' = 0
    eps, delta = mp.mpf(0.7), mp.mpf(1e-4)
    truth = delta + (1 - delta) * mp.tanh(eps / 2)
    assert close_above(ApproxDP(0.7, 1e-4).delta(0), truth)


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_conversion_is_minimised_over_all_orders(delta):
    # against brute force on a fine grid of orders: below every one of them, yet not below the true minimum
    rho = mp.mpf("0.05")
    orders = [1 + mp.mpf(10) ** (mp.mpf(j) / 100) for j in range(-300, 500)]
    values = [rho * a + mp.log((a - 1) / a) - (mp.log(delta) + mp.log(a)) / (a - 1) for a in orders]
    ours = ZeroCDP(Fraction(1, 20)).epsilon(delta)
    assert max(0, min(values)) * (1 - mp.mpf("1e-3")) <= ours <= max(0, min(values))


def test_conversion_reaches_the_order_limit():
    # one point at order 10: the least is at the limit itself
    a, r, d = 10, 0.3, 1e-6
    best = r + math.log((a - 1) / a) - (math.log(d) + math.log(a)) / (a - 1)
    assert RenyiDP.at(a, r).epsilon(d) == pytest.approx(best, rel=1e-14)


@dataclass(frozen=True)
class Diverging:
    """A curve that blows up at order 3, as a Beta posterior's does."""

    def __call__(self, order):
        return 0.1 * order - 0.05 * math.log(1 - (order - 1) / 2) if order < 3 else math.inf


@dataclass(frozen=True)
class SharpProfile:
    def __call__(self, epsilon):
        return PureDP(0.2).delta(epsilon)


def test_diverging_curve_and_better_profile():
    loose, sharp = RenyiDP(Diverging(), 3), RenyiDP(Diverging(), 3, SharpProfile())
    assert loose.renyi(2.99) < math.inf == loose.renyi(3) == loose.renyi(7)
    assert sharp.epsilon(1e-6) == pytest.approx(PureDP(0.2).epsilon(1e-6), rel=1e-9)
    assert sharp.epsilon(1e-6) < loose.epsilon(1e-6) < math.inf
    assert sharp.delta(0.1) < loose.delta(0.1)
    with pytest.raises(ValueError, match="order limit is 3"):
        loose.finite_renyi(3.5)


def test_points_lie_below_chords_and_forget_what_is_implied():
    curve = RenyiDP.points({2: 0.1, 4: 0.29, 8: 0.3})  # the middle fact is weaker than its neighbours imply
    assert curve == RenyiDP.points({2: 0.1, 8: 0.3})
    chord = (0.1 * 1 + (0.3 * 7 - 0.1 * 1) * (4 - 2) / (8 - 2)) / 3
    assert curve.renyi(4) == pytest.approx(chord, rel=1e-14)
    assert curve.renyi(1.5) == 0.1
    assert curve.renyi(8.000001) == math.inf


# ── order ──


@pytest.mark.parametrize(
    ("strong", "weak"),
    [
        (PureDP(1), ApproxDP(1, 1e-9)),
        (PureDP(1), ApproxDP(0.5, 0.3)),
        (PureDP(1), ZeroCDP(0.5)),
        (PureDP(1), ZeroCDP(0.4622)),  # ε tanh(ε/2) = .46212, below ε²/2
        (PureDP(1), GaussianDP(1.2321)),  # 2Φ⁻¹(e/(1+e)) = 1.23204
        (PureDP(1), BoundedRange(2)),
        (BoundedRange(1), PureDP(1)),
        (BoundedRange(1), ZeroCDP(0.125)),
        (GaussianDP(1), ZeroCDP(0.5)),
        (GaussianDP(1), ApproxDP(1, 0.13)),
        (ZeroCDP(Fraction(1, 10)), RenyiDP.at(5, 0.5)),  # five times the double 0.1 is above 0.5
        (ZeroCDP(0.1), RenyiDP(ZeroCDP(0.11).renyi, 40)),
        (RenyiDP.at(5, 0.5), RenyiDP.at(4, 0.5)),
        (ApproxDP(1, 1e-6), ApproxDP(1.1, 1e-6)),
        (PureDP(0.1), RenyiDP(PureDP(0.2).renyi)),
    ],
)
def test_implications(strong, weak):
    assert strong <= weak
    assert weak >= strong
    assert strong < weak
    assert not weak <= strong


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (PureDP(1), ZeroCDP(0.4621)),
        (PureDP(1), GaussianDP(1.232)),
        (PureDP(1), ApproxDP(0.5, 0.28)),
        (ZeroCDP(0.1), GaussianDP(0.5)),  # concentrated does not imply Gaussian
        (RenyiDP.at(5, 0.5), RenyiDP.at(6, 0.5)),
        (ApproxDP(1, 1e-9), RenyiDP.at(2, 5)),
        (GaussianDP(0.1), PureDP(10)),
        (
            ZeroCDP(0.1),
            RenyiDP(ZeroCDP(0.1).renyi, 40),
        ),  # true, yet not provable by partition: False, never wrong
    ],
)
def test_no_false_implication(a, b):
    assert not a <= b


@dataclass(frozen=True)
class Stronger:
    """Half of Diverging, with its pole a little further."""

    def __call__(self, order):
        return 0.05 * order - 0.025 * math.log(1 - (order - 1) / 2.1) if order < 3.1 else math.inf


def test_whole_curves_with_poles():
    strong, weak = RenyiDP(Stronger(), 3.1), RenyiDP(Diverging(), 3)
    assert strong < weak
    assert strong <= RenyiDP.points({2: weak.renyi(2), 2.9: weak.renyi(2.9)})
    assert not RenyiDP(Stronger(), 2.5) <= weak  # known on fewer orders


def test_pure_gaussian_bound_is_least():
    mu = PureDP(1).gdp_bound
    assert close_above(mu, 2 * mp.sqrt(2) * mp.erfinv(mp.tanh(mp.mpf(1) / 2)))
    # tight: at the kink of the trade-off function both have the same total variation
    assert GaussianDP(mu).delta(0) == pytest.approx(PureDP(1).delta(0), rel=1e-14)


@pytest.mark.parametrize("eps", [1e-6, 0.5, 3, 40, 300])
def test_pure_gaussian_bound_holds_along_the_profile(eps):
    mu = PureDP(eps).gdp_bound
    for share in (0, 0.3, 0.7, 0.99):
        assert PureDP(eps).delta(share * eps) <= GaussianDP(mu).delta(share * eps) * (1 + 1e-12)


@pytest.mark.parametrize("kind", [BoundedRange, MixedRange])
@pytest.mark.parametrize("eps", [0.01, 0.5, 2, 7, 60])
def test_the_gaussian_bound_of_a_range_is_that_of_its_worst_place_and_least(kind, eps):
    """Against the corner of every two-point pair whose losses are t and t − ε, t swept."""
    with mp.workdps(60):

        def least(t):
            q = (1 - mp.exp(t - eps)) / (mp.exp(t) - mp.exp(t - eps))
            normal = lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1)  # noqa: E731
            return normal(mp.exp(t) * q) - normal(q)

        needed = [least(mp.mpf(eps) * k / 64) for k in range(1, 64)]
        mu = kind(eps).gdp_bound
        assert all(mu >= each for each in needed)
        assert mu == pytest.approx(float(max(needed)), rel=1e-14)  # reached at t = ε/2: none less holds


# ── groups and relations ──


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_group_of_one_is_itself(kind):
    assert kind.group(1) == kind


def test_group_formulas():
    assert PureDP(0.5).group(3) == PureDP(1.5)
    assert ZeroCDP(0.5).group(3) == ZeroCDP(4.5)
    assert GaussianDP(0.5).group(3) == GaussianDP(1.5)
    assert BoundedRange(0.5).group(3) == BoundedRange(1.5)
    group = ApproxDP(0.5, 1e-6).group(3)
    assert group.loss == 1.5
    assert close_above(float(group.slack), mp.mpf(1e-6) * mp.expm1(1.5) / mp.expm1(0.5))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_renyi_group_of_a_linear_curve_is_the_concentrated_one(k):
    # the orders are the best for a linear curve: k²ρα; the truth for a Gaussian, so nothing can be below
    group = RenyiDP(ZeroCDP(0.1).renyi).group(k)
    assert group.renyi(4) == pytest.approx(0.1 * k**2 * 4, rel=1e-12)
    assert group.renyi(4) >= 0.1 * k**2 * 4


def test_renyi_group_bounds_a_group_of_randomised_response_and_beats_the_textbook():
    pure = PureDP(0.3)
    group = RenyiDP(pure.renyi).group(4)
    for order in (1.5, 3, 10):
        assert pure.group(4).renyi(order) <= group.renyi(order)
        if order >= 8:  # M17 Prop. 2 for 2^c records, c = 2: order α/2^c at 3^c ε
            assert group.renyi(order / 4) <= 9 * pure.renyi(order)


def test_renyi_group_keeps_profile_and_limit():
    group = RenyiDP(Diverging(), 3, SharpProfile()).group(2)
    assert group.order_limit == 1.5
    assert group.delta(0.4) == 0.0
    assert PureDP(0.4).delta(0.1) <= group.delta(0.1) < 1
    only_profile = RenyiDP(Diverging(), 3, SharpProfile()).group(3)
    assert only_profile.renyi(1.001) == math.inf
    assert only_profile.delta(0.61) == 0.0
    assert PureDP(0.6).epsilon(1e-3) <= only_profile.epsilon(1e-3) <= 0.6 * (1 + 1e-9)
    with pytest.raises(NotProved, match="order limit is 3"):
        RenyiDP(Diverging(), 3).group(3)


def test_group_that_promises_nothing_is_refused():
    with pytest.raises(NotProved, match="smaller δ"):
        ApproxDP(2, 0.01).group(5)


def test_mixed_relations_are_refused_with_the_way_out():
    removal, swap = PureDP(0.5, relation=ADD_REMOVE), PureDP(1.5)
    for mixing in (lambda: removal + swap, lambda: removal <= swap, lambda: swap < removal):
        with pytest.raises(MixedRelations, match="as_substitute"):
            mixing()
    assert removal.as_substitute() == PureDP(1.0)
    assert removal.as_substitute() < swap
    assert swap.as_substitute() is swap
    both = removal + GaussianDP(0.3, relation=ADD_REMOVE)
    assert both.relation is ADD_REMOVE
    assert both.as_substitute() == PureDP(1.0) + GaussianDP(0.6)
    assert both.as_substitute().relation is SUBSTITUTE


# ── values ──


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_pickle_hash_and_frozen(kind):
    assert pickle.loads(pickle.dumps(kind)) == kind  # noqa: S301
    assert hash(pickle.loads(pickle.dumps(kind))) == hash(kind)  # noqa: S301
    with pytest.raises(AttributeError):
        kind.relation = ADD_REMOVE


def test_equal_numbers_are_one_value():
    assert PureDP(Fraction(1, 2)) == PureDP(0.5) == PureDP(np.float64(0.5))
    assert PureDP(1) != PureDP(1, relation=ADD_REMOVE)
    assert repr(PureDP(1, relation=ADD_REMOVE)) == "PureDP(1.0, relation=ADD_REMOVE)"
    assert repr(GaussianDP(0.3)) == "GaussianDP(0.3)"


@pytest.mark.parametrize("kind", KINDS, ids=repr)
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.2])
def test_round_trip_on_the_private_side(kind, delta):
    eps = kind.epsilon(delta)
    if eps < math.inf:
        assert kind.delta(eps) <= delta
    there = kind.delta(0.1)
    if 0 < there < 1:
        assert kind.epsilon(there) <= 0.1 * (1 + 1e-6)


def test_extremes():
    assert 0 < GaussianDP(0.01).delta(50) <= 5e-324  # below every double, rounded up
    assert GaussianDP(1e5).delta(1) == 1.0
    assert PureDP(5e-324).epsilon(0) == 5e-324
    assert PureDP(1e300).renyi(2) <= 1e300
    assert PureDP(800).epsilon(1e-300) == 800
    assert PureDP(1e-300).renyi(2) < 1e-300
    assert PureDP(0.5).renyi(math.inf) == 0.5 == BoundedRange(0.5).renyi(math.inf)
    assert GaussianDP(1).epsilon(0) == ZeroCDP(1).epsilon(0) == math.inf
    assert ApproxDP(1, 1e-6).epsilon(1e-7) == math.inf
    assert ApproxDP(1, 1e-6).order_limit == 1


# ── bad input ──

BAD = [math.nan, math.inf, -math.inf, -1, 0]


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("kind", [PureDP, BoundedRange, ZeroCDP, GaussianDP, lambda e: ApproxDP(e, 1e-6)])
def test_bad_costs(kind, value):
    with pytest.raises(ValueError, match=r"must be (finite|positive)"):
        kind(value)


@pytest.mark.parametrize("value", [math.nan, -1e-9, 1, 2, math.inf])
def test_bad_delta(value):
    for ask in (
        lambda: ApproxDP(1, value),
        lambda: PureDP(1).epsilon(value),
        lambda: ZeroCDP(1).epsilon(value),
    ):
        with pytest.raises(ValueError, match="delta must"):
            ask()


@pytest.mark.parametrize("kind", KINDS, ids=repr)
def test_bad_questions(kind):
    for order in (1, 0.5, -2, math.nan):
        with pytest.raises(ValueError, match=r"order must"):
            kind.renyi(order)
    for eps in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"epsilon must"):
            kind.delta(eps)
    for k in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="whole number"):
            kind.group(k)


def test_more_bad_input():
    with pytest.raises(TypeError, match="int, a float or a Fraction"):
        PureDP("1")
    with pytest.raises(TypeError, match="int, a float or a Fraction"):
        PureDP(True)  # noqa: FBT003
    with pytest.raises(ValueError, match="order must exceed 1"):
        RenyiDP.at(1, 0.5)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        RenyiDP.at(2, 0)
    with pytest.raises(ValueError, match="no Rényi point"):
        RenyiDP.points({})
    with pytest.raises(ValueError, match="order limit"):
        RenyiDP(Diverging(), 1)
    with pytest.raises(ValueError, match="order limit"):
        RenyiDP(Diverging(), math.nan)
    with pytest.raises(TypeError, match=r"RenyiDP\.at"):
        RenyiDP(0.5)
    with pytest.raises(ValueError, match=r"order limit is 1\.0"):
        ApproxDP(1, 1e-6).finite_renyi(2)
