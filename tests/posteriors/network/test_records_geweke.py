"""Getting it right [Geweke 2004] of the chain over records, n public and private: of networks and mixtures.

Noise drawn anew given the counts, then sweeps given the noisy counts, leave the prior as it is. The largest
of 9 |z| passes 5 with probability below 6e-6 if the chain is right; the seeds are fixed.
"""

from fractions import Fraction

import numpy as np
import pytest

from discreet.models.bayes_net import BayesianNetwork
from discreet.models.mixture import Mixture
from discreet.posteriors.mixture.read import Evidence, MixtureChain, prior_of
from discreet.posteriors.network.chain import NetworkChain, NetworkProblem, layout_of
from discreet.posteriors.network.kernel import Noise

PAIR = BayesianNetwork([("a", "b")], prior=Fraction(1, 2)).bind({"a": 2, "b": 2})
LATENT = Mixture(components=2, features=("a", "b"), weight=2, prior=Fraction(1, 2)).bind({"a": 2, "b": 2})
MOST, SCALE = 11, 1.5  # n is MOST, or private and flat on 0 … MOST


def laplace(rng, size):
    """Discrete Laplace noise: the difference of two geometric variables"""
    p = -np.expm1(-1 / SCALE)
    return rng.geometric(p, size) - rng.geometric(p, size)


class Network:
    """a → b, both tables noised."""

    @staticmethod
    def prior(n, rng):
        a, b = rng.dirichlet([0.5, 0.5]), rng.dirichlet([0.5, 0.5], 2)
        totals = rng.multinomial(n, a)
        return np.concatenate([a, *b]), np.concatenate([totals, *map(rng.multinomial, totals, b)])

    @staticmethod
    def chain(sharpness, private):
        noise = Noise(np.full(2, sharpness), squared=False, reach=np.full(2, 6))
        problem = NetworkProblem(layout_of(PAIR), noise, np.zeros(6), np.full(6, 0.5), MOST, not private)
        chain = NetworkChain.begin(problem, np.zeros((MOST, 2), np.int32), 1)
        return chain, chain.advance

    @staticmethod
    def noisy(chain):
        return chain.problem.noisy

    @staticmethod
    def counts(chain):
        return chain.problem.noisy - chain.residual

    @staticmethod
    def tell(chain, noisy):
        chain.residual += noisy - chain.problem.noisy
        chain.problem.noisy[:] = noisy

    @staticmethod
    def functions(theta, counts):
        return [theta[0] ** 2, theta[2] ** 2, theta[4] * theta[0], (counts[2:] ** 2).sum() / MOST**2]


class Latent:
    """Two classes over (a, b), the joint table noised; functions need no labels."""

    @staticmethod
    def cells(theta):
        return np.einsum("k,ka,kb->ab", theta[:2], theta[2:6].reshape(2, 2), theta[6:10].reshape(2, 2))

    @classmethod
    def prior(cls, n, rng):
        theta = np.concatenate([rng.dirichlet([2, 2]), *rng.dirichlet([0.5, 0.5], 4)])
        return theta, rng.multinomial(n, cls.cells(theta).reshape(-1))

    @staticmethod
    def chain(sharpness, private):
        evidence = Evidence(
            LATENT, "noise_aware", np.zeros(4), MOST, MOST, sharpness, scale=SCALE, fixed=not private
        )
        chain = MixtureChain.begin(evidence, prior_of(LATENT), 1)
        return chain, chain.advance

    @staticmethod
    def noisy(chain):
        return chain.said.noisy

    @staticmethod
    def counts(chain):
        return chain.joint.copy()

    @staticmethod
    def tell(chain, noisy):
        chain.said.noisy[:] = noisy

    @classmethod
    def functions(cls, theta, counts):
        cells = cls.cells(theta)
        return [(theta[:2] ** 2).sum(), (cells**2).sum(), cells[0, 0], (counts**2).sum() / MOST**2]


def told(case, theta, counts, noise, n):
    """Nine functions of a state; those of n are constant where it is public."""
    size, seen = n / MOST, [counts[0] / MOST, np.abs(noise).mean()]
    return [*case.functions(theta, counts), *seen, size, size**2, size * theta[0]]


def forward(case, private, draws, rng):
    found = []
    for _ in range(draws):
        n = int(rng.integers(0, MOST + 1)) if private else MOST
        theta, counts = case.prior(n, rng)
        found.append(told(case, theta, counts, laplace(rng, counts.size), n))
    return np.array(found)


def alternating(case, private, draws, sharpness=1 / SCALE):
    """Noise anew given the counts, then sweeps given the noisy counts, over and over"""
    (chain, advance), rng, found = case.chain(sharpness, private), np.random.default_rng(3), []
    for _ in range(draws):
        noise = laplace(rng, case.counts(chain).size)
        case.tell(chain, case.counts(chain) + noise)
        advance(2)
        counts = case.counts(chain)
        found.append(told(case, chain.theta, counts, case.noisy(chain) - counts, chain.n))
    return np.array(found)


def farthest(chain, prior):
    """Largest |z| of the differences in mean; the chain's error from batches of 250 draws"""
    batches = chain[: len(chain) // 250 * 250].reshape(-1, 250, chain.shape[1]).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / len(batches) + prior.var(axis=0, ddof=1) / len(prior))
    moving = error > 1e-9
    assert np.allclose(chain.mean(axis=0)[~moving], prior.mean(axis=0)[~moving])
    return np.abs((chain.mean(axis=0) - prior.mean(axis=0))[moving] / error[moving]).max()


CASES = [(Network, False), (Network, True), (Latent, True)]


@pytest.mark.parametrize(("case", "private"), CASES)
def test_the_chain_keeps_the_prior(case, private):
    prior = forward(case, private, 6000, np.random.default_rng(2))
    assert farthest(alternating(case, private, 10_000), prior) < 5
    # negative control: the same chain told that the noise is a third as wide
    assert farthest(alternating(case, private, 4000, sharpness=3 / SCALE), prior) > 7


def sizes(sweeps, draws):
    """z of the mean of n, of a network whose noise says nothing: n must stay flat on 0 … MOST."""
    (inner, advance), found = Network.chain(0.0, private=True), np.empty(draws)
    for s in range(draws):
        advance(sweeps(inner.n))
        found[s] = inner.n
    batches = found.reshape(-1, 1000).mean(axis=1)
    return abs(found.mean() - MOST / 2) / (batches.std(ddof=1) / len(batches) ** 0.5)


def test_the_length_of_a_sweep_does_not_depend_on_a_private_n():
    """Else few records, moved less, are stayed at for longer: z passes 5 with probability below 1e-6."""
    assert sizes(lambda _: 1, 40_000) < 5
    assert sizes(lambda n: 1 + (n >= 8), 40_000) > 7  # what a kernel did that made n/8 moves
