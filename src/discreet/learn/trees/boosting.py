"""Cyclic boosting, noise in mind: a Gaussian belief about every column's shape, sharpened in turn.

Each block of noisy numbers is a histogram: first the counts of all columns' bins, then for each round and
column the sums of residuals in its bins. All that is kept follows from these and from what is public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar, final

import numpy as np
from scipy.special import log_ndtr

from discreet.learn.trees.columns import Codes
from discreet.mechanisms.learners.tree_counts import UNIT
from discreet.models.margin_losses import Floats

FIRST_ROUND = 2  # blocks before the residuals: totals, then counts
LEVEL = 4.0  # prior variance of the level
MEDIAN = 0.5  # of a shape's prior variance
SPREAD, TIMES = 1.0, np.geomspace(0.01, 10, 7)  # deviation of its logarithm; what is tried, times the median
DRIFT, LEVEL_DRIFT = 0.03, 0.002  # of a shape's variance, that other columns' moves may ask for each round
LONG = 0.15  # of a column's range, over which its shape changes
STRAIGHT, SMOOTH, ROUGH = 0.5, 0.5, 0.05  # shares of a prior shape: a line, a smooth curve, bins on their own
TINY = 1e-12


class ResidualLoss(ABC):
    """Of residuals in [−1, 1]: how curved the loss is, and what totals say before any residual is known."""

    variance: ClassVar[float]  # of a residual, over its curvature

    @abstractmethod
    def curvature(self, level: Floats, turn: int) -> Floats:
        """Second derivative of the loss, on average over records of this level."""

    @abstractmethod
    def size(self, totals: Floats, noise: float) -> float:
        """How many records there are, by the noisy totals; no fewer than their noise is worth."""

    @abstractmethod
    def begin(self, totals: Floats, noise: float, n: float) -> tuple[Floats, Floats]:
        """Return the level that the totals tell of, and its variance."""


@final
class LogisticResiduals(ResidualLoss):
    """Totals are the counts of the classes."""

    variance: ClassVar[float] = 1.0

    def curvature(self, level: Floats, turn: int) -> Floats:
        """p(1 − p) at the level, less once the shapes tell records apart"""
        p = 1 / (1 + np.exp(-level))
        return np.asarray(np.maximum(p * (1 - p), 0.05) * (1.0 if turn == 0 else 0.7))

    def size(self, totals: Floats, noise: float) -> float:
        return max(float(totals.sum()), noise, 1.0)

    def begin(self, totals: Floats, noise: float, n: float) -> tuple[Floats, Floats]:
        kept = counts_behind(totals, noise, n)
        logs, variance = np.log(kept), (noise**2 + kept) / kept**2
        if len(kept) == 2:
            return logs[1:] - logs[:1], variance.sum(keepdims=True)
        return logs - np.log(n), variance


@final
class SquaredResiduals(ResidualLoss):
    """Totals are the number of records and the sum of their answers in [−1, 1], in steps of 1/UNIT.

    `reach`: how many times as far as a residual an answer may lie from the middle.
    """

    variance: ClassVar[float] = 0.5

    def __init__(self, reach: float) -> None:
        self.reach = reach

    def curvature(self, level: Floats, turn: int) -> Floats:
        del turn
        return np.ones_like(level)

    def size(self, totals: Floats, noise: float) -> float:
        return max(float(totals[0]) / UNIT, noise / UNIT, 1.0)

    def begin(self, totals: Floats, noise: float, n: float) -> tuple[Floats, Floats]:
        mean, spread = totals[1:] / UNIT / n, noise / UNIT / n
        return np.clip(mean, -1, 1) * self.reach, np.array([(spread * self.reach) ** 2 + LEVEL / n])


def prior_shape(bins: int, *, coded: bool) -> Floats:
    """Covariance of a shape before any number is seen, of variance about 1."""
    if coded:
        return np.eye(bins)
    u = (np.arange(bins) + 0.5) / bins
    z = (u - 0.5) * sqrt(12)
    smooth = np.exp(-((u[:, None] - u) ** 2) / (2 * LONG**2))
    return np.asarray(STRAIGHT * np.outer(z, z) + SMOOTH * smooth + ROUGH * np.eye(bins))


def centred(covariance: Floats, counts: Floats) -> Floats:
    """Covariance of f − Σ counts·f/Σ counts"""
    away = np.eye(len(counts)) - counts / counts.sum()
    return np.asarray(away @ covariance @ away.T)


def counts_behind(noisy: Floats, deviation: float, n: float) -> Floats:
    """E(count | noisy count) of exponential counts of mean n/bins in N(0, deviation²), scaled to n."""
    z = noisy / deviation - deviation * len(noisy) / n
    kept = deviation * (z + np.exp(-z * z / 2 - np.log(2 * np.pi) / 2 - log_ndtr(z)))
    return np.asarray(np.maximum(kept, TINY) * n / np.maximum(kept, TINY).sum())


@final
@dataclass
class BoostedShapes:
    """Shapes and levels as far as noisy histograms were observed; knows no record."""

    sizes: tuple[int, ...]  # bins of each column
    coded: tuple[bool, ...]
    outputs: int  # 1, or one for each of three and more classes
    loss: ResidualLoss
    deviations: Sequence[float]  # of the noise, block by block, in integers
    n: float | None = None  # the number of records, where it is public
    shapes: list[Floats] = field(default_factory=list)  # (bins, outputs) of each column
    covariances: list[Floats] = field(default_factory=list)  # (outputs, bins, bins)
    counts: list[Floats] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.level = np.zeros(self.outputs)
        self._sure = np.full(self.outputs, LEVEL)
        self.shapes = [np.zeros((size, self.outputs)) for size in self.sizes]
        self.covariances = [np.zeros((self.outputs, m, m)) for m in self.sizes]
        self._priors = [prior_shape(m, coded=c) for m, c in zip(self.sizes, self.coded, strict=True)]
        self._variances = np.zeros((len(self.sizes), self.outputs))

    def column(self, block: int) -> int:
        """Which column's residuals a block holds; of those before residuals, the first."""
        return max(block - FIRST_ROUND, 0) % len(self.sizes)

    def observe(self, block: int, noisy: Floats) -> Floats:
        """Take in one block, in order; returns what the bins of its column add to scores from now on."""
        column, level = self.column(block), self.level.copy()
        before = self.shapes[column].copy()
        if block == 0:
            self._observe_totals(noisy)
        elif block == 1:
            each = np.split(noisy, np.cumsum(self.sizes)[:-1])
            self.counts = [counts_behind(part, self.deviations[1], self._size) for part in each]
            self._priors = [centred(k, c) for k, c in zip(self._priors, self.counts, strict=True)]
        else:
            turn = (block - FIRST_ROUND) // len(self.sizes)
            sums = noisy.reshape(self.sizes[column], self.outputs) / UNIT
            for output in range(self.outputs):
                self._sharpen(column, output, sums[:, output], self.deviations[block] / UNIT, turn)
        return self.shapes[column] - before + self.level - level

    def score(self, codes: Codes) -> Floats:
        """Add up the level and the shapes, (rows, outputs)."""
        total = np.tile(self.level, (len(codes), 1))
        for j, shape in enumerate(self.shapes):
            total += shape[codes[:, j]]
        return total

    def _observe_totals(self, noisy: Floats) -> None:
        """Begin at the level that the totals tell of, as far as their noise lets them."""
        noise = self.deviations[0]
        self._size = self.n or self.loss.size(noisy, noise)
        level, variance = self.loss.begin(noisy, noise, self._size)
        gain = self._sure / (self._sure + variance)
        self.level, self._sure = gain * level, self._sure * (1 - gain) + LEVEL_DRIFT

    def _sharpen(self, column: int, output: int, sums: Floats, noise: float, turn: int) -> None:
        """Update level and shape by ĝ = H(level* − level + f* − f) + N(0, H·variance + noise²I).

        H = curvature·counts. A Kalman step: the gain is what is unknown of f against the noise, and falls as
        more is known. Shapes have mean 0 over the records: what they had in common would be the level's.
        """
        weight = self.counts[column] * self.loss.curvature(self.level[output : output + 1], turn)
        error, prior = weight * self.loss.variance + noise**2, self._priors[column]
        sure = float(self._sure[output])
        if turn == 0:
            level = sure * np.outer(weight, weight)
            self._variances[column, output] = likeliest(prior, weight, (level, error), sums)
        scale = self._variances[column, output]
        known = prior * scale if turn == 0 else self.covariances[column][output] + DRIFT * scale * prior
        spread = weight[:, None] * (known + sure) * weight + np.diag(error)
        seen = known * weight
        solved = np.linalg.solve(spread, np.column_stack([sums, seen.T, weight]))
        step = seen @ solved[:, 0]
        self.covariances[column][output] = known - seen @ solved[:, 1:-1]
        self.shapes[column][:, output] += step
        self.level[output] += sure * float(weight @ solved[:, 0])
        self._sure[output] = sure - sure**2 * float(weight @ solved[:, -1]) + LEVEL_DRIFT


def likeliest(prior: Floats, weight: Floats, rest: tuple[Floats, Floats], sums: Floats) -> float:
    """Return the variance of a shape that its noisy sums, and a lognormal prior, make likeliest.

    `rest` is what else the sums vary by: together, and each bin's own.
    """
    other = rest[0] + np.diag(rest[1])

    def score(variance: float) -> float:
        root = np.linalg.cholesky(variance * weight[:, None] * prior * weight + other)
        z = np.linalg.solve(root, sums)
        held = np.log(variance / MEDIAN) / SPREAD
        return float(-z @ z / 2 - np.log(np.diag(root)).sum() - held**2 / 2)

    return float(max((TIMES * MEDIAN).tolist(), key=score))
