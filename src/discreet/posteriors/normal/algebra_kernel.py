# mypy: disable-error-code="untyped-decorator"
# ruff: noqa: PLR0917 (a kernel takes arrays and numbers, not objects)
"""Compiled algebra of the latent normal model: z = μ + Lu with μ, L from the unconstrained vector φ.

φ = (μ of the p normal columns; ln l₁, …, ln l_p; the unit lower triangle c, row by row; and in a regression
w; ln σ²): Σ = LLᵀ, L = C·diag(l). Small loops rather than LAPACK: they compile in a moment.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from discreet.compiled import kernel
from discreet.families.family import Floats

Layout = tuple[int, int, int]
Prior: TypeAlias = tuple[Floats, float, float, Floats, Floats, Floats, float, float]


@kernel
def cholesky(A: Floats, L: Floats) -> bool:
    """L with LLᵀ = A, lower; False where A is not positive definite."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            x = A[i, j]
            for k in range(j):
                x -= L[i, k] * L[j, k]
            if i > j:
                L[i, j] = x / L[j, j]
            elif x > 0.0:
                L[i, i] = math.sqrt(x)
            else:
                return False
        L[i, i + 1 :] = 0.0
    return True


@kernel
def forward(L: Floats, x: Floats) -> None:
    """Solve x ← L⁻¹x."""
    for i in range(x.size):
        for j in range(i):
            x[i] -= L[i, j] * x[j]
        x[i] /= L[i, i]


@kernel
def backward(L: Floats, x: Floats) -> None:
    """Solve x ← L⁻ᵀx."""
    for i in range(x.size - 1, -1, -1):
        for j in range(i + 1, x.size):
            x[i] -= L[j, i] * x[j]
        x[i] /= L[i, i]


@kernel
def expand(phi: Floats, layout: Layout, mu: Floats, L: Floats) -> None:
    """Fill μ and L of a whole row z; a constant column is 1, with no spread."""
    f, p, r = layout
    L[:] = 0.0
    mu[:f] = 1.0
    mu[f : f + p] = phi[:p]
    _factor(phi, L[f : f + p, f : f + p])
    if r:
        last = f + p
        place = phi.size - 1 - last
        mu[last] = 0.0
        for i in range(last):
            mu[last] += phi[place + i] * mu[i]
            for j in range(last):
                L[last, j] += phi[place + i] * L[i, j]
        L[last, last] = math.exp(0.5 * phi[-1])


@kernel
def log_prior(phi: Floats, layout: Layout, prior: Prior, L: Floats) -> float:
    """Log p(φ) up to a constant; |∂Σ/∂(ln l, c)| ∝ Π l_i^{2(p−i)+2}, i = 1..p. L is that of `expand`."""
    f, p, r = layout
    m, kappa, nu, scale, wm, P, a, b = prior
    logs = 0.0
    total = 0.0
    x = np.empty(p)
    for i in range(p):
        logs += phi[p + i]
        total += 2.0 * (p - i) * phi[p + i]
        x[i] = phi[i] - m[i]
    block = L[f : f + p, f : f + p]
    forward(block, x)
    total -= (nu + p + 2.0) * logs + 0.5 * kappa * np.sum(x * x)
    for k in range(p):  # tr(ΨΣ⁻¹) = ‖L⁻¹Ψ^½‖², scale holds the root
        x[:] = scale[:, k]
        forward(block, x)
        total -= 0.5 * np.sum(x * x)
    if r:
        d = f + p
        start = phi.size - 1 - d
        precision = math.exp(-phi[-1])
        for i in range(d):
            for j in range(d):
                gap = (phi[start + i] - wm[i]) * (phi[start + j] - wm[j])
                total -= 0.5 * precision * P[i, j] * gap
        total -= (a + 0.5 * d) * phi[-1] + b * precision
    return total


@kernel
def by_moments(layout: Layout) -> bool:
    """Whether only second moments of the normal columns are told: M = Σ + μμᵀ, and hardly μ itself."""
    return layout[0] == 0 and layout[2] == 1


@kernel
def to_moments(phi: Floats, layout: Layout, psi: Floats) -> None:
    """ψ: v and the factor of M = Σ + μμᵀ in place of μ and that of Σ, μ = Tv/√(1+‖v‖²), M = TTᵀ; else φ."""
    psi[:] = phi
    if not by_moments(layout):
        return
    p = layout[1]
    mu, T = phi[:p].copy(), np.zeros((p, p))
    _shifted(phi, mu, 1.0, T)
    forward(T, mu)
    size = 1.0
    for x in mu:
        size -= x * x
    psi[:p] = mu / math.sqrt(max(size, 1e-15))
    _unfactor(T, psi)


@kernel
def from_moments(psi: Floats, layout: Layout, phi: Floats) -> float:
    """φ of ψ, Σ = T(I + vvᵀ)⁻¹Tᵀ; return ln |∂φ/∂ψ| = ln|T| − (p/2+1)ln(1+‖v‖²) + ln J(T) − ln J(L).

    J = Π l_i^{2(p−i)+2} is that of `log_prior`, and (μ, M) → (μ, Σ) keeps volumes. In φ the second moments
    make a thin curved ridge, μμᵀ + Σ ≈ M, on which a random walk crawls; in ψ it is straight.
    """
    phi[:] = psi
    if not by_moments(layout):
        return 0.0
    p = layout[1]
    T, L, mu, size = np.zeros((p, p)), np.zeros((p, p)), np.zeros(p), 1.0
    _factor(psi, T)
    for i in range(p):
        size += psi[i] * psi[i]
    for i in range(p):
        for j in range(i + 1):
            mu[i] += T[i, j] * psi[j] / math.sqrt(size)
    if not _shifted(psi, mu, -1.0, L):
        return -np.inf
    phi[:p] = mu
    _unfactor(L, phi)
    total = -(0.5 * p + 1.0) * math.log(size)
    for i in range(p):
        total += psi[p + i] + 2.0 * (p - i) * (psi[p + i] - phi[p + i])
    return total


@kernel
def _shifted(phi: Floats, mu: Floats, sign: float, root: Floats) -> bool:
    """Fill the factor of LLᵀ ± μμᵀ; False where it has none."""
    p = mu.size
    L, A = np.zeros((p, p)), np.zeros((p, p))
    _factor(phi, L)
    for i in range(p):
        for j in range(p):
            A[i, j] = sign * mu[i] * mu[j]
            for k in range(p):
                A[i, j] += L[i, k] * L[j, k]
    return bool(cholesky(A, root))


@kernel
def _factor(phi: Floats, L: Floats) -> None:
    """L = C·diag(l) of the p normal columns alone."""
    p = L.shape[0]
    place = 2 * p
    for i in range(p):
        for j in range(i):
            L[i, j] = phi[place] * math.exp(phi[p + j])
            place += 1
        L[i, i] = math.exp(phi[p + i])


@kernel
def _unfactor(L: Floats, phi: Floats) -> None:
    p = L.shape[0]
    place = 2 * p
    for i in range(p):
        phi[p + i] = math.log(L[i, i])
        for j in range(i):
            phi[place] = L[i, j] / L[j, j]
            place += 1


@kernel
def conjugate(
    rng: np.random.Generator,
    phi: Floats,
    layout: Layout,
    prior: Prior,
    n: int,
    first: Floats,
    second: Floats,
) -> None:
    """φ ~ p(φ | n rows with Σz, Σzzᵀ): normal–inverse-Wishart, and normal–inverse-gamma for a regression."""
    f, p, r = layout
    m, kappa, nu, root, wm, P, a, b = prior
    scale = root @ root.T
    k = kappa + n
    mean = (kappa * m + first[f : f + p]) / k
    for i in range(p):
        for j in range(p):
            scale[i, j] += second[f + i, f + j] + kappa * m[i] * m[j] - k * mean[i] * mean[j]
    L = _inverse_wishart_root(rng, nu + n, scale)
    noise = rng.standard_normal(p) / math.sqrt(k)
    for i in range(p):
        phi[i] = mean[i] + np.sum(L[i] * noise)
    _unfactor(L, phi)
    if r:
        d = f + p
        corner = np.sum(wm * (P @ wm)) + second[d, d]
        _regress(rng, phi, P + second[:d, :d], P @ wm + second[:d, d], a + 0.5 * n, corner, b)


@kernel
def _inverse_wishart_root(rng: np.random.Generator, nu: float, scale: Floats) -> Floats:
    """L with LLᵀ ~ IW(ν, Ψ) = (C A⁻ᵀ)(C A⁻ᵀ)ᵀ, Ψ = CCᵀ, A Bartlett's lower triangle."""
    p = scale.shape[0]
    C, A, L = np.zeros((p, p)), np.zeros((p, p)), np.zeros((p, p))
    cholesky(scale, C)
    for i in range(p):
        A[i, i] = math.sqrt(2.0 * rng.standard_gamma(0.5 * (nu - i)))
        for j in range(i):
            A[i, j] = rng.standard_normal()
    for i in range(p):  # rows of C A⁻ᵀ
        row = C[i].copy()
        forward(A, row)
        C[i] = row
    cholesky(C @ C.T, L)
    return L


@kernel
def _regress(
    rng: np.random.Generator, phi: Floats, P: Floats, Pm: Floats, a: float, corner: float, b: float
) -> None:
    """σ² ~ IG(a, b + ½(corner − mᵀPm)), w ~ N(m, σ²P⁻¹)."""
    d = Pm.size
    C = np.zeros((d, d))
    cholesky(P, C)
    mean = Pm.copy()
    forward(C, mean)
    rest = b + 0.5 * (corner - np.sum(mean * mean))
    variance = max(rest, 1e-300) / rng.standard_gamma(a)
    for i in range(d):
        mean[i] += math.sqrt(variance) * rng.standard_normal()
    backward(C, mean)
    phi[-1 - d : -1] = mean
    phi[-1] = math.log(variance)


@kernel(inline="always")
def at_door(q: Floats, door: Floats, balance: float, s: Floats) -> None:
    """Clip and round q to integers as the family does at its door, and fill its statistic s.

    door = (low, high, R): one column counted from the middle, in steps of the grid, is rounded into
    [low, high] (families.records.Lattice); rows are brought to the ball of R steps (records.Ball).
    """
    if door[2] == 0.0:
        q[0] = min(max(math.floor(q[0] + 0.5), door[0]), door[1])
    else:
        to_ball(q, door[2])
    statistic(q, balance, s)


@kernel
def to_ball(q: Floats, largest: float) -> None:
    """Shorten and round; mend what is too long or too short: Ball.integers, and records.tight."""
    square, length = 0.0, 0.0
    for i in range(q.size):
        square += q[i] * q[i]
    factor = largest / max(math.sqrt(square), largest)
    for i in range(q.size):
        q[i] *= factor
        length += math.floor(q[i] + 0.5) ** 2
    tight = 1.0 - (q.size + 8) * 2.0**-50
    inner = (largest - 1.0) ** 2 if largest >= 1024.0 else 0.0
    least = max(min((1.0 - 2.0**-9 + 2.0**-19) * square, inner), 0.5)
    for i in range(q.size):
        y, rounded = q[i], math.floor(q[i] + 0.5)
        away = math.ceil(y) if y > 0.0 else math.floor(y)
        q[i] = np.trunc(y * tight) if length > largest * largest else (away if length < least else rounded)
        length -= rounded**2 - q[i] * q[i]


@kernel(inline="always")
def statistic(q: Floats, balance: float, s: Floats) -> None:
    """(Kq, qqᵀ packed); K = 0 leaves the first moments out, as a regression does."""
    d = q.size
    place = 0
    if balance > 0.0:
        for i in range(d):
            s[i] = balance * q[i]
        place = d
    for i in range(d):
        for j in range(i, d):
            s[place] = q[i] * q[j]
            place += 1
