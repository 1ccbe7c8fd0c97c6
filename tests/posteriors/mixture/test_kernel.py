"""Getting it right [Geweke 2004]: the kernel and the simulator of its data leave the prior as it is."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.mechanisms.statistics.noisy_counts import NoisyCounts
from discreet.mechanisms.statistics.noisy_statistic import NoisyCells
from discreet.models.mixture import Mixture
from discreet.posteriors.mixture import kernel as mixture_kernel
from discreet.posteriors.mixture.read import Evidence, MixtureChain, prior_of, start
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import SeededSource

SMALL = Mixture(components=2, features=("a", "b"), weight=2, prior=0.5).bind({"a": 2, "b": 3})
N, SCALE = 12, 1.5


def functions(theta, joint, noise):
    """What is compared: moments of weights, tables, cells, counts and noise; no labels needed"""
    weights, a, b = theta[:2], theta[2:6].reshape(2, 2), theta[6:12].reshape(2, 3)
    cells = np.einsum("k,ka,kb->ab", weights, a, b)
    return np.array(
        [
            (weights**2).sum(),
            (a**2).sum(),
            (b**2).sum(),
            (cells**2).sum(),
            cells[0, 0],
            joint[0] / N,
            (joint**2).sum() / N**2,
            np.abs(noise).mean(),
        ]
    )


def laplace(rng):
    """Discrete Laplace noise: the difference of two geometric variables"""
    p = -np.expm1(-1 / SCALE)
    return rng.geometric(p, SMALL.size) - rng.geometric(p, SMALL.size)


def forward(draws, rng):
    """(π, θ, counts) from the prior"""
    found = []
    for _ in range(draws):
        theta = np.concatenate(
            [rng.dirichlet([2, 2]), *rng.dirichlet([0.5] * 2, 2), *rng.dirichlet([0.5] * 3, 2)]
        )
        cells = np.einsum("k,ka,kb->ab", theta[:2], theta[2:6].reshape(2, 2), theta[6:].reshape(2, 3))
        found.append(functions(theta, rng.multinomial(N, cells.reshape(-1)), laplace(rng)))
    return np.array(found)


def alternating(sharpness, draws, seed):
    """Noise anew given the counts, then one sweep given the noisy counts, over and over"""
    evidence = Evidence(SMALL, "noise_aware", np.zeros(SMALL.size), N, N, sharpness, scale=SCALE)
    chain, rng, found = MixtureChain.begin(evidence, prior_of(SMALL), 1), np.random.default_rng(seed), []
    for _ in range(draws):
        chain.said.noisy[:] = chain.joint + laplace(rng)
        chain.advance(1)
        found.append(functions(chain.theta, chain.joint, chain.said.noisy - chain.joint))
    return np.array(found)


def farthest(chain, prior):
    """Largest |z| of the differences in mean; the chain's error from batches of a hundred"""
    batches = chain[: len(chain) // 100 * 100].reshape(-1, 100, chain.shape[1]).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / len(batches) + prior.var(axis=0, ddof=1) / len(prior))
    return np.abs((chain.mean(axis=0) - prior.mean(axis=0)) / error).max()


@pytest.fixture(scope="module")
def prior():
    return forward(8_000, np.random.default_rng(2))


def test_geweke_the_kernel_keeps_the_prior(prior):
    # 8 functions: the largest |z| passes 4.5 with probability below 5e-5 if the kernel is right.
    assert farthest(alternating(1 / SCALE, 12_000, 3), prior) < 4.5


def test_geweke_catches_a_kernel_with_the_wrong_noise(prior):
    assert farthest(alternating(3 / SCALE, 5_000, 4), prior) > 8


def test_geweke_catches_a_kernel_that_forgets_how_many_ways_there_are(prior, monkeypatch):
    """Run as Python, n!/∏c! can be cut out of the moves of some records."""

    class Flat:
        """math, but for the factorials"""

        log, exp, lgamma = math.log, math.exp, staticmethod(lambda _: 0.0)

    np.random.seed(5)  # noqa: NPY002 - what the kernel draws from when it is not compiled
    for name in ("exchange", "stride", "log_noise", "sweep"):
        monkeypatch.setattr(mixture_kernel, name, getattr(mixture_kernel, name).py_func)
    monkeypatch.setattr(mixture_kernel, "math", Flat)
    assert farthest(alternating(1 / SCALE, 4_000, 6), prior) > 6


# ── calibration ─────────────────────────────────────────────────────────────────────────────────────

CALIBRATED = Mixture(components=2, features=("a", "b", "c")).bind({"a": 2, "b": 2, "c": 2})
REPLICATES, DRAWS = 80, 19


def draws_of(evidence, seed):
    """Joint probabilities of all cells at DRAWS states, 12 sweeps apart"""
    chain = MixtureChain.begin(evidence, start(evidence.model, evidence.joint, seed), seed)
    chain.advance(150)
    found = []
    for _ in range(DRAWS):
        chain.advance(12)
        found.append(joint_of(chain.theta))
    return np.array(found)


def joint_of(theta):
    tables = theta[2:14].reshape(3, 2, 2)
    return np.einsum("k,ka,kb,kc->abc", theta[:2], *tables).reshape(-1)


def ranks(evidence_of, seed, *, private=False):
    """n = 50; or private and flat on 0 … 149, far beyond what the noise hides"""
    known = {"relation": ADD_REMOVE} if private else {"n": 50}
    mechanism = NoisyCounts(CALIBRATED, scales=(5,), **known)
    rng, source, found = np.random.default_rng(seed), SeededSource(seed), []
    for _ in range(REPLICATES):
        theta = np.concatenate([rng.dirichlet([1, 1]), *rng.dirichlet([1, 1], 6)])
        truth = joint_of(theta)
        n = int(rng.integers(150)) if private else 50
        cells = mechanism.release(rng.multinomial(n, truth), source, **({"count": n} if private else {}))
        found.append((draws_of(evidence_of(cells), int(source.words(1)[0])) < truth).sum(axis=0))
    return np.array(found)


def uniformity(column):
    seen = np.bincount(column * 4 // (DRAWS + 1), minlength=4)
    return chi2.sf(((seen - REPLICATES / 4) ** 2 / (REPLICATES / 4)).sum(), 3)


@pytest.mark.parametrize("private", [False, True], ids=["n public", "n private"])
def test_simulation_based_calibration_and_the_naive_reading_fails_it(private):
    # Eight cells at 1e-4 each: a calibrated reading fails with probability below 8e-4; the seed is fixed.
    honest = ranks(lambda cells: Evidence.noisily(cells, CALIBRATED), 7, private=private)
    assert min(uniformity(column) for column in honest.T) > 1e-4

    def careless(cells: NoisyCells) -> Evidence:
        return Evidence.exactly("naive", np.maximum(cells.noisy, 0), CALIBRATED)

    assert min(uniformity(column) for column in ranks(careless, 7, private=private).T) < 1e-4
