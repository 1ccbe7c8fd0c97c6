"""What a regression mechanism is given: rows and answers inside the ball, or sums over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.exact_fields import power_of_two_above
from discreet.families.family import Integers
from discreet.families.records import Ball, doubles, refuse_overflow
from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import Floats


# ── Rows and answers as a mechanism may take them: inside the ball, on the grid, proved in integers.
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

    def chunks(self) -> Iterator[Self]:
        """Give the rows part by part: here all at once."""
        yield self

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows are not copied or pickled; release them through a mechanism")


@final
@dataclass(frozen=True, eq=False)
class Passes:
    """Records that stay where they are and are read anew, part by part, at each pass over them.

    Memory holds one part at a time, however many records there are. They must be the same at every pass.
    """

    model: GeneralizedLinear
    n: int = field(repr=False)
    read: Callable[[], Iterator[Records]] = field(repr=False)

    def chunks(self) -> Iterator[Records]:
        """Give the records part by part, each proved to be as the promise takes it."""
        seen = 0
        for part in self.read():
            seen += part.n
            yield part.held_to(self.model)
        if seen != self.n:
            raise ValueError("the table changed while it was read: its number of records is another one")

    def held_to(self, model: GeneralizedLinear) -> Self:
        """Return itself if made for this model; `chunks` proves each part."""
        if model != self.model:
            raise ValueError("these records were prepared for another model; read the table for this one")
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a door to private rows is not copied or pickled")


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


# ── Σr and Σrrᵀ of r = y(q, a): the approximate statistics of a regression on signs, as exact integers.
# q is a row's features in the ball, on a grid of norm/2^15 that is coarser than other mechanisms' so that
# sums of products fit 64 bits; a is the constant's column, y = ±1, and 0 for a label that is not declared.
MOMENT_BITS = 15
BLOCK = 2**14  # rows at a time, in doubles: BLAS has no products of integers


def moment_ball(model: GeneralizedLinear) -> Ball:
    """Where the features of a row lie, in steps of norm/2^15 or a little less."""
    return Ball(model.norm, power_of_two_above(model.norm) / 2**MOMENT_BITS)


def constant_steps(model: GeneralizedLinear) -> int:
    """Return a, in steps of the grid: half the norm; 0 without an intercept."""
    ball = moment_ball(model)
    return (model.norm / (2 * ball.grid)).__floor__() if model.intercept else 0


def length_square(model: GeneralizedLinear) -> int:
    """Return C², in steps: ‖r‖² ≤ C² = R² + a² for every record."""
    return moment_ball(model).largest ** 2 + constant_steps(model) ** 2


def grid(model: GeneralizedLinear) -> Fraction:
    """Return what a step is worth."""
    return moment_ball(model).grid


def signed_moments(model: GeneralizedLinear, features: ArrayLike, answers: ArrayLike) -> Integers:
    """(Σr, Σrrᵀ packed) of encoded rows in memory; what is not a number is 0."""
    width = len(model.design)
    x = doubles(features).reshape(-1, width)
    y = np.sign(np.nan_to_num(doubles(answers)))
    if y.shape != (len(x),):
        raise ValueError("give one answer for each row")
    refuse_overflow(len(x), length_square(model))
    ball, d = moment_ball(model), model.dimension
    first, second = np.zeros(d, np.int64), np.zeros((d, d), np.int64)
    for start in range(0, len(x), BLOCK):
        part = slice(start, start + BLOCK)
        r = np.full((len(x[part]), d), float(constant_steps(model)))
        r[:, :width] = ball.integers(x[part], width)
        r *= y[part, None]
        # exact in any order: |r_i r_j| ≤ C² ≤ 2^30 + 2^28, so that partial sums of a block stay below 2^45
        first += r.sum(axis=0).astype(np.int64)
        second += (r.T @ r).astype(np.int64)
    return np.concatenate([first, second[np.triu_indices(d)]])


# ── What a regression mechanism is given, from encoded rows in memory: their records, or sums over them.
# Mechanism.reads → (model, features, answers) ↦ the value that its release takes
VALUES: dict[str, Callable[..., Any]] = {
    "records": Records.of,
    "passes": Records.of,
    "moments": signed_moments,
}
