"""The ledger against the filters in memory: any sequence of charges, replays, refunds and marks."""

import shutil
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from discreet.ledger import Ledger, LedgerError, Overspent
from discreet.ledger.amounts import FULL, NEVER, Tariff, units
from discreet.privacy.accounting.filters import BY_ORDERS, SUMS, Spending, filter_for
from discreet.privacy.kinds import ApproxDP, BoundedRange, GaussianDP, PureDP, RenyiDP, ZeroCDP
from discreet.release.receipt import WIDEST, added, exact, written

BUDGETS = {
    "pure": PureDP(1),
    "zcdp": ZeroCDP(0.5),
    "gdp": GaussianDP(1),
    "points": RenyiDP.points({2: 1, 4: 1.5}),
    "by_sums": ApproxDP(1, 1e-6),
    "by_orders": ApproxDP(1, 1e-6),
}
RULES = {"by_sums": SUMS, "by_orders": BY_ORDERS}
PROMISES = [
    PureDP(0.1),
    PureDP(Fraction(1, 3)),
    PureDP(Fraction(2, 7)),
    BoundedRange(0.3),
    ZeroCDP(0.002),
    ZeroCDP(Fraction(1, 6)),
    GaussianDP(0.05),
    GaussianDP.from_square(Fraction(1, 3)),
    RenyiDP.points({2: 0.1, 4: 0.3}),
    ApproxDP(0.1, 1e-7),
    ApproxDP(0.25, 2.5e-7),
]


def filter_of(scope):
    return filter_for(BUDGETS[scope], RULES.get(scope, SUMS))


def replayed(scope, promises):
    """The filter's own state after these, in exact fractions."""
    state = filter_of(scope).start()
    for promise in promises:
        state = state.after(promise)
    return state


def with_margin(state, charges):
    """The same state with one unit more a charge in every meter: all that rounding up may ever cost."""
    pairs = zip(state.filter.meters, state.sums, strict=True)
    sums = tuple(None if s is None else s + charges * m.capacity / FULL for m, s in pairs)
    return Spending(state.filter, sums, state.disclosed + charges * state.filter.slack / FULL)


class Clerk(RuleBasedStateMachine):
    """Keeps the live charges of each scope in lists, and never adds anything up itself."""

    receipts = Bundle("receipts")
    scopes = st.lists(st.sampled_from(sorted(BUDGETS)), min_size=1, max_size=3, unique=True)

    @initialize()
    def start(self):
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = Ledger.open(self.folder / "budget.db", BUDGETS["pure"], scope="pure")
        for name, budget in BUDGETS.items():
            self.ledger.add_scope(name, budget, rule=RULES.get(name))
        self.live, self.closed = {}, set()

    def promises_in(self, scope):
        return [promise for scopes, promise in self.live.values() if scope in scopes]

    @rule(target=receipts, scopes=scopes, promise=st.sampled_from(PROMISES))
    def charge(self, scopes, promise):
        states = {scope: replayed(scope, self.promises_in(scope)) for scope in scopes}
        name = f"c{len(self.live) + len(self.closed)}-{len(self.ledger.history())}"
        try:
            self.ledger.charge(promise, charge_id=name, scopes=scopes)
        except Overspent:
            # refused only where some filter refuses, give or take the rounding
            margins = [with_margin(s, len(self.promises_in(n)) + 1) for n, s in states.items()]
            assert not all(margin.admits(promise) for margin in margins)
            return None
        assert all(state.admits(promise) for state in states.values())  # admitted only where all filters do
        self.live[name] = (scopes, promise)
        return name

    @rule(name=receipts)
    def replay(self, name):
        if name in self.live:
            scopes, promise = self.live[name]
            assert self.ledger.charge(promise, charge_id=name, scopes=scopes[::-1]).replay

    @rule(name=receipts)
    def refund(self, name):
        if name is None:
            return
        try:
            self.ledger.refund(name, "asked")
        except LedgerError:
            assert name in self.closed
        else:
            assert name not in self.closed
            del self.live[name]
            self.closed.add(name)

    @rule(name=receipts)
    def mark(self, name):
        if name in self.live and name not in self.closed:
            self.ledger.mark_computed(name)
            self.closed.add(name)

    @rule()
    def reopen(self):
        self.ledger.close()
        self.ledger = Ledger.open(self.folder / "budget.db", scope="pure")

    @invariant()
    def sums_are_at_or_just_above_the_exact_ones(self):
        if not hasattr(self, "ledger"):
            return
        for scope in BUDGETS:
            promises = self.promises_in(scope)
            exact, held = replayed(scope, promises), self.ledger.spent(scope)
            above = with_margin(exact, len(promises))
            assert exact.disclosed <= held.disclosed <= above.disclosed
            for meter, low, got, high in zip(
                held.filter.meters, exact.sums, held.sums, above.sums, strict=True
            ):
                over = low is None or low > meter.capacity
                assert got > meter.capacity if over else low <= got <= high

    def teardown(self):
        if hasattr(self, "ledger"):
            self.ledger.verify()
            self.ledger.close()
            shutil.rmtree(self.folder)


Clerk.TestCase.settings = settings(max_examples=12, stateful_step_count=20, deadline=None, derandomize=True)
TestClerk = Clerk.TestCase

shares = st.fractions(min_value=0, max_value=2, max_denominator=10**40)


@given(
    costs=st.lists(shares, max_size=30), capacity=st.fractions(min_value=Fraction(1, 10**30), max_value=99)
)
@settings(deadline=None, max_examples=100)
def test_sums_of_units_never_fall_below_the_costs(costs, capacity):
    whole = [units(cost * capacity, capacity) for cost in costs]
    for cost, amount in zip(costs, whole, strict=True):
        assert amount == NEVER if cost > 1 else cost * FULL <= amount < cost * FULL + 1
        if cost <= 1 and (cost * FULL).denominator < 2**WIDEST:
            assert amount == cost * FULL  # equal shares are exact, whatever their number
    if sum(whole) <= FULL:
        assert sum(costs) <= 1


def test_what_has_too_many_digits_pays_a_whole_unit():
    tariff = Tariff.of(PureDP(1))
    hair = Fraction(1, 10**100)
    assert tariff.price(PureDP(5e-324)) == (0, 1)
    assert tariff.price(PureDP(Fraction(1, FULL))) == (0, 1)
    assert tariff.price(PureDP(Fraction(1, FULL) + hair)) == (0, 2)
    assert tariff.price(PureDP(1)) == (0, FULL)
    assert tariff.price(PureDP(1 + hair)) == (0, NEVER)


sums = st.lists(st.fractions(min_value=0, max_value=FULL), max_size=4)


@given(st.lists(sums, max_size=25))
@settings(deadline=None, max_examples=100)
def test_sums_stay_writable_and_never_fall_below_the_exact_ones(prices):
    total, lanes = [Fraction(0)] * 4, []
    for price in prices:
        lanes = added(lanes, price)
        total = [a + b for a, b in zip(total, [*price, *[Fraction(0)] * (4 - len(price))], strict=True)]
    for held, true in zip(lanes, total, strict=False):
        assert true <= held < true + len(prices)
        assert held.denominator.bit_length() <= WIDEST
    assert exact(written(lanes)) == lanes


def test_shares_a_hair_above_a_third_fit_twice(tmp_path):
    # rounded down or to the nearest unit, three would have been admitted: 1 + 3·10⁻⁴⁰ of a budget of 1
    hair = PureDP(Fraction(1, 3) + Fraction(1, 10**40))
    with Ledger.open(tmp_path / "budget.db", PureDP(1)) as ledger:
        ledger.charge(hair)
        ledger.charge(hair)
        assert not ledger.admits(hair)
        with pytest.raises(Overspent, match=r"what fits: PureDP\(0\.33333"):
            ledger.charge(hair)
        assert ledger.charge(ledger.remaining().guarantee)
        assert ledger.spent().sums == (1,)


def test_every_price_is_written_and_the_guarded_sum_fits_the_integers_of_the_database():
    assert 2 * NEVER < 2**63
    for scope in BUDGETS:
        tariff = Tariff(filter_of(scope))
        assert 0 <= tariff.guarded < tariff.lanes
        for promise in PROMISES:
            price = tariff.price(promise)
            assert exact(written(price)) == list(price)
            assert 0 <= min(price) <= max(price) <= NEVER
