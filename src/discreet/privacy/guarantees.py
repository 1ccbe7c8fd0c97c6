"""The six kinds of guarantee, as frozen values. Parameters are exact rationals; every answer is rounded up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Self, final

from discreet.privacy.certified import ball
from discreet.privacy.conversions import (
    above,
    gaussian_delta,
    group_delta,
    least_epsilon,
    pure_delta,
    pure_epsilon,
    pure_gdp,
    pure_renyi,
    pure_zcdp,
    range_delta,
    range_epsilon,
    range_renyi,
    renyi_delta,
    renyi_epsilon,
)
from discreet.privacy.curves import GroupCurve, GroupProfile, Points, below, downward, upward
from discreet.privacy.guarantee import (
    SUBSTITUTE,
    Guarantee,
    NotProved,
    Relation,
    exact,
    group_size,
    nonnegative,
    positive,
    probability,
    renyi_order,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.privacy.certified import Exact
    from discreet.privacy.curves import Curve, Profile


@final
@dataclass(frozen=True, init=False)
class PureDP(Guarantee):
    """ε-DP: P(S) ≤ e^ε Q(S) for every event and every pair of neighbours [DMNS06]."""

    loss: Exact  # ε

    def __init__(self, epsilon: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "loss", positive("epsilon", epsilon))
        object.__setattr__(self, "relation", relation)

    def epsilon(self, delta: Exact) -> float:
        slack = probability("delta", delta)
        if self.delta(0) <= slack:
            return 0.0
        return max(0.0, above(lambda: pure_epsilon(self.loss, ball(slack))))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        return above(lambda: pure_delta(self.loss, asked))

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
        """Kε-DP: the ratio bound taken k times."""
        return PureDP(group_size(k) * Fraction(self.loss), relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        return other.epsilon(0) <= self.loss


@final
@dataclass(frozen=True, init=False)
class ApproxDP(Guarantee):
    """(ε, δ)-DP: P(S) ≤ e^ε Q(S) + δ. The worst pair discloses with δ and else is randomised response [KOV15]."""

    loss: Exact  # ε
    slack: Exact  # δ

    def __init__(self, epsilon: Exact, delta: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "loss", positive("epsilon", epsilon))
        object.__setattr__(self, "slack", probability("delta", delta))
        object.__setattr__(self, "relation", relation)

    @property
    def pure_part(self) -> PureDP:
        """What holds outside the disclosing event of probability δ."""
        return PureDP(self.loss, relation=self.relation)

    def epsilon(self, delta: Exact) -> float:
        asked = probability("delta", delta)
        if asked < self.slack:
            return math.inf
        return self.pure_part.epsilon((Fraction(asked) - Fraction(self.slack)) / (1 - Fraction(self.slack)))

    def delta(self, epsilon: Exact) -> float:
        """δ(ε') = δ + (1 − δ)(e^ε − e^ε')₊/(1 + e^ε)."""
        asked = nonnegative("epsilon", epsilon)
        return above(lambda: ball(self.slack) + (1 - ball(self.slack)) * pure_delta(self.loss, asked))

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
                f"for {k} records at once δ grows to 1 and nothing is promised; start from a smaller δ, or from a "
                "GaussianDP, ZeroCDP or PureDP guarantee, which all extend to groups"
            )
        return ApproxDP(size * Fraction(self.loss), delta, relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        return other.delta(self.loss) <= self.slack


@final
@dataclass(frozen=True)
class RenyiDP(Guarantee):
    """D_α ≤ curve(α) for 1 < α < α*, and δ(ε) ≤ profile(ε) where an exact profile is known [M17].

    `curve` and `profile` return certified upper bounds, monotone, and must be picklable and comparable (frozen
    dataclasses with __call__).
    """

    curve: Curve
    order_limit: float = math.inf
    profile: Profile | None = None

    def __post_init__(self) -> None:
        if not self.order_limit > 1:
            raise ValueError(f"a Rényi curve needs orders above 1, got the order limit {self.order_limit}")
        if not callable(self.curve):
            raise TypeError(
                "curve must be callable, order to bound; for known points use RenyiDP.at or RenyiDP.points"
            )

    @classmethod
    def at(cls, order: float, epsilon: float, *, relation: Relation = SUBSTITUTE) -> Self:
        """One fact or target: D_α ≤ ε at this order (hence below it too), nothing said above it."""
        return cls.points({order: epsilon}, relation=relation)

    @classmethod
    def points(cls, facts: Mapping[float, float], *, relation: Relation = SUBSTITUTE) -> Self:
        """Several facts {order: ε}; between them (α−1)D_α lies below its chords."""
        if not facts:
            raise ValueError("no Rényi point was given; give {order: epsilon, …}")
        orders = [exact("the Rényi order", renyi_order(a)) for a in facts]
        bounds = [positive("epsilon", e) for e in facts.values()]
        pairs = {downward(a): upward(e) for a, e in zip(orders, bounds, strict=True)}
        return cls(Points.of(pairs), order_limit=max(pairs), relation=relation)

    def epsilon(self, delta: Exact) -> float:
        """The better of the exact profile, inverted, and the conversion over all orders [CKS20 Prop. 12 v4]."""
        slack = probability("delta", delta)
        best = renyi_epsilon(self.renyi, self.order_limit, slack)
        return best if self.profile is None else min(best, least_epsilon(self.profile, slack, best))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        best = renyi_delta(self.renyi, self.order_limit, asked)
        return best if self.profile is None else min(best, self.profile(downward(asked)))

    def renyi(self, order: Exact) -> float:
        a = upward(renyi_order(order))
        if a > self.order_limit or a == math.inf:
            return math.inf
        value = self.curve(a)
        return math.inf if math.isnan(value) else value

    def group(self, k: int) -> RenyiDP:
        """The weak triangle inequality, k − 1 times; the profile by the group rule of (ε, δ)-DP."""
        if group_size(k) == 1:
            return self
        limit = self.order_limit if self.order_limit == math.inf else downward(Fraction(self.order_limit) / k)
        profile = None if self.profile is None else GroupProfile(self.profile, k)
        if not limit > 1:
            raise NotProved(
                f"a group of {k} needs Rényi orders above {k}, and the order limit is {self.order_limit!r}; start from "
                "an (ε, δ) guarantee: ApproxDP(g.epsilon(δ), δ).group(k)"
            )
        return RenyiDP(GroupCurve(self.curve, k), limit, profile, relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        """Points are checked one by one; a whole curve by monotone partition. A profile is proved only by equality."""
        if self.profile is not None:
            return False
        if isinstance(self.curve, Points):
            return all(other.renyi(order) <= bound for order, bound in self.curve.known)
        return below(other, self.renyi, self.order_limit)


@final
@dataclass(frozen=True, init=False)
class ZeroCDP(Guarantee):
    """ρ-zCDP: D_α ≤ ρα for every α > 1 [Bun, Steinke 2016]."""

    rho: Exact

    def __init__(self, rho: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "rho", positive("rho", rho))
        object.__setattr__(self, "relation", relation)

    def epsilon(self, delta: Exact) -> float:
        return renyi_epsilon(self.renyi, math.inf, probability("delta", delta))

    def delta(self, epsilon: Exact) -> float:
        return renyi_delta(self.renyi, math.inf, nonnegative("epsilon", epsilon))

    def renyi(self, order: Exact) -> float:
        a = renyi_order(order)
        return math.inf if a == math.inf else upward(Fraction(self.rho) * Fraction(a))

    @property
    def order_limit(self) -> float:
        return math.inf

    @property
    def zcdp_bound(self) -> float:
        return upward(self.rho)

    def group(self, k: int) -> ZeroCDP:
        """k²ρ [Bun, Steinke 2016 Prop. 1.9]."""
        return ZeroCDP(group_size(k) ** 2 * Fraction(self.rho), relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        return other.zcdp_bound <= self.rho


@final
@dataclass(frozen=True, init=False)
class GaussianDP(Guarantee):
    """μ-GDP: no easier to tell apart than N(0,1) from N(μ,1) [DRS22]. Kept as μ², so that composition is exact."""

    mu_squared: Exact

    def __init__(self, mu: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "mu_squared", exact("mu", Fraction(positive("mu", mu)) ** 2))
        object.__setattr__(self, "relation", relation)

    @classmethod
    def from_square(cls, mu_squared: Exact, *, relation: Relation = SUBSTITUTE) -> Self:
        """μ-GDP given μ², which may be rational where μ is not."""
        fresh = cls(1, relation=relation)
        object.__setattr__(fresh, "mu_squared", positive("mu_squared", mu_squared))
        return fresh

    @property
    def mu(self) -> float:
        """μ, rounded up where it is not a double."""
        square = Fraction(self.mu_squared)
        root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        return upward(root) if root**2 == square else above(lambda: ball(square).sqrt())

    def epsilon(self, delta: Exact) -> float:
        slack = probability("delta", delta)
        if slack == 0:
            return math.inf
        mu = self.mu
        return least_epsilon(self.delta, slack, mu * mu / 2 + mu * math.sqrt(-2 * math.log(slack)))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        return min(1.0, above(lambda: gaussian_delta(ball(Fraction(self.mu_squared)).sqrt(), ball(asked))))

    def renyi(self, order: Exact) -> float:
        """D_α = αμ²/2 [M17 Prop. 7]."""
        a = renyi_order(order)
        return math.inf if a == math.inf else upward(Fraction(self.mu_squared) * Fraction(a) / 2)

    @property
    def order_limit(self) -> float:
        return math.inf

    @property
    def zcdp_bound(self) -> float:
        return upward(Fraction(self.mu_squared) / 2)

    @property
    def gdp_bound(self) -> float:
        return self.mu

    def group(self, k: int) -> GaussianDP:
        """Kμ-GDP [DRS22 Thm 2.14]."""
        return GaussianDP.from_square(group_size(k) ** 2 * Fraction(self.mu_squared), relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        return Fraction(other.gdp_bound) ** 2 <= self.mu_squared if other.gdp_bound < math.inf else False


@final
@dataclass(frozen=True, init=False)
class BoundedRange(Guarantee):
    """ε-bounded range: the privacy loss lies in an interval of length ε, as in the exponential mechanism [DDR20]."""

    loss: Exact  # ε

    def __init__(self, epsilon: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "loss", positive("epsilon", epsilon))
        object.__setattr__(self, "relation", relation)

    def epsilon(self, delta: Exact) -> float:
        slack = probability("delta", delta)
        if self.delta(0) <= slack:
            return 0.0
        return max(0.0, above(lambda: range_epsilon(self.loss, ball(slack))))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        return above(lambda: range_delta(self.loss, asked))

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
