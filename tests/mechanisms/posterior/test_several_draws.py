"""Several draws for one charge: the knob is the largest that their composition affords."""

import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.mechanisms.for_unit import calibrated_for_unit
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.privacy.kinds import ApproxDP

TARGET = ApproxDP(1, 1e-6)
EVEN = {2: 0.0457, 4: 0.0227, 16: 0.0056}  # r by (ε/q, δ/q) each


@pytest.mark.parametrize(("q", "r"), [(2, 0.0771), (4, 0.0623), (16, 0.0361)])
def test_draws_are_calibrated_against_their_composition(q, r):
    """By convolving exact profiles. One pair's product, in doubles, computed apart: .0772, .0624, .0368."""
    ready = calibrated_for_unit(DiffusedPosterior, BetaBernoulli(1, 1), TARGET, n=100, draws=q)
    assert float(ready.single.r) == pytest.approx(r, abs=5e-5)
    assert float(ready.single.r) > 1.4 * EVEN[q]
    assert ready.guarantee <= TARGET
    more = DiffusedPosterior(BetaBernoulli(1, 1), n=100, r=float(ready.single.r) * (1 + 2**-8))
    assert not more.draws(q).guarantee <= TARGET


def test_all_draws_of_a_units_rows_together_meet_the_target():
    target = ApproxDP(1, 1e-6, relation=ADD_REMOVE)
    rows = [
        calibrated_for_unit(DiffusedPosterior, BetaBernoulli(2, 2), target, n=None, draws=4, rows_per_unit=k)
        for k in (1, 3)
    ]
    assert rows[1].guarantee.group(3) <= target
    assert not rows[0].guarantee.group(3) <= target  # that of one row a unit would break it
