"""Getting it right [Geweke 2004]: the kernel and the simulator of its data leave the prior as it is."""

import numpy as np
import pytest
from scipy.stats import chi2

from discreet.inference import bayes_net_exchange
from discreet.inference.bayes_net_chain import Problem, layout_of
from discreet.inference.bayes_net_kernel import Noise
from discreet.inference.mixture import _exactly, _noisily, prior_of, start
from discreet.inference.mixture_chain import Evidence, MixtureChain
from discreet.mechanisms.noisy_cells import NoisyCells
from discreet.mechanisms.noisy_counts import NoisyCounts
from discreet.models.mixture import Mixture
from discreet.privacy.guarantee import ADD_REMOVE
from discreet.sampling.source import SeededSource

SMALL = Mixture(components=2, features=("a", "b"), weight=2, prior=0.5).bind({"a": 2, "b": 3})
N, SCALE = 12, 1.5
WIDTH = prior_of(SMALL).size - SMALL.size


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


def chain_of(sharpness):
    nodes = len(SMALL.features) + 2
    noise = Noise(np.array([0, 0, 0, sharpness]), squared=False, reach=np.full(nodes, 6))
    problem = Problem(
        layout_of(SMALL.network), noise, np.zeros(WIDTH + SMALL.size), prior_of(SMALL), N, fixed=True
    )
    room = np.zeros((N, nodes), np.int32)
    evidence = Evidence(SMALL, "noise_aware", np.zeros(SMALL.size), room, N, noise, fixed=True, frozen=False)
    return MixtureChain.begin(problem, evidence, prior_of(SMALL), 1)


def alternating(sharpness, draws, seed):
    """Noise anew given the counts, then one sweep given the noisy counts, over and over"""
    chain, rng, found = chain_of(sharpness), np.random.default_rng(seed), []
    inner = chain.inner
    noisy, residual = inner.problem.noisy[WIDTH:], inner.residual[WIDTH:]
    for _ in range(draws):
        joint = noisy - residual
        residual[:] = laplace(rng)
        noisy[:] = joint + residual
        chain.advance(1)
        found.append(functions(inner.theta[:WIDTH], noisy - residual, residual))
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


def test_geweke_catches_a_kernel_that_forgets_the_proposal(prior, monkeypatch):
    # The urn's ratio is 1 only for prior entries of 1; here they are ½. Run as Python, it can be cut out.
    assert bayes_net_exchange.urn(5, 1, 1, 0.5, 0.5) != 0
    np.random.seed(5)  # noqa: NPY002 - what the kernel draws from when it is not compiled
    monkeypatch.setattr(bayes_net_exchange, "urn", lambda *_: 0.0)
    for name in ("exchange", "step"):
        monkeypatch.setattr(bayes_net_exchange, name, getattr(bayes_net_exchange, name).py_func)
    assert farthest(alternating(1 / SCALE, 8_000, 6), prior) > 6


# ── calibration ─────────────────────────────────────────────────────────────────────────────────────

CALIBRATED = Mixture(components=2, features=("a", "b", "c")).bind({"a": 2, "b": 2, "c": 2})
REPLICATES, DRAWS = 80, 19


def draws_of(evidence, seed):
    """Joint probabilities of all cells at DRAWS states, 12 sweeps apart"""
    model, prior = evidence.model, prior_of(evidence.model)
    width = prior.size - model.size
    noisy = np.concatenate([np.zeros(width), evidence.joint])
    problem = Problem(
        layout_of(model.network), evidence.noise, noisy, prior, len(evidence.codes), evidence.fixed
    )
    chain = MixtureChain.begin(problem, evidence, start(model, evidence.joint, seed), seed)
    chain.advance(150)
    found = []
    for _ in range(DRAWS):
        chain.advance(12)
        found.append(joint_of(chain.inner.theta))
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
    honest = ranks(lambda cells: _noisily(cells, CALIBRATED), 7, private=private)
    assert min(uniformity(column) for column in honest.T) > 1e-4

    def careless(cells: NoisyCells) -> Evidence:
        return _exactly("naive", np.maximum(cells.noisy, 0), CALIBRATED)

    assert min(uniformity(column) for column in ranks(careless, 7, private=private).T) < 1e-4
