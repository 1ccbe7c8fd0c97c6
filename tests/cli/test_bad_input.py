"""Bad input at the command that starts outside of its options: tables, schemas, ledgers, disks."""

import json
import sqlite3
import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

from .conftest import CANARIES, FIT, environment

PAY = ("--target", "pure:0.5", "--out", "r")


def changed(*options):
    """FIT with other values for some of its options."""
    new = dict(zip(options[::2], options[1::2], strict=True))
    old = dict(zip(FIT[2::2], FIT[3::2], strict=True))
    return (*FIT[:2], *(word for pair in {**old, **new}.items() for word in pair), *PAY)


def one_line(done, code, word):
    assert done.code == code, done.err
    assert done.err.startswith("discreet: ")
    assert len(done.err.strip().splitlines()) == 1
    assert word in done.err
    assert not any(canary in done.out + done.err for canary in CANARIES)


def charges(run):
    entries = json.loads(run("ledger", "history", "budget.db", "--json").out)
    return [entry for entry in entries if entry["kind"] == "charge"]


SCHEMAS = {
    "a column that the table lacks": ('[columns.smokes]\nkind = "binary"\n', "no column 'smokes'"),
    "another type": ('[columns.ward]\nkind = "bounded"\nlower = 0\nupper = 1\n', "type string"),
    "bounds reversed": ('[columns.age]\nkind = "bounded"\nlower = 9\nupper = 1\n', "lower < upper"),
    "a template that nobody filled in": ('[columns.age]\nkind = "bounded"\nlower = "?"\nupper = 9\n', '"?"'),
    "a kind that does not exist": ('[columns.age]\nkind = "number"\n', "needs kind"),
    "no schema at all": ("hello\n", "is not a valid schema"),
}  # fmt: skip


@pytest.mark.parametrize("case", SCHEMAS)
def test_a_wrong_schema_charges_nothing(run, home, budget, case):
    text, word = SCHEMAS[case]
    (home / "wrong.toml").write_text(text)
    column = text.partition("columns.")[2].partition("]")[0] or "smoker"
    one_line(
        run(*changed("--schema", "wrong.toml", "--column", column)), 2, word.replace('"?"', "fill it in")
    )
    assert not charges(run)


def test_an_empty_table_charges_nothing(run, home, budget):
    rows = parquet.read_table(home / "rows.parquet")
    parquet.write_table(rows.slice(0, 0), home / "rows.parquet")
    one_line(run(*FIT, *PAY), 2, "the table is empty")
    assert not charges(run)


def test_where_n_is_private_an_empty_table_is_no_error(run, home):
    parquet.write_table(parquet.read_table(home / "rows.parquet").slice(0, 0), home / "rows.parquet")
    assert run("ledger", "init", "budget.db", "--budget", "pure:1", "--relation", "add_remove").code == 0
    assert run(*FIT, *PAY, "--relation", "add_remove").code == 0


def test_a_ledger_of_another_version_is_named(run, home, budget):
    with sqlite3.connect("budget.db") as connection:
        connection.execute("UPDATE discreet_ledger SET version = 7")
    connection.close()
    one_line(run(*FIT, *PAY), 2, "ledger of format 7 and this discreet reads format 4")
    assert not (home / "r").exists()


def test_a_target_of_other_neighbours_than_the_budget_says_how_to_bring_them_together(run, home, budget):
    one_line(run(*FIT, *PAY, "--relation", "add_remove"), 2, "--relation as the budget has it")
    assert not charges(run)


def test_a_file_that_cannot_be_read_keeps_no_charge(run, home, budget):
    (home / "rows.parquet").write_text("no parquet")
    one_line(run(*FIT, *PAY), 3, "opening 'rows.parquet' failed")
    assert not charges(run)


def test_a_file_that_breaks_after_the_charge_keeps_it_and_says_so(run, home, budget):
    """Pages that cannot be read, behind a footer that can."""
    rows = pa.table({**parquet.read_table(home / "rows.parquet").to_pydict()})
    parquet.write_table(rows, home / "rows.parquet", compression="snappy")
    whole = bytearray((home / "rows.parquet").read_bytes())
    whole[4:600] = b"\xff" * 596
    (home / "rows.parquet").write_bytes(bytes(whole))
    done = run(*FIT, *PAY, "--charge-id", "monday")
    one_line(done, 3, "charge 'monday' is kept")
    assert [entry["id"] for entry in charges(run)] == ["monday"]
    assert not (home / "r").exists()


FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from discreet import ledger, statistics
from discreet.cli import main
import discreet.privatise

statistics.BoundedStatistic.read = lambda self: Path("reading").touch()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
charge = ledger.Ledger.charge

def full(self, *args, **options):
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # the system refuses every write from here on
    return charge(self, *args, **options)

ledger.Ledger.charge = full
sys.argv = ["discreet", *sys.argv[1:]]
main()
"""


def test_a_disk_without_room_for_the_charge_means_no_release_and_no_reading(run, budget, home):
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", FULL_DISK, *FIT, *PAY],
        capture_output=True, text=True, cwd=home, env=environment(), timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "nothing may be released" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (home / "reading").exists()
    assert not (home / "r").exists()
    assert run("ledger", "verify", "budget.db").out.startswith("whole: 1 entries")
