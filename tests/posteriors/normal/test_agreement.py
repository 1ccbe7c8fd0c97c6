"""Laws of S against each other: latent records are exact, their limit must agree with them."""

import numpy as np
import pytest

from discreet.posteriors.normal.chains import ChainLengths
from discreet.sampling.agreement import effective_size as ess

PLAN = {
    "records": ChainLengths(chains=2, draws=800, thin=3, burn=1000),
    "limit": ChainLengths(chains=2, draws=800, thin=14, burn=3000),
}


def summary(posterior):
    """Mean and deviation of ln(|θ| + ½), whose tails are light, and their errors over the deviation."""
    draws = np.log(abs(posterior.draws) + 0.5)
    flat = draws.reshape(-1, draws.shape[-1])
    return flat.mean(axis=0), flat.std(axis=0), 1 / np.sqrt(ess(draws))


@pytest.mark.parametrize("which", ["gamma", "wishart", "regression"])
@pytest.mark.parametrize("private", [False, True])
def test_the_limit_law_agrees_with_records_from_where_it_is_the_default(
    models, simulate, release_of, which, private
):
    """n = 200, noise of ε ≈ 1; 4.5 errors, and 3 % of a deviation for the limit: fails below 1e-3 in all."""
    model, rng = models[which], np.random.default_rng(21)
    _, records = simulate(model, 200, rng)
    release = release_of(model, records, rng, 4.0, private=private)
    exact = release.read(reading="noise_aware", law="records", plan=PLAN["records"])
    mean, deviation, error = summary(exact)
    limit = release.read(reading="noise_aware", law="limit", plan=PLAN["limit"])
    other, spread, also = summary(limit)
    room = 4.5 * np.hypot(error, also) + 0.03
    assert np.all(abs(other - mean) < room * deviation)
    assert np.all(abs(spread / deviation - 1) < room)


def test_the_comparison_can_tell_noise_half_again_as_wide(models, simulate, release_of):
    model, rng = models["gamma"], np.random.default_rng(22)
    _, records = simulate(model, 200, rng)
    release = release_of(model, records, rng, 4.0)
    exact = release.read(reading="noise_aware", law="records", plan=PLAN["records"])
    _, deviation, error = summary(exact)
    wider = type(release)(**{**vars(release), "scale": 1.5 * release.scale})
    _, spread, also = summary(wider.read(reading="noise_aware", law="limit", plan=PLAN["limit"]))
    assert np.any(abs(spread / deviation - 1) > 4.5 * np.hypot(error, also) + 0.03)
