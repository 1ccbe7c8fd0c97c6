"""What a Guarantee is: the promise, its neighbour relation, and the questions every promise answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import Enum


class Relation(Enum):
    """Which pairs of data sets must look alike."""

    SUBSTITUTE = "substitute"  # one record replaced; n is public
    ADD_REMOVE = "add_remove"  # one record added or removed; n is private


SUBSTITUTE = Relation.SUBSTITUTE
ADD_REMOVE = Relation.ADD_REMOVE


class Unreachable(ValueError):  # noqa: N818 - a fact about the target, said in the user's words
    """No setting of the knob meets the target; the message says what would."""


class NotProved(ValueError):  # noqa: N818
    """No theorem covers what was asked; the message says which mechanism is covered."""


@dataclass(frozen=True)
class Guarantee(ABC):
    """What is promised about every pair of neighbouring data sets. Every number is rounded to the private side."""

    relation: Relation = field(default=SUBSTITUTE, kw_only=True)

    @abstractmethod
    def epsilon(self, delta: float) -> float:
        """Least certified ε with (ε, δ)-DP; ∞ when there is none; δ = 0 asks for pure DP."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Least certified δ with (ε, δ)-DP, in [0, 1]."""

    @abstractmethod
    def renyi(self, order: float) -> float:
        """Certified upper bound on the Rényi divergence of this order > 1, in both directions; ∞ where unbounded."""

    @property
    @abstractmethod
    def order_limit(self) -> float:
        """α*: the Rényi curve is finite below it (∞ when everywhere)."""

    @abstractmethod
    def group(self, k: int) -> Guarantee:
        """The guarantee for k records changed at once."""
