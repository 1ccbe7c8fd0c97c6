"""What a regression reads by name: columns as numbers by their public bounds, and the way back to units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import Floats

INTERCEPT = "(intercept)"


@final
@dataclass(frozen=True)
class Feature:
    """(value − centre)/half of a number, in [−1, 1], or the indicator of `level`; all of it public."""

    column: str
    centre: float = 0.0
    half: float = 1.0
    level: str | int | float | bool | None = None
    elsewhere: float = 0.0  # what a missing or undeclared value is encoded as
    reference: str | int | float | bool | None = None  # the level without an indicator, if there is one

    @property
    def name(self) -> str:
        """The column, with its level; a truth is named like its column."""
        return self.column if self.level is None or self.level is True else f"{self.column} = {self.level}"


def encoded(design: Sequence[Feature], columns: Mapping[str, ArrayLike]) -> Floats:
    """Encode public values by column, such as people to predict for, as private rows are encoded."""
    missing = [f.column for f in design if f.column not in columns]
    if missing:
        raise ValueError(f"the model reads {', '.join(dict.fromkeys(missing))}, which was not given")
    levels = {f.column: [*(g.level for g in design if g.column == f.column), f.reference] for f in design}
    return np.column_stack([_encoded(f, columns[f.column], levels[f.column]) for f in design])


def _encoded(feature: Feature, values: ArrayLike, levels: Sequence[Any]) -> Floats:
    if feature.level is None:
        x = (np.asarray(values, dtype=np.float64) - feature.centre) / feature.half
        return np.clip(np.where(np.isnan(x), feature.elsewhere, x), -1.0, 1.0)
    given: NDArray[Any] = np.asarray(values, dtype=object)
    declared = np.logical_or.reduce([given == level for level in levels if level is not None])
    return np.where(declared, given == feature.level, feature.elsewhere).astype(np.float64)


def references(design: Sequence[Feature]) -> dict[str, str]:
    """Name the level that each column's indicators are measured against, where one has no indicator."""
    return {f.column: str(f.reference) for f in design if f.reference is not None}


@final
@dataclass(frozen=True)
class Units:
    """β = turn·w + shift: weights of encoded columns, rewritten as weights of columns as they are given."""

    turn: Floats
    shift: Floats

    @classmethod
    def of(cls, design: Sequence[Feature], constant: float, answer: Feature | None = None) -> Units:
        """Rewrite for answers (y − centre)/half; `constant` is every row's last entry, 0 if there is none.

        Without a constant there is no intercept, and the line goes through the middle of the bounds.
        """
        half, centre = (1.0, 0.0) if answer is None else (answer.half, answer.centre)
        d, inside = len(design), np.array([1 / f.half for f in design])
        turn, shift = np.diag(half * inside), np.zeros(d)
        if constant:
            last = np.append(-half * inside * np.array([f.centre for f in design]), half * constant)
            turn = np.vstack([np.column_stack([turn, np.zeros(d)]), last])
            shift = np.append(shift, centre)
        return cls(turn, shift)

    def weights(self, w: Floats) -> Floats:
        """Rewrite weights, the last axis."""
        return np.asarray(w @ self.turn.T + self.shift)

    def spread(self, covariance: Floats) -> Floats:
        return np.asarray(self.turn @ covariance @ self.turn.T)

    def apart(self, beta: Floats) -> Floats:
        """Rewrite weights of columns as they are given for the encoded ones."""
        return np.asarray(np.linalg.solve(self.turn, np.asarray(beta) - self.shift))


@final
@dataclass(frozen=True)
class NamedColumns:
    """What linear regression reads of a table, and how: declared by the user, then told by the schema.

    `design` and `answer` are those of numbers in [−1, 1] until a table says more.
    """

    target: str
    features: tuple[str, ...]
    intercept: bool
    spread: Fraction  # prior deviation of a weight, in half ranges of the answer, at the mean of σ²
    norm: Fraction | None  # as it was given; None: by the rule
    design: tuple[Feature, ...] = ()
    answer: Feature = Feature("")
    short: bool = False  # rows x arrive with a length of at most 1

    def __post_init__(self) -> None:
        features = (self.features,) if isinstance(self.features, str) else tuple(self.features)
        if not features or len(set(features)) != len(features):
            raise ValueError(f"features must be at least one column, each once, got {list(features)}")
        if self.target in features:
            raise ValueError(f"the target {self.target!r} is among the features: it cannot predict itself")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "design", tuple(self.design) or tuple(map(Feature, features)))
        object.__setattr__(self, "answer", self.answer if self.answer.column else Feature(self.target))

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.features, self.target)

    @property
    def constant(self) -> Fraction:
        """The last entry of every row x; 0 without an intercept."""
        return Fraction(int(self.intercept), 2)

    @property
    def names(self) -> tuple[str, ...]:
        """Name each weight, the intercept last."""
        return (*(f.name for f in self.design), *([INTERCEPT] if self.intercept else []))

    @property
    def longest(self) -> Fraction:
        """‖(x, y)‖² of the longest row that the public bounds allow: a column is one number, or one level."""
        return (1 if self.short else len(self.features)) + 1 + self.constant**2

    @property
    def usual(self) -> Fraction:
        """R² unless given: half of the numbers' largest square and a half more, and all of the rest.

        A number that is uniform within its bounds has a third of its most; indicators may always be 1.
        """
        sided = {f.column for f in (*self.design, self.answer) if f.level is not None}
        numbers = len(self.features) + 1 - len(sided)
        return Fraction(numbers + 1, 2) + len(sided) + self.constant**2

    @property
    def units(self) -> Units:
        return Units.of(self.design, float(self.constant), self.answer)

    def rows(self, columns: Mapping[str, ArrayLike]) -> Floats:
        """Encode public values by column as rows x, the constant last."""
        x = encoded(self.design, columns)
        return np.column_stack([x, np.full((len(x), int(self.intercept)), float(self.constant))])
