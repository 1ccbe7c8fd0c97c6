"""Guarantees that bound the privacy loss itself: pure, approximate, bounded range."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from flint import arb

from discreet.privacy.accounting.conversions import (
    above,
    chance_above,
    group_delta,
    pure_delta,
    pure_epsilon,
    pure_gdp,
    pure_renyi,
    pure_zcdp,
    range_delta,
    range_epsilon,
    range_renyi,
)
from discreet.privacy.arithmetic.ball import Exact, ball, decide
from discreet.privacy.arithmetic.curves import upward
from discreet.privacy.guarantee import (
    SUBSTITUTE,
    Guarantee,
    NotProved,
    Relation,
    group_size,
    nonnegative,
    of_neighbours,
    positive,
    probability,
    renyi_order,
)


@dataclass(frozen=True, init=False, repr=False)
class OneLoss(Guarantee):
    """A promise that one number ε makes, whose losses add along a path: k records at once have kε."""

    loss: Exact  # ε

    def __init__(self, epsilon: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "loss", positive("epsilon", epsilon))
        object.__setattr__(self, "relation", of_neighbours(relation))

    @abstractmethod
    def _delta(self, epsilon: Exact) -> arb:
        """δ(ε'), as a ball."""

    @abstractmethod
    def _epsilon(self, delta: arb) -> arb:
        """Return the inverse of δ(ε'), as a ball."""

    @abstractmethod
    def _renyi(self, order: Exact) -> arb:
        """D_α at a finite order, as a ball."""

    def epsilon(self, delta: Exact) -> float:
        slack = probability("delta", delta)
        if decide(lambda: self._delta(0), slack):
            return 0.0
        return min(upward(self.loss), max(0.0, above(lambda: self._epsilon(ball(slack)))))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        return chance_above(lambda: self._delta(asked))

    def renyi(self, order: Exact) -> float:
        a = renyi_order(order)
        worst = upward(self.loss)
        return worst if a == math.inf else min(worst, above(lambda: self._renyi(a)))

    @property
    def profile_to_convolve(self) -> Callable[[float], float]:
        return self.delta

    @property
    def order_limit(self) -> float:
        return math.inf

    def group(self, k: int) -> Self:
        return type(self)(group_size(k) * Fraction(self.loss), relation=self.relation)


@final
@dataclass(frozen=True, init=False, repr=False)
class PureDP(OneLoss):
    """ε-DP: P(S) ≤ e^ε Q(S) for every event and every pair of neighbours; for k records k times [DMNS06]."""

    def _delta(self, epsilon: Exact) -> arb:
        return pure_delta(self.loss, epsilon)

    def _epsilon(self, delta: arb) -> arb:
        return pure_epsilon(self.loss, delta)

    def _renyi(self, order: Exact) -> arb:
        return pure_renyi(self.loss, order)

    @property
    def zcdp_bound(self) -> float:
        return above(lambda: pure_zcdp(self.loss))

    @property
    def gdp_bound(self) -> float:
        return above(lambda: pure_gdp(self.loss))

    @property
    def range_bound(self) -> float:
        return upward(2 * Fraction(self.loss))

    def implied_by(self, other: Guarantee) -> bool:
        return other.epsilon(0) <= self.loss


@final
@dataclass(frozen=True, init=False, repr=False)
class ApproxDP(Guarantee):
    """(ε, δ)-DP: P(S) ≤ e^ε Q(S) + δ; worst: disclose with chance δ, else randomised response [KOV15]."""

    loss: Exact  # ε
    slack: Exact  # δ

    def __init__(self, epsilon: Exact, delta: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "loss", positive("epsilon", epsilon))
        object.__setattr__(self, "slack", probability("delta", delta))
        object.__setattr__(self, "relation", of_neighbours(relation))

    @property
    def pure_part(self) -> PureDP:
        """What holds outside the disclosing event of probability δ."""
        return PureDP(self.loss, relation=self.relation)

    def disclosure(self) -> tuple[Exact, Guarantee]:
        return self.slack, self.pure_part

    def epsilon(self, delta: Exact) -> float:
        asked = probability("delta", delta)
        if asked < self.slack:
            return math.inf
        return self.pure_part.epsilon((Fraction(asked) - Fraction(self.slack)) / (1 - Fraction(self.slack)))

    def delta(self, epsilon: Exact) -> float:
        """δ(ε') = δ + (1 − δ)(e^ε − e^ε')₊/(1 + e^ε)."""
        asked = nonnegative("epsilon", epsilon)
        return chance_above(lambda: ball(self.slack) + (1 - ball(self.slack)) * pure_delta(self.loss, asked))

    def renyi(self, order: Exact) -> float:
        a = renyi_order(order)
        return math.inf if self.slack else self.pure_part.renyi(a)

    @property
    def order_limit(self) -> float:
        return 1.0 if self.slack else math.inf

    @property
    def zcdp_bound(self) -> float:
        return math.inf if self.slack else self.pure_part.zcdp_bound

    @property
    def gdp_bound(self) -> float:
        return math.inf if self.slack else self.pure_part.gdp_bound

    @property
    def range_bound(self) -> float:
        return math.inf if self.slack else self.pure_part.range_bound

    def group(self, k: int) -> ApproxDP:
        """(kε, δ(e^{kε} − 1)/(e^ε − 1)) [Vadhan 2017 Lemma 2.2]."""
        size = group_size(k)
        delta = (
            self.slack if size == 1 else above(lambda: group_delta(ball(self.loss), ball(self.slack), size))
        )
        if not delta < 1:
            raise NotProved(
                f"for {k} records at once δ grows to 1 and nothing is promised; start from a smaller δ, or "
                "from a GaussianDP, ZeroCDP or PureDP guarantee, which all extend to groups"
            )
        return ApproxDP(size * Fraction(self.loss), delta, relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        return other.delta(self.loss) <= self.slack


@dataclass(frozen=True, init=False, repr=False)
class OneRange(OneLoss):
    """What an interval of length ε for the loss gives, whether or not a public coin says which interval."""

    def _delta(self, epsilon: Exact) -> arb:
        return range_delta(self.loss, epsilon)

    def _epsilon(self, delta: arb) -> arb:
        return range_epsilon(self.loss, delta)

    def _renyi(self, order: Exact) -> arb:
        return range_renyi(self.loss, order)

    @property
    def zcdp_bound(self) -> float:
        """ε²/8 [DDR20 via CR21], or what ε-DP gives where that is less."""
        return min(upward(Fraction(self.loss) ** 2 / 8), PureDP(self.loss).zcdp_bound)

    @property
    def gdp_bound(self) -> float:
        """The least μ that a range of length ε implies: that of ε/2-DP, its worst place [theory §8]."""
        return above(lambda: pure_gdp(Fraction(self.loss) / 2))


@final
@dataclass(frozen=True, init=False, repr=False)
class BoundedRange(OneRange):
    """ε-bounded range: the loss lies in an interval of length ε, as in the exponential mechanism [DDR20].

    Losses along a path of k records add, and so do the lengths of their intervals.
    """

    @property
    def range_bound(self) -> float:
        return upward(self.loss)

    def implied_by(self, other: Guarantee) -> bool:
        return other.range_bound <= self.loss


@final
@dataclass(frozen=True, init=False, repr=False)
class MixedRange(OneRange):
    """ε-bounded range given a coin that no data moves, whether or not the release shows the coin.

    Each value of the coin has an interval of length ε of its own around 0, so all of them together lie within
    [−ε, ε]: the range of the mixture may be 2ε. δ(ε') and e^{(α−1)D_α} of a mixture are at most the largest
    of its parts' (joint convexity [van Erven, Harremoës 2014 Thm 13; Liese, Vajda 2006]), so they are as for
    BoundedRange; so is adaptive composition, where the coin is a free first answer. One coin serves the whole
    path of k records: given it, the lengths add.
    """

    @property
    def range_bound(self) -> float:
        return upward(2 * Fraction(self.loss))

    def implied_by(self, other: Guarantee) -> bool:
        """Proved for a smaller mixture, and for anything whose whole range is at most ε."""
        return other.range_bound <= self.loss or (isinstance(other, MixedRange) and other.loss <= self.loss)
