"""Composition: brute force for few parts, dp-accounting's PLD for many, which bound wins, parallel."""

import itertools
import math
import pickle
from dataclasses import dataclass
from fractions import Fraction

import mpmath as mp
import pytest

from discreet.privacy.accounting.composition import Composition, Worst, compose, parallel, repeat
from discreet.privacy.accounting.optimal_composition import _grid_law, _law
from discreet.privacy.guarantee import ADD_REMOVE, MixedRelations, NotProved
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP


def brute_delta(losses, eps, mu=0.0):
    """δ(ε) over all 2^k outcomes of randomised response, in 40 digits; a Gaussian part in closed form."""
    with mp.workdps(40):
        eps, total = mp.mpf(eps), mp.mpf(0)
        for signs in itertools.product((1, -1), repeat=len(losses)):
            loss = sum(s * mp.mpf(e) for s, e in zip(signs, losses, strict=True))
            weight = mp.fprod(1 / (1 + mp.exp(-s * mp.mpf(e))) for s, e in zip(signs, losses, strict=True))
            x = eps - loss
            if mu:
                m = mp.mpf(mu)
                total += weight * (mp.ncdf(m / 2 - x / m) - mp.exp(x) * mp.ncdf(-m / 2 - x / m))
            else:
                total += weight * max(mp.mpf(0), 1 - mp.exp(x))
        return total


def assert_optimal(guarantee, truth, eps, relative=1e-9):
    value = guarantee.delta(eps)
    assert truth <= value <= truth * (1 + relative) + 1e-299


# ── optimal composition against brute force ──


@pytest.mark.parametrize("eps", [0, 0.2, 0.75, 1.4])
@pytest.mark.parametrize("losses", [[0.3] * 5, [0.1, 0.5, 0.9], [0.2, 0.2, 0.7, 0.05]])
def test_pure_parts_equal_brute_force(losses, eps):
    assert_optimal(compose(*map(PureDP, losses)), brute_delta(losses, eps), eps)


@pytest.mark.parametrize("eps", [0.0, 0.5, 2.5])
def test_pure_and_gaussian_parts_equal_brute_force(eps):
    guarantee = compose(PureDP(0.3), PureDP(0.3), PureDP(0.8), GaussianDP(0.5))
    assert_optimal(guarantee, brute_delta([0.3, 0.3, 0.8], eps, mu=0.5), eps)


@pytest.mark.parametrize("eps", [0.0, 0.5, 1.5])
def test_approximate_parts_disclose_first(eps):
    guarantee = compose(ApproxDP(0.3, 1e-3), ApproxDP(0.8, 1e-4))
    with mp.workdps(40):
        disclosed = 1 - (1 - mp.mpf(1e-3)) * (1 - mp.mpf(1e-4))
        truth = disclosed + (1 - disclosed) * brute_delta([0.3, 0.8], eps)
    assert_optimal(guarantee, truth, eps)


@pytest.mark.parametrize("delta", [1e-8, 1e-4, 0.05])
def test_epsilon_is_the_least(delta):
    losses = [0.1, 0.5, 0.9, 0.5]
    eps = compose(*map(PureDP, losses)).epsilon(delta)
    assert brute_delta(losses, eps) <= delta < brute_delta(losses, eps - 1e-9)


def test_grid_law_dominates_the_exact_law_and_is_close():
    # the same parts by both constructions: the grid must be above, and by O(h²) only
    losses = ((0.1, 6), (0.25, 5), (0.4, 4))
    exact, grid = _law(losses, 10**6, 2**12), _grid_law(losses, 2**12)
    for eps in (0.0, 0.3, 1.0, 2.0, 3.5):
        assert exact.delta(eps) * (1 - 1e-12) <= grid.delta(eps) <= exact.delta(eps) * (1 + 1e-3) + 1e-300


def test_the_expectation_over_an_unequal_law_is_certified():
    """Σ w(1 − e^{ε−l})₊ of the law's own doubles in 60 digits: never above ours, which is the next double."""
    law = _grid_law(((0.1, 6), (0.25, 5), (0.4, 4)), 2**10)
    for eps in (0.0, 0.3, 1.0, 2.0, 3.5):
        with mp.workdps(60):
            terms = (
                mp.mpf(w) * -mp.expm1(mp.mpf(eps) - mp.mpf(x))
                for x, w in zip(law.losses.tolist(), law.weights.tolist(), strict=True)
                if x > eps
            )
            truth = mp.fsum(terms) + mp.mpf(law.lost)
        assert truth <= law.delta(eps) <= float(truth) * (1 + 2.0**-51)


# ── many parts against dp-accounting (pessimistic discretisation) ──


def pld_epsilon(parts, delta, step):
    from dp_accounting.pld import common
    from dp_accounting.pld import privacy_loss_distribution as pld

    total = None
    for kind, value, count in parts:
        if kind == "pure":
            one = pld.from_privacy_parameters(
                common.DifferentialPrivacyParameters(value, 0), value_discretization_interval=step
            )
        else:
            one = pld.from_gaussian_mechanism(1 / value, value_discretization_interval=step)
        one = one.self_compose(count)
        total = one if total is None else total.compose(one)
    return total.get_epsilon_for_delta(delta)


@pytest.mark.parametrize(
    ("parts", "guarantee", "step"),
    [
        ([("pure", 0.1, 100)], repeat(PureDP(0.1), 100), 1e-4),
        ([("pure", 0.01, 10_000)], repeat(PureDP(0.01), 10_000), 1e-4),
        (
            [("pure", 0.1, 60), ("pure", 0.03, 200), ("pure", 0.4, 5)],
            compose(repeat(PureDP(0.1), 60), repeat(PureDP(0.03), 200), repeat(PureDP(0.4), 5)),
            1e-4,
        ),
        (
            [("pure", 0.1, 50), ("gauss", 0.5, 1)],
            compose(repeat(PureDP(0.1), 50), GaussianDP(0.5)),
            1e-4,
        ),
    ],
)
def test_many_parts_agree_with_dp_accounting(parts, guarantee, step):
    theirs, ours = pld_epsilon(parts, 1e-6, step), guarantee.epsilon(1e-6)
    assert ours == pytest.approx(theirs, rel=2e-3)
    assert ours <= theirs * (1 + 1e-4)  # theirs rounds up too, and more coarsely
    assert guarantee.method(1e-6) == "optimal"


def test_conversion_agrees_with_dp_accounting_where_its_orders_are_fine():
    from dp_accounting import GaussianDpEvent
    from dp_accounting.rdp import RdpAccountant

    orders = [1 + 10 ** (j / 50) for j in range(-50, 150)]
    accountant = RdpAccountant(orders).compose(GaussianDpEvent(2.0), 7)
    theirs, ours = accountant.get_epsilon(1e-6), ZeroCDP(Fraction(7, 8)).epsilon(1e-6)
    assert ours <= theirs
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_exponential_mechanism_composes_with_its_count():
    # dp-accounting is known to report 0.506 for 100 self-composed exponential mechanisms of ε = 0.5 where
    # looping gives 15.3: its accountant drops the count. Here the count always enters.
    hundred = repeat(BoundedRange(0.5), 100)
    assert hundred.bounds(1e-6)["zcdp"] == pytest.approx(15.3, abs=0.05)
    assert hundred.epsilon(1e-6) == pytest.approx(15.0955, abs=1e-3)  # the exact curve is better than ε²/8
    assert hundred.method(1e-6) == "renyi"
    assert hundred == compose(*[BoundedRange(0.5)] * 100)
    import dp_accounting

    event = getattr(dp_accounting, "ExponentialMechanismDpEvent", None)  # not in every release
    if event is not None:
        from dp_accounting.rdp import RdpAccountant

        looped = RdpAccountant()
        for _ in range(100):
            looped.compose(event(0.5))
        assert hundred.epsilon(1e-6) <= looped.get_epsilon(1e-6)


# ── which bound wins ──


@pytest.mark.parametrize(
    ("guarantee", "delta", "winner"),
    [
        (repeat(PureDP(0.1), 100), 1e-6, "optimal"),
        (repeat(PureDP(0.1), 100), 0, "basic"),
        (repeat(BoundedRange(0.1), 1000), 1e-6, "renyi"),
        (compose(PureDP(0.1), ZeroCDP(0.01)), 1e-6, "renyi"),
        (repeat(ApproxDP(0.1, 1e-9), 50), 1e-6, "optimal"),
    ],
)
def test_the_tightest_wins_and_says_so(guarantee, delta, winner):
    bounds = guarantee.bounds(delta)
    assert guarantee.method(delta) == winner
    assert guarantee.epsilon(delta) == bounds[winner] == min(bounds.values())
    assert f"by {winner} composition" in guarantee.explain(delta)


def test_advanced_composition_is_a_bound_and_never_the_best():
    # KOV15 Thm 3.5 by hand for 100 × 0.1
    by_hand = 100 * 0.1 * math.tanh(0.05) + math.sqrt(2 * 100 * 0.01 * math.log(math.e + 1 / 1e-6))
    other = 100 * 0.1 * math.tanh(0.05) + math.sqrt(2 * 100 * 0.01 * math.log(1e6))
    bounds = repeat(PureDP(0.1), 100).bounds(1e-6)
    assert bounds["advanced"] == pytest.approx(min(by_hand, other), rel=1e-12)
    assert bounds["optimal"] < bounds["renyi"] < bounds["zcdp"] < bounds["advanced"] < bounds["basic"]


def test_never_above_the_sum_of_pure_costs():
    for delta in (1e-300, 1e-30, 1e-6):
        assert compose(PureDP(0.5), BoundedRange(0.25), PureDP(0.125)).epsilon(delta) <= 0.875


def test_basic_sum_of_approximate_parts():
    two = compose(ApproxDP(0.5, 1e-6), ApproxDP(0.25, 1e-6))
    assert two.epsilon(2e-6) <= 0.75
    assert two.epsilon(1e-6) == math.inf
    assert two.epsilon(1.9999e-6) == math.inf
    assert two.delta(0.75) <= 2e-6
    assert two.delta(0) < 1


@dataclass(frozen=True)
class Curve:
    def __call__(self, order):
        return 0.02 * order if order < 9 else math.inf


@dataclass(frozen=True)
class Profile:
    def __call__(self, epsilon):
        return GaussianDP(0.2).delta(epsilon)


def test_one_exact_profile_keeps_its_worth_beside_a_pure_part():
    drawn = RenyiDP(Curve(), 9, Profile())
    both = compose(drawn, PureDP(0.01))
    assert both.epsilon(1e-6) <= drawn.epsilon(1e-6) + 0.0100001
    assert both.method(1e-6) in {"basic", "profiles"}
    assert both.order_limit == 9
    assert both.renyi(4) == pytest.approx(0.08 + PureDP(0.01).renyi(4))
    assert both.renyi(9) == math.inf
    assert both.delta(both.epsilon(1e-6)) <= 1e-6 * (1 + 1e-9)


# ── algebra ──


def test_closed_kinds_stay_themselves_exactly():
    assert compose(ZeroCDP(0.1), ZeroCDP(0.2), ZeroCDP(0.3)) == ZeroCDP(
        Fraction(0.1) + Fraction(0.2) + Fraction(0.3)
    )
    assert GaussianDP(3) + GaussianDP(4) == GaussianDP(5)
    assert repeat(GaussianDP(0.5), 4) == GaussianDP(1)
    three = repeat(GaussianDP(1), 3)
    assert Fraction(three.mu) ** 2 >= 3 > Fraction(math.nextafter(three.mu, 0)) ** 2


def test_composition_is_a_canonical_multiset():
    a, b, c, d = PureDP(0.1), ApproxDP(0.1, 1e-6), ZeroCDP(0.1), BoundedRange(0.1)
    whole = compose(a, b, c, d, a)
    assert isinstance(whole, Composition)
    assert whole == (d + (a + c)) + (b + a) == compose(c, compose(a, a), d, b)
    assert hash(whole) == hash((d + (a + c)) + (b + a))
    assert pickle.loads(pickle.dumps(whole)) == whole  # noqa: S301
    assert compose(a) is a


def test_ten_thousand_parts_are_one_counted_part():
    many = compose(*[PureDP(0.01)] * 10_000)
    assert many == repeat(PureDP(0.01), 10_000)
    assert many.parts == ((PureDP(0.01), 10_000),)


def test_group_relation_and_order():
    both = compose(PureDP(0.1), GaussianDP(0.5))
    assert both.group(2) == compose(PureDP(0.2), GaussianDP(1))
    assert both <= ApproxDP(both.epsilon(1e-6), 1e-6)
    assert PureDP(0.1) <= compose(PureDP(0.1), PureDP(0.2))
    assert not compose(PureDP(0.1), PureDP(0.2)) <= compose(PureDP(0.1), PureDP(0.1))
    assert compose(PureDP(0.1), PureDP(0.2)) <= ZeroCDP(0.0251)
    with pytest.raises(MixedRelations, match="as_substitute"):
        compose(PureDP(0.1), PureDP(0.1, relation=ADD_REMOVE))
    with pytest.raises(ValueError, match="at least one"):
        compose()
    with pytest.raises(ValueError, match="whole number"):
        repeat(PureDP(0.1), 0)


def test_bounded_range_of_adaptive_parts_does_not_add():
    # the second interval may sit elsewhere after each first answer: only [−ε, ε] is common
    assert compose(BoundedRange(0.1), BoundedRange(0.2)).range_bound == pytest.approx(0.6)
    assert not compose(BoundedRange(0.1), BoundedRange(0.2)) <= BoundedRange(0.31)


# ── disjoint parts ──


def test_parallel_is_the_worst_part():
    assert parallel(PureDP(0.1), PureDP(0.3), PureDP(0.2)) == PureDP(0.3)
    assert parallel(PureDP(0.1), ApproxDP(0.3, 1e-6)) == ApproxDP(0.3, 1e-6)
    one = ApproxDP(1, 1e-7)
    other = GaussianDP(0.5)
    worst = parallel(one, other)
    assert isinstance(worst, Worst)
    assert worst == parallel(other, worst, one)
    for delta in (1e-9, 1e-6, 1e-2):
        assert worst.epsilon(delta) == max(one.epsilon(delta), other.epsilon(delta))
    assert worst.delta(0.5) == max(one.delta(0.5), other.delta(0.5))
    assert worst.renyi(2) == math.inf
    assert worst.order_limit == 1
    assert one <= worst
    assert worst <= ApproxDP(worst.epsilon(1e-6), 1e-6)
    assert not worst <= one


def test_group_over_disjoint_parts_covers_one_record_in_each():
    pair = parallel(ApproxDP(1, 1e-7), GaussianDP(0.5)).group(2)
    assert compose(ApproxDP(1, 1e-7), GaussianDP(0.5)) <= pair
    assert GaussianDP(1) <= pair
    assert pair.epsilon(1e-6) >= compose(ApproxDP(1, 1e-7), GaussianDP(0.5)).epsilon(1e-6)


def test_last_resort_shares_delta():
    worst = parallel(ApproxDP(1, 1e-7), GaussianDP(0.5))
    twice = repeat(worst, 2)
    assert twice.epsilon(1e-5) == pytest.approx(2 * worst.epsilon(5e-6), rel=1e-12)
    assert twice.delta(twice.epsilon(1e-5)) <= 1e-5 * (1 + 1e-9)


def test_group_of_approximate_parts_may_promise_nothing():
    with pytest.raises(NotProved):
        compose(ApproxDP(3, 0.01), PureDP(1)).group(4)
