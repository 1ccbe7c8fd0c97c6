"""Public records and breaches: the same computation, a stronger prior."""

import numpy as np
import pytest

from discreet.families.beta_bernoulli import BetaBernoulli
from discreet.families.dirichlet_categorical import DirichletCategorical
from discreet.families.gamma_poisson import GammaPoisson
from discreet.mechanisms.posterior.concentrated import ConcentratedPosterior
from discreet.mechanisms.posterior.diffused import DiffusedPosterior
from discreet.mechanisms.posterior.direct import DirectPosterior
from discreet.mechanisms.public_data import (
    even_batch,
    fold_public,
    guarantee_after_breach,
    public_records_needed,
)
from discreet.privacy.guarantee import ADD_REMOVE, Unreachable
from discreet.privacy.kinds import ApproxDP, PureDP, RenyiDP

BETA = BetaBernoulli(6, 12)


def test_folding_is_updating():
    assert fold_public(BETA, [3], 10) == BetaBernoulli(9, 19)
    with pytest.raises(ValueError):
        fold_public(BETA, [11], 10)


def test_even_batches():
    for model, statistic, records in (
        (BETA, [1], 2),
        (DirichletCategorical([1, 2, 3]), [1, 1, 1], 3),
        (GammaPoisson(3, 1, 5), [5], 2),
    ):
        got, size = even_batch(model)
        assert (got.tolist(), size) == (statistic, records)


@pytest.mark.parametrize("model", [BETA, DirichletCategorical([2.2, 1.4, 3.0])], ids=lambda m: m.name)
@pytest.mark.parametrize("target", [ApproxDP(1, 1e-6), RenyiDP.at(8, 0.5)], ids=repr)
def test_the_least_number_suffices_and_one_batch_less_does_not(model, target):
    count = public_records_needed(model, n=100, target=target)
    batch, size = even_batch(model)
    copies = count // size
    assert copies * size == count
    assert DirectPosterior(fold_public(model, copies * batch, count), n=100).guarantee <= target
    fewer = fold_public(model, (copies - 1) * batch, count - size)
    assert not DirectPosterior(fewer, n=100).guarantee <= target


def test_the_allocation_matters_and_is_stated():
    target = ApproxDP(1, 1e-6)
    even = public_records_needed(BETA, n=100, target=target)
    like_the_prior = public_records_needed(BETA, n=100, target=target, batch=([1], 3))
    successes_only = public_records_needed(BETA, n=100, target=RenyiDP.at(6, 0.6), batch=([1], 1))
    assert 0 < even <= like_the_prior
    assert successes_only > 0
    with pytest.raises(Unreachable, match="every category"):
        public_records_needed(BETA, n=100, target=ApproxDP(0.1, 1e-6), batch=([1], 1))


def test_none_needed_when_direct_suffices():
    assert public_records_needed(BETA, n=100, target=ApproxDP(3, 1e-6)) == 0
    with pytest.raises(Unreachable, match="never pure"):
        public_records_needed(BETA, n=100, target=PureDP(3))


@pytest.mark.parametrize(
    "mechanism",
    [
        DirectPosterior(BETA, n=50),
        DiffusedPosterior(BETA, n=50, r=0.5),
        ConcentratedPosterior(BETA, n=50, m=0.5),
    ],
    ids=lambda m: m.name,
)
def test_a_breach_strengthens_the_promise_to_the_rest(mechanism):
    after = guarantee_after_breach(mechanism, [4], 10)
    assert after.order_limit > mechanism.guarantee.order_limit
    assert after.renyi(2) < mechanism.guarantee.renyi(2)
    assert after.delta(1) < mechanism.guarantee.delta(1)
    # the exact pair: known successes and failures stand in the prior at their weight
    a = mechanism.prior.alpha + 4 * mechanism.weight
    b = mechanism.prior.beta + 6 * mechanism.weight
    expected = DiffusedPosterior(BetaBernoulli(a, b), n=40, r=mechanism.weight).guarantee
    assert after.renyi(2) == expected.renyi(2)
    assert guarantee_after_breach(mechanism, [0], 0).renyi(2) == mechanism.guarantee.renyi(2)


def test_breaches_that_leave_nobody_are_refused():
    with pytest.raises(ValueError, match="somebody must be left"):
        guarantee_after_breach(DirectPosterior(BETA, n=5), [2], 5)
    with pytest.raises(ValueError, match="public"):
        guarantee_after_breach(DirectPosterior(BETA, relation=ADD_REMOVE), [2], 5)


def test_the_public_prior_of_a_dirichlet_counts_per_category():
    model = DirichletCategorical([1.0] * 20)
    count = public_records_needed(model, n=1000, target=ApproxDP(1, 1e-6))
    assert count % 20 == 0
    alone = public_records_needed(DirichletCategorical([1.0] * 3), n=1000, target=ApproxDP(1, 1e-6))
    assert count // 20 == alone // 3  # only the two smallest entries matter
    assert np.all(fold_public(model, np.full(20, 2), 40).alpha == 3)
