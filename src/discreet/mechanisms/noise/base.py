"""What a basic mechanism adds to a Mechanism: its relation, repeated releases, and its law for an audit."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from discreet.mechanisms.mechanism import Mechanism
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Relation
from discreet.sampling.source import Source


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
