"""Dirichlet concentrations: a million exact rationals as one float64 array whenever doubles hold them all."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.exact_fields import ExactField, exactly, rational
from discreet.families.family import Floats

LARGEST_INTEGER = 2.0**53
TINY = 2.0**-900  # below this a product's error term could underflow and hide
HUGE = 2.0**900
SPLITTER = 2.0**27 + 1


@final
class Concentrations(ExactField[ArrayLike, NDArray[Any]]):
    """A field of at least 2 positive entries: read-only float64 when exact, else an array of Fractions."""

    def checked(self, value: ArrayLike) -> NDArray[Any]:
        given = np.asarray(value)
        if given.ndim != 1 or given.size < 2:
            raise ValueError(
                f"{self.name} must be a vector of at least 2 concentrations, got shape {given.shape}; a "
                "single category carries no information, and so has no posterior"
            )
        exact = compact(given, self.name)
        if exact.dtype == np.float64 and not np.all(exact > 0):  # `compact` has refused such Fractions
            raise ValueError(f"every entry of {self.name} must be above 0: the prior must be normalizable")
        exact.setflags(write=False)
        return exact


def compact(values: NDArray[Any], what: str) -> NDArray[Any]:
    """Copy to float64 if that loses nothing, else to Fractions; refuse NaN and infinity."""
    if values.dtype.kind in "fiub" and values.dtype.itemsize <= 8:
        floats = values.astype(np.float64)
        if not np.all(np.isfinite(floats)):
            raise ValueError(
                f"every entry of {what} must be a finite number above 0: the prior must be normalizable"
            )
        if values.dtype.kind == "f" or np.all(np.abs(floats) < LARGEST_INTEGER):
            return floats
    distinct, where = _distinct(values)
    fractions = [rational(x, what=f"every entry of {what}") for x in distinct.tolist()]
    try:
        floats = np.array([float(x) for x in fractions])
        if all(Fraction(f) == x for f, x in zip(floats.tolist(), fractions, strict=True)):
            return floats[where]
    except OverflowError:
        pass
    return _objects(fractions)[where]


def add_weighted(base: NDArray[Any], weight: Fraction, counts: NDArray[Any]) -> NDArray[Any]:
    """Return base + weight·counts exactly: float64 when error-free, Fractions otherwise."""
    if base.dtype == np.float64 and counts.dtype == np.float64:
        floats = _error_free(base, weight, counts)
        if floats is not None:
            return floats
    # few distinct (base, count) pairs are the rule, and Fractions are slow: make each once
    ranks = _distinct(base)[1] * counts.size + _distinct(counts)[1]
    _, first, where = np.unique(ranks, return_index=True, return_inverse=True)
    sums = [exactly(base[i]) + weight * exactly(counts[i]) for i in first.tolist()]
    return _objects(sums)[where]


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return distinct entries and where each goes; objects by identity, since comparing Fractions is slow."""
    keys = np.fromiter(map(id, values), np.int64, values.size) if values.dtype == object else values
    _, first, where = np.unique(keys, return_index=True, return_inverse=True)
    return values[first], where.astype(np.int64)


def _objects(fractions: list[Fraction]) -> NDArray[Any]:
    array = np.empty(len(fractions), dtype=object)
    array[:] = fractions
    return array


def _error_free(base: Floats, weight: Fraction, counts: Floats) -> Floats | None:
    """Dekker's product and Knuth's sum: their error terms are the exact errors, so all zero means exact."""
    w = float(weight)
    if Fraction(w) != weight or not TINY < w < HUGE:
        return None
    product = w * counts
    safe = (counts == 0) | ((counts > TINY) & (counts < HUGE) & (product > TINY) & (product < HUGE))
    if not np.all(safe) or np.any(_product_error(w, counts, product)):
        return None
    total = base + product
    shifted = total - product
    error = (base - shifted) + (product - (total - shifted))
    return None if np.any(error) else total


def _product_error(w: float, x: Floats, product: Floats) -> Floats:
    w_high = SPLITTER * w - (SPLITTER * w - w)
    x_high = SPLITTER * x - (SPLITTER * x - x)
    w_low, x_low = w - w_high, x - x_high
    return ((w_high * x_high - product) + w_high * x_low + w_low * x_high) + w_low * x_low
