"""One draw of a whole network: no neighbouring data sets exceed the claim, and forgetting a node would."""

import itertools
import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.special import betainc, betaln

from discreet.mechanisms.posterior.network_sample import OneNetworkSample
from discreet.models.bayes_net import BayesianNetwork
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.network.posterior import counts_of
from discreet.privacy.guarantee import ADD_REMOVE, NotProved
from discreet.privacy.kinds import ApproxDP, BoundedRange, PureDP
from discreet.sampling.source import SeededSource

EIGHTH = Fraction(1, 8)
GRAPHS = {
    "edge": [("a", "b")],
    "chain": [("a", "b"), ("b", "c")],
    "collider": [("a", "c"), ("b", "c")],
}
SLACK = 1e-9  # of scipy's incomplete Beta


def binary(edges):
    network = BayesianNetwork(edges)
    return network.bind(dict.fromkeys(network.nodes, 2))


@cache
def log_normaliser(a, b, lower):
    share = betainc(a, b, 1 - lower) - betainc(a, b, lower)
    return float(betaln(a, b) + math.log(share))


def largest_loss(before, after, s, lower):
    """sup_θ ln dQ/dP of products of truncated Betas, exact: each row's θ is at an end of [l, 1 − l]"""
    total = 0.0
    for old, new in zip(before.reshape(-1, 2), after.reshape(-1, 2), strict=True):
        step = s * (new - old)
        if step.any():
            ends = [step[0] * math.log(x) + step[1] * math.log1p(-x) for x in (lower, 1 - lower)]
            tilt = log_normaliser(*(1 + s * new), lower) - log_normaliser(*(1 + s * old), lower)
            total += max(ends) - tilt
    return total


def worst_of_all(network, n, s, lower):
    """Every data set of n records, every substitution, both directions."""
    values = list(itertools.product(range(2), repeat=len(network.nodes)))
    worst = 0.0
    for others in itertools.combinations_with_replacement(values, n - 1):
        rows = [np.array([*others, x]) for x in values]
        counts = [counts_of(network, dict(zip(network.columns, r.T, strict=True))) for r in rows]
        for before, after in itertools.permutations(counts, 2):
            worst = max(worst, largest_loss(before, after, s, lower))
    return worst


@pytest.mark.parametrize(
    ("graph", "n", "share"), [("edge", 1, 1), ("edge", 4, 0.96), ("chain", 2, 0.99), ("collider", 2, 0.99)]
)
def test_no_neighbouring_data_sets_exceed_the_claim(graph, n, share):
    network = binary(GRAPHS[graph])
    mechanism = OneNetworkSample.calibrate(network, n=n, target=PureDP(1), truncation=EIGHTH)
    worst = worst_of_all(network, n, float(mechanism.weight), 1 / 8)
    assert share - SLACK <= worst <= float(mechanism.guarantee.loss) + SLACK <= 1 + SLACK


def test_a_constant_that_forgets_a_node_is_exceeded():
    network, root = binary(GRAPHS["edge"]), BayesianNetwork((), nodes=("a",)).bind({"a": 2})
    paid = OneNetworkSample.calibrate(root, n=2, target=PureDP(1), truncation=EIGHTH)
    assert worst_of_all(network, 2, float(paid.weight), 1 / 8) > 1.8


def test_delta_is_the_sum_over_nodes_and_is_attained():
    network = BayesianNetwork([("a", "b"), ("a", "c")]).bind({"a": 2, "b": 3, "c": 4})
    lower, cold = (
        1 / 8,
        OneNetworkSample(
            BayesianNetwork([("a", "b"), ("a", "c")]).bind({"a": 2, "b": 3, "c": 4}),
            n=5,
            truncation=EIGHTH,
            temperature=1,
        ),
    )
    delta = sum(math.log((1 - (k - 1) * lower) / lower) for k in (2, 3, 4))
    assert float(cold.bounded_range.loss) == pytest.approx(2 * delta, rel=1e-14)
    assert float(cold.bounded_range.loss) >= 2 * delta * (1 - 1e-15)
    # x = (0, 0, 0) at the tops of its rows, x' = (1, 1, 1) at the bottoms of other rows
    tops = [[1 - lower, lower], [1 - 2 * lower, lower, lower], [1 - 3 * lower, *[lower] * 3]]
    high = sum(math.log(row[0]) for row in tops)
    low = sum(math.log(lower) for _ in tops)
    assert high - low == pytest.approx(delta)
    assert network.size == 2 + 6 + 8


def simplex_grid(lower, points=160):
    """Gauss–Legendre on {θ₁, θ₂, 1 − θ₁ − θ₂ ≥ lower}, by Duffy's map"""
    x, w = np.polynomial.legendre.leggauss(points)
    u, wu = (x + 1) / 2, w / 2
    side = 1 - 3 * lower
    a, b = np.meshgrid(u, u, indexing="ij")
    theta = np.stack([lower + side * a, lower + side * (1 - a) * b, lower + side * (1 - a) * (1 - b)])
    return theta, np.outer(wu, wu) * side**2 * (1 - a)


def test_three_codes_stay_within_the_claim_by_quadrature():
    # A child of three codes whose record moves within its row, or to the other row: all data sets of n = 2.
    network = BayesianNetwork([("a", "b")]).bind({"a": 2, "b": 3})
    mechanism = OneNetworkSample.calibrate(network, n=2, target=PureDP(1), truncation=EIGHTH)
    s, lower = float(mechanism.weight), 1 / 8
    theta, weight = simplex_grid(lower)

    @cache
    def normaliser(row):
        if len(row) == 2:
            return log_normaliser(1 + s * row[0], 1 + s * row[1], lower)
        return math.log(
            (weight * np.prod([t ** (s * c) for t, c in zip(theta, row, strict=True)], axis=0)).sum()
        )

    def loss(before, after):
        total = 0.0
        for old, new in zip(network.split(before).values(), network.split(after).values(), strict=True):
            k = old.shape[-1]
            for p, q in zip(old.reshape(-1, k), new.reshape(-1, k), strict=True):
                step = s * (q - p)  # largest where a gaining entry is at its top and all others at the bottom
                top = step * np.log(1 - (k - 1) * lower) + (step.sum() - step) * np.log(lower)
                total += top.max()
                total -= normaliser(tuple(q.tolist())) - normaliser(tuple(p.tolist()))
        return total

    values = list(itertools.product(range(2), range(3)))
    sets = {
        (x, y): counts_of(network, {"a": [x[0], y[0]], "b": [x[1], y[1]]}) for x in values for y in values
    }
    worst = max(loss(sets[x, y], sets[x, z]) for x, y, z in itertools.product(values, repeat=3))
    assert 0.65 < worst <= 1 + SLACK  # the bound for three codes is not an equality


def test_draws_follow_prior_plus_counts_over_t():
    # Mean of 20 000 draws of one row within 5 standard errors of quadrature; full counts are 30 away.
    network = binary(GRAPHS["edge"])
    mechanism = OneNetworkSample(network, n=40, truncation=EIGHTH, temperature=4)
    rows = mechanism._rows(np.tile([30, 10], (20_000, 1)), SeededSource(1))
    assert rows.sum(axis=1) == pytest.approx(1, abs=2**-30)
    assert rows.min() >= 1 / 8

    def mean(a, b):
        return math.exp(log_normaliser(a + 1, b, 1 / 8) - log_normaliser(a, b, 1 / 8))

    error = rows[:, 0].std() / len(rows) ** 0.5
    assert abs(rows[:, 0].mean() - mean(1 + 30 / 4, 1 + 10 / 4)) < 5 * error
    assert abs(rows[:, 0].mean() - mean(31.0, 11.0)) > 30 * error


def test_a_release_has_every_table_and_rows_of_one_code_are_certain():
    network = BayesianNetwork([("a", "b"), ("a", "one")]).bind({"a": 2, "b": 3, "one": 1})
    mechanism = OneNetworkSample.calibrate(network, n=6, target=PureDP(1), truncation=0.05)
    theta = mechanism.release(np.array([4, 2, 2, 1, 1, 2, 0, 0, 4, 2]), SeededSource(2))
    tables = network.split(theta)
    assert (tables["one"] == 1).all()
    assert tables["b"].sum(axis=-1) == pytest.approx(1, abs=1e-8)
    same = mechanism.release(np.array([4, 2, 2, 1, 1, 2, 0, 0, 4, 2]), SeededSource(2))
    assert (same == theta).all()
    with pytest.raises(ValueError, match="add up"):
        mechanism.release(np.array([4, 3, 2, 1, 1, 2, 0, 0, 4, 2]), SeededSource(2))


def test_calibration_meets_every_target_that_pure_dp_implies():
    network = binary(GRAPHS["chain"])
    for target in (PureDP(0.5), ApproxDP(0.5, 1e-6), BoundedRange(1), PureDP(0.5, relation=ADD_REMOVE)):
        n = None if target.relation is ADD_REMOVE else 1000
        mechanism = OneNetworkSample.calibrate(network, n=n, target=target, truncation=0.02)
        assert mechanism.guarantee <= target
    cold, hot = (
        OneNetworkSample.calibrate(network, n=1000, target=PureDP(e), truncation=0.02).temperature
        for e in (2, 1)
    )
    assert cold < hot


def test_bad_input_says_what_to_do():
    network = binary(GRAPHS["edge"])
    with pytest.raises(ValueError, match="below 1/2"):
        OneNetworkSample(network, n=5, truncation=0.5, temperature=2)
    with pytest.raises(ValueError, match="at least 1"):
        OneNetworkSample(network, n=5, truncation=0.1, temperature=0.5)
    with pytest.raises(ValueError, match="leave n out"):
        OneNetworkSample(network, n=5, truncation=0.1, temperature=2, relation=ADD_REMOVE)
    with pytest.raises(ValueError, match="count"):
        OneNetworkSample(network, truncation=0.1, temperature=2, relation=ADD_REMOVE).release(
            [1, 0, 1, 0, 0, 0]
        )
    with pytest.raises(NotProved, match="noisy_counts"):
        OneNetworkSample(NaiveBayes("a", ("b",)).bind({"a": 2, "b": 2}), n=5, truncation=0.1, temperature=2)
