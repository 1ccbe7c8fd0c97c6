"""The private Gibbs kernel of the hidden Markov model: its law by enumeration, its promise, its audit."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from scipy.stats import chi2

import discreet as dc
from discreet.audit import exact_profiles as profiles
from discreet.audit.case import Case, empirical, profile_excess
from discreet.line import chains
from discreet.mcmc.hidden_markov_gibbs import HiddenMarkovGibbs, moved, transition_counts
from discreet.mcmc.running.plan import ChainPlan, calibrate
from discreet.mcmc.running.run import Chains
from discreet.models.hidden_markov import HiddenMarkov
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import BoundedRange, PureDP
from discreet.sampling.source import SeededSource
from discreet.tables.schema import Categories

MODEL = HiddenMarkov(states=2, chain="r", step="t", features=("x", "y")).bind(
    {"r": 1, "t": 2, "x": 2, "y": 2}
)
KERNEL = HiddenMarkovGibbs(MODEL, temperature=2)
# states nobody is likely to confuse: the first likes the first value of both features, the second the second
THETA = np.array([[0.95, 0.05, 0.95, 0.05], [0.05, 0.95, 0.05, 0.95]])


def log_path(z, alpha, states):
    """ln p(z), first steps and transitions Dirichlet–multinomial, by whole paths"""
    counts = np.zeros((states + 1, states))
    for chain in np.atleast_2d(z):
        counts[states, chain[0]] += 1
        np.add.at(counts, (chain[:-1], chain[1:]), 1)
    return float(gammaln(counts + alpha).sum() - gammaln(counts.sum(axis=1) + states * alpha).sum())


def cells(*records):
    """(t, x, y) of every record as margins by cell"""
    counts = np.zeros((2, 4), dtype=np.int64)
    for t, x, y in records:
        counts[t, x] += 1
        counts[t, 2 + y] += 1
    return counts


def scan_law(counts, heat, start):
    """Law of z after one scan from `start` with THETA: cell by cell, by the joint law of whole paths.

    `heat` is one number, or one for every value of both features.
    """
    score = (counts / heat) @ np.log(THETA).T
    law = np.zeros((2, 2))
    for first, second in itertools.product(range(2), repeat=2):
        chance = 1.0
        for t, path in enumerate([[first, start[1]], [first, second]]):
            both = [log_path([*path[:t], k, *path[t + 1 :]], 1.0, 2) + score[t, k] for k in range(2)]
            chance *= np.exp(both - np.logaddexp(*both))[path[t]]
        law[first, second] = chance
    return law.reshape(-1)


def state(z):
    return np.concatenate([np.asarray(z, dtype=float), THETA.reshape(-1)])


def test_the_prior_of_a_state_is_the_ratio_of_whole_paths():
    """Reference H's update, second factor and indicator included: random paths of three states."""
    rng = np.random.default_rng(5)
    model = HiddenMarkov(states=3, chain="r", step="t", features=("x",), transition=Fraction(1, 2))
    kernel = HiddenMarkovGibbs(model.bind({"r": 2, "t": 5, "x": 2}))
    for _ in range(40):
        paths, r, t = rng.integers(3, size=(2, 5)), rng.integers(2), rng.integers(5)
        others = []
        for k in range(3):
            other = paths.copy()
            other[r, t] = k
            others.append(log_path(other, 0.5, 3))
        moves = transition_counts(paths, 3)
        moved(moves, paths[r], t, -1)
        found = kernel.log_prior(moves, paths[r], t)
        assert found - found[0] == pytest.approx(np.array(others) - others[0], abs=1e-12)


def frequencies(kernel, counts, start, runs, seed):
    source, seen = SeededSource(seed), np.zeros(4)
    scores = kernel._scores(state(start), counts)
    for _ in range(runs):
        a, b = kernel._scan(np.array(start), scores, source)
        seen[2 * a + b] += 1
    return seen


def test_a_scan_draws_its_law():
    """χ² with 3 degrees of freedom at level 1e-6; the law at another temperature is rejected."""
    counts, start, runs = cells((0, 0, 0), (0, 0, 1), (1, 1, 1)), (1, 0), 4000
    seen = frequencies(KERNEL, counts, start, runs, 11)

    def distance(law):
        return float(((seen - runs * law) ** 2 / (runs * law)).sum())

    assert distance(scan_law(counts, 2, start)) < chi2.isf(1e-6, 3)
    assert distance(scan_law(counts, 3, start)) > chi2.isf(1e-6, 3)


def scan_price(kernel):
    """The part of the promise that is the states', not the tables'"""
    return max((part for part, _ in kernel.guarantee.parts), key=lambda part: part.epsilon(0))


def neighbours():
    """All pairs of two-record data sets that differ in one record"""
    records = list(itertools.product(range(2), repeat=3))
    for common, one, other in itertools.product(records, repeat=3):
        yield (common, one), (common, other)


# feature x pays ¾ of ε and y ¼; both have the same spread, so 2/T_x = 3/2 and 2/T_y = ½
SHARED = replace(KERNEL, shares=(0.75, 0.25))
HEATS = {None: np.full(4, 2.0), (0.75, 0.25): np.array([4 / 3, 4 / 3, 4, 4])}


@pytest.mark.parametrize("kernel", [KERNEL, SHARED])
def test_the_scan_keeps_its_promise_on_every_neighbour_and_nearly_attains_it(kernel):
    claim, heats = scan_price(kernel).epsilon(0), HEATS[kernel.shares]
    starts = list(itertools.product(range(2), repeat=2))
    logs = cache(lambda held: np.log([scan_law(cells(*held), heats, start) for start in starts]))
    worst = max(float(np.abs(logs(one) - logs(other)).max()) for one, other in neighbours())
    assert 0.8 * claim < worst <= claim
    # claimed as if a substitution moved one record, as adding does: refuted
    assert worst > scan_price(replace(kernel, relation=ADD_REMOVE)).epsilon(0)


def test_shares_change_what_a_feature_says_and_what_it_pays():
    """A scan weighs a record of x thrice as much as one of y; the whole sweep costs what it did."""
    counts, start, runs = cells((0, 0, 1), (0, 0, 1), (1, 1, 0)), (1, 0), 4000
    seen = frequencies(SHARED, counts, start, runs, 12)

    def distance(law):
        return float(((seen - runs * law) ** 2 / (runs * law)).sum())

    assert distance(scan_law(counts, HEATS[SHARED.shares], start)) < chi2.isf(1e-6, 3)
    assert distance(scan_law(counts, 2, start)) > chi2.isf(1e-6, 3)
    assert SHARED.guarantee.epsilon(0) == pytest.approx(KERNEL.guarantee.epsilon(0), rel=1e-8)
    prices = sorted(float(p.loss) for p, _ in SHARED.guarantee.parts if isinstance(p, BoundedRange))
    assert prices == pytest.approx([math.log(19) / 2, 3 * math.log(19) / 2])  # 2Δ/T_y and 2Δ/T_x
    even = replace(KERNEL, shares=(Fraction(1, 2), Fraction(1, 2)))  # spreads are equal here
    assert even.guarantee == KERNEL.guarantee


def test_shares_are_of_the_price_whatever_the_sizes():
    """x of 5 values and y of 2 have different spreads; each pays its share, and one value pays nothing."""
    model = replace(MODEL, features=("x", "y", "w"), sizes=()).bind({"r": 1, "t": 2, "x": 5, "y": 2, "w": 1})
    kernel = HiddenMarkovGibbs(model, shares=(0.6, 0.2, 0.2), temperature=3)
    paid = [float(w * s) for w, s in zip(kernel.weights, kernel.spreads, strict=True)]
    assert paid == pytest.approx([0.75 * sum(paid), 0.25 * sum(paid), 0])
    assert kernel.guarantee.epsilon(0) == pytest.approx(
        replace(kernel, shares=None).guarantee.epsilon(0), rel=1e-8
    )


@pytest.mark.parametrize("shares", [(0.5,), (0.5, 0.6), (1, 0), (math.nan, 0.5), (1.5, -0.5)])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(ValueError, match="share"):
        HiddenMarkovGibbs(MODEL, shares=shares)


def test_the_whole_price_is_four_times_the_spread_for_a_sweep():
    """Δ = ln(.95/.05) a feature: 2·2Δ/T for the scan and as much for the tables; half where one is added."""
    spread = math.log(19)
    assert KERNEL.guarantee.epsilon(0) == pytest.approx(4 * 2 * spread / 2, rel=1e-8)
    assert replace(KERNEL, relation=ADD_REMOVE).guarantee.epsilon(0) == pytest.approx(2 * spread, rel=1e-8)
    alone = HiddenMarkovGibbs(replace(MODEL, states=1), temperature=2)
    assert alone.guarantee.epsilon(0) == pytest.approx(2 * spread, rel=1e-8)  # no states to draw
    planned = calibrate(KERNEL, steps=7, chains=1, target=PureDP(3))
    assert ChainPlan(planned, 7, 1).guarantee <= PureDP(3)
    assert not ChainPlan(planned.at(planned.temperature * 0.999), 7, 1).guarantee <= PureDP(3)


# --- the tables, given the states ------------
ENDS = (0.05, 0.95)  # of θ_{k,d,0}: truncation 1/10, two values


@cache
def log_norm(heat, first, second):
    """Ln ∫ θ^{first/T} (1−θ)^{second/T} over the interval, a flat prior"""
    x = ENDS[0] + (np.arange(20_000) + 0.5) / 20_000 * (ENDS[1] - ENDS[0])
    return math.log((x ** (first / heat) * (1 - x) ** (second / heat)).mean() * (ENDS[1] - ENDS[0]))


def loss_of_a_table(heat, one, other):
    """Least and greatest of ln p_one(θ)/p_other(θ): it is monotone in θ, so they are at the ends"""
    moved_by = np.subtract(one, other) / heat
    shift = log_norm(heat, *other) - log_norm(heat, *one)
    return sorted(moved_by @ np.log([end, 1 - end]) + shift for end in ENDS)


def loss_by_feature(one, other, z, heats):
    """Range of the loss of each feature's tables, which are independent given z"""
    counts = [cells(*held).reshape(2, 2, 2) for held in (one, other)]  # (cell, feature, value)
    by_state = [np.array([c[np.array(z) == k].sum(axis=0) for k in range(2)]) for c in counts]
    return [
        np.sum(
            [
                loss_of_a_table(heats[2 * d], *(tuple(int(v) for v in b[k, d]) for b in by_state))
                for k in range(2)
            ],
            axis=0,
        )
        for d in range(2)
    ]


@pytest.mark.parametrize("kernel", [KERNEL, SHARED])
def test_tables_keep_their_price_on_every_neighbour_and_attain_it(kernel):
    """All pairs of two-record data sets and all states: each feature's loss ranges over 2Δ_d/T_d, no more."""
    paths, heats = list(itertools.product(range(2), repeat=2)), HEATS[kernel.shares]
    every = [loss_by_feature(*pair, z, heats) for pair in neighbours() for z in paths]
    widest = [max(high - low for low, high in (losses[d] for losses in every)) for d in range(2)]
    ranges = [(float(p.loss), n) for p, n in kernel.guarantee.parts if isinstance(p, BoundedRange)]
    claims = sorted((loss for loss, n in ranges for _ in range(n)), reverse=True)
    assert len(claims) == 2  # features
    for width, claim in zip(widest, claims, strict=True):
        assert width == pytest.approx(claim, rel=1e-8)
        assert width <= claim * (1 + 1e-12)
    worst = max(sum(np.abs(loss).max() for loss in losses) for losses in every)
    assert 0.5 * kernel.guarantee.epsilon(0) / 2 < worst <= kernel.guarantee.epsilon(0) / 2
    # claimed as if a substitution moved one record, as adding does: refuted
    half = replace(kernel, relation=ADD_REMOVE)
    tables = [float(p.loss) for p, _ in half.guarantee.parts if p != scan_price(half)]
    assert widest[0] > 1.9 * max(tables)


def test_the_profile_of_a_table_is_covered_and_a_third_of_its_price_is_not():
    """A record of cell 0 with x = 0 becomes x = 1: one table changes, δ(ε) by quadrature."""
    claim = next(p for p, _ in KERNEL.guarantee.parts if isinstance(p, BoundedRange))
    x = ENDS[0] + (np.arange(20_000) + 0.5) / 20_000 * (ENDS[1] - ENDS[0])
    laws = [x ** (a / 2) * (1 - x) ** (b / 2) for a, b in ((1, 0), (0, 1))]
    p, q = (law / law.sum() for law in laws)
    for epsilon in np.linspace(0, float(claim.loss), 9):
        delta = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert delta <= claim.delta(float(epsilon)) + 1e-9
    third = BoundedRange(claim.loss / 3)
    assert np.maximum(p - math.exp(third.loss) * q, 0).sum() > 0.01 > third.delta(third.loss)


def audited(claim, heat, epsilon):
    """One record in the first cell, of the one extreme or of the other; z after one scan"""
    kernel, start = KERNEL.at(heat), (0, 0)
    left, right = cells((0, 1, 1)), cells((0, 0, 0))
    p, q = (scan_law(counts, heat, start) for counts in (left, right))

    def drawn(counts, many, source):
        scores = kernel._scores(state(start), counts)
        z = [kernel._scan(np.array(start), scores, source) for _ in range(many)]
        return np.array(z) @ [2, 1]

    likely = p > math.exp(epsilon) * q
    return Case(claim, drawn, (left, right), lambda y: likely[y], profiles.finite(p, q), epsilon)


def test_the_audit_passes_the_kernel_and_catches_one_that_is_not_tempered():
    """800 runs a side; a true claim is refuted with probability 1e-4 at most."""
    claim = scan_price(KERNEL.at(8))
    honest = audited(claim, 8, 0.5)
    broken = audited(claim, 1, 2.0)
    grid = np.linspace(0, 4, 17)
    assert profile_excess(honest, grid) <= 0 < profile_excess(broken, grid)
    assert not empirical(honest, SeededSource(1), runs=800).refuted
    assert empirical(broken, SeededSource(2), runs=800).refuted


def test_tables_are_drawn_from_the_counts_of_their_own_state_and_truncated():
    """Means of 100 draws within 5 standard errors (of a Beta, truncated hardly at all); else 1e-6."""
    counts = cells(*[(0, 0, 0)] * 60, *[(0, 1, 0)] * 20, *[(1, 1, 1)] * 80)
    source = SeededSource(3)
    drawn = np.array([KERNEL._tables(np.array([1, 0]), counts, source) for _ in range(100)]).reshape(
        100, 2, 4
    )
    assert drawn.min() >= 0.05
    # state 1 holds the first cell: x = 0 for 60 of 80 records, each counted half
    for k, j, a, b in ((1, 0, 31, 11), (0, 1, 41, 1), (0, 3, 41, 1)):
        inside = truncated_mean(a, b)
        assert drawn[:, k, j].mean() == pytest.approx(inside[0], abs=5 * inside[1] / 10)


def truncated_mean(a, b):
    x = np.linspace(0.05, 0.95, 20001)
    density = x ** (a - 1) * (1 - x) ** (b - 1)
    density /= density.sum()
    mean = float(density @ x)
    return mean, math.sqrt(float(density @ (x - mean) ** 2))


def test_tables_of_shares_are_drawn_at_their_own_temperatures():
    """As above: x counts ¾, y ¼ of a record."""
    counts = cells(*[(0, 0, 0)] * 60, *[(0, 1, 1)] * 20)
    source = SeededSource(5)
    drawn = np.array([SHARED._tables(np.array([1, 0]), counts, source)[4:] for _ in range(100)])
    for j, a, b in ((0, 46, 16), (2, 16, 6)):
        mean, sd = truncated_mean(a, b)
        assert drawn[:, j].mean() == pytest.approx(mean, abs=5 * sd / 10)
        assert drawn[:, j].std() == pytest.approx(sd, rel=0.4)  # 5 standard errors of a deviation of 100
    assert truncated_mean(16, 6)[1] / truncated_mean(46, 16)[1] > 1.6


def test_counts_of_each_feature_are_laid_side_by_side():
    """The joint table of R·T·ΠJ cells is never made: R·T·ΣJ are, and its margins are what they were."""
    joint = np.arange(8).reshape(2, 2, 2)
    margins = np.concatenate([joint.sum(axis=2).reshape(-1), joint.sum(axis=1).reshape(-1)])
    assert KERNEL.cells == margins.size
    assert KERNEL.arranged(margins, SeededSource(0)).tolist() == [[1, 5, 2, 4], [9, 13, 10, 12]]
    wide = HiddenMarkov(states=2, chain="r", step="t", features=tuple("abcdefgh"))
    wide = wide.bind({"r": 10, "t": 10, **dict.fromkeys("abcdefgh", 10)})
    assert HiddenMarkovGibbs(wide).cells == 100 * 80  # jointly 10¹⁰


def test_renamed_states_are_the_same_answer_and_are_not_averaged():
    """Two chains that stand still, the second with its states' names exchanged: as if they were one."""
    one = np.concatenate([[0.0, 1.0], THETA.reshape(-1)])
    other = np.concatenate([[1.0, 0.0], THETA[::-1].reshape(-1)])
    draws = np.repeat(np.stack([one, other])[:, None], 9, axis=1)
    said = Chains(ChainPlan(KERNEL, 8, 2), draws, seeded=True).summary()
    assert not any(name.startswith("z[") for name in said)
    assert all(entry["r_hat"] == 1 and entry["sd"] < 1e-12 for entry in said.values())
    found = {name: entry["mean"] for name, entry in said.items()}
    assert found == pytest.approx(
        {
            "cells in the largest state": 0.5,
            "steps that stay": 0,
            **dict.fromkeys(("x[0]", "x[1]", "y[0]", "y[1]"), 0.5),
            **{f"{name} between classes": 0.45 for name in ("x[0]", "x[1]", "y[0]", "y[1]")},
        }
    )
    draws = draws.copy()
    draws[1, :, :2] = 0  # another answer: seen
    said = Chains(ChainPlan(KERNEL, 8, 2), draws, seeded=True).summary()
    assert said["steps that stay"]["r_hat"] == math.inf


def test_the_straight_line_pays_for_the_planned_sweeps(tmp_path):
    rows = {"r": ["a"] * 6, "t": ["0", "0", "1", "1", "1", "0"], "x": list("ababab"), "y": list("aabbab")}
    levels = {"r": ["a"], "t": ["0", "1"], "x": ["a", "b"], "y": ["a", "b"]}
    schema = {name: Categories(every, unknown=every[0]) for name, every in levels.items()}
    table = dc.Table.open(pd.DataFrame(rows), schema=schema, n=6)
    sizes = {"r": 1, "t": 2, "x": 2, "y": 2}
    kernel = calibrate(HiddenMarkovGibbs(MODEL.bind(sizes)), steps=3, chains=1, target=PureDP(2))
    ledger = dc.Ledger.open(tmp_path / "budget.db", budget=PureDP(2))
    release = chains.run(table, kernel, steps=3, chains=1, ledger=ledger, source=SeededSource(4))
    assert release.draws.shape == (1, 4, 2 + 8)
    assert release.guarantee <= PureDP(2)
    assert release.certificate()["kernel"] == "hidden_markov_gibbs"


@pytest.mark.parametrize("truncation", [0, 1, math.nan])
def test_a_truncation_that_is_none_is_refused(truncation):
    with pytest.raises(ValueError, match=r"NaN|truncation"):
        HiddenMarkovGibbs(MODEL, truncation=truncation)


def test_a_model_without_sizes_is_refused():
    with pytest.raises(ValueError, match="bind"):
        HiddenMarkovGibbs(HiddenMarkov(states=2, chain="r", step="t", features=("x",)))
