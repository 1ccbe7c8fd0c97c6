"""One kind of noise, of one scale, on a vector of integers: what its mechanism promises, the release does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.families.family import Floats, Integers, Sensitivity, public_size, root_above
from discreet.mechanisms.mechanism import WIDEST_DISCRETE, ModelMechanism, least_noise
from discreet.mechanisms.noise.base import BasicMechanism
from discreet.mechanisms.noise.gaussian import DiscreteGaussian, Gaussian
from discreet.mechanisms.noise.laplace import DiscreteLaplace, Laplace
from discreet.privacy.arithmetic.ball import Exact
from discreet.privacy.guarantee import ADD_REMOVE, Guarantee, Relation
from discreet.sampling.source import Source

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


class NoisedVector(ModelMechanism):
    """A mechanism with fields `model`, `n`, `noise`, `scale` and `relation`, and a sensitivity."""

    if TYPE_CHECKING:  # fields of every kind

        @property
        def noise(self) -> str: ...

        @property
        def scale(self) -> Exact: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", public_size(self.relation, self.n))
        _ = self.noiser

    @property
    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """Of what is noised, in integer units."""

    @cached_property
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
        """What the release promises; every reading of it, however often, is free."""
        return self.noiser.guarantee

    def refuse_count(self, count: int | None) -> None:
        """Refuse a release without the number of records where that is private, or with one elsewhere."""
        if (count is None) == (self.relation is ADD_REMOVE):
            raise ValueError("give count, the private number of records, under ADD_REMOVE and only there")

    def noised_by_share(self, vector: Integers, shares: Floats, source: Source) -> NDArray[np.generic]:
        """Add to each coordinate noise of its share of the variance, all of one share at once.

        The guarantee is that of the whole.
        """
        each = [(share, shares == share) for share in np.unique(shares).tolist()]
        noisy = [np.asarray(self.noiser_of(share).release(vector[place], source)) for share, place in each]
        out = np.empty(vector.size, dtype=noisy[0].dtype)
        for (_, place), part in zip(each, noisy, strict=True):
            out[place] = part
        return out

    def noiser_of(self, share: float) -> BasicMechanism:
        """Return noise of scale σ√share, rounded up; what it promises alone means nothing."""
        scale = self.scale if share == 1 else root_above(Fraction(self.scale) ** 2 * Fraction(share))
        return NOISES[self.noise](self.sensitivity, scale, self.relation)


Vector = TypeVar("Vector", bound=NoisedVector)


def least(at: Callable[[float], Vector], target: Guarantee) -> Vector:
    """Return the mechanism of the least scale, to one double, whose certified guarantee meets the target."""
    return at(least_noise(lambda scale: at(scale).guarantee, target, widest=WIDEST_DISCRETE))
