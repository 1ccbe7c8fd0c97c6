"""Split budgets: exact, never above the budget by its own filter, and better than even where asked."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning import Question, optimal_weights, split, zcdp_within
from discreet.planning.predicted_release import mean_moved
from discreet.planning.simulated_data import cases
from discreet.privacy.accounting.filters import BY_ORDERS, filter_for
from discreet.privacy.guarantee import ADD_REMOVE, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP

amounts = st.floats(1e-6, 20)
weights = st.lists(st.floats(1e-3, 1e3) | st.integers(1, 9) | st.fractions("1/9", 9), min_size=1, max_size=12)
budgets = st.one_of(
    amounts.map(PureDP),
    st.builds(ApproxDP, amounts, st.floats(1e-12, 0.4)),
    amounts.map(ZeroCDP),
    amounts.map(GaussianDP),
    amounts.map(lambda e: RenyiDP.points({2: e, 8: 3 * e})),
    amounts.map(lambda e: PureDP(e, relation=ADD_REMOVE)),
)


@settings(deadline=None, max_examples=60)
@given(budgets, weights)
def test_parts_always_fit_and_no_more_does(budget, shares):
    names = [f"q{i}" for i in range(len(shares))]
    parts = split(budget, names, shares)
    assert list(parts) == names
    assert filter_for(budget).admits(*parts.values())
    assert {part.relation for part in parts.values()} == {budget.relation}


@settings(deadline=None, max_examples=40)
@given(
    st.one_of(
        amounts.map(PureDP),
        amounts.map(ZeroCDP),
        amounts.map(GaussianDP),
        st.builds(ApproxDP, amounts, st.floats(1e-12, 0.4)),
    ),
    st.integers(1, 40),
)
def test_even_parts_use_the_budget_up_exactly(budget, count):
    parts = list(split(budget, count).values())
    state = filter_for(budget).start()
    for part in parts:
        state = state.after(part)
    assert state.sums[0] == filter_for(budget).meters[0].capacity
    assert state.disclosed == filter_for(budget).slack
    least = 1e-9 if isinstance(budget, ZeroCDP | GaussianDP) else None
    assert not filter_for(budget).admits(*parts, PureDP(1e-9) if least is None else type(budget)(least))


def test_shares_are_exact():
    assert split(PureDP(1), 3)["1"] == PureDP(Fraction(1, 3))
    assert split(PureDP(1), ["a", "b"], [1, 3]) == {"a": PureDP(0.25), "b": PureDP(0.75)}
    assert split(ZeroCDP(1), ["a", "b"], {"b": 3, "a": 1}) == {"a": ZeroCDP(0.25), "b": ZeroCDP(0.75)}
    assert split(GaussianDP(1), 4)["1"].mu_squared == Fraction(1, 4)
    assert split(ApproxDP(1, 2**-20), 2)["1"] == ApproxDP(0.5, 2**-21)  # all of δ


def test_overspending_would_be_noticed():
    """Negative control: the filter that verifies the parts refuses one part too many."""
    budget = PureDP(1)
    parts = list(split(budget, 3).values())
    assert not filter_for(budget).admits(*parts, PureDP(1e-12))


def test_zcdp_within_an_approximate_budget():
    budget = ApproxDP(1, 1e-6)
    whole = zcdp_within(budget)
    parts = split(whole, 10)
    assert filter_for(budget, BY_ORDERS).admits(*parts.values())
    assert not filter_for(budget, BY_ORDERS).admits(ZeroCDP(1.01 * float(whole.rho)))
    # Gaussian noise for 50 questions: less than the Laplace noise that Σε leaves them
    rho, epsilon = float(whole.rho) / 50, 1 / 50
    assert 1 / (2 * rho) < 2 / epsilon**2
    with pytest.raises(Unreachable, match="larger δ"):
        zcdp_within(ApproxDP(1e-9, 1e-12))


# --- optimal weights ---------------------------------------------------------------------------------------
QUESTIONS = {
    "few": Question(BetaBernoulli(2, 2), 200),
    "many": Question(BetaBernoulli(2, 2), 5000),
    "wards": Question(DirichletCategorical([1, 1, 1]), 1000),
}


def added(budget, parts, noise):
    total = 0.0
    for name, question in QUESTIONS.items():
        mechanism = NoisyStatistics.calibrate(question.model, n=question.n, target=parts[name], noise=noise)
        total += float(question.importance) * mean_moved(mechanism, cases(question.model, question.n, seed=9))
    return total


@pytest.mark.parametrize(
    ("budget", "noise"), [(PureDP(2), "discrete_laplace"), (ZeroCDP(0.5), "discrete_gaussian")], ids=repr
)
def test_optimal_weights_lower_the_total(budget, noise):
    best = optimal_weights(budget, QUESTIONS)
    parts = split(budget, QUESTIONS, best)
    assert filter_for(budget).admits(*parts.values())
    least = added(budget, parts, noise)
    assert least < added(budget, split(budget, QUESTIONS), noise)
    for factor in (0.6, 1.6):  # and a step away from them is worse
        moved = best | {"few": best["few"] * Fraction(factor)}
        assert added(budget, split(budget, QUESTIONS, moved), noise) > least


def test_optimal_weights_of_two_counts_by_lagrange():
    """Posterior means move by Z/(α+β+n): c ∝ 1/(α+β+n)²; s ∝ c^{1/3} for ε and c^{1/2} for ρ."""
    pair = {"a": Question(BetaBernoulli(50, 50), 900), "b": Question(BetaBernoulli(50, 50), 9900)}
    for budget, power in ((PureDP(1), 2 / 3), (ZeroCDP(0.5), 1.0)):
        best = optimal_weights(budget, pair)
        assert float(best["a"] / best["b"]) == pytest.approx(10**power, rel=0.05)


def test_importance_counts():
    twice = QUESTIONS | {"many": Question(BetaBernoulli(2, 2), 5000, importance=100)}
    plain, weighted = optimal_weights(PureDP(1), QUESTIONS), optimal_weights(PureDP(1), twice)
    assert weighted["many"] / weighted["few"] > plain["many"] / plain["few"]


# --- bad input ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("questions", "shares", "said"),
    [
        (0, None, "at least one"),
        (-1, None, "at least one"),
        ([], None, "at least one"),
        (["a", "a"], None, "each different"),
        ("ab", None, "names"),
        (True, None, "names"),
        (2, [1], "every question once"),
        (2, [1, 2, 3], "every question once"),
        (["a"], {"b": 1}, "every question once"),
        (2, [1, 0], "above 0"),
        (2, [1, -1], "above 0"),
        (2, [1, math.nan], "above 0"),
        (2, [1, math.inf], "above 0"),
    ],
)
def test_bad_input(questions, shares, said):
    with pytest.raises(ValueError, match=said):
        split(PureDP(1), questions, shares)


def test_kinds_without_a_filter_are_refused():
    with pytest.raises(NotProved, match="filter"):
        split(BoundedRange(1), 2)
