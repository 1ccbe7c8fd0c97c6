# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Emission tables given states and counts, and scores of states given emission tables: the conjugate half."""

from __future__ import annotations

import math

import numpy as np

from discreet.posteriors.hidden_markov.kernels.paths import blocked, collapsed, draw_transitions
from discreet.posteriors.hidden_markov.kernels.scores import (
    TINY,
    Floats,
    Integers,
    Singles,
    kernel,
    transition_counts,
    weights,
)


@kernel
def state_counts(counts: Singles, z: Integers, prior: float, totals: Floats) -> None:
    """totals_{k,j} = β + Σ_{cells in state k} n_{c,j}"""
    totals[:] = prior
    for c in range(z.size):
        k = z[c]
        for j in range(counts.shape[1]):
            totals[k, j] += counts[c, j]


@kernel
def log_gamma(rng: np.random.Generator, shape: float) -> float:
    """Ln G, G ~ Gamma(shape); below 1 as G' U^{1/shape}, G' ~ Gamma(shape+1), which cannot underflow"""
    if shape >= 1.0:
        return math.log(max(rng.standard_gamma(shape), TINY))
    return math.log(rng.standard_gamma(shape + 1.0)) + math.log(max(rng.random(), TINY)) / shape


@kernel
def draw_emissions(rng: np.random.Generator, totals: Floats, offsets: Integers, log_theta: Floats) -> None:
    """θ_{k,d} ~ Dirichlet(β + Σ_{z=k} n_d): rows of log_theta, feature after feature"""
    for k in range(totals.shape[0]):
        for d in range(offsets.size - 1):
            top, total = -math.inf, 0.0
            for j in range(offsets[d], offsets[d + 1]):
                if totals[k, j] >= 1.0:
                    drawn = max(rng.standard_gamma(totals[k, j]), TINY)
                    log_theta[k, j] = math.log(drawn)
                else:
                    log_theta[k, j] = log_gamma(rng, totals[k, j])
                    drawn = math.exp(log_theta[k, j])
                top, total = max(top, log_theta[k, j]), total + drawn
            if total < TINY:  # all of them too small for a float
                total = 0.0
                for j in range(offsets[d], offsets[d + 1]):
                    total += math.exp(log_theta[k, j] - top)
                total = top + math.log(total)
            else:
                total = math.log(total)
            for j in range(offsets[d], offsets[d + 1]):
                log_theta[k, j] -= total


@kernel
def score_counts(counts: Singles, log_theta: Floats, columns: Singles, scores: Singles) -> None:
    """E_{c,k} = Σ_j n_{c,j} (ln θ_{k,j} − max_k ln θ_{k,j}): one product in single precision

    Taking the maximum off leaves the odds of states alone and makes the terms that are compared small.
    """
    states, values = log_theta.shape
    for j in range(values):
        top = log_theta[0, j]
        for k in range(1, states):
            top = max(top, log_theta[k, j])
        for k in range(states):
            columns[j, k] = log_theta[k, j] - top
    np.dot(counts, columns, scores)


@kernel
def log_path(counts: Floats, alpha: float) -> float:
    """Ln p(z): Dirichlet–multinomial over the rows of transition counts, the first steps last"""
    states = counts.shape[0] - 1
    value = 0.0
    for j in range(states + 1):
        total = 0.0
        for k in range(states):
            value += math.lgamma(counts[j, k] + alpha) - math.lgamma(alpha)
            total += counts[j, k]
        value += math.lgamma(states * alpha) - math.lgamma(total + states * alpha)
    return value


@kernel
def log_tables(log_theta: Floats, offsets: Integers, beta: float, totals: Floats) -> float:
    """Σ_{k,d} ln Dirichlet(θ_{k,d}; β) + Σ (totals − β)·ln θ"""
    value = 0.0
    for d in range(offsets.size - 1):
        size = offsets[d + 1] - offsets[d]
        value += log_theta.shape[0] * (math.lgamma(size * beta) - size * math.lgamma(beta))
    for k in range(log_theta.shape[0]):
        for j in range(log_theta.shape[1]):
            value += (totals[k, j] - 1.0) * log_theta[k, j]
    return value


# ── Whole sweeps on counts read as exact: emission tables, scores, states; by either kernel for the states.
@kernel
def emission_step(
    rng: np.random.Generator,
    counts: Singles,
    offsets: Integers,
    beta: float,
    power: float,
    z: Integers,
    totals: Floats,
    log_theta: Floats,
    columns: Singles,
    scores: Singles,
) -> None:
    """θ | z, n and the scores of all states; both tempered: n^power"""
    state_counts(counts, z, beta / power, totals)
    totals *= power
    draw_emissions(rng, totals, offsets, log_theta)
    score_counts(counts, log_theta, columns, scores)
    if power != 1.0:
        scores *= power


@kernel
def path_by_blocks(
    rng: np.random.Generator,
    scores: Singles,
    likelihoods: Singles,
    alpha: float,
    chains: int,
    z: Integers,
    moved: Floats,
    transposed: Floats,
    matrix: Floats,
    filtered: Floats,
    totals: Floats,
) -> None:
    """Draw A | z, then z | A."""
    transition_counts(z, chains, moved, transposed)
    draw_transitions(rng, moved, alpha, matrix, transposed)
    blocked(rng, scores, likelihoods, chains, matrix, transposed, filtered, totals, z)


@kernel
def path_by_cells(
    rng: np.random.Generator,
    scores: Singles,
    likelihoods: Singles,
    alpha: float,
    chains: int,
    z: Integers,
    moved: Floats,
    transposed: Floats,
    matrix: Floats,  # noqa: ARG001 - the same arguments as path_by_blocks
    filtered: Floats,  # noqa: ARG001
    totals: Floats,  # noqa: ARG001
) -> None:
    """Draw every z | z elsewhere, A integrated out."""
    weights(scores, transposed.shape[0], likelihoods)
    collapsed(rng, scores, likelihoods, alpha, chains, z, moved, transposed, np.empty((0, 0)))
