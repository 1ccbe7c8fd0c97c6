"""Coverage to expect of a perturbed fit's intervals: imagined fits, from the prior and a public design."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtri

from discreet.inference.perturbed_fit_moments import Tilt, moments, symmetric_noise
from discreet.inference.standard_design import ROWS, shape_at, standard_rows
from discreet.models.newton import descend

if TYPE_CHECKING:
    from discreet.models.generalized_linear import GeneralizedLinear
    from discreet.models.margin_losses import Floats

FEWEST, CHECKED = 60, 900  # replicates, and weights whose intervals are counted in all, at least
CLOSE = 1e-6  # ‖∇‖ at the end over the first
LEVEL = 0.9
LEAST = 0.85  # a reading says so where less is expected


def predicted_coverage(
    model: GeneralizedLinear,
    n: int,
    tilt: Tilt,
    *,
    replicates: int | None = None,
    seed: int = 1,
) -> float:
    """Share of 90 % intervals that hold the weight: w from the prior, rows uniform in the ball, n records.

    Spends nothing. The labels' part in the gradient is taken as normal, so that the time does not grow in n.
    """
    times = max(FEWEST, -(-CHECKED // model.dimension)) if replicates is None else replicates
    return _predicted(model, int(n), tilt, times, seed)


@lru_cache(maxsize=256)
def _predicted(model: GeneralizedLinear, n: int, tilt: Tilt, replicates: int, seed: int) -> float:
    random = np.random.default_rng(seed)
    rows = standard_rows(model, min(max(n, 1), ROWS), random)  # more records weigh more instead
    held = []
    for _ in range(replicates):
        weights = random.standard_normal(model.dimension) * np.sqrt(tilt.prior)
        estimate, hessian = imagined(model, rows, n, weights, tilt, random)
        mean, covariance = moments(estimate, hessian, shape_at(model, estimate), tilt)
        reach = ndtri((1 + LEVEL) / 2) * np.sqrt(np.diag(covariance))
        held.append(np.mean(np.abs(weights - mean) <= reach))
    return float(np.mean(held))


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

    def curved(at: Floats) -> Floats:
        bends = model.loss.bend(rows @ at, y)
        return np.asarray(scale * (rows * bends[:, None]).T @ rows)

    def gradient(at: Floats) -> Floats:
        slopes = model.loss.slope(rows @ at, y) - true
        return np.asarray(scale * slopes @ rows + tilt.strength * at + tilted)

    enough = CLOSE * np.linalg.norm(gradient(weights))
    found, _ = descend(
        gradient,
        lambda at, _: curved(at) + tilt.strength * np.eye(d),
        weights,
        lambda _, g: bool(np.linalg.norm(g) <= enough),
    )
    return found, curved(found) + symmetric_noise(d, tilt.hessian_noise, random)


def records_behind(model: GeneralizedLinear, estimate: Floats, hessian: Floats) -> int:
    """Guess a private n from the released Hessian: the n at which the public design would have its trace."""
    each = np.trace(shape_at(model, estimate))
    return max(1, round(float(np.trace(hessian)) / max(float(each), 1e-300)))
