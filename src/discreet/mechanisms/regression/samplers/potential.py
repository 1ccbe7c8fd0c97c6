"""−ln of the posterior that regression draws come from, in the weights. Private: never released."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import NoReturn, Self, final

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

from discreet.models.margin_losses import ClippedPoisson, Floats, Logistic, MarginLoss
from discreet.models.regression_records import Records
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import NotProved


@final
@dataclass(frozen=True, eq=False, repr=False)
class Potential:
    """U(w) = ρΣφ(x_i·w, y_i) + (m/2)‖w‖²: m-strongly convex and (m + ρ·smoothness(n))-smooth."""

    records: Records
    loss: MarginLoss
    weight: Exact  # ρ
    strength: Exact  # m

    def __post_init__(self) -> None:
        if not (self.weight >= 0 and self.strength > 0):
            raise ValueError("a potential needs a weight of at least 0 and a strength above 0")

    @property
    def dimension(self) -> int:
        return int(self.records.rows.shape[1])

    @property
    def n(self) -> int:
        return self.records.n

    def margins(self, w: Floats) -> Floats:
        """x_i·w"""
        return np.asarray(self.records.rows @ w)

    def value(self, w: Floats) -> float:
        losses = self.loss.value(self.margins(w), self.records.answers)
        return float(self.weight) * float(losses.sum()) + float(self.strength) / 2 * float(w @ w)

    def gradient(self, w: Floats) -> Floats:
        slopes = self.loss.slope(self.margins(w), self.records.answers)
        return np.asarray(float(self.weight) * (slopes @ self.records.rows) + float(self.strength) * w)

    def hessian(self, w: Floats) -> Floats:
        rows, bends = self.records.rows, self.loss.bend(self.margins(w), self.records.answers)
        curved = float(self.weight) * ((rows * bends[:, None]).T @ rows)
        return np.asarray(curved + float(self.strength) * np.eye(self.dimension))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a potential holds private rows and is not copied or pickled")


# ── What the exact samplers know of a loss beyond its two constants: how flat it may get near a point.
# A declared loss is refused here: its slope is clipped but its values are whatever the declaration says, and
# these samplers look at values.
Rise = Callable[[Floats, slice], Floats]


_PULL = Fraction(27847, 100000)  # W(1/e) = 0.278464…


@singledispatch
def floor(loss: MarginLoss, s: Floats, y: Floats, h: Floats) -> Floats:
    """Lower bound of φ'' on [s − h, s + h], for each record."""
    del s, y, h
    _refuse(loss)


@floor.register(Logistic)
def _floor_logistic(_loss: Logistic, s: Floats, y: Floats, h: Floats) -> Floats:
    """σ'(|s| + h), as σ' falls with |s|; by self-concordance it is at least e^{−h}σ'(s)"""
    q = expit(-(np.abs(s) + h))
    return np.asarray(q * (1 - q) * (y != 0))


@floor.register(ClippedPoisson)
def _floor_clipped_poisson(loss: ClippedPoisson, s: Floats, y: Floats, h: Floats) -> Floats:
    """e^{s−h} while s + h stays below the knee ln(upper), beyond which the loss is a line"""
    knee = math.log(float(loss.upper))
    return np.asarray(np.where(s + h < knee, np.exp(np.minimum(s, knee) - h), 0.0) + 0 * y)


@singledispatch
def pull(loss: MarginLoss) -> Fraction:
    """Bound of −sφ'(s, y): how much a record may add to m·E‖w‖²."""
    _refuse(loss)


@pull.register(Logistic)
def _pull_logistic(_loss: Logistic) -> Fraction:
    """max_t t/(1 + e^t): the top is where e^{t−1}(t − 1) = 1/e, and the value there is t − 1 = W(1/e)"""
    return _PULL


@pull.register(ClippedPoisson)
def _pull_clipped_poisson(loss: ClippedPoisson) -> Fraction:
    """By convexity −sφ'(s) ≤ φ(0) − min φ; a line joins the loss at its knee with slope ≥ 0, so the least
    value is that of e^s − ys, y − y ln y, and φ(0) ≤ 1: at most max(1, B ln B − B + 1) for counts 0 … B
    """
    most = float(loss.upper)
    return Fraction(math.ceil(1024 * max(1.0, most * math.log(max(most, 1.0)) - most + 1) + 1), 1024)


@singledispatch
def rounded(loss: MarginLoss, reach: float) -> float:
    """How many u = 2^-53 one record of `rises` may err by for |s| ≤ reach, beside what its margin errs by."""
    del reach
    _refuse(loss)


@rounded.register(Logistic)
def _rounded_logistic(_loss: Logistic, reach: float) -> float:
    """80 of kernels.py, and 2 of a sum s + h of two margins and its positive part"""
    return 80.0 + 3 * reach


@rounded.register(ClippedPoisson)
def _rounded_clipped_poisson(loss: ClippedPoisson, reach: float) -> float:
    """16 of each term: NumPy's exponential and logarithm are trusted to 8 units in the last place"""
    most = float(loss.upper)
    return 16 * (1.0 + most * (2 * reach + math.log(max(most, 1.0)) + 2))


@singledispatch
def rises(loss: MarginLoss, s: Floats, y: Floats) -> Rise:
    """Return (h, part) ↦ Σ_{i ∈ part} φ(s_i + h_i) − φ(s_i), for every row of h."""
    del s, y
    _refuse(loss)


@rises.register(Logistic)
def _rises_logistic(_loss: Logistic, s: Floats, y: Floats) -> Rise:
    from discreet.mechanisms.regression.samplers.kernels import bases, increments  # noqa: PLC0415 - loads numba

    inverses, lines = np.empty_like(s), np.empty_like(s)
    bases(-y * s, inverses, lines)

    def rise(h: Floats, part: slice) -> Floats:
        totals, scratch = np.empty(len(h)), np.empty((2, h.shape[1]))
        increments(h, s[part], y[part], inverses[part], lines[part], *scratch, totals)
        return totals

    return rise


@rises.register(ClippedPoisson)
def _rises_clipped_poisson(loss: ClippedPoisson, s: Floats, y: Floats) -> Rise:
    base = loss.value(s, y)
    return lambda h, part: np.asarray((loss.value(s[part] + h, y[part]) - base[part]).sum(axis=1))


def _refuse(loss: MarginLoss) -> NoReturn:
    raise NotProved(
        f"nothing is known about how flat a {loss.name} loss gets, nor of its values, so it has no exact "
        "sampler; sampler='langevin' rests on the slope's bound alone"
    )


# ── A potential whose prior sits at a centre: what a proximal step draws from; plain draws have it at 0.
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
