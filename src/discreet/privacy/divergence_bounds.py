"""Guarantees that bound a divergence or a test: Rényi curves, zero-concentrated, Gaussian."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from discreet.privacy.accounting.conversions import (
    above,
    chance_above,
    gaussian_delta,
    gaussian_epsilon_bound,
    least_epsilon,
    renyi_delta,
    renyi_epsilon,
)
from discreet.privacy.arithmetic.ball import Exact, ball
from discreet.privacy.arithmetic.curves import (
    Curve,
    GroupCurve,
    GroupProfile,
    Points,
    Profile,
    Unbounded,
    below,
    downward,
    refuse_false,
    upward,
)
from discreet.privacy.guarantee import (
    SUBSTITUTE,
    Guarantee,
    NotProved,
    Relation,
    exact,
    group_size,
    nonnegative,
    of_neighbours,
    positive,
    probability,
    renyi_order,
)

SMALLEST = 1e-300
PROBES = tuple(1 + 2.0**j for j in range(-6, 9))  # orders at which a foreign curve is looked at


@final
@dataclass(frozen=True, repr=False)
class RenyiDP(Guarantee):
    """D_α ≤ curve(α) for 1 < α < α*, and δ(ε) ≤ profile(ε) where an exact profile is known [M17].

    `curve` and `profile` return certified upper bounds, monotone, and are picklable and comparable (frozen
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
                "curve must be callable, order to bound; for known points use RenyiDP.at or .points"
            )
        if not type(self.curve).__module__.startswith("discreet."):  # somebody else's: look at it
            orders = [a for a in PROBES if a < self.order_limit]
            refuse_false((a, v) for a in orders if (v := self.curve(a)) != math.inf)
        super().__post_init__()

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
        pairs = {downward(a): upward(e) for a, e in sorted(zip(orders, bounds, strict=True))}
        return cls(Points.of(pairs), order_limit=max(pairs), relation=relation)

    def epsilon(self, delta: Exact) -> float:
        """Take the better of the inverted profile and the conversion over all orders [CKS20 Prop. 12 v4]."""
        slack = probability("delta", delta)
        if slack == 0:  # a bounded loss is said by PureDP or BoundedRange, not by a Rényi curve
            return math.inf
        best = renyi_epsilon(self.renyi, self.order_limit, slack)
        return best if self.profile is None else min(best, least_epsilon(self._profiled, slack, best))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        best = renyi_delta(self.renyi, self.order_limit, asked)
        return best if self.profile is None else min(best, self._profiled(downward(asked)))

    @property
    def profile_to_convolve(self) -> Callable[[float], float] | None:
        return None if self.profile is None else self._profiled

    def _profiled(self, epsilon: float) -> float:
        value = float(self.profile(epsilon)) if self.profile is not None else 1.0
        if value < 0:
            raise ValueError(f"δ is at least 0; the profile gave less at ε = {epsilon}")
        return value if value <= 1 else 1.0  # NaN is no promise either

    def renyi(self, order: Exact) -> float:
        a = upward(renyi_order(order))
        if a > self.order_limit or a == math.inf:
            return math.inf
        value = self.curve(a)
        if value < 0:
            raise ValueError(f"a Rényi divergence is at least 0; the curve gave less at order {a}")
        return math.inf if math.isnan(value) else float(value)

    def group(self, k: int) -> RenyiDP:
        """Apply the weak triangle inequality k − 1 times; to the profile the group rule of (ε, δ)-DP."""
        if group_size(k) == 1:
            return self
        limit = self.order_limit if self.order_limit == math.inf else downward(Fraction(self.order_limit) / k)
        profile = None if self.profile is None else GroupProfile(self.profile, k)
        if limit > 1:
            return RenyiDP(GroupCurve(self.curve, k), limit, profile, relation=self.relation)
        if profile is not None:
            return RenyiDP(Unbounded(), math.nextafter(1.0, 2.0), profile, relation=self.relation)
        raise NotProved(
            f"a group of {k} needs Rényi orders above {k}, and the order limit is {self.order_limit!r}; "
            "start from an (ε, δ) guarantee: ApproxDP(g.epsilon(δ), δ).group(k)"
        )

    def implied_by(self, other: Guarantee) -> bool:
        """Points are checked one by one, a curve by monotone partition; a profile only by equality."""
        if self.profile is not None:
            return False
        if isinstance(self.curve, Points):
            return all(other.renyi(order) <= bound for order, bound in self.curve.known)
        return below(other, self.renyi, self.order_limit)


@final
@dataclass(frozen=True, init=False, repr=False)
class ZeroCDP(Guarantee):
    """ρ-zCDP: D_α ≤ ρα for every α > 1 [Bun, Steinke 2016]."""

    rho: Exact

    def __init__(self, rho: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "rho", positive("rho", rho))
        object.__setattr__(self, "relation", of_neighbours(relation))

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

    def folded(self, times: int, onto: Guarantee | None) -> ZeroCDP:
        """Σρ, exactly, also when chosen adaptively [Bun, Steinke 2016 Lemma 2.3]."""
        before = onto.rho if isinstance(onto, ZeroCDP) else 0
        return ZeroCDP(Fraction(before) + times * Fraction(self.rho), relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        return other.zcdp_bound <= self.rho


@final
@dataclass(frozen=True, init=False, repr=False)
class GaussianDP(Guarantee):
    """μ-GDP: no easier to tell apart than N(0,1) from N(μ,1) [DRS22]. Kept as μ²: composition is exact."""

    mu_squared: Exact

    def __init__(self, mu: Exact, *, relation: Relation = SUBSTITUTE) -> None:
        object.__setattr__(self, "mu_squared", exact("mu", Fraction(positive("mu", mu)) ** 2))
        object.__setattr__(self, "relation", of_neighbours(relation))

    @classmethod
    def from_square(cls, mu_squared: Exact, *, relation: Relation = SUBSTITUTE) -> Self:
        """μ-GDP given μ², which may be rational where μ is not."""
        fresh = cls(1, relation=relation)
        object.__setattr__(fresh, "mu_squared", positive("mu_squared", mu_squared))
        return fresh

    def described(self) -> tuple[object, ...]:
        return (self.mu,)

    @property
    def mu(self) -> float:
        """μ, rounded up where it is not a double."""
        square = Fraction(self.mu_squared)
        root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
        return upward(root) if root**2 == square else above(lambda: ball(square).sqrt())

    @property
    def profile_to_convolve(self) -> Callable[[float], float]:
        return self.delta

    def epsilon(self, delta: Exact) -> float:
        slack = probability("delta", delta)
        if slack == 0:
            return math.inf
        bound = above(lambda: gaussian_epsilon_bound(self.mu_squared, slack))
        if bound == math.inf or slack < SMALLEST:  # the profile, a double, says nothing further out
            return bound
        return min(bound, least_epsilon(self.delta, slack, bound))

    def delta(self, epsilon: Exact) -> float:
        asked = nonnegative("epsilon", epsilon)
        return chance_above(lambda: gaussian_delta(ball(Fraction(self.mu_squared)).sqrt(), ball(asked)))

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
        """μ grows to kμ [DRS22 Thm 2.14]."""
        return GaussianDP.from_square(group_size(k) ** 2 * Fraction(self.mu_squared), relation=self.relation)

    def folded(self, times: int, onto: Guarantee | None) -> GaussianDP:
        """√Σμ², the squares added exactly [DRS22 Cor. 3.3]."""
        before = onto.mu_squared if isinstance(onto, GaussianDP) else 0
        total = Fraction(before) + times * Fraction(self.mu_squared)
        return GaussianDP.from_square(total, relation=self.relation)

    def implied_by(self, other: Guarantee) -> bool:
        if isinstance(other, GaussianDP):
            return Fraction(other.mu_squared) <= Fraction(self.mu_squared)
        return Fraction(other.gdp_bound) ** 2 <= self.mu_squared if other.gdp_bound < math.inf else False
