"""Budgets lowered, raised and refunded in any order never promise more than the live charges keep."""

import random
import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

import discreet as dc
from discreet.ledger.amounts import FULL, Tariff
from discreet.privacy.kinds import RenyiDP, ZeroCDP

DELTA = 1e-6
SOME = [
    RenyiDP.at(64, Fraction(1, 1000)),
    RenyiDP.at(20, Fraction(1, 50)),
    RenyiDP.points({4: Fraction(1, 100), 100: Fraction(1, 10)}),
    ZeroCDP(Fraction(1, 100)),
    ZeroCDP(Fraction(1, 700)),
    dc.PureDP(Fraction(1, 9)),
    dc.ApproxDP(Fraction(1, 20), 1e-9),
]


def sums(ledger):
    """The sums of a scope in units, and the meters that they belong to."""
    state = ledger.remaining().state
    tariff = Tariff(state.filter)
    return zip(state.filter.meters, tariff.lanes_of(state)[1:], strict=True)


def false_meters(ledger, live):
    """Meters that say that they hold, of which the live charges cost more than they have."""
    costs = {m: [m.cost(g.disclosure()[1]) for g in live] for m, lane in sums(ledger) if lane <= FULL}
    return [m for m, each in costs.items() if None in each or sum(each) > m.capacity]


def test_a_meter_beyond_its_capacity_is_not_refunded_below_it(tmp_path):
    """A keeps no promise at order 65; B does; the budget is raised, and B given back."""
    with dc.Ledger.open(tmp_path / "b.db", dc.ApproxDP(1, DELTA), rule="orders") as ledger:
        ledger.charge(RenyiDP.at(64, Fraction(1, 1000)), charge_id="A")
        ledger.charge(ZeroCDP(Fraction(1, 100)), charge_id="B")
        ledger.raise_scope("default", dc.ApproxDP(2, DELTA), "more questions")
        ledger.refund("B", "not needed")
        assert not false_meters(ledger, [RenyiDP.at(64, Fraction(1, 1000))])
        assert all(lane > FULL for meter, lane in sums(ledger) if getattr(meter, "order", 0) > 64)
        ledger.verify()


@pytest.mark.parametrize("seed", [1, 7, 13])  # the last two caught it before it was mended
def test_no_sequence_of_decisions_makes_a_meter_say_too_much(tmp_path, seed):
    rng = random.Random(seed)
    live = {}
    with dc.Ledger.open(tmp_path / "b.db", dc.ApproxDP(1, DELTA), rule="orders") as ledger:
        for step in range(30):
            what, promise = rng.choice(["charge", "charge", "refund", "change"]), rng.choice(SOME)
            try:
                if what == "charge":
                    ledger.charge(promise, charge_id=str(step))
                    live[str(step)] = promise
                elif what == "refund" and live:
                    name = rng.choice(sorted(live))
                    ledger.refund(name, "given back")
                    del live[name]
                elif what == "change":
                    budget = dc.ApproxDP(Fraction(rng.randint(2, 40), 10), DELTA)
                    rng.choice([ledger.lower_scope, ledger.raise_scope])("default", budget, "decided")
            except (dc.LedgerError, dc.Overspent):
                pass
            assert not false_meters(ledger, live.values()), step
        ledger.verify()


@pytest.mark.parametrize("cell", ["terms", "others", "body"])
def test_nonsense_by_hand_stops_every_decision_in_words(tmp_path, cell):
    place = tmp_path / "b.db"
    with dc.Ledger.open(place, dc.ApproxDP(1, DELTA)) as ledger:
        ledger.charge(dc.PureDP(Fraction(1, 8)), charge_id="one")
        ledger.lower_scope("default", dc.ApproxDP(Fraction(1, 2), DELTA))
    with closing(sqlite3.connect(place)) as file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        table, where = ("entries", "WHERE kind = 'lower'") if cell == "body" else ("scopes", "")
        file.execute(f"UPDATE discreet_{table} SET {cell} = 'null' {where}")  # noqa: S608 - our own names
        file.commit()
    decisions = [lambda ledger: ledger.refund("one", "given back")]
    if cell != "body":
        decisions += [
            lambda ledger: ledger.close_scope("default"),
            lambda ledger: ledger.lower_scope("default", dc.ApproxDP(Fraction(1, 4), DELTA)),
            lambda ledger: ledger.raise_scope("default", dc.ApproxDP(1, DELTA), "more"),
            lambda ledger: ledger.require("visits", "default"),
            lambda ledger: ledger.scopes(),
        ]
    for decide in decisions:
        with dc.Ledger.open(place) as ledger, pytest.raises(dc.TamperedError):
            decide(ledger)
