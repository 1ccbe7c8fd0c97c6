# mypy: disable-error-code="untyped-decorator"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Many records: S | φ ~ N(n·m(φ), n·V(φ)), the central limit law with the moments of clipped records.

Laplace noise is a scale mixture, e|ω ~ N(0, ω), ω ~ Exp(mean 2b²), so that Ŝ | φ, ω ~ N(nm, nV + diag ω) with
S integrated out [Bernstein, Sheldon 2018, 2019]: φ moves by Metropolis, then S and ω are drawn given φ.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.compiled import kernel
from discreet.families.family import Floats
from discreet.posteriors.normal.algebra_kernel import (
    Layout,
    Prior,
    backward,
    cholesky,
    expand,
    forward,
    from_moments,
    log_prior,
    to_moments,
)
from discreet.posteriors.normal.augment_kernel import FASTEST, TARGET, Seen, log_noise, stretch


@kernel
def moments(
    points: Floats, mu: Floats, L: Floats, f: int, seen: Seen, grid: Floats, m: Floats, V: Floats
) -> None:
    """Mean m and covariance V of one record's statistic, over public quasi-random points u (columns).

    The points have mean 0 and covariance I exactly, so that m is exact where nothing is clipped.
    """
    d, K = points.shape
    q = np.empty((d, K))
    for i in range(d):
        q[i] = (mu[i] - grid[0]) * grid[1]
        for j in range(f, i + 1):
            factor = L[i, j] * grid[1]
            for k in range(K):
                q[i, k] += factor * points[j, k]
    at_door_together(q, seen[4])
    s = np.empty((m.size, K))
    row = 0
    if seen[3] > 0.0:
        s[:d] = seen[3] * q
        row = d
    for i in range(d):
        for j in range(i, d):
            s[row] = q[i] * q[j]
            row += 1
    for i in range(m.size):
        m[i] = np.sum(s[i]) / K
        s[i] -= m[i]
    V[:] = np.dot(s, s.T) / K


@kernel
def at_door_together(q: Floats, door: Floats) -> None:
    """Do as algebra.at_door, for columns, in loops that vectorise; what rounding left too long is kept."""
    d, K = q.shape
    if door[2] == 0.0:
        q[0] = np.minimum(np.maximum(np.floor(q[0] + 0.5), door[0]), door[1])
        return
    norm = np.zeros(K)
    for i in range(d):
        norm += q[i] * q[i]
    shrink = np.minimum(1.0, door[2] / np.sqrt(np.maximum(norm, 1e-300)))
    for i in range(d):
        for k in range(K):
            x = q[i, k] * shrink[k]
            q[i, k] = np.floor(x + 0.5)


@kernel
def log_density(gap: Floats, V: Floats, n: float, omega: Floats, C: Floats, root: Floats) -> float:
    """Log N(Ŝ; nm, nV + diag ω), gap = Ŝ − nm; fills the Cholesky factor of the covariance."""
    for i in range(gap.size):
        for j in range(gap.size):
            C[i, j] = n * V[i, j]
        C[i, i] += omega[i]
    if not cholesky(C, root):
        return -np.inf
    x = gap.copy()
    forward(root, x)
    total = -0.5 * np.sum(x * x)
    for i in range(gap.size):
        total -= math.log(root[i, i])
    return total


@kernel
def inverse_gaussian(rng: np.random.Generator, mean: float) -> float:
    """Shape 1 [Michael, Schucany, Haas 1976], written without the cancellation at large means."""
    w = 0.5 * mean * rng.standard_normal() ** 2
    x = mean / (1.0 + w + math.sqrt(w * (2.0 + w)))
    return x if rng.random() * (mean + x) <= mean else mean * mean / x


@kernel
def mix(
    rng: np.random.Generator, gap: Floats, V: Floats, n: float, omega: Floats, root: Floats, rates: Floats
) -> None:
    """Draw e | φ, ω, Ŝ and then ω | e: 1/ω ~ inverse Gaussian(mean 1/(b|e|), shape 1/b²).

    With A = nV + diag ω = CCᵀ: e = e* + ω∘A⁻¹(gap − x*), x* = (nV)^½ξ + e*, e* ~ N(0, ω) [Matheron's rule].
    """
    size = gap.size
    half = np.zeros((size, size))
    scale = 0.0
    for i in range(size):
        scale = max(scale, V[i, i])
    bumped = n * V
    for i in range(size):
        bumped[i, i] += 1e-12 * n * scale + 1e-300  # V may be singular; the noise dwarfs this
    if not cholesky(bumped, half):
        return
    e, x = np.empty(size), np.empty(size)
    for i in range(size):
        e[i] = math.sqrt(omega[i]) * rng.standard_normal()
        x[i] = rng.standard_normal()
    x = gap - half @ x - e
    forward(root, x)
    backward(root, x)
    for i in range(size):
        gone = max(abs(e[i] + omega[i] * x[i]) * rates[i], 1e-12)
        omega[i] = 1.0 / (rates[i] * rates[i] * inverse_gaussian(rng, 1.0 / gone))


@kernel
def variances(seen: Seen) -> Floats:
    """Of the noise of each coordinate: 2b² or σ²."""
    rates = seen[1][: seen[0].size]
    return 2.0 / rates**2 if seen[2] == 1.0 else 0.5 / rates


@kernel
def stir(
    rng: np.random.Generator,
    swarm: Floats,
    value: Floats,
    root: Floats,
    layout: Layout,
    prior: Prior,
    base: Prior,
    seen: Seen,
    grid: Floats,
    points: Floats,
    n: int,
    power: float,
    times: int,
) -> None:
    """Move every ψ of a swarm, keeping q(ψ)·(p(ψ)p(Ŝ|ψ)/q(ψ))^power, q the prior `base`.

    `value` is the logarithm of what is raised to the power, any noise taken for normal.
    """
    d, size, k = points.shape[0], seen[0].size, swarm.shape[1]
    mu, L, m, V = np.zeros(d), np.zeros((d, d)), np.zeros(size), np.zeros((size, size))
    C, half = np.zeros((size, size)), np.zeros((size, size))
    omega = variances(seen)
    phi, new = np.empty(k), np.empty(k)
    for i in range(swarm.shape[0]):
        now, value[i] = -np.inf, -np.inf
        for t in range(times + 1):
            new[:] = swarm[i]
            if t > 0:
                new += root @ rng.standard_normal(k)
            then = from_moments(new, layout, phi)
            if not then > -1e300:
                continue
            expand(phi, layout, mu, L)
            before = log_prior(phi, layout, base, L)
            moments(points, mu, L, layout[0], seen, grid, m, V)
            fits = log_density(seen[0] - n * m, V, n, omega, C, half)
            fits += log_prior(phi, layout, prior, L) - before
            then += before
            then += power * fits if fits > -1e300 else -np.inf
            if t == 0 or math.log(1.0 - rng.random()) < then - now:
                swarm[i], value[i], now = new, fits, then


@kernel
def agreement(
    rows: Floats, layout: Layout, seen: Seen, grid: Floats, points: Floats, level: Floats, square: Floats
) -> None:
    """For every (φ, n): ln p(Ŝ | φ, n), and the square of Ŝ − nm in deviations; any noise as if normal."""
    d, size = points.shape[0], seen[0].size
    mu, L, m, V = np.zeros(d), np.zeros((d, d)), np.zeros(size), np.zeros((size, size))
    C, half = np.zeros((size, size)), np.zeros((size, size))
    omega = variances(seen)
    for i in range(len(rows)):
        n = rows[i, -1]
        expand(rows[i, :-1], layout, mu, L)
        moments(points, mu, L, layout[0], seen, grid, m, V)
        gap = seen[0] - n * m
        level[i], square[i] = log_density(gap, V, n, omega, C, half), np.inf
        if level[i] > -np.inf:
            forward(half, gap)
            square[i] = np.sum(gap * gap)


@kernel
def steps(
    rng: np.random.Generator,
    phi: Floats,
    n: int,
    most: int,
    omega: Floats,
    root: Floats,
    layout: Layout,
    prior: Prior,
    seen: Seen,
    grid: Floats,
    points: Floats,
    done: int,
    adapt: int,
    out: Floats,
    thin: int,
) -> int:
    """Run out.shape[0]·thin steps from (φ, n, ω); n moves along where it is private, uniform on 0..most.

    The walk is in ψ, the coordinates of `from_moments`.
    """
    d, f, size = points.shape[0], layout[0], seen[0].size
    private = seen[6] > 0.0
    mu, L, mu2, L2 = np.zeros(d), np.zeros((d, d)), np.zeros(d), np.zeros((d, d))
    m, V, m2, V2 = np.zeros(size), np.zeros((size, size)), np.zeros(size), np.zeros((size, size))
    C, half, half2 = np.zeros((size, size)), np.zeros((size, size)), np.zeros((size, size))
    psi, new = np.empty(phi.size), np.empty(phi.size)
    to_moments(phi, layout, psi)
    volume = from_moments(psi, layout, phi)
    expand(phi, layout, mu, L)
    moments(points, mu, L, f, seen, grid, m, V)
    for t in range(out.shape[0] * thin):
        now = log_prior(phi, layout, prior, L) + log_density(seen[0] - n * m, V, n, omega, C, half) + volume
        now += log_noise(seen[5] - seen[6] * n, seen[1][size], seen[2]) if private else 0.0
        noise = rng.standard_normal(root.shape[0])
        move = root @ noise
        count = n + int(np.rint(move[-1])) if private else n
        then = from_moments(psi + move[: phi.size], layout, new)
        swollen = then
        if 0 <= count <= most and then > -1e300:
            expand(new, layout, mu2, L2)
            moments(points, mu2, L2, f, seen, grid, m2, V2)
            then += log_prior(new, layout, prior, L2)
            then += log_density(seen[0] - count * m2, V2, count, omega, C, half2)
            then += log_noise(seen[5] - seen[6] * count, seen[1][size], seen[2]) if private else 0.0
        else:
            then = -np.inf
        if not then > -1e300:
            then = -np.inf
        accept = math.exp(min(0.0, then - now)) if now > -1e300 else 1.0 * (then > -1e300)
        if rng.random() < accept:
            psi += move[: phi.size]
            phi[:], n, volume = new, count, swollen
            mu[:], L[:], m[:], V[:], half[:] = mu2, L2, m2, V2, half2
        if done + t < adapt:
            stretch(root, noise, (accept - TARGET) * min(FASTEST, root.shape[0] * (done + t + 1.0) ** -0.6))
        if seen[2] == 1.0:
            mix(rng, seen[0] - n * m, V, n, omega, half, seen[1])
        if (t + 1) % thin == 0:
            row = out[t // thin]
            row[: phi.size] = phi
            row[phi.size] = n
    return n
