"""A charge does the same work whatever the number of past charges: counted, not timed."""

import json
from fractions import Fraction

import pytest
from sqlalchemy import event, insert, text, update

from discreet.ledger.amounts import FULL
from discreet.ledger.schema import ENTRIES, LEDGER, SCOPES
from discreet.privacy.kinds import ApproxDP, PureDP, ZeroCDP
from discreet.release.receipt import entry_after, written

PAST = 100_000


def held(ledger, count):
    """What the scope's sums are after so many more charges of one unit."""
    spent = ledger.spent()
    return json.dumps(written([Fraction(0), spent.sums[0] * FULL / spent.filter.meters[0].capacity + count]))


def with_past(ledger, seen, count):
    """Append charges in bulk, uncounted, as honest ones would have been; verify() agrees with them."""
    seen["counting"] = False
    head, rows = ledger.verify(), []
    previous, position = head.hash, head.entries
    for index in range(count):
        position += 1
        content = {"kind": "charge", "id": f"past-{index}", "at": "2020-01-01", "scopes": ["default"]}
        content |= {"guarantee": {}, "amounts": {"default": [0, 1]}, "note": ""}
        entry = entry_after(previous, position, content)
        previous = entry.hash
        rows.append({column.name: getattr(entry, column.name) for column in ENTRIES.columns})
    with ledger._store.engine().begin() as connection:
        connection.execute(insert(ENTRIES), rows)
        connection.execute(update(LEDGER).values(entries=position, head=previous))
        connection.execute(update(SCOPES).values(spent=SCOPES.c.spent + count, others=held(ledger, count)))
    seen["counting"] = True


@pytest.fixture
def watched(tmp_path, opened):
    """A ledger that notes its statements and counts the instructions of SQLite's virtual machine."""

    def watch(budget):
        ledger = opened(tmp_path / "budget.db", budget)
        seen = {"statements": [], "instructions": 0, "counting": True}

        def step():
            seen["instructions"] += 1

        engine = ledger._store.engine()
        event.listen(
            engine,
            "before_cursor_execute",
            lambda _c, _k, sql, values, *_: seen["statements"].append((sql, values)),
        )
        event.listen(
            engine,
            "checkout",
            lambda c, *_: c.set_progress_handler(step if seen["counting"] else None, 1),
        )
        return ledger, seen

    return watch


def work(ledger, seen, promise, name):
    seen.update(statements=[], instructions=0)
    ledger.charge(promise, charge_id=name)
    return [sql for sql, _ in seen["statements"]], seen["instructions"]


def test_a_charge_after_a_hundred_thousand_is_the_same_work(watched):
    ledger, seen = watched(PureDP(1))
    promise = PureDP(0.001)
    ledger.charge(promise)  # warm: the scope is known from here on
    statements, instructions = work(ledger, seen, promise, "few")
    with_past(ledger, seen, PAST)
    late, more = work(ledger, seen, promise, "many")
    assert late == statements
    # BEGIN, lock, replay, requirements, scope, sums, entry, head; SQLAlchemy commits past the cursor
    words = ["BEGIN", "SELECT", "SELECT", "SELECT", "SELECT", "UPDATE", "INSERT", "UPDATE"]
    assert [sql.split()[0] for sql in late] == words
    # the same instructions, but for what a deeper tree may cost: a scan would cost 100 000
    assert instructions > 0
    assert abs(more - instructions) < 50
    for sql, values in list(seen["statements"])[1:]:
        with ledger._store.reading() as connection:
            plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
        assert not any(step.startswith("SCAN") for step in plan), plan
    seen["counting"] = False
    assert ledger.verify().entries == PAST + 4
    seen.update(instructions=0, counting=True)
    with ledger._store.reading() as connection:  # control: the count does see a scan
        connection.execute(text("SELECT count(*) FROM discreet_entries WHERE body = 'x'"))
    assert seen["instructions"] > PAST


def test_a_budget_of_many_meters_takes_no_more_statements(watched):
    ledger, seen = watched(ApproxDP(1, 1e-6))
    promise = ZeroCDP(0.0001)
    ledger.charge(promise)
    statements, _ = work(ledger, seen, promise, "one")
    for index in range(20):
        ledger.charge(promise, charge_id=f"c{index}")
    assert len(statements) == 8
    assert work(ledger, seen, promise, "more")[0] == statements
