"""Noise on the sufficient statistic, once; then any number of draws, moments and other priors are free."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.families.family import (
    Family,
    Floats,
    Integers,
    Sensitivity,
    public_size,
    root_above,
    table_size,
)
from discreet.mechanisms.mechanism import WIDEST_DISCRETE, ModelMechanism, least_noise
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.mechanisms.statistics.noisy_statistic import NoisyStatistic
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, SUBSTITUTE, Guarantee, Relation
from discreet.sampling.source import SYSTEM, Source

# name → the noise mechanism for a sensitivity and a scale (σ for the Gaussian kinds), in integer units
NOISES: dict[str, Callable[[Sensitivity, Exact, Relation], BasicMechanism]] = {
    "discrete_laplace": lambda s, scale, relation: DiscreteLaplace(ceil(s.l1), scale, relation=relation),
    "discrete_gaussian": lambda s, scale, relation: DiscreteGaussian(
        s.l2, Fraction(scale) ** 2, relation=relation
    ),
    "laplace": lambda s, scale, relation: Laplace(s.l1, scale, relation=relation),
    "gaussian": lambda s, scale, relation: Gaussian(s.l2, scale, relation=relation),
}


GAUSSIAN = ("discrete_gaussian", "gaussian")  # kinds whose variance may differ between coordinates


def scale_of_share(scale: Exact, share: float) -> Exact:
    """Return σ√share, rounded up."""
    return scale if share == 1 else root_above(Fraction(scale) ** 2 * Fraction(share))


def noised_by_share(
    noiser_of: Callable[[float], BasicMechanism], vector: Integers, shares: Floats, source: Source
) -> NDArray[np.generic]:
    """Add to each coordinate noise of its share of the variance, all of one share at once."""
    each = [(share, shares == share) for share in np.unique(shares).tolist()]
    noisy = [np.asarray(noiser_of(share).release(vector[place], source)) for share, place in each]
    out = np.empty(vector.size, dtype=noisy[0].dtype)
    for (_, place), part in zip(each, noisy, strict=True):
        out[place] = part
    return out


@final
@dataclass(frozen=True, kw_only=True)
class NoisyStatistics(ModelMechanism):
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

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        _ = self.noiser

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

        return at(least_noise(lambda scale: at(scale).guarantee, target, widest=WIDEST_DISCRETE))

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
    def noiser(self) -> BasicMechanism:
        """The noise mechanism that does the work and carries the guarantee."""
        if self.noise not in NOISES:
            raise ValueError(f"unknown noise {self.noise!r}; known: {', '.join(NOISES)}")
        return NOISES[self.noise](self.sensitivity, self.scale, self.relation)

    @property
    def halved(self) -> bool:
        """Whether some coordinates need less noise than others."""
        return self.noise in GAUSSIAN and bool((self.model.noise_shares < 1).any())

    def shares(self, size: int) -> Floats:
        """By coordinate of what is noised, the variance of its noise as a share of σ²; n has all of it."""
        out = np.ones(size)
        if self.halved:
            out[: self.model.units.size] = self.model.noise_shares
        return out

    @property
    def knob(self) -> tuple[str, float]:
        return "scale", float(self.scale)

    @property
    def guarantee(self) -> Guarantee:
        """What the release promises; every reading of it, however often, is free."""
        return self.noiser.guarantee

    def release(
        self, value: ArrayLike, source: Source | None = None, *, count: int | None = None
    ) -> NoisyStatistic:
        """Noise the family's integer statistic once.

        `count` is the private number of records, needed (and allowed) only under ADD_REMOVE.
        """
        bits = source or SYSTEM
        return self.as_release(self.noised(self.vector(value, count), bits), seeded=bits.seeded)

    def noised(self, vector: Integers, source: Source) -> NDArray[np.generic]:
        """Add to each coordinate noise of its share; the guarantee is that of the whole."""
        return noised_by_share(self.noiser_of, vector, self.shares(vector.size), source)

    def noiser_of(self, share: float) -> BasicMechanism:
        """Return noise of a share of the variance; what it promises alone means nothing."""
        return NOISES[self.noise](self.sensitivity, scale_of_share(self.scale, share), self.relation)

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
        if (count is None) == (self.relation is ADD_REMOVE):
            raise ValueError("give count, the private number of records, under ADD_REMOVE and only there")
        n = table_size(self.n or count or 0)  # an empty table is a neighbour, too
        return self.model.joint(value, n) if self.joint else self.model.check(value, n)
