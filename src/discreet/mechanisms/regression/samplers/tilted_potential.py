"""A potential whose prior sits at a centre: what a proximal step draws from; plain draws have it at 0."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn, Self, final

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from discreet.mechanisms.regression.samplers.loss_floors import floor
from discreet.mechanisms.regression.samplers.potential import Potential
from discreet.models.margin_losses import Floats, MarginLoss

BLOCK = 1024  # records at a time: their margins stay in the cache
ANCHOR_BITS = 26  # rows have 20 bits: margins of the anchor are then exact for d ≤ 2^13, by Cauchy–Schwarz
_TRIES = 200


@final
@dataclass(frozen=True, eq=False, repr=False)
class Tilted:
    """U(w) = ρΣφ(x_i·w, y_i) + (m/2)‖w − centre‖². Private, as its potential is."""

    potential: Potential
    strength: float  # m
    centre: Floats

    @classmethod
    def plain(cls, potential: Potential, more: float = 0.0) -> Self:
        """Take the potential itself, its prior stronger by `more`."""
        return cls(potential, float(potential.strength) + more, np.zeros(potential.dimension))

    @property
    def dimension(self) -> int:
        return len(self.centre)

    @property
    def rows(self) -> Floats:
        return self.potential.records.rows

    @property
    def answers(self) -> Floats:
        return self.potential.records.answers

    @property
    def loss(self) -> MarginLoss:
        return self.potential.loss

    @cached_property
    def weight(self) -> float:
        return float(self.potential.weight)

    @cached_property
    def longest(self) -> float:
        """max‖x_i‖"""
        return math.sqrt(max(np.einsum("ij,ij->i", self.rows, self.rows), default=0.0))

    def value(self, w: Floats) -> float:
        away = w - self.centre
        return self.weight * float(
            self.loss.value(self.rows @ w, self.answers).sum()
        ) + self.strength / 2 * float(away @ away)

    def gradient(self, w: Floats) -> Floats:
        slopes = self.loss.slope(self.rows @ w, self.answers)
        return np.asarray(self.weight * (slopes @ self.rows) + self.strength * (w - self.centre))

    def curved(self, bends: Floats, rows: Floats) -> Floats:
        """ρΣ bend·xxᵀ"""
        total = np.zeros((rows.shape[1], rows.shape[1]))
        for part in blocks(len(rows), 8 * BLOCK):
            total += (rows[part] * (self.weight * bends[part])[:, None]).T @ rows[part]
        return total

    def hessian(self, w: Floats) -> Floats:
        bends = self.loss.bend(self.rows @ w, self.answers)
        return self.curved(bends, self.rows) + self.strength * np.eye(len(w))

    def flattest(self, s: Floats, h: Floats) -> Floats:
        """φ'' at least, within h (and a millionth of a millionth) of the margins s."""
        return floor(self.loss, s, self.answers, h * (1 + 1e-12) + 1e-12) * (1 - 1e-12)

    @cached_property
    def anchor(self) -> Floats:
        """Newton's minimiser, put on a coarse grid: any point is a valid anchor, a near one accepts more.

        A fall may drown in the rounding of U, which must not make the search fail.
        """
        w, best = self.centre.copy(), self.value(self.centre)
        for _ in range(_TRIES):
            slope = self.gradient(w)
            step = cho_solve(cho_factor(self.hessian(w)), slope)
            fall = float(step @ slope)
            if fall < 1e-9:
                return coarse(w)
            size, blur = 1.0, 2.0**-44 * abs(best)
            while (
                not (lower := self.value(w - size * step)) <= best - size * fall / 4 + blur and size > 1e-10
            ):
                size /= 2
            w, best = w - size * step, lower
        raise ArithmeticError("Newton's method did not settle: the constants leave doubles too little room")

    def __reduce__(self) -> NoReturn:
        raise TypeError("a potential holds private rows and is not copied or pickled")


def blocks(n: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def coarse(w: Floats) -> Floats:
    """Return w on a grid of 2^-26 of its largest entry."""
    top = float(np.max(np.abs(w), initial=0.0))
    grid = math.ldexp(1.0, math.frexp(top)[1] - ANCHOR_BITS) if top else 1.0
    return np.asarray(np.rint(w / grid) * grid)
