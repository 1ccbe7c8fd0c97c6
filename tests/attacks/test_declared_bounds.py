"""What is released stays within the bounds that were declared, and user functions cannot reach past a row."""

from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from io import StringIO

import numpy as np
import pytest

from discreet.mechanisms.choice.continuous_exponential import ContinuousExponential
from discreet.mechanisms.learners.lloyd import cluster_sums
from discreet.mechanisms.noise.clipped_mean import ClippedMean
from discreet.mechanisms.posterior.statistical_query import LaplaceQuery
from discreet.mechanisms.sensitivity.propose_test_release import ProposeTestRelease
from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate
from discreet.mechanisms.sensitivity.smooth_sensitivity import SmoothSensitivityMedian
from discreet.mechanisms.sgd.losses import Loss
from discreet.mechanisms.sgd.noisy_projected_sgd import NoisyProjectedSGD
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.sampling.source import SeededSource

TARGET = ApproxDP(1, 1e-6)
RAGGED = 3  # a grid that does not divide [0, 11]: its last point is 12


@pytest.mark.parametrize(
    ("mechanism", "records"),
    [
        (SmoothSensitivityMedian.calibrate(target=TARGET, lower=0, upper=10), [7.0]),
        (SmoothSensitivityMedian.calibrate(target=TARGET, lower=0, upper=11, grid=RAGGED), [11.0] * 400),
        (ProposeTestRelease(0, 10, 5, 2, Fraction(1, 10), Fraction(1, 10)), [9.0] * 50),
        (ProposeTestRelease(0, 11, 3, 2, 50, Fraction(1, 10), grid=RAGGED), [11.0] * 50),
        (ClippedMean.calibrate(target=PureDP(1), lower=0, upper=10, records=1), [7.0]),
        (ClippedMean.calibrate(target=PureDP(50), lower=0, upper=11, records=2, grid=RAGGED), [11.0, 11.0]),
        (ContinuousExponential(0, 11, 50, grid=RAGGED), [11.0] * 9),
        (ContinuousExponential(Fraction(1, 3), Fraction(2, 3), 9, grid=Fraction(2, 7)), [1.0] * 9),
    ],
    ids=lambda x: getattr(x, "name", None),
)
def test_no_release_leaves_the_declared_bounds(mechanism, records):
    value = mechanism.quantile(records) if isinstance(mechanism, ContinuousExponential) else records
    drawn = mechanism.releases(value, 60, SeededSource(3))
    held = drawn[~np.isnan(drawn)]
    assert held.size > 30
    assert float(mechanism.lower) <= held.min() <= held.max() <= float(mechanism.upper)
    assert held.max() == float(mechanism.upper)  # where noise or the grid went beyond


def overwriting(w, x, y):
    w[:] = 10.0 * x  # would carry the record past its bounded pull
    return np.zeros(2)


def test_a_gradient_that_writes_into_the_weights_moves_nothing():
    records = np.array([[0.6, 0.6]] * 3), np.zeros(3)

    def trained(pull):
        loss = Loss(pull, 1.0, 1.0, 1.0)
        mechanism = NoisyProjectedSGD.calibrate(loss, n=3, dimension=2, target=ApproxDP(1, 1e-5), radius=1.0)
        return mechanism.release(records, SeededSource(4))

    assert (trained(overwriting) == trained(lambda w, x, y: np.zeros(2))).all()  # noqa: ARG005
    assert (records[0] == 0.6).all()


def test_a_query_that_writes_into_its_record_leaves_the_data_alone():
    def query(record):
        record *= 0
        return 1.0

    records = np.full((5, 2), 0.5)
    LaplaceQuery(query, n=5, epsilon=1).release(records, SeededSource(1))
    assert (records == 0.5).all()


def test_what_a_function_prints_of_private_rows_is_not_shown():
    def chatty(block):
        import sys

        if np.max(block) > 1:
            print("otter-7731")  # noqa: T201 - what is under attack
            sys.stderr.write("otter-7731")
        return 3.0

    mean = ClippedMean.calibrate(target=PureDP(1), lower=2, upper=4, records=10)
    shown = StringIO()
    with redirect_stdout(shown), redirect_stderr(shown):
        SampleAndAggregate(chatty, 10, mean).release(np.full((40, 2), 9.0), SeededSource(1))
    assert not shown.getvalue()


def test_which_centre_a_row_is_nearest_to_depends_on_that_row_alone():
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 1000, (7, 9))
    centres[1] = centres[0] + 1e-13 * rng.normal(size=9)  # as near as doubles can tell
    rows = np.rint(rng.normal(0, 1000, (257, 9)))
    whole = cluster_sums(rows, centres)
    one_by_one = [cluster_sums(row[None], centres) for row in rows]
    for together, apart in zip(whole, zip(*one_by_one, strict=True), strict=True):
        assert (together == sum(apart)).all()
