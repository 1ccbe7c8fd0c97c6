"""Subsampling: closed form against dp-accounting, against the truth by hand, and through JSON."""

import json
import math
from fractions import Fraction

import pytest

from discreet.privacy.amplification.subsampling import subsampled, subsampled_gaussian
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.json import from_json, to_json
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP

GAUSS = GaussianDP(1.0, relation=ADD_REMOVE)


def accounted(steps, rate=0.01):
    """dp-accounting's privacy-loss distribution of the same releases, which discretises upward in doubles."""
    dp = pytest.importorskip("dp_accounting")
    from dp_accounting import pld

    event = dp.PoissonSampledDpEvent(rate, dp.GaussianDpEvent(1.0))
    accountant = pld.PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE)
    return accountant.compose(dp.SelfComposedDpEvent(event, steps))


@pytest.mark.parametrize("epsilon", [0.01, 0.05, 0.2, 1.0])
def test_one_poisson_sampled_gaussian_agrees_with_dp_accounting(epsilon):
    """Two independent computations: ours is exact, theirs discretises upward."""
    ours, theirs = subsampled(GAUSS, 0.01).delta(epsilon), accounted(1).get_delta(epsilon)
    assert ours <= theirs
    assert ours == pytest.approx(theirs, rel=1e-5)
    assert subsampled_gaussian(GAUSS, 0.01).delta(epsilon) <= ours


def test_randomised_response_on_a_sample_by_hand():
    """Where each record is in the sample with probability q, the ratio is 1 + q(e^ε − 1) at most."""
    q, epsilon = 0.1, 1.0
    after = math.log(1 + q * math.expm1(epsilon))
    promise = subsampled(PureDP(epsilon), q)
    assert promise.delta(after * (1 + 1e-12)) < 1e-12
    assert promise.delta(after * 0.9) > 1e-3  # nothing below ln(1 + q(e^ε − 1)) is claimed


def test_approximate_promises_keep_q_delta():
    promise = subsampled(ApproxDP(1.0, 1e-3), Fraction(1, 10))
    after = math.log(1 + math.expm1(1.0) / 10)
    assert promise.delta(after * (1 + 1e-9)) == pytest.approx(1e-4, rel=1e-6)


def test_a_rate_of_one_changes_nothing_and_a_smaller_rate_helps():
    assert subsampled(GAUSS, 1).delta(0.5) == pytest.approx(GAUSS.delta(0.5), rel=1e-9)
    deltas = [subsampled(GAUSS, q).delta(0.5) for q in (0.01, 0.1, 0.5, 1)]
    assert deltas == sorted(deltas)


@pytest.mark.slow
def test_many_steps_compose_and_both_samplings_are_covered():
    """Values of dp-accounting 0.6.0 run on its own: 0.954218 (PLD, Poisson), and RDP for 10 of 1000."""
    poisson = subsampled_gaussian(GAUSS, 0.01, 100)
    spent = poisson.epsilon(1e-6)
    assert spent == pytest.approx(0.954218, abs=1e-4)
    assert spent < subsampled_gaussian(GAUSS, 0.01, 200).epsilon(1e-6)
    fixed = subsampled_gaussian(GaussianDP(1.0), Fraction(10, 1000), 100)
    more = fixed.epsilon(1e-6)
    assert more == pytest.approx(1.79157, rel=0.03)
    assert more > spent
    for promise in (poisson, fixed, subsampled(GAUSS, 0.5)):
        assert from_json(json.loads(json.dumps(to_json(promise)))) == promise


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, math.nan])
def test_a_rate_outside_is_refused(rate):
    with pytest.raises(ValueError, match="rate"):
        subsampled(GAUSS, rate)


def test_no_step_is_refused():
    with pytest.raises(ValueError, match="at least one step"):
        subsampled_gaussian(GAUSS, 0.1, 0)
