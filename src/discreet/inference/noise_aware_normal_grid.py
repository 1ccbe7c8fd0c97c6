"""Normal–inverse-gamma with n public: θ has two coordinates, and p(θ | Ŝ) is tabulated. No chain, no luck.

v₁ = (μ − m)√κ/σ and v₂ = Φ⁻¹(F_IG(σ²)) are independent standard normal a priori. Ŝ | θ is the central limit
law of S, with the closed-form moments of clipped records, convolved with the noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import gammainccinv, gammaincinv, ndtr

from discreet.inference.noise_aware_normal_moments import clipped_moments, log_gaussian, log_laplace

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.families.family import Floats
    from discreet.families.normal_inverse_gamma import NormalInverseGamma
    from discreet.inference.noise_aware_normal_model import Observed

GLANCE, NODES, DENSE = 17, 41, 5  # points a side of the passing grids and of the last one, and its refinement
PASSES = 3
KEPT = 28.0  # nats below the top
GOLDEN = 0.6180339887498949
FARTHEST = 8.5  # where a first look ends


@final
@dataclass(frozen=True)
class Surface:
    """ln φ(v) + ln p(Ŝ | θ(v)), up to a constant."""

    prior: tuple[float, float, float, float]  # m, κ, a, b
    bounds: tuple[float, float]  # counted from the middle
    middle: float
    rounding: float  # g²/12, Sheppard's correction; at the ends, where there is none, it is dwarfed
    noisy: Floats  # in the records' own units
    scales: Floats  # of the noise, likewise
    n: float
    log_law: Callable[[Floats, Floats, Floats], Floats]

    @classmethod
    def of(cls, prior: NormalInverseGamma, observed: Observed) -> Surface:
        g, unit = float(prior.grid), prior.units
        low, high = prior._ends  # noqa: SLF001 - public bounds
        laplace = observed.power == 1
        scale = 1 / observed.rate if laplace else np.sqrt(0.5 / observed.rate)
        return cls(
            prior=prior._parameters,  # noqa: SLF001 - doubles of the public fields
            bounds=(g * low, g * high),
            middle=g * prior.middle,
            rounding=g**2 / 12,
            noisy=observed.noisy * unit,
            scales=scale * unit,
            n=float(observed.about),
            log_law=log_laplace if laplace else log_gaussian,
        )

    def theta(self, v: Floats) -> Floats:
        m, k, a, b = self.prior
        below, above = ndtr(v[..., 1]), ndtr(-v[..., 1])
        gamma = np.where(v[..., 1] < 0, gammainccinv(a, below), gammaincinv(a, above))
        variance = b / np.maximum(gamma, 1e-300)
        return np.stack([m + v[..., 0] * np.sqrt(variance / k), variance], axis=-1)

    def log(self, v: Floats) -> Floats:
        theta, high = self.theta(v), self.bounds[1]
        mean, covariance = clipped_moments(theta[..., 0] - self.middle, np.sqrt(theta[..., 1]), *self.bounds)
        mean[..., 1] += self.rounding
        floor = 1e-14 * np.array([high**2, high**4])
        spread = self.n * (covariance + floor * np.eye(2))
        likelihood = self.log_law(self.noisy - self.n * mean, spread, self.scales)
        return np.asarray(likelihood - (v**2).sum(axis=-1) / 2)


@final
@dataclass(frozen=True)
class Box:
    """v = centre + axes·t, t in a rectangle."""

    centre: Floats
    axes: Floats
    ends: Floats  # (2, 2): low and high of each t

    def points(self, size: int) -> tuple[Floats, Floats, Floats]:
        t = [np.linspace(low, high, size) for low, high in self.ends]
        flat = np.stack(np.meshgrid(*t, indexing="ij"), axis=-1)
        return t[0], t[1], self.centre + flat @ self.axes.T


def draws(prior: NormalInverseGamma, observed: Observed, size: int) -> Floats:
    """`size` points θ of equal mass: the table, refined by splines, cut at even steps of cumulated mass."""
    from scipy.interpolate import RectBivariateSpline  # noqa: PLC0415 - on use

    surface = Surface.of(prior, observed)
    box = found(surface)
    first, second, v = box.points(NODES)
    table = np.maximum(surface.log(v), -1e6)
    spline = RectBivariateSpline(first, second, table - table.max())
    fine = [np.linspace(low, high, DENSE * (NODES - 1) + 1) for low, high in box.ends]
    mass = np.exp(spline(*fine))
    t = box.ends[:, 0] + (_even(mass, size) - 0.5) * [f[1] - f[0] for f in fine]
    return surface.theta(box.centre + t @ box.axes.T)


def _even(mass: Floats, size: int) -> Floats:
    """(row, column) positions of even mass: Kronecker's sequence through the inverse of the distribution."""
    k = np.arange(size)
    rows = mass.sum(axis=1)
    first = _inverse(rows / rows.sum(), (k + 0.5) / size)
    row = np.minimum(first.astype(np.int64), len(rows) - 1)
    within = np.cumsum(mass, axis=1)
    below = within / within[:, -1:] + np.arange(len(rows))[:, None]
    wanted = row + (0.5 + k * GOLDEN) % 1.0
    place = np.clip(np.searchsorted(below.ravel(), wanted), 0, mass.size - 1)
    column = np.clip(place - row * mass.shape[1], 0, mass.shape[1] - 1)
    share = mass[row, column] / within[row, -1]
    second = column + 1 - np.clip((below[row, column] - wanted) / np.maximum(share, 1e-300), 0.0, 1.0)
    return np.stack([first, second], axis=-1)


def _inverse(share: Floats, probability: Floats) -> Floats:
    """Position in cells of the given shares, even within each."""
    return np.asarray(
        np.interp(probability, np.concatenate([[0.0], np.cumsum(share)]), np.arange(share.size + 1.0))
    )


def found(surface: Surface) -> Box:
    """Climb to the top, take the axes of the curvature there, then of the covariance, until they agree."""
    centre = _top(surface)
    box = Box(centre, _curvature(surface, centre), np.array([[-7.0, 7.0]] * 2))
    for _ in range(PASSES):
        first, second, v = box.points(GLANCE)
        log = surface.log(v)
        weight = np.exp(log - log.max())
        weight /= weight.sum()
        mean = np.einsum("ij,ijk->k", weight, v)
        spread = np.einsum("ij,ijk,ijl->kl", weight, v - mean, v - mean)
        step = np.array([first[1] - first[0], second[1] - second[0]])
        spread += (box.axes * step**2 / 12) @ box.axes.T  # a table that is too coarse must not collapse
        axes = np.linalg.cholesky(spread)
        t = np.linalg.solve(axes, (v - mean)[log > log.max() - KEPT].T)
        box = Box(mean, axes, np.stack([t.min(axis=1) - 1, t.max(axis=1) + 1], axis=-1))
    return box


def _top(surface: Surface) -> Floats:
    from scipy.optimize import minimize  # noqa: PLC0415 - on use

    start = Box(np.zeros(2), np.eye(2), np.array([[-FARTHEST, FARTHEST]] * 2))
    _, _, v = start.points(35)
    log = surface.log(v)
    best = v[np.unravel_index(int(np.argmax(log)), log.shape)]
    simplex = best + np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 0.3]])
    found_top = minimize(
        lambda x: -float(surface.log(x[None])[0]),
        best,
        method="Nelder-Mead",
        options={"initial_simplex": simplex, "xatol": 1e-5, "fatol": 1e-4, "maxiter": 400},
    )
    return np.asarray(found_top.x, dtype=np.float64)


def _curvature(surface: Surface, top: Floats) -> Floats:
    """Axes along which the surface falls by half a nat in one step, no step past 1.5."""
    h = 1e-3
    for _ in range(6):
        offsets = h * np.array([[0, 0], [1, 0], [-1, 0], [0, 1], [0, -1], [1, 1], [-1, -1]])
        f = surface.log(top + offsets)
        xx, yy = (2 * f[0] - f[1] - f[2]) / h**2, (2 * f[0] - f[3] - f[4]) / h**2
        xy = (f[1] + f[2] + f[3] + f[4] - 2 * f[0] - f[5] - f[6]) / (2 * h**2)
        values, vectors = np.linalg.eigh([[xx, xy], [xy, yy]])
        if values[-1] * h**2 < 0.1:
            break
        h /= 4
    return np.asarray(vectors / np.sqrt(np.maximum(values, 0.5)))
