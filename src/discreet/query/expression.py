"""What a query is made of: numbers and claims about θ, each evaluated at many θ at once."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats

Truths = NDArray[np.bool_]
FUNCTIONS: Mapping[str, Callable[[Floats], Floats]] = {
    "log": np.log,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
}
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class QueryPart(ABC):
    """A part of a query; θ has a row for each draw."""

    @abstractmethod
    def at(self, theta: Floats) -> NDArray[Any]:
        """Evaluate at every row of θ: (draws)."""


class Numeric(QueryPart):
    """A part that is a number."""

    @abstractmethod
    def at(self, theta: Floats) -> Floats: ...


class Predicate(QueryPart):
    """A part that is true or false; of a number that is not one nothing is true, not even !=."""

    @abstractmethod
    def at(self, theta: Floats) -> Truths: ...


@final
@dataclass(frozen=True)
class Numeral(Numeric):
    """A number of the query's text."""

    value: float

    def at(self, theta: Floats) -> Floats:
        return np.full(len(theta), self.value)


@final
@dataclass(frozen=True)
class Parameter(Numeric):
    """One coordinate of θ."""

    place: int

    def at(self, theta: Floats) -> Floats:
        return np.asarray(theta[:, self.place], dtype=np.float64)


@final
@dataclass(frozen=True)
class Arithmetic(Numeric):
    """Left + right, and so on."""

    sign: str
    left: Numeric
    right: Numeric

    def at(self, theta: Floats) -> Floats:
        return np.asarray(ARITHMETIC[self.sign](self.left.at(theta), self.right.at(theta)))


@final
@dataclass(frozen=True)
class Raised(Numeric):
    """A number raised to a constant."""

    base: Numeric
    exponent: float

    def at(self, theta: Floats) -> Floats:
        return np.asarray(self.base.at(theta) ** self.exponent)


@final
@dataclass(frozen=True)
class Negative(Numeric):
    """Minus a number."""

    inner: Numeric

    def at(self, theta: Floats) -> Floats:
        return -self.inner.at(theta)


@final
@dataclass(frozen=True)
class Applied(Numeric):
    """A function of one number."""

    function: str
    inner: Numeric

    def at(self, theta: Floats) -> Floats:
        return FUNCTIONS[self.function](self.inner.at(theta))


@final
@dataclass(frozen=True)
class Comparison(Predicate):
    """Left < right, and so on."""

    sign: str
    left: Numeric
    right: Numeric

    def at(self, theta: Floats) -> Truths:
        left, right = self.left.at(theta), self.right.at(theta)
        known = ~(np.isnan(left) | np.isnan(right))
        return np.asarray(COMPARISONS[self.sign](left, right) & known)


@final
@dataclass(frozen=True)
class Joined(Predicate):
    """Both, or either."""

    word: str
    left: Predicate
    right: Predicate

    def at(self, theta: Floats) -> Truths:
        left, right = self.left.at(theta), self.right.at(theta)
        return left & right if self.word == "and" else left | right


@final
@dataclass(frozen=True)
class Opposite(Predicate):
    """What holds where the inner claim does not."""

    inner: Predicate

    def at(self, theta: Floats) -> Truths:
        return ~self.inner.at(theta)
