"""The default reading of a network, table by table: enumeration, calibration, and graphs that are wrong."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import chi2

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.bayes_net import BayesianNetwork
from discreet.posteriors.network.posterior import ancestral, counts_of
from discreet.posteriors.network.read import exact, fit, naive, noise_aware, read
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import SeededSource

PAIR = BayesianNetwork([("a", "b")], prior=Fraction(1, 2)).bind({"a": 2, "b": 2})
TRIANGLE = BayesianNetwork([("a", "b"), ("a", "c"), ("b", "c")]).bind({"a": 2, "b": 2, "c": 2})


def enumerated(noisy, n, alpha):
    """E θ of a table (rows, 2) given its noisy counts, over every table of every total in `n`"""
    terms, means = [], []
    for counts in itertools.product(range(max(n) + 1), repeat=noisy.size):
        x = np.array(counts)
        if x.sum() in n:
            # all cells Dirichlet–multinomial with α; given the total the orders count
            urn = (gammaln(alpha + x) - gammaln(x + 1)).sum()
            room = gammaln(x.sum() + 1) - gammaln(alpha * x.size + x.sum())
            terms.append(urn + room - np.abs(noisy.reshape(-1) - x).sum())
            table = alpha + x.reshape(noisy.shape)
            means.append(table / table.sum(axis=-1, keepdims=True))
    weight = np.exp(np.array(terms) - max(terms))
    return np.tensordot(weight / weight.sum(), np.array(means), axes=1)


@pytest.mark.parametrize("relation", ["substitute", "add_remove"])
def test_every_table_has_its_enumerated_posterior_mean(relation):
    # Means over 20 000 independent draws: the largest of 6 |z| passes 5 with probability below 4e-6.
    private = {"relation": ADD_REMOVE} if relation == "add_remove" else {"n": 4}
    count = {"count": 4} if private.get("relation") else {}
    mechanism = NoisyCounts(PAIR, scales=(1, 1), **private)
    cells = mechanism.release(np.array([3, 1, 2, 1, 0, 1]), SeededSource(3), **count)
    posterior = noise_aware(cells, PAIR, draws=20_000)
    totals = range(15) if count else [4]  # more records would leave e^−8 of the noise, or less
    for node in ("a", "b"):
        noisy = np.atleast_2d(cells.tables()[node])
        wanted = enumerated(noisy, totals, 0.5)
        each = posterior.model.split(posterior._means.std(axis=0))[node].reshape(noisy.shape)
        slack = 0.004 if count else 0.0  # of the cut
        assert (
            np.abs(posterior.tables()[node].values.reshape(noisy.shape) - wanted)
            < 5 * each / 20_000**0.5 + slack
        ).all()
        careless = naive(cells, PAIR).table(node).values.reshape(noisy.shape)
        assert np.abs(careless - wanted).max() > 0.01  # negative control


def test_calibrated_where_its_prior_is_the_truth_and_the_naive_reading_is_not():
    # A root's table is all there is: ranks of P(first code) among 19 draws, χ² over five groups, level 1e-4.
    alone = BayesianNetwork((), nodes=("a",)).bind({"a": 3})
    source, rng, honest, careless = SeededSource(1), np.random.default_rng(1), [], []
    for _ in range(200):
        theta = rng.dirichlet([1, 1, 1])
        cells = NoisyCounts(alone, n=40, scales=(8,)).release(rng.multinomial(40, theta), source)
        honest.append(
            (
                noise_aware(cells, alone, draws=100, source=source).flat_sample(19, source)[:, 0] < theta[0]
            ).sum()
        )
        careless.append((naive(cells, alone).flat_sample(19, source)[:, 0] < theta[0]).sum())

    def uniformity(ranks):
        seen = np.bincount(np.array(ranks) // 4, minlength=5)
        return chi2.sf(((seen - 40) ** 2 / 40).sum(), 4)

    assert uniformity(honest) > 1e-4
    assert uniformity(careless) < 1e-8


def test_a_child_s_table_is_calibrated_where_its_prior_is_the_truth():
    # All cells of (a, b) alike: rows weigh Dirichlet(2α), each is Dirichlet(α). Ranks of one entry a row
    # among 19 draws, 300 replicates; χ² over five groups at 1e-4 each. The naive reading fails by far.
    source, rng, honest, careless = SeededSource(3), np.random.default_rng(3), [], []
    for _ in range(300):
        weights, rows = rng.dirichlet([1, 1]), rng.dirichlet([0.5, 0.5], 2)
        totals = rng.multinomial(40, weights)
        counts = np.concatenate([totals, *map(rng.multinomial, totals, rows)])
        cells = NoisyCounts(PAIR, n=40, scales=(8, 8)).release(counts, source)
        truth, places = rows[:, 0], [2, 4]
        aware = noise_aware(cells, PAIR, draws=60, source=source).flat_sample(19, source)
        honest.append((aware[:, places] < truth).sum(axis=0))
        careless.append((naive(cells, PAIR).flat_sample(19, source)[:, places] < truth).sum(axis=0))

    def uniformity(ranks):
        seen = np.bincount(ranks // 4, minlength=5)
        return chi2.sf(((seen - 60) ** 2 / 60).sum(), 4)

    assert min(map(uniformity, np.array(honest).T)) > 1e-4
    assert max(map(uniformity, np.array(careless).T)) < 1e-8


def test_intervals_cover_where_the_naive_ones_do_not():
    # 60 networks, 14 entries each: a coverage of 0.9 has a standard error of about 0.016 here.
    source, rng, inside = SeededSource(2), np.random.default_rng(2), []
    for _ in range(60):
        theta = exact(np.zeros(TRIANGLE.size), TRIANGLE).flat_sample(1, source)[0]
        records = ancestral(TRIANGLE, TRIANGLE.split(theta), 100, rng)
        cells = NoisyCounts(TRIANGLE, n=100, scales=(10,) * 3).release(counts_of(TRIANGLE, records), source)
        truth = TRIANGLE.split(theta)
        for reading in (noise_aware(cells, TRIANGLE, draws=100), naive(cells, TRIANGLE)):
            ends = reading.tables(reading.interval(0.9))
            inside.append(
                np.mean(
                    [
                        ((e.values[..., 0] <= truth[v]) & (truth[v] <= e.values[..., 1])).mean()
                        for v, e in ends.items()
                    ]
                )
            )
    aware, careless = np.mean(inside[::2]), np.mean(inside[1::2])
    assert 0.84 < aware < 0.96
    assert careless < 0.75


def test_a_wrong_graph_does_not_mislead_it():
    # a and b are the same, and the graph says independent. Read together, the table of c pays for that.
    wrong = BayesianNetwork([("a", "c"), ("b", "c")]).bind({"a": 2, "b": 2, "c": 2})
    a = np.random.default_rng(3).integers(2, size=1000)
    records = {"a": a, "b": a, "c": a}
    cells = NoisyCounts(wrong, n=1000, scales=(20,) * 3).release(counts_of(wrong, records), SeededSource(4))
    apart, together = noise_aware(cells, wrong), fit(cells, wrong, chains=1, sweeps=400, keep=100)
    assert apart.tables()["c"].values[0, 0, 0] > 0.9
    assert apart.log_likelihood(records, codes=True) > together.log_likelihood(records, codes=True)


def test_summaries_agree_with_draws():
    # 4000 draws; every mean and every predictive within 5 standard errors.
    cells = NoisyCounts(TRIANGLE, n=50, scales=(3,) * 3).release(
        np.array([30, 20, 20, 10, 10, 10, 15, 5, 5, 5, 5, 5, 5, 5]), SeededSource(5)
    )
    posterior = read(cells, TRIANGLE, "noise_aware")
    assert posterior.reading == "noise_aware"
    assert posterior.diagnostics.chains == 0
    assert (posterior.counts == read(cells, TRIANGLE, "noise_aware").counts).all()
    draws = posterior.flat_sample(4000, SeededSource(6))
    mean, spread = posterior.mean().values, posterior.variance().values
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * (spread / 4000) ** 0.5).all()
    assert draws.var(axis=0) == pytest.approx(spread, rel=0.2)
    p = draws[:, 0] * draws[:, 2] * draws[:, 7]  # a = 0, b = 0, c = 1
    wanted = np.exp(posterior.log_predictive({"a": [0], "b": [0], "c": [1]}, codes=True)[0])
    assert abs(p.mean() - wanted) < 5 * p.std() / 4000**0.5
    assert posterior.marginal(["a", "b", "c"])[0, 0, 1] == pytest.approx(wanted)
    assert posterior.tables(posterior.sample(3))["c"].values.shape == (3, 2, 2, 2)
    low, high = np.moveaxis(posterior.tables(posterior.interval(0.9))["c"].values, -1, 0)
    assert (draws[:, 6:].reshape(-1, 2, 2, 2) > low).mean(axis=0) == pytest.approx(0.95, abs=0.03)
    assert (low < high).all()


def test_empty_rows_are_said():
    cells = NoisyCounts(TRIANGLE, n=4, scales=(5,) * 3).release(
        np.array([4, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0]), SeededSource(7)
    )
    assert "cannot be distinguished from empty" in repr(noise_aware(cells, TRIANGLE, draws=10))
    many = np.array([2000, 2000, 1000, 1000, 1000, 1000, *[500] * 8])
    full = NoisyCounts(TRIANGLE, n=4000, scales=(5,) * 3).release(many, SeededSource(7))
    assert noise_aware(full, TRIANGLE, draws=10).notes == ()
