"""Whatever somebody writes into a ledger's file by hand, it is called that: no answer, and no traceback."""

import shutil
import sqlite3
from contextlib import closing, suppress

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.cli import app

NONSENSE = ["", "x", "{}", "null", '["1/0", 0]', '{"rule": null}', b"\xff", "[" * 3000]
CELLS = [
    *(("scopes", column) for column in ("budget", "others", "terms")),
    *(("entries", column) for column in ("body", "hash")),
    ("releases", "body"),
    ("ledger", "entries"),
]
ASKS = {
    "verify": lambda ledger, _: ledger.verify(),
    "remaining": lambda ledger, _: [str(ledger.remaining(name)) for name in ledger.scopes()],
    "spending": lambda ledger, _: ledger.spending(),
    "history": lambda ledger, _: ledger.history("default"),
    "json": lambda ledger, folder: ledger.export(folder / "h.json"),
    "csv": lambda ledger, folder: ledger.export(folder / "h.csv"),
    "charge": lambda ledger, _: ledger.charge(dc.PureDP(0.125)),
    "refund": lambda ledger, _: ledger.refund("one", "a slip"),
    "released": lambda ledger, _: ledger.released("two"),
}


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    place = tmp_path_factory.mktemp("book") / "budget.db"
    with dc.Ledger.open(place, dc.ApproxDP(1, 1e-6)) as ledger:
        ledger.charge(dc.PureDP(0.125), charge_id="one", about={"data": "visits"})
        ledger.charge(dc.PureDP(0.125), charge_id="two")
        ledger.record("two", {"": b"{}"})
    with closing(sqlite3.connect(place)) as file:
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        file.commit()
    return place


def by_hand(book, folder, table, column, value):
    """Copy the ledger, and write nonsense into one cell of its last row but one, if there are two."""
    place = folder / "budget.db"
    for part in ("", "-wal", "-shm"):
        (folder / f"budget.db{part}").unlink(missing_ok=True)
    shutil.copy(book, place)
    with closing(sqlite3.connect(place)) as file:
        file.execute("PRAGMA ignore_check_constraints = 1")
        name = f"discreet_{table}"
        row = f"SELECT rowid FROM {name} ORDER BY rowid DESC LIMIT 1"  # noqa: S608 - our own names
        file.execute(f"UPDATE {name} SET {column} = ? WHERE rowid = ({row})", (value,))  # noqa: S608
        file.commit()
    return place


@pytest.mark.parametrize(("table", "column"), CELLS)
def test_nonsense_in_any_cell_is_found_and_answers_nothing_else(book, tmp_path, table, column):
    for value in NONSENSE:
        place = by_hand(book, tmp_path, table, column, value)
        for name, ask in ASKS.items():
            with dc.Ledger.open(place) as ledger:
                if name == "verify":
                    with pytest.raises(dc.TamperedError):
                        ask(ledger, tmp_path)
                    continue
                with suppress(dc.LedgerError, FileExistsError):  # the answer of other cells is one too
                    ask(ledger, tmp_path)


@pytest.mark.parametrize("command", ["show", "verify", "history"])
def test_the_command_says_so_with_code_3(book, tmp_path, command):
    table, column = ("entries", "body") if command == "history" else ("scopes", "terms")
    place = by_hand(book, tmp_path, table, column, "null")
    done = CliRunner().invoke(app, ["ledger", command, str(place)])
    assert done.exit_code == 3
    assert "changed by hand" in done.stderr or "was changed" in done.stderr


def test_a_receipt_that_is_none_is_not_blamed_on_the_ledger(book, tmp_path):
    ledger = dc.Ledger.open(shutil.copy(book, tmp_path / "b.db"))
    with ledger, pytest.raises(AttributeError, match="receipt"):
        ledger.verify("one")
