"""A swarm of draws brought from prior to posterior through tempered likelihoods, all draws moved at once."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from discreet.families.family import Floats
from discreet.numerics.search import bisect, doubles

MOVES, LAST = 3, 10  # at every temperature, and at the last
WANTED = 0.35  # share of moves that are accepted
LEAST, MOST = 0.02, 0.95  # how bold a move may be
STAGES = 400


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
    for _ in range(STAGES):
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
