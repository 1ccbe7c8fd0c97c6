# mypy: disable-error-code="untyped-decorator"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Data augmentation: latent rows z_i = μ + Lu_i, clipped and rounded at the door, whose statistic was noised.

One sweep leaves p(φ, u₁, …, u_n, n | Ŝ) invariant: records one by one [Ju, Awan, Gong, Rao 2022], φ given the
unclipped records (conjugate), φ given the u_i (the non-centred move: where the noise is wide against √n
records, φ given the records crawls, and this one does not), and n by births and deaths where it is private.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from discreet.compiled import kernel
from discreet.families.family import Floats
from discreet.posteriors.normal.algebra_kernel import (
    Layout,
    Prior,
    at_door,
    conjugate,
    expand,
    log_prior,
)

# Ŝ; 1/b or 1/2σ² of each coordinate, n's at the end; the power; K; the door; U·n̂ and U
Seen: TypeAlias = tuple[Floats, Floats, float, float, Floats, float, float]


TARGET = 0.3  # acceptance that the non-centred move adapts to
FASTEST = 0.1  # an adaptation moves the proposal, which starts near its shape


@kernel(inline="always")
def log_noise(gap: float, rate: float, power: float) -> float:
    """−|e|/b or −e²/2σ²: of both the continuous and the discrete laws, up to a constant."""
    return -rate * abs(gap) if power == 1.0 else -rate * gap * gap


@kernel
def log_seen(S: Floats, seen: Seen) -> float:
    total = 0.0
    for j in range(S.size):
        total += log_noise(seen[0][j] - S[j], seen[1][j], seen[2])
    return total


@kernel(inline="always")
def place(
    u: Floats, k: int, mu: Floats, L: Floats, f: int, z: Floats, middle: float, steps: float, q: Floats
) -> None:
    """Place z = μ + Lu_k, and q = (z − middle)/g, not yet at the door."""
    for i in range(z.size):
        x = mu[i]
        for j in range(f, i + 1):
            x += L[i, j] * u[k, j]
        z[i] = x
        q[i] = (x - middle) * steps


@kernel
def total_statistic(
    u: Floats, n: int, mu: Floats, L: Floats, f: int, seen: Seen, grid: Floats, S: Floats
) -> None:
    d, door, balance, middle, steps = u.shape[1], seen[4], seen[3], grid[0], grid[1]
    z, q, s = np.empty(d), np.empty(d), np.empty(S.size)
    S[:] = 0.0
    for i in range(n):
        place(u, i, mu, L, f, z, middle, steps, q)
        at_door(q, door, balance, s)
        for j in range(S.size):
            S[j] += s[j]


@kernel
def refresh_records(
    rng: np.random.Generator,
    u: Floats,
    n: int,
    mu: Floats,
    L: Floats,
    f: int,
    seen: Seen,
    grid: Floats,
    S: Floats,
    first: Floats,
    second: Floats,
) -> float:
    """Propose every u_i anew or, one time in four, √(1−β²)u_i + βξ; S, Σz, Σzzᵀ follow.

    The ratio of the noise's density at both S is ≥ e^{−ε} under ε-DP noise. Return the share accepted.
    """
    noisy, rates, power, balance, door, _, _ = seen
    d, taken, middle, steps = u.shape[1], 0, grid[0], grid[1]
    z, q, kept, new = np.empty(d), np.empty(d), np.empty(d), np.empty((1, d))
    s, other = np.empty(S.size), np.empty(S.size)
    first[:], second[:] = 0.0, 0.0
    for i in range(n):
        place(u, i, mu, L, f, z, middle, steps, q)
        at_door(q, door, balance, s)
        for j in range(d):
            kept[j] = z[j]
        beta = 1.0 if rng.random() < 0.75 else 0.2
        keep = math.sqrt(1.0 - beta * beta)
        for j in range(d):
            new[0, j] = keep * u[i, j] + beta * rng.standard_normal()
        place(new, 0, mu, L, f, z, middle, steps, q)
        at_door(q, door, balance, other)
        ratio = 0.0
        for j in range(S.size):
            gap = noisy[j] - S[j]
            ratio += log_noise(gap - other[j] + s[j], rates[j], power) - log_noise(gap, rates[j], power)
        if math.log(1.0 - rng.random()) < ratio:
            taken += 1
            for j in range(S.size):
                S[j] += other[j] - s[j]
            for j in range(d):
                u[i, j], kept[j] = new[0, j], z[j]
        for a in range(d):
            first[a] += kept[a]
            for b in range(d):
                second[a, b] += kept[a] * kept[b]
    return taken / max(n, 1)


@kernel
def recentre(u: Floats, n: int, old: tuple[Floats, Floats], mu: Floats, L: Floats, f: int) -> None:
    """u_i ← L⁻¹(z_i − μ) for the same z_i under new μ and L."""
    d = u.shape[1]
    z = np.empty(d)
    for i in range(n):
        for a in range(d):
            z[a] = old[0][a] - mu[a]
            for b in range(f, a + 1):
                z[a] += old[1][a, b] * u[i, b]
        for a in range(f, d):
            for b in range(f, a):
                z[a] -= L[a, b] * z[b]
            z[a] /= L[a, a]
            u[i, a] = z[a]


@kernel
def births_and_deaths(
    rng: np.random.Generator,
    u: Floats,
    n: int,
    mu: Floats,
    L: Floats,
    f: int,
    seen: Seen,
    grid: Floats,
    S: Floats,
) -> int:
    """Try n ± 1, a new record from p(z|φ) or the last one gone; n is uniform a priori on 0..capacity.

    The number of attempts may depend on n̂ but not on n: repeated as often as its state says, a kernel loses
    its invariant law.
    """
    capacity, d = u.shape
    z, q, s, new = np.empty(d), np.empty(d), np.empty(S.size), np.empty((1, d))
    for _ in range(max(64, int(seen[5] / seen[6]))):
        step = 1 if rng.random() < 0.5 else -1
        if not 0 <= n + step <= capacity:
            continue
        if step == 1:
            for j in range(d):
                new[0, j] = rng.standard_normal()
        else:
            new[0] = u[n - 1]
        place(new, 0, mu, L, f, z, grid[0], grid[1], q)
        at_door(q, seen[4], seen[3], s)
        count = seen[5] - seen[6] * n
        rate = seen[1][S.size]
        ratio = log_noise(count - step * seen[6], rate, seen[2]) - log_noise(count, rate, seen[2])
        ratio += log_seen(S + step * s, seen) - log_seen(S, seen)
        if math.log(1.0 - rng.random()) < ratio:
            if step == 1:
                u[n] = new[0]
            S += step * s
            n += step
    return n


@kernel
def stretch(root: Floats, noise: Floats, change: float) -> None:
    """MMᵀ ← M(I + c·ξξᵀ/‖ξ‖²)Mᵀ for the proposal's lower factor: robust adaptive Metropolis [Vihola 2012]."""
    d = noise.size
    x = root @ noise
    x *= math.sqrt(abs(change)) / math.sqrt(np.sum(noise * noise))
    sign = 1.0 if change > 0.0 else -1.0
    for k in range(d):  # rank-one update (or downdate) of a Cholesky factor
        r = math.sqrt(max(root[k, k] ** 2 + sign * x[k] ** 2, 1e-24 * root[k, k] ** 2))
        c, s = r / root[k, k], x[k] / root[k, k]
        root[k, k] = r
        for i in range(k + 1, d):
            root[i, k] = (root[i, k] + sign * s * x[i]) / c
            x[i] = c * x[i] - s * root[i, k]


@kernel
def sweeps(
    rng: np.random.Generator,
    phi: Floats,
    u: Floats,
    n: int,
    root: Floats,
    layout: Layout,
    prior: Prior,
    seen: Seen,
    grid: Floats,
    done: int,
    adapt: int,
    out: Floats,
    thin: int,
) -> int:
    """Run out.shape[0]·thin sweeps from (φ, u, n), adapting the proposal until sweep `adapt`; return n."""
    d, f = u.shape[1], layout[0]
    mu, L = np.zeros(d), np.zeros((d, d))
    mu2, L2 = np.zeros(d), np.zeros((d, d))
    S, S2 = np.zeros(seen[0].size), np.zeros(seen[0].size)
    first, second = np.zeros(d), np.zeros((d, d))
    expand(phi, layout, mu, L)
    total_statistic(u, n, mu, L, f, seen, grid, S)
    for t in range(out.shape[0] * thin):
        refresh_records(rng, u, n, mu, L, f, seen, grid, S, first, second)
        conjugate(rng, phi, layout, prior, n, first, second)
        mu2[:], L2[:] = mu, L
        expand(phi, layout, mu, L)
        recentre(u, n, (mu2, L2), mu, L, f)
        total_statistic(u, n, mu, L, f, seen, grid, S)  # rounding may have moved a record by one step
        now = log_prior(phi, layout, prior, L) + log_seen(S, seen)
        for _ in range(2):
            noise = rng.standard_normal(phi.size)
            new = phi + root @ noise
            expand(new, layout, mu2, L2)
            total_statistic(u, n, mu2, L2, f, seen, grid, S2)
            then = log_prior(new, layout, prior, L2) + log_seen(S2, seen)
            if not then - now > -1e300:
                then = -np.inf
            accept = min(1.0, math.exp(min(0.0, then - now)))
            if rng.random() < accept:
                phi[:], now = new, then
                mu[:], L[:], S[:] = mu2, L2, S2
            if done + t < adapt:
                stretch(root, noise, (accept - TARGET) * min(FASTEST, phi.size * (done + t + 1.0) ** -0.6))
        if seen[6] > 0.0:
            n = births_and_deaths(rng, u, n, mu, L, f, seen, grid, S)
        if (t + 1) % thin == 0:
            row = out[t // thin]
            row[: phi.size] = phi
            row[phi.size] = n
    return n
