"""Scopes are closed, reopened, lowered and raised, data sets require them: on record and exactly."""

import json
import random
from fractions import Fraction

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError
from typer.testing import CliRunner

from discreet.cli import app
from discreet.ledger import LedgerError, Overspent, ScopeRefusedError, TamperedError
from discreet.ledger.amounts import FULL, Tariff
from discreet.ledger.schema import located
from discreet.privacy.guarantee import ADD_REMOVE, MixedRelations
from discreet.privacy.kinds import ApproxDP, GaussianDP, PureDP, RenyiDP, ZeroCDP

QUARTER, HALF = PureDP(Fraction(1, 4)), PureDP(Fraction(1, 2))


@pytest.fixture
def ledger(place, opened):
    return opened(place, PureDP(1))


def test_a_closed_scope_is_not_charged_until_it_is_reopened(ledger):
    first = ledger.charge(QUARTER, charge_id="monday")
    second = ledger.charge(QUARTER, charge_id="tuesday")
    ledger.close_scope("default", "the study is over")
    with pytest.raises(ScopeRefusedError, match=r"'default' is closed since .* \(the study is over\)"):
        ledger.charge(QUARTER)
    (state,) = ledger.scopes()
    assert state.closed.endswith("(the study is over)")
    assert (state.share, state.guarantee, state.admits(QUARTER)) == (0.0, None, False)
    assert "nothing; it is closed" in state.words
    assert not ledger.admits(QUARTER)
    # what was paid for before is still there: the same question, its release, its refund
    assert ledger.charge(QUARTER, charge_id="monday").replay
    ledger.record(first.id, {"": b"drawn"})
    ledger.refund(second.id, "never ran")
    with pytest.raises(LedgerError, match=r"closed since .* already"):
        ledger.close_scope("default")
    ledger.reopen_scope("default", "a second wave")
    with pytest.raises(LedgerError, match="is open"):
        ledger.reopen_scope("default")
    ledger.charge(PureDP(Fraction(3, 4)))
    said = [(e.kind, e.content["note"]) for e in ledger.history() if e.kind in {"close", "reopen"}]
    assert said == [("close", "the study is over"), ("reopen", "a second wave")]
    ledger.verify(first)


def test_a_lowered_scope_holds_exactly_its_new_budget(ledger):
    ledger.charge(QUARTER, charge_id="before")
    with pytest.raises(LedgerError, match=r"has spent more than PureDP\(0.1\) holds: ε = 0.25"):
        ledger.lower_scope("default", PureDP(Fraction(1, 10)))
    ledger.lower_scope("default", PureDP(Fraction(3, 4)), "less is left to lose")
    assert ledger.remaining().guarantee == HALF
    ledger.charge(HALF)
    with pytest.raises(Overspent):
        ledger.charge(PureDP(Fraction(1, 10**9)))
    ledger.refund("before", "never ran")  # gives back what it cost, in the units of today
    assert ledger.remaining().guarantee == QUARTER
    assert ledger.spent().sums == (Fraction(1, 2),)
    assert [row.share for row in ledger.spent_by()] == [2 / 3]
    ledger.verify()
    with pytest.raises(LedgerError, match="is not below the budget"):
        ledger.lower_scope("default", PureDP(1))
    ledger.add_scope("default", PureDP(1))  # a script that opens it may be run again
    ledger.add_scope("default", PureDP(Fraction(3, 4)))
    with pytest.raises(LedgerError, match="cannot become"):
        ledger.add_scope("default", PureDP(2))


def test_a_raise_takes_a_reason_and_keeps_it(ledger):
    ledger.charge(PureDP(1))
    for reason in ("", "  "):
        with pytest.raises(LedgerError, match="takes a reason"):
            ledger.raise_scope("default", PureDP(2), reason)
    with pytest.raises(LedgerError, match="is not above"):
        ledger.raise_scope("default", HALF, "less")
    with pytest.raises(LedgerError, match="already"):
        ledger.raise_scope("default", PureDP(1), "same")
    ledger.raise_scope("default", PureDP(2), "the board agreed")
    assert ledger.history()[-1].content["note"] == "the board agreed"
    ledger.charge(PureDP(1))
    assert ledger.spent().sums == (Fraction(2),)
    ledger.verify()


@pytest.mark.parametrize(
    ("budget", "other", "words"),
    [
        (PureDP(1), ApproxDP(0.5, 1e-7), "of another kind"),
        (ApproxDP(1, 1e-6), ApproxDP(0.5, 0), "of another kind"),
        (ZeroCDP(1), GaussianDP(0.5), "of another kind"),
        (RenyiDP.at(2, 1), RenyiDP.at(4, 0.5), "different orders"),
    ],
)
def test_a_budget_stays_of_its_kind(tmp_path, opened, budget, other, words):
    ledger = opened(tmp_path / "budget.db", budget)
    with pytest.raises(LedgerError, match=words):
        ledger.lower_scope("default", other)
    assert len(ledger.history()) == 1


def test_a_budget_stays_under_its_relation(tmp_path, opened):
    ledger = opened(tmp_path / "budget.db", PureDP(1))
    with pytest.raises(MixedRelations):
        ledger.lower_scope("default", PureDP(0.5, relation=ADD_REMOVE))


KINDS = {
    "pure": (lambda e, _: PureDP(e), False),
    "approximate": (ApproxDP, True),
    "concentrated": (lambda e, _: ZeroCDP(e), False),
}


@pytest.mark.parametrize("kind", KINDS)
def test_random_decisions_keep_the_books_of_plain_fractions(tmp_path, opened, kind):
    """Charges, refunds and changes of budget, 120 in a row, beside a list of what is live."""
    promise, with_delta = KINDS[kind]
    chance = random.Random(26)
    unit = Fraction(1, 10**7) if with_delta else Fraction(0)
    budget = (Fraction(1), unit)
    ledger = opened(tmp_path / "budget.db", promise(*budget))
    live: dict[str, tuple[Fraction, Fraction]] = {}
    seen = dict.fromkeys(("paid", "refused", "lowered", "too low", "raised", "refunded"), 0)

    def spent():
        return tuple(sum((cost[i] for cost in live.values()), Fraction(0)) for i in (0, 1))

    for step in range(120):
        what = chance.choice(["charge"] * 3 + ["refund", "lower", "raise"])
        before = spent()
        if what == "charge":
            cost = (Fraction(chance.randint(1, 40), 97), unit * Fraction(chance.randint(0, 9), 31))
            fits = all(b + c <= a for a, b, c in zip(budget, before, cost, strict=True))
            if fits:
                ledger.charge(promise(*cost), charge_id=f"c{step}")
                live[f"c{step}"] = cost
            else:
                with pytest.raises(Overspent):
                    ledger.charge(promise(*cost), charge_id=f"c{step}")
            seen["paid" if fits else "refused"] += 1
        elif what == "refund" and live:
            name = chance.choice(sorted(live))
            ledger.refund(name, "never ran")
            del live[name]
            seen["refunded"] += 1
        elif what == "lower":
            after = tuple(part * Fraction(chance.randint(50, 99), 100) for part in budget)
            if all(b <= a for a, b in zip(after, before, strict=True)):
                ledger.lower_scope("default", promise(*after))
                budget = after
                seen["lowered"] += 1
            else:
                with pytest.raises(LedgerError, match="has spent more"):
                    ledger.lower_scope("default", promise(*after))
                seen["too low"] += 1
        elif what == "raise":
            budget = tuple(part * Fraction(chance.randint(101, 160), 100) for part in budget)
            ledger.raise_scope("default", promise(*budget), "more")
            seen["raised"] += 1
        state = ledger.spent()
        assert (state.sums[0], state.disclosed) == spent()
        assert ledger.remaining().budget == promise(*budget)
    ledger.verify()
    assert min(seen.values()) > 0, seen


def test_under_orders_a_change_never_forgets_what_was_spent(tmp_path, opened):
    """Every meter holds at least what today's prices of all live charges say."""
    chance = random.Random(15)
    ledger = opened(tmp_path / "budget.db", ApproxDP(1, 1e-6), rule="orders")
    live = {}
    for step in range(40):
        what = chance.choice(["charge", "charge", "refund", "lower", "raise"])
        whole = ledger.remaining().budget
        if what == "charge":
            promise = ZeroCDP(Fraction(chance.randint(1, 9), 20000))
            try:
                ledger.charge(promise, charge_id=f"c{step}")
                live[f"c{step}"] = promise
            except Overspent:
                pass
        elif what == "refund" and live:
            name = chance.choice(sorted(live))
            ledger.refund(name, "never ran")
            del live[name]
        elif what == "lower":
            try:
                ledger.lower_scope("default", ApproxDP(Fraction(whole.loss) * Fraction(9, 10), whole.slack))
            except LedgerError as refused:
                assert "has spent more" in str(refused)  # noqa: PT017 - lowering may be refused, as here
        elif what == "raise":
            more = ApproxDP(Fraction(whole.loss) * Fraction(6, 5), Fraction(whole.slack))
            ledger.raise_scope("default", more, "more")
        tariff = Tariff.of(ledger.remaining().budget, "orders")
        honest = [sum(lane, Fraction(0)) for lane in zip(*map(tariff.price, live.values()), strict=True)]
        held = tariff.lanes_of(ledger.spent())
        assert len(held) == tariff.lanes
        for ours, theirs in zip(held, honest or [0] * len(held), strict=True):
            assert ours >= min(theirs, FULL + 1) - Fraction(1)  # prices are rounded up to a unit
    assert any(lane <= FULL for lane in held[1:])
    ledger.verify()


def test_a_handle_that_knew_the_old_budget_looks_again(place, opened):
    one, other = opened(place, PureDP(1)), opened(place, PureDP(1))
    one.charge(QUARTER)
    other.charge(QUARTER)  # both know the scope by now
    one.lower_scope("default", PureDP(Fraction(5, 8)))
    with pytest.raises(Overspent, match=r"what fits: PureDP\(0.125\)"):
        other.charge(QUARTER)
    one.close_scope("default")
    with pytest.raises(ScopeRefusedError):
        other.charge(PureDP(Fraction(1, 16)))
    one.raise_scope("default", PureDP(2), "more")  # also of a closed one
    with pytest.raises(ScopeRefusedError):
        other.charge(PureDP(Fraction(1, 16)))
    one.reopen_scope("default")
    other.charge(PureDP(Fraction(3, 2)))
    assert other.remaining().guarantee is None
    one.verify()


# ── data sets that require scopes ───────────────────────────────────────────────────────────────────

VISITS = {"data": "visits", "fingerprint": "f" * 64, "place": "p" * 64}


@pytest.mark.parametrize("named", ["visits", "f" * 64, "p" * 64, "*"])
def test_a_charge_that_names_the_data_set_charges_its_scopes_too(ledger, named):
    ledger.add_scope("people", PureDP(Fraction(1, 2)))
    ledger.add_scope("ministry", PureDP(1))
    earlier = ledger.charge(QUARTER, about=VISITS, charge_id="earlier")
    ledger.require(named, ["people", "ministry"])
    assert ledger.required() == {named: ("ministry", "people")}
    with pytest.raises(ScopeRefusedError, match=r"scope=\['default', 'ministry', 'people'\]"):
        ledger.charge(QUARTER, about=VISITS)
    with pytest.raises(ScopeRefusedError, match="requires the scope 'ministry'"):
        ledger.charge(QUARTER, scopes=["people"], about=VISITS)
    assert ledger.remaining("people").guarantee == HALF  # refused whole
    both = ["people", "ministry"]
    ledger.charge(QUARTER, scopes=both, about=VISITS)
    ledger.charge(QUARTER, scopes=[*both, "default"], about=VISITS)
    with pytest.raises(Overspent):  # all or none
        ledger.charge(QUARTER, scopes=[*both, "default"], about=VISITS)
    assert ledger.remaining().guarantee == HALF
    assert ledger.charge(QUARTER, about=VISITS, charge_id="earlier").hash == earlier.hash
    if named == "*":
        with pytest.raises(ScopeRefusedError, match="every charge of this ledger requires"):
            ledger.charge(QUARTER)
    else:
        ledger.charge(QUARTER, about={"data": "wards"})
    ledger.verify()


def test_a_requirement_is_left_out_only_with_a_reason(ledger):
    ledger.add_scope("people", HALF)
    ledger.require("visits", "default")
    ledger.require("visits", ["default", "people"])
    ledger.require("visits", ["people", "default"])  # the same again
    entries = len(ledger.history())
    for fewer in ([], ["people"]):
        with pytest.raises(LedgerError, match=r"to leave out 'default'.* takes a reason"):
            ledger.require("visits", fewer)
    with pytest.raises(LedgerError, match="there is no scope 'nobody'"):
        ledger.require("visits", ["nobody"])
    assert len(ledger.history()) == entries == 4
    ledger.require("visits", [], "the data were published")
    assert ledger.required() == {}
    assert ledger.history()[-1].content["note"] == "the data were published"
    assert ledger.history("people")[-1].kind == "require"
    ledger.charge(QUARTER, scopes="people", about=VISITS)
    ledger.verify()


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM discreet_required", "UPDATE discreet_required SET data = 'other'"],
)
def test_the_database_itself_keeps_requirements(ledger, place, statement):
    ledger.require("visits", "default")
    engine = create_engine(located(place))
    with pytest.raises(DBAPIError, match="append-only"), engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE discreet_required SET scopes = '[]'", "required|requires"),
        ("INSERT INTO discreet_required VALUES ('wards', '[]')", "requires"),
        ('UPDATE discreet_scopes SET terms = \'{"rule":"sums"}\'', "terms of scope"),
        ("UPDATE discreet_scopes SET terms = replace(terms, 'over', 'off')", "terms of scope"),
        ("UPDATE discreet_scopes SET terms = replace(terms, '0.75', '0.85')", "terms of scope"),
        ("UPDATE discreet_entries SET body = replace(body, '4/3', '3/3') WHERE kind = 'lower'", "entry"),
    ],
)
def test_what_was_decided_cannot_be_changed_by_hand(ledger, place, by_hand, statement, found):
    ledger.charge(QUARTER)
    ledger.require("visits", "default")
    ledger.lower_scope("default", PureDP(0.75))
    ledger.close_scope("default", "over")
    ledger.verify()
    by_hand(place, statement)
    with pytest.raises(TamperedError, match=found):
        ledger.verify()


def test_format_3_gets_its_requirements_by_the_first_write(place, opened, by_hand):
    """Format 3 is this one without requirements."""
    ledger = opened(place, PureDP(1))
    receipt = ledger.charge(QUARTER)
    by_hand(place, "DROP TABLE discreet_required", "UPDATE discreet_ledger SET version = 3")
    older = opened(place)
    assert older.required() == {}
    assert older.verify(receipt).entries == 2
    assert [scope.share for scope in older.scopes()] == [0.75]
    older.require("visits", "default")
    older.lower_scope("default", HALF)
    assert older.remaining().guarantee == QUARTER
    assert older.verify(receipt).entries == 4


# ── the command ─────────────────────────────────────────────────────────────────────────────────────


def discreet(*words):
    done = CliRunner().invoke(app, list(map(str, words)))
    return done.exit_code, " ".join(done.output.split())


def test_the_command_closes_lowers_raises_and_requires(tmp_path):
    place = str(tmp_path / "budget.db")
    assert discreet("ledger", "init", place, "--budget", "approx:1,1e-6")[0] == 0
    assert discreet("ledger", "init", place, "--budget", "pure:1", "--scope", "alice")[0] == 0
    assert discreet("ledger", "lower", place, "alice", "--budget", "pure:0.5")[1].endswith("PureDP(0.5)")
    code, said = discreet("ledger", "lower", place, "alice", "--budget", "pure:0.75")
    assert (code, "discreet ledger raise" in said) == (2, True)
    assert discreet("ledger", "raise", place, "alice", "--budget", "pure:0.75")[0] == 2  # --reason is missing
    raised = discreet("ledger", "raise", place, "alice", "--budget", "pure:0.75", "--reason", "the board")
    assert raised[1].endswith("PureDP(0.75)")
    assert "closed since" in discreet("ledger", "close", place, "alice", "--reason", "she left")[1]
    code, shown = discreet("ledger", "show", place)
    assert "closed since" in shown
    assert "(she left)" in shown
    told = json.loads(CliRunner().invoke(app, ["ledger", "reopen", place, "alice", "--json"]).output)
    assert (told["closed"], told["budget"]) == ("", "PureDP(0.75)")
    assert discreet("ledger", "require", place, "visits", "--scope", "alice,default")[0] == 0
    assert (
        "every charge that names visits also charges alice, default" in discreet("ledger", "show", place)[1]
    )
    history = discreet("ledger", "history", place)[1]
    for word in (
        "lower",
        "raise",
        "the board",
        "close",
        "she left",
        "reopen",
        "visits requires alice, default",
    ):
        assert word in history
    assert discreet("ledger", "verify", place)[1].startswith("whole: 7 entries")
