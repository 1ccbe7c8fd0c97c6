"""Private Gaussian naive Bayes: noisy counts and moments by class, one charge, read with their noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet.learn.class_laws import class_laws
from discreet.learn.classes import Labels, codes_of, declared_classes
from discreet.learn.declared import bounds_needed, names_of
from discreet.learn.estimates import Estimates
from discreet.learn.noisy import NoisyLearner
from discreet.learn.private import array
from discreet.mechanisms.learners.class_moments import STEPS, class_moments, moment_blocks
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import Guarantee
from discreet.sampling.source import Source


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(ClassifierMixin, NoisyLearner):  # type: ignore[misc]
    """P(class | x), columns independent and normal given the class, from noisy moments; free predictions.

    Public, and never read from the data: `classes`, all labels that may occur (a row with another counts for
    nothing); `bounds`, (lower, upper) of the columns, to which values are clipped. A missing number counts as
    the middle of its column. What noise and few records leave open widens the predictive law: means are
    drawn towards the mean of all classes and variances towards theirs, by how uncertain they are.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    audited: ClassVar[tuple[str, ...]] = ("noisy_blocks/class_moments", "noisy_blocks/class_moments_swapped")

    classes: Sequence[Any] | None = None

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        labels, scale = declared_classes(self.classes), bounds_needed(self.bounds, x.shape[1])
        k, d = len(labels), x.shape[1]
        held: list[NDArray[np.int64]] = []

        def ask(i: int, _: object) -> NDArray[np.int64]:
            if not held:
                middle, half = np.array(scale.centre), np.array(scale.half)
                held.extend(class_moments(x, codes_of(y, labels), k, middle, half))
            return held[i]

        ready = NoisyBlocks.calibrate(moment_blocks(k, d, target.relation), target=target)
        counts, moments = self._noised(ready, ask, len(x), target, source, classes=labels.tolist())
        self.classes_, self._scale = labels, scale
        self._read(counts, moments.reshape(2, k, d) / STEPS**2, ready.deviations)

    def _read(self, counts: Floats, moments: Floats, deviations: tuple[float, ...]) -> None:
        """Set what is predicted with, in units of the columns."""
        of_count, of_moment = deviations
        noise = of_moment / STEPS**2
        found = class_laws(counts, moments, of_count, noise, self._n)
        half, centre = np.array(self._scale.half), np.array(self._scale.centre)
        self.class_count_, self.class_prior_ = array(found.counts), array(found.counts / found.counts.sum())
        self.theta_, self.var_ = array(centre + half * found.mean), array(half**2 * found.variance)
        self._theta_sd, self._var_sd = array(half * found.mean_sd), array(half**2 * found.variance_sd)
        self._count_sd = array(np.full(len(counts), of_count))

    # ── what is said ──
    def _estimates(self) -> Estimates:
        """Say shares of classes, then means and variances by class and column."""
        pairs = [f"{name} | {label}" for label in self.classes_.tolist() for name in names_of(self)]
        total = self.class_count_.sum()
        return Estimates(
            "Gaussian naive Bayes",
            (
                *(f"share of {label}" for label in self.classes_.tolist()),
                *(f"mean of {pair}" for pair in pairs),
                *(f"variance of {pair}" for pair in pairs),
            ),
            np.concatenate([self.class_prior_, self.theta_.ravel(), self.var_.ravel()]),
            np.concatenate([self._count_sd / total, self._theta_sd.ravel(), self._var_sd.ravel()]),
        )

    # ── predict ──
    def predict_joint_log_proba(self, X: ArrayLike) -> Floats:
        """Log p(class, x | release), a column for each of `classes_`; free."""
        check_is_fitted(self)
        x = self._within(self._columns(X))
        spread = self.var_ + self._theta_sd**2  # the predictive law's: what is unknown of the mean too
        joint = [
            np.log(share) - 0.5 * (np.log(2 * np.pi * wide).sum() + ((x - mean) ** 2 / wide).sum(axis=1))
            for share, mean, wide in zip(self.class_prior_, self.theta_, spread, strict=True)
        ]
        return np.column_stack(joint)

    def _within(self, x: Floats) -> Floats:
        """Clip to the bounds, as in fit; what is missing is the middle."""
        half, centre = np.array(self._scale.half), np.array(self._scale.centre)
        return np.asarray(centre + half * np.nan_to_num(self._scale(x), nan=0.0))

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Log P(class | x, release)."""
        return np.log(np.maximum(self.predict_proba(X), np.finfo(np.float64).tiny))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(class | x, release), a column for each of `classes_`; free."""
        shares: Floats = softmax(self.predict_joint_log_proba(X), axis=1)
        return shares

    def predict(self, X: ArrayLike) -> Labels:
        """Return the label of the largest probability."""
        likeliest = self.predict_joint_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])
