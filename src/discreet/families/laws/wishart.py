"""Λ = Σ⁻¹ ~ Wishart(ν, Ψ⁻¹), μ|Σ ~ N(m, Σ/κ): moments of T = (Λμ, −½Λ packed, −½μᵀΛμ, ½ln|Λ|)."""

from __future__ import annotations

import numpy as np
from scipy.special import gammainccinv, multigammaln, polygamma, psi, stdtr

from discreet.families.family import Floats
from discreet.families.laws.matrices import pack, twice_off_diagonal


def log_partition(k: float, nu: float, scale: Floats) -> float:
    """C = ½νd ln 2 + lnΓ_d(ν/2) − ½ν ln|Ψ| + ½d ln(2π/κ)."""
    d = scale.shape[0]
    wishart = nu * d / 2 * np.log(2) + multigammaln(nu / 2, d) - nu / 2 * np.linalg.slogdet(scale)[1]
    return float(wishart + d / 2 * np.log(2 * np.pi / k))


def mean_sufficient(m: Floats, k: float, nu: float, scale: Floats) -> Floats:
    """EΛ = νΨ⁻¹, E ln|Λ| = Σψ((ν−i)/2) + d ln 2 − ln|Ψ|, EμᵀΛμ = mᵀEΛm + d/κ."""
    d = m.size
    precision = nu * np.linalg.inv(scale)
    log = psi((nu - np.arange(d)) / 2).sum() + d * np.log(2) - np.linalg.slogdet(scale)[1]
    packed = -0.5 * twice_off_diagonal(d) * pack(precision)
    return np.concatenate([precision @ m, packed, [-(m @ precision @ m + d / k) / 2, log / 2]])


def covariance_sufficient(m: Floats, k: float, nu: float, scale: Floats) -> Floats:
    """Cov(Λ_ij, Λ_kl) = ν(V_ik V_jl + V_il V_jk), V = Ψ⁻¹; Cov(Λ, ln|Λ|) = 2V; Λμ = Λm + Λ^½z/√κ."""
    d = m.size
    V = np.linalg.inv(scale)
    coefficients, cross = _linear(m, k)
    wishart = nu * (np.einsum("ik,jl->ijkl", V, V) + np.einsum("il,jk->ijkl", V, V)).reshape(d * d, d * d)
    covariance: Floats = coefficients @ wishart @ coefficients.T + nu * cross @ V @ cross.T
    mixed = np.zeros_like(covariance)
    mixed[:, -1] = coefficients @ V.reshape(-1)
    covariance += mixed + mixed.T
    covariance[-2, -2] += d / (2 * k**2)
    covariance[-1, -1] += polygamma(1, (nu - np.arange(d)) / 2).sum() / 4
    return covariance


def _linear(m: Floats, k: float) -> tuple[Floats, Floats]:
    """T's coefficients of vec Λ and of Λ^½z."""
    d, eye = m.size, np.eye(m.size)
    first = np.kron(eye, m)
    rows, columns = np.triu_indices(d)
    second = -0.5 * (np.einsum("ri,rj->rij", eye[rows], eye[columns])).reshape(-1, d * d)
    second *= twice_off_diagonal(d)[:, None]
    quadratic = -0.5 * np.kron(m, m)[None]
    cross = np.concatenate([eye, np.zeros((rows.size, d)), -m[None], np.zeros((1, d))]) / np.sqrt(k)
    return np.concatenate([first, second, quadratic, np.zeros((1, d * d))]), cross


def covariance_variance(nu: float, scale: Floats) -> Floats:
    """Var Σ_ij = [(δ+1)Ψ_ij² + (δ−1)Ψ_iiΨ_jj]/(δ(δ−1)²(δ−3)), δ = ν − d; ∞ for δ ≤ 3."""
    delta = nu - scale.shape[0]
    if not delta > 3:
        return np.full(scale.shape, np.inf)
    diagonal = np.diag(scale)
    top = (delta + 1) * scale**2 + (delta - 1) * np.outer(diagonal, diagonal)
    return top / (delta * (delta - 1) ** 2 * (delta - 3))


def covariance_quantile(nu: float, scale: Floats, i: int, j: int, probability: float) -> float:
    """Quantile of Σ_ij = Σ_ii·B, Σ_ii ~ IG(½(ν−d+1), ½Ψ_ii) independent of B = Σ_ij/Σ_ii, a Student t."""
    from scipy.integrate import quad  # noqa: PLC0415 - loads on first use
    from scipy.optimize import brentq  # noqa: PLC0415

    half = (nu - scale.shape[0] + 1) / 2
    if i == j:
        return float(scale[i, i] / 2 / gammainccinv(half, probability))
    centre, degrees = scale[i, j] / scale[i, i], 2 * half + 1
    spread = np.sqrt(scale[j, j] / scale[i, i] - centre**2) / np.sqrt(degrees)

    def excess(c: float) -> float:
        def inner(u: float) -> float:
            first = scale[i, i] / 2 / gammainccinv(half, u)
            return float(stdtr(degrees, (c / first - centre) / spread))

        return float(quad(inner, 0, 1, limit=200, epsabs=1e-11)[0]) - probability

    reach = np.sqrt(scale[i, i] * scale[j, j])
    while excess(-reach) > 0 or excess(reach) < 0:
        reach *= 2
    return float(brentq(excess, -reach, reach, xtol=1e-12 * reach))
