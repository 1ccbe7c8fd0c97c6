"""The private side of boosting: exact histograms of counts and of residuals, asked for in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from discreet.families.family import Integers
from discreet.learn.trees.boosting import BoostedShapes
from discreet.learn.trees.columns import Codes
from discreet.mechanisms.learners.tree_counts import whole_steps
from discreet.models.margin_losses import Floats

Residuals: TypeAlias = Callable[[Floats], Floats]  # scores (rows, outputs) → residuals in [−1, 1]
# Looks at the records: totals, codes of those that count, and their residuals
Prepare: TypeAlias = Callable[[], tuple[Integers, Codes, Residuals]]


class Histograms:
    """Answers what the mechanism asks for; holds records and must not outlive the fit."""

    def __init__(self, prepare: Prepare, walk: BoostedShapes) -> None:
        self._prepare, self._walk = prepare, walk
        self._codes: Codes = np.zeros((0, 0), np.int64)
        self._scores: Floats = np.zeros((0, 0))

    def __call__(self, block: int, released: tuple[Floats, ...]) -> Integers:
        sizes, walk = self._walk.sizes, self._walk
        if block == 0:
            totals, self._codes, self._residuals = self._prepare()
            self._scores = np.tile(walk.level, (len(self._codes), 1))
            return totals
        change = walk.observe(block - 1, released[-1])
        self._scores += change[self._codes[:, walk.column(block - 1)]]
        if block == 1:
            each = [np.bincount(self._codes[:, j], minlength=m) for j, m in enumerate(sizes)]
            return np.concatenate(each).astype(np.int64)
        column = walk.column(block)
        steps = whole_steps(self._residuals(self._scores), 1.0 if walk.outputs == 1 else 2.0)
        mine = self._codes[:, column]
        sums = [np.bincount(mine, weights=r, minlength=sizes[column]) for r in steps.T]
        return np.rint(np.stack(sums, axis=1)).astype(np.int64).reshape(-1)
