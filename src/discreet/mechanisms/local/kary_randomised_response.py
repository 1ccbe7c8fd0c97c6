"""Randomised response over k categories."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.mechanisms.local.randomised_response import BITS, binomial, log_ratio
from discreet.mechanisms.mechanism import fixed_size, integers, largest_budget, positive, whole
from discreet.mechanisms.noise.base import BasicMechanism, finite_divergence
from discreet.privacy.arithmetic.ball import Exact, ball, ceiling, precision
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import PureDP
from discreet.sampling import exact
from discreet.sampling.source import SYSTEM, Source


@final
@dataclass(frozen=True)
class KaryRandomizedResponse(BasicMechanism):
    """Keep the category with probability e^ε/(e^ε+k−1), else another uniformly [Kairouz et al. 2016]."""

    categories: int
    epsilon: Exact
    name: ClassVar[str] = "kary_randomized_response"
    theorem: ClassVar[str] = (
        "Kairouz, Oh, Viswanath 2016, §2; the guarantee is of the rational probabilities drawn"
    )

    def __post_init__(self) -> None:
        fixed_size(self.relation, "k-ary randomised response")
        whole(self.categories, "the number of categories", least=2)
        positive(self.epsilon, "epsilon")

    @classmethod
    def calibrate(cls, *, target: Guarantee, categories: int) -> Self:
        relation = target.relation
        best = largest_budget(lambda e: cls(categories, e, relation=relation).guarantee, target, upper=128.0)
        return cls(categories, best, relation=relation)

    @property
    def other(self) -> Fraction:
        """The drawn probability of each other category: 1/(e^ε+k−1) rounded up at 256 bits."""
        with precision(BITS // 2):
            top = (1 / (ball(Fraction(self.epsilon)).exp() + (self.categories - 1))).upper()
            mantissa, exponent = top.man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

    @property
    def keep(self) -> Fraction:
        return 1 - (self.categories - 1) * self.other

    @property
    def guarantee(self) -> PureDP:
        return PureDP(log_ratio(self.keep / self.other, self.other / self.keep), relation=self.relation)

    def release(self, value: ArrayLike, source: Source | None = None) -> Any:  # noqa: ANN401 - array or scalar
        """Randomise every category (0 … k−1) independently; one record owns one entry."""
        truth = integers(value, "the categories")
        if not ((truth >= 0) & (truth < self.categories)).all():
            raise ValueError(f"categories must be integers from 0 to {self.categories - 1}, as declared")
        flat = truth.reshape(-1)
        lies = exact.bernoulli(source or SYSTEM, (self.categories - 1) * self.other, flat.size)
        others = exact.uniform_integers(source or SYSTEM, self.categories - 1, flat.size)
        others += others >= flat
        return np.where(lies, others, flat).reshape(truth.shape)[()]

    def releases(self, value: int, size: int, source: Source | None = None) -> NDArray[np.int64]:
        return np.asarray(self.release(np.full(size, value), source))

    def law(self, value: int) -> list[Fraction]:
        """P(y) of every answer y for one category, exactly."""
        return [self.keep if y == value else self.other for y in range(self.categories)]

    def hockey_stick(self, value: int, neighbour: int, epsilon: Exact) -> float:
        left, right = self.law(value), self.law(neighbour)
        return finite_divergence(lambda: [ball(x) for x in left], lambda: [ball(x) for x in right], epsilon)

    def flips_bound(self, answers: int, flips: int) -> float:
        """P(j lies of k answers) = C(k,j) (1−keep)^j keep^{k−j}, rounded up"""
        k, j = whole(answers, "the number of answers"), whole(flips, "the number of flips", least=0)
        with precision(BITS):
            return ceiling(ball(binomial(k, 1 - self.keep, j)))
