# mypy: disable-error-code="untyped-decorator"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""The law of S = Σzzᵀ of normal rows with all parameters integrated out, and a walk that keeps it.

A row z is (1, x), or (x, y), or (1, x, y) with y regressed on the others. S = TTᵀ and T = T₀B; the walk is in
the entries of B, the logarithms of its diagonal.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from discreet.compiled import kernel
from discreet.families.family import Floats
from discreet.posteriors.normal.algebra_kernel import cholesky, forward
from discreet.posteriors.normal.augment_kernel import FASTEST, TARGET, log_noise, stretch

Prior: TypeAlias = tuple[Floats, Floats, float, float, Floats, Floats, float, float]
Seen: TypeAlias = tuple[Floats, Floats, float, float, float, Floats, int]


@kernel
def unroll(x: Floats, n: float, seen: Seen, T: Floats) -> float:
    """Fill T and return ln |∂S/∂x| up to a constant; with an intercept T₁₁ = √n, which is no coordinate."""
    start, fixed = seen[5], seen[6]
    D = T.shape[0]
    B = np.zeros((D, D))
    volume, place = 0.0, 0
    if fixed:
        B[0, 0] = math.sqrt(n) / start[0, 0]
        volume = 0.5 * (D - 1.0) * math.log(n)
    for i in range(fixed, D):
        for j in range(i):
            B[i, j] = x[place]
            place += 1
        B[i, i] = math.exp(x[place])
        volume += (D - i + 1.0) * x[place]
        place += 1
    for i in range(D):
        for j in range(i + 1):
            T[i, j] = 0.0
            for k in range(j, i + 1):
                T[i, j] += start[i, k] * B[k, j]
    return volume


@kernel
def log_design(T: Floats, n: float, fixed: int, prior: Prior) -> float:
    """Log p(n, Σx, Σxxᵀ) with Σ ~ IW(ν, Ψ), μ|Σ ~ N(m, Σ/κ) integrated out, for p normal columns.

    |A|^{(n−p−2)/2}|Ψ_n|^{−(ν+n)/2}Γ_p((ν+n)/2)/Γ_p((n−1)/2) and (κ/((κ+n)n))^{p/2}, A the scatter about the
    mean, Ψ_n = Ψ + A + κn/(κ+n)·(x̄−m)(x̄−m)ᵀ. Where no column is 1, x ~ N(0, Σ): A is about 0, of n degrees.
    """
    m, scale, nu, kappa = prior[4:]
    p = m.size
    A, root, shift = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p)
    shrunk = kappa / (kappa + n)
    total = 0.0
    for i in range(p):
        if fixed:
            shift[i] = T[1 + i, 0] - math.sqrt(n) * m[i]
        for j in range(i + 1):
            x = scale[i, j] + shrunk * shift[i] * shift[j]
            for k in range(j + 1):
                x += T[fixed + i, fixed + k] * T[fixed + j, fixed + k]
            A[i, j] = x
        total += (n - fixed - p - 1.0) * math.log(T[fixed + i, fixed + i])
        total += math.lgamma(0.5 * (nu + n - i)) - math.lgamma(0.5 * (n - fixed - i))
    if not cholesky(A, root):
        return -np.inf
    for i in range(p):
        total -= (nu + n) * math.log(root[i, i])
    if fixed:
        total += 0.5 * p * (math.log(shrunk) - math.log(n))
    return total


@kernel
def log_answers(T: Floats, n: float, prior: Prior) -> float:
    """Log p(Xᵀy, yᵀy | XᵀX, n), normal times χ²_{n−d}, with (w, σ²) integrated out.

    With G = LLᵀ and r = L⁻¹Xᵀy, b_n = b + ½(RSS + vᵀK⁻¹v), v = r − Lᵀm, K = I + LᵀP⁻¹L: nothing cancels.
    """
    m, root, a, b = prior[:4]
    d = m.size
    H, K, half, v = np.zeros((d, d)), np.zeros((d, d)), np.zeros((d, d)), np.zeros(d)
    for j in range(d):
        column = T[:d, j].copy()
        v[j] = T[d, j] - np.sum(column * m)
        forward(root, column)
        H[:, j] = column
    for i in range(d):
        for j in range(i + 1):
            K[i, j] = np.sum(H[:, i] * H[:, j]) + (1.0 if i == j else 0.0)
    if not cholesky(K, half):
        return -np.inf
    forward(half, v)
    rest = T[d, d] * T[d, d]
    shape = a + 0.5 * n
    total = (n - d - 2.0) * math.log(T[d, d]) - shape * math.log(b + 0.5 * (rest + np.sum(v * v)))
    total += math.lgamma(shape) - math.lgamma(0.5 * (n - d)) - 0.5 * n * math.log(2.0)
    for i in range(d):
        total -= math.log(T[i, i]) + math.log(half[i, i])
    return total


@kernel
def log_target(x: Floats, n: float, seen: Seen, prior: Prior, T: Floats) -> float:
    """Log p(x, n, Ŝ, n̂) up to a constant; −∞ where it cannot be had in doubles, or n is at most d."""
    D = T.shape[0]
    if not n >= D:
        return -np.inf
    total = unroll(x, n, seen, T)
    for i in range(D):
        if not 1e-150 < T[i, i] < 1e150:
            return -np.inf
    total += log_design(T, n, seen[6], prior)
    if prior[0].size > 0:
        total += log_answers(T, n, prior)
    for i in range(D):
        for j in range(i + 1):
            moment = 0.0
            for k in range(j + 1):
                moment += T[i, k] * T[j, k]
            total += log_noise(seen[0][i, j] - moment, seen[1][i, j], seen[2])
    if seen[4] > 0.0:
        total += log_noise(seen[3] - n, seen[4], seen[2])
    return total if total > -1e300 else -np.inf


@kernel
def log_targets(rows: Floats, n: float, seen: Seen, prior: Prior) -> Floats:
    """Return the same for many x; where n is private it is the last entry of each row, any number."""
    T, out = np.zeros_like(seen[5]), np.empty(len(rows))
    size = rows.shape[1] - (1 if seen[4] > 0.0 else 0)
    for i in range(len(rows)):
        out[i] = log_target(rows[i, :size], rows[i, -1] if seen[4] > 0.0 else n, seen, prior, T)
    return out


@kernel
def log_weights(T: Floats, n: Floats, fixed: int, prior: Prior) -> Floats:
    """Log p(S, n) of many S = TTᵀ, whatever was seen of them; −∞ where n is at most d."""
    out = np.empty(len(T))
    for i in range(len(T)):
        out[i] = -np.inf
        if n[i] >= T.shape[1]:
            out[i] = log_design(T[i], n[i], fixed, prior) + log_answers(T[i], n[i], prior)
    return out


@kernel
def stretched_row(T: Floats, i: int, factor: float, centres: Floats, seen: Seen, x: Floats) -> None:
    """Fill x with the coordinates of T after row i went `factor` times as far from where the prior has it."""
    start, fixed, D, place = seen[5], seen[6], T.shape[0], 0
    B = T.copy()
    for j in range(i + 1):
        centre = np.sum(centres[i, :i] * T[:i, j])
        B[i, j] = centre + factor * (T[i, j] - centre)
    for r in range(D):
        for j in range(r + 1):
            for k in range(j, r):
                B[r, j] -= start[r, k] * B[k, j]
            B[r, j] /= start[r, r]
            if r >= fixed:
                x[place] = B[r, j] if j < r else math.log(B[r, j])
                place += 1


@kernel
def walk(
    rng: np.random.Generator,
    x: Floats,
    n: int,
    root: Floats,
    seen: Seen,
    prior: Prior,
    centres: Floats,
    done: int,
    adapt: int,
    out: Floats,
    thin: int,
) -> int:
    """Run len(out)·thin Metropolis steps from (x, n), adapting `root` until step `adapt`; return n.

    After each a row of T is stretched about its prior: where the prior is vague and the noise wide, a mean
    and its deviation go up and down together over many decades, and steps of one shape do not.
    A row of `out` holds T, row by row, then n and the log target.
    """
    D = seen[5].shape[0]
    T, T2, other = np.zeros((D, D)), np.zeros((D, D)), np.empty(x.size)
    private = seen[4] > 0.0
    now = log_target(x, n, seen, prior, T)
    for t in range(len(out) * thin):
        noise = rng.standard_normal(root.shape[0])
        move = root @ noise
        count = n + int(np.rint(move[-1])) if private else n
        new = x + move[: x.size]
        then = log_target(new, count, seen, prior, T2)
        accept = math.exp(min(0.0, then - now)) if then > -np.inf else 0.0
        if rng.random() < accept:
            x[:], n, now = new, count, then
            T[:] = T2
        if done + t < adapt:
            stretch(root, noise, (accept - TARGET) * min(FASTEST, root.shape[0] * (done + t + 1.0) ** -0.6))
        i, change = rng.integers(seen[6], D), math.exp(rng.uniform(-6.0, 1.5)) * rng.standard_normal()
        stretched_row(T, i, math.exp(change), centres, seen, other)
        then = log_target(other, n, seen, prior, T2)
        if then > -np.inf and math.log(1.0 - rng.random()) < then - now + i * change:
            x[:], now = other, then
            T[:] = T2
        if (t + 1) % thin == 0:
            row = out[t // thin]
            row[: D * D] = T.ravel()
            row[D * D], row[D * D + 1] = n, now
    return n
