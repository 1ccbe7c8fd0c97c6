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
from discreet.posteriors.cautions import cautions, judged
from discreet.posteriors.normal.chains import ChainLengths
from discreet.posteriors.normal.latent_model import LatentNormal, Observed
from discreet.posteriors.normal.moments import MomentDraws, Moments, sample
from discreet.posteriors.normal.sampled import SampledPosterior
from discreet.posteriors.posterior import Diagnostics
from discreet.sampling.source import Source

if TYPE_CHECKING:
    from discreet.posteriors.normal.algebra_kernel import Prior
    from discreet.posteriors.normal.linear_regression import Design


METHOD_WEIGHTED = "weighted draws of the exact moments; clipped rows not modelled"
LOTS, PROPOSED, KEPT = 4, 1024, 500  # of weighted draws: compared as chains are
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
    return drawn(family, found, rng)


def drawn(
    family: BayesianLinearRegression,
    found: MomentDraws,
    rng: np.random.Generator,
    effective: float | None = None,
) -> SampledPosterior:
    """Draw (w, σ²) given every S."""
    location, root, scale = conjugate(found)
    with np.errstate(over="ignore", invalid="ignore"):
        variance = scale / rng.standard_gamma(found.target.prior[2] + found.n / 2)
        turned = np.einsum("...ij,...j->...i", root, rng.standard_normal(location.shape))
        theta = np.concatenate(
            [location + np.sqrt(variance)[..., None] * turned, variance[..., None]], axis=-1
        )
    watched = np.concatenate([location, np.log(scale)[..., None]], axis=-1)
    if effective is None:
        how = found.diagnostics(watched)
    else:  # lots are independent, and what they are worth is known
        how = Diagnostics(METHOD_WEIGHTED, LOTS, KEPT, judged(watched)[0], effective)
    more = (clipped(family, beyond(family, found, rng)),)
    said = cautions(how, apart=found.apart, finite=bool(np.isfinite(theta).all()), more=more)
    return SampledPosterior(family, theta, found.size, how, said)


def read_weighted(
    family: BayesianLinearRegression, observed: Observed, design: Design, source: Source
) -> SampledPosterior | None:
    """Do so without chains: Ŝ − noise, as the noise is, weighted by p(S); None where weights differ much.

    The same law. Where the noise is small beside XᵀX, p(S) is nearly flat over it.
    """
    rng = np.random.default_rng(source.words(4).tolist())
    aim = target(family, observed, design)
    found, effective = weighted(aim, observed, rng)
    return None if found is None else drawn(family, found, rng, effective)


def weighted(aim: Moments, observed: Observed, rng: np.random.Generator) -> tuple[MomentDraws | None, float]:
    """Draws of S by importance in lots, and what they are worth; none below a quarter of what is kept."""
    from discreet.posteriors.normal.moments_kernel import log_weights  # noqa: PLC0415 - loads numba

    lots = []
    for _ in range(LOTS):
        T, n = proposed(aim, observed, rng)
        level = log_weights(T, n, aim.seen[6], aim.prior) if len(T) else np.zeros(0)
        good = np.isfinite(level)
        if not good.any():
            return None, 0.0
        weight = np.exp(level[good] - level[good].max())
        effective = float(weight.sum() ** 2 / np.sum(weight**2))
        if effective < KEPT / 4:
            return None, 0.0
        places = np.searchsorted(np.cumsum(weight) / weight.sum(), (np.arange(KEPT) + rng.random()) / KEPT)
        chosen = rng.permutation(np.minimum(places, len(weight) - 1))
        lots.append((T[good][chosen], n[good][chosen], level[good][chosen], effective))
    T, n, level = (np.stack([lot[i] for lot in lots]) for i in range(3))
    return MomentDraws(T, n, level, aim, ChainLengths(chains=LOTS, draws=KEPT)), sum(lot[3] for lot in lots)


def proposed(aim: Moments, observed: Observed, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Roots of Ŝ − noise where that is positive definite, and n̂ − noise where n is private."""
    noisy, D = aim.seen[0], len(aim.seen[0])
    rows, columns = np.tril_indices(D)
    deviation = aim.seen[1][rows, columns]

    def noise(rate: Floats | float, size: tuple[int, ...]) -> Floats:
        if observed.power == 1:
            return np.asarray(rng.laplace(size=size) / rate)
        return np.asarray(rng.standard_normal(size) / np.sqrt(2 * np.asarray(rate)))

    S = np.zeros((PROPOSED, D, D))
    S[:, rows, columns] = noisy[rows, columns] - noise(deviation, (PROPOSED, rows.size))
    S[:, columns, rows] = S[:, rows, columns]
    n = np.full(PROPOSED, float(aim.n))
    if aim.unsure:
        n = np.rint(aim.seen[3] - noise(aim.seen[4], (PROPOSED,)))
    good = np.linalg.eigvalsh(S)[:, 0] > 1e-12 * np.trace(noisy)
    return np.linalg.cholesky(S[good]), n[good]


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
    inside = family.named is not None and family.radius**2 >= family.named.longest
    if share < CLIPPED or inside:
        return None
    radius = f"the radius {float(family.radius):.3g}"
    if family.named is not None:
        return (
            f"about {share:.0%} of the rows seem to be longer than {radius} of encoded rows, and were scaled "
            "down to it: they count for less, the variance comes out too small, and where the line is not "
            "quite straight it is that of the shorter rows; with radius="
            f"{float(family.named.longest) ** 0.5:.3g} no row is scaled down, at the price of more noise"
        )
    return (
        f"if rows are normal, about {share:.0%} of them lie beyond {radius} and "
        "were clipped to it, which this reading leaves out: unless public bounds keep every row inside, "
        'intervals may cover too seldom; law="limit" takes rows for normal ones and models it, and a larger '
        "radius clips fewer"
    )
