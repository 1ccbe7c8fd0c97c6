"""A promise for one row, so that a unit with k rows gets the target: verified and tight, or refused."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf

from discreet.privacy.group_privacy import per_row
from discreet.privacy.guarantee import ADD_REMOVE, NotProved
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP

exact = st.fractions(min_value=Fraction(1, 1000), max_value=20) | st.floats(1e-3, 20)
sizes = st.integers(1, 50)


@given(exact, st.floats(1e-12, 0.3), sizes)
@settings(deadline=None, max_examples=60)
def test_the_group_of_the_row_implies_the_target(epsilon, delta, k):
    for target in (
        PureDP(epsilon, relation=ADD_REMOVE),
        BoundedRange(epsilon),
        ZeroCDP(epsilon),
        GaussianDP(epsilon),
        ApproxDP(epsilon, delta),
        ApproxDP(epsilon, 0),
    ):
        row = per_row(target, k)
        assert row.group(k) <= target
        assert row.relation is target.relation


@given(exact, st.floats(1e-12, 0.3), st.integers(2, 50))
@settings(deadline=None, max_examples=30)
def test_nothing_is_wasted(epsilon, delta, k):
    """Any promise weaker by 2^-40 misses the target: the negative control of the law above."""
    more = 1 + Fraction(1, 2**40)
    assert 0 <= Fraction(epsilon) - k * Fraction(per_row(PureDP(epsilon), k).loss) < Fraction(epsilon) / 2**40
    row = per_row(ApproxDP(epsilon, delta), k)
    assert not ApproxDP(row.loss, Fraction(row.slack) * more).group(k) <= ApproxDP(epsilon, delta)
    assert not ZeroCDP(Fraction(per_row(ZeroCDP(epsilon), k).rho) * more).group(k) <= ZeroCDP(epsilon)


def test_numbers_by_hand():
    assert per_row(PureDP(1), 4) == PureDP(0.25)
    assert per_row(ZeroCDP(1), 4) == ZeroCDP(0.0625)
    assert per_row(GaussianDP(1), 4) == GaussianDP(0.25)
    mp.dps = 40
    row = per_row(ApproxDP(1, 1e-6), 4)
    wanted = mpf(1e-6) * mp.expm1(mpf(1) / 4) / mp.expm1(1)
    assert row.loss == 0.25
    assert 0 <= (wanted - mpf(row.slack)) / wanted < 1e-14


def test_one_row_is_the_target_itself_of_any_kind():
    target = RenyiDP.at(2, 1)
    assert per_row(target, 1) is target


def test_a_renyi_target_is_refused():
    with pytest.raises(NotProved, match="PureDP, ApproxDP, ZeroCDP or GaussianDP"):
        per_row(RenyiDP.at(2, 1), 2)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_group_is_a_whole_number(k):
    with pytest.raises(ValueError, match="whole number"):
        per_row(PureDP(1), k)
