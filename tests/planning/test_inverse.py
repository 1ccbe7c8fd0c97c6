"""The inverses invert: at the answer the width holds, a little below it does not."""

import math
from fractions import Fraction

import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_mean import NormalMean
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.public_data import public_records_needed
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics
from discreet.planning import epsilon_for, n_for, plan, predict, public_records_for
from discreet.privacy.guarantee import ADD_REMOVE, NotProved, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP

MODEL = BetaBernoulli(6, 12)


def width_at(epsilon, n, coverage=0.9):
    mechanism = NoisyStatistics.calibrate(MODEL, n=n, target=PureDP(epsilon))
    return predict(mechanism, truth=0.3, level=coverage).width


@pytest.mark.parametrize(("width", "coverage"), [(0.05, 0.9), (0.08, 0.95)])
def test_epsilon(width, coverage):
    found = epsilon_for(MODEL, 1500, width, coverage, truth=0.3)
    assert width_at(found, 1500, coverage) <= width
    assert width_at(found * 0.9, 1500, coverage) > width


def test_epsilon_of_a_draw_at_delta():
    found = epsilon_for(MODEL, 1500, 0.12, truth=0.3, mechanism="diffused", delta=1e-6)
    for factor, holds in ((1, True), (0.97, False)):
        target = ApproxDP(found * factor, 1e-6)
        drawn = DiffusedPosterior.calibrate(MODEL, n=1500, target=target)
        assert (predict(drawn, truth=0.3).honest_width <= 0.12) == holds


@pytest.mark.slow
def test_epsilon_falls_with_the_width_and_with_n():
    by_width = [epsilon_for(MODEL, 300, w, truth=0.3) for w in (0.1, 0.13, 0.2)]
    assert by_width == sorted(set(by_width), reverse=True)
    by_n = [epsilon_for(MODEL, n, 0.13, truth=0.3) for n in (200, 400, 800)]
    assert by_n == sorted(set(by_n), reverse=True)


@pytest.mark.slow
def test_epsilon_with_n_private():
    """A data set is released and read for each simulation; the same 16 of them are asked at every ε."""
    public = epsilon_for(MODEL, 300, 0.13, simulations=16)
    private = epsilon_for(MODEL, 300, 0.13, simulations=16, relation=ADD_REMOVE)
    assert private > public / 2


def test_epsilon_that_no_data_allow():
    with pytest.raises(Unreachable, match="even the exact posterior"):
        epsilon_for(MODEL, 50, 0.01, truth=0.3)


def test_epsilon_of_a_mechanism_that_is_never_pure():
    with pytest.raises(Unreachable, match="never pure DP"):
        epsilon_for(MODEL, 1500, 0.1, truth=0.3, mechanism="diffused")


def test_epsilon_with_a_floor():
    """One draw has √2 times the width of the posterior mean, at any ε."""
    with pytest.raises(Unreachable, match="another mechanism"):
        epsilon_for(MODEL, 1500, 0.04, truth=0.3, mechanism="concentrated", delta=1e-6)


def test_records():
    found = n_for(MODEL, PureDP(0.1), 0.06, truth=0.3)
    assert width_at(0.1, found) <= 0.06
    assert width_at(0.1, round(found * 0.97)) > 0.06


def test_records_where_more_of_them_make_the_draw_private():
    """A Gaussian draw is GDP(6/√(1+n)): GDP(1/2) needs n = 143, whatever the width."""
    model = NormalMean(0, 1, 1, -3, 3)
    found = n_for(model, GaussianDP(0.5), 10, mechanism="direct", simulations=64)
    assert found in (143, 144)
    DirectPosterior.calibrate(model, n=found, target=GaussianDP(0.5))


def test_records_that_never_suffice():
    with pytest.raises(Unreachable, match="never pure DP"):
        n_for(MODEL, PureDP(0.5), 0.1, mechanism="direct", truth=0.3)
    narrow = NormalMean(0, 1, 1, -0.25, 0.25)  # clipping biases: no number of records helps a mean of 3
    with pytest.raises(Unreachable, match="clipping or the knob"):
        n_for(narrow, PureDP(1), 1e-9, simulations=64, clips=True)


def test_public_records_are_those_of_the_direct_draw():
    target = ApproxDP(0.5, 1e-6)
    assert public_records_for(MODEL, 1000, target) == public_records_needed(MODEL, n=1000, target=target)


def test_public_records_for_a_width():
    """Some that resemble the data lower the noise of a draw; many more outweigh the data."""
    target, n, (ones, size) = ApproxDP(0.5, 1e-6), 1000, ([1], 3)
    ask = {"mechanism": "diffused", "batch": (ones, size), "truth": 0.3}
    found = public_records_for(MODEL, n, target, width=0.09, **ask)
    assert found > size
    for records, holds in ((found, True), (found - size, False)):
        copies = records // size
        prior = MODEL.update([copies], copies * size)
        drawn = DiffusedPosterior.calibrate(prior, n=n, target=target)
        assert (predict(drawn, truth=0.3).honest_width <= 0.09) == holds
    with pytest.raises(Unreachable, match="outweigh the private data"):
        public_records_for(MODEL, n, target, width=0.06, **ask)


def test_public_records_that_none_make_enough():
    with pytest.raises(Unreachable, match="pure DP"):
        public_records_for(MODEL, 1000, PureDP(0.5))
    with pytest.raises(Unreachable, match="any number of such public records"):
        public_records_for(MODEL, 1000, PureDP(0.5), width=0.1)


@pytest.mark.parametrize("width", [0, -1, math.nan])
def test_bad_widths(width):
    with pytest.raises(ValueError, match="width"):
        epsilon_for(MODEL, 100, width)


def test_bad_input():
    with pytest.raises(ValueError, match="level"):
        epsilon_for(MODEL, 100, 0.1, 1.5)
    with pytest.raises(ValueError, match="no mechanism of this model"):
        epsilon_for(MODEL, 1500, 0.1, mechanism="laplace")
    with pytest.raises(ValueError, match="there are noisy_statistics"):
        epsilon_for(MODEL, 1500, 0.1, mechanism="magic")
    with pytest.raises(NotProved, match="NoisyStatistics covers it"):
        n_for(NormalInverseGamma(0, 2, 5, 4, -4, 4), ApproxDP(1, 1e-6), 0.5, mechanism="direct")


def test_messages_show_exact_fractions_as_people_write_them():
    width, target = Fraction(1, 100), PureDP(Fraction(1, 10))
    with pytest.raises(Unreachable, match=r"more than 0\.01: "):
        epsilon_for(MODEL, 10, width)
    with pytest.raises(Unreachable, match=r"of width 1e-09 at PureDP\(0\.1\) with"):
        n_for(MODEL, target, Fraction(1, 10**9))
    assert "target PureDP(0.1)" in plan(MODEL, 100, target, truth=0.3).table()
