"""Hyper-parameters as descriptors: validated once, at construction, kept as the exact rationals they are."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import final

import numpy as np

from discreet.privacy.arithmetic.ball import Exact

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


@final
class Rational:
    """A field that takes int, float or Fraction and holds the Fraction.

    `needed` says why it cannot be left out, to somebody who did.
    """

    def __init__(self, *, positive: bool = True, default: int | None = None, needed: str = "") -> None:
        self.positive = positive
        self.default = default
        self.needed = needed

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> Fraction:
        if instance is None:
            if self.needed:
                return None  # type: ignore[return-value]  # a default for dataclasses, refused when set
            if self.default is None:  # so that dataclasses sees a field without a default
                raise AttributeError(self.name)
            return Fraction(self.default)
        return instance.__dict__[self.name]

    def __set__(self, instance: object, value: Exact) -> None:
        if self.needed and value is None:
            raise ValueError(f"{self.name} is missing: {self.needed}")
        why = self.needed or PRIOR
        instance.__dict__[self.name] = rational(value, what=self.name, positive=self.positive, why=why)


@final
class Grid:
    """A field for a public power of two; None asks for the default, which the family sets from its bounds."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> Fraction:
        if instance is None:
            return None  # type: ignore[return-value]  # the default, as dataclasses reads it
        return instance.__dict__[self.name]

    def __set__(self, instance: object, value: Exact | None) -> None:
        instance.__dict__[self.name] = None if value is None else rational(value, what=self.name)


@final
class Whole:
    """A field that holds a positive integer, given as an int or as a float that is one."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object | None, owner: type | None = None) -> int:
        if instance is None:
            raise AttributeError(self.name)
        return instance.__dict__[self.name]

    def __set__(self, instance: object, value: Exact) -> None:
        exact = rational(value, what=self.name)
        if exact.denominator != 1:
            raise ValueError(f"{self.name} must be a positive integer, got {value!r}")
        instance.__dict__[self.name] = exact.numerator


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
