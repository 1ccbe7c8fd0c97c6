"""Weights from noisy Σyx and Σxxᵀ: a quadratic stands for the loss, and the noise of both is accounted for.

The logistic loss is −ys/2 + ln 2cosh(s/2). With ½tanh(s/2) ≈ g₀ + b(s − μ) its score is linear in w:
½Σyx = Hw + oΣx + e, H = bΣxxᵀ, o = g₀ − bμ, e ~ N(0, H), and Σx is the constant's column of Σxxᵀ.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from scipy.special import expit

from discreet.families.laws.matrices import nearest_semidefinite
from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.models.regression_records import constant_steps, grid
from discreet.posteriors.regression.coefficients import NormalCoefficients

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
STEPS, TOLERANCE = 200, 1e-10
KAPPA = 0.05  # correlation of the loss's non-linear rest with a column that is allowed for
LONE = 0.7  # the same for a variable that makes the margins alone; it falls with its share in their variance
WIDE = 0.1  # share of the score's variance in that rest from which a caution is due
RIDGE = 0.4  # what predictions add to Σxxᵀ, in σ₂√d; the noise's own eigenvalues reach √2
FAR = 3.0  # deviations of a longest row's margin under the prior, beyond which no mean margin is believed


@final
@dataclass(frozen=True)
class Quadratic:
    """Score ≈ slope + bend(s − μ) for margins s ~ N(μ, v); `rest` is the variance of what that leaves out."""

    slope: float
    bend: float
    rest: float = 0.0
    share: float = 0.0  # rest ÷ variance of the score
    twist: tuple[float, float] = (0.0, 0.0)  # E of the score's second and third derivatives


def linearised(mean: float, variance: float) -> Quadratic:
    """Return the best line through ½tanh(s/2) for s ~ N(μ, v): b = E σ'(s) [Stein 1981]."""
    s = mean + sqrt(max(variance, 0.0)) * NODES
    score, p = np.tanh(s / 2) / 2, expit(s)
    bends = p * (1 - p)
    slope, bend = float(WEIGHTS @ score), float(WEIGHTS @ bends)
    rest = float(WEIGHTS @ (score - slope - bend * (s - mean)) ** 2)
    whole = float(WEIGHTS @ (score - slope) ** 2)
    twist = float(WEIGHTS @ (bends * (1 - 2 * p))), float(WEIGHTS @ (bends * (1 - 6 * bends)))
    return Quadratic(slope, bend, rest, rest / whole if whole > 0 else 0.0, twist)


def chebyshev(reach: float) -> Quadratic:
    """Degree-2 Chebyshev series of ln 2cosh(s/2) on [−R, R]: b = 4c₂/R² [Huggins, Adams, Broderick 2017]."""
    if not 0 < reach < np.inf:
        raise ValueError(f"margins need a finite range above 0, got {reach!r}; it is public")
    angle = (np.arange(256) + 0.5) * np.pi / 256
    value = np.logaddexp(reach * np.cos(angle) / 2, -reach * np.cos(angle) / 2)
    return Quadratic(0.0, float(4 * (2 / 256) * (value @ np.cos(2 * angle)) / reach**2))


def usual_margins(model: GeneralizedLinear) -> float:
    """Three deviations of a longest row's margin under the prior, 3RC/√d; at least 2. Public."""
    return max(2.0, 3 * sqrt(float(model.bound_square / model.strength)))


def reading(
    release: NoisyMoments, reading: str = "noise_aware", *, margins: float | None = None
) -> NormalCoefficients:
    """Read under the model's prior N(0, (R²/d)I), as often as you like.

    `noise_aware`: the quadratic follows the margins that the release implies, or is Chebyshev's on [−margins,
    margins]. `naive`: noisy moments as if exact, Chebyshev's quadratic on a public range. `predictive`: what
    `noise_aware` predicts with.
    """
    if reading not in READINGS:
        raise ValueError(f"unknown reading {reading!r}; known: {', '.join(READINGS)}")
    return READINGS[reading](release, margins)


def _naive(release: NoisyMoments, margins: float | None) -> NormalCoefficients:
    """N(P⁻¹½Σyx, P⁻¹), P = mI + bS₊, S₊ the nearest semidefinite matrix."""
    gain, fixed = _scored(release, margins if margins is not None else usual_margins(release.model))
    assert fixed is not None  # noqa: S101 - for the type checker
    prior = float(release.model.strength) * np.eye(release.model.dimension)
    precision = prior + fixed.bend * semidefinite(release.second)
    spread = _inverse(precision)
    return NormalCoefficients(release.model, spread @ (gain * release.first), spread, reading="naive")


def _scored(release: NoisyMoments, margins: float | None) -> tuple[float, Quadratic | None]:
    """Return what Σyx is multiplied by, and the quadratic where it is fixed."""
    if release.quadratic is not None:
        return -release.quadratic[0], Quadratic(0.0, release.quadratic[1])
    return 0.5, None if margins is None else chebyshev(margins)


def semidefinite(matrix: Floats) -> Floats:
    """Clip negative eigenvalues, which only noise can make, to 0."""
    return nearest_semidefinite(matrix, np.inf)


def _inverse(matrix: Floats) -> Floats:
    inverse = np.linalg.inv(matrix)
    return np.asarray((inverse + inverse.T) / 2, dtype=np.float64)


def constant_of(model: GeneralizedLinear) -> float:
    """Return the last entry of every row, on the moments' grid."""
    return float(constant_steps(model) * grid(model))


@final
@dataclass(frozen=True)
class Rows:
    """What Σxxᵀ says of the rows: how many, their mean, their covariance; semidefinite."""

    second: Floats
    n: float
    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, release: NoisyMoments) -> Rows:
        model, second = release.model, semidefinite(release.second)
        constant = constant_of(model)
        if model.intercept:
            n = release.n or max(1.0, second[-1, -1] / constant**2)
            mean = second[:, -1] / (constant * n)
        else:
            n = release.n or max(1.0, np.trace(second) / float(model.bound_square))
            mean = np.zeros(model.dimension)
        return cls(second, float(n), mean, semidefinite(second / n - np.outer(mean, mean)))


def _noise_aware(release: NoisyMoments, margins: float | None) -> NormalCoefficients:
    """Solve w = V HΩ⁻¹(g·Σyx − oΣx), V⁻¹ = mI + HΩ⁻¹H by iteration, the quadratic and Ω following w.

    Ω = H + g²σ₁²I + (σ₂²/2)(‖u‖²I + uuᵀ) + κ²n·rest·S₊, u = bw + (o/a)e: noise of Σxxᵀ meets every w, and the
    loss's non-linear rest may correlate by κ with each column. Then H in V is the curvature at w, and V is
    widened by what the rest may do where few variables make the margins.
    """
    model, rows = release.model, Rows.of(release)
    gain, fixed = _scored(release, margins)
    d, m = model.dimension, float(model.strength)
    constant = constant_of(model) if model.intercept else 1.0
    w, spread, used = np.zeros(d), np.eye(d) / m, fixed or linearised(0.0, 0.0)
    offset, omega = 0.0, np.eye(d)
    for _ in range(STEPS):
        centre = float(rows.mean @ w)
        if fixed is None:
            centre, found = _believed(model, rows, w, _wide(rows, w, spread))
            used = Quadratic(found.slope, (used.bend + found.bend) / 2, found.rest, found.share, found.twist)
        if model.intercept and fixed is None:
            offset = (offset + (used.slope - used.bend * centre) / constant) / 2
        omega = _omega(release, rows, used, w, spread, offset, gain)
        pull = np.linalg.solve(omega, used.bend * rows.second)
        spread = _inverse(m * np.eye(d) + used.bend * rows.second @ pull)
        target = spread @ (pull.T @ (gain * release.first - offset * rows.second[:, -1]))
        moved, w = np.abs(target - w).max(), (w + target) / 2
        if moved < TOLERANCE / sqrt(m):
            break
    if fixed is None:
        spread = _curved(rows, used, w, omega, m, used.rest * _few(model, rows, w))
    predictor = _predictor(release, margins, rows)
    return NormalCoefficients(model, w, spread, _caution(used, variables(model)), predictor=predictor)


def _predictive(release: NoisyMoments, margins: float | None) -> NormalCoefficients:
    return _predictor(release, margins, Rows.of(release))


def _predictor(release: NoisyMoments, margins: float | None, rows: Rows) -> NormalCoefficients:
    """(mI + b(S₊ + λI))w = g·Σyx − oΣx, λ = RIDGE·σ₂√d, the quadratic following w up to the prior's margins.

    For predictions. Where noise hides Σxxᵀ, the noise-aware mean is 0, for w could be anything; but rows to
    predict are short there too, and b(S₊ + λI) keeps what Σyx says of them. b is not below what the prior's
    widest margins have one deviation off 0: the flat ends of the score hold no w back.
    """
    model = release.model
    gain, fixed = _scored(release, margins)
    d, m = model.dimension, float(model.strength)
    values, vectors = np.linalg.eigh(rows.second)
    spectrum = np.maximum(values, 0)
    first, column = gain * release.first @ vectors, rows.second[:, -1] @ vectors
    ridged = spectrum + RIDGE * release.second_noise * sqrt(d)
    widest = float(model.bound_square / m)
    least = linearised(sqrt(widest), widest).bend
    w, bend, offset = np.zeros(d), 0.25 if fixed is None else fixed.bend, 0.0
    for _ in range(STEPS):
        if fixed is None:
            centre, line = _believed(model, rows, w, float(w @ rows.covariance @ w))
            steep = max(line.bend, least)
            bend = (bend + steep) / 2
            if model.intercept:
                offset = (offset + (line.slope - steep * centre) / constant_of(model)) / 2
        target = vectors @ ((first - offset * column) / (m + bend * ridged))
        moved, w = np.abs(target - w).max(), (w + target) / 2
        if moved < TOLERANCE / sqrt(m):
            break
    noise = gain**2 * release.first_noise**2 + (bend * release.second_noise) ** 2 / 2 * float(w @ w)
    precision = m + (bend * ridged) ** 2 / (bend * spectrum + noise)
    said = "made for predictions: its intervals leave out that a quadratic stands for the loss"
    return NormalCoefficients(model, w, (vectors / precision) @ vectors.T, said, "predictive")


def _believed(model: GeneralizedLinear, rows: Rows, w: Floats, variance: float) -> tuple[float, Quadratic]:
    """Return the margins' mean and their line, taken no wider than a longest row's under the prior, C²/m.

    Rows whose labels a line nearly tells have no margins at which b(s)·s is wide enough: they would run away.
    """
    widest = float(model.bound_square / model.strength)
    centre = float(np.clip(rows.mean @ w, -FAR * sqrt(widest), FAR * sqrt(widest)))
    return centre, linearised(centre, min(variance, widest))


def _wide(rows: Rows, w: Floats, spread: Floats) -> float:
    """Return the margins' variance over rows and over what is unknown of w."""
    second = rows.covariance + np.outer(rows.mean, rows.mean)
    return float(w @ rows.covariance @ w + np.trace(second @ spread))


def _omega(  # noqa: PLR0917 - what the noise of the score is made of
    release: NoisyMoments, rows: Rows, used: Quadratic, w: Floats, spread: Floats, offset: float, gain: float
) -> Floats:
    u = used.bend * w
    u[-1] += offset
    square = np.outer(u, u) + used.bend**2 * spread
    eye = np.eye(len(w))
    noise = gain**2 * release.first_noise**2 * eye
    noise = noise + release.second_noise**2 / 2 * (np.trace(square) * eye + square)
    return np.asarray(noise + (used.bend + KAPPA**2 * rows.n * used.rest) * rows.second)


def sources(model: GeneralizedLinear) -> list[list[int]]:
    """Columns of the design by the variable that they encode: the levels of one are never alone."""
    found: dict[str, list[int]] = {}
    for i, feature in enumerate(model.design):
        found.setdefault(feature.column, []).append(i)
    return list(found.values())


def variables(model: GeneralizedLinear) -> int:
    return len(sources(model)) + int(model.intercept)


def _few(model: GeneralizedLinear, rows: Rows, w: Floats) -> Floats:
    """(n·LONE·t_j·sd_j)², t_j the share of j's variable in the margins' variance; the constant has (Σt²)^½.

    For s = Σa_jx_j of independent x_j, corr((s − E s)², x_j) = skewness·t_j/√2 about: a line's rest follows a
    column as far as that makes the margins. Margins of many columns are normal, and their rest follows none.
    """
    whole = max(float(w @ rows.covariance @ w), 1e-300)
    share = np.zeros(len(w))
    parts = []
    for own in sources(model):
        part = float(w[own] @ rows.covariance[np.ix_(own, own)] @ w[own]) / whole
        share[own] = min(part, 1.0)
        parts.append(min(part, 1.0))
    reach = share * np.sqrt(np.diag(rows.covariance))
    if model.intercept:
        reach[-1] = constant_of(model) * min(1.0, float(np.linalg.norm(parts)))
    return np.asarray((rows.n * LONE * reach) ** 2)


def _curved(  # noqa: PLR0917 - what V is made of
    rows: Rows, used: Quadratic, w: Floats, omega: Floats, strength: float, few: Floats
) -> Floats:
    """V⁻¹ = mI + J(Ω + A)⁻¹J, A = diag(few) for what a line may leave out; never wider than the prior.

    J = nE[σ'(s)xxᵀ] = n(bE[xxᵀ] + c₂(x̄qᵀ + qx̄ᵀ) + c₃qqᵀ), q = Cov(x)w, x normal.
    """
    q, (second, third) = rows.covariance @ w, used.twist
    bent = used.bend * (rows.covariance + np.outer(rows.mean, rows.mean))
    bent = bent + second * (np.outer(rows.mean, q) + np.outer(q, rows.mean)) + third * np.outer(q, q)
    curvature = semidefinite(rows.n * bent)
    pull = np.linalg.solve(omega + np.diag(few), curvature)
    return _inverse(strength * np.eye(len(w)) + curvature @ pull)


def _caution(used: Quadratic, count: int) -> str | None:
    """Say where a line is too little: margins of few variables are not normal, so it is sooner there."""
    if used.share < min(WIDE, count / 100):
        return None
    return (
        f"margins are so wide that a quadratic leaves out {used.share:.0%} of the score: intervals are "
        "widened for that by a rule of thumb, and may cover too often or too rarely; "
        "objective_perturbation needs no such rule"
    )


READINGS = {"noise_aware": _noise_aware, "naive": _naive, "predictive": _predictive}
