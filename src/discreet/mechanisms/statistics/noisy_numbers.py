"""Noise on plain numbers, once; reading them is free."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Sensitivity
from discreet.mechanisms.statistics.noised_vector import NoisedVector, least
from discreet.mechanisms.statistics.noisy_plain import NoisyPlain
from discreet.models.plain import PlainNumbers
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, Relation
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True, kw_only=True)
class NoisyNumbers(NoisedVector):
    """Ŝ = S + noise on a count, a histogram or moments: Laplace or Gaussian mechanism [N19 §5.2, §5.4]."""

    name: ClassVar[str] = "noisy_numbers"
    theorem: ClassVar[str] = "N19 §5.2, §5.4: the noise mechanism's theorem, then post-processing"

    model: PlainNumbers = field(kw_only=False)
    n: int | None = None
    noise: str = "discrete_laplace"
    scale: Exact
    relation: Relation = SUBSTITUTE

    @classmethod
    def calibrate(
        cls, model: PlainNumbers, *, n: int | None = None, target: Guarantee, noise: str = "discrete_laplace"
    ) -> Self:
        """Return the least scale, to one double, whose certified guarantee meets the target."""
        return least(
            lambda scale: cls(model, n=n, noise=noise, scale=scale, relation=target.relation), target
        )

    @property
    def sensitivity(self) -> Sensitivity:
        return self.model.sensitivity(self.relation)

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> NoisyPlain:
        """Noise all numbers once; `count` is the private number of records, needed only under ADD_REMOVE."""
        self.refuse_count(count)
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
