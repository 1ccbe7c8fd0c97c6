"""Naive-Bayes hidden Markov model: a state for every chain and step, features independent given it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.exact_fields import Rational
from discreet.models.count_model import CountModel


@final
@dataclass(frozen=True, repr=False)
class HiddenMarkov(CountModel):
    """p(z, x) = ∏_r π₀(z_{r,1}) ∏_t A(z_{r,t−1}, z_{r,t}) ∏_{records of r,t} ∏_d θ_{z_{r,t},d,x_d} [F16 §5].

    π₀ and every row of A are Dirichlet with `transition` in each entry, every θ_{k,d} with `emission`. One
    table (chain, step, feature) is counted for each feature; a cell (r, t) may hold any number of records.
    """

    name: ClassVar[str] = "hidden_markov"

    states: int = 0  # must be given; 0 is refused
    chain: str = ""
    step: str = ""
    features: tuple[str, ...] = ()
    transition: Rational = Rational(default=1)  # noqa: RUF009 - a descriptor
    emission: Rational = Rational(default=1)  # noqa: RUF009

    def __post_init__(self) -> None:
        if isinstance(self.states, bool) or not (isinstance(self.states, int) and self.states >= 1):
            raise ValueError(
                "a hidden Markov model needs states=K, the number of hidden states, an integer from 1; "
                f"got {self.states!r}. It is part of the model and must not be read from the private rows"
            )
        given = self.features
        features = (given,) if isinstance(given, str) else tuple(given)
        object.__setattr__(self, "features", features)
        if not features or len({self.chain, self.step, *features} - {""}) != len(features) + 2:
            raise ValueError(
                "a hidden Markov model needs a chain column, a step column and at least one feature, all "
                f"different; got chain={self.chain!r}, step={self.step!r}, features={list(features)}"
            )
        super().__post_init__()

    @property
    def layout(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return tuple((feature, (self.chain, self.step, feature)) for feature in self.features)

    @property
    def chains(self) -> int:
        """R"""
        return self.size_of[self.chain]

    @property
    def steps(self) -> int:
        """T"""
        return self.size_of[self.step]

    @property
    def offsets(self) -> tuple[int, ...]:
        """Where each feature's values begin among all Σ_d K_d values, and where the last ends."""
        return tuple(np.cumsum([0, *(self.size_of[feature] for feature in self.features)]).tolist())

    def by_cell(self, values: ArrayLike) -> NDArray[Any]:
        """Flat counts as one row a cell (r, t), the values of all features side by side."""
        tables = self.split(values).values()
        rows = [table.reshape(self.chains * self.steps, -1) for table in tables]
        return np.ascontiguousarray(np.concatenate(rows, axis=1))

    def flat(self, by_cell: ArrayLike) -> NDArray[Any]:
        """Return the inverse of by_cell."""
        parts = np.split(np.asarray(by_cell), self.offsets[1:-1], axis=1)
        return np.concatenate([part.reshape(-1) for part in parts])
