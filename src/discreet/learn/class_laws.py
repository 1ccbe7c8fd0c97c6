"""Normal laws of columns by class, from noisy counts and moments. Post-processing: it costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.models.margin_losses import Floats

USUAL = 1 / 9  # the variance that is expected of a column in [−1, 1] before anything is known: σ = ⅓
ANYWHERE = 3**-0.5  # deviation of a mean in [−1, 1], likewise
LEAST = 1e-5  # of a variance, likewise


@final
@dataclass(frozen=True)
class ClassLaws:
    """Counts by class, and mean and variance by class and column, each with its deviation."""

    counts: Floats
    mean: Floats
    mean_sd: Floats
    variance: Floats
    variance_sd: Floats


def class_laws(
    counts: Floats, moments: Floats, of_count: float, of_moment: float, n: int | None
) -> ClassLaws:
    """Read noisy counts and moments: normal laws of each, drawn towards what all classes have in common.

    `moments` are Σx and 2Σx² − N of columns in [−1, 1] by class, with noise of `of_moment`. With v the
    variance within classes, a mean is N(mean of all, v) a priori and its noisy value has variance
    v/N + σ²/N² + (σ_N m/N)²; a variance is v ± v a priori and its noisy value has variance
    2v²/N + σ²/(4N²) + 4m² times the mean's.
    """
    counted = _counted(counts, of_count, n)
    size = counted[:, None]
    mean = np.clip(moments[0] / size, -1, 1)
    square = np.clip((moments[1] / size + 1) / 2, 0, 1)
    total = counted.sum()
    noise_of_all = np.sqrt(len(counts)) * of_moment / total
    middle, _ = _drawn(np.clip(moments[0].sum(axis=0) / total, -1, 1), 0.0, ANYWHERE, noise_of_all)
    within, _ = _drawn(
        ((square - mean**2) * size).sum(axis=0) / total,
        USUAL,
        USUAL,
        noise_of_all,
    )
    within = np.clip(within, LEAST, 1)
    noise = (of_moment / size) ** 2 + (of_count * mean / size) ** 2
    mean, mean_sd = _drawn(mean, middle, np.sqrt(within), np.sqrt(within / size + noise))
    unsure = np.sqrt(2 * within**2 / size + (of_moment / (2 * size)) ** 2 + 4 * mean**2 * noise)
    variance, variance_sd = _drawn(square - mean**2, within, within, unsure)
    return ClassLaws(counted, mean, mean_sd, np.clip(variance, within / 16 + LEAST, 1), variance_sd)


def _counted(counts: Floats, noise: float, n: int | None) -> Floats:
    """Return counts at least as large as what noise leaves possible; no more than n in all."""
    kept = np.maximum(counts, max(1.0, noise / 2))
    return kept * min(1.0, n / kept.sum()) if n is not None else kept


def _drawn(
    seen: Floats, prior: Floats | float, spread: Floats | float, noise: Floats | float
) -> tuple[Floats, Floats]:
    """Mean and deviation of a normal value seen with normal noise, a priori N(prior, spread²)."""
    weight = np.square(spread) / (np.square(spread) + np.square(noise))
    return prior + weight * (seen - prior), np.sqrt(weight) * noise
