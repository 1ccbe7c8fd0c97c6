"""The location of a Laplace likelihood: its law, its claim on all pairs of small tables, what is refused."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.privacy import AbsoluteDifference, TotalDifference

POINTS = np.arange(9) / 2
MECHANISM = dc.LaplaceLocation(0, 4, scale=2, grid=Fraction(1, 2))


def law(records, scale=2.0):
    weights = np.exp(-np.abs(POINTS[:, None] - np.asarray(records)).sum(axis=1) / scale)
    return weights / weights.sum()


def test_no_pair_exceeds_the_claim_and_far_records_attain_half_of_it():
    """All tables of two records on the grid: max |ln p/q| ≤ 2ρ/s, and above ρ/s, which L alone denies."""
    assert MECHANISM.guarantee == dc.MetricDP(1, metric=AbsoluteDifference(Fraction(1, 2)))
    tables = [np.array(t) for t in product(POINTS, repeat=2)]
    laws = {tuple(t): law(t) for t in tables}
    shares = []
    for x, y in product(tables, repeat=2):
        far = np.abs(x - y).sum()
        ratio = np.abs(np.log(laws[tuple(x)] / laws[tuple(y)])).max()
        assert ratio <= MECHANISM.guarantee.epsilon(0, distance=float(far)) * (1 + 1e-12) + 1e-12
        shares += [ratio / far] if far else []
    assert 0.75 < max(shares) <= 1
    assert MECHANISM.lipschitz.constant == 0.5


def test_the_draw_has_its_law():
    """χ² on 4000 draws: false alarm 1e-6; a scale half as large again is caught."""
    records = np.array([0.1, 1.4, 3.9, -2, 3.76])  # clipped and rounded: 0, 1.5, 4, 0, 4
    drawn = MECHANISM.releases(records, 4000, dc.SeededSource(1))
    counts = [(drawn == point).sum() for point in POINTS]
    assert sum(counts) == 4000
    assert stats.chisquare(counts, 4000 * law([0, 1.5, 4, 0, 4])).pvalue > 1e-6
    assert stats.chisquare(counts, 4000 * law([0, 1.5, 4, 0, 4], 3)).pvalue < 1e-6
    assert MECHANISM.release(records, dc.SeededSource(1)) in POINTS


def test_what_is_missing_counts_as_the_lower_bound():
    drawn = [MECHANISM.releases(x, 50, dc.SeededSource(2)) for x in ([np.nan, 3], [0, 3])]
    assert (drawn[0] == drawn[1]).all()


@pytest.mark.parametrize(
    "bad",
    [
        {"upper": 0},
        {"grid": 3},
        {"grid": 2.0**-14},
        {"scale": 0},
        {"scale": math.inf},
        {"lower": 0.25},
        {"upper": math.nan},
    ],
)
def test_what_is_no_grid_or_scale_is_refused(bad):
    with pytest.raises(ValueError):
        dc.LaplaceLocation(**{"lower": 0, "upper": 4, "scale": 2, "grid": 0.5} | bad)


def test_under_another_metric_it_promises_nothing():
    with pytest.raises(dc.MixedRelations):
        assert MECHANISM.guarantee <= dc.MetricDP(9, metric=TotalDifference(Fraction(1, 2)))
    with pytest.raises(ValueError, match="empty"):
        MECHANISM.release([])
