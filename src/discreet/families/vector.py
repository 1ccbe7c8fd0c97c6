"""Families whose statistic is a vector of first and second moments."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.exact_fields import Grid, Rational
from discreet.families.family import (
    Family,
    Floats,
    Integers,
    Sensitivity,
    count_and_weight,
    entries,
    one_vector,
    table_size,
)
from discreet.families.records import Ball
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, NotProved, Relation
from discreet.privacy.worst_pairs.pairs import WorstCase


@dataclass(frozen=True, repr=False)
class VectorFamily(Family):
    """Moments release through NoisyStatistics: no worst neighbouring pair of one posterior draw is proved."""

    @property
    @abstractmethod
    def count_unit(self) -> int:
        """Return U: under ADD_REMOVE n travels as U·n, U the largest move of a coordinate, for one noise."""

    def joint(self, statistic: ArrayLike, n: int) -> Integers:
        """Return (S, U·n)."""
        whole = self.check(statistic, n)
        return np.append(whole, np.int64(self.count_unit * table_size(n)))

    def joint_sensitivity(self) -> Sensitivity:
        return self.sensitivity(ADD_REMOVE).beside(self.count_unit)

    def split(self, joint: ArrayLike) -> tuple[Floats, float]:
        flat = one_vector(joint, self.units.size + 1)
        return flat[:-1], float(flat[-1]) / self.count_unit

    def worst_case(self, n: int | None, *, step: Exact = 1, relation: Relation) -> WorstCase:  # noqa: ARG002
        raise NotProved(
            f"no worst neighbouring pair is proved for one posterior draw of {type(self).__name__}; "
            "NoisyStatistics covers it"
        )

    def _weighted(self, statistic: ArrayLike, n: Exact, weight: Exact) -> tuple[list[Fraction], Fraction]:
        """(r·units·S, r·n), exactly; units are dyadic doubles."""
        count, r = count_and_weight(n, weight)
        units = [type(r)(u) for u in self.units.tolist()]
        return [r * u * s for u, s in zip(units, entries(statistic, len(units)), strict=True)], r * count


class InBall(VectorFamily):
    """Rows within a public radius, on a public grid."""

    radius: Rational
    grid: Grid

    @cached_property
    def ball(self) -> Ball:
        return Ball(self.radius, self.grid)

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        return -self.radius, self.radius

    @property
    def count_unit(self) -> int:
        return self.ball.largest**2
