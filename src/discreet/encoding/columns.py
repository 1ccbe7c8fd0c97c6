"""One column of given values → clean values, by the same rules as `tables.encode` has for private rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, singledispatch
from math import inf, nan
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.tables.schema import Binary, Bounded, Categorical, Count, Kind, Scalar

Column = NDArray[Any]
Floats = NDArray[np.float64]

TRUTHS = {
    **dict.fromkeys(("true", "t", "yes", "y", "1"), True),
    **dict.fromkeys(("false", "f", "no", "n", "0"), False),
}
FEW = 5  # levels that an error names


@final
@dataclass(frozen=True, eq=False)
class GivenColumn:
    """Values as given, and what the column is called."""

    name: str
    values: Column

    @cached_property
    def sorts(self) -> set[str]:
        """Return what its values are; missing ones are nothing."""
        if self.values.dtype.kind != "O":
            return {"truths" if self.values.dtype.kind == "b" else "numbers"} if self.values.size else set()
        return {_sort(value) for value in self.values if not _is_missing(value)}

    def must_be(self, expected: str, *allowed: str) -> None:
        """Refuse values of another sort; none of them is shown."""
        strange = self.sorts - set(allowed)
        if not strange:
            return
        got = " and ".join(sorted(strange))
        codes = "numbers" in strange and "texts" in allowed
        advice = "integer codes are not labels: give the labels" if codes else "give such values"
        raise TypeError(f"column {self.name!r} holds {got}, and the schema expects {expected}; {advice}")

    def numbers(self) -> Floats:
        """Return doubles, NaN where there is none."""
        if self.values.dtype.kind != "O":
            return self.values.astype(np.float64)
        return np.array([_number(value) for value in self.values], dtype=np.float64)

    def comparable(self, first: Scalar) -> list[Any]:
        """Return the values as the levels are: where these are texts, whole numbers are their digits."""
        held: list[Any] = self.values.tolist()
        return [str(v) if type(v) is int else v for v in held] if isinstance(first, str) else held


@singledispatch
def clean(kind: Kind, column: GivenColumn) -> Column:
    """Return the column as the schema declares it: truths, codes or numbers, and nothing missing."""
    raise TypeError(f"column {column.name!r} is {kind.kind}, which is not read here")


@clean.register
def _clean_binary(kind: Binary, column: GivenColumn) -> Column:
    text = isinstance(kind.true, str)
    allowed = ("texts",) if text else ("truths", "numbers") if kind.true in {0, 1} else ("numbers",)
    column.must_be(f"{kind.true!r} or something else", *allowed)
    values = column.comparable(kind.true)
    return np.array([kind.missing if _is_missing(v) else v == kind.true for v in values], dtype=np.bool_)


@clean.register
def _clean_categorical(kind: Categorical, column: GivenColumn) -> Column:
    first = kind.levels[0]
    if isinstance(first, str):
        mixed = "texts" in column.sorts  # whole numbers among texts are their digits, as in a private table
        column.must_be(_few(kind), "texts", *(("numbers",) if mixed else ()))
    else:
        column.must_be(_few(kind), "numbers", *(("truths",) if isinstance(first, bool) else ()))
    codes = {level: code for code, level in enumerate(kind.levels)}
    values = column.comparable(first)
    found = np.array([codes.get(v, -1) if _sort(v) != "others" else -1 for v in values], dtype=np.int64)
    _warn_of_unlisted(kind, column, found, values)
    return np.where(found < 0, kind.elsewhere, found)


@clean.register
def _clean_bounded(kind: Bounded, column: GivenColumn) -> Column:
    column.must_be(f"numbers from {kind.lower:g} to {kind.upper:g}", "numbers", "truths")
    lower, upper = float(kind.lower), float(kind.upper)
    x = np.clip(np.nan_to_num(column.numbers(), nan=kind.elsewhere, posinf=inf, neginf=-inf), lower, upper)
    return (
        x if kind.grid is None else np.clip(_quantised(x, float(kind.grid)) * float(kind.grid), lower, upper)
    )


@clean.register
def _clean_count(kind: Count, column: GivenColumn) -> Column:
    column.must_be(f"whole numbers from 0 to {kind.max}", "numbers", "truths")
    x = np.nan_to_num(column.numbers(), nan=float(kind.missing), posinf=inf, neginf=-inf)
    return _quantised(np.clip(x, 0.0, float(kind.max)), 1.0).astype(np.int64)


def _quantised(x: Floats, grid: float) -> Floats:
    """⌊x/g + ½⌋, as `tables.numbers` has it"""
    return np.floor(x * (1 / grid) + 0.5 if grid <= 1 else (x + grid / 2) * (1 / grid))


def _few(kind: Categorical) -> str:
    shown = ", ".join(repr(level) for level in kind.levels[:FEW])
    return shown + (", …" if len(kind.levels) > FEW else "")


def _warn_of_unlisted(kind: Categorical, column: GivenColumn, codes: Column, values: Sequence[Any]) -> None:
    """Say so where most values are not declared levels, which is more often a slip than a fact."""
    unlisted = sum(code < 0 and not _is_missing(value) for code, value in zip(codes, values, strict=True))
    if 2 * unlisted > len(codes):
        warnings.warn(
            f"{unlisted} of {len(codes)} values in column {column.name!r} are not declared levels "
            f"({_few(kind)}) and are taken for {kind.labels[kind.elsewhere]!r}, as the schema says",
            RuntimeWarning,
            stacklevel=2,
        )


# ── single values ───────────────────────────────────────────────────────────────────────────────────
def _sort(value: object) -> str:
    if isinstance(value, bool):
        return "truths"
    if isinstance(value, str):
        return "texts"
    return "numbers" if isinstance(value, int | float | Decimal | Fraction) else "others"


def _is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float | Decimal) and value != value)  # noqa: PLR0124 - NaN


def _number(value: Any) -> float:  # noqa: ANN401 - a value of the user's
    try:
        return nan if value is None else float(value)
    except OverflowError:  # of 10**400, say
        return inf if value > 0 else -inf
    except (TypeError, ValueError):
        return nan


# ── texts of a CSV file ─────────────────────────────────────────────────────────────────────────────
def typed(kind: Kind, texts: Sequence[str | None]) -> Column:
    """Read texts as what a column of that kind holds: texts, truths or numbers; None where they are none."""
    sample = kind.true if isinstance(kind, Binary) else kind.levels[0] if isinstance(kind, Categorical) else 0
    read = str if isinstance(sample, str) else _truth if isinstance(sample, bool) else _figure
    found = np.empty(len(texts), dtype=object)
    found[:] = [None if text is None else read(text) for text in texts]
    return found


BLANK = " \t\n\v\f\r"  # what the engine that reads private files passes over; Python passes over more


def _truth(text: str) -> bool | None:
    return TRUTHS.get(text.strip(BLANK).lower())


def _figure(text: str) -> float | None:
    """Read a number as the engine does: in ASCII, and with no other blanks around it."""
    plain = text.strip(BLANK)
    try:
        return float(plain) if plain.isascii() and plain == plain.strip() else None
    except ValueError:
        return None
