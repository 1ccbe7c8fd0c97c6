"""What planning asks of a family, for many simulated data sets at once: posteriors, marginals, divergences.

Every function has a default that goes through the family's own exact objects one by one, and quick
registrations for the common laws; a test holds each against the default. All statistics here are simulated.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import singledispatch

import numpy as np
from scipy.special import gammaln, psi

from discreet.families.family import Family, Floats
from discreet.families.laws.beta import BetaLaw
from discreet.families.laws.dirichlet import DirichletLaw
from discreet.families.laws.gamma import GammaLaw
from discreet.families.laws.linear_regression import RegressionLaw
from discreet.families.laws.matrices import unpack
from discreet.families.laws.normal_inverse_gamma import NormalInverseGammaLaw
from discreet.families.laws.normal_inverse_wishart import NormalInverseWishartLaw
from discreet.families.normal_mean import NormalMean
from discreet.families.records import ScalarFamily
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic, naive_law
from discreet.planning.marginals import Marginal, beta, gamma, inverse_gamma, normal, stacked, student


# ── posteriors of many statistics, as natural parameters (nodes × len(η)) ───────────────────────────────
@singledispatch
def updated(model: Family, statistics: Floats, n: int, weight: Fraction | int = 1) -> Floats:
    """η₀ + weight·(S, n) for every row S."""
    return np.array([model.update(row, n, weight=weight).natural for row in statistics.astype(np.int64)])


@updated.register(ScalarFamily)
def _updated_scalar_family(
    model: ScalarFamily, statistics: Floats, n: int, weight: Fraction | int = 1
) -> Floats:
    """η is affine in S: what a record at either bound adds settles it."""
    low, high = model.lattice.low, model.lattice.high
    return _between(model, statistics[:, 0] - n * low, n * high - statistics[:, 0], float(weight))


@updated.register(DirichletLaw)
def _updated_dirichlet_law(
    model: DirichletLaw,
    statistics: Floats,
    n: int,  # noqa: ARG001
    weight: Fraction | int = 1,
) -> Floats:
    return np.asarray(model.natural + float(weight) * statistics)


def _between(model: ScalarFamily, above: Floats, below: Floats, weight: float) -> Floats:
    """η₀ + weight·(above·η(record at high) + below·η(record at low))/(high − low)."""
    low, high = model.lattice.low, model.lattice.high
    ends = [(model.update([end], 1).natural - model.natural) / (high - low) for end in (high, low)]
    return np.asarray(model.natural + weight * (above[:, None] * ends[0] + below[:, None] * ends[1]))


@singledispatch
def read(_model: Family, noisy: Floats, release: NoisyStatistic) -> Floats:
    """Η of the naive posterior of every noisy row, by the library's own reading."""
    rows = [tuple(row) for row in noisy.tolist()]
    return np.array([naive_law(replace(release, noisy=row), release.model).natural for row in rows])


@read.register(ScalarFamily)
def _read_scalar_family(model: ScalarFamily, noisy: Floats, release: NoisyStatistic) -> Floats:
    if release.joint or release.n is None:
        clipped = np.maximum(noisy, 0)
        return _between(model, clipped[:, 0], clipped[:, 1], 1.0)
    low, high = release.n * model.lattice.low, release.n * model.lattice.high
    return updated(model, np.clip(noisy, low, high), release.n)


@read.register(DirichletLaw)
def _read_dirichlet_law(model: DirichletLaw, noisy: Floats, release: NoisyStatistic) -> Floats:
    if release.joint or release.n is None:
        return np.asarray(model.natural + np.maximum(noisy, 0))
    n = release.n
    return np.asarray(model.natural + np.array([model.project(row, n) for row in noisy]))


# ── the coordinates of θ that are reported, and their marginal laws ─────────────────────────────────────
@singledispatch
def coordinates(_model: Family, theta: Floats) -> Floats:
    """θ as (nodes, coordinates)."""
    return np.asarray(theta.reshape(len(theta), -1))


@coordinates.register(NormalInverseWishartLaw)
def _coordinates_normal_inverse_wishart_law(model: NormalInverseWishartLaw, theta: Floats) -> Floats:
    """(μ, diagonal of Σ)."""
    mu, covariance = model.split_parameter(theta)
    return np.concatenate([mu, np.diagonal(covariance, axis1=-2, axis2=-1)], axis=-1)


@singledispatch
def marginals(model: Family, eta: Floats) -> Marginal:
    """Return normal laws with the family's own mean and variance: right for large n, the last resort."""
    members = [model.from_natural(row) for row in eta]
    mean, variance = (coordinates(model, np.array([f(m) for m in members])) for f in (_mean_of, _variance_of))
    return normal(mean, np.sqrt(variance))


def _mean_of(member: Family) -> Floats:
    return np.asarray(member.mean(), dtype=np.float64)


def _variance_of(member: Family) -> Floats:
    return np.asarray(member.variance(), dtype=np.float64)


@marginals.register(BetaLaw)
def _marginals_beta_law(_model: BetaLaw, eta: Floats) -> Marginal:
    return beta(eta[:, :1], eta[:, 1:] - eta[:, :1])


@marginals.register(GammaLaw)
def _marginals_gamma_law(_model: GammaLaw, eta: Floats) -> Marginal:
    return gamma(eta[:, :1], eta[:, 1:])


@marginals.register(NormalMean)
def _marginals_normal_mean(model: NormalMean, eta: Floats) -> Marginal:
    return normal(eta[:, :1] / eta[:, 1:], np.sqrt(float(model.noise) / eta[:, 1:]))


@marginals.register(DirichletLaw)
def _marginals_dirichlet_law(_model: DirichletLaw, eta: Floats) -> Marginal:
    return beta(eta, eta.sum(axis=1, keepdims=True) - eta)


@marginals.register(NormalInverseGammaLaw)
def _marginals_normal_inverse_gamma_law(_model: NormalInverseGammaLaw, eta: Floats) -> Marginal:
    first, second, k, twice = (eta[:, i : i + 1] for i in range(4))
    m, a = first / k, twice / 2
    b = (second - k * m**2) / 2
    return stacked(student(2 * a, m, np.sqrt(b / (a * k))), inverse_gamma(a, b))


@marginals.register(NormalInverseWishartLaw)
def _marginals_normal_inverse_wishart_law(model: NormalInverseWishartLaw, eta: Floats) -> Marginal:
    d = model.dimension
    k, nu = eta[:, -2:-1], eta[:, -1:]
    m = eta[:, :d] / k
    scale = np.diagonal(unpack(eta[:, d:-2]), axis1=-2, axis2=-1) - k * m**2
    delta = nu - d + 1
    mu = student(np.broadcast_to(delta, m.shape), m, np.sqrt(scale / (k * delta)))
    return stacked(mu, inverse_gamma(np.broadcast_to(delta / 2, m.shape), scale / 2))


@marginals.register(RegressionLaw)
def _marginals_regression_law(_model: RegressionLaw, eta: Floats) -> Marginal:
    whole, a = unpack(eta[:, :-1]), eta[:, -1:] / 2
    precision, column = whole[:, :-1, :-1], whole[:, :-1, -1]
    inverse = np.linalg.inv(precision)
    m = np.einsum("nij,nj->ni", inverse, column)
    b = (whole[:, -1, -1:] - (m * column).sum(axis=1, keepdims=True)) / 2
    spread = np.sqrt(b / a * np.diagonal(inverse, axis1=-2, axis2=-1))
    return stacked(student(np.broadcast_to(2 * a, m.shape), m, spread), inverse_gamma(a, b))


# ── KL(P ‖ Q) = (η_P − η_Q)·∇C(η_P) − C(η_P) + C(η_Q) [theory §1] ────────────────────────
def kl(model: Family, p: Floats, q: Floats) -> Floats:
    """KL of paired rows; the members of one exponential family, in closed form."""
    mean = gradient(model, p)
    value = ((p - q) * mean).sum(axis=1) - log_partition(model, p) + log_partition(model, q)
    return np.asarray(np.maximum(value, 0.0))  # where it cancels to rounding


@singledispatch
def log_partition(model: Family, eta: Floats) -> Floats:
    """C(η) of every row."""
    return np.array([model.from_natural(row).log_partition() for row in eta])


@singledispatch
def gradient(model: Family, eta: Floats) -> Floats:
    """∇C(η) of every row."""
    return np.array([model.from_natural(row).mean_sufficient() for row in eta])


@log_partition.register(BetaLaw)
def _log_partition_beta_law(_model: BetaLaw, eta: Floats) -> Floats:
    return np.asarray(gammaln(eta[:, 0]) + gammaln(eta[:, 1] - eta[:, 0]) - gammaln(eta[:, 1]))


@gradient.register(BetaLaw)
def _gradient_beta_law(_model: BetaLaw, eta: Floats) -> Floats:
    a, total = eta[:, 0], eta[:, 1]
    return np.stack([psi(a) - psi(total - a), psi(total - a) - psi(total)], axis=-1)


@log_partition.register(GammaLaw)
def _log_partition_gamma_law(_model: GammaLaw, eta: Floats) -> Floats:
    return np.asarray(gammaln(eta[:, 0]) - eta[:, 0] * np.log(eta[:, 1]))


@gradient.register(GammaLaw)
def _gradient_gamma_law(_model: GammaLaw, eta: Floats) -> Floats:
    return np.stack([psi(eta[:, 0]) - np.log(eta[:, 1]), -eta[:, 0] / eta[:, 1]], axis=-1)


@log_partition.register(NormalMean)
def _log_partition_normal_mean(model: NormalMean, eta: Floats) -> Floats:
    noise = float(model.noise)
    energy = eta[:, 0] ** 2 / (2 * noise * eta[:, 1])
    return np.asarray(energy + 0.5 * np.log(2 * np.pi * noise / eta[:, 1]))


@gradient.register(NormalMean)
def _gradient_normal_mean(model: NormalMean, eta: Floats) -> Floats:
    noise, m = float(model.noise), eta[:, 0] / eta[:, 1]
    return np.stack([m / noise, -(m**2 / noise + 1 / eta[:, 1]) / 2], axis=-1)


@log_partition.register(DirichletLaw)
def _log_partition_dirichlet_law(_model: DirichletLaw, eta: Floats) -> Floats:
    return np.asarray(gammaln(eta).sum(axis=1) - gammaln(eta.sum(axis=1)))


@gradient.register(DirichletLaw)
def _gradient_dirichlet_law(_model: DirichletLaw, eta: Floats) -> Floats:
    return np.asarray(psi(eta) - psi(eta.sum(axis=1, keepdims=True)))
