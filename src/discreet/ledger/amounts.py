"""Budgets and costs in units of the budget, exact where shares are even, else rounded to the private side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, final

from discreet.numerics.search import bisect
from discreet.privacy.accounting.filters import (
    BY_ORDERS,
    SUMS,
    Filter,
    OrderMeter,
    Overspent,
    Spending,
    filter_for,
    rules_of,
)
from discreet.privacy.arithmetic.ball import Exact, round_down
from discreet.privacy.arithmetic.curves import downward, lowered
from discreet.privacy.guarantee import SUBSTITUTE, Guarantee, NotProved, same_relation
from discreet.privacy.json import from_json
from discreet.privacy.kinds import ApproxDP, GaussianDP, MetricDP, PureDP, RenyiDP, ZeroCDP
from discreet.privacy.words import DOWN, in_words, number
from discreet.release.receipt import WIDEST, added

# Units in a full meter. A unit is a rational share of the capacity, so that a capacity is never rounded, and
# shares like 1/3, 1/7, 1/22 and decimals to ten places are whole; others are kept as fractions of a unit. The
# database guards one sum, rounded up to a whole number, which fits 63 bits.
FULL = 10**10 * math.lcm(*range(1, 23))
NEVER = FULL + 1  # stands for every cost that no empty meter could hold


def units(cost: Fraction | None, capacity: Fraction) -> Fraction:
    """cost·FULL/capacity, rounded up where it has many digits: Σ units ≤ FULL implies Σ costs ≤ capacity."""
    if cost is None or not 0 <= cost <= capacity:  # nothing is ever paid back by a promise
        return Fraction(NEVER)
    price = cost * FULL / capacity if cost else Fraction(0)
    return price if price.denominator.bit_length() <= WIDEST else Fraction(math.ceil(price))


Price = tuple[Fraction, ...]


@final
@dataclass(frozen=True)
class Tariff:
    """Prices of one budget under its rule: a lane for disclosed δ, then one for each meter of its filter."""

    filter: Filter

    @classmethod
    def of(cls, budget: Guarantee, rule: str = SUMS) -> Tariff:
        return cls(filter_for(budget, rule))

    @property
    def guarded(self) -> int:
        """The lane that the database holds below the capacity by itself: one that every release must fit."""
        return 1 if self.filter.needed == len(self.filter.meters) else 0

    @property
    def lanes(self) -> int:
        return 1 + len(self.filter.meters)

    def price(self, guarantee: Guarantee) -> Price:
        same_relation(self.filter.budget, guarantee)
        slack, inner = guarantee.disclosure()
        meters = (units(meter.cost(inner), meter.capacity) for meter in self.filter.meters)
        return (units(Fraction(slack), self.filter.slack), *meters)

    def prices(self, guarantee: Guarantee, target: Guarantee | None) -> list[tuple[Guarantee, Price]]:
        """Return what a release that keeps both promises may be charged, in the order in which it is tried.

        Both hold, so each is a sound price; under sums the target is what an owner expects to be charged.
        """
        own = (guarantee, self.price(guarantee))
        if target is None or target == guarantee:
            return [own]
        asked = (target, self.price(target))
        if all(a <= b for a, b in zip(own[1], asked[1], strict=True)):
            return [own]
        return [asked, own] if self.filter.needed == len(self.filter.meters) else [own, asked]

    def holds(self, lanes: Sequence[Fraction]) -> bool:
        """Whether the budget's promise survives these sums."""
        within = sum(lane <= FULL for lane in lanes[1:])
        return lanes[0] <= FULL and within >= self.filter.needed

    def spending(self, lanes: Sequence[Fraction]) -> Spending:
        """Turn units back into the filter's exact sums."""
        pairs = zip(self.filter.meters, lanes[1:], strict=True)
        sums = tuple(meter.capacity * lane / FULL for meter, lane in pairs)
        return Spending(self.filter, sums, self.filter.slack * lanes[0] / FULL)

    def lanes_of(self, state: Spending) -> list[Fraction]:
        """Return the sums of a state in units."""
        capacities = (self.filter.slack, *(m.capacity for m in self.filter.meters))
        sums = (state.disclosed, *(s or Fraction(0) for s in state.sums))
        return [s * FULL / full if full else s for full, s in zip(capacities, sums, strict=True)]


@singledispatch
def generous(budget: Guarantee) -> Guarantee:
    """Return a budget that holds decimals as written and as doubles: 0.3 is no less than 3/10."""
    return budget


@generous.register
def _generous_pure_dp(budget: PureDP) -> Guarantee:
    return PureDP(_no_less(budget.loss), relation=budget.relation)


@generous.register
def _generous_approx_dp(budget: ApproxDP) -> Guarantee:
    return ApproxDP(_no_less(budget.loss), _no_less(budget.slack), relation=budget.relation)


@generous.register
def _generous_metric_dp(budget: MetricDP) -> Guarantee:
    return MetricDP(_no_less(budget.loss), _no_less(budget.slack), relation=budget.relation)


@generous.register
def _generous_zero_cdp(budget: ZeroCDP) -> Guarantee:
    return ZeroCDP(_no_less(budget.rho), relation=budget.relation)


def _no_less(x: Exact) -> Exact:
    decimal = Fraction(repr(x)) if isinstance(x, float) else Fraction(x)
    return max(x, decimal)


def rule_for(budget: Guarantee, guarantee: Guarantee, target: Guarantee | None) -> str:
    """Settle how a budget is kept, by its first charge: by sums where pure or (ε, δ) privacy was asked for.

    Public facts alone, before any answer is seen. Whatever else is promised (Rényi orders, ρ, μ, a range, the
    steps of a chain) costs less by orders.
    """
    rules = rules_of(budget)
    if len(rules) == 1:
        return rules[0]
    asked = target or guarantee
    tried = (SUMS, BY_ORDERS) if isinstance(asked, PureDP | ApproxDP) else (BY_ORDERS, SUMS)
    return next((rule for rule in tried if _admitted(Tariff.of(budget, rule), guarantee, target)), tried[0])


def _admitted(tariff: Tariff, guarantee: Guarantee, target: Guarantee | None) -> bool:
    return any(tariff.holds(price) for _, price in tariff.prices(guarantee, target))


# ── words ───────────────────────────────────────────────────────────────────────────────────────────


CRUMB = Fraction(1, 10**12)  # of ε; promises are doubles, and one may be a hair below its share
KEPT_BY = {
    "": "all of it is there; the first charge settles how it is kept",
    SUMS: "kept by plain sums, with all of δ",
    BY_ORDERS: "kept by Rényi orders, for which half of δ is held back",
}


def fits_in_words(state: Spending) -> str:
    """Say what would still fit, in the budget's own kind first."""
    budget = state.filter.budget
    if not budget.relation.known:
        return "nothing: this budget does not say which graph it is for; open a scope for a graph"
    found = [promise for promise in (largest(budget, state), _concentrated(state)) if promise is not None]
    if not found or _crumb(budget, found[0]):
        return "nothing; the budget is spent"
    words = " or ".join(in_words(promise, DOWN) for promise in found)
    said = budget.relation is SUBSTITUTE or "relation=" in words
    return words if said else f"{words}, with relation={budget.relation.name}"


def spent_words(state: Spending) -> str:
    """Say what was spent, of budgets that are kept by one sum, or by one and δ."""
    if len(state.filter.meters) != 1:
        return ""
    said = f"{state.filter.meters[0].symbol} = {number(state.sums[0] or Fraction(0))}"
    return f": {said}" + (f", δ = {number(state.disclosed)}" if state.filter.slack else "")


def _crumb(budget: Guarantee, found: Guarantee) -> bool:
    """Whether what is left is only what rounding left over, which is of no use to anybody."""
    kinds = ApproxDP | PureDP | MetricDP
    if isinstance(budget, kinds) and isinstance(found, kinds):
        return Fraction(found.loss) < CRUMB * Fraction(budget.loss)
    return False


def _concentrated(state: Spending) -> Guarantee | None:
    """Give the largest zCDP promise, which Rényi orders of an (ε, δ) budget hold better than Σε does."""
    rests = [(rest, meter) for meter, rest in state.left() if isinstance(meter, OrderMeter)]
    if state.filter.needed == len(state.filter.meters) or not rests:
        return None
    rho = max(downward(rest / Fraction(meter.order)) for rest, meter in rests)
    for bits in (40, 30, 20):  # a meter rounds ρα up: leave it room
        found = round_down(rho, bits)
        if found > 0 and state.admits(promise := ZeroCDP(found, relation=state.filter.budget.relation)):
            return promise
    return None


def promise_words(stored: Mapping[str, Any]) -> str:
    """Say a stored promise; one that is not built any more, by its kind, so that old books stay readable."""
    try:
        return in_words(from_json(stored))
    except ValueError as refused:
        return f"{stored.get('kind')} that cannot be relied on: {refused}"


def refusal(state: Spending, guarantee: Guarantee, scope: str) -> Overspent:
    return Overspent(
        f"{in_words(guarantee)} does not fit what is left of {in_words(state.filter.budget)} in scope "
        f"{scope!r}{_why(state, guarantee)}; what fits: {fits_in_words(state)}{_hair(state, guarantee)}"
    )


def _why(state: Spending, guarantee: Guarantee) -> str:
    """Say of which amount too little is left."""
    if not state.filter.budget.relation.known:
        return ""
    slack, inner = guarantee.disclosure()
    whole_slack = state.filter.slack
    short: list[tuple[str, Fraction | None, Fraction, Fraction]] = [
        ("δ", Fraction(slack), whole_slack - state.disclosed, whole_slack)
    ]
    if state.filter.needed == len(state.filter.meters):
        pairs = zip(state.filter.meters, state.sums, strict=True)
        short += [(m.symbol, m.cost(inner), m.capacity - (s or 0), m.capacity) for m, s in pairs]
    lacking = [
        f"it has no finite {name}"
        if cost is None
        else f"it costs {name} = {number(cost)} and {_rest_words(left, whole)} is left"
        for name, cost, left, whole in short
        if cost is None or cost > left
    ]
    rule = " (kept by Rényi orders, for which half of δ is held back)"
    held = rule if isinstance(state.filter.budget, ApproxDP) and len(state.filter.meters) > 1 else ""
    return f": {', and '.join(lacking)}{held}" if lacking else held


def _rest_words(left: Fraction, whole: Fraction) -> str:
    return number(left, DOWN) if left > CRUMB * whole else "nothing"


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
    rule: str = SUMS  # "sums" or "orders"; "" until the first charge settles it
    closed: str = ""  # since when and why, where nothing is charged to the scope any more

    @property
    def budget(self) -> Guarantee:
        return self.state.filter.budget

    @property
    def words(self) -> str:
        return f"{self.scope}: of {in_words(self.budget)} there fits {self.fits}"

    @property
    def fits(self) -> str:
        """Say what may still be charged."""
        return f"nothing; it is {self.closed}" if self.closed else fits_in_words(self.state)

    @property
    def kept(self) -> str:
        """Say how an (ε, δ) budget is kept; nothing of others, which are kept in one way."""
        return KEPT_BY[self.rule] if len(rules_of(self.budget)) > 1 else ""

    @property
    def share(self) -> float:
        """The part of the budget that one more release may use: of ε, ρ or μ², or of the scarcest order."""
        if self.closed or not self.budget.relation.known:
            return 0.0
        if isinstance(self.budget, ApproxDP):
            fits = self.guarantee
            rest = Fraction(fits.loss) / Fraction(self.budget.loss) if isinstance(fits, ApproxDP) else 0
            return max(0.0, downward(rest))
        left = [downward(rest / meter.capacity) for meter, rest in self.state.left()]
        return max(0.0, min(left)) if len(left) >= self.state.filter.needed else 0.0

    @property
    def guarantee(self) -> Guarantee | None:
        """Give the largest promise of the budget's own kind that still fits; None when none does."""
        if self.closed:
            return None
        return largest(self.budget, self.state) if self.budget.relation.known else None

    def admits(self, guarantee: Guarantee) -> bool:
        """Whether it would fit now; only charging decides."""
        if self.closed:
            return False
        if not self.rule:
            fresh = Tariff.of(self.budget, rule_for(self.budget, guarantee, None))
            return fresh.holds(fresh.price(guarantee))
        tariff = Tariff(self.state.filter)
        return tariff.holds(added(tariff.lanes_of(self.state), tariff.price(guarantee)))

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
def _largest_metric_dp(budget: MetricDP, state: Spending) -> Guarantee | None:
    rest, slack = _rest(state), max(state.filter.slack - state.disclosed, Fraction(0))
    return MetricDP(rest, slack, relation=budget.relation) if rest else None


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
    """All that is left of ε and δ; under orders the largest ε by bisection: every cost grows with ε."""
    delta = downward(max(state.filter.slack - state.disclosed, Fraction(0)))
    whole = Fraction(budget.loss)
    if len(state.filter.meters) == 1:
        rest, slack = _rest(state), max(state.filter.slack - state.disclosed, Fraction(0))
        return ApproxDP(rest, slack, relation=budget.relation) if rest else None

    def fits(loss: Fraction) -> bool:
        return loss > 0 and state.admits(ApproxDP(loss, delta, relation=budget.relation))

    def middle(high: Fraction, low: Fraction) -> Fraction:
        return Fraction(downward((low + high) / 2))

    found = whole if fits(whole) else bisect(fits, whole, Fraction(0), middle, turns=60)
    return ApproxDP(found, delta, relation=budget.relation) if found else None
