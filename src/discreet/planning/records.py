"""Records that might be, one by one: what each adds to the statistic, and sums over n of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch

import numpy as np
from scipy.special import ndtri

from discreet.families.family import Family, Floats, Integers
from discreet.families.gamma_exponential import GammaExponential
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.families.normal_mean import NormalMean
from discreet.families.records import ScalarFamily

Rng = np.random.Generator
Draw = Callable[[Floats, Floats], Floats]  # θ, uniforms → records


MOST_RECORDS = 2**22  # drawn one by one; beyond, sums are Gaussian with the moments of one record
MIDPOINTS = 2**11  # for those moments in one dimension
POINTS = 2**13  # and quasi-random points for them in several


# ── sums over n records of the likelihood, each from a row of uniforms ────────────────────────────────
def waits(model: GammaExponential, theta: Floats, n: int, rng: Rng) -> Integers:
    return from_records(model, theta, n, rng, lambda rate, u: -np.log1p(-u[:, 0]) / rate)


def measurements(model: NormalMean, theta: Floats, n: int, rng: Rng) -> Integers:
    sigma = float(model.noise) ** 0.5
    return from_records(model, theta, n, rng, lambda mu, u: mu + sigma * ndtri(u[:, 0]))


def spread_measurements(model: NormalInverseGamma, theta: Floats, n: int, rng: Rng) -> Integers:
    return from_records(model, theta, n, rng, lambda row, u: row[0] + row[1] ** 0.5 * ndtri(u[:, 0]))


def vectors(model: NormalInverseWishart, theta: Floats, n: int, rng: Rng) -> Integers:
    def draw(row: Floats, u: Floats) -> Floats:
        mu, covariance = model.split_parameter(row)
        return np.asarray(mu + ndtri(u) @ np.linalg.cholesky(covariance).T)

    return from_records(model, theta, n, rng, draw, width=model.dimension)


def responses(model: BayesianLinearRegression, theta: Floats, n: int, rng: Rng) -> Integers:
    """Take x ~ N(0, (radius/2)²I/d), as the model says nothing of x; a public sample says more."""

    def draw(row: Floats, u: Floats) -> Floats:
        z = ndtri(u)
        x = float(model.radius) / 2 / model.dimension**0.5 * z[:, :-1]
        return np.column_stack([x, x @ row[:-1] + row[-1] ** 0.5 * z[:, -1]])

    return from_records(model, theta, n, rng, draw, width=model.dimension + 1)


@singledispatch
def from_records(model: Family, theta: Floats, n: int, rng: Rng, draw: Draw, *, width: int = 1) -> Integers:
    """ΣS over n records at every row of θ: one by one while that is quick, else by the central limit."""
    if len(theta) * n <= MOST_RECORDS:
        return np.array([model.statistic(draw(row, rng.random((n, width)))) for row in theta])
    return np.array([_central_limit(model, n, rng, draw(row, lattice(POINTS, width))) for row in theta])


@from_records.register(ScalarFamily)
def _from_records_scalar_family(
    model: ScalarFamily, theta: Floats, n: int, rng: Rng, draw: Draw, *, width: int = 1
) -> Integers:
    count = len(theta)
    if count * n <= MOST_RECORDS:
        rows = model.each(draw(np.repeat(theta, n), rng.random((count * n, width))))
        return np.asarray(rows.reshape(count, n).sum(axis=1))[:, None]
    u = np.tile((np.arange(MIDPOINTS) + 0.5) / MIDPOINTS, count)[:, None]
    rows = model.each(draw(np.repeat(theta, MIDPOINTS), u)).reshape(count, MIDPOINTS)
    total = n * rows.mean(axis=1) + n**0.5 * rows.std(axis=1) * rng.standard_normal(count)
    low, high = n * model.lattice.low, n * model.lattice.high
    return np.asarray(np.clip(np.rint(total), low, high), dtype=np.int64)[:, None]


def _central_limit(model: Family, n: int, rng: Rng, records: Floats) -> Integers:
    """N(nE S, n Cov S) in whole steps; E and Cov of one clipped record by a lattice rule, to 1e-4."""
    rows = model.each(records)
    mean, covariance = rows.mean(axis=0), np.atleast_2d(np.cov(rows.T, bias=True))
    values, vectors = np.linalg.eigh(covariance)
    spread = vectors * np.sqrt(np.maximum(values, 0))
    total = n * mean + n**0.5 * spread @ rng.standard_normal(mean.size)
    steps = np.maximum(np.gcd.reduce(rows, axis=0), 1)
    return np.asarray(np.rint(model.project(total, n) / steps).astype(np.int64) * steps)


def lattice(points: int, dimension: int) -> Floats:
    """Kronecker points iα mod 1, α from the root of x^{d+1} = x + 1 [Roberts 2018]; inside (0, 1)."""
    root = 2.0
    for _ in range(60):
        root = (1 + root) ** (1 / (dimension + 1))
    alpha = root ** -np.arange(1, dimension + 1, dtype=np.float64)
    u = (0.5 + np.outer(np.arange(points), alpha)) % 1
    return np.clip(u, 1e-12, 1 - 1e-12)
