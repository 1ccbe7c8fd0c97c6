"""Noise on the statistic of every group at once: a record is in one group, so the dearest pays for all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Sensitivity
from discreet.mechanisms.statistics.noised_vector import NoisedVector, least
from discreet.mechanisms.statistics.noisy_groups import NoisyGroups
from discreet.mechanisms.statistics.noisy_statistics import NoisyStatistics, halves, shares_of
from discreet.models.grouped import Grouped
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True, kw_only=True)
class GroupedStatistics(NoisedVector):
    """Ŝ_g = S_g + noise for every group g, the same noise for all: one vector, one noise mechanism.

    How far one record moves the vector of all groups, `Grouped.sensitivity`, is what is paid for: as far as
    one group's own statistic, however many groups there are. A record that is substituted may leave one
    group and enter another: two blocks move then, each as when a record is added.
    """

    name: ClassVar[str] = "grouped_statistics"
    theorem: ClassVar[str] = (
        "the noise mechanism's theorem for the vector of all groups, of which one record moves one block, or "
        "two where it may change its group [McSherry 2009, theory §11]; post-processing"
    )

    model: Grouped = field(kw_only=False)
    n: int | None = None
    noise: str = "discrete_laplace"
    scale: Exact
    relation: Relation = SUBSTITUTE

    @classmethod
    def calibrate(
        cls, model: Grouped, *, n: int | None = None, target: Guarantee, noise: str | None = None
    ) -> Self:
        """Return the least scale, to one double, whose certified guarantee meets the target."""
        chosen = noise or model.model.usual_noise(target)
        return least(
            lambda scale: cls(model, n=n, noise=chosen, scale=scale, relation=target.relation), target
        )

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the vector of all groups, in integer units."""
        return self.model.sensitivity(self.relation)

    @property
    def halved(self) -> bool:
        """Whether some coordinates need less noise than others."""
        return halves(self.model.model, self.noise)

    def of_one_group(self) -> NoisyStatistics:
        """Return the mechanism that makes the same noise on one group: for plans."""
        return NoisyStatistics(self.model.model, noise=self.noise, scale=self.scale, relation=ADD_REMOVE)

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> NoisyGroups:
        """Noise all groups once, given rows (S, n). `count` is the private number of records, and unused."""
        self.refuse_count(count)
        bits = source or SYSTEM
        exact = self.model.vector(value)
        shares = np.tile(shares_of(self.model.model, self.noise, exact.shape[1]), len(exact))
        noisy = self.noised_by_share(exact.reshape(-1), shares, bits)
        return NoisyGroups(
            model=self.model,
            noisy=noisy.reshape(exact.shape),
            n=self.n,
            noise=self.noise,
            scale=self.scale,
            guarantee=self.guarantee,
            seeded=bits.seeded,
            halved=self.halved,
        )
