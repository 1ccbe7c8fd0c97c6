"""Hyper-parameters as descriptors: validated once, at construction, kept as the exact rationals they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from numbers import Integral
from typing import Any, Generic, TypeVar, final

import numpy as np

from discreet.privacy.arithmetic.ball import Exact

Given = TypeVar("Given")
Kept = TypeVar("Kept")
GRID_BITS = 15
PRIOR = "the prior must be normalizable and public"


def rational(x: Exact, *, what: str, positive: bool = True, why: str = PRIOR) -> Fraction:
    """Validate one hyper-parameter and return it exactly; NaN-proof."""
    need = "a finite number above 0" if positive else "a finite number"
    wrong = f"{what} must be {need}, got {x!r}; {why}"
    try:
        value = exactly(x)
    except (OverflowError, ValueError):
        raise ValueError(wrong) from None
    if positive and not value > 0:
        raise ValueError(wrong)
    return value


def exactly(x: Exact) -> Fraction:
    """Return the rational that x is; a NumPy integer must not survive in a Fraction, where it would wrap."""
    if isinstance(x, Fraction):
        return x
    return Fraction(int(x)) if isinstance(x, Integral) else Fraction(float(x))


def power_of_two_above(x: Fraction) -> Fraction:
    """Smallest 2^k ≥ x > 0, k any integer."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    power = Fraction(2) ** (k - 1)
    while power < x:
        power *= 2
    return power


class ExactField(ABC, Generic[Given, Kept]):
    """A field of a frozen model: checked when it is set, and kept exactly."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> Kept:
        if instance is None:
            return self.default()
        kept: Kept = instance.__dict__[self.name]
        return kept

    def default(self) -> Kept:
        """Return what dataclasses sees as the default; AttributeError where the field has none."""
        raise AttributeError(self.name)

    @abstractmethod
    def checked(self, value: Given) -> Kept:
        """Return what is kept of a value, or refuse it."""

    def __set__(self, instance: object, value: Given) -> None:
        instance.__dict__[self.name] = self.checked(value)


@final
class Rational(ExactField[Exact, Fraction]):
    """A field that takes int, float or Fraction and holds the Fraction.

    `needed` says why it cannot be left out, to somebody who did.
    """

    def __init__(self, *, positive: bool = True, default: int | None = None, needed: str = "") -> None:
        self.positive = positive
        self.given = default
        self.needed = needed

    def default(self) -> Fraction:
        if self.needed:
            return None  # type: ignore[return-value]  # a default for dataclasses, refused when set
        return super().default() if self.given is None else Fraction(self.given)

    def checked(self, value: Exact) -> Fraction:
        if self.needed and value is None:
            raise ValueError(f"{self.name} is missing: {self.needed}")
        return rational(value, what=self.name, positive=self.positive, why=self.needed or PRIOR)


def default_grid(lower: Fraction, upper: Fraction) -> Fraction:
    """Return the smallest power of two at or above (upper − lower)/2^15."""
    return power_of_two_above((upper - lower) / 2**GRID_BITS) if lower < upper else Fraction(1)


@final
class Grid(ExactField[Exact | None, Fraction]):
    """A field for a public power of two, set after the bounds; None asks for the default between them."""

    def __init__(self, bounds: Callable[[Any], tuple[Fraction, Fraction]]) -> None:
        self.bounds = bounds

    def default(self) -> Fraction:
        return None  # type: ignore[return-value]  # as dataclasses reads it

    def checked(self, value: Exact | None) -> Fraction:
        return rational(value or 0, what=self.name)

    def __set__(self, instance: object, value: Exact | None) -> None:
        super().__set__(instance, default_grid(*self.bounds(instance)) if value is None else value)


@final
class Whole(ExactField[Exact, int]):
    """A field that holds a positive integer, given as an int or as a float that is one."""

    def checked(self, value: Exact) -> int:
        exact = rational(value, what=self.name)
        if exact.denominator != 1:
            raise ValueError(f"{self.name} must be a positive integer, got {value!r}")
        return exact.numerator


def show(x: object) -> str:
    """Print a rational as the shortest double that equals it, and as a fraction only when none does."""
    if isinstance(x, Fraction):
        if x.denominator == 1:
            return str(x.numerator)
        try:
            return repr(float(x)) if Fraction(float(x)) == x else repr(x)
        except OverflowError:
            return repr(x)
    if isinstance(x, tuple):
        return f"({', '.join(map(show, x))})"
    if isinstance(x, np.ndarray):
        head = ", ".join(map(show, x[:6].tolist()))
        return f"[{head}, … {x.size} entries]" if x.size > 6 else f"[{head}]"
    return repr(x)
