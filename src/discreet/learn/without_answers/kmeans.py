"""Private k-means: Lloyd's steps from noisy counts and sums, or matched centres of disjoint parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.families.family import Integers
from discreet.learn.declared import bounds_needed, names_of
from discreet.learn.estimates import Estimates
from discreet.learn.noisy import NoisyLearner
from discreet.learn.private import array
from discreet.learn.without_answers.clusters import LloydRun
from discreet.mechanisms.learners.class_moments import STEPS, moments_of_all, quantised
from discreet.mechanisms.learners.lloyd import START, cluster_sums, lloyd_blocks
from discreet.mechanisms.learners.matched_centres import block_centres, matched_block
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee
from discreet.sampling.source import Source

METHODS = ("lloyd", "sample_and_aggregate")
ROUNDS = 5  # of Lloyd's, unless told [SCLBJ16 §5]
ROWS_PER_CENTRE = 25  # of a part of sample and aggregate, unless told how many parts


@final
@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(TransformerMixin, ClusterMixin, NoisyLearner):  # type: ignore[misc]
    """k centres of columns within public bounds, and free assignments to them.

    method="lloyd": `iterations` rounds of noisy counts and sums of the clusters, from centres that noisy
    means and variances of all columns suggest. method="sample_and_aggregate": the same start, then the mean
    of the matched centres of `parts` disjoint random parts of the rows. Either is one charge.

    Public, and never read from the data: `bounds`, (lower, upper) of the columns, to which values are
    clipped; a missing number counts as the middle. There are no `labels_` and no `inertia_`: without noise
    they would be facts about single rows. `predict` answers for rows that you have.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    supervised: ClassVar[bool] = False
    audited: ClassVar[tuple[str, ...]] = ("noisy_blocks/lloyd", "noisy_blocks/matched_centres")

    n_clusters: int = 8
    method: str = "lloyd"
    iterations: int = ROUNDS
    parts: int | None = None

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        del y
        scale, d = bounds_needed(self.bounds, x.shape[1]), x.shape[1]
        k, parts = self._whole("n_clusters"), self._split(len(x), target)
        blocks = lloyd_blocks(k, d, self._whole("iterations"), target.relation)
        if parts is not None:
            blocks = (*blocks[:2], replace(matched_block(k, d), share=1 - START))
        ready = NoisyBlocks.calibrate(blocks, target=target)
        walk = LloydRun(k, d, None if target.relation is ADD_REMOVE else len(x), ready.deviations)
        held: list[Any] = []

        def ask(i: int, released: tuple[Floats, ...]) -> Integers:
            """Look at the records: first all of them, then by the centres that were released so far."""
            if not held:
                held.append(quantised(x, np.array(scale.centre), np.array(scale.half)))
            if i < 2:
                return moments_of_all(held[0])[i]
            if parts is not None:
                return block_centres(held[0], walk.after(released).centres * STEPS, parts, source)
            if i % 2 == 0:
                held[1:] = cluster_sums(held[0], walk.after(released).centres * STEPS)
            return np.asarray(held[1 + i % 2])

        released = self._noised(ready, ask, len(x), target, source, n_clusters=k, parts=parts)
        found = walk.after(released) if parts is None else walk.averaged(released, parts)
        half, centre = np.array(scale.half), np.array(scale.centre)
        self._scale, self._title = scale, "k-means"
        self.cluster_centers_ = array(centre + half * found.centres)
        self._sd = array(half * found.sd)
        self.counts_, self._counts_sd = array(found.counts), found.counts_sd
        self.n_iter_ = (len(blocks) - 2) // 2 if parts is None else 1

    def _whole(self, name: str) -> int:
        value = getattr(self, name)
        if isinstance(value, bool) or int(value) != value or not 1 <= value <= 10_000:
            raise ValueError(f"{name} must be a whole number from 1 to 10000, got {value!r}")
        return int(value)

    def _split(self, n: int, target: Guarantee) -> int | None:
        """Return the number of parts, a public number; None for Lloyd's steps."""
        if self.method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, got {self.method!r}")
        if self.method == "lloyd":
            return None
        if self.parts is not None:
            return self._whole("parts")
        if target.relation is ADD_REMOVE:
            raise ValueError(
                "parts is missing: into how many the rows are split. With n private it cannot follow from "
                f"n, so it must be public knowledge; {ROWS_PER_CENTRE} rows for each centre of a part are few"
            )
        return max(2, n // (ROWS_PER_CENTRE * self._whole("n_clusters")))

    # ── what is said ──
    def _estimates(self) -> Estimates:
        """Say the rows of each cluster, then its centre."""
        k = range(len(self.cluster_centers_))
        return Estimates(
            "k-means",
            (
                *(f"rows nearest to centre {i}" for i in k),
                *(f"{name} of centre {i}" for i in k for name in names_of(self)),
            ),
            np.concatenate([self.counts_, self.cluster_centers_.ravel()]),
            np.concatenate([np.full(len(k), self._counts_sd), self._sd.ravel()]),
        )

    # ── predict ──
    def transform(self, X: ArrayLike) -> Floats:
        """Return the distance of each row to each centre, in the columns scaled by their bounds; free."""
        check_is_fitted(self)
        rows, centres = (self._scaled(part) for part in (self._columns(X), self.cluster_centers_))
        square = np.square(rows).sum(axis=1)[:, None] - 2 * rows @ centres.T + np.square(centres).sum(axis=1)
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return the number of the nearest centre."""
        return np.asarray(self.transform(X).argmin(axis=1))

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return minus the sum of squared distances to the nearest centres; larger is better."""
        del y
        return -float(np.square(self.transform(X).min(axis=1)).sum())

    def fit_predict(self, X: ArrayLike, y: ArrayLike | None = None, **given: Any) -> NDArray[np.intp]:  # noqa: ANN401 - as fit takes
        """Fit, then assign the same rows: assignments of private rows are as private as they are."""
        del y
        return self.fit(X, **given).predict(X)

    def _scaled(self, x: Floats) -> Floats:
        return np.nan_to_num(self._scale(np.asarray(x)), nan=0.0)
