"""Geweke's joint test: alternate θ | x by the kernel and x | θ; θ must keep the law of the tempered joint.

The joint is p₀(θ) Π_i p(x_i|θ)^{1/T}, whose margin is p₀(θ) C(θ)^n with C(θ) = Σ_x p(x|θ)^{1/T}; its moments
come from quadrature. Batch means, 50 batches: |z| > 4.5 has probability 4e-5 for each moment (t₄₉); the seeds
are fixed. A twin of every kernel with one mistake must give |z| > 4.5.
"""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.mcmc.assignment_gibbs import AssignmentGibbs
from discreet.mcmc.barker import Barker
from discreet.mcmc.hidden_markov_gibbs import HiddenMarkovGibbs
from discreet.mcmc.metropolis import Metropolis
from discreet.mcmc.mixture import Mixture
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import SimplexWalk
from discreet.mcmc.registry import KERNELS
from discreet.mcmc.target import SimplexTarget
from discreet.models.hidden_markov import HiddenMarkov
from discreet.sampling.source import SeededSource

T, BOUND = 2, 4.5
CUT = Fraction(1, 8)


def z_scores(values, expected):
    batches = np.array(values).reshape(50, -1, len(expected)).mean(axis=1)
    return (batches.mean(axis=0) - expected) / (batches.std(axis=0, ddof=1) / math.sqrt(50))


# ── two categories, θ on an interval ──

N = 8
TARGET = SimplexTarget(column="x", alpha=(2, 1), truncation=CUT)
WALK = SimplexWalk(Fraction(1, 2))


def interval_moments():
    grid = 1 / 8 + (np.arange(40_000) + 0.5) / 40_000 * 3 / 4
    weights = grid * (grid ** (1 / T) + (1 - grid) ** (1 / T)) ** N
    return [(f * weights).sum() / weights.sum() for f in (grid, grid**2)]


def interval_scores(kernel, rounds, seed):
    source, rng = SeededSource(seed), np.random.default_rng(seed)
    state, values = kernel.init(source), []
    for _ in range(rounds):
        odds = state ** (1 / T)
        first = rng.binomial(N, odds[0] / odds.sum())
        for _ in range(2):
            state = kernel.step(state, np.array([first, N - first]), source)
        values.append((state[0], state[0] ** 2))
    return z_scores(values, interval_moments())


FLAT_TARGET = SimplexTarget(column="x", alpha=(1, 1), truncation=CUT)  # BROKEN: the prior ratio is left out
INTERVAL = {
    "barker": lambda target: Barker(target=target, walk=WALK, temperature=T),
    "metropolis": lambda target: Metropolis(target=target, walk=WALK, temperature=T, delta=0.99),
}


@pytest.mark.parametrize("name", INTERVAL)
def test_accept_reject_kernels_get_it_right(name):
    right, wrong = (INTERVAL[name](target) for target in (TARGET, FLAT_TARGET))
    assert np.abs(interval_scores(right, 2500, 41)).max() < BOUND
    assert np.abs(interval_scores(wrong, 2500, 41)).max() > BOUND


# ── two classes, one binary column ──

MODEL = Mixture(classes=2, columns=("x",), shape=(2,), truncation=Fraction(1, 4), weight=2, emission=2)
RECORDS = 8


def mixture_moments():
    edge = 1 / 8 + (np.arange(50) + 0.5) / 50 * 3 / 4
    w, a, b = np.meshgrid(edge, edge, edge, indexing="ij")
    roots = [(w * x) ** 0.5 + ((1 - w) * y) ** 0.5 for x, y in ((a, b), (1 - a, 1 - b))]
    density = w * (1 - w) * a * (1 - a) * b * (1 - b) * (roots[0] + roots[1]) ** RECORDS
    return [
        (f * density).sum() / density.sum()
        for f in ((w - 0.5) ** 2, (a - 0.5) ** 2, (w * a + (1 - w) * b - 0.5) ** 2)
    ]


def functions(state):
    first = state[0] * state[2] + state[1] * state[4]
    return (state[0] - 0.5) ** 2, (state[2] - 0.5) ** 2, (first - 0.5) ** 2


def mixture_scores(kernel, rounds, seed):
    """x | φ with z summed out: P(x) ∝ Σ_k (π_k θ_kx)^{1/T}."""
    source, rng = SeededSource(seed), np.random.default_rng(seed)
    state, values = kernel.init(source), []
    for _ in range(rounds):
        odds = [((state[:2] * state[[2 + x, 4 + x]]) ** (1 / T)).sum() for x in range(2)]
        first = rng.binomial(RECORDS, odds[0] / sum(odds))
        state = kernel.step(state, np.array([first, RECORDS - first]), source)
        values.append(functions(state))
    return z_scores(values, mixture_moments())


def assignment_scores(kernel, rounds, seed):
    """x | z, φ for every record: P(x_i) ∝ θ_{z_i, x}^{1/T}."""
    source, rng = SeededSource(seed), np.random.default_rng(seed)
    state, values = kernel.init(source), []
    for _ in range(rounds):
        z, phi = state[:RECORDS].astype(int), state[RECORDS:]
        odds = phi[2:].reshape(2, 2)[z] ** (1 / T)
        cells = (rng.random(RECORDS) > odds[:, 0] / odds.sum(axis=1)).astype(np.int64)
        state = kernel.step(state, cells, source)
        values.append(functions(state[RECORDS:]))
    return z_scores(values, mixture_moments())


WEAK = replace(MODEL, weight=Fraction(1, 2), emission=Fraction(1, 2))  # BROKEN: blocks of another prior


def test_mixture_gibbs_gets_it_right():
    right, wrong = (MixtureGibbs(model=model, temperature=T) for model in (MODEL, WEAK))
    assert np.abs(mixture_scores(right, 1000, 42)).max() < BOUND
    assert np.abs(mixture_scores(wrong, 500, 42)).max() > BOUND


@pytest.mark.parametrize("scan", [None, 3])
def test_assignment_gibbs_gets_it_right(scan):
    right, wrong = (
        AssignmentGibbs(model=model, records=RECORDS, scan=scan, temperature=T) for model in (MODEL, WEAK)
    )
    assert np.abs(assignment_scores(right, 1000, 43)).max() < BOUND
    assert np.abs(assignment_scores(wrong, 500, 43)).max() > BOUND


# ── two hidden states, one chain of three steps, one binary feature ──

STEPS, EACH = 3, 4  # records in every cell
CHAIN = HiddenMarkov(
    states=2, chain="r", step="t", features=("x",), transition=Fraction(1, 8), emission=2
).bind({"r": 1, "t": STEPS, "x": 2})


def path_prior(z):
    """p(z), first steps and transitions Dirichlet(⅛, ⅛), which are integrated out one after the other"""
    p, moves = 0.5, np.full((2, 2), 0.125)
    for a, b in itertools.pairwise(z):
        p *= moves[a, b] / moves[a].sum()
        moves[a, b] += 1
    return p


def chain_moments():
    """Sum over the paths, quadrature over both tables: p(z) p₀(θ) ∏_t C(θ_{z_t})^n"""
    edge = 1 / 8 + (np.arange(400) + 0.5) / 400 * 3 / 4
    a, b = np.meshgrid(edge, edge, indexing="ij")
    prior = a * (1 - a) * b * (1 - b)
    c = [t ** (1 / T) + (1 - t) ** (1 / T) for t in (a, b)]
    sums, total = np.zeros(3), 0.0
    for z in itertools.product(range(2), repeat=STEPS):
        mass = path_prior(z) * prior * c[0] ** (EACH * z.count(0)) * c[1] ** (EACH * z.count(1))
        table = (a, b)[z[0]]
        stays = (z[0] == z[1]) + (z[1] == z[2])
        total += mass.sum()
        sums += [stays * mass.sum(), ((a - 0.5) ** 2 * mass).sum(), ((table - 0.5) ** 2 * stays * mass).sum()]
    return sums / total


def chain_scores(kernel, rounds, seed):
    """x | z, θ for the records of every cell: P(x) ∝ θ_{z, x}^{1/T}"""
    source, rng = SeededSource(seed), np.random.default_rng(seed)
    state, values = kernel.init(source), []
    for _ in range(rounds):
        z, theta = state[:STEPS].astype(int), state[STEPS:].reshape(2, 2)
        odds = theta[z] ** (1 / T)
        first = rng.binomial(EACH, odds[:, 0] / odds.sum(axis=1))
        state = kernel.step(state, np.stack([first, EACH - first], axis=1), source)
        z, theta = state[:STEPS].astype(int), state[STEPS:].reshape(2, 2)
        stays = (np.diff(z) == 0).sum()
        values.append((stays, (theta[0, 0] - 0.5) ** 2, (theta[z[0], 0] - 0.5) ** 2 * stays))
    return z_scores(values, chain_moments())


def test_hidden_markov_gibbs_gets_it_right():
    right, tables, moves = (
        HiddenMarkovGibbs(model, truncation=Fraction(1, 4), temperature=T)
        for model in (CHAIN, replace(CHAIN, emission=Fraction(1, 2)), replace(CHAIN, transition=20))
    )
    assert np.abs(chain_scores(right, 1000, 44)).max() < BOUND
    for wrong in (tables, moves):  # BROKEN: another prior of the tables, of the transitions
        assert np.abs(chain_scores(wrong, 500, 44)).max() > BOUND


def test_every_kernel_is_here_or_is_no_chain():
    # annealed importance sampling has no stationary law: test_stationarity shows its normaliser unbiased
    chains = {*INTERVAL, "mixture_gibbs", "assignment_gibbs", "hidden_markov_gibbs"}
    assert set(KERNELS) == {*chains, "annealed_importance"}
