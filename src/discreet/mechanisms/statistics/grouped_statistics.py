"""Noise on the statistic of every group at once: a record is in one group, so the dearest pays for all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Floats, Sensitivity, public_size
from discreet.mechanisms.mechanism import WIDEST_DISCRETE, ModelMechanism, least_noise
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.statistics.noisy_groups import NoisyGroups
from discreet.mechanisms.statistics.noisy_statistics import (
    GAUSSIAN,
    NOISES,
    NoisyStatistics,
    noised_by_share,
    scale_of_share,
)
from discreet.models.grouped import Grouped
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True, kw_only=True)
class GroupedStatistics(ModelMechanism):
    """Ŝ_g = S_g + noise for every group g, the same noise for all: one vector, one noise mechanism.

    How far one record moves the vector of all groups, `Grouped.sensitivity`, is what is paid for: as far as
    one group's own statistic, however many groups there are. A record that is substituted may leave one
    group and enter another, unless its group is public: two blocks move then, each as when a record is added.
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        _ = self.noiser

    @classmethod
    def calibrate(
        cls, model: Grouped, *, n: int | None = None, target: Guarantee, noise: str | None = None
    ) -> Self:
        """Return the least scale, to one double, whose certified guarantee meets the target."""
        chosen = noise or model.model.usual_noise(target)

        def at(scale: float) -> Self:
            return cls(model, n=n, noise=chosen, scale=scale, relation=target.relation)

        return at(least_noise(lambda scale: at(scale).guarantee, target, widest=WIDEST_DISCRETE))

    @property
    def joint(self) -> bool:
        """Whether the number of records of each group is noised with its statistic."""
        return self.model.joint(self.relation)

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the vector of all groups, in integer units."""
        return self.model.sensitivity(self.relation)

    @property
    def noiser(self) -> BasicMechanism:
        """The noise mechanism that does the work and carries the guarantee."""
        if self.noise not in NOISES:
            raise ValueError(f"unknown noise {self.noise!r}; known: {', '.join(NOISES)}")
        return NOISES[self.noise](self.sensitivity, self.scale, self.relation)

    @property
    def halved(self) -> bool:
        """Whether some coordinates need less noise than others."""
        return self.noise in GAUSSIAN and bool((self.model.model.noise_shares < 1).any())

    def shares(self, size: int) -> Floats:
        """By coordinate of one group, the variance of its noise as a share of σ²; n has all of it."""
        out = np.ones(size)
        if self.halved:
            out[: self.model.model.units.size] = self.model.model.noise_shares
        return out

    def noiser_of(self, share: float) -> BasicMechanism:
        """Return noise of a share of the variance; what it promises alone means nothing."""
        return NOISES[self.noise](self.sensitivity, scale_of_share(self.scale, share), self.relation)

    @property
    def knob(self) -> tuple[str, float]:
        return "scale", float(self.scale)

    @property
    def guarantee(self) -> Guarantee:
        """What the release of all groups promises; every reading of it, however often, is free."""
        return self.noiser.guarantee

    def of_one_group(self, n: int) -> NoisyStatistics:
        """Return the mechanism that makes the same noise on one group of n records: for plans."""
        if self.joint:
            return NoisyStatistics(self.model.model, noise=self.noise, scale=self.scale, relation=ADD_REMOVE)
        return NoisyStatistics(self.model.model, n=n, noise=self.noise, scale=self.scale)

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> NoisyGroups:
        """Noise all groups once, given rows (S, n). `count` is the private number of records, and unused."""
        if (count is None) == (self.relation is ADD_REMOVE):
            raise ValueError("give count, the private number of records, under ADD_REMOVE and only there")
        bits = source or SYSTEM
        exact = self.model.vector(value, self.relation)
        sizes = tuple(int(size) for size in np.asarray(value)[:, -1])
        shares = np.tile(self.shares(exact.shape[1]), len(exact))
        noisy = noised_by_share(self.noiser_of, exact.reshape(-1), shares, bits)
        return NoisyGroups(
            model=self.model,
            noisy=noisy.reshape(exact.shape),
            n=self.n,
            counts=None if self.joint else sizes,
            noise=self.noise,
            scale=self.scale,
            guarantee=self.guarantee,
            seeded=bits.seeded,
            halved=self.halved,
        )
