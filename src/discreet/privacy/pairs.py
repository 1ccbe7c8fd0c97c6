"""Worst neighbouring pairs of posterior draws: two laws, their Rényi divergence and exact privacy profile."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True)
class WorstCase(ABC):
    """The supremum over neighbouring data sets, in both directions, as balls; ∞ as a ball that is not finite."""

    @property
    @abstractmethod
    def order_limit(self) -> float:
        """α*, rounded down: the divergence is finite for orders below it."""

    @abstractmethod
    def renyi(self, order: float) -> arb:
        """sup D_α at the working precision, an enclosure or upper bound."""

    @abstractmethod
    def delta(self, epsilon: float) -> arb:
        """sup hockey-stick divergence δ(ε) at the working precision, an enclosure or upper bound."""
