"""What every plan has: rows that meet the target, best first, and what was left out and why."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, Generic, TypeVar, final

from discreet.planning.offers import ask_to_json, price_to_json
from discreet.privacy.arithmetic.ball import PrecisionError
from discreet.privacy.guarantee import Guarantee, NotProved, Unreachable
from discreet.shown import steps

Model = TypeVar("Model")
Row = TypeVar("Row", bound="Any")
Tried = TypeVar("Tried")
TRUSTED = 0.05  # how far below its level intervals may be predicted to cover before a plan warns


@final
@dataclass(frozen=True)
class Refusal:
    """A mechanism that cannot meet the target, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Ranked(ABC, Generic[Model, Row]):
    """Predictions for all that meets the target, best first; the others with their reasons."""

    model: Model
    n: int
    target: Guarantee
    rows: tuple[Row, ...]
    refused: tuple[Refusal, ...]

    offered: ClassVar[str] = "mechanism"

    @property
    def best(self) -> Row:
        """First row; raises Unreachable when nothing meets the target."""
        if not self.rows:
            reasons = "; ".join(f"{r.name}: {r.reason}" for r in self.refused)
            raise Unreachable(f"no {self.offered} meets {self.target}: {reasons}")
        return self.rows[0]

    @abstractmethod
    def table(self) -> str:
        """Aligned text."""

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.table())}</pre>"

    def to_json(self) -> dict[str, Any]:
        """JSON-able: ∞ as the string "inf"."""
        return {
            "model": repr(self.model),
            "n": self.n,
            "target": str(self.target),
            "relation": self.target.relation.to_json(),
            "rows": [row.to_json() for row in self.rows],
            "refused": [vars(refusal) for refusal in self.refused],
        }


@dataclass(frozen=True)
class Compared(Ranked[Model, Row]):
    """Rows of errors and intervals, beside those of the posterior without privacy."""

    level: float
    assumed: str  # what data were imagined
    ranked_by: str
    exact: Row  # the posterior without privacy, for comparison

    @property
    def cautions(self) -> tuple[str, ...]:
        """Say what not to trust."""
        return ()

    def to_json(self) -> dict[str, Any]:
        """JSON-able: ∞ as the string "inf"."""
        return super().to_json() | {
            "level": self.level,
            "assumed": self.assumed,
            "ranked_by": self.ranked_by,
            "exact": self.exact.to_json(),
            "cautions": list(self.cautions),
        }


def json_row(row: object, *without: str) -> dict[str, Any]:
    """Fields of a row, JSON-able: NaN as null, ∞ as the string "inf"."""
    plain = {k: v for k, v in vars(row).items() if k not in {"mechanism", *without}}
    if "ask" in plain:
        plain |= {"ask": ask_to_json(plain["ask"]), "price": price_to_json(plain["price"])}
    unknown = {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in plain.items()}
    return {k: "inf" if v == math.inf else v for k, v in unknown.items()}


def tried(
    offered: Sequence[tuple[str, Callable[[], Tried]]],
    label: str,
    errors: tuple[type[Exception], ...] = (Unreachable, NotProved, PrecisionError),
) -> tuple[list[Tried], tuple[Refusal, ...]]:
    """Run each by name; what cannot meet the target is refused, with the error's words."""
    done, refused = [], []
    for name, run in steps(offered, label):
        try:
            done.append(run())
        except errors as error:
            refused.append(Refusal(name, str(error)))
    return done, tuple(refused)


def rank(row: Row, criterion: str) -> tuple[float, str]:
    """Order by the criterion, least first; a row without the number (one draw has no width) comes last."""
    value = getattr(row, criterion)
    return (math.inf if value is None or math.isnan(value) else value), row.name
