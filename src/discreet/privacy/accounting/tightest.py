"""The tightest valid bound for parts used on the same records, among the composition theorems."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from typing import final

from flint import arb

from discreet.numerics.search import bisect, doubles
from discreet.privacy.accounting.conversions import above, least_epsilon, renyi_delta, renyi_epsilon
from discreet.privacy.accounting.loss_laws import DominatingLaw, sum_of
from discreet.privacy.accounting.optimal_composition import Losses, optimal_delta, optimal_epsilon
from discreet.privacy.arithmetic.ball import Exact, ball, floor, precision
from discreet.privacy.arithmetic.curves import downward, upward
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.kinds import DiscreteGaussianDP, PureDP, RenyiDP

KINDS, USES = 8, 2**10  # of parts whose laws are convolved
Counted = tuple[tuple["Guarantee", int], ...]


def total(values: Iterable[tuple[float, int]]) -> float:
    terms = list(values)
    if any(value == math.inf for value, _ in terms):
        return math.inf
    return upward(sum((n * Fraction(value) for value, n in terms), Fraction(0)))


@final
@dataclass(frozen=True)
class Core:
    """The parts outside their disclosing events, and those events' probabilities."""

    parts: Counted
    slacks: tuple[tuple[Exact, int], ...]

    @classmethod
    def of(cls, parts: Counted) -> Core:
        split = [(g.disclosure(), n) for g, n in parts]
        whole: Counter[Guarantee] = Counter()
        for (_, inner), n in split:
            whole[inner] += n
        return cls(tuple(whole.items()), tuple((slack, n) for (slack, _), n in split if slack))

    def disclosed(self) -> arb:
        """D = 1 − Π(1 − δ_i), as a ball."""
        log_kept = sum((n * (-ball(slack)).log1p() for slack, n in self.slacks), arb(0))
        return -log_kept.expm1()

    def remaining(self, delta: Exact) -> float:
        """(δ − D)/(1 − D), rounded down; negative when the disclosing events alone exceed δ."""
        if not self.slacks:
            return downward(delta)
        if len(self.slacks) == 1 and self.slacks[0] == (delta, 1):
            return 0.0
        with precision(256):
            D = self.disclosed()
            return floor((ball(delta) - D) / (1 - D))

    def bounds(self, delta: float) -> dict[str, float]:
        found = {"basic": self.basic(delta)}
        pure = self.pure_losses()
        if pure is not None and delta > 0:
            losses, mu_squared = pure
            found["optimal"] = optimal_epsilon(losses, mu_squared, delta)
            if not mu_squared:
                found["advanced"] = advanced(losses, delta)
        if delta > 0 and (law := self.law()) is not None:
            found["profiles"] = least_epsilon(law.delta, delta, min(found.values()))
        if delta > 0:
            found["renyi"] = renyi_epsilon(self.renyi, min(g.order_limit for g, _ in self.parts), delta)
            rho = total([(g.zcdp_bound, n) for g, n in self.parts])
            found["zcdp"] = math.inf if rho == math.inf else renyi_epsilon(_Line(rho), math.inf, delta)
        if min(found.values()) == math.inf and delta > 0:
            found["basic"] = self.shared(delta)
        return found

    def delta(self, epsilon: Exact) -> float:
        """Least δ(ε) over the same theorems (advanced is never below optimal, nor zcdp below renyi)."""
        pure, loose = self.basic_split()
        best = 1.0
        if not loose:
            best = 0.0 if pure <= epsilon else 1.0
        elif len(loose) == 1 and loose[0][1] == 1 and pure <= epsilon:
            best = loose[0][0].delta(downward(Fraction(epsilon) - pure))
        known = self.pure_losses()
        if best > 0 and known is not None:
            best = min(best, optimal_delta(*known, epsilon))
        if best > 0 and (law := self.law()) is not None:
            best = min(best, law.delta(downward(epsilon)))
        if best > 0:
            best = min(best, renyi_delta(self.renyi, min(g.order_limit for g, _ in self.parts), epsilon))
        return best if best < 1 or not loose else self.shared_delta(epsilon)

    def renyi(self, order: float) -> float:
        return total([(g.renyi(order), n) for g, n in self.parts])

    def basic_split(self) -> tuple[Fraction, Counted]:
        """Σε over the parts with a pure cost, and the parts without one."""
        costs = [(g, n, g.epsilon(0)) for g, n in self.parts]
        pure = sum((n * _pure_cost(g, cost) for g, n, cost in costs if cost < math.inf), Fraction(0))
        return pure, tuple((g, n) for g, n, cost in costs if cost == math.inf)

    def basic(self, delta: float) -> float:
        """Σε, one part without pure cost answering at the whole δ [DMNS06; Dwork, Roth 2014 Thm 3.16]."""
        pure, loose = self.basic_split()
        if not loose:
            return upward(pure)
        if len(loose) > 1 or loose[0][1] > 1:
            return math.inf
        return total([(loose[0][0].epsilon(delta), 1), (upward(pure), 1)])

    def shared(self, delta: float) -> float:
        """Share δ evenly among the parts without pure cost, then add: the last resort."""
        pure, loose = self.basic_split()
        share = downward(Fraction(delta) / max(1, sum(n for _, n in loose)))
        return total([(g.epsilon(share), n) for g, n in loose] + [(upward(pure), 1)])

    def shared_delta(self, epsilon: Exact) -> float:
        """Least δ, to 2^-40 relative, whose evenly shared ε is within ε; 1 when none is."""

        def proved(power: float) -> bool:
            return self.shared(math.exp2(power)) <= epsilon

        return math.exp2(bisect(proved, -1074.0, 0.0, partial(doubles, width=2.0**-40)))

    def law(self) -> DominatingLaw | None:
        """Return the law of the sum of all losses, by the parts' profiles, where a part has an exact one."""
        return _law(self.parts)

    def pure_losses(self) -> tuple[Losses, Exact] | None:
        """Losses ε_i and Σμ² when every part is pure or Gaussian; None otherwise."""
        losses: Counter[Exact] = Counter()
        square = Fraction(0)
        for g, n in self.parts:
            if (cost := g.epsilon(0)) < math.inf:
                losses[_pure_cost(g, cost)] += n
            elif (mu := g.gdp_bound) < math.inf:
                square += n * Fraction(mu) ** 2
            else:
                return None
        return tuple(sorted(losses.items())), square


@lru_cache(maxsize=64)
def _law(parts: Counted) -> DominatingLaw | None:
    if len(parts) > KINDS or not any(isinstance(g, RenyiDP | DiscreteGaussianDP) for g, _ in parts):
        return None
    known = [(g.profile_to_convolve, n) for g, n in parts]
    profiles = [(profile, n) for profile, n in known if profile is not None and n <= USES]
    return sum_of(profiles) if len(profiles) == len(parts) else None


def _pure_cost(guarantee: Guarantee, rounded: float) -> Fraction:
    return Fraction(guarantee.loss) if isinstance(guarantee, PureDP) else Fraction(rounded)


@final
@dataclass(frozen=True)
class _Line:
    rho: float

    def __call__(self, order: float) -> float:
        return upward(Fraction(self.rho) * Fraction(order))


def advanced(losses: Losses, delta: float) -> float:
    """ε = Σ ε_i tanh(ε_i/2) + √(2Σε_i² ln min{1/δ, e + √Σε_i²/δ}) [KOV15 Thm 3.5], which refines [DRV10]."""

    def value() -> arb:
        drift = sum((n * ball(e) * (ball(e) / 2).tanh() for e, n in losses), arb(0))
        square = sum((n * ball(e) ** 2 for e, n in losses), arb(0))
        odds = (1 / arb(delta)).min(arb(1).exp() + square.sqrt() / arb(delta))
        return drift + (2 * square * odds.log()).sqrt()

    return above(value)
