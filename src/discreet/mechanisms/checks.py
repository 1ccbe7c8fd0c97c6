"""Inputs of mechanisms, validated at the door. What is released may be private: errors never show it."""

from __future__ import annotations

from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.records import doubles
from discreet.mechanisms.calibration import WIDEST_DISCRETE
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.sampling import checked_arguments as parameters

LARGEST = 2**62  # value plus noise stays within 64 bits


def exact(x: Exact, what: str) -> Fraction:
    """Return the rational that a number is; refuses NaN, infinities, and text that looks like a number."""
    if not isinstance(x, Real):
        raise ValueError(f"{what} must be a finite number: an int, a float or a Fraction")  # noqa: TRY004 - as NaN
    return parameters.exact(x, what)


def positive(x: Exact, what: str) -> Fraction:
    """Return a public parameter exactly; refuses 0, negative, infinite and NaN."""
    value = exact(x, what)
    if not value > 0:
        raise ValueError(f"{what} must be greater than 0, got {x!r}")
    return value


def whole(x: Exact, what: str, *, least: int = 1) -> int:
    """Return a public integer parameter."""
    value = exact(x, what)
    if isinstance(x, bool) or value.denominator != 1 or not value >= least:
        raise ValueError(f"{what} must be an integer of at least {least}, got {x!r}")
    return int(value)


def tail_of(probability_above: Exact, coordinates: int) -> tuple[Fraction, int]:
    """Return what a tail bound is asked for: its probability, and over how many coordinates."""
    return probability(probability_above, "the tail probability"), whole(
        coordinates, "the number of coordinates"
    )


def integer_noise(scale_squared: Fraction) -> None:
    """Refuse noise too wide for 64-bit integers before anything is charged for it."""
    if scale_squared > Fraction(WIDEST_DISCRETE) ** 2:
        raise ValueError(f"integer noise needs a scale of at most {WIDEST_DISCRETE:g}: coarsen the grid")


def probability(x: Exact, what: str) -> Fraction:
    """Return a public probability in the open interval (0, 1)."""
    value = exact(x, what)
    if not 0 < value < 1:
        raise ValueError(f"{what} must lie strictly between 0 and 1, got {x!r}")
    return value


def non_empty(array: NDArray[Any], what: str) -> NDArray[Any]:
    if array.size == 0:
        raise ValueError(f"{what} must not be empty")
    return array


def integers(value: ArrayLike, what: str) -> NDArray[np.int64]:
    """Return private integers as int64; floats are refused even when whole: their sum may not have been."""
    array = non_empty(np.asarray(value), what)
    if array.dtype.kind not in "iu" or not ((array > -LARGEST) & (array < LARGEST)).all():
        raise ValueError(f"{what} must be integers within 62 bits; quantise to a public grid first")
    return array.astype(np.int64)


def bits(value: ArrayLike, what: str) -> NDArray[np.bool_]:
    """Return private bits."""
    array = non_empty(np.asarray(value), what)
    if array.dtype.kind not in "biu" or not ((array == 0) | (array == 1)).all():
        raise ValueError(f"{what} must be 0 or 1 (integers or booleans)")
    return array.astype(np.bool_)


def reals(value: ArrayLike, what: str) -> tuple[list[Fraction], tuple[int, ...]]:
    """Return private reals exactly, flat, with their shape."""
    array = non_empty(np.asarray(value), what)
    return [exact(x, f"every entry of {what}") for x in array.reshape(-1).tolist()], array.shape


def vector(value: ArrayLike, what: str) -> list[Fraction]:
    """Return a private one-dimensional array of reals exactly."""
    flat, shape = reals(value, what)
    if len(shape) != 1:
        raise ValueError(f"{what} must be one-dimensional, got {len(shape)} dimensions")
    return flat


def finite(value: ArrayLike, what: str, *, missing: float) -> NDArray[np.float64]:
    """Return private one-dimensional data as doubles, NaN put at the public `missing`: no error may tell."""
    try:
        array = doubles(value)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be an array of numbers") from None
    if array.ndim != 1:
        raise ValueError(f"{what} must be a one-dimensional array of numbers")
    return np.where(np.isnan(array), missing, array)


def fixed_size(relation: Relation, what: str) -> None:
    """Refuse ADD_REMOVE where the release has an entry per record, so that its length is n."""
    if relation is not SUBSTITUTE:
        raise ValueError(f"{what} has one entry per record and so shows n: only SUBSTITUTE (n public) holds")


def epsilon_point(epsilon: Exact) -> Fraction:
    """Return the point of a privacy profile that is asked for."""
    value = exact(epsilon, "epsilon")
    if not value >= 0:
        raise ValueError(f"epsilon must be at least 0, got {epsilon!r}")
    return value
