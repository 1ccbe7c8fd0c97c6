"""The noise-aware reading of a network: against enumeration, under calibration, with controls that fail."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import chi2

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.bayes_net import BayesianNetwork
from discreet.posteriors.network import read as bayes_net
from discreet.posteriors.network.chain import NetworkChain
from discreet.posteriors.network.posterior import ancestral, counts_of
from discreet.posteriors.network.read import exact, fit, naive, posed, started
from discreet.posteriors.noise_law import rows_near_empty
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import SeededSource

PAIR = BayesianNetwork([("a", "b")], prior=Fraction(1, 2)).bind({"a": 2, "b": 2})
TRIANGLE = BayesianNetwork([("a", "b"), ("a", "c"), ("b", "c")]).bind({"a": 2, "b": 2, "c": 2})


def log_evidence(model, counts):
    """Σ over rows of ln B(prior + counts) − ln B(prior)"""
    total, prior = 0.0, float(model.prior)
    for table in model.split(counts).values():
        rows = table.reshape(-1, table.shape[-1])
        k = rows.shape[1]
        total += (gammaln(prior + rows).sum(axis=1) - gammaln(k * prior + rows.sum(axis=1))).sum()
        total -= len(rows) * (k * gammaln(prior) - gammaln(k * prior))
    return total


def enumerated(cells, sizes):
    """E(θ | ŷ) by summing over every data set of every n in `sizes`"""
    model = cells.model
    values = list(itertools.product(*map(range, model.sizes)))
    one = [counts_of(model, {c: [v] for c, v in zip(model.columns, x, strict=True)}) for x in values]
    scale = np.concatenate(
        [np.full(t.size, float(s)) for t, s in zip(model.cells, cells.scales, strict=True)]
    )
    power = 2 if cells.noise.endswith("gaussian") else 1
    terms, means, count = [], [], []
    for n in sizes:
        for which in itertools.combinations_with_replacement(range(len(values)), n):
            counts = sum((one[i] for i in which), np.zeros(model.size, dtype=int))
            orders = gammaln(n + 1) - gammaln(np.bincount(which, minlength=1) + 1).sum()
            noise = -((np.abs(cells.noisy - counts) / scale) ** power).sum() / power
            terms.append(log_evidence(model, counts) + orders + noise)
            means.append(exact(counts, model).flat_mean())
            count.append(n)
    weight = np.exp(np.array(terms) - max(terms))
    weight /= weight.sum()
    return weight @ np.array(means), weight @ np.array(count)


def batches(posterior):
    """Mean and its standard error, by batch means of 100 consecutive draws."""
    flat = posterior.draws.astype(float).reshape(-1, posterior.draws.shape[-1])
    means = flat.reshape(-1, 100, flat.shape[1]).mean(axis=1)
    return flat.mean(axis=0), means.std(axis=0, ddof=1) / len(means) ** 0.5


def off(posterior, wanted):
    mean, error = batches(posterior)
    return np.abs((mean - wanted) / error).max()


# The largest of at most 14 |z| passes 5 with probability below 1e-5 if the chain is right.
@pytest.mark.parametrize("noise", ["discrete_laplace", "laplace", "gaussian", "discrete_gaussian"])
def test_the_chain_has_the_enumerated_posterior_mean(noise):
    mechanism = NoisyCounts(PAIR, n=3, noise=noise, scales=(1, 2))
    cells = mechanism.release(np.array([2, 1, 2, 0, 0, 1]), SeededSource(3))
    wanted, _ = enumerated(cells, [3])
    posterior = fit(cells, PAIR, chains=2, sweeps=10_000, keep=5000, burn=100)
    assert posterior.diagnostics.r_hat < 1.01
    assert off(posterior, wanted) < 5
    # negative control: the same chain told that the noise is half as wide
    narrow = NoisyCells(PAIR, cells.noisy, 3, noise, (Fraction(1, 2), 1), cells.guarantee, seeded=True)
    assert off(fit(narrow, PAIR, chains=2, sweeps=10_000, keep=5000, burn=100), wanted) > 8


def test_tables_that_overlap_are_read_together():
    # Descendants are redrawn along b → c, a → c. The control reads the table of c without the others.
    mechanism = NoisyCounts(TRIANGLE, n=4, scales=(1, 1, 1))
    cells = mechanism.release(np.array([3, 1, 2, 1, 0, 1, 2, 0, 1, 0, 0, 0, 0, 1]), SeededSource(4))
    wanted, _ = enumerated(cells, [4])
    posterior = fit(cells, TRIANGLE, chains=2, sweeps=10_000, keep=5000, burn=100)
    assert off(posterior, wanted) < 5
    apart = NoisyCells(TRIANGLE, cells.noisy, 4, cells.noise, (10**6, 10**6, 1), cells.guarantee, seeded=True)
    assert off(fit(apart, TRIANGLE, chains=2, sweeps=10_000, keep=5000, burn=100), wanted) > 8


def test_with_n_private_the_chain_finds_n_as_well():
    mechanism = NoisyCounts(PAIR, scales=(1, 1), relation=ADD_REMOVE)
    cells = mechanism.release(np.array([2, 1, 1, 1, 1, 0]), SeededSource(5), count=3)
    assert cells.n is None
    posterior = fit(cells, PAIR, chains=2, sweeps=20_000, keep=10_000, burn=200)
    wanted, n = enumerated(cells, range(13))  # beyond 12 records the noise has less than e^−8 of its mass
    assert off(posterior, wanted) < 5
    sizes = posterior.records.reshape(-1, 100).mean(axis=1)
    assert abs(sizes.mean() - n) < 5 * sizes.std(ddof=1) / len(sizes) ** 0.5 + 0.01
    assert posterior.records.std() > 0.5


# ── calibration ─────────────────────────────────────────────────────────────────────────────────────

REPLICATES, DRAWS = 160, 19


def ranks(model, n, scale, reading, seed):
    """Rank of each true entry among DRAWS posterior draws, data from the prior [Talts et al. 2018]"""
    source, rng = SeededSource(seed), np.random.default_rng(seed)
    scales, found = (scale,) * len(model.nodes), []
    for _ in range(REPLICATES):
        theta = exact(np.zeros(model.size), model).flat_sample(1, source)[0]
        records = ancestral(model, model.split(theta), n, rng)
        cells = NoisyCounts(model, n=n, scales=scales).release(counts_of(model, records), source)
        found.append((reading(cells, source) < theta).sum(axis=0))
    return np.array(found)


def aware(cells, source):
    """DRAWS draws, 15 sweeps apart"""
    problem, n = posed(cells, cells.model)
    seed = int(source.words(1)[0])
    chain = NetworkChain.begin(problem, started(problem, cells, n, seed), seed)
    chain.advance(150)
    draws = np.empty((DRAWS, cells.model.size))
    for s in range(DRAWS):
        chain.advance(15)
        draws[s] = chain.theta
    return draws


def uniformity(column):
    """p-value of χ² over five equal groups of the 20 ranks"""
    seen = np.bincount(column * 5 // (DRAWS + 1), minlength=5)
    return chi2.sf(((seen - REPLICATES / 5) ** 2 / (REPLICATES / 5)).sum(), 4)


def test_simulation_based_calibration_and_the_naive_reading_fails_it():
    # One entry of each of the 7 rows: a calibrated reading fails at 1e-4 in one of them with probability
    # below 7e-4 over the seed, which is fixed. The naive one must fail, and does by far.
    rows = [0, 2, 4, 6, 8, 10, 12]
    honest = ranks(TRIANGLE, 60, 8, aware, 11)
    assert min(uniformity(honest[:, i]) for i in rows) > 1e-4
    careless = ranks(TRIANGLE, 60, 8, lambda cells, s: naive(cells, TRIANGLE).flat_sample(DRAWS, s), 11)
    assert min(uniformity(careless[:, i]) for i in rows) < 1e-8


# ── manners ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def cells():
    return NoisyCounts(TRIANGLE, n=30, scales=(2, 2, 2)).release(
        np.array([20, 10, 10, 10, 5, 5, 10, 0, 10, 0, 5, 0, 0, 5]), SeededSource(6)
    )


def test_the_same_release_reads_the_same_and_says_how(cells):
    one, two = (fit(cells, TRIANGLE, chains=2, sweeps=200, keep=50) for _ in range(2))
    assert (one.draws == two.draws).all()
    assert one.reading == "noise_aware"
    assert (one.diagnostics.chains, one.diagnostics.draws) == (2, 50)
    assert one.draws.sum(axis=-1) == pytest.approx(7, rel=1e-5)  # seven rows, each adds up to 1
    assert "noise_aware" in repr(one)
    other = fit(cells, TRIANGLE, chains=2, sweeps=200, keep=50, source=SeededSource(1))
    assert (one.draws != other.draws).any()


def test_negative_and_empty_counts_are_allowed_and_said(cells):
    assert cells.noisy.min() < 0
    posterior = fit(cells, TRIANGLE, chains=1, sweeps=50, keep=50)
    assert "cannot be distinguished from empty" in posterior.notes[0]
    assert posterior.notes[0] in repr(posterior)
    full = NoisyCells(
        TRIANGLE, cells.noisy + 1000, 4000, cells.noise, cells.scales, cells.guarantee, seeded=True
    )
    assert rows_near_empty(full) == ()


def test_chains_that_have_not_met_say_so(cells):
    one = fit(cells, TRIANGLE, chains=2, sweeps=4, keep=4, burn=0)
    assert one.diagnostics.r_hat > 1.05
    assert f"R-hat {one.diagnostics.r_hat:.2f}" in " ".join(one.notes)
    assert "table by table" in repr(one)
    settled = fit(cells, TRIANGLE, chains=2, sweeps=4000, keep=1000)
    assert settled.diagnostics.r_hat <= 1.05
    assert not any("R-hat" in note for note in settled.notes)


def test_a_fit_shows_how_far_it_is(cells, monkeypatch):
    """Whether on a terminal or not, the work is the same; the bar counts to its end."""
    seen = []

    def counted(pieces, label, total):
        for piece in pieces:
            seen.append(piece)
            yield piece
        assert len(seen) == total
        assert label

    monkeypatch.setattr(bayes_net, "steps", counted)
    fit(cells, TRIANGLE, chains=2, sweeps=100, keep=50, burn=33)
    assert sum(many for *_, many in seen) == 2 * (33 + 100)


def test_a_run_too_short_to_judge_is_refused(cells):
    for wrong in ({"chains": 0}, {"keep": 2}, {"sweeps": 1}):
        with pytest.raises(ValueError, match="at least one chain of four draws"):
            fit(cells, TRIANGLE, **wrong)


def test_summaries_have_the_shapes_of_the_tables(cells):
    posterior = fit(cells, TRIANGLE, chains=2, sweeps=100, keep=100)
    low, high = np.moveaxis(posterior.tables(posterior.interval(0.9))["c"].values, -1, 0)
    assert low.shape == (2, 2, 2)
    assert ((low < posterior.tables()["c"].values) & (posterior.tables()["c"].values < high)).all()
    assert posterior.tables(posterior.variance())["c"].values.shape == (2, 2, 2)
    records = {"a": [0, 1], "b": [0, 1], "c": [1, 0]}
    thetas = posterior.draws.reshape(-1, 14).astype(float)
    by_hand = np.log((thetas[:, 0] * thetas[:, 2] * thetas[:, 7]).mean())
    assert posterior.log_predictive(records, codes=True)[0] == pytest.approx(by_hand, rel=1e-6)
    assert posterior.log_likelihood(records, codes=True) == pytest.approx(
        posterior.log_predictive(records, codes=True).mean()
    )
    assert posterior.marginal(["c"]).sum() == pytest.approx(1, rel=1e-6)
    assert set(posterior.synthetic(5, SeededSource(1), codes=True)) == {"a", "b", "c"}
    assert posterior.prior().tables()["b"].values == pytest.approx(np.full((2, 2), 0.5))
