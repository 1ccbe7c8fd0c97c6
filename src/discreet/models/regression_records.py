"""Rows and answers as a mechanism may take them: inside the ball, on the grid, proved in integers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.records import doubles
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats


@final
@dataclass(frozen=True, eq=False)
class Records:
    """‖row‖² ≤ bound_square exactly, answers as the loss takes them. Private: for a mechanism alone."""

    rows: Floats = field(repr=False)  # n × d, the constant last
    answers: Floats = field(repr=False)

    @classmethod
    def of(cls, model: GeneralizedLinear, features: ArrayLike, answers: ArrayLike) -> Self:
        """Scale long rows down to norm, put all on the grid; what is not a number becomes 0."""
        rows = rows_of(model, features)
        y = model.loss.admissible(_doubles(answers))
        if y.shape != (len(rows),):
            raise ValueError("give one answer for each row")
        return cls(rows, y)

    @property
    def n(self) -> int:
        return len(self.rows)

    def held_to(self, model: GeneralizedLinear) -> Self:
        """Return itself where it is as `of` makes it, proved in whole numbers; refuse (showing none) else."""
        d = len(model.design)
        if self.rows.ndim != 2 or self.rows.shape[1] != model.dimension:
            raise ValueError(f"the model has {model.dimension} weights, and a row as many numbers")
        q = self.rows[:, :d] / float(model.ball.grid)  # exact: the grid is a power of two
        inside = np.array_equal(q, np.rint(q)) and bool(((q * q).sum(axis=1) <= model.ball.largest**2).all())
        closed = inside and bool((self.rows[:, d:] == float(model.constant)).all())
        closed = closed and self.answers.shape == (self.n,)
        if not (closed and np.array_equal(model.loss.admissible(self.answers), self.answers)):
            raise ValueError("rows or answers are not those the promise is about: build them by Records.of")
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or pickled; release them through a mechanism")


def rows_of(model: GeneralizedLinear, features: ArrayLike) -> Floats:
    """Return rows of encoded features as the model has them: in the ball, on the grid, the constant last."""
    d = len(model.design)
    x = _doubles(features)
    x = x if x.ndim == 2 else x.reshape(-1, d)
    q = model.ball.integers(x, d) if len(x) else np.zeros((0, d), np.int64)
    rows = np.empty((len(q), model.dimension))
    rows[:, :d] = q * float(model.ball.grid)
    rows[:, d:] = float(model.constant)
    return rows


def _doubles(values: ArrayLike) -> Floats:
    """Read numbers; an error never shows one."""
    try:
        with np.errstate(over="ignore"):
            return doubles(values)
    except (TypeError, ValueError):
        pass
    raise ValueError("rows and answers must be numbers or missing; encode them by public levels first")
