"""What was written stays: the database refuses changes, and verify() finds those made behind its back."""

import shutil

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.exc import DBAPIError

from discreet.ledger import LedgerError, LedgerUnavailableError, TamperedError
from discreet.ledger.schema import located
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.release.receipt import GENESIS, link


@pytest.fixture
def used(place, opened):
    ledger = opened(place, PureDP(1))
    for index in range(4):
        ledger.charge(PureDP(0.0625), charge_id=f"c{index}", note="lunch")
    return ledger


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE discreet_entries SET body = 'x' WHERE position = 2",
        "DELETE FROM discreet_entries WHERE position = 5",
        "DELETE FROM discreet_scopes",
        "UPDATE discreet_scopes SET capacity = capacity + 1",
        "UPDATE discreet_scopes SET budget = 'x'",
        "UPDATE discreet_scopes SET spent = capacity + 1",
        "UPDATE discreet_scopes SET spent = -1",
        "INSERT INTO discreet_ledger VALUES (2, 1, 0, 'x')",
    ],
)
def test_the_database_itself_refuses(used, place, statement):
    engine = create_engine(located(place))
    with pytest.raises(DBAPIError), engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()
    used.verify()


MOVE = "UPDATE discreet_entries SET position = {} WHERE position = {}"


@pytest.mark.parametrize(
    ("statements", "found"),
    [
        (
            ["UPDATE discreet_entries SET body = replace(body, 'lunch', 'lynch') WHERE position = 3"],
            "entry 3",
        ),
        (["UPDATE discreet_entries SET id = 'other' WHERE position = 3"], "entry 3"),
        (["UPDATE discreet_entries SET kind = 'refund' WHERE position = 5"], "entry 5"),
        (["DELETE FROM discreet_entries WHERE position = 3"], "entry 3"),
        (["DELETE FROM discreet_entries WHERE position = 5"], "ends at entry 4"),
        (
            [
                "DELETE FROM discreet_entries WHERE position = 5",
                "UPDATE discreet_ledger SET entries = 4",
            ],
            "ends at entry 4",
        ),
        (
            [
                "DELETE FROM discreet_entries WHERE position = 5",
                "UPDATE discreet_ledger SET entries = 4",
                "UPDATE discreet_ledger SET head = (SELECT hash FROM discreet_entries WHERE position = 4)",
            ],
            "not the sum of its charges",
        ),
        ([MOVE.format(99, 3), MOVE.format(3, 4), MOVE.format(4, 99)], "entry 3"),
        (["DELETE FROM discreet_entries", "UPDATE discreet_ledger SET entries = 0"], "ends at entry 0"),
        (["UPDATE discreet_scopes SET spent = 0"], "not the sum of its charges"),
        (["UPDATE discreet_scopes SET budget = replace(budget, '1.0', '9.0')"], "budget of scope"),
        (["UPDATE discreet_scopes SET others = '[0,0]'"], "not the sum of its charges"),
        (["UPDATE discreet_scopes SET terms = replace(terms, 'sums', 'orders')"], "terms of scope"),
        (["UPDATE discreet_scopes SET name = 'other'"], "scopes were added or taken out"),
        (
            [
                (
                    "INSERT INTO discreet_scopes "
                    "SELECT 'more', budget, capacity, 0, others, terms FROM discreet_scopes"
                ),
            ],
            "scopes were added or taken out",
        ),
        (["UPDATE discreet_ledger SET head = '" + "f" * 64 + "'"], "ends at entry 5"),
    ],
)
def test_verify_finds_what_was_done_by_hand(used, place, by_hand, statements, found):
    by_hand(place)  # control: taking the triggers off changes nothing
    used.verify()
    by_hand(place, *statements)
    with pytest.raises(TamperedError, match=found):
        used.verify()


def test_an_entry_rewritten_with_its_own_hash_breaks_the_next(used, place, by_hand):
    entry = used.history()[2]
    forged = entry.body.replace("lunch", "lynch")
    fresh = link(entry.previous, entry.position, forged)
    forge = (
        "UPDATE discreet_entries SET body = replace(body, 'lunch', 'lynch'), hash = '{}' WHERE position = 3"
    )
    by_hand(place, forge.format(fresh))
    with pytest.raises(TamperedError, match="entry 4"):
        used.verify()


def test_an_older_copy_put_back_is_found_by_a_receipt(tmp_path, opened, copy_of):
    path = tmp_path / "budget.db"
    ledger = opened(path, PureDP(1))
    ledger.charge(PureDP(0.5))
    old = copy_of(path)
    receipt = ledger.charge(PureDP(0.25))
    for name in ("budget.db", "budget.db-wal", "budget.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    shutil.copy(old, path)
    again = opened(path)
    again.verify()  # by itself an honest older ledger is whole
    with pytest.raises(LedgerError, match="has no charge"):
        again.verify(receipt)
    with pytest.raises(LedgerUnavailableError, match="moved or replaced"):
        ledger.charge(PureDP(0.125))


def test_sums_of_many_meters_are_checked_too(tmp_path, opened, by_hand):
    path = tmp_path / "budget.db"
    ledger = opened(path, ApproxDP(1, 1e-6))
    ledger.charge(ApproxDP(0.25, 1e-7))
    ledger.verify()
    by_hand(path, "UPDATE discreet_scopes SET others = replace(others, ',58', ',57')")
    with pytest.raises(TamperedError, match="not the sum of its charges"):
        ledger.verify()


def test_the_first_entry_follows_from_nothing(used):
    first = used.history()[0]
    assert first.previous == GENESIS
    assert first.hash == link(GENESIS, 1, first.body)
