"""Centres from noisy sums of clusters: where they start, and how each round moves them. Costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from discreet.learn.class_laws import ClassLaws, class_laws
from discreet.mechanisms.learners.class_moments import STEPS
from discreet.mechanisms.learners.matched_centres import settled
from discreet.models.margin_losses import Floats

IMAGINED, MOST = 200, 4000  # rows for each centre and in all, from which the first centres come
ALMOST_EMPTY = 2.0  # deviations of a count's noise


@final
@dataclass(frozen=True)
class Clusters:
    """Centres of columns in [−1, 1], rows nearest to each, and the deviations of both."""

    centres: Floats
    counts: Floats
    sd: Floats
    counts_sd: float


@final
@dataclass(frozen=True)
class LloydRun:
    """What is public of a run: how many centres and columns, n, and the noise of each block in [−1, 1]."""

    clusters: int
    columns: int
    n: int | None
    noise: tuple[float, ...]  # counts, moments, then counts and sums of each round; or one sum of centres

    def start(self, counts: Floats, moments: Floats) -> tuple[Clusters, Floats]:
        """Spread the centres over rows imagined from the noisy means and variances of all columns.

        The rows come from a public seed. Also returned: the variances.
        """
        k, d = self.clusters, self.columns
        laws: ClassLaws = class_laws(
            counts, moments.reshape(2, 1, d) / STEPS**2, self.noise[0], self.noise[1] / STEPS**2, self.n
        )
        rng = np.random.default_rng(0)
        size = min(IMAGINED * k, MOST)
        rows = np.clip(laws.mean + np.sqrt(laws.variance) * rng.standard_normal((size, d)), -1, 1)
        centres = settled(rows, rows[:k])
        total, variance = float(laws.counts[0]), laws.variance[0]
        return (
            Clusters(centres, np.full(k, total / k), np.sqrt(np.tile(variance, (k, 1))), total / k),
            variance,
        )

    def after(self, released: tuple[Floats, ...]) -> Clusters:
        """Return the centres after all rounds of Lloyd's that were released."""
        now, variance = self.start(*released[:2])
        for i in range(2, len(released), 2):
            noise = self.noise[i], self.noise[i + 1] / STEPS
            now = self._moved(now, released[i], released[i + 1], noise, variance)
        return now

    def _moved(
        self, now: Clusters, counts: Floats, sums: Floats, noise: tuple[float, float], variance: Floats
    ) -> Clusters:
        """Draw each noisy centre towards the one before it, by how uncertain it is.

        S/N has the variance (σ_S² + m²σ_N²)/N² of noise; a cluster that noise cannot tell from an empty one
        takes half of the largest.
        """
        size = np.maximum(counts, max(1.0, noise[0]))[:, None]
        seen = np.clip(sums.reshape(now.centres.shape) / STEPS / size, -1, 1)
        unsure = (noise[1] ** 2 + (noise[0] * seen) ** 2) / size**2
        weight = variance / (variance + unsure)
        centres = now.centres + weight * (seen - now.centres)
        sd = np.sqrt(weight * unsure + variance / size)
        kept = np.maximum(counts, 0.0)
        for empty in np.flatnonzero(counts < ALMOST_EMPTY * noise[0]).tolist():
            largest = int(kept.argmax())
            if kept[largest] < 4 * ALMOST_EMPTY * noise[0]:
                break
            away = np.random.default_rng(empty).standard_normal(self.columns) * np.sqrt(variance) / 4
            centres[empty], centres[largest] = centres[largest] + away, centres[largest] - away
            kept[empty] = kept[largest] = kept[largest] / 2
        return Clusters(np.clip(centres, -1, 1), kept, sd, noise[0])

    def averaged(self, released: tuple[Floats, ...], blocks: int) -> Clusters:
        """Return the mean of the blocks' matched centres, each drawn towards where it started."""
        now, variance = self.start(*released[:2])
        unsure = (self.noise[2] / STEPS / blocks) ** 2
        seen = released[2].reshape(now.centres.shape) / STEPS / blocks
        weight = variance / (variance + unsure)
        centres = now.centres + weight * (seen - now.centres)
        sd = np.sqrt(weight * unsure + np.zeros_like(centres))
        return Clusters(np.clip(centres, -1, 1), now.counts, sd, now.counts_sd)
