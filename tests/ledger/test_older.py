"""Ledgers of older formats: read as they are, upgraded in place by the first write, under the rule they had.

The dump of format 2 was made on 18 November 2026; on PostgreSQL its rows go into the tables of that time.
"""

import json
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from discreet.ledger import LedgerError, Overspent
from discreet.ledger.schema import located
from discreet.privacy.kinds import ApproxDP, PureDP, ZeroCDP

DUMP = Path(__file__).parents[1] / "reference" / "ledger_of_november_2026.sql"
ENTRIES = "position, kind, id, body, previous, hash"
TABLES = {"discreet_ledger": 4, "discreet_scopes": 5, "discreet_entries": 6, "discreet_releases": 3}
ON_POSTGRESQL = """
CREATE TABLE discreet_ledger (
    one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL,
    entries BIGINT NOT NULL CHECK (entries >= 0), head VARCHAR(64) NOT NULL);
CREATE TABLE discreet_scopes (
    name VARCHAR(200) PRIMARY KEY, budget TEXT NOT NULL, capacity BIGINT NOT NULL, spent BIGINT NOT NULL,
    others TEXT NOT NULL, CONSTRAINT discreet_within_budget CHECK (spent >= 0 AND spent <= capacity));
CREATE TABLE discreet_entries (
    position BIGINT PRIMARY KEY, kind VARCHAR(20) NOT NULL, id VARCHAR(200) NOT NULL, body TEXT NOT NULL,
    previous VARCHAR(64) NOT NULL, hash VARCHAR(64) NOT NULL,
    CONSTRAINT discreet_known_kind CHECK (kind IN ('scope', 'charge', 'computed', 'refund')),
    CONSTRAINT discreet_once UNIQUE (kind, id));
CREATE TABLE discreet_releases (
    id VARCHAR(200), name VARCHAR(200), body BYTEA NOT NULL, PRIMARY KEY (id, name));
CREATE FUNCTION discreet_refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
CREATE TRIGGER discreet_entries_update BEFORE UPDATE ON discreet_entries
    FOR EACH ROW EXECUTE FUNCTION discreet_refuse();
CREATE TRIGGER discreet_entries_delete BEFORE DELETE ON discreet_entries
    FOR EACH ROW EXECUTE FUNCTION discreet_refuse();
"""


def of_format_2(place):
    """The dump: four scopes, six charges, one of them given back, one with its release."""
    if not place.startswith("postgres"):
        with sqlite3.connect(place) as base:
            base.executescript(DUMP.read_text())
        base.close()
        return
    with sqlite3.connect(":memory:") as memory:
        memory.executescript(DUMP.read_text())
        rows = {table: memory.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}  # noqa: S608
    memory.close()
    engine = create_engine(located(place))
    with engine.begin() as connection:
        connection.exec_driver_sql(ON_POSTGRESQL)
        for table, width in TABLES.items():
            marks = ", ".join(["%s"] * width)
            for row in rows[table]:
                connection.exec_driver_sql(f"INSERT INTO {table} VALUES ({marks})", tuple(row))  # noqa: S608
    engine.dispose()


def of_format_1(place):
    """The same before releases were kept: what came after the last charge without one is cut off."""
    of_format_2(place)
    engine = create_engine(located(place))
    with engine.begin() as connection:
        on = " ON discreet_entries" if engine.dialect.name == "postgresql" else ""
        connection.execute(text(f"DROP TRIGGER discreet_entries_delete{on}"))
        kept = connection.execute(
            text("SELECT body FROM discreet_entries WHERE kind = 'charge' AND id = 'kept'")
        )
        price = json.loads(kept.scalar_one())["amounts"]["analyst"]
        connection.execute(text("DELETE FROM discreet_entries WHERE id = 'kept'"))
        refuse = "BEGIN SELECT RAISE(ABORT, 'the ledger is append-only'); END"
        does = "EXECUTE FUNCTION discreet_refuse()" if on else refuse
        again = (
            f"CREATE TRIGGER discreet_entries_delete BEFORE DELETE ON discreet_entries FOR EACH ROW {does}"
        )
        connection.execute(text(again))
        connection.execute(
            text("UPDATE discreet_scopes SET spent = spent - :price WHERE name = 'analyst'"),
            {"price": price[1]},
        )
        last = "SELECT position, hash FROM discreet_entries ORDER BY position DESC LIMIT 1"
        position, head = connection.execute(text(last)).one()
        connection.execute(text("DROP TABLE discreet_releases"))
        connection.execute(
            text("UPDATE discreet_ledger SET version = 1, entries = :n, head = :h"),
            {"n": position, "h": head},
        )
    engine.dispose()


def version(place):
    engine = create_engine(located(place))
    with engine.begin() as connection:
        found = connection.execute(text("SELECT version FROM discreet_ledger")).scalar_one()
    engine.dispose()
    return found


def test_format_2_is_read_as_it_is_and_upgraded_by_the_first_write(place, opened):
    of_format_2(place)
    ledger = opened(place, scope="table")
    before = ledger.verify()
    assert before.entries == 11
    assert ledger.spent("analyst").sums == (Fraction(1, 2),)
    assert ledger.released("kept")[""].startswith(b'{"columns":["x"]')
    left = ledger.remaining("table")
    assert left.rule == "orders"
    with pytest.raises(Overspent, match="half of δ is held back"):
        ledger.charge(ApproxDP(0.1, 6e-7))
    # the refusal was a write that was undone; nothing else was written yet
    assert version(place) == 2
    assert ledger.verify() == before
    receipt = ledger.charge(ZeroCDP(Fraction(1, 1000)), scopes=["table", "unused"])
    assert receipt.rules == {"table": "orders", "unused": "orders"}  # as they always were
    assert version(place) == 4
    assert ledger.verify(ledger.receipt("monday"), receipt).entries == 12
    assert ledger.spent("analyst").sums == (Fraction(1, 2),)
    assert ledger.spent("curve").sums == (Fraction(1, 4), Fraction(1, 2))
    ledger.refund(receipt.id, "never ran")
    ledger.charge(ApproxDP(0.5, 5e-7), scopes="unused")
    with pytest.raises(Overspent):
        ledger.charge(PureDP(Fraction(6, 10)), scopes="unused")
    ledger.add_scope("new", ApproxDP(1, 1e-6))
    ledger.charge(ApproxDP(1, 1e-6), scopes="new")  # a scope that is opened now may be used whole
    assert ledger.verify().entries == 16
    again = opened(place)
    assert again.verify().entries == 16
    assert again.released("kept") == ledger.released("kept")


def test_format_1_is_read_as_it_is_and_upgraded_by_the_first_write(place, opened):
    of_format_1(place)
    ledger = opened(place, scope="analyst")
    assert ledger.verify().entries == 9
    assert ledger.receipt("monday").note == "smokers"
    with pytest.raises(LedgerError, match="not kept here"):
        ledger.released("monday")
    assert version(place) == 1
    receipt = ledger.charge(PureDP(1))
    ledger.record(receipt.id, {"": b"what was drawn"})
    assert version(place) == 4
    assert ledger.released(receipt.id) == {"": b"what was drawn"}
    assert ledger.spent().sums == (Fraction(5, 4),)
    assert ledger.verify().entries == 11


@pytest.mark.parametrize("made", [of_format_1, of_format_2])
def test_an_upgraded_ledger_is_guarded_as_a_new_one(place, opened, made, by_hand):
    made(place)
    ledger = opened(place, scope="table")
    ledger.charge(PureDP(0.01))
    engine = create_engine(located(place))
    for statement in ("UPDATE discreet_entries SET body = 'x'", "DELETE FROM discreet_entries"):
        with pytest.raises(Exception, match="append-only"), engine.begin() as connection:
            connection.execute(text(statement))
    engine.dispose()
    ledger.verify()
