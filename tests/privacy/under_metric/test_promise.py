"""Privacy under a metric: distances with an identity, MetricDP and its algebra, its budget, its words."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.privacy import json as as_json
from discreet.privacy.accounting.filters import Overspent, filter_for, spend
from discreet.privacy.under_metric.distances import (
    AbsoluteDifference,
    DeclaredMetric,
    Hamming,
    NormalDifference,
    Steps,
    TotalDifference,
    Weighted,
    check_axioms,
)
from discreet.privacy.words import in_words

BUILT_IN = (
    Hamming(),
    AbsoluteDifference(),
    TotalDifference(),
    NormalDifference(),
    Steps(0.25),
    Weighted({"a": 2, "b": Fraction(1, 3)}),
)
RNG = np.random.default_rng(1)


# ── metrics ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("metric", BUILT_IN, ids=lambda m: m.kind)
def test_axioms_hold_on_samples(metric):
    samples = RNG.integers(-8, 9, (9, 3, 2)) / 8
    assert check_axioms(metric, samples) == ()


def test_the_check_finds_each_broken_axiom():
    samples = [np.array([x]) for x in (0.0, 1.0, 2.0)]
    broken = {
        "triangle": lambda x, y: float(((x - y) ** 2).sum()),
        "symmetry": lambda x, y: float(np.maximum(x - y, 0).sum()),
        "identity": lambda x, y: 1 + float(np.abs(x - y).sum()),
    }
    for axiom, distance in broken.items():
        assert {b.axiom for b in check_axioms(DeclaredMetric("mine", distance), samples)} == {axiom}
    with pytest.raises(ValueError, match="≥ 0"):
        check_axioms(DeclaredMetric("mine", lambda *_: -1.0), samples)


def test_distances_are_those_of_the_formulas():
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.0, 0.0])
    assert [m.between(x, y) for m in BUILT_IN[:5]] == [2, 2.5, 1.5, 0.25 + 4 + 5, 2 + 8]
    assert BUILT_IN[5].between([[0, 0], [0, 1]], [[1, 0], [1, 0]]) == pytest.approx(4 + 1 / 3)
    with pytest.raises(ValueError, match="same number of records"):
        Hamming().between([1, 2], [1, 2, 3])


def test_of_a_network_a_column_weighs_the_tables_that_read_it():
    chain = Weighted.of_network({"a": [], "b": ["a"], "c": ["a", "b"]})
    assert dict(chain.weights) == {"a": 3, "b": 2, "c": 1}


def test_a_metric_is_its_formula_and_nothing_else():
    assert Hamming().relation == Hamming().relation
    assert Steps(0.5).relation != Steps(0.25).relation
    assert Steps(0.5).relation == Steps(Fraction(1, 2)).relation
    mine = DeclaredMetric("mine", lambda *_: 0.0)
    assert mine.relation == DeclaredMetric("mine", lambda *_: 1.0).relation  # the code is not read
    assert mine.relation != DeclaredMetric("mine", lambda *_: 0.0, "other words").relation
    scaled = [DeclaredMetric("mine", lambda *_: 0.0, parameters={"scale": scale}) for scale in (1, 2, 2)]
    assert scaled[0].relation != scaled[1].relation == scaled[2].relation != mine.relation
    assert "scale = 2" in scaled[1].words
    turned = Weighted({"b": Fraction(1, 3), "a": 2})
    assert (turned, turned.relation, hash(turned)) == (BUILT_IN[5], BUILT_IN[5].relation, hash(BUILT_IN[5]))
    assert len({m.relation for m in BUILT_IN}) == len(BUILT_IN)
    relation = BUILT_IN[5].relation
    assert type(relation).from_json(json.loads(json.dumps(relation.to_json()))) == relation
    for wrong in ("metric", {"metric": "ab", "about": ""}, {"metric": None, "about": ""}):
        with pytest.raises(ValueError):
            type(relation).from_json(wrong)


# ── the promise ─────────────────────────────────────────────────────────────────────────────────────
def test_at_a_distance_it_is_that_many_times_epsilon():
    promise = dc.MetricDP(0.5, metric=Hamming())
    assert promise.epsilon(0) == 0.5
    assert promise.epsilon(0, distance=3) == 1.5
    assert promise.group(3) == dc.MetricDP(1.5, metric=Hamming())
    assert promise.epsilon(0, distance=0) == promise.delta(0, distance=0) == promise.kl(0) == 0
    neighbours = dc.PureDP(1.5)
    for order in (1.5, 2, 10):
        assert promise.renyi(order, distance=3) == neighbours.renyi(order)
    assert promise.delta(0.2, distance=3) == neighbours.delta(0.2)
    assert promise.kl(3) == pytest.approx(1.5 * math.tanh(0.75), rel=1e-12)
    assert promise.kl(3) <= 1.5
    assert promise.as_substitute(2) == dc.PureDP(1)


def test_delta_grows_with_distance_until_nothing_is_promised():
    promise = dc.MetricDP(1, 0.1, Hamming())
    assert promise.epsilon(0.2, distance=2) == dc.ApproxDP(2, Fraction(2) * Fraction(0.1)).epsilon(0.2)
    assert promise.epsilon(0.1, distance=2) == math.inf
    assert promise.delta(0, distance=11) == 1.0
    assert promise.renyi(2) == promise.kl() == math.inf
    with pytest.raises(ValueError, match="nothing is promised"):
        promise.as_substitute(11)


def test_within_one_metric_costs_add_exactly():
    each = dc.MetricDP(Fraction(1, 10), Fraction(1, 1000), Hamming())
    assert dc.compose(*[each] * 10) == dc.MetricDP(1, Fraction(1, 100), Hamming())
    assert each <= dc.MetricDP(0.2, 0.01, Hamming())
    assert not each <= dc.MetricDP(0.2, 0, Hamming())


def test_of_disjoint_parts_nothing_is_proved_under_a_metric():
    """(1, −1) and (0, 0) are at total distance 0, and their halves at distance 1 each."""
    assert TotalDifference().between([1.0, -1.0], [0.0, 0.0]) == 0 < TotalDifference().between([1.0], [0.0])
    each = dc.MetricDP(1, metric=TotalDifference())
    with pytest.raises(dc.NotProved, match="disjoint"):
        dc.parallel(each, each)


@pytest.mark.parametrize(
    "other", [dc.PureDP(1), dc.PureDP(1, relation=dc.ADD_REMOVE), dc.MetricDP(1, metric=AbsoluteDifference())]
)
def test_another_relation_is_refused_and_both_are_named(other):
    mine = dc.MetricDP(1, metric=Hamming())
    for mix in (lambda: mine + other, lambda: mine <= other, lambda: spend(filter_for(mine).start(), other)):
        with pytest.raises(dc.MixedRelations) as refused:
            mix()
        assert mine.relation.name in str(refused.value)
        assert other.relation.name in str(refused.value)
        assert "use one metric" in str(refused.value)


@pytest.mark.parametrize("kind", [dc.PureDP, dc.ZeroCDP, dc.GaussianDP, dc.BoundedRange])
def test_promises_about_neighbours_take_no_metric(kind):
    with pytest.raises(dc.MixedRelations, match="MetricDP"):
        kind(1, relation=Hamming().relation)


def test_a_promise_under_a_metric_becomes_none_about_records_by_itself():
    promise = dc.MetricDP(1, metric=Hamming())
    with pytest.raises(TypeError, match="reach"):
        promise.as_substitute()
    with pytest.raises(dc.NotProved):
        promise.substituted()
    with pytest.raises(TypeError, match="needs a metric"):
        dc.MetricDP(1, relation=dc.SUBSTITUTE)


@pytest.mark.parametrize(
    "promise", [dc.MetricDP(0.1, metric=Steps(0.5)), dc.MetricDP(Fraction(1, 3), 0.25, Hamming())]
)
def test_json_and_words(promise):
    written = json.loads(json.dumps(as_json.to_json(promise)))
    assert as_json.from_json(written) == promise
    assert "METRIC" in in_words(promise)
    assert (
        eval(repr(promise), {"MetricDP": dc.MetricDP, "Relation": dc.Relation, "Fraction": Fraction})  # noqa: S307
        == promise
    )


# ── the profile, deterministically: randomised response on three records ────────────────────────────
def test_the_profile_at_each_distance_is_attained():
    """Three bits through randomised response, ε each: at Hamming distance r the exact ε is rε."""
    e = 0.7
    keep = math.exp(e) / (1 + math.exp(e))
    channel = np.array([[keep, 1 - keep], [1 - keep, keep]])
    promise = dc.MetricDP(e, metric=Hamming())
    whole = np.einsum("ai,bj,ck->abcijk", channel, channel, channel)
    for r in (1, 2, 3):
        x, y = (0, 0, 0), tuple(int(i < r) for i in range(3))
        p, q = whole[x].ravel(), whole[y].ravel()
        assert np.log(p / q).max() == pytest.approx(promise.epsilon(0, distance=r))
        assert np.maximum(p - math.exp(0.3) * q, 0).sum() <= promise.delta(0.3, distance=r) + 1e-12
        assert (p * np.log(p / q)).sum() <= promise.kl(r) + 1e-12
        half = dc.MetricDP(e / 2, metric=Hamming())  # a broken twin: half the loss
        assert np.log(p / q).max() > half.epsilon(0, distance=r)


# ── the budget ──────────────────────────────────────────────────────────────────────────────────────
def test_a_ledger_keeps_a_budget_under_a_metric(tmp_path):
    budget = dc.MetricDP(1, 0.01, AbsoluteDifference())
    with dc.Ledger.open(tmp_path / "b.db", budget=budget) as ledger:
        for i in range(9):
            ledger.charge(dc.MetricDP(Fraction(1, 10), metric=AbsoluteDifference()), charge_id=str(i))
        left = ledger.remaining()
        assert left.guarantee == dc.MetricDP(Fraction(1, 10), 0.01, AbsoluteDifference())
        assert left.share == pytest.approx(0.1)
        assert "METRIC Σ |x_i − y_i|" in left.words
        with pytest.raises(Overspent, match="ε per unit of distance"):
            ledger.charge(dc.MetricDP(0.2, metric=AbsoluteDifference()), charge_id="too much")
        for other in (dc.PureDP(0.01), dc.MetricDP(0.01, metric=Hamming())):
            with pytest.raises(dc.MixedRelations):
                ledger.charge(other, charge_id="other")
        ledger.charge(dc.MetricDP(Fraction(1, 10), 0.01, AbsoluteDifference()), charge_id="rest")
        assert "nothing" in ledger.remaining().words
    with dc.Ledger.open(tmp_path / "b.db") as ledger:
        assert ledger.remaining().budget == budget
