"""Data sets of columns whose bounds are facts: parameters whose records mostly lie within, and none clipped.

A fit reads such columns as if no record had been clipped, and so does a plan.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np
from scipy.special import gammaincc, ndtr

from discreet.catalogue import ROWS
from discreet.families.beta_geometric import BetaGeometric
from discreet.families.family import Family, Floats, Integers
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.gamma_poisson import GammaPoisson
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.families.normal_mean import NormalMean
from discreet.families.records import ScalarFamily
from discreet.planning.imagined import Rng, quantiles, strata, totals
from discreet.posteriors.scalar.record_law import record_law
from discreet.posteriors.scalar.unclipped import shares_beyond
from discreet.sampling.source import SeededSource

MOST_BEYOND = 0.1  # share of records beyond the bounds with which a parameter is imagined
CELLS, FEWEST = 512, 8  # equally likely ranges of one parameter, and how many of them must qualify
ROUNDS = 32  # of draws of several parameters
FARTHER, ROOM = 6, 40  # ranges, and steps of a count, that records may lie beyond


def clipping(model: Family) -> bool:
    """Whether the model's bounds may clip what it imagines."""
    row = ROWS.get(model.name)
    return row is not None and row.clips


# ── parameters ──────────────────────────────────────────────────────────────────────────────────────────
@singledispatch
def parameters_within(model: Family, size: int, rng: Rng) -> Floats | None:
    """Draw θ from the prior, given that at most one record in ten lies beyond; None where that is rare."""
    found: list[Floats] = []
    for _ in range(ROUNDS):
        theta = np.asarray(model.sample(size, SeededSource(int(rng.integers(2**31)))), dtype=np.float64)
        found.append(theta[beyond(model, theta) <= MOST_BEYOND])
        if sum(map(len, found)) >= size:
            return np.concatenate(found)[:size]
    return None


@parameters_within.register(ScalarFamily)
def _parameters_within_scalar_family(model: ScalarFamily, size: int, rng: Rng) -> Floats | None:
    """One draw in each of `size` equally likely strata of the ranges that qualify."""
    middles = quantiles(model, (np.arange(CELLS) + 0.5) / CELLS)
    cells = np.flatnonzero(beyond(model, middles) <= MOST_BEYOND)
    if len(cells) < FEWEST:
        return None
    place, inside = np.divmod(strata(size, rng) * len(cells), 1.0)
    return quantiles(model, (cells[place.astype(np.int64)] + inside) / CELLS)


@singledispatch
def beyond(model: Family, theta: Floats) -> Floats:
    """Share of records beyond the bounds, at most, at every row of θ."""
    del model
    return np.zeros(len(theta))


@beyond.register(ScalarFamily)
def _beyond_scalar_family(model: ScalarFamily, theta: Floats) -> Floats:
    return shares_beyond(record_law(model), theta)


@beyond.register(NormalInverseGamma)
def _beyond_normal_inverse_gamma(model: NormalInverseGamma, theta: Floats) -> Floats:
    mean, deviation = theta[:, 0], np.sqrt(theta[:, 1])
    above, below = mean - float(model.upper), float(model.lower) - mean
    return np.asarray(ndtr(above / deviation) + ndtr(below / deviation))


@beyond.register(NormalInverseWishart)
def _beyond_normal_inverse_wishart(model: NormalInverseWishart, theta: Floats) -> Floats:
    """‖x‖ > R needs ‖x − μ‖ > R − ‖μ‖, and ‖x − μ‖² ≤ λ_max·χ²_p."""
    split = [model.split_parameter(row) for row in theta]
    room = np.array([max(float(model.radius) - float(np.linalg.norm(mean)), 0.0) for mean, _ in split])
    widest = np.array([np.linalg.eigvalsh(covariance)[-1] for _, covariance in split])
    return np.asarray(gammaincc(model.dimension / 2, room**2 / (2 * widest)))


# ── statistics of records that nothing clips ────────────────────────────────────────────────────────────
def unclipped_totals(model: Family, theta: Floats, n: int, rng: Rng) -> Integers:
    """ΣS over n records that nothing clips, where n records within the bounds could have it; else clipped."""
    wide = widened(model)
    seen = totals(wide, theta, n, rng) * (wide.units / model.units)
    whole = np.rint(seen).astype(np.int64)
    if isinstance(model, ScalarFamily):
        return np.asarray(np.clip(whole, n * model.lattice.low, n * model.lattice.high))
    held = [row if _possible(model, row, n) else None for row in whole]
    return np.array(
        [totals(model, theta[i : i + 1], n, rng)[0] if row is None else row for i, row in enumerate(held)]
    )


def _possible(model: Family, statistic: Integers, n: int) -> bool:
    try:
        model.check(statistic, n)
    except ValueError:
        return False
    return True


@singledispatch
def widened(model: Family) -> Family:
    """Return the model with bounds so far away that they clip hardly anything, on the same grid."""
    return model


@widened.register(NormalMean)
@widened.register(NormalInverseGamma)
def _widened_numbers(model: NormalMean | NormalInverseGamma) -> Family:
    room = FARTHER * (model.upper - model.lower)
    return model._with(lower=model.lower - room, upper=model.upper + room, grid=model.grid)  # noqa: SLF001


@widened.register(GammaExponential)
def _widened_waits(model: GammaExponential) -> Family:
    return model._with(upper=FARTHER * model.upper, grid=model.grid)  # noqa: SLF001


@widened.register(GammaPoisson)
@widened.register(BetaGeometric)
def _widened_counts(model: GammaPoisson | BetaGeometric) -> Family:
    return model._with(upper=FARTHER * model.upper + ROOM)  # noqa: SLF001


@widened.register(NormalInverseWishart)
def _widened_vectors(model: NormalInverseWishart) -> Family:
    return model._with(radius=FARTHER * model.radius, grid=model.grid)  # noqa: SLF001
