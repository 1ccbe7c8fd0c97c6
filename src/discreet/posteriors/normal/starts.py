"""Where chains start and how they walk: a swarm brought from the prior to near the posterior."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from discreet.families.family import Floats
from discreet.numerics.search import bisect, doubles
from discreet.posteriors.normal.latent_model import LatentNormal, Observed

# ── A swarm of draws brought from prior to posterior through tempered likelihoods, all draws moved at once.
MOVES, LAST = 3, 10  # at every temperature, and at the last
WANTED = 0.35  # share of moves that are accepted
LEAST, MOST = 0.02, 0.95  # how bold a move may be
SWARM_STAGES = 400


class SwarmTarget(Protocol):
    """A posterior over rows x: prior and likelihood, each up to a constant."""

    def imagine(self, size: int, rng: np.random.Generator) -> Floats:
        """Draws of the prior, (size, coordinates)."""

    def log_prior(self, x: Floats) -> Floats:
        """Log density of every row."""

    def log_likelihood(self, x: Floats) -> Floats:
        """Log likelihood of every row."""


def settle(target: SwarmTarget, size: int, rng: np.random.Generator, *, last: int = LAST) -> Floats:
    """Draws (size, coordinates) of the posterior [Neal 2001; Del Moral, Doucet, Jasra 2006].

    A stage is as warm as leaves half of the swarm; then every draw moves, x ← m + √(1−β²)(x−m) + βLξ with the
    swarm's own mean and covariance LLᵀ, which N(m, LLᵀ) itself would always accept [Cotter et al. 2013].
    """
    x = target.imagine(size, rng)
    value, reached, beta = target.log_likelihood(x), 0.0, 0.8
    for _ in range(SWARM_STAGES):
        step = warmer(value, 1 - reached)
        share = np.cumsum(np.exp(step * (value - value.max())))
        kept = np.searchsorted(share / share[-1], (np.arange(size) + rng.random()) / size)
        reached += step
        times = last if reached >= 1 else MOVES
        kept = np.minimum(kept, size - 1)
        power = min(reached, 1.0)
        x, value, beta = _moved(target, (x[kept], value[kept]), power=power, beta=beta, times=times, rng=rng)
        if reached >= 1:
            break
    return rng.permutation(x)


def _moved(
    target: SwarmTarget,
    swarm: tuple[Floats, Floats],
    *,
    power: float,
    beta: float,
    times: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats, float]:
    """Metropolis moves that keep p(x)·p(Ŝ|x)^power; how bold the next ones should be."""
    x, value = swarm
    middle, covariance = x.mean(axis=0), np.cov(x.T)
    root = np.linalg.cholesky(covariance + np.diag(1e-9 * np.diag(covariance) + 1e-300))
    z = np.linalg.solve(root, (x - middle).T).T
    now = target.log_prior(x) + power * value + 0.5 * np.sum(z**2, axis=1)
    for _ in range(times):
        other = np.sqrt(1 - beta**2) * z + beta * rng.standard_normal(z.shape)
        there = middle + other @ root.T
        fits = target.log_likelihood(there)
        then = target.log_prior(there) + power * fits + 0.5 * np.sum(other**2, axis=1)
        taken = np.log1p(-rng.random(len(x))) < then - now  # never where `then` is not a number
        z[taken], x[taken], value[taken], now[taken] = other[taken], there[taken], fits[taken], then[taken]
        beta = float(np.clip(beta * np.exp(0.5 * (taken.mean() - WANTED)), LEAST, MOST))
    return x, value, beta


def warmer(value: Floats, most: float) -> float:
    """Find the step in temperature that leaves half of the swarm, as effective size."""

    def left(step: float) -> float:
        weight = np.exp(step * (value - value.max()))
        return float(weight.sum() ** 2 / np.sum(weight**2))

    half = value.size / 2
    if left(most) >= half:
        return most
    return bisect(lambda step: left(step) < half, 0.0, most, doubles, turns=50)


# ── starts
SWARM = 256
STAGES, STIRS = 60, 4  # at most so many temperatures, and steps at each


def starts(model: LatentNormal, observed: Observed, rng: np.random.Generator) -> Floats:
    """Draws (SWARM, ψ) near the posterior: from the model's `base`, in stages [Neal 2001].

    They are where chains start and what shapes their proposals; any noise is taken for normal here.
    """
    from discreet.posteriors.normal.algebra_kernel import by_moments  # noqa: PLC0415 - loads numba
    from discreet.posteriors.normal.limit_kernel import stir  # noqa: PLC0415 - loads numba

    swarm, value, seen = np.zeros((SWARM, model.size)), np.empty(SWARM), observed.seen(model)
    points, root = normal_points(model.columns, 0), np.zeros((model.size, model.size))
    how = model.layout, model.prior, model.base or model.prior, seen, model.grid, points, observed.about
    _imagine(swarm, model, rng)
    stir(rng, swarm, value, root, *how, 0.0, 0)
    reached = 0.0
    for _ in range(STAGES):
        if not np.isfinite(value.max()):
            break
        step = warmer(value, 1 - reached)
        weight = np.exp(step * (value - value.max()))
        kept = rng.choice(SWARM, SWARM, p=weight / weight.sum())
        swarm, value, reached = swarm[kept], value[kept], reached + step
        stir(rng, swarm, value, shape(swarm), *how, reached, STIRS)
        if reached >= 1:
            break
    return one_sided(swarm, model.layout[1]) if by_moments(model.layout) else swarm


def _imagine(swarm: Floats, model: LatentNormal, rng: np.random.Generator) -> None:
    """Fill it with ψ from the model's `base`."""
    from discreet.posteriors.normal.algebra_kernel import conjugate, to_moments  # noqa: PLC0415

    phi, d = np.zeros(model.size), model.columns
    for row in swarm:
        conjugate(rng, phi, model.layout, model.base or model.prior, 0, np.zeros(d), np.zeros((d, d)))
        to_moments(phi, model.layout, row)


def one_sided(swarm: Floats, p: int) -> Floats:
    """Turn every v to one side of the widest axis: ±μ explain second moments alike, and have the same θ."""
    v = swarm[:, :p]
    axis = np.linalg.eigh(v.T @ v)[1][:, -1]
    v *= np.where(v @ axis < 0, -1.0, 1.0)[:, None]
    return swarm


def as_phi(swarm: Floats, model: LatentNormal) -> Floats:
    from discreet.posteriors.normal.algebra_kernel import from_moments  # noqa: PLC0415 - loads numba

    out = np.empty_like(swarm)
    for psi, phi in zip(swarm, out, strict=True):
        from_moments(psi, model.layout, phi)
    return out


def shape(swarm: Floats) -> Floats:
    """Factor of a random walk's proposal, 2.38²/k of the covariance [Roberts, Gelman, Gilks 1997]."""
    k = swarm.shape[1]
    covariance = np.cov(swarm.T).reshape(k, k)
    covariance += 1e-9 * np.diag(np.diag(covariance)) + 1e-300 * np.eye(k)
    return np.asarray(np.linalg.cholesky(covariance) * 2.38 / np.sqrt(k))


def normal_points(d: int, n: int) -> Floats:
    """Sobol' points (d, K) through Φ⁻¹, a fixed public scramble, made to have mean 0, covariance I exactly.

    More of them for more records, as n times their error must stay small against √n records.
    """
    from scipy.special import ndtri  # noqa: PLC0415
    from scipy.stats.qmc import Sobol  # noqa: PLC0415 - scipy.stats is slow to load

    power = 9 if n <= 2000 else 11 if n <= 30_000 else 13
    points: Floats = ndtri(Sobol(d, rng=np.random.default_rng(1)).random_base2(power))
    points -= points.mean(axis=0)
    root = np.linalg.cholesky(points.T @ points / len(points))
    return np.ascontiguousarray(np.linalg.solve(root, points.T))
