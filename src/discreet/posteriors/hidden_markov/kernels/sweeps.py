# mypy: disable-error-code="untyped-decorator,no-any-return"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Whole sweeps on counts read as exact: emission tables, scores, states; by either kernel for the states."""

from __future__ import annotations

import numpy as np

from discreet.posteriors.hidden_markov.exact_counts import draw_emissions, score_counts, state_counts
from discreet.posteriors.hidden_markov.kernels.compile import kernel
from discreet.posteriors.hidden_markov.kernels.path_blocked import blocked, draw_transitions
from discreet.posteriors.hidden_markov.kernels.path_collapsed import collapsed
from discreet.posteriors.hidden_markov.kernels.scores import (
    Floats,
    Integers,
    Singles,
    transition_counts,
    weights,
)


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
