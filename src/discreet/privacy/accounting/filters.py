"""Filters: budgets spent adaptively, where the next cost may depend on earlier answers. Exact rational sums.

A filter admits a release only if the promise of the budget survives whatever is chosen later:
Σε for pure DP [Rogers, Roth, Ullman, Vadhan 2016]; Σρ for zCDP and ΣD_α at fixed orders for Rényi DP
[Feldman, Zrnic 2021; Lécuyer 2021]; Σμ² for GDP [Smith, Thakurta 2022; Koskela, Tobaben, Honkela 2023].
Composition by the law of the privacy loss has no such filter in general, so none is offered. Ten times the
double 0.1 exceeds 1: give equal shares of a budget as Fractions.

An (ε, δ) budget can be kept by one of two rules, and which of them must be settled before any answer is seen:
docs/theory.md says why, with the proofs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import final

from flint import arb

from discreet.privacy.arithmetic.ball import Exact, ball, floor, precision
from discreet.privacy.arithmetic.curves import Points
from discreet.privacy.guarantee import Guarantee, NotProved, same_relation
from discreet.privacy.kinds import ApproxDP, GaussianDP, MetricDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.words import DOWN, at_order, in_words, number

SUMS, BY_ORDERS = "sums", "orders"  # the rules: Σε and Σδ with all of δ; or Rényi orders with part of δ
# Fixed and public. 24 orders cost ln 24 of ln(1/δ) against knowing the best one beforehand.
ORDERS = tuple(1 + 2.0 ** (j / 2) for j in range(-4, 20))


class Overspent(ValueError):  # noqa: N818 - what happened, in the user's words
    """The next release does not fit; the message says what would."""


@dataclass(frozen=True)
class Meter(ABC):
    """One running sum and its capacity."""

    capacity: Fraction

    @property
    @abstractmethod
    def symbol(self) -> str:
        """What is added up, in words."""

    @abstractmethod
    def cost(self, guarantee: Guarantee) -> Fraction | None:
        """Return what a release adds to the sum; None when it is unbounded."""

    @abstractmethod
    def fitting(self, left: Fraction) -> str:
        """Words for the largest release that still fits."""


def _finite(value: float) -> Fraction | None:
    return None if value == math.inf else Fraction(value)


@final
@dataclass(frozen=True)
class PureMeter(Meter):
    """Σε."""

    @property
    def symbol(self) -> str:
        return "ε"

    def cost(self, guarantee: Guarantee) -> Fraction | None:
        return Fraction(guarantee.loss) if isinstance(guarantee, PureDP) else _finite(guarantee.epsilon(0))

    def fitting(self, left: Fraction) -> str:
        return f"PureDP({number(left, DOWN)})"


@final
@dataclass(frozen=True)
class DistanceMeter(Meter):
    """Σε per unit of one metric."""

    @property
    def symbol(self) -> str:
        return "ε per unit of distance"

    def cost(self, guarantee: Guarantee) -> Fraction | None:
        return Fraction(guarantee.loss) if isinstance(guarantee, MetricDP) else None

    def fitting(self, left: Fraction) -> str:
        return f"MetricDP({number(left, DOWN)})"


@final
@dataclass(frozen=True)
class ConcentratedMeter(Meter):
    """Σρ."""

    @property
    def symbol(self) -> str:
        return "ρ"

    def cost(self, guarantee: Guarantee) -> Fraction | None:
        return Fraction(guarantee.rho) if isinstance(guarantee, ZeroCDP) else _finite(guarantee.zcdp_bound)

    def fitting(self, left: Fraction) -> str:
        return f"ZeroCDP({number(left, DOWN)})"


@final
@dataclass(frozen=True)
class GaussianMeter(Meter):
    """Σμ²."""

    @property
    def symbol(self) -> str:
        return "μ²"

    def cost(self, guarantee: Guarantee) -> Fraction | None:
        if isinstance(guarantee, GaussianDP):
            return Fraction(guarantee.mu_squared)
        mu = _finite(guarantee.gdp_bound)
        return None if mu is None else mu**2

    def fitting(self, left: Fraction) -> str:
        return f"GaussianDP({number(floor(ball(left).sqrt()), DOWN)})"


@final
@dataclass(frozen=True)
class OrderMeter(Meter):
    """ΣD_α at one order."""

    order: float

    @property
    def symbol(self) -> str:
        return f"Rényi divergence of order {self.order:g}"

    def cost(self, guarantee: Guarantee) -> Fraction | None:
        return _finite(guarantee.renyi(self.order))

    def fitting(self, left: Fraction) -> str:
        return at_order(self.order, left, DOWN)


@final
@dataclass(frozen=True)
class Filter:
    """Admits while at least `needed` meters stay within capacity and disclosing events within `slack`."""

    budget: Guarantee
    meters: tuple[Meter, ...]
    needed: int
    slack: Fraction

    def start(self) -> Spending:
        return Spending(self, tuple(Fraction(0) for _ in self.meters), Fraction(0))

    def admits(self, *guarantees: Guarantee) -> bool:
        """Whether these releases, in this order, all fit."""
        state = self.start()
        for guarantee in guarantees:
            if not state.admits(guarantee):
                return False
            state = state.after(guarantee)
        return True


@final
@dataclass(frozen=True)
class Spending:
    """A filter and what was spent: one exact sum per meter (None once unbounded), and the disclosed δ."""

    filter: Filter
    sums: tuple[Fraction | None, ...]
    disclosed: Fraction

    def after(self, guarantee: Guarantee) -> Spending:
        """Charge without asking; use spend."""
        slack, inner = guarantee.disclosure()
        costs = [meter.cost(inner) for meter in self.filter.meters]
        sums = tuple(None if a is None or b is None else a + b for a, b in zip(self.sums, costs, strict=True))
        return Spending(self.filter, sums, self.disclosed + Fraction(slack))

    def admits(self, guarantee: Guarantee) -> bool:
        same_relation(self.filter.budget, guarantee)
        later = self.after(guarantee)
        return later.disclosed <= self.filter.slack and len(later.left()) >= self.filter.needed

    def left(self) -> tuple[tuple[Meter, Fraction], ...]:
        """Meters within capacity, and what is left in each."""
        pairs = zip(self.filter.meters, self.sums, strict=True)
        return tuple((m, m.capacity - s) for m, s in pairs if s is not None and s <= m.capacity)

    def fitting(self) -> str:
        """Words for what would still fit."""
        left = [(meter, rest) for meter, rest in self.left() if rest > 0]
        if len(left) < self.filter.needed:
            return "nothing; the budget is spent"
        joined = " and " if self.filter.needed > 1 else " or "
        if self.filter.needed == 1 and len(left) > 2:
            left = sorted(left, key=lambda pair: pair[1] / pair[0].capacity)[-2:]
        return joined.join(meter.fitting(rest) for meter, rest in left)


def spend(state: Spending, guarantee: Guarantee) -> Spending:
    """Return the state after this release, or refuse and say what would still fit."""
    if not state.admits(guarantee):
        raise Overspent(
            f"{in_words(guarantee)} does not fit what is left of {in_words(state.filter.budget)}; "
            f"what fits: {state.fitting()}"
        )
    return state.after(guarantee)


def rules_of(budget: Guarantee) -> tuple[str, ...]:
    """Return the rules by which a budget can be kept, the default first; only (ε, δ) leaves a choice."""
    return (SUMS, BY_ORDERS) if isinstance(budget, ApproxDP) and budget.slack else (SUMS,)


def filter_for(budget: Guarantee, rule: str = SUMS) -> Filter:
    """Build the filter of a budget; refused for kinds without a proved one."""
    if rule == BY_ORDERS and isinstance(budget, ApproxDP) and budget.slack:
        return _orders_of(budget)
    if rule not in {SUMS, BY_ORDERS}:
        raise ValueError(f"a budget is kept by the rule {SUMS!r} or {BY_ORDERS!r}, got {rule!r}")
    return _sums_of(budget)


@singledispatch
def _sums_of(budget: Guarantee) -> Filter:
    raise NotProved(
        f"no filter is proved for a {type(budget).__name__} budget (privacy-loss distributions have none); "
        "use PureDP, ApproxDP, ZeroCDP, GaussianDP, MetricDP or RenyiDP.points"
    )


@_sums_of.register
def _sums_of_pure_dp(budget: PureDP) -> Filter:
    return Filter(budget, (PureMeter(Fraction(budget.loss)),), 1, Fraction(0))


@_sums_of.register
def _sums_of_approx_dp(budget: ApproxDP) -> Filter:
    """Σε ≤ ε and Σδ ≤ δ [Rogers, Roth, Ullman, Vadhan 2016; theory §7]: nothing is kept back."""
    return Filter(budget, (PureMeter(Fraction(budget.loss)),), 1, Fraction(budget.slack))


@_sums_of.register
def _sums_of_metric_dp(budget: MetricDP) -> Filter:
    """Σε ≤ ε and Σδ ≤ δ, per unit: at a pair at distance r these are the sums of (ε, δ)-DP, r times each.

    The filter of Rogers, Roth, Ullman, Vadhan (2016) holds for one pair of data sets at a time, and what it
    admits does not depend on r.
    """
    return Filter(budget, (DistanceMeter(Fraction(budget.loss)),), 1, Fraction(budget.slack))


@_sums_of.register
def _sums_of_zero_cdp(budget: ZeroCDP) -> Filter:
    return Filter(budget, (ConcentratedMeter(Fraction(budget.rho)),), 1, Fraction(0))


@_sums_of.register
def _sums_of_gaussian_dp(budget: GaussianDP) -> Filter:
    return Filter(budget, (GaussianMeter(Fraction(budget.mu_squared)),), 1, Fraction(0))


@_sums_of.register
def _sums_of_renyi_dp(budget: RenyiDP) -> Filter:
    """Every known point must keep holding: that is what the budget promises."""
    if budget.profile is not None or not isinstance(budget.curve, Points):
        raise NotProved(
            "a filter holds finitely many orders; give the budget as RenyiDP.at or RenyiDP.points"
        )
    meters = tuple(OrderMeter(Fraction(bound), order) for order, bound in budget.curve.known)
    return Filter(budget, meters, len(meters), Fraction(0))


def _orders_of(budget: ApproxDP) -> Filter:
    """Σε ≤ ε, or ΣD_α at one order of a fixed grid below ε − ln((α−1)/α) + (ln δ' + ln α)/(α−1) [CKS20].

    Half of δ is kept for disclosing events of (ε_i, δ_i) releases. The other half is shared by the orders,
    δ' = δ/(2·24): which order survives may depend on the answers, so the outcomes are split by the surviving
    order, each share is (ε, δ')-DP by its own one-order filter, and the δ' add up. Σε needs no δ.
    """
    share = Fraction(budget.slack) / (2 * len(ORDERS))
    capacities = [(_order_capacity(budget.loss, share, order), order) for order in ORDERS]
    orders = tuple(OrderMeter(Fraction(c), order) for c, order in capacities if c > 0)
    pure = PureMeter(Fraction(budget.loss))
    return Filter(budget, (pure, *orders), 1, Fraction(budget.slack) / 2)


def _order_capacity(epsilon: Exact, delta: Fraction, order: float) -> float:
    """Largest R with R + ln((α−1)/α) − (ln δ + ln α)/(α−1) ≤ ε, rounded down [CKS20 Prop. 12 v4]."""
    with precision(128):
        a = arb(order)
        return floor(ball(epsilon) - ((a - 1) / a).log() + (ball(delta).log() + a.log()) / (a - 1))
