"""One budget has one name: SQLite's log lies beside a path, so a file with two paths is refused."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet import place
from discreet.cli import app
from discreet.ledger import Ledger, LedgerError, LedgerUnavailableError, TamperedError
from discreet.mcmc.running.checkpoint import Checkpoint, CheckpointError
from discreet.privacy.guarantee import Relation
from discreet.privacy.kinds import ApproxDP, PureDP
from discreet.release.receipt import canonical, written


def test_a_second_hard_link_is_refused_at_once_and_later(tmp_path):
    one, two = tmp_path / "a" / "budget.db", tmp_path / "b" / "budget.db"
    one.parent.mkdir()
    two.parent.mkdir()
    with Ledger.open(one, PureDP(1)) as ledger:
        ledger.charge(PureDP(0.5))
        two.hardlink_to(one)
        with pytest.raises(LedgerError, match="more than one hard link"):
            ledger.charge(PureDP(0.25))  # a link that came while the ledger was open
        for budget in (None, PureDP(1)):
            with pytest.raises(LedgerError, match="more than one hard link"):
                Ledger.open(two, budget)
        assert not list(two.parent.glob("*-wal"))  # not even looked at
        two.unlink()
        ledger.charge(PureDP(0.25))  # with one name, life goes on
        assert ledger.spent().sums == (PureDP(0.75).loss,)


def test_symbolic_links_lead_to_one_log(tmp_path):
    one, two = tmp_path / "a" / "budget.db", tmp_path / "b" / "link.db"
    one.parent.mkdir()
    two.parent.mkdir()
    two.symlink_to(one)
    with Ledger.open(two, PureDP(1)) as linked, Ledger.open(one) as direct:
        linked.charge(PureDP(0.5))
        direct.charge(PureDP(0.25))
        assert linked.spent() == direct.spent()
        assert linked.verify() == direct.verify()
    assert [path.name for path in two.parent.iterdir()] == ["link.db"]


CHARGED = """
import sys
from discreet.ledger import Ledger, LedgerError
from discreet.privacy.kinds import PureDP
try:
    Ledger.open(sys.argv[1], PureDP(1)).charge(PureDP(0.5))
    print("charged")
except LedgerError as error:
    print(error)
"""


def test_places_that_are_no_file_are_called_what_they_are(tmp_path):
    """A folder had "more than one hard link", a loop was a RuntimeError, uri=true left a stray file."""
    loop = tmp_path / "loop.db"
    loop.symlink_to(loop)
    asked = {
        tmp_path: "is a folder",
        loop: "leads back",
        f"sqlite:///{tmp_path}/b.db?mode=memory&uri=true": "uri=",
    }
    for where, said in asked.items():
        with pytest.raises(LedgerError, match=said):
            Ledger.open(where, PureDP(1))
    assert [path.name for path in tmp_path.iterdir()] == ["loop.db"]


@pytest.mark.skipif(sys.platform != "linux", reason="mounts are Linux's")
def test_a_file_mounted_alone_is_refused_and_its_folder_is_not(tmp_path):
    """For real, in a namespace of mounts of its own: on one disk, where the device number tells nothing."""
    home, away = tmp_path / "home", tmp_path / "a way"
    for folder in (home, away):
        folder.mkdir()
    Ledger.open(home / "budget.db", PureDP(1)).close()
    (away / "budget.db").touch()
    script = f'mount --bind "{{}}" "{{}}" || exit 77; exec "{sys.executable}" -c "$CODE" "{away}/budget.db"'
    said = {}
    for what in ("budget.db", ""):
        ask = ["unshare", "-m", "sh", "-c", script.format(home / what, away / what)]
        with_code = {**os.environ, "CODE": CHARGED}
        done = subprocess.run(ask, capture_output=True, text=True, check=False, env=with_code)  # noqa: S603
        if done.returncode != 0 and not done.stdout:
            pytest.skip("this user may not mount")
        said[what] = done.stdout
    assert "is mounted by itself: mount the folder" in said["budget.db"]
    assert said[""] == "charged\n"


def test_mount_points_are_read_as_linux_writes_them(tmp_path, monkeypatch):
    file = tmp_path / "bud get.db"
    Ledger.open(file, PureDP(1)).close()
    written = str(file).replace(" ", "\\040")
    line = f"36 35 98:0 /mnt1 {written} rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n"  # proc(5)
    read = Path.read_text
    monkeypatch.setattr(
        Path, "read_text", lambda self, **k: line if str(self) == "/proc/self/mountinfo" else read(self, **k)
    )
    with pytest.raises(LedgerError, match="mounted by itself"):
        Ledger.open(file)
    (tmp_path / "another.db").touch()
    assert place.other_names(tmp_path / "another.db") is None  # control


def test_a_checkpoint_has_one_name_too(tmp_path):
    Checkpoint.create(tmp_path / "one", {"format": "discreet-chains/1"}).close()
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    with pytest.raises(CheckpointError, match="more than one hard link"):
        Checkpoint.open(tmp_path / "two")


# ── capacities ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("budget", "statement", "words"),
    [
        (PureDP(1), "UPDATE discreet_scopes SET capacity = 2 * capacity", "the capacity of scope"),
        (PureDP(1), "UPDATE discreet_scopes SET capacity = capacity - 1", "the capacity of scope"),
        (ApproxDP(1, 1e-6), "UPDATE discreet_scopes SET capacity = 3 * capacity", "the capacity of scope"),
    ],
)
def test_a_raised_capacity_is_found(tmp_path, budget, statement, words):
    path = tmp_path / "budget.db"
    with Ledger.open(path, budget) as ledger:
        ledger.charge(PureDP(0.125))
        ledger.verify()
        connection = sqlite3.connect(path)
        connection.execute("DROP TRIGGER discreet_scopes_update")
        connection.execute(statement)
        connection.commit()
        connection.close()
        with pytest.raises(TamperedError, match=words):
            ledger.verify()


def test_charges_beyond_the_budget_are_found_after_the_capacity_was_put_back(tmp_path):
    path = tmp_path / "budget.db"
    with Ledger.open(path, PureDP(1)) as ledger:
        ledger.charge(PureDP(0.75))
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER discreet_scopes_update")
    connection.execute("PRAGMA ignore_check_constraints = ON")
    raised = "UPDATE discreet_scopes SET capacity = capacity {} {}"
    connection.execute(raised.format("*", 2))
    connection.commit()
    spent = connection.execute("SELECT spent FROM discreet_scopes").fetchone()[0]
    assert spent > 0
    with Ledger.open(path) as ledger:
        scope = ledger._scope("default")
        with ledger._store.writing("overspend") as book:  # as a program without a filter could
            tariff = scope.tariff
            price = written(tariff.price(PureDP(0.75)))
            twice = canonical([2 * lane for lane in price])
            doubled = "UPDATE discreet_scopes SET spent = 2 * spent, others = ?"
            book.connection.exec_driver_sql(doubled, (twice,))
            book.append(
                "charge", "more", scopes=["default"], amounts={"default": price}, guarantee={}, note=""
            )
    connection.execute(raised.format("/", 2))
    connection.commit()
    connection.close()
    with Ledger.open(path) as ledger, pytest.raises(TamperedError, match="more than its budget holds"):
        ledger.verify()


def test_a_budget_file_in_use_is_one_budget(tmp_path):
    """Control: the same path twice shares its log, whatever the order of closing."""
    path = tmp_path / "budget.db"
    with Ledger.open(path, PureDP(1)) as one, Ledger.open(path) as two:
        one.charge(PureDP(0.5))
        two.charge(PureDP(0.5))
        with pytest.raises(dc.Overspent):
            one.charge(PureDP(0.5))


def test_no_cell_of_an_export_is_a_formula_where_semicolons_part_cells(tmp_path):
    graph = Relation("profile", "a" * 64, 'roles;=HYPERLINK("http://example.org")')
    with Ledger.open(tmp_path / "budget.db", PureDP(1), scope="mine;=1+1") as ledger:
        ledger.add_scope("graph", PureDP(1, relation=graph))
        ledger.charge(PureDP(0.5), note="lunch;@here")
        text = ledger.export(tmp_path / "history.csv").read_text()
    cells = [cell.lstrip() for line in text.splitlines() for cell in line.split(";")]
    assert len(cells) > len(text.splitlines()) + 3  # control: there are some
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


@pytest.mark.parametrize("words", [None, 5, ["a"], b"a"])
def test_notes_and_reasons_are_texts(tmp_path, words):
    with Ledger.open(tmp_path / "budget.db", PureDP(1)) as ledger:
        with pytest.raises(LedgerError, match="a note is a text"):
            ledger.charge(PureDP(0.5), note=words)
        receipt = ledger.charge(PureDP(0.5))
        with pytest.raises(LedgerError, match="reason of a refund is a text of 1 to"):
            ledger.refund(receipt.id, words)


@pytest.mark.parametrize("ask", ["spent", "history", "remaining", "scopes", "verify"])
def test_a_deleted_file_is_not_made_anew_by_asking(tmp_path, ask):
    path = tmp_path / "budget.db"
    with Ledger.open(path, PureDP(1)) as ledger:
        for left in tmp_path.iterdir():
            left.unlink()
        with pytest.raises(LedgerUnavailableError, match=r"budget\.db is not there"):
            getattr(ledger, ask)()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["history.json", "history.csv"])
def test_an_export_overwrites_nothing(tmp_path, name):
    file = tmp_path / name
    with Ledger.open(tmp_path / "budget.db", PureDP(1)) as ledger:
        before = ledger.export(file).read_bytes()
        ledger.charge(PureDP(0.5))
        with pytest.raises(FileExistsError, match=r"exists, and an earlier export is a record"):
            ledger.export(file)
        assert file.read_bytes() == before
        typed = CliRunner().invoke(app, ["ledger", "export", str(tmp_path / "budget.db"), str(file)])
        assert typed.exit_code == 2
        assert file.read_bytes() == before
