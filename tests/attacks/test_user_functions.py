"""A function that a user brings may fail in any way: refused on made-up rows, silent on private ones."""

import math
import warnings

import numba
import numpy as np
import pytest

from discreet.mechanisms.noise.clipped_mean import ClippedMean
from discreet.mechanisms.posterior.statistical_query import (
    GaussianQuery,
    LaplaceQuery,
    StatisticalQuery,
    query_model,
)
from discreet.mechanisms.sensitivity.sample_and_aggregate import SampleAndAggregate
from discreet.mechanisms.sensitivity.smooth_sensitivity import SmoothSensitivityMedian
from discreet.mechanisms.sgd.losses import Loss
from discreet.mechanisms.sgd.noisy_projected_sgd import NoisyProjectedSGD
from discreet.privacy.kinds import ApproxDP, PureDP, ZeroCDP
from discreet.sampling.source import SeededSource

CANARY = "otter-7731"
ROWS = np.random.default_rng(5).normal(3, 1, (400, 2))


class PanicException(BaseException):  # as Polars raises: no Exception
    pass


def mean_of_ten(**more):
    return ClippedMean.calibrate(target=PureDP(1), lower=2, upper=4, records=10, **more)


def failing(error):
    """Works on made-up rows, all of them below 1, and fails on ours."""

    def function(block):
        if np.max(block) > 1:
            raise error(CANARY)
        return 3.0

    return function


def test_a_function_that_always_fails_is_refused_before_any_private_row():
    seen = []

    def broken(block):
        seen.append(np.asarray(block).copy())
        raise TypeError("unhashable")

    mechanism = SampleAndAggregate(broken, 10, mean_of_ten())
    with pytest.raises(ValueError, match=r"made-up rows with TypeError: unhashable.*example="):
        mechanism.release(ROWS, SeededSource(1))
    assert len(seen) == 1
    assert seen[0].shape == (40, 2)  # of one block
    assert not np.isin(seen[0], ROWS).any()


@pytest.mark.parametrize("answer", [float("nan"), float("inf"), "many", None, [1.0, 2.0], 1j])
def test_a_function_that_answers_no_number_is_refused(answer):
    with pytest.raises(ValueError, match="made-up rows"):
        SampleAndAggregate(lambda _: answer, 10, mean_of_ten()).release(ROWS, SeededSource(1))


def test_rows_that_cannot_be_made_up_need_an_example():
    rows = np.array([["a", "b"]] * 50, dtype=object)
    with pytest.raises(ValueError, match="example="):
        SampleAndAggregate(len, 10, mean_of_ten()).release(rows, SeededSource(1))
    assert SampleAndAggregate(len, 10, mean_of_ten(), rows[:3]).release(rows, SeededSource(1)) is not None


@pytest.mark.parametrize("error", [RuntimeError, SystemExit, GeneratorExit, PanicException])
def test_no_failure_on_private_rows_passes_whatever_its_class(error):
    broken = SampleAndAggregate(failing(error), 10, mean_of_ten()).release(ROWS, SeededSource(1))
    lowest = SampleAndAggregate(lambda _: 2.0, 10, mean_of_ten()).release(ROWS, SeededSource(1))
    assert broken == lowest  # every block counts as the lower bound
    records = [{"age": 3.0}] * 5
    for query in queries(lambda _: 0.0), queries(failing_record(error)):
        assert [each.release(records, SeededSource(2)) for each in query] == [
            each.release(records, SeededSource(2)) for each in queries(lambda _: 0.0)
        ]


def failing_record(error):
    def query(record):
        raise error(CANARY, record)

    return query


def queries(query):
    from discreet.mechanisms.posterior.diffused import DiffusedPosterior

    draw = DiffusedPosterior(query_model(6, 12), n=5, r=0.5)
    return (
        LaplaceQuery(query, n=5, epsilon=1),
        GaussianQuery(query, n=5, rho=0.5),
        StatisticalQuery(query, draw),
    )


def test_queries_are_tried_first_where_a_record_can_be_had():
    for each in queries(failing_record(KeyError)):
        with pytest.raises(ValueError, match="made-up rows with KeyError"):
            each.release(np.zeros(5), SeededSource(1))  # an array of numbers
    with pytest.raises(ValueError, match="made-up rows with KeyError"):
        LaplaceQuery(failing_record(KeyError), n=1, epsilon=1, example={"age": 1}).release([{"age": 3}])


def test_an_interrupt_passes_without_its_words_and_without_a_way_to_the_rows():
    with pytest.raises(KeyboardInterrupt) as caught:
        SampleAndAggregate(failing(KeyboardInterrupt), 10, mean_of_ten()).release(ROWS, SeededSource(1))
    assert not caught.value.args
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_warnings_of_private_rows_are_not_shown():
    def warns(block):
        if np.max(block) > 1:
            warnings.warn(CANARY, stacklevel=1)
            np.log(np.zeros(1) - 1)
        return 3.0

    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        SampleAndAggregate(warns, 10, mean_of_ten()).release(ROWS, SeededSource(1))
    assert not shown


def test_what_leaves_stays_within_the_declared_bounds():
    loud = ClippedMean.calibrate(target=PureDP(0.01), lower=2, upper=4, records=10)  # noise of scale 20
    drawn = [SampleAndAggregate(np.mean, 10, loud).release(ROWS, SeededSource(s)) for s in range(20)]
    assert {2.0, 4.0} <= set(drawn)
    assert all(2 <= x <= 4 for x in drawn)


@pytest.mark.parametrize("target", [PureDP(1), ApproxDP(1, 1e-6), ZeroCDP(0.5)], ids=repr)
def test_it_is_calibrated_and_has_a_tail_bound(target):
    mechanism = SampleAndAggregate.calibrate(np.mean, n=400, target=target, lower=0, upper=6)
    assert mechanism.blocks == 20
    assert mechanism.guarantee <= target
    public = (0.1,) if isinstance(mechanism.aggregator, SmoothSensitivityMedian) else ()
    bound = mechanism.tail_bound(0.05, *public)
    assert bound == mechanism.aggregator.tail_bound(0.05, *public) < 6
    assert mechanism.tail_bound(1e-300, *public) <= 6  # clamped
    if not public:
        answers = [mechanism.release(ROWS, SeededSource(s)) for s in range(200)]
        missed = sum(abs(x - 3) >= bound + 0.2 for x in answers)  # block means are within .2 of 3 on average
        assert missed <= 30  # expected ≤ 10 of 200: more than 30 has probability below 1e-7


def with_gradient(gradient):
    loss = Loss(gradient, 1.0, 1.0, 1.0)
    return NoisyProjectedSGD.calibrate(loss, n=4, dimension=2, target=ApproxDP(1, 1e-5), radius=1.0)


def up_to_the_third(w, x, y):
    return x if y < 0.5 else np.zeros(2)


def broken_at_the_third(error):
    def gradient(w, x, y):
        if y > 0.5:
            if error is None:
                return np.full(2, math.nan)
            raise error(CANARY)
        return x

    return gradient


@pytest.mark.parametrize("error", [None, RuntimeError, SystemExit, PanicException])
def test_a_gradient_that_fails_on_one_record_counts_as_nothing_there(error):
    records = np.full((4, 2), 0.1), np.array([0.0, 0.0, 1.0, 0.0])
    whole = with_gradient(up_to_the_third).release(records, SeededSource(4))
    assert (with_gradient(broken_at_the_third(error)).release(records, SeededSource(4)) == whole).all()


def test_a_compiled_gradient_that_fails_counts_as_nothing_too():
    def gradient(w, x, y):
        return x / int(y < 0.5)  # raises, or is infinite, as numba was told

    records = np.full((4, 2), 0.1), np.array([0.0, 0.0, 1.0, 0.0])
    whole = with_gradient(up_to_the_third).release(records, SeededSource(4))
    for model in ("python", "numpy"):
        compiled = numba.njit(gradient, error_model=model)
        assert (with_gradient(compiled).release(records, SeededSource(4)) == whole).all()


@pytest.mark.parametrize("error", [SystemExit, PanicException, GeneratorExit])
def test_an_exit_on_made_up_rows_is_a_failure_too(error):
    def leaving(_):
        raise error

    with pytest.raises(ValueError, match="made-up rows"):
        SampleAndAggregate(leaving, 10, mean_of_ten()).release(ROWS, SeededSource(1))
