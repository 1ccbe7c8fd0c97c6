"""What a release of single posterior draws says: the draws themselves, and no more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Floats
from discreet.mechanisms.regression.noisy_moments import NoisyMoments
from discreet.mechanisms.regression.perturbed_fit import PerturbedFit
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.mechanisms.statistics.noisy_tables import NoisyCells
from discreet.models.model import Model

Nested = float | tuple["Nested", ...]


class OnlyDraws(ValueError):  # noqa: N818 - a fact about the release, said in the user's words
    """A summary was asked of a release that holds only draws; the message says which mechanism gives it."""


@final
@dataclass(frozen=True)
class Draws:
    """θ₁, …, θ_q, each paid for. They are drawn from the mechanism's posterior, which stays private."""

    kind: ClassVar[str] = "draws"  # what files and the catalogue call it

    model: Model  # the prior as it was given
    values: tuple[Nested, ...]

    @classmethod
    def of(cls, model: Model, theta: object, *, several: bool) -> Draws:
        array = np.asarray(theta, dtype=np.float64)
        return cls(model, _nested((array if several else array[None]).tolist()))

    @property
    def size(self) -> int:
        return len(self.values)

    def sample(self) -> Floats:
        """Return the released draws; a further one would be a further release."""
        return np.asarray(self.values, dtype=np.float64)


ReleasedValue = NoisyStatistic | NoisyCells | NoisyMoments | PerturbedFit | Draws


@singledispatch
def as_released_value(drawn: ArrayLike | ReleasedValue, model: Model, *, several: bool) -> ReleasedValue:
    """Turn what a mechanism drew into what is released: θ (one, or several in a row) as Draws."""
    return Draws.of(model, drawn, several=several)


@as_released_value.register(NoisyStatistic)
@as_released_value.register(NoisyCells)
@as_released_value.register(NoisyMoments)
@as_released_value.register(PerturbedFit)
def _released_noisy(drawn: ReleasedValue, model: Model, *, several: bool) -> ReleasedValue:
    """Noisy statistics carry their model and their noise, and are released as they are."""
    del model, several
    return drawn


def _nested(values: list[Any]) -> tuple[Nested, ...]:
    return tuple(_nested(value) if isinstance(value, list) else float(value) for value in values)
