"""Coverage to expect of a perturbed fit's intervals, on imagined fits: the prior's weights, public designs.

A plan and a result share this prediction. Where it is low, intervals are widened and the result says so; but
not for what a normal law of the weights lacks without noise as well, so that with growing ε the reading tends
to that of a fit without privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import log2
from typing import final

import numpy as np
from scipy.special import ndtri

from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats
from discreet.numerics.newton import descend
from discreet.posteriors.regression.perturbed_fit_moments import Tilt, moments, symmetric_noise
from discreet.posteriors.regression.public_designs import DESIGNS
from discreet.posteriors.regression.standard_design import shape_at

FEWEST, CHECKED = 30, 450  # replicates, and weights whose intervals are counted, of each design, at least
ROWS = 500  # of a design; more records weigh more instead
CLOSE = 1e-6  # ‖∇‖ at the end over the first
LEVEL = 0.9
LEAST = 0.85  # a reading says so where less is expected
SOUGHT = 0.88  # what intervals are widened to, on the worst of the designs
WIDEST = 2.0
HALF = 0.5  # of the noise's part: below, a caution names the normal law instead


@final
@dataclass(frozen=True)
class Expected:
    """Share of 90 % intervals that hold the weight, on the worst design, and what widens them to 88 %."""

    coverage: float
    widening: float = 1.0  # of standard deviations, in [1, 2]
    from_noise: bool = True  # whether the noise of the release is what coverage suffers from


def expected(
    model: GeneralizedLinear,
    n: int,
    tilt: Tilt,
    *,
    replicates: int | None = None,
    seed: int = 1,
) -> Expected:
    """Try the reading on imagined fits of n records: w from the prior, rows of every public design.

    Spends nothing. The labels' part in the gradient is taken as normal, so that the time does not grow in n.
    """
    times = max(FEWEST, -(-CHECKED // model.dimension)) if replicates is None else replicates
    return _expected(model, int(n), tilt, times, seed)


@lru_cache(maxsize=256)
def _expected(model: GeneralizedLinear, n: int, tilt: Tilt, replicates: int, seed: int) -> Expected:
    reach = float(ndtri((1 + LEVEL) / 2))
    tried = [deviations(model, n, tilt, name, replicates, seed) for name in DESIGNS]
    coverage, share = min((float(np.mean(z <= reach)), share) for z, share in tried)
    needed = [float(np.clip(np.quantile(z, SOUGHT) / reach, 1.0, WIDEST)) for z, _ in tried]
    widening = max(1 + part * (wide - 1) for wide, (_, part) in zip(needed, tried, strict=True))
    return Expected(coverage, widening, share > HALF)


def deviations(  # noqa: PLR0917 - what is imagined
    model: GeneralizedLinear, n: int, tilt: Tilt, design: str, replicates: int, seed: int
) -> tuple[Floats, float]:
    """|w − E w|/sd(w) of every weight in imagined fits; and the noise's part in it, in [0, 1].

    The part is twice the share of Var w that the noise of the release adds to (H + 1/prior)⁻¹, 1 at most.
    """
    random = np.random.default_rng(seed)
    rows = DESIGNS[design](model, min(max(n, 1), ROWS), random)
    weights = random.standard_normal((replicates, model.dimension)) * np.sqrt(tilt.prior)
    fits = [imagined(model, rows, n, w, tilt, random) for w in weights]
    estimates, hessians = (np.array(part) for part in zip(*fits, strict=True))
    shapes = np.array([shape_at(model, estimate) for estimate in estimates])
    mean, covariance = moments(estimates, hessians, shapes, tilt)
    variance = np.diagonal(covariance, axis1=-2, axis2=-1)
    without = [np.linalg.inv(curved(model, rows, n, at) + np.eye(len(at)) / tilt.prior) for at in estimates]
    kept = np.minimum(np.diagonal(np.array(without), axis1=-2, axis2=-1) / variance, 1.0)
    return np.abs(weights - mean) / np.sqrt(variance), min(1.0, 2 * float(np.mean(1 - kept)))


def imagined(  # noqa: PLR0917 - what a fit is made of
    model: GeneralizedLinear,
    rows: Floats,
    n: int,
    weights: Floats,
    tilt: Tilt,
    random: np.random.Generator,
) -> tuple[Floats, Floats]:
    """θ̃ and H̃ of n records like these: (n/m)Σ(φ'(x·θ) − φ'(x·w))x + N(0, H(w)) + λθ + b = 0."""
    d, scale, y = len(weights), n / len(rows), np.ones(len(rows))
    true = model.loss.slope(rows @ weights, y)
    spread = np.sqrt(scale * model.loss.bend(rows @ weights, y))
    tilted = (spread * random.standard_normal(len(rows))) @ rows + tilt.noise * random.standard_normal(d)

    def gradient(at: Floats) -> Floats:
        slopes = model.loss.slope(rows @ at, y) - true
        return np.asarray(scale * slopes @ rows + tilt.strength * at + tilted)

    enough = CLOSE * np.linalg.norm(gradient(weights))
    found, _ = descend(
        gradient,
        lambda at, _: curved(model, rows, n, at) + tilt.strength * np.eye(d),
        weights,
        lambda _, g: bool(np.linalg.norm(g) <= enough),
    )
    return found, curved(model, rows, n, found) + symmetric_noise(d, tilt.hessian_noise, random)


def curved(model: GeneralizedLinear, rows: Floats, n: int, at: Floats) -> Floats:
    """H of n records like these."""
    bends = model.loss.bend(rows @ at, np.ones(len(rows)))
    return np.asarray(n / len(rows) * (rows * bends[:, None]).T @ rows)


def records_behind(model: GeneralizedLinear, estimate: Floats, trace: float) -> int:
    """Guess a private n from tr H: the n at which the public design would have it, to half an octave."""
    each = max(float(np.trace(shape_at(model, estimate))), 1e-300)
    return round(2 ** (round(2 * log2(max(1.0, trace / each))) / 2))
