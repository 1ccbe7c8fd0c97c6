"""Noise on the sufficient statistic, once; then any number of draws, moments and other priors are free."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike

from discreet.families.family import Family, Floats, Integers, Sensitivity, table_size
from discreet.mechanisms.statistics.noised_vector import GAUSSIAN, NoisedVector, least
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation
from discreet.sampling.source import SYSTEM, Source


def halves(family: Family, noise: str) -> bool:
    """Whether some coordinates of a family's statistic need less noise than others."""
    return noise in GAUSSIAN and bool((family.noise_shares < 1).any())


def shares_of(family: Family, noise: str, size: int) -> Floats:
    """By coordinate of a statistic, the variance of its noise as a share of σ²; n has all of it."""
    out = np.ones(size)
    if halves(family, noise):
        out[: family.units.size] = family.noise_shares
    return out


@final
@dataclass(frozen=True, kw_only=True)
class NoisyStatistics(NoisedVector):
    """Ŝ = S + noise of the given scale on the family's integer statistic [F16 §3.2].

    With n public (SUBSTITUTE) S alone is noised: for Beta–Bernoulli the success count, of sensitivity 1. With
    n private (ADD_REMOVE) it is (S, n), as model.joint encodes it. `noise_both_counts` noises (S, n) although
    n is public, twice the sensitivity, as the paper does: for reproduction only. Gaussian noise has half
    of σ² off the diagonal of a matrix of moments [theory §9].
    """

    name: ClassVar[str] = "noisy_statistics"
    theorem: ClassVar[str] = "F16 §3.2: the noise mechanism's theorem, then post-processing"

    model: Family = field(kw_only=False)
    n: int | None = None
    noise: str = "discrete_laplace"
    scale: Exact
    relation: Relation = SUBSTITUTE
    noise_both_counts: bool = False

    @classmethod
    def calibrate(
        cls,
        model: Family,
        *,
        n: int | None = None,
        target: Guarantee,
        noise: str | None = None,
        noise_both_counts: bool = False,
    ) -> Self:
        """Least scale, to one double, whose certified guarantee meets the target; the model's usual noise."""
        chosen = noise or model.usual_noise(target)

        def at(scale: float) -> Self:
            return cls(
                model,
                n=n,
                noise=chosen,
                scale=scale,
                relation=target.relation,
                noise_both_counts=noise_both_counts,
            )

        return least(at, target)

    @property
    def joint(self) -> bool:
        """Whether n is noised along with S."""
        return self.noise_both_counts or self.relation is ADD_REMOVE

    @property
    def sensitivity(self) -> Sensitivity:
        """Of what is noised, in integer units; a substitution is one removal and one addition."""
        if not self.joint:
            return self.model.sensitivity(self.relation)
        one = self.model.joint_sensitivity()
        return one if self.relation is ADD_REMOVE else Sensitivity(2 * one.l1, 2 * one.l2, 2 * one.linf)

    @property
    def halved(self) -> bool:
        """Whether some coordinates need less noise than others."""
        return halves(self.model, self.noise)

    def shares(self, size: int) -> Floats:
        """By coordinate of what is noised, the variance of its noise as a share of σ²."""
        return shares_of(self.model, self.noise, size)

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> NoisyStatistic:
        """Noise the family's integer statistic once.

        `count` is the private number of records, needed (and allowed) only under ADD_REMOVE.
        """
        bits = source or SYSTEM
        vector = self.vector(value, count)
        noisy = self.noised_by_share(vector, self.shares(vector.size), bits)
        return self.as_release(noisy, seeded=bits.seeded)

    def as_release(self, noisy: ArrayLike, *, seeded: bool) -> NoisyStatistic:
        """Return noisy numbers with all that reading them needs."""
        return NoisyStatistic(
            model=self.model,
            noisy=tuple(np.asarray(noisy).tolist()),
            n=self.n,
            joint=self.joint,
            noise=self.noise,
            scale=self.scale,
            guarantee=self.guarantee,
            seeded=seeded,
            halved=self.halved,
        )

    def vector(self, value: ArrayLike, count: int | None) -> Integers:
        """Return what is noised: the statistic, with a private number of records the joint one."""
        self.refuse_count(count)
        n = table_size(self.n or count or 0)  # an empty table is a neighbour, too
        return self.model.joint(value, n) if self.joint else self.model.check(value, n)
