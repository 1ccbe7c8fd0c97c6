"""Linear regression from noisy second moments, in closed form: quick at any dimension, Normal in the weights.

Z = Σzzᵀ, z = (x, y), holds A = XᵀX, t = Xᵀy and q = yᵀy. Where only Z + E is known, the normal equations hold
up to noise: t̃ − Aw = Xᵀε + e − E_x w, of covariance Ω = σ²A + s²(I + Cov of E_x w).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import numpy as np
from scipy.special import ndtri

from discreet.families.family import credible
from discreet.families.matrices import nearest_semidefinite, unpack
from discreet.inference.noise_aware_noise import NoiseLaw
from discreet.sampling.source import SYSTEM

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from discreet.families.family import Floats
    from discreet.families.linear_regression import BayesianLinearRegression
    from discreet.mechanisms.noisy_release import NoisyRelease
    from discreet.sampling.source import Source

STEPS, TOLERANCE = 300, 1e-9
GRID = np.exp(np.linspace(-12, 12, 481))  # of σ², relative to its prior's scale


@final
@dataclass(frozen=True, eq=False)
class LinearNormal:
    """w ~ N(location, covariance) given the noisy moments, σ² by its mean and deviation."""

    reading: ClassVar[str] = "noise_aware"

    location: Floats
    covariance: Floats
    noise: float  # E σ²
    noise_deviation: float

    def mean(self) -> Floats:
        return self.location

    def variance(self) -> Floats:
        return np.asarray(np.diag(self.covariance))

    def interval(self, level: float) -> Floats:
        """Equal-tailed credible intervals of the weights, d×2."""
        spread = np.sqrt(self.variance())
        return np.asarray(self.location[:, None] + spread[:, None] * ndtri(credible(level)))

    def sample(self, size: int, source: Source | None = None) -> Floats:
        """`size` draws of w, free: the release is public already."""
        normal = np.random.default_rng((source or SYSTEM).words(4).tolist())
        root = np.linalg.cholesky(self.covariance)
        return np.asarray(self.location + normal.standard_normal((size, len(root))) @ root.T)

    def predicted(self, rows: ArrayLike) -> tuple[Floats, Floats]:
        """Mean and deviation of y given x: √(E σ² + xᵀVx)."""
        x = np.asarray(rows, dtype=np.float64)
        spread = np.einsum("ij,jk,ik->i", x, self.covariance, x)
        return np.asarray(x @ self.location), np.sqrt(self.noise + spread)


@final
@dataclass(frozen=True, eq=False)
class Moments:
    """Z̃ in units of the columns, its noise's variance s² (alike for every entry), and n."""

    noisy: Floats
    variance: float
    n: float

    @classmethod
    def of(cls, release: NoisyRelease, prior: BayesianLinearRegression) -> Moments:
        flat = np.asarray(release.noisy, dtype=np.float64)
        count = float(release.n) if release.n is not None else max(1.0, float(flat[-1]) / prior.count_unit)
        unit = float(prior.grid) ** 2
        entries = flat[:-1] if release.joint else flat
        return cls(unpack(entries) * unit, NoiseLaw.of(release).variance * unit**2, count)

    @property
    def shrunk(self) -> tuple[Floats, float]:
        """E[A | Ã] and the variance of its entries, for A = vI + entries of variance τ², by moments.

        v is the mean of Ã's diagonal, which averages the noise, and τ² what Ã − vI varies beyond s²
        [Ledoit, Wolf 2004]. Then made semidefinite.
        """
        A = self.noisy[:-1, :-1]
        d = len(A)
        centre = max(float(np.trace(A)) / d, 0.0) * np.eye(d)
        rest = (A - centre)[np.triu_indices(d)]
        between = max(float(np.mean(rest**2)) * rest.size / max(1, rest.size - 1) - self.variance, 0.0)
        kept = between / (between + self.variance)
        return nearest_semidefinite(centre + kept * (A - centre), np.inf), kept * self.variance


def read(release: NoisyRelease, prior: BayesianLinearRegression) -> LinearNormal:
    """Solve for (w, V) and σ² in turn, each given the other, until they stay."""
    moments = Moments.of(release, prior)
    m, P, a, b = prior._parameters  # noqa: SLF001 - doubles of the public fields
    shrunk, noise = moments.shrunk, np.array([b / (a + 1), 0.0])
    w, V = np.asarray(m), noise[0] * np.linalg.inv(P)
    for _ in range(STEPS):
        before = w
        w, V = _weights(moments, shrunk, (m, P / noise[0]), noise[0], w, V)
        noise = (noise + _noise(moments, (a, b), w)) / 2
        if np.abs(w - before).max() < TOLERANCE * (1 + np.abs(w).max()):
            break
    return LinearNormal(w, V, float(noise[0]), float(noise[1]))


def _weights(  # noqa: PLR0917 - what one step needs
    moments: Moments,
    shrunk: tuple[Floats, float],
    prior: tuple[Floats, Floats],
    noise: float,
    w: Floats,
    V: Floats,
) -> tuple[Floats, Floats]:
    """V⁻¹ = P/σ² + AΩ⁻¹A, Ω = σ²A + s²(I + (E‖w‖²)I + E wwᵀ − diag E w²): E_x is symmetric, entries alike."""
    (m, P), (A, unsure) = prior, shrunk
    square = np.outer(w, w) + V
    eye = np.eye(len(w))
    spread = eye * np.trace(square) + square - np.diag(np.diag(square))
    pull = np.linalg.solve(noise * A + moments.variance * eye + unsure * spread, A)
    precision = P + A @ pull
    V = np.asarray(np.linalg.inv((precision + precision.T) / 2), dtype=np.float64)
    target = V @ (P @ m + pull.T @ moments.noisy[:-1, -1])
    return np.asarray((w + target) / 2), np.asarray((V + V.T) / 2)


def _noise(moments: Moments, prior: tuple[float, float], w: Floats) -> Floats:
    """E σ² and its deviation given R = vᵀZ̃v, v = (w, −1): R ~ N(nσ², 2nσ⁴ + s²(2‖v‖⁴ − Σv⁴))."""
    a, b = prior
    v = np.append(w, -1.0)
    rest = float(v @ moments.noisy @ v)
    sigma = b / (a + 1) * GRID
    spread = 2 * moments.n * sigma**2 + moments.variance * (2 * (v @ v) ** 2 - (v**4).sum())
    gap = rest - moments.n * sigma
    log = -a * np.log(sigma) - b / sigma - gap**2 / (2 * spread) - np.log(spread) / 2
    weight = np.exp(log - log.max())
    weight /= weight.sum()
    mean = float(weight @ sigma)
    return np.array([mean, float(np.sqrt(weight @ (sigma - mean) ** 2))])
