"""Small exact vectors and matrices: tuples of Fractions, packed triangles, rational solves."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import final

import numpy as np
from flint import fmpq, fmpq_mat
from numpy.typing import ArrayLike

from discreet.families.exact_fields import ExactField, exactly, rational
from discreet.families.family import Floats, Integers
from discreet.privacy.arithmetic.ball import Exact

Vector = tuple[Fraction, ...]
Matrix = tuple[Vector, ...]


@final
class RationalVector(ExactField[Sequence[Exact], Vector]):
    """A field that takes numbers and holds a tuple of Fractions."""

    def __init__(self, called: str) -> None:
        self.called = called

    def checked(self, value: Sequence[Exact]) -> Vector:
        items = list(value)
        if not items:
            raise ValueError(f"{self.called} must have at least one coordinate")
        return tuple(rational(x, what=self.called, positive=False) for x in items)


@final
class PositiveDefinite(ExactField[Sequence[Sequence[Exact]], Matrix]):
    """A field that takes rows and holds a symmetric matrix of Fractions, positive definite (exactly so)."""

    def checked(self, value: Sequence[Sequence[Exact]]) -> Matrix:
        rows = tuple(tuple(rational(x, what=self.name, positive=False) for x in row) for row in value)
        if {len(row) for row in rows} != {len(rows)} or rows != tuple(zip(*rows, strict=True)):
            raise ValueError(f"{self.name} must be a symmetric square matrix")
        if not positive_definite(rows):
            raise ValueError(f"{self.name} must be positive definite: the prior must be normalizable")
        return rows


def positive_definite(matrix: Matrix) -> bool:
    """Whether every pivot of exact elimination is positive."""
    rows = [list(row) for row in matrix]
    for k, pivot in enumerate(rows):
        if not pivot[k] > 0:
            return False
        for row in rows[k + 1 :]:
            factor = row[k] / pivot[k]
            for j in range(k, len(row)):
                row[j] -= factor * pivot[j]
    return True


def solve(matrix: Matrix, right: Vector) -> Vector:
    """Return x with matrix·x = right, exactly."""
    left = fmpq_mat([[fmpq(x.numerator, x.denominator) for x in row] for row in matrix])
    column = fmpq_mat([[fmpq(x.numerator, x.denominator)] for x in right])
    return tuple(Fraction(int(x.p), int(x.q)) for x in left.solve(column).entries())


def dot(x: Vector, y: Vector) -> Fraction:
    return sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0))


def floats(matrix: Sequence[Sequence[Fraction]]) -> Floats:
    return np.array([[float(x) for x in row] for row in matrix])


def pack(matrix: ArrayLike) -> Floats:
    """Return the upper triangle, row by row: the order of every packed coordinate in the library."""
    square = np.asarray(matrix, dtype=np.float64)
    return square[(..., *np.triu_indices(square.shape[-1]))]


def unpack(packed: ArrayLike) -> Floats:
    """Return the symmetric matrices whose upper triangles are given along the last axis."""
    flat = np.asarray(packed, dtype=np.float64)
    d = side(flat.shape[-1])
    square = np.zeros((*flat.shape[:-1], d, d))
    rows, columns = np.triu_indices(d)
    square[..., rows, columns] = flat
    square[..., columns, rows] = flat
    return square


def unpack_exact(packed: Sequence[Exact]) -> Matrix:
    d = side(len(packed))
    above = ((i, j) for i in range(d) for j in range(i, d))
    cells = dict(zip(above, map(exactly, packed), strict=True))
    return tuple(tuple(cells[min(i, j), max(i, j)] for j in range(d)) for i in range(d))


def side(packed: int) -> int:
    """Return d for d(d+1)/2 packed coordinates."""
    return int((np.sqrt(8 * packed + 1) - 1) / 2 + 0.5)


def twice_off_diagonal(d: int) -> Floats:
    """Weights that make a packed product ⟨A, B⟩ = Σ_ij A_ij B_ij: 1 on the diagonal, 2 off it."""
    return pack(2.0 - np.eye(d))


def nearest_semidefinite(matrix: Floats, trace: float) -> Floats:
    """Clip eigenvalues at 0 (nearest in Frobenius norm), then shrink to the bound on the trace."""
    values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)
    total = values.sum()
    values *= min(1.0, max(trace, 0.0) / total) if total > 0 else 1.0
    return (vectors * values) @ vectors.T


def squares(q: Integers) -> Integers:
    """Return qqᵀ packed, of every row."""
    return pack(q[:, :, None] * q[:, None, :]).astype(np.int64)
