"""What goes wrong around the ledger: full disks, read-only files, other versions, servers away, signals."""

import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import event

from discreet.ledger import Ledger, LedgerError, LedgerUnavailableError
from discreet.privacy.kinds import PureDP

SMALL = PureDP(Fraction(1, 1000))


def run(script, *arguments):
    return subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", script, *map(str, arguments)], capture_output=True, text=True, check=False
    )


def charged(path):
    """Count the charges with nothing of ours."""
    connection = sqlite3.connect(path)
    (count,) = connection.execute("SELECT count(*) FROM discreet_entries WHERE kind = 'charge'").fetchone()
    connection.close()
    return count


def pay_until_full(ledger):
    """Each note fills half a page; the acknowledged ones are counted."""
    for index in range(100):
        ledger.charge(SMALL, note="x" * 2000)
        ledger.acknowledged = index + 1


def test_no_more_pages_is_a_clear_error_and_no_charge(tmp_path, opened):
    path = tmp_path / "budget.db"
    opened(path, PureDP(1)).close()
    ledger = Ledger.open(path)
    ledger.close()  # the next connection is the one with the limit
    event.listen(ledger._store.engine(), "connect", lambda c, _: c.execute("PRAGMA max_page_count = 20"))
    with pytest.raises(
        LedgerUnavailableError, match=r"full; it is not acknowledged.*nothing may be released"
    ):
        pay_until_full(ledger)
    paid = ledger.acknowledged
    ledger.close()
    assert 0 < paid == charged(path)
    again = opened(path)
    assert again.spent().sums == (Fraction(paid, 1000),)
    again.verify()


FULL_DISK = """
import resource, signal, sys
from fractions import Fraction
from discreet.ledger import Ledger, LedgerUnavailableError
from discreet.privacy.kinds import PureDP
ledger = Ledger.open(sys.argv[1], PureDP(1))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))  # the system refuses the write itself
paid = 0
try:
    while True:
        ledger.charge(PureDP(Fraction(1, 1000)), note="x" * 2000)
        paid += 1
except LedgerUnavailableError as error:
    print(paid, error)
"""


def test_a_write_that_the_system_refuses_is_a_clear_error_and_no_charge(tmp_path, opened):
    path = tmp_path / "budget.db"
    done = run(FULL_DISK, path)
    paid, words = done.stdout.split(maxsplit=1)
    assert "nothing may be released" in words
    assert int(paid) > 0
    ledger = opened(path)
    assert ledger.spent().sums == (Fraction(int(paid), 1000),)
    assert charged(path) == int(paid)
    ledger.charge(SMALL)  # with room again, life goes on
    ledger.verify()


READ_ONLY = """
import os, sys
from discreet.ledger import Ledger, LedgerUnavailableError
from discreet.privacy.kinds import PureDP
with Ledger.open(sys.argv[2], PureDP(1000)) as warm:  # loads all modules while they can be read
    warm.charge(PureDP(0.1))
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere
try:
    Ledger.open(sys.argv[1]).charge(PureDP(0.1))
    print("charged")
except LedgerUnavailableError as error:
    print("refused:", error)
"""


@pytest.fixture
def anyones_folder():
    """A folder that another user can reach: pytest closes its own to them, at any time."""
    folder = Path(tempfile.mkdtemp(prefix="discreet-ledger-"))
    folder.chmod(0o777)
    yield folder
    folder.chmod(0o777)
    shutil.rmtree(folder)


def test_a_read_only_file_is_a_clear_error_and_no_charge(anyones_folder, tmp_path):
    path, warm = anyones_folder / "budget.db", tmp_path / "warm.db"
    with Ledger.open(path, PureDP(1)) as ledger:
        ledger.charge(SMALL)
    path.chmod(0o666)
    control = run(READ_ONLY, path, warm)  # with rights it works
    assert control.stdout == "charged\n", control.stderr
    path.chmod(0o444)
    anyones_folder.chmod(0o555)
    said = run(READ_ONLY, path, warm)
    assert "refused: could not" in said.stdout, said.stderr
    assert "nothing may be released" in said.stdout
    anyones_folder.chmod(0o777)
    path.chmod(0o644)
    assert charged(path) == 2


INTERRUPTED = """
import signal, sys
from discreet.ledger import Ledger
from discreet.privacy.kinds import PureDP
ledger = Ledger.open(sys.argv[1], PureDP(1))
ledger.charge(PureDP(0.25), charge_id="interrupted")
print("charged", flush=True)
signal.pause()  # reading the data takes long
"""


def test_ctrl_c_between_charge_and_release_keeps_the_charge(place, opened):
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", INTERRUPTED, place], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "charged\n"
    child.send_signal(signal.SIGINT)
    _, words = child.communicate()
    assert "KeyboardInterrupt" in words
    ledger = opened(place)
    assert ledger.spent().sums == (Fraction(1, 4),)
    assert not ledger.receipt("interrupted").computed  # so the owner may refund it
    ledger.verify()


def test_an_error_inside_the_transaction_undoes_all_of_it(place, opened):
    ledger = opened(place, PureDP(1))
    before = ledger.verify()

    def interrupted():
        with ledger._store.writing("charge") as book:
            book.spend(ledger._scope("default"), [[0, 1]])
            book.append("charge", "lost", scopes=["default"])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert ledger.verify() == before
    assert ledger.spent().sums == (0,)


FORKED = """
import os, sys
from fractions import Fraction
from discreet.ledger import Ledger
from discreet.privacy.kinds import PureDP
ledger = Ledger.open(sys.argv[1], PureDP(1))
ledger.charge(PureDP(Fraction(1, 8)))
(wait, done), (rest, go) = os.pipe(), os.pipe()
child = os.fork()
ledger.charge(PureDP(Fraction(1, 8)))  # the same object on both sides of the fork
if child == 0:
    os.write(done, b".")
    os.read(rest, 1)
    ledger.charge(PureDP(Fraction(1, 8)))
    os._exit(0)
os.read(wait, 1)
ledger.close()
os.write(go, b".")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_nothing_acknowledged_is_lost_across_a_fork(place, opened):
    # with a connection open during the fork, SQLite loses the child's last charge: its parent, which seems
    # to be the last one out, deletes the log that the child writes to
    done = run(FORKED, place)
    assert done.returncode == 0, done.stderr
    ledger = opened(place)
    assert ledger.spent().sums == (Fraction(4, 8),)
    ledger.verify()


FORKED_WITHIN = """
import os, sys
from discreet.ledger import Ledger, LedgerUnavailableError
from discreet.privacy.kinds import PureDP
ledger = Ledger.open(sys.argv[1], PureDP(1))
with ledger._store.writing("hold the lock"):
    child = os.fork()
    if child == 0:
        for way in (lambda: ledger.charge(PureDP(0.5)), lambda: Ledger.open(sys.argv[1])):
            try:
                way()
            except LedgerUnavailableError as error:
                os.write(1, f"{error}\\n".encode())
        os._exit(0)
    os.waitpid(child, 0)
ledger.charge(PureDP(0.25))  # the parent goes on
"""


def test_a_child_forked_within_a_transaction_may_not_touch_the_file(tmp_path, opened):
    done = run(FORKED_WITHIN, tmp_path / "budget.db")
    assert done.stdout.count("this process was forked while") == 2, done.stderr
    assert not done.stderr
    assert opened(tmp_path / "budget.db").spent().sums == (Fraction(1, 4),)


def test_a_ledger_of_another_version_is_refused_clearly(place, opened, by_hand):
    ledger = opened(place, PureDP(1))
    by_hand(place, "UPDATE discreet_ledger SET version = 7")
    for budget in (None, PureDP(1)):
        with pytest.raises(LedgerError, match="ledger of format 7 and this discreet reads format 4"):
            Ledger.open(place, budget)
    with pytest.raises(LedgerError, match="format 7"):
        ledger.charge(SMALL)  # also when it changes under an open ledger
    by_hand(place, "UPDATE discreet_ledger SET version = 3")
    assert ledger.spent().sums == (0,)


def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path):
    missing = tmp_path / "none.db"
    with pytest.raises(LedgerError, match=r"there is no ledger at .*give a budget"):
        Ledger.open(missing)
    assert not missing.exists()
    text = tmp_path / "notes.txt"
    text.write_text("these are notes\n" * 100)
    for budget in (None, PureDP(1)):
        with pytest.raises(LedgerUnavailableError, match="not a database"):
            Ledger.open(text, budget)
    assert text.read_text() == "these are notes\n" * 100
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE patients (name TEXT)")
    connection.close()
    with pytest.raises(LedgerError, match="holds no ledger"):
        Ledger.open(other)
    with pytest.raises(LedgerUnavailableError, match="unable to open"):
        Ledger.open(tmp_path / "no folder" / "budget.db", PureDP(1))


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (":memory:", "outlive the process"),
        ("sqlite://", "outlive the process"),
        ("mysql://host/base", "SQLite file or on PostgreSQL"),
        ("no such thing://", "not a path or a database URL"),
    ],
)
def test_places_where_a_budget_cannot_live(where, words):
    with pytest.raises(LedgerError, match=words):
        Ledger.open(where, PureDP(1))


def test_a_server_that_is_away_is_an_error_without_the_password():
    with pytest.raises(LedgerUnavailableError, match="nothing may be released") as caught:
        Ledger.open("postgresql://me:swordfish@127.0.0.1:1/base", PureDP(1))
    assert "swordfish" not in str(caught.value)
    assert "127.0.0.1" in str(caught.value)


def test_a_file_that_vanished_is_not_charged(tmp_path, opened):
    path = tmp_path / "budget.db"
    ledger = opened(path, PureDP(1))
    ledger.charge(SMALL)
    path.rename(tmp_path / "elsewhere.db")
    with pytest.raises(LedgerUnavailableError, match="moved or replaced"):
        ledger.charge(SMALL)


def test_bad_names_notes_and_scopes(tmp_path, opened):
    ledger = opened(tmp_path / "budget.db", PureDP(1))
    for call, words in [
        (lambda: ledger.charge(SMALL, charge_id=""), "a charge id is 1 to 200"),
        (lambda: ledger.charge(SMALL, charge_id="a\nb"), "printable"),
        (lambda: ledger.charge(SMALL, note="x" * 5000), "at most 4000"),
        (lambda: ledger.charge(SMALL, scopes="tabel"), "no scope 'tabel'; there are: 'default'"),
        (lambda: ledger.charge(SMALL, scopes=[]), "one scope or several different ones"),
        (lambda: ledger.charge(SMALL, scopes=["default", "default"]), "several different ones"),
        (lambda: ledger.remaining("tabel"), "no scope 'tabel'"),
        (lambda: ledger.add_scope("", PureDP(1)), "a scope is 1 to 200"),
        (lambda: ledger.refund("nobody", "why not"), "no charge 'nobody'"),
        (lambda: ledger.refund("nobody", ""), "a reason of a refund is a text of 1 to"),
        (lambda: ledger.mark_computed("nobody"), "no charge 'nobody'"),
        (lambda: ledger.receipt("nobody"), "no charge 'nobody'"),
    ]:
        with pytest.raises(LedgerError, match=words):
            call()
    assert ledger.verify().entries == 1


def test_notes_may_hold_any_text(place, opened):
    ledger = opened(place, PureDP(1))
    words = 'Zoë; "quoted" \\ \x00 \ud800 \U0001f600 %s :x'
    receipt = ledger.charge(SMALL, charge_id="ünï %s :id'", note=words)
    assert ledger.receipt("ünï %s :id'").note == words == receipt.note
    ledger.verify(receipt)


def test_importing_the_library_does_not_load_the_database_layer():
    done = run("import sys, discreet; print('sqlalchemy' in sys.modules)")
    assert done.stdout == "False\n"


def test_a_fresh_file_is_durable_and_written_ahead(tmp_path, opened):
    ledger = opened(tmp_path / "budget.db", PureDP(1))
    with ledger._store.reading() as connection:
        pragmas = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "busy_timeout")
        }
    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 180000}
