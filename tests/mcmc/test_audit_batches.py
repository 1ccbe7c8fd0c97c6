"""Audits draw in batches; here a batch has the law of the kernel's own step."""

from dataclasses import replace

import numpy as np

from discreet.audit.case import empirical, profile_excess
from discreet.audit.cases import hmm as cases_hmm
from discreet.audit.cases.mcmc import (
    HERE,
    LEFT,
    MODEL,
    PATH,
    STATE,
    annealed,
    bits,
    sweeps,
    two_points,
)
from discreet.audit.registry import CASES
from discreet.mcmc.assignment_gibbs import AssignmentGibbs
from discreet.mcmc.barker import Barker
from discreet.mcmc.mixture_gibbs import MixtureGibbs
from discreet.mcmc.proposals import CoordinateWalk
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import SeededSource

MANY, FEW = 20_000, 400


def gap(one_by_one, batch):
    """Difference of means in standard errors: beyond 4.5 with probability 7e-6 each."""
    a, b = np.asarray(one_by_one, dtype=float), np.asarray(batch, dtype=float)
    return np.abs(
        (a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    )


def test_sweeps():
    kernel = MixtureGibbs(model=MODEL, temperature=2)
    source = SeededSource(61)
    single = np.array([kernel.step(STATE, LEFT, source)[[0, 2, 4]] for _ in range(FEW)])
    batch = sweeps(kernel.heat, 0, MANY, source)[:, :3]
    other = sweeps(kernel.heat, 1, MANY, source)[:, :3]
    assert (
        gap(np.c_[single, single[:, 0] * single[:, 1]], np.c_[batch, batch[:, 0] * batch[:, 1]]).max() < 4.5
    )
    assert gap(single, other).max() > 4.5  # negative control: the neighbour's law


def test_assignments():
    kernel = AssignmentGibbs(model=MODEL, records=1, temperature=4)
    source = SeededSource(62)
    start = np.concatenate([[0.0], STATE])
    single = np.array([kernel.step(start, np.array([0]), source)[[0, 1, 3, 5]] for _ in range(FEW)])
    batch, other = (sweeps(kernel.heat, x, MANY, source)[:, [3, 0, 1, 2]] for x in range(2))
    assert gap(single, batch).max() < 4.5
    assert gap(single, other).max() > 4.5


def test_sweeps_over_hidden_states():
    kernel, source = cases_hmm.at(4), SeededSource(65)
    start = np.array([*cases_hmm.START, *cases_hmm.THETA])
    wanted = [*range(cases_hmm.STEPS), 3, 5]  # the path, and the first entry of either table
    single = np.array([kernel.step(start, cases_hmm.margins(1), source)[wanted] for _ in range(FEW)])
    batch, other = (cases_hmm.sweeps(kernel, x, MANY, source) for x in (1, 0))
    assert gap(single, batch).max() < 4.5
    assert gap(single, other).max() > 4.5


def test_accept_bits_and_resampling():
    kernel = Barker(target=two_points(0.0), walk=CoordinateWalk(1, 1))
    source = SeededSource(63)
    moved = np.array([kernel.step(HERE, LEFT, source)[0] for _ in range(3 * FEW)])
    batch = bits(kernel, LEFT, MANY, source)
    assert gap(3 * moved, batch) < 4.5  # a third of the proposals is the move
    ais = annealed()
    weights = np.array([ais.step(PATH, LEFT, source)[-1] for _ in range(3 * FEW)])
    assert gap(weights, np.random.default_rng(1).random(MANY) < 1 / (1 + np.exp(-0.5))) < 4.5
    assert gap(weights, np.random.default_rng(1).random(MANY) < 0.5) > 4.5


def test_the_metropolis_kernel_claimed_pure_is_caught_in_both_tiers():
    # the zoo's metropolis/claimed_pure in the kernel's own words: no pure ε survives, not even 5
    for epsilon in (0.5, 5.0):
        pure = replace(CASES["metropolis"](), claim=PureDP(epsilon), epsilon=epsilon)
        assert profile_excess(pure, [epsilon]) > 0.3
        assert empirical(pure, SeededSource(64)).refuted
    assert not empirical(CASES["metropolis"](), SeededSource(64)).refuted  # its own (ε, δ) holds
