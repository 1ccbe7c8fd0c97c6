"""Exact rejection algorithms on lazy uniforms: each returns the ideal real itself, known to any precision."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from flint import arb

from discreet.privacy.arithmetic.ball import ball
from discreet.sampling.in_bulk.strips import FRACTION_BITS, HEIGHT, TABLE, TAIL, WEIGHTS
from discreet.sampling.source import Lazy, Real, Source, Tape, Uniform, cell, positive, refine, significant

Row = Sequence[int]


THIRD = Fraction(1, 3)


def exponential(tape: Tape) -> Real:
    """E = −ln U"""
    u = tape.uniform()
    return Lazy(lambda: -u().log())


def normal(tape: Tape) -> Real:
    """Draw z ~ N(0, 1) from rows of 2 words."""
    while (z := normal_attempt(tape.source, tape.row(2))) is None:
        pass
    return z


def normal_attempt(source: Source, row: Row) -> Real | None:
    """Propose z from the strips of strips.py; the high half of the second word accepts"""
    u = _fraction(source, row)
    z = _placed(u, row)
    v = Uniform(source, row[1] >> 32, 32)
    return z if positive(lambda: _log_level(z(), row) - v().log()) else None


def normal_value(source: Source, row: Row) -> Real:
    """Return what an accepted row stands for."""
    return _placed(_fraction(source, row), row)


def _fraction(source: Source, row: Row) -> Uniform:
    return Uniform(source, row[0] >> 13, FRACTION_BITS)


def _placed(u: Uniform, row: Row) -> Real:
    strip, sign = int(TABLE[row[0] & 4095]), -1 if row[0] >> 12 & 1 else 1
    if strip < TAIL:
        return Lazy(lambda: sign * (strip + u()) / 32)
    return Lazy(lambda: sign * (4 - u().log() / 4))


def _log_level(z: arb, row: Row) -> arb:
    """Logarithm of the acceptance probability"""
    strip = int(TABLE[row[0] & 4095])
    weight = arb(int(WEIGHTS[strip]))
    if strip < TAIL:
        return (HEIGHT / weight).log() - z**2 / 2
    return (8 * HEIGHT / weight).log() - 8 - (abs(z) - 4) ** 2 / 2


def gamma(tape: Tape, shape: Fraction) -> Real:
    """Draw G ~ Gamma(shape) from rows of 2 words, 3 below shape 1."""
    while (g := gamma_attempt(tape.source, tape.row(2 if shape >= 1 else 3), shape)) is None:
        pass
    return g


def gamma_attempt(source: Source, row: Row, shape: Fraction) -> Real | None:
    """Accept iff t = 1 + z/(3√d) > 0 and ln U < z²/2 + d(1 − t³ + 3 ln t), d = a − ⅓ (Marsaglia, Tsang 2000)

    U is the low half of the second word.
    """
    z = normal_attempt(source, row)
    if z is None:
        return None
    known, d = z, _body(shape)
    t = Lazy(lambda: 1 + known() / (3 * ball(d).sqrt()))
    if not positive(t):
        return None
    u = Uniform(source, row[1] & 0xFFFFFFFF, 32)

    def log_ratio() -> arb:
        return known() ** 2 / 2 + ball(d) * (1 - t() ** 3 + 3 * t().log()) - u().log()

    return _grown(source, z, row, shape) if positive(log_ratio) else None


def gamma_value(source: Source, row: Row, shape: Fraction) -> Real:
    """Return what an accepted row stands for."""
    return _grown(source, normal_value(source, row), row, shape)


def _body(shape: Fraction) -> Fraction:
    """Take d = a − ⅓, where shapes below 1 start from a + 1"""
    return shape - THIRD if shape >= 1 else shape + 1 - THIRD


def _grown(source: Source, z: Real, row: Row, shape: Fraction) -> Real:
    """G = d(1 + z/(3√d))³, times U₃^(1/a) below shape 1"""
    d = _body(shape)
    if shape >= 1:
        return Lazy(lambda: ball(d) * (1 + z() / (3 * ball(d).sqrt())) ** 3)
    u = Uniform(source, row[2])
    return Lazy(lambda: ball(d) * (1 + z() / (3 * ball(d).sqrt())) ** 3 * (u().log() / ball(shape)).exp())


def dirichlet(tape: Tape, alpha: Sequence[Fraction]) -> list[Real]:
    """θ_i = G_i / Σ_j G_j"""
    return normalised([gamma(tape, a) for a in alpha])


def normalised(gammas: Sequence[Real]) -> list[Real]:
    total = Lazy(lambda: sum((g() for g in gammas), arb(0)))

    def share(g: Real) -> Real:
        return Lazy(lambda: g() / total())

    return [share(g) for g in gammas]


# ── Joint draws of location and spread. The ideal pair is rounded; nothing is drawn given a rounded value.
# Rounding, the same for every data set: locations to the nearest multiple of the public grid; a variance to
# `bits` significant bits; a covariance Σ_ij to the nearest multiple of 2^(⌊(e_i + e_j)/2⌋ − bits), where
# 2^(e_i−1) ≤ Σ_ii < 2^e_i are the released variances, so that correlations are right to about 2^-bits.
Vector = tuple["Fraction", ...]
Matrix = tuple[Vector, ...]
Balls = list[list[arb]]
Location = list[int]
Spread = list[list[float]]


def cholesky(matrix: Matrix) -> Lazy[Balls]:
    """Lower-triangular L, LLᵀ = matrix"""
    return Lazy(lambda: _cholesky(matrix))


def _cholesky(matrix: Matrix) -> Balls:
    n = len(matrix)
    L = [[arb(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(i + 1):
            rest = ball(matrix[i][j]) - _dot(L[i][:j], L[j][:j])
            L[i][j] = rest.sqrt() if i == j else rest / L[j][j]
    return L


def _dot(x: Sequence[arb], y: Sequence[arb]) -> arb:
    return sum((a * b for a, b in zip(x, y, strict=True)), arb(0))


@final
@dataclass(frozen=True)
class ExactNormalInverseGamma:
    """σ² ~ InvGamma(a, b), μ|σ² ~ N(m, σ²Λ⁻¹): σ² = b/G_a, μ = m + σL⁻ᵀz, Λ = LLᵀ; rounded jointly"""

    mean: Vector
    root: Lazy[Balls]
    shape: Fraction
    scale: Fraction
    grid: Fraction

    def draw(self, tape: Tape) -> tuple[Location, float]:
        g = gamma(tape, self.shape)
        return self.rounded(g, [normal(tape) for _ in self.mean])

    def rounded(self, g: Real, z: Sequence[Real]) -> tuple[Location, float]:
        """Round the ideal pair: cells of μ, and σ² to 24 significant bits."""

        def attempt() -> tuple[Location, float] | None:
            variance = ball(self.scale) / g()
            step = _solve_transposed(self.root(), [x() for x in z])
            at = [ball(m) + variance.sqrt() * s for m, s in zip(self.mean, step, strict=True)]
            location, spread = _cells(at, self.grid), significant(variance, 24)
            return None if location is None or spread is None else (location, spread)

        return refine(attempt)

    def transposed_inverse(self) -> list[list[float]]:
        """L⁻ᵀ as doubles erring by u relatively"""
        n = len(self.mean)
        units = [[arb(int(i == j)) for i in range(n)] for j in range(n)]

        def columns() -> list[list[float]] | None:
            solved = [_solve_transposed(self.root(), unit) for unit in units]
            fine = all(x.is_zero() or x.rel_accuracy_bits() > 60 for column in solved for x in column)
            return [[float(x) for x in column] for column in solved] if fine else None

        return [list(row) for row in zip(*refine(columns), strict=True)]


def _solve_transposed(L: Balls, z: list[arb]) -> list[arb]:
    """L⁻ᵀz by back substitution"""
    n = len(z)
    x = [arb(0)] * n
    for i in reversed(range(n)):
        x[i] = (z[i] - _dot([L[k][i] for k in range(i + 1, n)], x[i + 1 :])) / L[i][i]
    return x


def _cells(values: Sequence[arb], grid: Fraction) -> Location | None:
    cells = [cell(x / ball(grid)) for x in values]
    known = [k for k in cells if k is not None]
    return known if len(known) == len(cells) else None


def _bartlett(tape: Tape, degrees: Fraction, n: int) -> list[list[Real]]:
    """W = AAᵀ ~ Wishart(ν, I): A_ii² ~ χ²(ν − i), i = 0, 1, …; A_ij ~ N(0, 1) below (Bartlett 1933)"""
    return [[normal(tape) for _ in range(i)] + [_chi(tape, degrees - i)] for i in range(n)]


def _chi(tape: Tape, degrees: Fraction) -> Real:
    g = gamma(tape, degrees / 2)
    return Lazy(lambda: (2 * g()).sqrt())  # noqa: PLW0108 (g changes with the precision)


def _factor(A: list[list[Real]], L: Balls) -> Balls:
    """Rows of X = A⁻¹Lᵀ, so that XᵀX = LA⁻ᵀA⁻¹Lᵀ ~ InvWishart(ν, LLᵀ)"""
    n = len(L)
    X: Balls = []
    for i in range(n):
        row = [(L[j][i] - sum((A[i][k]() * X[k][j] for k in range(i)), arb(0))) / A[i][i]() for j in range(n)]
        X.append(row)
    return X


def inverse_wishart(tape: Tape, degrees: Fraction, root: Lazy[Balls], n: int, bits: int) -> Spread:
    """Σ = XᵀX with density ∝ |Σ|^(−(ν+n+1)/2) exp(−½ tr ΨΣ⁻¹), Ψ = LLᵀ"""
    A = _bartlett(tape, degrees, n)
    return refine(lambda: _covariance(_factor(A, root()), bits))


def normal_inverse_wishart(  # noqa: PLR0917
    tape: Tape,
    mean: Vector,
    strength: Fraction,
    degrees: Fraction,
    root: Lazy[Balls],
    grid: Fraction,
    bits: int,
) -> tuple[Location, Spread]:
    """μ = m + Xᵀz/√κ given the ideal Σ = XᵀX: μ|Σ ~ N(m, Σ/κ), (μ, Σ) rounded jointly"""
    n = len(mean)
    A = _bartlett(tape, degrees, n)
    z = [normal(tape) for _ in mean]

    def rounded() -> tuple[Location, Spread] | None:
        X = _factor(A, root())
        noise = [x() / ball(strength).sqrt() for x in z]
        at = [ball(mean[j]) + _dot([X[i][j] for i in range(n)], noise) for j in range(n)]
        location, spread = _cells(at, grid), _covariance(X, bits)
        return None if location is None or spread is None else (location, spread)

    return refine(rounded)


def _covariance(X: Balls, bits: int) -> Spread | None:
    n = len(X)
    columns = list(zip(*X, strict=True))
    diagonal = [significant(_dot(c, c), bits) for c in columns]
    if any(v is None for v in diagonal):
        return None
    exponents = [math.frexp(v or 0.0)[1] for v in diagonal]
    spread = [[v or 0.0] * n for v in diagonal]
    for i in range(n):
        for j in range(i):
            unit = (exponents[i] + exponents[j]) // 2 - bits
            k = cell(_dot(columns[i], columns[j]) * arb((1, -unit)))
            if k is None:
                return None
            spread[i][j] = spread[j][i] = math.ldexp(k, unit)
    return spread
