"""Cells that are not read: nothing they show matters, and what is predicted of them is the model's own law.

Predictions by 16 independent chains are compared with sums over all paths: |t| < 7 with 15 degrees of freedom
is exceeded once in 2e5 runs of a test; fits that do read the cells must be further away.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import gamma, poisson

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.models.hidden_markov import HiddenMarkov
from discreet.posteriors.hidden_markov import fit as hmm
from discreet.posteriors.hidden_markov.noisy_counts import SIZE_SHAPE
from discreet.posteriors.noise_law import NoiseLaw
from discreet.sampling.source import SeededSource

LIMIT = 7.0
LONG = {"chains": 16, "sweeps": 200, "burn": 40, "keep": 200, "progress": False}
MODEL = HiddenMarkov(states=2, chain="r", step="t", features=("x",)).bind({"r": 1, "t": 4, "x": 2})
COUNTS = np.array([[9, 1], [1, 6], [8, 2], [7, 1]])  # by step; missing at t = 2 and 4
HELD = np.array([[0, 0], [3, 1], [0, 0], [0, 2]])
MISSING = np.array([[False, True, False, True]])
PATHS = np.array(list(itertools.product(range(2), repeat=4)))


def deviation(by_chain, wanted):
    """|t| of what 16 chains say; errors of the mean of exp, as the law is a mean of probabilities"""
    ratio = np.exp(by_chain - wanted)
    return abs(ratio.mean() - 1) / (ratio.std(ddof=1) / np.sqrt(len(ratio)))


def exact_law(counts, held, read, log_prior):
    """ln p(held counts of one cell | counts of the cells that are read), θ and A integrated out"""

    def log_evidence(table):
        total = []
        for z in PATHS:
            sums = np.stack([table[z == k].sum(axis=0) for k in (0, 1)]) + 1.0
            total.append(log_prior(z, 1.0, 2) + (gammaln(sums).sum(1) - gammaln(sums.sum(1))).sum())
        return np.logaddexp.reduce(total)

    seen = np.where(read[:, None], counts, 0)
    return log_evidence(seen + held) - log_evidence(seen)


def only(cell):
    """The held-out records of one cell"""
    return np.where(np.arange(4)[:, None] == cell, HELD, 0)


def test_predictions_of_missing_cells_are_exact(log_prior):
    tables, options = {"x": COUNTS[None]}, {"reading": "exact", "source": SeededSource(1), **LONG}
    without, reading = (hmm.fit(tables, MODEL, missing=m, **options) for m in (MISSING, None))
    for cell in (1, 3):  # one between neighbours, and the last
        wanted = exact_law(COUNTS, only(cell), ~MISSING[0], log_prior)
        assert deviation(without.log_predictive(only(cell).ravel()), wanted) < LIMIT
        assert deviation(reading.log_predictive(only(cell).ravel()), wanted) > 2 * LIMIT


LAW, MEAN, GRID = NoiseLaw("discrete_laplace", 2.0), COUNTS.sum() / 4, (np.arange(40) + 0.5) / 40


MECHANISM = NoisyCounts(MODEL, n=int(COUNTS.sum()), noise="discrete_laplace", scales=(2.0,))


def likelihood(y):
    """p(noisy counts of a cell | θ) on the grid of θ_1, its λ ~ Gamma(½) integrated out"""
    rate = gamma.ppf((np.arange(300) + 0.5) / 300, SIZE_SHAPE, scale=MEAN / SIZE_SHAPE)
    x = np.arange(80)
    value = 1.0
    for theta, seen in zip((GRID, 1 - GRID), y, strict=True):
        counts = poisson.pmf(x, (theta[:, None] * rate)[..., None])
        value = value * (counts @ np.exp(LAW.log_density(seen - x)))
    return value.mean(axis=1)


def noisy_law(noisy, held, cell, read, log_prior):
    top, bottom = 0.0, 0.0
    law = [likelihood(y) if r else np.ones(40) for y, r in zip(noisy, read, strict=True)]
    record = GRID ** held[0] * (1 - GRID) ** held[1]
    for z in PATHS:
        sides = [np.prod([law[c] for c in range(4) if z[c] == k], axis=0) * np.ones(40) for k in (0, 1)]
        weight = np.exp(log_prior(z, 1.0, 2))
        bottom += weight * sides[0].sum() * sides[1].sum()
        sides[z[cell]] = sides[z[cell]] * record
        top += weight * sides[0].sum() * sides[1].sum()
    return np.log(top / bottom)


def test_noise_in_a_missing_cell_is_not_read_either(log_prior):
    release = MECHANISM.release(COUNTS.ravel(), SeededSource(2))
    noisy, held = MODEL.by_cell(release.noisy), only(1)
    wanted = noisy_law(noisy, HELD[1], 1, ~MISSING[0], log_prior)
    options = {"source": SeededSource(3), **LONG}
    without = hmm.fit(release, MODEL, missing=MISSING, **options).log_predictive(held.ravel())
    assert deviation(without, wanted) < LIMIT
    with_all = noisy_law(noisy, HELD[1], 1, np.ones(4, dtype=bool), log_prior)
    read = hmm.fit(release, MODEL, **options).log_predictive(held.ravel())
    assert deviation(read, with_all) < LIMIT  # the same law says what reading them says …
    assert deviation(read, wanted) > 2 * LIMIT  # … which is something else


@pytest.mark.parametrize("reading", ["noise_aware", "naive", "exact"])
def test_what_a_missing_cell_shows_changes_nothing(reading):
    options = {"reading": reading, "chains": 1, "sweeps": 8, "burn": 4, "progress": False}
    release, found = MECHANISM.release(COUNTS.ravel(), SeededSource(4)), []
    for shown in (0, 50):
        counts = np.where(MISSING[0][:, None], shown, COUNTS)
        noisy = np.where(np.repeat(MISSING[0], 2), shown, release.noisy)
        data = {"x": counts[None]} if reading == "exact" else replace(release, noisy=noisy)
        found.append(
            [hmm.fit(data, MODEL, missing=m, source=SeededSource(5), **options) for m in (MISSING, None)]
        )
    assert np.array_equal(found[0][0].theta, found[1][0].theta)
    assert np.array_equal(found[0][0].log_joint, found[1][0].log_joint)
    assert not np.array_equal(found[0][1].theta, found[1][1].theta)  # read, it matters


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (np.ones((1, 4), dtype=bool), "every cell"),
        (np.zeros((4, 1), dtype=bool), "shape"),
        (np.zeros((1, 4)), "booleans"),
    ],
)
def test_masks_that_do_not_fit_are_refused(missing, said):
    with pytest.raises(ValueError, match=said):
        hmm.fit({"x": COUNTS[None]}, MODEL, reading="exact", missing=missing)
