"""Private principal components, from noisy sums and second moments."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.families.family import Integers
from discreet.learn.declared import bounds_needed, names_of, norm_of
from discreet.learn.estimates import Estimates
from discreet.learn.noisy import NoisyLearner
from discreet.learn.private import array
from discreet.mechanisms.learners.class_moments import STEPS
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.mechanisms.learners.second_moments import DIAGONAL, ball_blocks, ball_moments, matrix
from discreet.models.margin_losses import Floats
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee
from discreet.sampling.source import Source


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NoisyLearner):  # type: ignore[misc]
    """The directions in which rows vary most, from a noisy mean and a noisy covariance; free projections.

    Noise is symmetric and the same in every direction: σ² on the diagonal of Σxxᵀ and σ²/2 off it. Entries
    of `explained_variance_` that are within the noise's own spectrum mean nothing: `noise_variance_` is its
    edge.

    Public, and never read from the data: `bounds`, (lower, upper) of the columns, which are scaled to
    [−1, 1] and clipped; `norm`, the length that longer scaled rows are cut to, √d unless given: less means
    less noise. A missing number counts as the middle.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    supervised: ClassVar[bool] = False
    audited: ClassVar[tuple[str, ...]] = ("noisy_blocks/second_moments",)

    n_components: int | None = None
    norm: Exact | None = None

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        del y
        scale, d = bounds_needed(self.bounds, x.shape[1]), x.shape[1]
        kept = d if self.n_components is None else self.n_components
        if isinstance(kept, bool) or int(kept) != kept or not 1 <= kept <= d:
            raise ValueError(f"n_components must be a whole number from 1 to {d}, got {self.n_components!r}")
        length = int(STEPS * float(norm_of(self.norm, scale)))
        length = min(length, isqrt(d * STEPS**2 - 1) + 1)
        if not length >= 1:
            raise ValueError(f"norm must be above 0, got {self.norm!r}; it must be public knowledge")
        half, centre = np.array(scale.half), np.array(scale.centre)
        held: list[Integers] = []

        def ask(i: int, _: object) -> Integers:
            if not held:
                held.extend(ball_moments(x, centre, half, length))
            return held[i]

        ready = NoisyBlocks.calibrate(ball_blocks(d, length, target.relation), target=target)
        counts, sums, second = self._noised(ready, ask, len(x), target, source, norm=length / STEPS)
        n = max(float(counts[0]), 1.0) if target.relation is ADD_REMOVE else float(len(x))
        mean = np.clip(sums / (n * STEPS), -1, 1)
        covariance = matrix(second, d) / (n * STEPS**2) - np.outer(mean, mean)
        self._spread = ready.deviations[2] / (DIAGONAL * n * STEPS**2)
        self._mean_sd = array(half * ready.deviations[1] / (n * STEPS))
        self.mean_ = array(centre + half * mean)
        self._directions(half[:, None] * covariance * half, int(kept), half)

    def _directions(self, covariance: Floats, kept: int, half: Floats) -> None:
        """Take the largest eigenvalues; each direction points where its largest entry is positive."""
        values, vectors = np.linalg.eigh(covariance)
        values, vectors = values[::-1], vectors[:, ::-1].T
        signs = np.sign(vectors[np.arange(len(vectors)), np.abs(vectors).argmax(axis=1)])
        vectors *= signs[:, None]
        positive = np.maximum(values, 0.0)
        total = max(float(positive.sum()), np.finfo(np.float64).tiny)
        self.components_, self.n_components_ = array(vectors[:kept]), kept
        self.explained_variance_ = array(positive[:kept])
        self.explained_variance_ratio_ = array(positive[:kept] / total)
        # uᵀEu of noise that is σ on the diagonal and σ/√2 off it is N(0, σ²‖u‖⁴), for every u
        self._variance_sd = array(self._spread * np.square(vectors[:kept] * half).sum(axis=1))
        self.noise_variance_ = float(self._spread * np.sqrt(2 * len(half)) * np.square(half).mean())

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # ── what is said ──
    def _estimates(self) -> Estimates:
        """Say the variance along each component, then the means."""
        return Estimates(
            "Principal components",
            (
                *(f"variance along component {i}" for i in range(self.n_components_)),
                *(f"mean of {name}" for name in names_of(self)),
            ),
            np.concatenate([self.explained_variance_, self.mean_]),
            np.concatenate([self._variance_sd, self._mean_sd]),
        )

    # ── project ──
    def transform(self, X: ArrayLike) -> Floats:
        """Project rows, as they are, onto the components; free. What is missing is the middle."""
        check_is_fitted(self)
        x = self._columns(X)
        filled = np.where(np.isnan(x), np.array(bounds_needed(self.bounds, x.shape[1]).centre), x)
        return np.asarray((filled - self.mean_) @ self.components_.T)

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Return the rows that have these projections and nothing besides."""
        check_is_fitted(self)
        return np.asarray(np.asarray(X, np.float64) @ self.components_ + self.mean_)
