"""Parameters of draws: exact rationals, validated once. Values may be private, so errors never show them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, floor, precision

Numbers: TypeAlias = Sequence[Exact] | NDArray[Any]
Rows: TypeAlias = Sequence[Sequence[Exact]] | NDArray[Any]

MAX_GRID_BITS = 52  # k·2^-52 ≤ 1 is a double


def exact(x: Exact, name: str) -> Fraction:
    """Return the rational that x is; NaN and infinities are refused."""
    try:
        return Fraction(x.item() if isinstance(x, np.generic) else x)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a finite number: an int, a float or a Fraction") from None


def positive_exact(x: Exact, name: str) -> Fraction:
    value = exact(x, name)
    if not value > 0:
        raise ValueError(f"{name} must be greater than 0")
    return value


def exact_vector(values: Numbers, name: str) -> list[Fraction]:
    """Return a non-empty one-dimensional array as rationals."""
    array: NDArray[Any] = np.asarray(values, dtype=object)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a non-empty one-dimensional array, got shape {array.shape}")
    return [exact(x, f"every entry of {name}") for x in array.tolist()]


def symmetric(values: Rows, name: str) -> tuple[tuple[Fraction, ...], ...]:
    """Return a symmetric positive definite matrix as rationals."""
    array: NDArray[Any] = np.asarray(values, dtype=object)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.size == 0:
        raise ValueError(f"{name} must be a non-empty square matrix, got shape {array.shape}")
    rows = tuple(tuple(exact(x, f"every entry of {name}") for x in row) for row in array.tolist())
    if any(rows[i][j] != rows[j][i] for i in range(len(rows)) for j in range(i)):
        raise ValueError(f"{name} must be exactly symmetric; average it with its transpose first")
    if not _positive_definite(rows):
        raise ValueError(f"{name} must be positive definite")
    return rows


def _positive_definite(rows: tuple[tuple[Fraction, ...], ...]) -> bool:
    """Every pivot of exact elimination is positive (Sylvester)."""
    work = [list(row) for row in rows]
    for k in range(len(work)):
        if not work[k][k] > 0:
            return False
        for i in range(k + 1, len(work)):
            ratio = work[i][k] / work[k][k]
            work[i] = [x - ratio * y for x, y in zip(work[i], work[k], strict=True)]
    return True


def check_dimension(length: int, side: int) -> None:
    if length != side:
        raise ValueError(f"mean has {length} entries but the matrix is {side} × {side}")


def check_size(size: int) -> int:
    if isinstance(size, bool) or int(size) != size or size < 0:
        raise ValueError(f"size must be a non-negative integer, got {size!r}")
    return int(size)


def check_bits(bits: int) -> int:
    if isinstance(bits, bool) or int(bits) != bits or not 1 <= bits <= MAX_GRID_BITS:
        raise ValueError(
            f"bits must be an integer in [1, {MAX_GRID_BITS}], got {bits!r}: the grid is 2^-bits"
        )
    return int(bits)


def dyadic_grid(grid: Exact) -> Fraction:
    """Return the public grid; it must be a power of two so that its multiples are doubles."""
    value = positive_exact(grid, "grid")
    if value.numerator & (value.numerator - 1) or value.denominator & (value.denominator - 1):
        raise ValueError(f"grid must be a power of two, got {value}; take the next smaller one")
    if abs(math.log2(value.numerator) - math.log2(value.denominator)) > 900:
        raise ValueError("grid must lie within [2^-900, 2^900]")
    return value


def on_grid(cells: NDArray[Any], grid: Fraction) -> NDArray[np.float64]:
    """Return multiples of the grid, each the nearest double (exact below 2^53 cells), within ±2^1000."""
    if cells.dtype == np.int64 and (cells.size == 0 or np.abs(cells).max() <= 2**53):
        return np.ldexp(cells.astype(np.float64), math.frexp(float(grid))[1] - 1)
    most = math.floor(2**1000 / grid)
    return np.array([float(max(min(int(k), most), -most) * grid) for k in cells], dtype=np.float64)


def integers(values: list[int]) -> NDArray[Any]:
    """Return int64 where they fit and Python's integers where not."""
    fits = all(abs(k) < 2**62 for k in values)
    return np.array(values, dtype=np.int64 if fits else object)


def within(values: NDArray[np.float64], lower: Fraction, upper: Fraction) -> NDArray[np.float64]:
    """Bring back what rounding moved half a cell outside the public bounds: post-processing."""
    with precision(128):
        return np.clip(values, ceiling(ball(lower)), floor(ball(upper)))


def within_simplex(values: NDArray[np.float64], lower: Fraction, size: int) -> NDArray[np.float64]:
    """Bring entries back to [lower, 1 − (size−1)·lower], where those of a truncated simplex lie."""
    return within(values, lower, 1 - (size - 1) * lower)
