"""Erratum 26, Prop. 3.19: noise scaled to the local sensitivity is not private: a broken twin."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.sensitivity.median import Interval, SortedSample
from discreet.mechanisms.sensitivity.smooth_sensitivity import SmoothSensitivityMedian
from discreet.sampling import exact
from discreet.sampling.source import SeededSource


@dataclass(frozen=True)
class LocalisedMedian:
    """BROKEN on purpose: median + N(0, (c·local sensitivity)²)."""

    interval: Interval
    sigma_per_unit: float

    def releases(self, data, size, source):
        sample = SortedSample.of(self.interval, data)
        spread = Fraction(self.sigma_per_unit) * sample.reach(0)
        if spread == 0:
            return np.full(size, float(sample.median))
        return exact.normal(source, sample.median, spread**2, size, Fraction(1, 2**20))


STILL, MOVING = [0, 0, 0, 0, 1], [0, 0, 0, 1, 1]
RUNS = 2000


def exact_zeros(mechanism, data):
    return int((mechanism.releases(data, RUNS, SeededSource(319)) == 0).sum())


def test_the_broken_twin_is_told_apart_by_one_look():
    twin = LocalisedMedian(Interval(0, 1, 1), 9.69)
    assert exact_zeros(twin, STILL) == RUNS  # no noise at all
    assert exact_zeros(twin, MOVING) == 0  # a normal on a grid of 2^-20: about RUNS·4e-8 by chance


def test_smooth_sensitivity_is_not_told_apart():
    mechanism = SmoothSensitivityMedian(0, 1, 1, 1e-5, grid=1)
    for epsilon in (1, 2, 5):
        assert mechanism.hockey_stick(STILL, MOVING, epsilon) <= mechanism.guarantee.delta(epsilon)
        assert mechanism.hockey_stick(MOVING, STILL, epsilon) <= mechanism.guarantee.delta(epsilon)


def test_the_localised_scale_breaks_the_closed_form_check_too():
    """A Laplace twin on data whose local sensitivity halves: the exact profile passes any small δ."""
    from discreet.mechanisms.noise.base import laplace_below, laplace_crossings, line_divergence

    left, right = (Fraction(0), Fraction(2)), (Fraction(0), Fraction(1))  # scales follow LS 1 and ½
    cuts = laplace_crossings(left, right, 0.5)
    leak = float(line_divergence(laplace_below(*left), laplace_below(*right), cuts, 0.5))
    # p/q = ½e^{x/2} passes e^{½} at x₀ = 1 + 2 ln 2: δ = e^{−x₀/2} − e^{½}e^{−x₀} = e^{−x₀/2}/2
    assert leak == pytest.approx(np.exp(-(1 + 2 * np.log(2)) / 2) / 2, rel=1e-12)
    assert leak > 0.1
