"""Naive Bayes from noisy counts: the law of the counts by enumeration, calibrated posteriors, predictions."""

import itertools
from math import lgamma

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.naive_bayes import NaiveBayes
from discreet.posteriors.counts import naive_bayes as nb
from discreet.posteriors.counts.counts_given_sum import WeightedCounts
from discreet.posteriors.counts.nested_counts import NestedProblem, NoisyTable, class_mass, draw
from discreet.posteriors.noise_law import KINDS, NoiseLaw
from discreet.posteriors.read import cell_posterior
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource

MODEL = NaiveBayes("y", ("a", "b")).bind({"y": 2, "a": 3, "b": 2})


# ── the law of the counts, by enumeration ───────────────────────────────────────────────────────────


def problem(kind, n, *, alpha=1.0, most=np.inf):
    whole = kind.startswith("discrete")
    first, second = np.array([[1.0, -2, 4], [3, -1, 0]]), np.array([[2.0, -3], [4, 1]])
    shift = 0.0 if whole else 0.25
    tables = (
        NoisyTable(first + shift, NoiseLaw(kind, 2.0), alpha),
        NoisyTable(second - shift, NoiseLaw(kind, 3.0), 2 * alpha),
    )
    return NestedProblem(tables, alpha, n, most)


def log_weight(one, cells):
    """log p(N) ∏ p(cells | N) p(Ĉ | cells), from the formulas in the module's first lines."""
    totals = [sum(row) for row in cells[0]]
    n = sum(totals)
    urn = sum(lgamma(one.prior + t) - lgamma(t + 1) for t in totals)
    total = urn + lgamma(n + 1) - lgamma(n + one.classes * one.prior)
    for table, counts in zip(one.tables, cells, strict=True):
        for y, row in enumerate(counts):
            a = table.prior
            total += sum(lgamma(a + x) - lgamma(x + 1) for x in row)
            total += lgamma(totals[y] + 1) - lgamma(totals[y] + table.levels * a)
            total += float(table.law.log_density(table.noisy[y] - row).sum())
    return total


def enumerated(one, n):
    """Every table of counts of n records with its weight; 2 classes, 3 and 2 levels."""
    for k in range(n + 1):
        totals = (k, n - k)
        rows = [
            [[c for c in itertools.product(range(t + 1), repeat=j) if sum(c) == t] for t in totals]
            for j in (3, 2)
        ]
        for a, b, c, d in itertools.product(*rows[0], *rows[1]):
            cells = (np.array([a, b]), np.array([c, d]))
            yield cells, log_weight(one, cells)


@pytest.mark.parametrize("kind", KINDS)
def test_class_totals_have_the_law_that_enumeration_gives(kind):
    one = problem(kind, 4, alpha=0.5)
    sums = [[cells.summed(cells.tilt_to(2.0)[0]) for cells in row] for row in one.cells]
    first, second = (class_mass(one, row) for row in sums)
    law = np.zeros(5)
    for cells, weight in enumerated(one, 4):
        law[cells[0][0].sum()] += np.exp(weight)
    ours = np.array([_at(first, k) * _at(second, 4 - k) for k in range(5)])
    assert ours / ours.sum() == pytest.approx(law / law.sum(), rel=1e-10)


def _at(mass, x):
    low, logs = mass
    return float(np.exp(logs[x - low])) if 0 <= x - low < logs.size else 0.0


# Means of 20 000 independent draws against enumeration at 5 standard errors: 11 numbers, chance below 1e-5.
@pytest.mark.parametrize("n", [4, None])
@pytest.mark.parametrize("kind", ["discrete_laplace", "gaussian"])
def test_cells_have_the_means_that_enumeration_gives(kind, n):
    one = problem(kind, n, most=4)
    sizes = [n] if n is not None else range(5)
    found = [pair for size in sizes for pair in enumerated(one, size)]
    weights = np.exp([w for _, w in found])
    flat = np.array([np.concatenate([t.ravel() for t in cells]) for cells, _ in found])
    mean = weights @ flat / weights.sum()
    spread = np.sqrt(weights @ (flat - mean) ** 2 / weights.sum())
    totals, cells = draw(one, 20_000, np.random.default_rng(6))
    assert all((c.sum(axis=2) == totals).all() for c in cells)
    if n is not None:
        assert (totals.sum(axis=1) == n).all()
    ours = np.concatenate([c.mean(axis=0).ravel() for c in cells])
    assert (np.abs(ours - mean) <= 5 * spread / np.sqrt(20_000)).all()
    assert (np.abs(ours - np.roll(mean, 1)) > 5 * spread / np.sqrt(20_000)).any()  # the negative control


def test_a_tilt_changes_no_law_and_saves_what_lies_far_out():
    # 60 empty cells under noise of scale 30: left alone Σx is near 1000, and n = 20 is public.
    rng = np.random.default_rng(7)
    noisy, law = rng.laplace(0, 30, 60).round(), NoiseLaw("discrete_laplace", 30.0)
    cells = WeightedCounts(np.ones(60), noisy, law, 5000)
    free, there = cells.summed(0.0).tree, cells.summed(cells.tilt_to(20.0)[0]).tree
    assert cells.mean(0.0) > 800
    assert free.low > 20 or free.mass[20 - free.low] < 1e-9
    assert there.mass[20 - there.low] > 1e-3
    slope, _ = cells.tilt_to(0.9 * cells.mean(0.0))
    aside = cells.summed(slope).tree
    both = np.arange(max(free.low, aside.low), min(free.low + free.mass.size, aside.low + aside.mass.size))
    here, other = free.mass[both - free.low], aside.mass[both - aside.low]
    strong = np.minimum(here, other) > 1e-6
    gap = (np.log(other) - slope * both - np.log(here))[strong]
    assert gap.size > 50
    assert gap == pytest.approx(np.full(gap.size, gap[0]), abs=1e-7)


def test_a_small_public_n_under_many_wide_noisy_cells():
    rng = np.random.default_rng(8)
    table = NoisyTable(rng.laplace(0, 30, (2, 60)).round(), NoiseLaw("discrete_laplace", 30.0), 1.0)
    totals, (cells,) = draw(NestedProblem((table,), 1.0, 20), 500, rng)
    assert (totals.sum(axis=1) == 20).all()
    assert (cells >= 0).all()
    assert (cells.sum(axis=2) == totals).all()


def test_tables_that_contradict_each_other_are_weighed():
    """One says 0, the other a million, both with σ = 1: the number of records is half of that ± 1/√2."""
    law = NoiseLaw("discrete_gaussian", 1.0)
    tables = tuple(NoisyTable(np.array([[x]]), law, 1.0) for x in (0.0, 1e6))
    totals, _ = draw(NestedProblem(tables, 1.0, None), 4000, np.random.default_rng(1))
    assert totals.mean() == pytest.approx(5e5, abs=5 * 0.7 / 4000**0.5)
    assert totals.std() == pytest.approx(0.5**0.5, rel=0.06)  # five standard errors


# ── calibration ─────────────────────────────────────────────────────────────────────────────────────


def simulated(rng, n, epsilon, relation=SUBSTITUTE):
    """(θ, noisy cells) from the prior, the multinomials and the noise."""
    theta = {
        "y": rng.dirichlet(np.ones(2)),
        "a": rng.dirichlet(np.ones(3), size=2),
        "b": rng.dirichlet(np.ones(2), size=2),
    }
    totals = rng.multinomial(n, theta["y"])
    tables = [rng.multinomial(totals, theta[name]) for name in ("a", "b")]
    scale = (4 if relation is SUBSTITUTE else 2) / epsilon
    flat = np.concatenate([table.ravel() for table in tables])
    q = np.exp(-1 / scale)
    noise = rng.geometric(1 - q, flat.size) - rng.geometric(1 - q, flat.size)
    promise = PureDP(epsilon, relation=relation)
    known = n if relation is SUBSTITUTE else None
    return theta, NoisyCells(
        MODEL, flat + noise, known, "discrete_laplace", (scale, scale), promise, seeded=True
    )


def covered(posterior, theta):
    ends = {name: table.values for name, table in posterior.tables(posterior.interval(0.9)).items()}
    hits = [(ends[x][..., 0] <= theta[x]) & (theta[x] <= ends[x][..., 1]) for x in theta]
    return np.concatenate([hit.ravel() for hit in hits])


# 100 data sets, 12 parameters each: the mean of their hits has a standard error of 1.0 to 1.2 %, so that
# 0.9 ± 0.045 fails by chance with probability 1e-4. benchmarks/naive_bayes.py has 2000 data sets a point.
@pytest.mark.parametrize(
    ("n", "epsilon", "relation"),
    [(100, 0.1, SUBSTITUTE), (1000, 0.1, SUBSTITUTE), (1000, 1, ADD_REMOVE), (10000, 0.3, SUBSTITUTE)],
)
def test_intervals_cover_what_they_say_and_naive_ones_do_not(n, epsilon, relation):
    rng = np.random.default_rng(9)
    ours, naive = [], []
    for _ in range(100):
        theta, cells = simulated(rng, n, epsilon, relation)
        ours.append(covered(nb.read(cells, MODEL, "noise_aware", draws=400), theta))
        naive.append(covered(nb.read(cells, MODEL, "naive"), theta))
    assert abs(np.mean(ours) - 0.9) < 0.045
    if (n, epsilon) != (1000, 1):
        assert np.mean(naive) < 0.855  # the negative control


def ranks(reading, rounds):
    """Ranks of π₀, θ_{a00} and θ_{b11} among 19 draws of their posterior: uniform on 0, …, 19."""
    rng = np.random.default_rng(10)
    found = []
    for i in range(rounds):
        theta, cells = simulated(rng, 60, 0.5)
        posterior = nb.read(cells, MODEL, reading, draws=19)
        drawn = posterior.tables(posterior.sample(19, SeededSource(i)))
        true = theta["y"][0], theta["a"][0, 0], theta["b"][1, 1]
        sampled = drawn["y"][:, 0], drawn["a"][:, 0, 0], drawn["b"][:, 1, 1]
        found.append([(s.values < t).sum() for s, t in zip(sampled, true, strict=True)])
    return np.array(found)


def uniform_p(column):
    return stats.chisquare(np.bincount(column // 2, minlength=10)).pvalue


# Simulation-based calibration [Talts et al. 2018]: χ² on 10 bins of 240 ranks for each of three parameters;
# all three pass with probability 0.997 if the posterior is right, and the seed is fixed.
def test_ranks_are_uniform_and_naive_ones_are_not():
    assert all(uniform_p(column) > 1e-3 for column in ranks("noise_aware", 240).T)
    assert all(uniform_p(column) < 1e-6 for column in ranks("naive", 240).T)


# ── the posterior ───────────────────────────────────────────────────────────────────────────────────

CELLS = NoisyCells(
    MODEL,
    np.array([30, 22, -3, 25, 10, 5, 41, 14, 25, 19]),
    100,
    "discrete_laplace",
    (4, 4),
    PureDP(1),
    seeded=False,
)


def test_readings_have_the_same_shapes_and_say_which_they_are():
    ours, naive = (cell_posterior(CELLS, reading=reading) for reading in ("noise_aware", "naive"))
    for posterior, reading in ((ours, "noise_aware"), (naive, "naive")):
        assert posterior.reading == reading
        assert reading in repr(posterior)
        assert posterior.tables()["y"].values.sum() == pytest.approx(1)
        assert posterior.tables()["a"].values.sum(axis=1) == pytest.approx([1, 1])
        assert posterior.tables(posterior.interval(0.9))["a"].values.shape == (2, 3, 2)
        assert posterior.tables(posterior.sample(7, SeededSource(1)))["b"].values.shape == (7, 2, 2)
    wider = ours.tables(ours.variance())["a"].values / naive.tables(naive.variance())["a"].values
    assert (wider > 1.2).any()
    assert naive.tables()["a"].values[0, 2] == pytest.approx(1 / 55)  # −3 was read as 0: (1 + 0)/(3 + 52)
    assert cell_posterior(CELLS).table("a") is not None
    assert cell_posterior(CELLS) is ours  # asked again, it is not computed again


def test_another_prior_may_read_the_same_counts():
    flat = cell_posterior(CELLS, model=NaiveBayes("y", ("a", "b"), prior=50))
    assert np.ptp(flat.tables()["a"].values) < np.ptp(cell_posterior(CELLS).tables()["a"].values)
    for wrong in (NaiveBayes("y", ("a",)), NaiveBayes("y", ("b", "a"))):
        with pytest.raises(ValueError, match="same"):
            cell_posterior(CELLS, model=wrong)
    with pytest.raises(ValueError, match="noise_aware, naive"):
        cell_posterior(CELLS, reading="optimistic")


def test_samples_have_the_moments_of_the_posterior():
    posterior = cell_posterior(CELLS)
    drawn, variances = (
        posterior.tables(x) for x in (posterior.sample(20_000, SeededSource(2)), posterior.variance())
    )
    for name, mean in posterior.tables().items():
        error = np.sqrt(variances[name] / 20_000)
        assert (np.abs(drawn[name].mean("draw") - mean) < 5 * error).all()  # 12 numbers: chance 7e-6
        assert drawn[name].var("draw").values == pytest.approx(variances[name].values, rel=0.1)
    without = posterior.prior()
    assert without.tables()["a"].values == pytest.approx(np.full((2, 3), 1 / 3))


def test_empty_cells_are_allowed_and_said():
    odds = cell_posterior(CELLS).empty()
    assert odds["a"].shape == (2, 3)
    assert odds["a"][0, 2] > 0.1 > odds["a"][0, 0]
    nobody = NoisyCells(MODEL, np.full(10, -40), 1, "discrete_laplace", (4, 4), PureDP(1), seeded=False)
    posterior = cell_posterior(nobody)
    assert np.isfinite(posterior.tables()["a"].values).all()
    assert posterior.empty()["a"].sum() == pytest.approx(5)  # one record: five of six cells


# ── predictions ─────────────────────────────────────────────────────────────────────────────────────

EXACT = nb.exact(MODEL, [30, 20, 10, 25, 10, 5, 50, 10, 30, 10])
EVERYTHING = np.array(list(itertools.product(range(2), range(3), range(2))))


def test_predictions_by_the_number():
    # π₀ = 61/102, θ_{a|0} = (31, 21, 11)/63, θ_{b|0} = (51, 11)/62; π₁ = 41/102, (26, 11, 6)/43, (31, 11)/42.
    zero, one = 61 / 102 * 31 / 63 * 11 / 62, 41 / 102 * 26 / 43 * 11 / 42
    assert np.exp(EXACT.log_joint([[0, 1]])[0]) == pytest.approx([zero, one], rel=1e-12)
    assert EXACT.predict_proba([[0, 1]], codes=True)[0] == pytest.approx(
        [zero / (zero + one), one / (zero + one)]
    )
    assert EXACT.predict([[0, 1], [1, 0]], codes=True).tolist() == [1, 0]
    assert EXACT.log_predictive([[1, 0, 1]], codes=True) == pytest.approx([np.log(one)])
    assert EXACT.held_out([[1, 0, 1], [0, 0, 1]], codes=True) == pytest.approx(
        (np.log(zero) + np.log(one)) / 2
    )


@pytest.mark.parametrize("reading", ["noise_aware", "naive"])
def test_the_predictive_normalises_and_averages_over_the_posterior(reading):
    posterior = cell_posterior(CELLS, reading=reading)
    assert np.exp(posterior.log_predictive(EVERYTHING, codes=True)).sum() == pytest.approx(1, rel=1e-12)
    rows = EVERYTHING[:6, 1:]
    assert posterior.predict_proba(rows, codes=True).sum(axis=1) == pytest.approx(np.ones(6))
    drawn = posterior.tables(posterior.sample(40_000, SeededSource(3)))
    each = drawn["y"].values[:, 1] * drawn["a"].values[:, 1, 2] * drawn["b"].values[:, 1, 0]
    error = each.std() / np.sqrt(40_000)
    assert (
        abs(each.mean() - np.exp(posterior.log_predictive([[1, 2, 0]], codes=True)[0])) < 5 * error
    )  # chance 6e-7


@pytest.mark.parametrize("wrong", [[[0]], [[0, 2]], [[-1, 0]], [[0.5, 1.0]], [["a", "b"]]])
def test_records_that_are_no_codes_are_refused(wrong):
    with pytest.raises(ValueError, match="codes"):
        EXACT.predict(wrong, codes=True)
