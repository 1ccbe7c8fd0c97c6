"""Guarantees that bound the privacy loss itself: pure, approximate, bounded range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, final

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
from discreet.privacy.arithmetic.ball import ball, decide
from discreet.privacy.arithmetic.curves import upward
from discreet.privacy.guarantee import (
    SUBSTITUTE,
    Guarantee,
    NotProved,
    Relation,
    group_size,
    nonnegative,
    positive,
    probability,
    renyi_order,
)
from discreet.privacy.relation import checked_relation

if TYPE_CHECKING:
    from discreet.privacy.arithmetic.ball import Exact


@final
@dataclass(frozen=True, init=False, repr=False)
class PureDP(Guarantee):
    """ε-DP: P(S) ≤ e^ε Q(S) for every event and every pair of neighbours [DMNS06]."""

    loss: Exact  # ε

    def __init__(self, epsilon: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "loss", positive("epsilon", epsilon))
        object.__setattr__(self, "relation", checked_relation(relation))

    def epsilon(self, delta: Exact) -> float:
        slack = probability("delta", delta)
        if decide(lambda: pure_delta(self.loss, 0), slack):
            return 0.0
        return min(upward(self.loss), max(0.0, above(lambda: pure_epsilon(self.loss, ball(slack)))))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        return chance_above(lambda: pure_delta(self.loss, asked))

    def renyi(self, order: Exact) -> float:
        a = renyi_order(order)
        worst = upward(self.loss)
        return worst if a == math.inf else min(worst, above(lambda: pure_renyi(self.loss, a)))

    @property
    def order_limit(self) -> float:
        return math.inf

    @property
    def zcdp_bound(self) -> float:
        return above(lambda: pure_zcdp(self.loss))

    @property
    def gdp_bound(self) -> float:
        return above(lambda: pure_gdp(self.loss))

    @property
    def range_bound(self) -> float:
        return upward(2 * Fraction(self.loss))

    def group(self, k: int) -> PureDP:
        """ε grows to kε: the ratio bound taken k times."""
        return PureDP(group_size(k) * Fraction(self.loss), relation=self.relation)

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
        object.__setattr__(self, "relation", checked_relation(relation))

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


@final
@dataclass(frozen=True, init=False, repr=False)
class BoundedRange(Guarantee):
    """ε-bounded range: the loss lies in an interval of length ε, as in the exponential mechanism [DDR20]."""

    loss: Exact  # ε

    def __init__(self, epsilon: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "loss", positive("epsilon", epsilon))
        object.__setattr__(self, "relation", checked_relation(relation))

    def epsilon(self, delta: Exact) -> float:
        slack = probability("delta", delta)
        if decide(lambda: range_delta(self.loss, 0), slack):
            return 0.0
        return min(upward(self.loss), max(0.0, above(lambda: range_epsilon(self.loss, ball(slack)))))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        return chance_above(lambda: range_delta(self.loss, asked))

    def renyi(self, order: Exact) -> float:
        a = renyi_order(order)
        worst = upward(self.loss)
        return worst if a == math.inf else min(worst, above(lambda: range_renyi(self.loss, a)))

    @property
    def order_limit(self) -> float:
        return math.inf

    @property
    def zcdp_bound(self) -> float:
        """ε²/8 [DDR20 via CR21], or what ε-DP gives where that is less."""
        return min(upward(Fraction(self.loss) ** 2 / 8), PureDP(self.loss).zcdp_bound)

    @property
    def gdp_bound(self) -> float:
        return PureDP(self.loss).gdp_bound

    @property
    def range_bound(self) -> float:
        return upward(self.loss)

    def group(self, k: int) -> BoundedRange:
        """Losses along the path add, and so do the lengths of their intervals."""
        return BoundedRange(group_size(k) * Fraction(self.loss), relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        return other.range_bound <= self.loss


@final
@dataclass(frozen=True, init=False, repr=False)
class MixedRange(Guarantee):
    """ε-bounded range given a coin that no data moves, whether or not the release shows the coin.

    Each value of the coin has an interval of length ε of its own around 0, so all of them together lie within
    [−ε, ε]: the range of the mixture may be 2ε. δ(ε') and e^{(α−1)D_α} of a mixture are at most the largest
    of its parts' (joint convexity [van Erven, Harremoës 2014 Thm 13; Liese, Vajda 2006]), so they are as for
    BoundedRange; so is adaptive composition, where the coin is a free first answer.
    """

    loss: Exact  # ε

    def __init__(self, epsilon: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "loss", positive("epsilon", epsilon))
        object.__setattr__(self, "relation", relation)

    @property
    def given_the_coin(self) -> BoundedRange:
        return BoundedRange(self.loss, relation=self.relation)

    def epsilon(self, delta: Exact) -> float:
        return self.given_the_coin.epsilon(delta)

    def delta(self, epsilon: Exact) -> float:
        return self.given_the_coin.delta(epsilon)

    def renyi(self, order: Exact) -> float:
        return self.given_the_coin.renyi(order)

    @property
    def order_limit(self) -> float:
        return math.inf

    @property
    def zcdp_bound(self) -> float:
        return self.given_the_coin.zcdp_bound

    @property
    def gdp_bound(self) -> float:
        return self.given_the_coin.gdp_bound

    @property
    def range_bound(self) -> float:
        return upward(2 * Fraction(self.loss))

    def group(self, k: int) -> MixedRange:
        """One coin along the whole path: given it, the lengths add."""
        return MixedRange(group_size(k) * Fraction(self.loss), relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        """Proved for a smaller mixture, and for anything whose whole range is at most ε."""
        return other.range_bound <= self.loss or (isinstance(other, MixedRange) and other.loss <= self.loss)
