"""How far k changes move the lower median, and smooth sensitivity, against brute force over all data."""

from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from discreet.mechanisms.sensitivity.median import Interval, SortedSample
from discreet.mechanisms.sensitivity.smooth_sensitivity import (
    UNIT,
    SmoothSensitivityMedian,
    dilation_delta,
    published_laplace,
)
from discreet.privacy.arithmetic.ball import precision
from discreet.privacy.kinds import ApproxDP

TOP = 3
INTERVAL = Interval(0, TOP, 1)


def lower_median(data):
    return sorted(data)[(len(data) + 1) // 2 - 1]


def apart(x, y):
    """Records that differ between two multisets."""
    rest = list(y)
    for value in x:
        if value in rest:
            rest.remove(value)
    return len(rest)


def local_sensitivity(x, everything):
    return max(abs(lower_median(x) - lower_median(y)) for y in everything if apart(x, y) <= 1)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_reach_is_the_largest_local_sensitivity_within_k_changes(n):
    everything = list(combinations_with_replacement(range(TOP + 1), n))
    local = {x: local_sensitivity(x, everything) for x in everything}
    for x in everything:
        sample = SortedSample.of(INTERVAL, x)
        assert sample.median == lower_median(x)
        for k in range(n + 1):
            assert sample.reach(k) == max(local[y] for y in everything if apart(x, y) <= k)
        for bound in range(TOP):
            nearest = min(apart(x, y) for y in everything if local[y] > bound)
            assert sample.distance_to_reach(bound) == nearest
        assert sample.distance_to_reach(TOP) == n + 1


def test_smooth_sensitivity_is_smooth_and_bounds_the_local_one():
    mechanism = SmoothSensitivityMedian(0, TOP, 1, 1e-2, grid=1)
    everything = list(combinations_with_replacement(range(TOP + 1), 4))
    smooth = {x: mechanism._smooth(SortedSample.of(INTERVAL, x)) for x in everything}
    with precision(256):
        limit = 1 / mechanism.ratio  # ρ ≥ e^{−β}, so 1/ρ ≤ e^β
    for x, y in product(everything, repeat=2):
        if apart(x, y) <= 1:
            assert abs(lower_median(x) - lower_median(y)) <= min(smooth[x], smooth[y])
            assert smooth[x] <= limit * smooth[y]


def test_smooth_sensitivity_equals_the_plain_maximum():
    mechanism = SmoothSensitivityMedian(0, 100, 0.8, 1e-4, grid=1)
    data = np.random.default_rng(3).integers(0, 101, 61)
    sample = SortedSample.of(Interval(0, 100, 1), data)
    plain = max(np.exp(-mechanism.beta * k) * sample.reach(k) for k in range(62))
    assert float(mechanism._smooth(sample)) == pytest.approx(plain, rel=1e-12)
    assert mechanism.least_weight / UNIT < 1e-15  # the public floor is far below


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-8), (1, 1e-5), (3, 1e-3)])
def test_sharper_than_published_constants_and_not_sharper_than_the_truth(epsilon, delta):
    mechanism = SmoothSensitivityMedian(0, 1, epsilon, delta)
    _, published = published_laplace(epsilon, delta)
    assert mechanism.beta > published  # less noise far from a jump, same noise at it
    with precision(128):
        assert dilation_delta(Fraction(epsilon) / 2, mechanism.beta) <= delta
        assert not dilation_delta(Fraction(epsilon) / 2, np.nextafter(mechanism.beta, 9).item()) <= delta


def test_tail_and_sensitivity_in_data_units():
    mechanism = SmoothSensitivityMedian.calibrate(target=ApproxDP(1, 1e-5), lower=10, upper=20)
    sensitivity = mechanism.sensitivity(np.linspace(10, 20, 1001))
    assert 0.01 <= sensitivity < 1
    expected = sensitivity / 0.5 * np.log(20)
    assert mechanism.tail_bound(0.05, sensitivity) == pytest.approx(expected, abs=1e-4)


def test_clipping_and_rounding_at_the_door():
    interval = Interval(-1, 1, Fraction(1, 2))
    assert interval.cells([-7, -1, -0.6, 0, 0.3, 9]).tolist() == [0, 0, 1, 2, 3, 4]
    assert interval.values([0, 3]).tolist() == [-1.0, 0.5]
    ragged = Interval(0, 1, Fraction(3, 10))  # the last grid point is just above the bound
    assert ragged.cell_count == 4
    assert ragged.cells([1]).tolist() == [3]
    assert "0.3" not in repr(SortedSample.of(interval, [0.3]))
