"""Naive Bayes: features independent given the class, counted as one class × feature table each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

from discreet.families.exact_fields import Rational
from discreet.models.count_model import CountModel


@final
@dataclass(frozen=True, repr=False)
class NaiveBayes(CountModel):
    """p(y, x) = π_y ∏_d θ_{y,d,x_d}; π and every θ_{y,d} Dirichlet with `prior` in each entry.

    The class totals are the margins of every table, so they need no table, and no budget, of their own.
    """

    name: ClassVar[str] = "naive_bayes"

    label: str
    features: tuple[str, ...]
    prior: Rational = Rational(default=1)  # noqa: RUF009 - a descriptor

    def __post_init__(self) -> None:
        given = self.features
        features = (given,) if isinstance(given, str) else tuple(given)
        object.__setattr__(self, "features", features)
        if not features or len(set(features)) != len(features):
            raise ValueError(f"features must be at least one column, each once, got {list(features)}")
        if self.label in features:
            raise ValueError(f"the label {self.label!r} is among the features: it cannot predict itself")
        super().__post_init__()

    @property
    def layout(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((feature, (self.label, feature)) for feature in self.features)

    @property
    def classes(self) -> int:
        """Return how many codes the label has."""
        return self.size_of[self.label]
