"""A perturbed fit read as data: a Normal posterior that knows the noise in the fit and in its Hessian."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from discreet.mechanisms.regression.perturbed_fit import PerturbedFit
from discreet.models.margin_losses import DeclaredLoss, Floats
from discreet.posteriors.regression.coefficients import NormalCoefficients, TriedIntervals
from discreet.posteriors.regression.coverage import (
    LEAST,
    Expected,
    Tilt,
    expected,
    expected_trace,
    moments,
    records_behind,
    shape_at,
)


def reading(fit: PerturbedFit, reading: str = "noise_aware") -> NormalCoefficients:
    """Read a released fit, as often as wanted; `naive` takes it for what a non-private fit would be."""
    if reading not in READINGS:
        raise ValueError(f"a perturbed fit is read as {' or '.join(READINGS)}, got {reading!r}")
    return READINGS[reading](fit)


def noise_aware(fit: PerturbedFit) -> NormalCoefficients:
    """E w and Cov w given θ̃ and H̃, widened where simulated intervals hold too rarely, and a predictor.

    The simulation runs when an interval, a draw or a caution is asked for: means and predictions need none.
    """
    mean, covariance = _moments(fit)
    predictor, trial = predictive(fit), ImaginedFits(fit)
    return NormalCoefficients(fit.model, mean, covariance, predictor=predictor, trial=trial)


@final
@dataclass(frozen=True, eq=False)
class ImaginedFits(TriedIntervals):
    """Imagined fits of as many records, with as much noise as this one."""

    fit: PerturbedFit

    @cached_property
    def expected(self) -> Expected:
        return coverage(self.fit)

    @property
    def widening(self) -> float:
        return self.expected.widening

    @property
    def caution(self) -> str | None:
        return caution(self.expected)


def _moments(fit: PerturbedFit) -> tuple[Floats, Floats]:
    return moments(fit.estimate, fit.hessian, shape_at(fit.model, fit.estimate), Tilt.of(fit))


def naive(fit: PerturbedFit) -> NormalCoefficients:
    """N(θ̃, (H̃₊ + λ)⁻¹): for comparison, its intervals leave the noise out."""
    values, vectors = np.linalg.eigh(fit.hessian)
    covariance = (vectors / (np.maximum(values, 0) + fit.strength)) @ vectors.T
    return NormalCoefficients(
        fit.model, fit.estimate, covariance, "the noise of the release is left out of this reading", "naive"
    )


def predictive(fit: PerturbedFit) -> NormalCoefficients:
    """N(aθ̃, C): θ̃ as an observation of w with the noise (H̃₊+λ)⁻¹(H̃₊+σ²)(H̃₊+λ)⁻¹, and the prior's precision.

    For predictions: λ has shrunk θ̃ already, and the rows to predict lie where records lay, so that what H̃
    cannot tell from no curvature (where `noise_aware` falls back on the prior's 0) matters little to them.
    """
    values, vectors = np.linalg.eigh(fit.hessian)
    tilt = Tilt.of(fit)
    h = np.clip(values, 0, tilt.most)
    precision = 1 / tilt.prior + (h + tilt.strength) ** 2 / (h + tilt.noise**2)
    said = "made for predictions: its intervals leave the noise of the Hessian out"
    covariance = (vectors / precision) @ vectors.T
    return NormalCoefficients(fit.model, believed(fit) * fit.estimate, covariance, said, "predictive")


def believed(fit: PerturbedFit) -> float:
    """Return a = s/(1 + s), s = (nLc)²/(σ²√d); 1 for a private n.

    n records move the gradient by nLc at most. Of ‖b‖² the deviation σ²√(2d) is unknown: what cannot show
    above it is not predicted from.
    """
    if fit.n is None:
        return 1.0
    steepest = float(fit.model.loss.lipschitz**2 * fit.model.bound_square) * fit.n**2
    return float(steepest / (steepest + fit.noise**2 * fit.model.dimension**0.5))


def coverage(fit: PerturbedFit) -> Expected:
    """Coverage to expect for as many records, columns and as much noise; a plan asks the same function."""
    if isinstance(fit.model.loss, DeclaredLoss):
        return Expected(np.nan)
    tilt = Tilt.of(fit)
    n = fit.n
    if n is None:
        n = records_behind(fit.model, fit.estimate, float(expected_trace(fit.hessian, tilt)))
    return expected(fit.model, n, tilt)


def caution(found: Expected) -> str | None:
    """Say so where simulation expects 90 % intervals to hold less than 85 % of the weights."""
    if np.isnan(found.coverage):
        return "how well these intervals hold was not simulated: the loss is declared code, not kept here"
    if found.coverage >= LEAST:
        return None
    held = f"of 90 % intervals about {100 * found.coverage:.0f} % are expected to hold the weight"
    if not found.from_noise:
        return (
            f"{held}, in imagined fits of as many records: weights as long as the prior's are far from "
            "normal, without privacy as well, and no ε mends it; more records or, if public knowledge allows "
            "it, a smaller radius do"
        )
    return (
        f"intervals rest on a simulation here: {held}, in imagined fits with as much noise, so they are "
        f"shown {found.widening:.2f} times as wide; more records, a larger ε or fewer columns mend it"
    )


READINGS: dict[str, Callable[[PerturbedFit], NormalCoefficients]] = {
    "noise_aware": noise_aware,
    "naive": naive,
    "predictive": predictive,
}
