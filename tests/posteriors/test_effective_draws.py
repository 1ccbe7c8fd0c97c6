"""How few draws a reading keeps silent about: one limit for every posterior of chains or swarms."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import norm

from discreet.posteriors.noise_law import FEWEST, MIXED, cautions
from discreet.posteriors.posterior import Diagnostics


def said(ess, r_hat=1.0):
    return cautions(Diagnostics("chains", 4, 500, r_hat, ess))


def test_draws_worth_fewer_than_the_limit_are_said_with_what_that_leaves():
    assert said(FEWEST) == ()
    (words,) = said(100)
    assert "worth only 100" in words
    assert "0.10 posterior deviations" in words
    assert "0.05 posterior deviations" in said(399)[0]
    assert "not converged" in said(1000, MIXED + 0.01)[0]
    (words,) = said(125, 1.05)  # of two mixtures nothing was said
    assert "worth only 125" in words
    assert "worth only 0" in said(0.0)[0]


@pytest.mark.parametrize("worth", [100, 400])
def test_what_is_said_of_so_few_draws_is_what_chains_of_a_known_law_show(worth):
    """Autoregressive chains with normal law: root mean squares over 200 runs, known to 5 % each."""
    rng, share = np.random.default_rng(5), worth / 2000
    phi = (1 - share) / (1 + share)
    step = rng.normal(size=(200, 4, 500)) * (1 - phi**2) ** 0.5
    step[..., 0] = rng.normal(size=(200, 4))
    draws = lfilter([1], [1, -phi], step, axis=-1).reshape(200, -1)
    mean = (draws.mean(axis=1) ** 2).mean() ** 0.5
    end = ((np.quantile(draws, 0.05, axis=1) - norm.ppf(0.05)) ** 2).mean() ** 0.5
    assert mean == pytest.approx(worth**-0.5, rel=0.2)
    assert end == pytest.approx(1.5 * worth**-0.5, rel=0.2)
