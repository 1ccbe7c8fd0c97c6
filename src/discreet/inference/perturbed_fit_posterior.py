"""A perturbed fit read as data: a Normal posterior that knows the noise in the fit and in its Hessian."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from discreet.inference.coefficients import NormalCoefficients
from discreet.inference.perturbed_fit_moments import Tilt, moments
from discreet.inference.regression_coverage import LEAST, predicted_coverage, records_behind
from discreet.inference.standard_design import shape_at
from discreet.models.margin_losses import DeclaredLoss

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.mechanisms.perturbed_fit import PerturbedFit


def reading(fit: PerturbedFit, reading: str = "noise_aware") -> NormalCoefficients:
    """Read a released fit, as often as wanted; `naive` takes it for what a non-private fit would be."""
    if reading not in READINGS:
        raise ValueError(f"a perturbed fit is read as {' or '.join(READINGS)}, got {reading!r}")
    return READINGS[reading](fit)


def noise_aware(fit: PerturbedFit) -> NormalCoefficients:
    """E w and Cov w given θ̃ and H̃, a caution where intervals are not expected to hold, and a predictor."""
    mean, covariance = moments(fit.estimate, fit.hessian, shape_at(fit.model, fit.estimate), Tilt.of(fit))
    return NormalCoefficients(fit.model, mean, covariance, caution(fit), "noise_aware", predictive(fit))


def naive(fit: PerturbedFit) -> NormalCoefficients:
    """N(θ̃, (H̃₊ + λ)⁻¹): for comparison, its intervals leave the noise out."""
    values, vectors = np.linalg.eigh(fit.hessian)
    covariance = (vectors / (np.maximum(values, 0) + fit.strength)) @ vectors.T
    return NormalCoefficients(
        fit.model, fit.estimate, covariance, "the noise of the release is left out of this reading", "naive"
    )


def predictive(fit: PerturbedFit) -> NormalCoefficients:
    """θ̃ as an observation of w whose noise is (H̃₊+λ)⁻¹(H̃₊+σ²)(H̃₊+λ)⁻¹, with the prior's precision; mean θ̃.

    For predictions: λ has shrunk θ̃ already, and the rows to predict lie where records lay, so that what H̃
    cannot tell from no curvature (where `noise_aware` falls back on the prior's 0) matters little to them.
    """
    values, vectors = np.linalg.eigh(fit.hessian)
    h, tilt = np.maximum(values, 0), Tilt.of(fit)
    precision = 1 / tilt.prior + (h + tilt.strength) ** 2 / (h + tilt.noise**2)
    said = "made for predictions: its intervals leave the noise of the Hessian out"
    return NormalCoefficients(fit.model, fit.estimate, (vectors / precision) @ vectors.T, said, "predictive")


def caution(fit: PerturbedFit) -> str | None:
    """Say so where simulation expects 90 % intervals to hold less than 85 % of the weights."""
    if isinstance(fit.model.loss, DeclaredLoss):
        return "how well these intervals hold was not simulated: the loss is declared code, not kept here"
    n = fit.n if fit.n is not None else records_behind(fit.model, fit.estimate, fit.hessian)
    expected = predicted_coverage(fit.model, n, Tilt.of(fit))
    if expected >= LEAST:
        return None
    return (
        f"intervals are too narrow here: of 90 % intervals about {100 * expected:.0f} % are expected to hold "
        "the weight, in simulated fits with as much noise; more records, a larger ε or fewer columns mend it"
    )


READINGS: dict[str, Callable[[PerturbedFit], NormalCoefficients]] = {
    "noise_aware": noise_aware,
    "naive": naive,
    "predictive": predictive,
}
