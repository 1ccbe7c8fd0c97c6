"""Filters: what is admitted, what is refused and in which words, and that the budget's promise is kept."""

import pickle
from fractions import Fraction

import pytest

from discreet.privacy.accounting.composition import compose, parallel, repeat
from discreet.privacy.accounting.filters import (
    BY_ORDERS,
    ORDERS,
    SUMS,
    Overspent,
    filter_for,
    rules_of,
    spend,
)
from discreet.privacy.guarantee import ADD_REMOVE, MixedRelations, NotProved
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP


def uses(budget, guarantee, most=5000, rule=SUMS):
    """How many times the guarantee fits."""
    state = filter_for(budget, rule).start()
    for count in range(most):
        if not state.admits(guarantee):
            return count
        state = spend(state, guarantee)
    raise AssertionError("a filter that never refuses")


@pytest.mark.parametrize(
    ("budget", "guarantee", "count"),
    [
        (PureDP(1), PureDP(Fraction(1, 10)), 10),
        (PureDP(1), PureDP(0.1), 9),  # the double 0.1 is above one tenth, and the sums are exact
        (PureDP(1), BoundedRange(0.25), 4),
        (PureDP(1), GaussianDP(0.01), 0),
        (ZeroCDP(0.5), ZeroCDP(0.125), 4),
        (ZeroCDP(0.5), GaussianDP(0.5), 4),
        (ZeroCDP(0.5), BoundedRange(1), 4),
        (ZeroCDP(0.5), ApproxDP(0.1, 1e-9), 0),
        (GaussianDP(1), GaussianDP(0.25), 16),
        (GaussianDP(1), GaussianDP.from_square(Fraction(1, 3)), 3),
        (RenyiDP.at(2, 1), ZeroCDP(0.125), 4),
        (RenyiDP.points({2: 1, 4: 1.5}), ZeroCDP(0.125), 3),  # order 4 is the tight one: all must hold
    ],
)
def test_exact_number_of_uses(budget, guarantee, count):
    assert uses(budget, guarantee) == count


@pytest.mark.parametrize("guarantee", [PureDP(0.02), ZeroCDP(0.0003), GaussianDP(0.02), BoundedRange(0.03)])
def test_approximate_budget_goes_beyond_basic_and_keeps_its_promise(guarantee):
    budget = ApproxDP(1, 1e-6)
    count = uses(budget, guarantee, rule=BY_ORDERS)
    if guarantee.epsilon(0) < 1:
        assert count > 1 / guarantee.epsilon(0)  # basic composition would stop here
    assert repeat(guarantee, count) <= budget  # a non-adaptive run is the easiest case
    # and adaptivity costs less than half of what non-adaptive accounting could reach
    assert not repeat(guarantee, 2 * count + 2) <= budget


def test_approximate_budget_always_takes_a_pure_share():
    # Σε needs no δ: one release of the whole ε fits, and nothing after it
    for rule in rules_of(ApproxDP(1, 1e-6)):
        state = spend(filter_for(ApproxDP(1, 1e-6), rule).start(), PureDP(1))
        assert not state.admits(PureDP(1e-6))
    assert filter_for(ApproxDP(1, 0)).admits(PureDP(0.5), PureDP(0.5))
    assert not filter_for(ApproxDP(1, 0)).admits(PureDP(0.5), ApproxDP(0.25, 1e-9))


def test_disclosing_events_take_at_most_half_of_delta_under_orders_and_all_of_it_under_sums():
    once, hair = ApproxDP(0.1, 2.5e-7), ApproxDP(0.1, 2.6e-7)
    orders, sums = (filter_for(ApproxDP(1, 1e-6), rule) for rule in (BY_ORDERS, SUMS))
    assert orders.admits(once, once)
    assert not orders.admits(once, hair)
    assert sums.admits(*[once] * 4)
    assert not sums.admits(*[once] * 3, hair)


def test_only_an_approximate_budget_leaves_a_choice():
    assert rules_of(ApproxDP(1, 1e-6)) == (SUMS, BY_ORDERS)
    for budget in (PureDP(1), ApproxDP(1, 0), ZeroCDP(1), GaussianDP(1), RenyiDP.at(2, 1)):
        assert rules_of(budget) == (SUMS,)
        assert filter_for(budget, BY_ORDERS) == filter_for(budget)  # ledgers from before there was a choice
    with pytest.raises(ValueError, match="'sums' or 'orders', got 'both'"):
        filter_for(ApproxDP(1, 1e-6), "both")


def disclose_or_answer(epsilon, delta):
    """The least private (ε, δ) mechanism [KOV15]: laws of one answer under two neighbours."""
    heads = Fraction(epsilon)  # e^ε, as a rational
    told, other = (1 - delta) * heads / (1 + heads), (1 - delta) / (1 + heads)
    return (delta, told, other, 0), (0, other, told, delta)


def excess(first, second, bound):
    """Σ (P − e^ε Q)₊."""
    return sum(max(p - bound * q, 0) for p, q in zip(first, second, strict=True))


def joint(*pairs):
    """The laws of all answers together, each pair of laws a function of the answers before."""
    laws = {(): (Fraction(1), Fraction(1))}
    for chosen in pairs:
        laws = {
            (*seen, y): (p * a, q * b)
            for seen, (p, q) in laws.items()
            for y, (a, b) in enumerate(zip(*chosen(seen), strict=True))
        }
    return zip(*laws.values(), strict=True)


def test_sums_keep_the_promise_whatever_is_chosen_and_use_all_of_delta():
    # e^ε = 6 and δ = 1/10, spent as (2, 1/20) and then, by what was seen, as (3, 1/20) or (3/2, 1/40)
    whole, half = Fraction(1, 10), Fraction(1, 20)

    def after(seen):
        return disclose_or_answer(3, half) if seen[0] < 2 else disclose_or_answer(Fraction(3, 2), half / 2)

    first, second = joint(lambda _: disclose_or_answer(2, half), after)
    for one, other in ((first, second), (second, first)):
        assert 0 < excess(one, other, 6) <= whole
    # control: δ is not refunded by the choice: 1/10 at once, and then what any further δ would add
    first, second = joint(lambda _: disclose_or_answer(6, whole), lambda _: disclose_or_answer(1, half))
    assert excess(first, second, 6) > whole


def test_two_filters_side_by_side_break_the_promise_unless_delta_is_split():
    """Σδ ≤ δ is full after the first release; a second filter with a tail of δ would admit another one."""
    delta = Fraction(1, 10)

    def tail(seen):  # only where the first disclosed nothing
        return disclose_or_answer(1, delta) if seen[0] in {1, 2} else disclose_or_answer(1, 0)

    first, second = joint(lambda _: disclose_or_answer(1, delta), tail)
    assert delta < excess(first, second, 1) <= 2 * delta


def test_adaptive_choice_between_orders_is_paid_for():
    # the outcomes are split by the surviving order, so each order only gets δ/(2·24)
    share = 1e-6 / (2 * len(ORDERS))
    for meter in filter_for(ApproxDP(1, 1e-6), BY_ORDERS).meters[1:]:
        fact = RenyiDP.at(meter.order, float(meter.capacity))
        assert fact.epsilon(share) <= 1 + 1e-12
        assert fact.epsilon(share) >= 0.999 * min(1, fact.epsilon(share * 0.99))


def test_refusal_says_what_fits():
    state = spend(filter_for(PureDP(1)).start(), PureDP(0.75))
    with pytest.raises(
        Overspent, match=r"PureDP\(0\.5\) does not fit .*PureDP\(1\.0\).*what fits: PureDP\(0\.25\)"
    ):
        spend(state, PureDP(0.5))
    state = spend(state, PureDP(0.25))
    with pytest.raises(Overspent, match="nothing; the budget is spent"):
        spend(state, PureDP(1e-9))
    state = spend(filter_for(GaussianDP(1)).start(), GaussianDP(0.6))
    with pytest.raises(Overspent, match=r"what fits: GaussianDP\(0\.(8|79999)"):
        spend(state, GaussianDP(0.9))
    state = spend(filter_for(ZeroCDP(1)).start(), ZeroCDP(0.5))
    with pytest.raises(Overspent, match=r"what fits: ZeroCDP\(0\.5\)"):
        spend(state, ZeroCDP(0.6))
    with pytest.raises(Overspent, match=r"RenyiDP.at\(2\.0, 1\.0\) and RenyiDP.at\(4\.0, 1\.5\)"):
        spend(filter_for(RenyiDP.points({2: 1, 4: 1.5})).start(), ZeroCDP(0.6))


def test_refusal_leaves_the_state_as_it_was():
    state = spend(filter_for(PureDP(1)).start(), PureDP(0.75))
    with pytest.raises(Overspent):
        spend(state, PureDP(0.5))
    assert spend(state, PureDP(0.25)).left() == ((state.filter.meters[0], 0),)
    assert pickle.loads(pickle.dumps(state)) == state  # noqa: S301


def test_mixed_relations_are_refused():
    with pytest.raises(MixedRelations, match="as_substitute"):
        spend(filter_for(PureDP(1)).start(), PureDP(0.5, relation=ADD_REMOVE))


@pytest.mark.parametrize(
    "budget",
    [
        compose(PureDP(1), PureDP(2)),
        BoundedRange(1),
        parallel(ApproxDP(1, 1e-7), GaussianDP(0.5)),
        RenyiDP(ZeroCDP(1).renyi),
    ],
    ids=lambda b: type(b).__name__,
)
def test_no_filter_where_none_is_proved(budget):
    with pytest.raises(NotProved, match="filter"):
        filter_for(budget)
