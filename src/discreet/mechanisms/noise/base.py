"""What a basic mechanism adds to a Mechanism: its relation, repeated releases, and its law for an audit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.checks import integers, reals
from discreet.mechanisms.mechanism import Mechanism
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.sampling.source import SYSTEM, Source


@dataclass(frozen=True)
class BasicMechanism(Mechanism):
    """A mechanism whose law is known in closed form for every input."""

    relation: Relation = field(default=SUBSTITUTE, kw_only=True)

    @abstractmethod
    def releases(self, value: Any, size: int, source: Source | None = None) -> NDArray[Any]:  # noqa: ANN401
        """`size` independent releases of one value, at `size` times the price (audits, simulations)."""

    @abstractmethod
    def hockey_stick(self, value: Any, neighbour: Any, epsilon: Exact) -> float:  # noqa: ANN401
        """δ(ε) = sup P(E) − e^ε Q(E) over events, for the releases of two inputs; a certified lower bound."""


class RealNoise(BasicMechanism):
    """Independent noise on every coordinate of reals; multiples of a public grid, as the nearest doubles."""

    @abstractmethod
    def _noisy(self, centers: list[Fraction], source: Source | None) -> NDArray[np.float64]:
        """Draw once around each centre."""

    def release(self, value: ArrayLike, source: Source | None = None) -> NDArray[np.float64] | np.float64:
        flat, shape = reals(value, "the value")
        return self._noisy(flat, source).reshape(shape)[()]

    def releases(self, value: Exact, size: int, source: Source | None = None) -> NDArray[np.float64]:
        (center,), _ = reals(np.asarray(value, dtype=object), "the value")
        return self._noisy([center] * size, source)


class IntegerNoise(BasicMechanism):
    """Independent integer noise on every coordinate of counts."""

    @abstractmethod
    def _noise(self, source: Source, size: int) -> NDArray[np.int64]:
        """Draw the noise alone."""

    def release(self, value: ArrayLike, source: Source | None = None) -> NDArray[np.int64] | np.int64:
        counts = integers(value, "the counts")
        return (counts + self._noise(source or SYSTEM, counts.size).reshape(counts.shape))[()]

    def releases(self, value: int, size: int, source: Source | None = None) -> NDArray[np.int64]:
        return np.asarray(self.release(np.full(size, value), source))
