"""A private random forest: public random partitions, and noisy counts of the classes in their leaves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet.learn.classes import codes_of, declared_classes
from discreet.learn.declared import names_of
from discreet.learn.estimates import Estimates
from discreet.learn.noisy import NoisyLearner
from discreet.learn.trees.columns import Codes, Columns
from discreet.learn.trees.labels import share_estimates, softmax
from discreet.learn.trees.partitions import Partitions, drawn
from discreet.learn.trees.shares import leaf_shares
from discreet.mechanisms.learners.noisy_blocks import NoisyBlocks
from discreet.mechanisms.learners.tree_counts import class_totals, leaf_counts
from discreet.mechanisms.mechanism import positive, whole
from discreet.models.margin_losses import Floats
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import PureDP
from discreet.sampling.source import Source

# Trees at least and at most, and how many records there are for each, in deviations of one tree's noise: a
# pure promise costs T times that noise, another one √T times.
PURE, OTHER = (1, 10, 23), (4, 50, 2)
WORTH = 3.0  # how many independent trees all of them are worth at most


def counted(partitions: Partitions, kept: Floats, labels: Codes, classes: int) -> NDArray[np.int64]:
    """Count the records of each class in each leaf of each tree, flat; a label below 0 counts for nothing."""
    known = labels >= 0
    rows, mine = kept[known], labels[known]
    cells = partitions.leaves * classes
    each = [
        np.bincount(partitions.leaf(rows, tree) * classes + mine, minlength=cells)
        for tree in range(partitions.trees)
    ]
    return np.concatenate(each).astype(np.int64)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class RandomForestClassifier(ClassifierMixin, NoisyLearner):  # type: ignore[misc]  # no types
    """Trees whose splits are random points within public bounds; noisy counts of the classes in each leaf.

    No split looks at a record, so that all of the budget goes to the counts, which are read with the noise in
    mind: leaves of few records lean on the cells around them.

    Public, and never read from the data: `bounds`, (lower, upper) of the columns, to which records are
    clipped; `classes`, all labels that may occur (a row with another counts for nothing);
    `categorical_features`, columns of codes, which are whole numbers between their bounds. Missing numbers
    count as the middle of their column. `trees` follow from the noise and the number of records unless given,
    up to 50, or 10 where the promise is pure; where n is private, `records` is a public guess of it.
    `strength`: how many records the shares of a cell are worth in the cells within it; `partition_seed` draws
    the partitions and needs no secret.

    `ledger` (a Ledger, a path or a URL) is charged durably before a value is looked at. WITHOUT ONE NOTHING
    RECORDS WHAT WAS SPENT: every fit, also of each fold of a cross-validation, is a further release. A
    `random_state` other than None makes fits reproducible and NOT PRIVATE.
    """

    audited: ClassVar[tuple[str, ...]] = ("noisy_blocks/forest", "noisy_blocks/discrete_laplace")

    classes: Sequence[Any] | None = None
    categorical_features: Sequence[int | str] | None = None
    trees: int | None = None
    records: int | None = None
    depth: int = 8
    strength: float = 4.0
    partition_seed: int = 0

    def _fit(self, x: Floats, y: NDArray[Any], target: Guarantee, source: Source) -> None:
        classes, columns = declared_classes(self.classes), self._described()
        trees = self._usual(len(x), len(classes), target) if self.trees is None else self.trees
        positive(self.strength, "strength")
        if whole(self.depth, "depth") > 16:
            raise ValueError(f"depth must be at most 16, got {self.depth}")
        parts = drawn(
            columns, whole(trees, "trees"), self.depth, whole(self.partition_seed, "partition_seed", least=0)
        )

        def ask(block: int, released: tuple[Floats, ...]) -> NDArray[np.int64]:
            del released
            labels = codes_of(y, classes)
            if block == 0:
                return np.bincount(labels[labels >= 0], minlength=len(classes)).astype(np.int64)
            return counted(parts, columns(x), labels, len(classes))

        totals, noisy = self._noised(
            self._blocks(parts.trees, len(classes), target),
            ask,
            len(x),
            target,
            source,
            classes=classes.tolist(),
            categorical=list(columns.categorical),
            trees=parts.trees,
            depth=self.depth,
            partition_seed=self.partition_seed,
        )
        counts = noisy.reshape(parts.trees, parts.leaves, len(classes))
        noise, deviation = self.mechanism_.deviations
        kept = np.maximum(totals, max(1.0, noise / 2))  # below its own noise a count says nothing
        self.classes_, self._parts, self._whole = classes, parts, kept / kept.sum()
        self._spread = noise / kept.sum()
        shares = leaf_shares(counts, self._whole, deviation**2, float(self.strength))
        self._evidence = np.log(shares / self._whole) * (min(sqrt(parts.trees), WORTH) / parts.trees)

    def _blocks(self, trees: int, classes: int, target: Guarantee) -> NoisyBlocks:
        leaves = leaf_counts(trees, 1 << self.depth, classes, target.relation)
        return NoisyBlocks.calibrate((class_totals(classes, target.relation), leaves), target=target)

    def _usual(self, n: int, classes: int, target: Guarantee) -> int:
        """Return the usual number of trees, from what is public alone."""
        least, most, each = PURE if isinstance(target, PureDP) else OTHER
        guess = n if target.relation.replaces else self.records
        if guess is None:
            return most
        noise = self._blocks(1, classes, target).deviations[1]
        return int(min(max(whole(guess, "records") / (each * noise), least), most))

    def _described(self) -> Columns:
        return Columns.of(self.bounds, self.categorical_features, names_of(self))

    def _estimates(self) -> Estimates:
        return share_estimates(self.classes_, self._whole, self._spread)

    # ── predict ──
    def predict_proba(self, X: ArrayLike) -> Floats:
        """P(class | x) ∝ π ∏ (p_t/π)^(min(√T, 3)/T), p_t the shares in the leaf of tree t, π those of all.

        The power stands between the 1 of independent trees and the 1/T of trees that all say the same.
        """
        check_is_fitted(self)
        kept = self._parts.columns(self._columns(X))
        score = np.tile(np.log(self._whole), (len(kept), 1))
        for tree in range(self._parts.trees):
            score += self._evidence[tree][self._parts.leaf(kept, tree)]
        return softmax(score)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest label."""
        likeliest = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])
