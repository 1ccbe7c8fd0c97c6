"""Noise-aware readings of normal families; clipping at the public bounds is modelled where it is asked for.

Laws of S given θ: `moments`, exact for any n, of records that are not clipped; `records`, n latent records,
clipped, exact for any n [Ju, Awan, Gong, Rao 2022]; `limit`, the central limit law of the sum of clipped
records [Bernstein, Sheldon 2018, 2019].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import TYPE_CHECKING, final

import numpy as np
from scipy.special import gammaincc, ndtr

from discreet.families.family import Family, Floats
from discreet.families.laws.matrices import pack, unpack
from discreet.families.normal_inverse_gamma import NormalInverseGamma
from discreet.families.normal_inverse_wishart import NormalInverseWishart
from discreet.posteriors.noise_law import (
    FEWEST,
    MIXED,
    TAIL,
    beyond_bounds,
    cautions,
    judged,
    matters,
    unexplained,
)
from discreet.posteriors.normal.chains import ChainLengths, augmented, collect, limiting
from discreet.posteriors.normal.latent_model import (
    NO_REGRESSION,
    LatentNormal,
    Observed,
    SampledPosterior,
    latent,
)
from discreet.posteriors.normal.moments import MomentDraws, Moments, sample
from discreet.posteriors.normal.starts import normal_points
from discreet.posteriors.posterior import Diagnostics, public_source
from discreet.sampling.source import Source
from discreet.shown import steps as shown

if TYPE_CHECKING:
    from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
    from discreet.posteriors.normal.algebra_kernel import Prior as LatentPrior
    from discreet.posteriors.normal.moments_kernel import Prior


# ── Normal families from noisy (Σx, Σxxᵀ) by chains over those moments, where clipping may be left out.
# The law is exact for any n above the number of columns: a normal mean and a Wishart scatter, with (μ, Σ)
# integrated out, see `moments`. Rows are scaled to bounds of ±1, or a ball of radius 1.
@final
@dataclass(frozen=True, eq=False)
class ScaledFamily:
    """A family whose rows are (x − middle)/size, within ±1 or the unit ball."""

    middle: float
    size: float
    prior: Prior
    first: Floats  # Σ of the scaled rows, noisy, and in units of the noise
    second: Floats
    units: tuple[float, float]


def read_unclipped(
    family: Family, observed: Observed, source: Source, *, plan: ChainLengths | None = None
) -> tuple[SampledPosterior, float]:
    """Draws of θ, and of n where it is private; and the share of records that seem to have been clipped."""
    rng, model = np.random.default_rng(source.words(4).tolist()), scaled(family, observed)
    found = sample(target(model, observed), plan, rng, fitted)
    mean, root = drawn(found, rng)
    location = model.middle + model.size * mean
    covariance = model.size**2 * root @ np.swapaxes(root, -1, -2)
    theta = np.concatenate([location, pack(covariance)], axis=-1)
    share = beyond(family, mean, covariance / model.size**2)
    more = (
        None if unexplained(found.apart) else unexplained(astray(found, mean, root)),
        constant(model, observed) if unexplained(found.apart) else None,
        beyond_bounds(share) if matters(share, float(np.mean(found.n))) else None,
    )
    how = found.diagnostics(fitted(found))
    said = cautions(how, apart=found.apart, finite=bool(np.isfinite(theta).all()), more=more)
    return SampledPosterior(family, theta, found.size, how, said), share


def constant(model: ScaledFamily, observed: Observed) -> str | None:
    """Name the columns whose variance cannot be told from 0: where one is constant, no normal law fits."""
    n, wide = max(observed.about, 1.0), STEADY * observed.variance**0.5
    room = wide * (model.units[1] + 2 * abs(model.first) / n * model.units[0])
    flat = [str(i + 1) for i in np.flatnonzero(np.diag(model.second) - model.first**2 / n < room)]
    words = (
        f"column {' and '.join(flat)} cannot be distinguished from a constant behind this noise; if it is "
        "one, its variance comes out as wide as the noise allows, as normal rows vary: fit the others alone"
    )
    return words if flat else None


def astray(found: MomentDraws, mean: Floats, root: Floats) -> float:
    """How far θ is from the moments drawn with it: far where the prior overrules what noise explains.

    Given θ, n·|Σ^(−1/2)(x̄ − μ)|² is χ² of p degrees, and the trace of the scatter one of (n−1)p.
    """
    if not np.isfinite(np.linalg.slogdet(root)[1]).all():
        return 0.0  # beyond doubles, which has a caution of its own
    n, p = found.n, mean.shape[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        centre = found.T[..., 1:, 0] / np.sqrt(n)[..., None]
        shift = np.sum(np.linalg.solve(root, (centre - mean)[..., None]) ** 2, axis=(-2, -1))
        scatter = np.sum(np.linalg.solve(root, found.T[..., 1:, 1:]) ** 2, axis=(-2, -1))
        degrees = np.maximum(n - 1, 1.0) * p
        each = (n * shift - p) / np.sqrt(2 * p), (scatter - degrees) / np.sqrt(2 * degrees)
    return float(np.nan_to_num(max(np.mean(each[0]), abs(np.mean(each[1])))))


# ── the families ──
@singledispatch
def scaled(family: Family, observed: Observed) -> ScaledFamily:
    del observed
    raise TypeError(f"{type(family).__name__} has no normal rows")


@scaled.register(NormalInverseGamma)
def _scaled_normal_inverse_gamma(family: NormalInverseGamma, observed: Observed) -> ScaledFamily:
    """σ² ~ IG(a, b) is IW(2a, 2b); rounding to the grid adds g²/12 to a square [Sheppard]."""
    m, k, a, b = family._parameters  # noqa: SLF001 - doubles of the public fields
    ends = max(map(abs, family._ends))  # noqa: SLF001
    g, balance = float(family.grid), float(family._balance)  # noqa: SLF001
    middle, size = g * family.middle, g * ends
    units = 1 / (balance * ends), 1 / ends**2
    return ScaledFamily(
        middle=middle,
        size=size,
        prior=(*NO_REGRESSION, np.array([(m - middle) / size]), np.array([[2 * b / size**2]]), 2 * a, k),
        first=observed.noisy[:1] * units[0],
        second=(observed.noisy[1:] - observed.about / 12).reshape(1, 1) * units[1],
        units=units,
    )


@scaled.register(NormalInverseWishart)
def _scaled_normal_inverse_wishart(family: NormalInverseWishart, observed: Observed) -> ScaledFamily:
    m, k, nu, scale = family._parameters  # noqa: SLF001
    ends, balance = float(family.radius / family.grid), float(family._balance)  # noqa: SLF001
    size, units = float(family.radius), (1 / (balance * ends), 1 / ends**2)
    return ScaledFamily(
        middle=0.0,
        size=size,
        prior=(*NO_REGRESSION, m / size, scale / size**2, float(nu), float(k)),
        first=observed.noisy[: m.size] * units[0],
        second=unpack(observed.noisy[m.size :]) * units[1],
        units=units,
    )


@singledispatch
def beyond(family: Family, mean: Floats, covariance: Floats) -> float:
    """Share of records outside, at most: of scaled rows N(mean, covariance) beyond the unit ball.

    ‖x‖ > 1 needs ‖x − μ‖ > 1 − ‖μ‖, and ‖x − μ‖² ≤ λ_max·χ²_p.
    """
    del family
    room = np.maximum(1 - np.linalg.norm(mean, axis=-1), 0.0)
    widest = np.linalg.norm(covariance, ord=2, axis=(-2, -1))
    return float(np.mean(gammaincc(mean.shape[-1] / 2, room**2 / (2 * widest))))


@beyond.register(NormalInverseGamma)
def _beyond_normal_inverse_gamma(family: NormalInverseGamma, mean: Floats, covariance: Floats) -> float:
    low, high = family._ends  # noqa: SLF001
    ends, deviation = max(-low, high), np.sqrt(covariance[..., 0])
    return float(np.mean(ndtr((low / ends - mean) / deviation) + ndtr((mean - high / ends) / deviation)))


def base(family: Family, observed: Observed) -> LatentPrior:
    """Return the prior and a few records' worth of the release: a start for the swarm of another law."""
    model = scaled(family, observed)
    held, (m, scale, nu, kappa) = target(model, observed), model.prior[4:]
    root, n, k = held.seen[5], float(held.n), model.first.size + 3.0
    mean, inner = root[1:, 0] / np.sqrt(n), root[1:, 1:] * np.sqrt(k / n)
    shift = (mean - m) * np.sqrt(kappa * k / (kappa + k))
    location = model.middle + model.size * (kappa * m + k * mean) / (kappa + k)
    wide = model.size * np.linalg.cholesky(scale + inner @ inner.T + np.outer(shift, shift))
    return location, kappa + k, nu + k, wide, *NO_REGRESSION


# ── chains ──
def target(model: ScaledFamily, observed: Observed) -> Moments:
    """Rows (1, x): the moments are [[n, Σxᵀ], [Σx, Σxxᵀ]], and n is exact, or has a noise of its own."""
    p = model.first.size
    noisy, unit = np.zeros((p + 1, p + 1)), np.full((p + 1, p + 1), model.units[1])
    noisy[0, 0], unit[0, 0] = max(observed.about, p + 1), 0.0
    noisy[0, 1:] = noisy[1:, 0] = model.first
    unit[0, 1:] = unit[1:, 0] = model.units[0]
    noisy[1:, 1:] = model.second
    shares = np.ones_like(noisy)
    shares[1:, 1:] = unpack(observed.shares[p:])
    return Moments.of(observed, model.prior, noisy=noisy, unit=unit, shares=shares, fixed=1, trace=2.0)


def _updated(found: MomentDraws) -> tuple[Floats, Floats]:
    """m_n and Ψ_n given the moments."""
    m, scale, _, kappa = found.target.prior[4:]
    n = found.n[..., None]
    inner, mean = found.T[..., 1:, 1:], found.T[..., 1:, 0] / np.sqrt(n)
    shift = (mean - m) * np.sqrt(kappa * n / (kappa + n))
    return (kappa * m + n * mean) / (kappa + n), (
        scale + inner @ np.swapaxes(inner, -1, -2) + shift[..., :, None] * shift[..., None, :]
    )


def fitted(found: MomentDraws) -> Floats:
    """Return what chains are judged by: E[μ|S] and ln of the diagonal of Ψ_n."""
    location, scale = _updated(found)
    return np.concatenate([location, np.log(np.diagonal(scale, axis1=-2, axis2=-1))], axis=-1)


def drawn(found: MomentDraws, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """μ and a root of Σ: Σ ~ IW(ν+n, Ψ_n), μ|Σ ~ N(m_n, Σ/(κ+n)), the first by Bartlett's triangle."""
    _, _, nu, kappa = found.target.prior[4:]
    location, scale = _updated(found)
    p = location.shape[-1]
    degrees = (nu + found.n)[..., None] - np.arange(p)
    triangle = np.tril(rng.standard_normal(scale.shape), -1)
    triangle[..., range(p), range(p)] = np.sqrt(2 * rng.standard_gamma(degrees / 2))
    root = np.asarray(
        np.linalg.cholesky(scale) @ np.swapaxes(np.linalg.inv(triangle), -1, -2), dtype=np.float64
    )
    noise = rng.standard_normal(location.shape) / np.sqrt(kappa + found.n)[..., None]
    return location + np.einsum("...ij,...j->...i", root, noise), root


# ── read
STEADY = 4.0  # deviations of the noise on a sum of squares about the mean
ROUNDS, LONGER = 2, 4  # chains that have not converged are run again, so many times as long
CHAINS = {"records": augmented, "limit": limiting}
LAWS = ("moments", *CHAINS)
OPEN = 2.0**20  # times as wide, a door clips nothing
NAMES = {"records": "latent records, Gibbs and Metropolis", "limit": "central limit law, Metropolis"}


def read(
    release: NoisyStatistic,
    prior: Family,
    *,
    clips: bool = False,
    law: str | None = None,
    plan: ChainLengths | None = None,
    source: Source | None = None,
) -> SampledPosterior:
    """Read with `law`: unless given, `moments`, for which the bounds are facts and nothing was clipped.

    `clips`: records beyond the bounds were clipped to them. Where that matters, `records` is taken where they
    are few, else their limit; both model it.
    """
    observed, bits = Observed.of(release, prior), source or public_source(release, prior)
    if law == "moments" or (law is None and observed.about > latent(prior).columns):
        unclipped, share = read_unclipped(prior, observed, bits, plan=plan)
        if not (clips and law is None and matters(share, observed.about)):
            return unclipped
    chosen = law or ("records" if observed.few else "limit")
    model = replace(latent(prior), base=base(prior, observed))
    if not (clips or law):  # no more records than columns
        model = replace(model, door=OPEN * model.door)
    return run(model, observed, prior, law=chosen, plan=plan, source=bits)


def run(
    model: LatentNormal,
    observed: Observed,
    prior: Family,
    *,
    law: str,
    plan: ChainLengths | None,
    source: Source,
) -> SampledPosterior:
    """Run several chains, without a plan longer ones where they have not converged, and say how they went."""
    if law not in CHAINS:
        raise ValueError(f"no law {law!r} of this release; choose one of {', '.join(LAWS)}")
    how, rng = plan or ChainLengths.suggested(law, model), np.random.default_rng(source.words(4).tolist())
    for _ in range(ROUNDS):
        pieces = CHAINS[law](model, observed, how, rng)
        out = collect(shown(pieces, "noise-aware posterior", how.pieces), how)
        theta, level, apart = model.theta(out[..., :-1]), *agreement(model, observed, out)
        held = [theta, level[..., None], *([out[..., -1:]] if observed.n is None else [])]
        found = Diagnostics(NAMES[law], how.chains, how.draws, *judged(np.concatenate(held, axis=-1)))
        if plan or (found.r_hat < 1 + (MIXED - 1) / 2 and found.ess > FEWEST):
            break
        how = ChainLengths(chains=how.chains, draws=how.draws, thin=LONGER * how.thin, burn=LONGER * how.burn)
    size = out[..., -1].astype(np.int64) if observed.n is None else None
    said = cautions(found, apart=apart, finite=bool(np.isfinite(theta).all()))
    return SampledPosterior(prior, theta, size, found, said)


def agreement(model: LatentNormal, observed: Observed, out: Floats) -> tuple[Floats, float]:
    """Ln p(Ŝ | φ, n) of every draw; and how far the draws leave Ŝ, in deviations of a sum of squares.

    Squares of Laplace noise vary √(5/2) times as much as those of normal noise, and have a longer tail.
    """
    from discreet.posteriors.normal.limit_kernel import agreement as found  # noqa: PLC0415 - loads numba

    rows = np.ascontiguousarray(out.reshape(-1, out.shape[-1]))
    level, square = np.empty(len(rows)), np.empty(len(rows))
    points = normal_points(model.columns, 0)
    found(rows, model.layout, observed.seen(model), model.grid, points, level, square)
    size = observed.noisy.size
    apart = (float(square.mean()) - size) / np.sqrt(2 * size)
    return level.reshape(out.shape[:-1]), float(apart / (TAIL if observed.power == 1 else 1.0))
