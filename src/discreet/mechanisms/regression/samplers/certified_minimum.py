"""The minimum of a strongly convex sum over private records, with a proof of how near it is.

Newton in doubles, the error of every operation counted; where that does not prove enough, iterative
refinement in ball arithmetic, which always ends since a gradient step contracts. Private: never released.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import NoReturn, final

import numpy as np
from flint import arb, arb_mat

from discreet.models.generalized_linear import GeneralizedLinear
from discreet.models.margin_losses import ClippedPoisson, Floats, Logistic, MarginLoss
from discreet.models.regression_records import Passes, Records
from discreet.numerics.search import descend, inverted
from discreet.privacy.arithmetic.ball import ball, ceiling, precision

UNIT = 2.0**-53
EVALUATION = 2.0**-46  # relative to their bounds, what slopes and bends may err by when computed in doubles
LEAF = 512  # records summed in one product, before sums are added in pairs
ENOUGH = 128  # records a column, for a Hessian that only points the way
BITS = 256


def pairwise(part: Callable[[int, int], Floats], low: int, high: int) -> Floats:
    """Σ over records [low, high) by halves: each number passes at most LEAF + log₂ n additions."""
    if high - low <= LEAF:
        return part(low, high)
    middle = low + LEAF * max(1, (high - low) // (2 * LEAF))
    return pairwise(part, low, middle) + pairwise(part, middle, high)


def summation(n: int) -> float:
    """Relative error of a pairwise sum of products of two or three factors."""
    return (LEAF + max(0, math.ceil(math.log2(max(n, 1) / LEAF))) + 8) * UNIT * 1.0001


def added(parts: Iterable[Floats], zero: Floats) -> Floats:
    """Add up parts, carrying what each addition rounds off [Neumaier 1974]: Σ to two roundings of Σ|part|.

    One part stays as it is, bit for bit. `summation` has room for the two: a pairwise sum of three factors
    leaves five of its eight.
    """
    total, lost = zero, np.zeros_like(zero)
    for part in parts:
        new = total + part
        larger = np.abs(total) >= np.abs(part)
        lost = lost + np.where(larger, (total - new) + part, (part - new) + total)
        total = new
    return np.asarray(total + lost)


def curvature(rows: Floats, bends: Floats) -> Floats:
    """Σ bend·xxᵀ"""
    d = rows.shape[1]
    if not len(rows):
        return np.zeros((d, d))
    roots = np.sqrt(bends)

    def part(low: int, high: int) -> Floats:
        scaled = rows[low:high] * roots[low:high, None]
        return np.asarray(scaled.T @ scaled)

    total = pairwise(part, 0, len(rows))
    return np.asarray((total + total.T) / 2)


@final
@dataclass(frozen=True, eq=False)
class TiltedSum:
    """F(w) + b·w, F = Σφ(x_i·w, y_i) + (λ/2)‖w‖²: λ-strongly convex."""

    model: GeneralizedLinear
    records: Records | Passes = field(repr=False)
    strength: float  # λ, exactly
    tilt: Floats = field(repr=False)  # b, exactly

    @property
    def loss(self) -> MarginLoss:
        return self.model.loss

    @cached_property
    def bound(self) -> float:
        """c, rounded up"""
        with precision(128):
            return ceiling(ball(self.model.bound_square).sqrt())

    def gradient(self, w: Floats) -> Floats:
        total = added((self._slopes(part, w) for part in self.records.chunks()), np.zeros(len(w)))
        return np.asarray(total + (self.strength * w + self.tilt))

    def _slopes(self, part: Records, w: Floats) -> Floats:
        """Σφ'·x over a part of the records"""
        rows = part.rows
        if not len(rows):
            return np.zeros(len(w))
        slopes = self.loss.slope(rows @ w, part.answers)
        return pairwise(lambda i, j: slopes[i:j] @ rows[i:j], 0, len(rows))

    def hessian(self, w: Floats, every: int = 1) -> Floats:
        """∇² at w; from every k-th record alone, k times, for a direction."""
        d = len(w)
        parts = (self._bends(part.rows[::every], part.answers[::every], w) for part in self.records.chunks())
        return added((part * every for part in parts), np.zeros((d, d))) + self.strength * np.eye(d)

    def _bends(self, rows: Floats, answers: Floats, w: Floats) -> Floats:
        """Σφ''·xxᵀ over a part of the records"""
        return curvature(rows, self.loss.bend(rows @ w, answers))

    def slack(self, w: Floats) -> float:
        """Bound the error of `gradient`: of margins, of slopes, of sums."""
        n, c, d = self.records.n, self.bound, len(w)
        most, bend = float(self.loss.lipschitz) * 1.0001, float(self.loss.curvature) * 1.0001
        size, tilt = float(np.linalg.norm(w)) * 1.0001, float(np.linalg.norm(self.tilt)) * 1.0001
        margins = bend * (d + 2) * UNIT * c * size
        slopes = n * c * (margins + most * (EVALUATION + summation(n)))
        return 1.001 * (slopes + 4 * UNIT * (n * c * most + self.strength * size + tilt)) + 1e-300

    def certified(self, w: Floats, gradient: Floats, tolerance: float, *, last: bool = True) -> bool:
        """Whether the minimum lies within tolerance: ‖∇‖ ≤ tolerance·m, m-strongly convex in between.

        m = λ always. As a last resort, if |φ'''| ≤ φ'' then bends fall at most by e^{−c·tolerance}, and the
        least eigenvalue of the Hessian at w counts, less what its computation may err by.
        """
        norm = float(np.linalg.norm(gradient)) * (1 + (len(w) + 8) * UNIT) + self.slack(w)
        if not math.isfinite(norm):
            return False
        if norm <= tolerance * self.strength * 0.9999:
            return True
        n, d, c = self.records.n, len(w), self.bound
        most = n * float(self.loss.curvature) * c**2
        hopeless = norm > tolerance * (self.strength + most / d)  # the least eigenvalue is below the average
        if hopeless or not last or not self.loss.self_concordant or c * tolerance > 1 / 2:
            return False
        wrong = most * (2 * EVALUATION + summation(n) + (d + 2) * UNIT * c * float(np.linalg.norm(w)))
        wrong += 64 * d * d * UNIT * (most + self.strength)  # of the eigenvalues
        least = float(np.linalg.eigvalsh(self.hessian(w))[0]) - self.strength - 2 * wrong
        return norm <= 0.9999 * tolerance * (self.strength + max(0.0, least) * (1 - c * tolerance))

    def settled(self, w: Floats, gradient: Floats) -> bool:
        """Whether rounding may be most of what is seen of ∇: nothing is gained by going on in doubles."""
        return float(np.linalg.norm(gradient)) <= self.slack(w) / 16

    def __reduce__(self) -> NoReturn:
        raise TypeError("a sum over private rows is not copied or pickled")


def minimum(problem: TiltedSum, tolerance: float, grid: Fraction) -> list[int]:
    """Return what is within tolerance of the minimum, then put on the grid (a power of two), in its units."""
    w, near = _newton(problem, tolerance)
    if near:
        return [int(k) for k in np.rint(w / float(grid))]
    with precision(BITS):
        found = _refined(problem, w, tolerance)
        return [int((x / ball(grid) + arb(0.5)).floor().unique_fmpz()) for x in found.entries()]


def _newton(problem: TiltedSum, tolerance: float) -> tuple[Floats, bool]:
    """Descend by a part of the records at first; what was found is proved by the gradient of them all."""
    d = len(problem.tilt)
    every = max(1, problem.records.n // (ENOUGH * (d + 32)))
    w, g = descend(
        problem.gradient,
        lambda w, rough: problem.hessian(w, every if rough else 1),
        np.zeros(d),
        lambda w, g: problem.certified(w, g, tolerance, last=False) or problem.settled(w, g),
        rough=every > 1,
    )
    return w, problem.certified(w, g, tolerance)


# ── in balls: slow, and only where doubles cannot prove enough ──────────────────────────────────────


def _refined(problem: TiltedSum, start: Floats, tolerance: float) -> arb_mat:
    """Newton with the Hessian in doubles and the gradient in balls; a gradient step where that gains less
    than half. Distances to the minimum shrink by 1 − λ/β at least, so this ends.
    """
    w = arb_mat([[arb(float(x)).mid()] for x in np.where(np.isfinite(start), start, 0.0)])
    enough = arb(tolerance) * arb(problem.strength)
    beta = arb(problem.strength) + ball(problem.model.smoothness(problem.records.n))
    newton, g = _ball_inverse(problem, w), _ball_gradient(problem, w)
    while not _norm(g) <= enough:
        if _norm(_middle(g)) <= _norm(_radius(g)) >= enough:
            raise ArithmeticError("doubles do not resolve the declared loss finely enough to prove a minimum")
        trial = _middle(w - newton * g)
        tried = _ball_gradient(problem, trial)
        if not 2 * _norm(tried) <= _norm(g):
            trial = _middle(w - g * (1 / beta))
            newton, tried = _ball_inverse(problem, trial), _ball_gradient(problem, trial)
        w, g = trial, tried
    return w


def _ball_inverse(problem: TiltedSum, w: arb_mat) -> arb_mat:
    inverse = inverted(problem.hessian(np.array([float(x) for x in w.entries()])))
    return arb_mat([[float(x) for x in row] for row in inverse])


def _middle(w: arb_mat) -> arb_mat:
    return arb_mat([[x.mid()] for x in w.entries()])


def _radius(w: arb_mat) -> arb_mat:
    return arb_mat([[x.rad()] for x in w.entries()])


def _norm(g: arb_mat) -> arb:
    """Bound ‖g‖; a ball around 0 has squares of both signs and no root, its largest number has."""
    return sum((x.abs_upper() ** 2 for x in g.entries()), arb(0)).sqrt()


def _ball_gradient(problem: TiltedSum, w: arb_mat) -> arb_mat:
    total = w * arb(problem.strength) + arb_mat([[float(b)] for b in problem.tilt])
    for part in problem.records.chunks():
        for row, y in zip(part.rows, part.answers, strict=True):
            x = arb_mat([[float(v)] for v in row])
            s = (x.transpose() * w)[0, 0]
            total += x * ball_slope(problem.loss, s, float(y))
    return total


@singledispatch
def ball_slope(loss: MarginLoss, s: arb, y: float) -> arb:
    """φ'(s, y) of a loss known in doubles, to 46 bits: between them it rises, and by κ a unit at most."""
    near = float(s.mid())
    around = np.array([np.nextafter(near, -np.inf), near, np.nextafter(near, np.inf)])
    low, slope, high = (arb(float(v)) for v in loss.slope(around, np.full(3, y)))
    moved = (ball(loss.curvature) * (s - arb(near))).abs_upper()
    moved = moved.min((high - slope).abs_upper().max((slope - low).abs_upper()))
    return arb(slope, (moved + ball(loss.lipschitz) * EVALUATION).abs_upper())


@ball_slope.register
def _ball_slope_logistic(loss: Logistic, s: arb, y: float) -> arb:
    del loss
    return -arb(y) / (1 + (arb(y) * s).exp())


@ball_slope.register
def _ball_slope_clipped_poisson(loss: ClippedPoisson, s: arb, y: float) -> arb:
    return s.exp().min(ball(loss.upper)) - arb(y)
