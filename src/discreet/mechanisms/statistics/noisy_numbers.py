"""Noise on plain numbers, once; reading them is free."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Sensitivity, public_size
from discreet.mechanisms.mechanism import WIDEST_DISCRETE, ModelMechanism, least_noise
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.statistics.noisy_plain import NoisyPlain
from discreet.mechanisms.statistics.noisy_statistics import NOISES
from discreet.models.plain import PlainNumbers
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True, kw_only=True)
class NoisyNumbers(ModelMechanism):
    """Ŝ = S + noise on a count, a histogram or moments: Laplace or Gaussian mechanism [N19 §5.2, §5.4]."""

    name: ClassVar[str] = "noisy_numbers"
    theorem: ClassVar[str] = "N19 §5.2, §5.4: the noise mechanism's theorem, then post-processing"

    model: PlainNumbers = field(kw_only=False)
    n: int | None = None
    noise: str = "discrete_laplace"
    scale: Exact
    relation: Relation = SUBSTITUTE

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        _ = self.noiser

    @classmethod
    def calibrate(
        cls, model: PlainNumbers, *, n: int | None = None, target: Guarantee, noise: str = "discrete_laplace"
    ) -> Self:
        """Return the least scale, to one double, whose certified guarantee meets the target."""

        def at(scale: float) -> Self:
            return cls(model, n=n, noise=noise, scale=scale, relation=target.relation)

        return at(least_noise(lambda scale: at(scale).guarantee, target, widest=WIDEST_DISCRETE))

    @property
    def sensitivity(self) -> Sensitivity:
        return self.model.sensitivity(self.relation)

    @property
    def noiser(self) -> BasicMechanism:
        """The noise mechanism that does the work and carries the guarantee."""
        if self.noise not in NOISES:
            raise ValueError(f"unknown noise {self.noise!r}; known: {', '.join(NOISES)}")
        return NOISES[self.noise](self.sensitivity, self.scale, self.relation)

    @property
    def knob(self) -> tuple[str, float]:
        return "scale", float(self.scale)

    @property
    def guarantee(self) -> Guarantee:
        return self.noiser.guarantee

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> NoisyPlain:
        """Noise all numbers once; `count` is the private number of records, needed only under ADD_REMOVE."""
        if (count is None) == (self.relation is ADD_REMOVE):
            raise ValueError("give count, the private number of records, under ADD_REMOVE and only there")
        bits = source or SYSTEM
        exact = self.model.vector(value, self.n or count or 0, self.relation)
        return NoisyPlain(
            model=self.model,
            noisy=np.atleast_1d(self.noiser.release(exact, bits)),
            n=self.n,
            noise=self.noise,
            scale=self.scale,
            guarantee=self.guarantee,
            seeded=bits.seeded,
        )
