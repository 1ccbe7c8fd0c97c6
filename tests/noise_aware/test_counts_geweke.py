"""Getting it right [Geweke 2004] of the chain over counts, θ integrated out: noise anew, then sweeps.

Counts must stay Dirichlet–multinomial, of n or of a flat n. The largest of 8 |z| passes 5 with probability
below 5e-6 if the chain is right; the seeds are fixed.
"""

import numpy as np
import pytest
from scipy.special import gammaln

from discreet.inference.noise_aware_dirichlet_kernel import chain

ALPHA, SCALE, MOST = np.array([0.5, 2.0, 1.5]), 2.0, 9
REACH, SWEEPS = np.log(6.0), 4


def drawn(rng, kind):
    """Noise of either shape; for the Gaussian one its density is all that the kernel knows."""
    p = -np.expm1(-1 / SCALE)
    return rng.geometric(p, 3) - rng.geometric(p, 3) if kind == "laplace" else rng.normal(0, SCALE, 3)


def told(s, noise, each):
    share, n = s / (each * MOST), s.sum() / (each * MOST)
    return [*share, share[0] ** 2, share[0] * share[1], np.abs(noise).mean(), n, n**2]


def forward(private, each, kind, draws):
    rng, found = np.random.default_rng(1), []
    for _ in range(draws):
        n = int(rng.integers(0, MOST + 1)) if private else MOST
        found.append(told(rng.multinomial(n * each, rng.dirichlet(ALPHA)), drawn(rng, kind), each))
    return np.array(found)


def alternating(private, each, kind, draws, *, scale=SCALE, alpha=ALPHA, sizes=0.0):
    """Told `scale`, `alpha` and log π(n) = `sizes`, which are right unless given."""
    rng, found = np.random.default_rng(2), []
    s, flat = np.array([MOST * each, 0, 0]), np.zeros(MOST + 1 if private else 0)
    for _ in range(draws):
        noisy = s + drawn(rng, kind).astype(np.float64)
        seed = int(rng.integers(2**31))
        shape = scale, kind == "laplace", REACH, each, flat + sizes if private else flat
        s = chain(s, noisy, alpha, *shape, 0, 1, SWEEPS, seed)[0].astype(np.int64)
        found.append(told(s, noisy - s, each))
    return np.array(found)


def farthest(chain, prior):
    """Largest |z| of the differences in mean; the chain's error from batches of 100 draws"""
    batches = chain[: len(chain) // 100 * 100].reshape(-1, 100, chain.shape[1]).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / len(batches) + prior.var(axis=0, ddof=1) / len(prior))
    moving = error > 1e-9
    assert np.allclose(chain.mean(axis=0)[~moving], prior.mean(axis=0)[~moving])
    return np.abs((chain.mean(axis=0) - prior.mean(axis=0))[moving] / error[moving]).max()


@pytest.mark.parametrize(
    ("private", "each", "kind"),
    [(False, 1, "laplace"), (False, 2, "gaussian"), (True, 1, "gaussian"), (True, 2, "laplace")],
)
def test_the_chain_keeps_the_prior_and_broken_twins_do_not(private, each, kind):
    prior = forward(private, each, kind, 10_000)
    assert farthest(alternating(private, each, kind, 10_000), prior) < 5
    assert farthest(alternating(private, each, kind, 5000, scale=SCALE / 4), prior) > 6  # less noise
    assert farthest(alternating(private, each, kind, 5000, alpha=np.ones(3)), prior) > 6  # another prior
    if private:  # a twin without T!/Γ(T+Σα): taken out through the prior of n
        t = each * np.arange(MOST + 1.0)
        without = gammaln(t + ALPHA.sum()) - gammaln(t + 1)
        assert farthest(alternating(private, each, kind, 5000, sizes=without), prior) > 6
