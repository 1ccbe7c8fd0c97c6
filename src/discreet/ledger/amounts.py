"""Budgets and costs in whole units, always rounded to the private side, so that a database can add them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, final

from discreet.numerics.search import bisect
from discreet.privacy.accounting.filters import Filter, Overspent, Spending, filter_for
from discreet.privacy.arithmetic.curves import downward, lowered
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, NotProved, same_relation
from discreet.privacy.json import from_json
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.words import DOWN, in_words, number

# Units in a full meter. A unit is a rational share of the capacity, so that a capacity is never rounded, and
# shares like 1/3, 1/7, 1/22 and decimals to ten places are whole. Twice as much still fits 63 bits, so that
# `spent + a` cannot overflow in SQL.
FULL = 10**10 * math.lcm(*range(1, 23))
NEVER = FULL + 1  # stands for every cost that no empty meter could hold


def units(cost: Fraction | None, capacity: Fraction) -> int:
    """⌈cost·FULL/capacity⌉: at or above the cost, hence Σ units ≤ FULL implies Σ costs ≤ capacity."""
    if cost is None or not 0 <= cost <= capacity:  # nothing is ever paid back by a promise
        return NEVER
    return -((-cost * FULL) // capacity) if cost else 0


@final
@dataclass(frozen=True)
class Tariff:
    """Prices of one budget: a lane for disclosed δ, then one for each meter of its filter.

    One lane that every release must fit leads: the database decides it alone. The others are decided under
    the lock, and only when a price touches them.
    """

    filter: Filter

    @classmethod
    def of(cls, budget: Guarantee) -> Tariff:
        return cls(filter_for(budget))

    @property
    def lead(self) -> int:
        """Disclosed δ leads where some is allowed; else the first meter, if every meter must hold."""
        must_hold_all = self.filter.needed == len(self.filter.meters)
        return 1 if must_hold_all and not self.filter.slack else 0

    @property
    def lanes(self) -> int:
        return 1 + len(self.filter.meters)

    def price(self, guarantee: Guarantee) -> tuple[int, ...]:
        same_relation(self.filter.budget, guarantee)
        slack, inner = guarantee.disclosure()
        meters = (units(meter.cost(inner), meter.capacity) for meter in self.filter.meters)
        return (units(Fraction(slack), self.filter.slack), *meters)

    def parted(self, lanes: Sequence[int]) -> tuple[int, list[int]]:
        """Split the leading lane from the others."""
        return lanes[self.lead], [*lanes[: self.lead], *lanes[self.lead + 1 :]]

    def joined(self, leading: int, others: Sequence[int]) -> tuple[int, ...]:
        return (*others[: self.lead], leading, *others[self.lead :])

    def holds(self, lanes: Sequence[int]) -> bool:
        """Whether the budget's promise survives these sums."""
        within = sum(lane <= FULL for lane in lanes[1:])
        return lanes[0] <= FULL and within >= self.filter.needed

    def spending(self, lanes: Sequence[int]) -> Spending:
        """Turn whole units back into the filter's exact sums."""
        pairs = zip(self.filter.meters, lanes[1:], strict=True)
        sums = tuple(meter.capacity * lane / FULL for meter, lane in pairs)
        return Spending(self.filter, sums, self.filter.slack * lanes[0] / FULL)


def fits_in_words(state: Spending) -> str:
    """Say what would still fit, in the budget's own kind too."""
    if not state.filter.budget.relation.known:
        return "nothing: this budget does not say for which graph it is; open a scope for a graph"
    words = state.fitting()
    if words.startswith("nothing"):
        return words
    if state.filter.slack:
        whole = largest(state.filter.budget, state)
        words = words if whole is None else f"{in_words(whole, DOWN)} or {words}"
    relation = state.filter.budget.relation
    return words if relation is SUBSTITUTE else f"{words}, with relation={relation.name}"


def promise_words(stored: Mapping[str, Any]) -> str:
    """Say a stored promise; one that is not built any more, by its kind, so that old books stay readable."""
    try:
        return in_words(from_json(stored))
    except ValueError as refused:
        return f"{stored.get('kind')} that cannot be relied on: {refused}"


def refusal(state: Spending, guarantee: Guarantee, scope: str) -> Overspent:
    return Overspent(
        f"{in_words(guarantee)} does not fit what is left of {in_words(state.filter.budget)} in scope "
        f"{scope!r}; what fits: {fits_in_words(state)}{_hair(state, guarantee)}"
    )


def _hair(state: Spending, guarantee: Guarantee) -> str:
    """Where the decimals that were written fit and their doubles do not, say how to write them."""
    given = [x for x in guarantee.described() if isinstance(x, float) and number(x) == repr(x)]
    if not isinstance(guarantee, PureDP | ZeroCDP | ApproxDP) or len(given) < len(guarantee.described()):
        return ""  # numbers that nobody typed
    meant = type(guarantee)(*(Fraction(repr(x)) for x in given), relation=guarantee.relation)
    if not state.admits(meant):
        return ""
    above = [f"Fraction('{x!r}')" for x in given if Fraction(x) > Fraction(repr(x))]
    return f"; a double may be a hair above its decimal: give {' and '.join(above)}"


@final
@dataclass(frozen=True)
class Remaining:
    """What is left of a scope's budget."""

    scope: str
    state: Spending

    @property
    def budget(self) -> Guarantee:
        return self.state.filter.budget

    @property
    def words(self) -> str:
        return f"{self.scope}: of {in_words(self.budget)} there fits {fits_in_words(self.state)}"

    @property
    def share(self) -> float:
        """The part left of the budget, by the meter that has most left (least, where all must hold)."""
        left = [downward(rest / meter.capacity) for meter, rest in self.state.left()]
        if len(left) < self.state.filter.needed:
            return 0.0
        return min(left) if self.state.filter.needed > 1 else max(left)

    @property
    def guarantee(self) -> Guarantee | None:
        """Give the largest promise of the budget's own kind that still fits; None when none does."""
        return largest(self.budget, self.state) if self.budget.relation.known else None

    def admits(self, guarantee: Guarantee) -> bool:
        """Whether it would fit now; only charging decides."""
        tariff = Tariff(self.state.filter)
        pairs = zip(tariff.filter.meters, self.state.sums, strict=True)
        sums = (units(self.state.disclosed, tariff.filter.slack), *(units(s, m.capacity) for m, s in pairs))
        return tariff.holds([a + b for a, b in zip(sums, tariff.price(guarantee), strict=True)])

    def __str__(self) -> str:
        return self.words


@singledispatch
def largest(budget: Guarantee, state: Spending) -> Guarantee | None:  # noqa: ARG001
    """Invert the filter of a kind."""
    raise NotProved(f"no filter is proved for a {type(budget).__name__} budget")


def _rest(state: Spending) -> Fraction:
    left = state.left()
    return left[0][1] if left else Fraction(0)


@largest.register
def _largest_pure_dp(budget: PureDP, state: Spending) -> Guarantee | None:
    rest = _rest(state)
    return PureDP(rest, relation=budget.relation) if rest else None


@largest.register
def _largest_zero_cdp(budget: ZeroCDP, state: Spending) -> Guarantee | None:
    rest = _rest(state)
    return ZeroCDP(rest, relation=budget.relation) if rest else None


@largest.register
def _largest_gaussian_dp(budget: GaussianDP, state: Spending) -> Guarantee | None:
    rest = _rest(state)
    return GaussianDP.from_square(rest, relation=budget.relation) if rest else None


@largest.register
def _largest_renyi_dp(budget: RenyiDP, state: Spending) -> Guarantee | None:
    """Read the orders one by one: a promise at these points costs each meter at most its rest."""
    orders = [getattr(meter, "order", math.inf) for meter in state.filter.meters]
    left = {order: downward(rest) for order, (_, rest) in zip(orders, state.left(), strict=False)}
    if len(left) < len(orders) or not min(left.values()) > 0:
        return None
    return RenyiDP.points(lowered(left), relation=budget.relation)


@largest.register
def _largest_approx_dp(budget: ApproxDP, state: Spending) -> Guarantee | None:
    """Bisect ε of (ε, δ) with all the δ that may still be disclosed: every meter's cost grows with ε."""
    delta = downward(state.filter.slack - state.disclosed)

    def fits(loss: Fraction) -> bool:
        return loss > 0 and state.admits(ApproxDP(loss, delta, relation=budget.relation))

    def middle(high: Fraction, low: Fraction) -> Fraction:
        return Fraction(downward((low + high) / 2))

    whole = Fraction(budget.loss)
    found = whole if fits(whole) else bisect(fits, whole, Fraction(0), middle, turns=60)
    return ApproxDP(found, delta, relation=budget.relation) if found else None
