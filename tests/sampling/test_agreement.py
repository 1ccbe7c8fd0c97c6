"""R̂ and effective size: arviz's numbers, and what chains that stand still say."""

import math

import numpy as np
import pytest

from discreet.posteriors import noise_law
from discreet.posteriors.hidden_markov import posterior as hmm_posterior
from discreet.sampling.agreement import effective_size, r_hat


def series(seed, shift=0.0, rho=0.0):
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(4, 400))
    x = np.empty_like(noise)
    x[:, 0] = noise[:, 0]
    for t in range(1, 400):
        x[:, t] = rho * x[:, t - 1] + math.sqrt(1 - rho**2) * noise[:, t]
    x[0] += shift
    return x


# Reference: arviz 0.23 rhat(method="rank") and ess(method="bulk") on these arrays.
ARVIZ = [
    (series(1), 1.0031804079338813, 1651.9196497354624),
    (series(2, rho=0.9), 1.0729839181857088, 60.00102399028618),
    (series(3, shift=2.0), 1.3298826618995487, 9.769444460942319),
]


@pytest.mark.parametrize(("made", "expected_r_hat", "expected_size"), ARVIZ)
def test_the_numbers_are_arvizs(made, expected_r_hat, expected_size):
    assert r_hat(made) == pytest.approx(expected_r_hat, rel=1e-9)
    assert effective_size(made) == pytest.approx(expected_size, rel=1e-6)


def test_many_quantities_are_read_as_one_by_one():
    together = np.stack([made for made, _, _ in ARVIZ], axis=-1)[:, :, None, :]
    assert r_hat(together) == pytest.approx(np.array([[x for _, x, _ in ARVIZ]]), rel=1e-9)
    assert effective_size(together) == pytest.approx(np.array([[x for _, _, x in ARVIZ]]), rel=1e-6)


@pytest.mark.parametrize("values", [(0, 1, 1, 1), (0, 0, 1, 1), (0.1, 0.2, 0.3, 0.4)])
@pytest.mark.parametrize("scale", [1.0, 0.1, 1e9])
def test_chains_that_stand_still_apart_disagree_without_end(values, scale):
    """0.1 is no double: the variance of equal numbers must not come out as rounding."""
    still = np.repeat(np.array(values)[:, None], 51, axis=1) * scale
    assert r_hat(still) == math.inf
    assert effective_size(still) < 6  # of 200
    assert r_hat(np.full((4, 51), 0.1 * scale)) == 1
    assert effective_size(np.full((4, 51), 0.1 * scale)) == 200


@pytest.mark.parametrize("draws", [4, 5, 6, 8, 12])
def test_few_draws_of_chains_apart_are_worth_no_more_than_the_chains(draws):
    still = np.repeat([[0.0], [1.0], [1.0], [1.0]], draws, axis=1)
    assert effective_size(still) < 8


def test_a_wider_chain_is_found_by_folding():
    made = series(4)
    made[0] *= 10
    assert r_hat(made) > 1.2
    assert r_hat(series(4)) < 1.02


def test_too_little_or_not_finite_says_nothing():
    for few in (0, 1, 3):
        assert np.isnan(r_hat(np.zeros((4, few, 2)))).all()
        assert np.isnan(effective_size(np.zeros((4, few, 2)))).all()
    made = np.stack([series(1), series(1)], axis=-1)
    made[0, 3, 1] = np.nan
    for of in (r_hat, effective_size):
        found = of(made)
        assert np.isfinite(found[0])
        assert np.isnan(found[1])
    assert 0 < effective_size(series(1)[:, :4]) <= 16 * math.log10(16)


def test_inference_reads_the_same_numbers():
    assert hmm_posterior.r_hat is noise_law.r_hat is r_hat
    assert hmm_posterior.ess is noise_law.effective_size is effective_size
