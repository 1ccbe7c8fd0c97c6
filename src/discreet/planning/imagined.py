"""Parameters from the prior, and the statistics of n records given them."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from discreet.catalogue import ROWS
from discreet.families.family import Family, Floats, Integers
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.families.records import ScalarFamily
from discreet.planning.posterior_arrays import marginals
from discreet.posteriors.scalar.record_law import record_law
from discreet.sampling.source import SeededSource

Rng = np.random.Generator
MOST_ENTRIES = 2**22  # of a table of parameters × counts


# ── parameters from the prior ───────────────────────────────────────────────────────────────────────────
@singledispatch
def parameters(model: Family, size: int, rng: Rng) -> Floats:
    """`size` draws of θ."""
    return np.asarray(model.sample(size, SeededSource(int(rng.integers(2**31)))), dtype=np.float64)


@parameters.register(ScalarFamily)
def _parameters_scalar_family(model: ScalarFamily, size: int, rng: Rng) -> Floats:
    """One draw in each of `size` equally likely strata."""
    return quantiles(model, strata(size, rng))


@parameters.register(DirichletLaw)
def _parameters_dirichlet_law(model: DirichletLaw, size: int, rng: Rng) -> Floats:
    return rng.dirichlet(model.natural, size)


def quantiles(model: ScalarFamily, levels: Floats) -> Floats:
    """Return the prior's quantiles."""
    law = marginals(model, model.natural[None])
    return np.array([law.quantile(u)[0, 0] for u in levels])


def strata(size: int, rng: Rng) -> Floats:
    """Uniform draws, one in each of `size` equal intervals, in random order."""
    return np.asarray((rng.permutation(size) + rng.random(size)) / size)


# ── statistics of n records given θ ─────────────────────────────────────────────────────────────────────
def totals(model: Family, theta: Floats, n: int, rng: Rng) -> Integers:
    """ΣS(x) over n records, for every row of θ: (nodes, len(S)); as the catalogue says, or by levels."""
    row = ROWS.get(model.name)
    simulate = None if row is None else row.load("simulator")
    found: Integers = (simulate or _lattice_totals)(model, theta, n, rng)
    return found


def trial_totals(model: ScalarFamily, theta: Floats, n: int, rng: Rng) -> Integers:
    """Count records at 0 or 1, also on a finer grid: the widest law with mean p."""
    law = record_law(model)
    return np.asarray(rng.binomial(n * law.copies, theta)[:, None] * law.unit)


def multinomial_totals(model: DirichletLaw, theta: Floats, n: int, rng: Rng) -> Integers:
    return np.asarray(rng.multinomial(n * model.total_per_record, theta))


def _lattice_totals(model: Family, theta: Floats, n: int, rng: Rng) -> Integers:
    """How many records fall on each count; everything above the bound falls on the bound."""
    if not isinstance(model, ScalarFamily) or not model.lattice.integral:
        raise ValueError(
            f"planning cannot simulate records of {type(model).__name__}; give a public_sample of records "
            "like those to come"
        )
    low, high = model.lattice.low, model.lattice.high
    parts = np.array_split(theta, max(1, len(theta) * (high - low + 1) // MOST_ENTRIES))
    return np.concatenate([_counted(model, part, n, rng) for part in parts])


def _counted(model: ScalarFamily, theta: Floats, n: int, rng: Rng) -> Integers:
    low, high = model.lattice.low, model.lattice.high
    mass = np.exp(model.log_likelihood(np.arange(low, high), theta[:, None]))
    rest = np.maximum(1 - mass.sum(axis=1, keepdims=True), 0)
    cells = np.concatenate([mass, rest], axis=1)
    counts = rng.multinomial(n, cells / cells.sum(axis=1, keepdims=True))
    return np.asarray(counts @ np.arange(low, high + 1))[:, None]
