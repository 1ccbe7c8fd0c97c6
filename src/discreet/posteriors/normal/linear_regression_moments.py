"""Regression from noisy S = (XᵀX, Xᵀy, yᵀy) by chains over S, see `moments`.

Given XᵀX the law of the other two is known whatever the rows x are; the law of x enters only as a weak prior
of XᵀX.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.families.family import Floats
from discreet.families.laws.matrices import unpack
from discreet.families.linear_regression import BayesianLinearRegression
from discreet.posteriors.cautions import cautions
from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.latent_model import LatentNormal, Observed
from discreet.posteriors.normal.moments import MomentDraws, Moments, sample
from discreet.posteriors.normal.sampled import SampledPosterior
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from discreet.posteriors.normal.algebra_kernel import Prior
    from discreet.posteriors.normal.linear_regression import Design


CLIPPED = 0.02  # share of rows beyond the radius from which a caution is due


def read_moments(
    family: BayesianLinearRegression,
    observed: Observed,
    design: Design,
    source: Source,
    *,
    plan: ChainLengths | None = None,
) -> SampledPosterior:
    """Draws of (w, σ²), and of n where it is private."""
    rng = np.random.default_rng(source.words(4).tolist())
    found = sample(target(family, observed, design), plan, rng, fitted)
    location, root, scale = conjugate(found)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = scale / rng.standard_gamma(found.target.prior[2] + found.n / 2)
        turned = np.einsum("...ij,...j->...i", root, rng.standard_normal(location.shape))
        theta = np.concatenate(
            [location + np.sqrt(variance)[..., None] * turned, variance[..., None]], axis=-1
        )
    how = found.diagnostics(fitted(found))
    more = (clipped(family, beyond(family, found, rng)),)
    said = cautions(how, apart=found.apart, finite=bool(np.isfinite(theta).all()), more=more)
    return SampledPosterior(family, theta, found.size, how, said)


def target(family: BayesianLinearRegression, observed: Observed, design: Design) -> Moments:
    m, P, a, b = family._parameters  # noqa: SLF001 - doubles of the public fields
    unit, fixed = float(family.grid) ** 2, int(design.intercept)
    p, noisy = m.size - fixed, unpack(observed.noisy) * unit
    root = np.asarray(np.linalg.cholesky(P), dtype=np.float64)
    wide = design.width(family) ** 2 * design.degrees * np.eye(p)
    prior = (m, root, a, b, np.zeros(p), wide, p + 1.0 + design.degrees, design.strength)
    trace = float(family.radius) ** 2
    return Moments.of(observed, prior, noisy=noisy, unit=np.full(noisy.shape, unit), fixed=fixed, trace=trace)


def base(family: BayesianLinearRegression, observed: Observed, model: LatentNormal, design: Design) -> Prior:
    """Return the prior and a few rows' worth of the release: a start for the swarm of another law."""
    held, (m, P, a, b) = target(family, observed, design), model.prior[4:]
    d, n = m.size, float(held.n)
    k, root = d + 3.0, held.seen[5]
    L, answers = root[:d, :d], root[d, :d]
    precision = P + k / n * L @ L.T
    location = np.asarray(np.linalg.solve(precision, P @ m + k / n * L @ answers), dtype=np.float64)
    return *model.prior[:4], location, precision, a + k / 2, b + float(k / n * root[d, d] ** 2 / 2)


def conjugate(found: MomentDraws) -> tuple[Floats, Floats, Floats]:
    """(w, σ²) | S: location m_n, a root of P_n⁻¹, scale b_n, by singular values of Λ⁻¹L, P = ΛΛᵀ, G = LLᵀ.

    As in `log_answers`; nothing is inverted that may be singular.
    """
    m, root, _, b = found.target.prior[:4]
    T, d = found.T, m.size
    L, v = T[..., :d, :d], T[..., d, :d] - m @ T[..., :d, :d]
    left, s, right = np.linalg.svd(np.linalg.solve(root, L))
    turned = np.einsum("...ij,...j->...i", right, v)
    back = np.linalg.solve(root.T, left)
    location = m + np.einsum("...ij,...j->...i", back, s / (1 + s**2) * turned)
    scale = b + 0.5 * (T[..., d, d] ** 2 + np.sum(turned**2 / (1 + s**2), axis=-1))
    return location, back / np.sqrt(1 + s**2)[..., None, :], scale


def fitted(found: MomentDraws) -> Floats:
    """Return what chains are judged by: E[w|S] and ln b_n."""
    location, _, scale = conjugate(found)
    return np.concatenate([location, np.log(scale)[..., None]], axis=-1)


def beyond(family: BayesianLinearRegression, found: MomentDraws, rng: np.random.Generator) -> float:
    """Share of normal rows of the second moments S/n, one for every draw, that leave the ball."""
    noise = rng.standard_normal(found.T.shape[:-1])
    noise[..., : found.target.seen[6]] = 1.0
    rows = np.einsum("...ij,...j->...i", found.T, noise) / np.sqrt(found.n)[..., None]
    return float(np.mean(np.sum(rows**2, axis=-1) > float(family.radius) ** 2))


def clipped(family: BayesianLinearRegression, share: float) -> str | None:
    """Say where so many rows may have been clipped that a reading should have modelled it."""
    if share < CLIPPED:
        return None
    return (
        f"if rows are normal, about {share:.0%} of them lie beyond the radius {float(family.radius):g} and "
        "were clipped to it, which this reading leaves out: unless public bounds keep every row inside, "
        'intervals may cover too seldom; law="limit" takes rows for normal ones and models it, and a larger '
        "radius clips fewer"
    )
