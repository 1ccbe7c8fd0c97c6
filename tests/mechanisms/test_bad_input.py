"""Every bad input has a clear error, before anything is drawn, and no private value is in it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms.choice.continuous_exponential import ContinuousExponential, StepScore
from discreet.mechanisms.choice.exponential import Exponential
from discreet.mechanisms.choice.noisy_max import ReportNoisyMax
from discreet.mechanisms.choice.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.local.kary_randomised_response import KaryRandomizedResponse
from discreet.mechanisms.local.randomised_response import RandomizedResponse
from discreet.mechanisms.mechanism import preprocess
from discreet.mechanisms.noise.clipped_mean import ClippedMean
from discreet.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian, classic_sigma
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.mechanisms.sensitivity.propose_test_release import ProposeTestRelease
from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate
from discreet.mechanisms.sensitivity.smooth_sensitivity import SmoothSensitivityMedian
from discreet.privacy.guarantee import ADD_REMOVE, Unreachable
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP
from discreet.sampling.source import SeededSource, Source

NAN, INF = math.nan, math.inf
SECRET = 71234.5  # stands for a private value: it must not be in any message


class NeverAsked(Source):
    """A source that fails the test if anything is drawn."""

    seeded = True

    def words(self, count):  # noqa: ARG002
        raise AssertionError("bad input was not refused before the first draw")


@pytest.mark.parametrize("bad", [0, -1, NAN, INF, -INF, "1", None])
@pytest.mark.parametrize(
    "build",
    [
        lambda x: Laplace(x, 1),
        lambda x: Laplace(1, x),
        lambda x: DiscreteLaplace(x, 1),
        lambda x: DiscreteLaplace(1, x),
        lambda x: Gaussian(x, 1),
        lambda x: Gaussian(1, x),
        lambda x: DiscreteGaussian(x, 1),
        lambda x: DiscreteGaussian(1, x),
        lambda x: Exponential(x, 1),
        lambda x: Exponential(1, x),
        lambda x: PermuteAndFlip(x, 1),
        lambda x: PermuteAndFlip(1, x),
        lambda x: ReportNoisyMax(x, 1),
        lambda x: ReportNoisyMax(1, x),
        lambda x: RandomizedResponse(x, 0.2),
        lambda x: RandomizedResponse(0.2, x),
        lambda x: KaryRandomizedResponse(x, 1),
        lambda x: KaryRandomizedResponse(3, x),
        lambda x: ContinuousExponential(0, 1, x),
        lambda x: SmoothSensitivityMedian(0, 1, x, 1e-5),
        lambda x: SmoothSensitivityMedian(0, 1, 1, x),
        lambda x: ProposeTestRelease(0, 1, x, 1, 1, 1e-5),
        lambda x: ProposeTestRelease(0, 1, 0.1, x, 1, 1e-5),
        lambda x: ProposeTestRelease(0, 1, 0.1, 1, x, 1e-5),
        lambda x: ProposeTestRelease(0, 1, 0.1, 1, 1, x),
        lambda x: classic_sigma(x, 1e-5),
        lambda x: classic_sigma(1, x),
        lambda x: preprocess(PureDP(1), x),
        lambda x: Laplace(1, 1).tail_bound(x),
        lambda x: Laplace(1, 1).tail_bound(0.1, x),
        lambda x: Gaussian(1, 1).tail_bound(x),
        lambda x: DiscreteLaplace(1, 1).tail_bound(x),
        lambda x: DiscreteGaussian(1, 1).tail_bound(x),
        lambda x: Exponential(1, 1).tail_bound(x, 3),
    ],
)
def test_parameters_that_make_no_sense(build, bad):
    with pytest.raises(ValueError, match="must"):
        build(bad)


@pytest.mark.parametrize("bad", [1, 1.0, 2])
def test_probabilities_of_one_and_more(bad):
    for build in (
        lambda: RandomizedResponse(bad, 0.2),
        lambda: SmoothSensitivityMedian(0, 1, 1, bad),
        lambda: ProposeTestRelease(0, 1, 0.1, 1, 1, bad),
        lambda: classic_sigma(1, bad),
        lambda: Laplace(1, 1).tail_bound(bad),
    ):
        with pytest.raises(ValueError, match="strictly between 0 and 1"):
            build()


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: DiscreteLaplace(1.5, 1), "integer"),
        (lambda: ReportNoisyMax(0.5, 1), "integer"),
        (lambda: KaryRandomizedResponse(2.5, 1), "integer"),
        (lambda: KaryRandomizedResponse(1, 1), "at least 2"),
        (lambda: Gaussian(1, 1, grid=0.3), "power of two"),
        (lambda: Gaussian(1, 1, grid=2.0**-41), "at least σ"),
        (lambda: Exponential(1, 1, spread=3), "at most twice"),
        (lambda: Exponential(1, 1, log_base=(0, NAN)), "finite"),
        (lambda: RandomizedResponse(0.5, 0.5), "would not depend on the data"),
        (lambda: ContinuousExponential(1, 1, 1), "lower < upper"),
        (lambda: ContinuousExponential(NAN, 1, 1), "finite"),
        (lambda: SmoothSensitivityMedian(1, 0, 1, 1e-5), "public knowledge"),
        (lambda: SmoothSensitivityMedian(0, 1, 1, 1e-5, grid=2), "no wider"),
        (lambda: SmoothSensitivityMedian(0, 1, 1, 1e-5, grid=2.0**-60), "2\\^48"),
        (lambda: SmoothSensitivityMedian(0, 1, 1, 1e-5, relation=ADD_REMOVE), "SUBSTITUTE"),
        (lambda: ProposeTestRelease(0, 1, 1e-9, 1, 1, 1e-5), "one grid step"),
        (lambda: ProposeTestRelease(0, 1, 0.1, 1, 1, 1e-5, relation=ADD_REMOVE), "SUBSTITUTE"),
        (lambda: ClippedMean(0, 1, 10, DiscreteLaplace(1, 1)), "cells"),
        (lambda: ClippedMean(0, 1, 0, DiscreteLaplace(2**20, 1)), "at least 1"),
        (lambda: StepScore((0, 2, 2), (Fraction(0),) * 3), "rise strictly"),
        (lambda: StepScore((), ()), "one level per run"),
        (lambda: Exponential(1, 1, log_base=(0, 1)).tail_bound(0.1, 2), "uniform base"),
        (lambda: classic_sigma(1.01, 1e-5), "ε ≤ 1"),
        (lambda: Laplace(1, 1).hockey_stick(0, 1, -1), "at least 0"),
        (lambda: Laplace(1, 1).hockey_stick(0, 1, NAN), "finite"),
    ],
)
def test_messages_say_what_to_do(build, says):
    with pytest.raises(ValueError, match=says):
        build()


MEDIAN = SmoothSensitivityMedian(0, 1, 1, 1e-5)
QUANTILE = ContinuousExponential(0, 1, 1)


@pytest.mark.parametrize(
    ("release", "value"),
    [
        (Laplace(1, 1).release, NAN),
        (Laplace(1, 1).release, [SECRET, INF]),
        (Laplace(1, 1).release, []),
        (Laplace(1, 1).release, [SECRET, None]),
        (Laplace(1, 1).release, str(SECRET)),
        (Gaussian(1, 1).release, [SECRET, NAN]),
        (Gaussian(1, 1).release, []),
        (DiscreteLaplace(1, 1).release, SECRET),
        (DiscreteLaplace(1, 1).release, [71234.0]),
        (DiscreteLaplace(1, 1).release, []),
        (DiscreteLaplace(1, 1).release, [712345 * 2**50]),
        (DiscreteLaplace(1, 1).release, [True]),
        (DiscreteGaussian(1, 1).release, [SECRET]),
        (DiscreteGaussian(1, 1).release, NAN),
        (Exponential(1, 1).release, [SECRET, NAN]),
        (Exponential(1, 1).release, []),
        (Exponential(1, 1).release, SECRET),
        (Exponential(1, 1, log_base=(0, 0, 0)).release, [SECRET, 1]),
        (PermuteAndFlip(1, 1).release, [[SECRET]]),
        (PermuteAndFlip(1, 1).release, [SECRET, INF]),
        (ReportNoisyMax(1, 1).release, [SECRET, 1]),
        (ReportNoisyMax(1, 1).release, [[71234]]),
        (RandomizedResponse(0.2, 0.2).release, [71234]),
        (RandomizedResponse(0.2, 0.2).release, [0.5]),
        (RandomizedResponse(0.2, 0.2).release, []),
        (KaryRandomizedResponse(3, 1).release, [71234]),
        (KaryRandomizedResponse(3, 1).release, [-71234]),
        (KaryRandomizedResponse(3, 1).release, [1.0]),
        (MEDIAN.release, []),
        (MEDIAN.release, [[SECRET]]),
        (MEDIAN.release, [str(SECRET) + "x"]),
        (QUANTILE.quantile, []),
        (ContinuousExponential(0, 1, 1, grid=0.5).release, StepScore((0, 71234), (Fraction(0), Fraction(1)))),
        (ClippedMean.calibrate(target=PureDP(1), lower=0, upper=1, records=3).release, [SECRET, 1]),
        (SampleAndAggregate(np.mean, 5, MEDIAN).release, [SECRET, 1]),
        (SampleAndAggregate(np.mean, 5, MEDIAN).release, SECRET),
    ],
)
def test_values_that_make_no_sense_are_refused_unseen(release, value):
    arguments = (value,) if release.__name__ == "quantile" else (value, NeverAsked())
    with pytest.raises(ValueError) as caught:
        release(*arguments)
    assert str(caught.value)
    chain = f"{caught.value!r}{caught.value.__cause__!r}"
    assert "71234" not in chain
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_missing_record_counts_as_the_lower_bound_and_raises_nothing():
    for release in (MEDIAN.release, ProposeTestRelease(0, 1, 0.1, 1, 1, 1e-5).release):
        assert release([0.5, NAN, INF], SeededSource(1)) == release([0.5, 0.0, 1.0], SeededSource(1))
    assert QUANTILE.quantile([0.5, NAN]) == QUANTILE.quantile([0.5, 0.0])


def test_responses_with_an_entry_per_record_show_n_and_refuse_add_remove():
    for attempt in (
        lambda: RandomizedResponse(0.25, 0.25, relation=ADD_REMOVE),
        lambda: KaryRandomizedResponse(3, 1, relation=ADD_REMOVE),
        lambda: RandomizedResponse.calibrate(target=PureDP(1, relation=ADD_REMOVE)),
    ):
        with pytest.raises(ValueError, match="shows n"):
            attempt()


def test_the_quantile_score_needs_its_own_spread():
    with pytest.raises(ValueError, match="spread 2"):
        ContinuousExponential(0, 1, 1, spread=1).quantile([0.5])
    assert ContinuousExponential(0, 1, 1, spread=1, relation=ADD_REMOVE).quantile([0.5])


def test_targets_out_of_reach_say_so():
    for attempt in (
        lambda: Gaussian.calibrate(target=PureDP(1), sensitivity=1),
        lambda: DiscreteGaussian.calibrate(target=PureDP(1), sensitivity=1),
        lambda: SmoothSensitivityMedian.calibrate(target=PureDP(1), lower=0, upper=1),
        lambda: SmoothSensitivityMedian.calibrate(target=ApproxDP(1, 0), lower=0, upper=1),
        lambda: ProposeTestRelease.calibrate(target=GaussianDP(1), lower=0, upper=1, proposal=0.1),
    ):
        with pytest.raises(Unreachable):
            attempt()


def test_private_objects_do_not_show_themselves():
    score = QUANTILE.quantile([0.71234])
    assert repr(score) == "StepScore()"
