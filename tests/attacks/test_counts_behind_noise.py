"""Counts drawn from behind noise, against enumeration: settings at random, from no noise to little else.

Noise scales from 1e-6 to 100, prior weights from .01 to 1e4, all noises, n public and private, and releases
that the noise all but rules out. Each p-value below is of Pearson's test; seeds are fixed.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.special import betainc, gammaln
from scipy.stats import chi2, kstest

from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.posteriors.counts.dirichlet import counts_behind
from discreet.posteriors.counts.nested_counts import NestedProblem, NoisyTable, draw
from discreet.posteriors.noise_law import KINDS, NoiseLaw

DRAWS = 2000
LEVEL = 1e-6  # of each test of one setting


def between(rng, low, high):
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def noise_law(rng, widest=100.0, narrowest=1e-6):
    kind, scale = str(rng.choice(KINDS)), between(rng, narrowest, widest)
    least = {"gaussian": 1e-3, "discrete_gaussian": 0.02}.get(kind, 0.0)
    return NoiseLaw(kind, max(scale, least))


def noise(rng, law, shape):
    if law.kind == "gaussian":
        return rng.normal(0, law.scale, shape)
    if law.kind == "laplace":
        return rng.laplace(0, law.scale, shape)
    if law.kind == "discrete_laplace":
        p = -np.expm1(-1 / law.scale)
        return (rng.geometric(p, shape) - rng.geometric(p, shape)).astype(float)
    k = np.arange(-int(9 * law.scale) - 2, int(9 * law.scale) + 3)
    p = np.exp(-(k**2) / (2 * law.scale**2))
    return rng.choice(k, size=shape, p=p / p.sum()).astype(float)


def log_noise(law, gap):
    gap = np.abs(gap) / law.scale
    return -(gap if law.laplacian else gap**2 / 2).sum()


def compositions(total, parts):
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


def pearson(seen, logs):
    """p-value of draws given {state: log weight}; states expected fewer than 5 times are taken together."""
    states = sorted(logs, key=logs.get)
    weight = np.exp(np.array([logs[s] for s in states]) - max(logs.values()))
    expected = DRAWS * weight / weight.sum()
    counts = dict(zip(*np.unique(seen, return_counts=True), strict=True))
    found = np.array([counts.get(s, 0) for s in states])
    if found.sum() < DRAWS:
        return 0.0  # a state that cannot be
    few = int((np.cumsum(expected) < 5).sum())
    rest, here = expected[:few].sum(), found[:few].sum()
    if few == len(states) - 1:
        return 1.0 if here <= 5 + 6 * math.sqrt(rest + 1) else 0.0
    terms = (found[few:] - expected[few:]) ** 2 / expected[few:]
    total = terms.sum() + ((here - rest) ** 2 / rest if rest > 1 else 0.0)
    return 1.0 if few == len(states) else float(chi2.sf(total, terms.size - 1 + (rest > 1)))


def named(row):
    return ",".join(map(str, np.ravel(row).tolist()))


# ── one table, as Dirichlet families and networks table by table have ────────────────────────────────


def one_row(seed, believed=1.0):
    rng = np.random.default_rng(seed)
    law, cells, n = noise_law(rng), int(rng.integers(2, 4)), int(rng.integers(0, 9))
    each, public = int(rng.choice([1, 1, 2])), rng.random() < 0.6
    alpha = np.array([between(rng, 0.01, 1e4) for _ in range(cells)])
    noisy = rng.multinomial(n * each, np.full(cells, 1 / cells)) + noise(rng, law, cells)
    noisy += rng.integers(-8, 9, cells) * (rng.random() < 0.4)
    told = NoiseLaw(law.kind, believed * law.scale)
    table, most = NoisyTable(noisy[None], told, alpha), 8
    problem = NestedProblem((table,), float(alpha.sum()), n if public else None, most, each)
    totals, (counts,) = draw(problem, DRAWS, np.random.default_rng(1))
    assert (counts.sum(axis=2) == totals).all()
    logs = {}
    for size in [n] if public else range(most + 1):
        for x in compositions(size * each, cells):
            urn = (gammaln(alpha + x) - gammaln(np.add(x, 1))).sum()
            room = gammaln(size * each + 1) - gammaln(size * each + alpha.sum())
            logs[named(x)] = urn + room + log_noise(law, noisy - x)
    return pearson([named(row) for row in counts[:, 0]], logs)


def test_one_table_has_the_law_that_enumeration_gives():
    """60 settings: by chance below 6e-5. The sampler that is told twice the noise fails."""
    assert min(one_row(seed) for seed in range(60)) > LEVEL
    assert min(one_row(seed, believed=2.0) for seed in range(20)) < 1e-12


# ── several tables that inform the same totals, as naive Bayes has ───────────────────────────────────


def two_tables(seed):
    rng = np.random.default_rng(seed)
    law, alpha, n, public = (
        noise_law(rng, 30),
        between(rng, 0.01, 1e4),
        int(rng.integers(0, 6)),
        rng.random() < 0.6,
    )
    totals = rng.multinomial(n, [0.5, 0.5])
    tables = []
    for levels in (2, 3):
        counts = np.array([rng.multinomial(t, np.full(levels, 1 / levels)) for t in totals])
        noisy = counts + noise(rng, law, counts.shape)
        noisy += rng.integers(-3, 4, counts.shape) * (rng.random() < 0.4)
        tables.append(NoisyTable(noisy, law, alpha))
    most = n if public else 6
    drawn, cells = draw(NestedProblem(tuple(tables), alpha, n if public else None, most), DRAWS, rng)
    assert all((c.sum(axis=2) == drawn).all() for c in cells)
    logs = {}
    for pair in itertools.product(range(most + 1), repeat=2):
        if sum(pair) <= most and not (public and sum(pair) != n):
            urn = (gammaln(alpha + np.array(pair)) - gammaln(np.add(pair, 1))).sum()
            whole = gammaln(sum(pair) + 1) - gammaln(sum(pair) + 2 * alpha)
            logs[named(pair)] = urn + whole + sum(evidence(t, y, pair[y]) for t in tables for y in range(2))
    return pearson([named(row) for row in drawn], logs)


def evidence(table, y, total):
    """Ln p(Ĉ_y | N_y) by enumeration."""
    terms = [
        (gammaln(table.prior + np.array(x)) - gammaln(np.add(x, 1))).sum()
        + log_noise(table.law, table.noisy[y] - x)
        for x in compositions(total, table.levels)
    ]
    room = gammaln(total + 1) - gammaln(total + table.levels * table.prior)
    return np.logaddexp.reduce(terms) + room


def test_totals_that_several_tables_inform_have_the_law_that_enumeration_gives():
    """50 settings: by chance below 5e-5."""
    assert min(two_tables(seed) for seed in range(50)) > LEVEL


# ── many records ─────────────────────────────────────────────────────────────────────────────────────


def two_cells(seed):
    """A setting of two counts, n to 1e5: how far draws are from their law"""
    rng = np.random.default_rng(seed)
    law, n = noise_law(rng, 200), int(between(rng, 1, 1e5))
    alpha = np.array([between(rng, 0.01, 1e4) for _ in "ab"])
    noisy = rng.multinomial(n, rng.dirichlet(np.maximum(alpha, 0.1))) + noise(rng, law, 2)
    noisy += np.rint(rng.normal(0, between(rng, 1, 1e3), 2)) * (rng.random() < 0.5)
    return distance(law, n, alpha, noisy)


def distance(law, n, alpha, noisy):
    """√draws times Kolmogorov's distance between draws of one of two counts and their law"""
    counts = counts_behind(noisy, DirichletCategorical(alpha), n, law, DRAWS, np.random.default_rng(1))[:, 0]
    x = np.arange(n + 1.0)
    logs = gammaln(alpha[0] + x) - gammaln(x + 1) + gammaln(alpha[1] + n - x) - gammaln(n - x + 1)
    gap = np.abs(np.stack([noisy[0] - x, noisy[1] - n + x])) / law.scale
    logs -= (gap if law.laplacian else gap**2 / 2).sum(axis=0)
    law_of = np.cumsum(np.exp(logs - logs.max()))
    found = np.searchsorted(np.sort(counts), x, side="right") / DRAWS
    return math.sqrt(DRAWS) * np.abs(found - law_of / law_of[-1]).max()


def test_two_cells_of_any_number_of_records_have_their_law():
    """60 settings; 2.9 is passed with probability 1e-7 (Kolmogorov's law, an upper bound on lattices)."""
    assert max(two_cells(seed) for seed in range(60)) < 2.9


def test_counts_that_noise_leaves_free_within_wide_limits_follow_the_prior():
    """32 records are seen of a public 236, without noise: all between are as likely as the prior says."""
    law = NoiseLaw("laplace", 0.0025)
    for alpha in (0.02, 0.41, 0.9, 3.0):
        assert distance(law, 236, np.full(2, alpha), np.array([8.0004, 23.9987])) < 2.9


def rank(seed, believed=1.0, narrowest=1e-6):
    """P(count < true one | release), ties broken at random, of one cell of a setting drawn at random"""
    rng = np.random.default_rng(seed)
    law, n, cells = (
        noise_law(rng, 200, narrowest),
        int(between(rng, 1, 1e5)),
        int(rng.choice([2, 5, 30, 300])),
    )
    alpha = between(rng, 0.01, 1e4)
    logs = np.log(rng.gamma(alpha + 1, size=cells)) + np.log(rng.random(cells)) / alpha  # θ may underflow
    theta = np.exp(logs - logs.max())
    true = rng.multinomial(n, theta / theta.sum())
    told = NoiseLaw(law.kind, believed * law.scale)
    counts = counts_behind(
        true + noise(rng, law, cells), DirichletCategorical(np.full(cells, alpha)), n, told, 50, rng
    )
    j = int(rng.integers(cells))
    below, equal = (counts[:, j] < true[j]).sum(), (counts[:, j] == true[j]).sum()
    return (below + rng.random() * (equal + 1)) / 51


def test_ranks_of_true_counts_are_uniform():
    """Kolmogorov–Smirnov at 1e-4 on 300 settings, also of how far out they are; told less noise it fails."""
    ranks = np.array([rank(seed) for seed in range(300)])
    assert min(kstest(r, "uniform").pvalue for r in (ranks, np.abs(2 * ranks - 1))) > 1e-4
    sure = np.array([rank(seed, believed=0.1, narrowest=1.0) for seed in range(300)])
    assert kstest(np.abs(2 * sure - 1), "uniform").pvalue < 1e-6


@pytest.mark.parametrize("scale", [1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("private", [False, True])
def test_hundreds_of_cells_without_noise_to_speak_of_are_read_as_they_are(scale, private):
    """300 cells at ε = 200 to 2e6: by the limit law every draw is the counts themselves."""
    rng = np.random.default_rng(5)
    counts = rng.multinomial(20_000, rng.dirichlet(np.ones(300)))
    prior, law = DirichletCategorical(np.ones(300)), NoiseLaw("discrete_laplace", scale)
    drawn = counts_behind(counts.astype(float), prior, None if private else 20_000, law, 20, rng)
    assert (drawn == counts).all()
    theta = rng.dirichlet(1 + counts)
    assert kstest(betainc(1 + counts, 300 + 20_000 - 1 - counts, theta), "uniform").pvalue > 1e-4


def test_what_one_count_cannot_be_the_others_make_up_for():
    """n = 9 public and cells that say 0 without noise: nothing is known, so the prior's law is left."""
    law, rng = NoiseLaw("discrete_laplace", 1e-4), np.random.default_rng(6)
    drawn = counts_behind(np.zeros(2), DirichletCategorical(np.ones(2)), 9, law, DRAWS, rng)
    assert pearson([named(row) for row in drawn], {f"{k},{9 - k}": 0.0 for k in range(10)}) > LEVEL
